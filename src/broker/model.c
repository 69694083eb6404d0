/* SPDX-License-Identifier: Apache-2.0 */
/* The list has the latest use first, so what is dropped is found by counting. */
#include "broker/model.h"

#include <string.h>

#include "base/alloc.h"
#include "base/packet.h"

bool brk_model_is_key(const char *text)
{
    return strnlen(text, PR_BROKER_KEY) == PR_BROKER_KEY - 1 &&
           strspn(text, "0123456789abcdef") == PR_BROKER_KEY - 1;
}

static uint64_t bytes_of(const struct brk_model *model)
{
    return model->about.main_bytes + model->about.weights_bytes;
}

static void free_model(struct brk_model *model)
{
    base_packet_close(model->file, 2);
    base_free(model);
}

static void unlink_model(struct brk_models *models, struct brk_model *model)
{
    struct brk_model **link = &models->first;

    while (*link != model)
        link = &(*link)->next;
    *link = model->next;
}

static void link_first(struct brk_models *models, struct brk_model *model)
{
    model->next = models->first;
    models->first = model;
}

/* Drops what is beyond the limits, and purged ones without users. */
static void trim(struct brk_models *models)
{
    struct brk_model **link = &models->first, *model;
    uint64_t bytes = 0;
    unsigned count = 0;

    while ((model = *link)) {
        bool over = ++count > PR_BROKER_MODELS || (bytes += bytes_of(model)) > PR_BROKER_MODEL_BYTES;

        if (!model->users && (over || model->purged)) {
            *link = model->next;
            free_model(model);
        } else {
            link = &model->next;
        }
    }
}

static struct brk_model *find(struct brk_models *models, uint32_t uid, const char *key)
{
    struct brk_model *model = models->first;

    while (model && (model->purged || model->uid != uid || strcmp(model->about.model, key) != 0))
        model = model->next;
    return model;
}

struct brk_model *brk_model_take(struct brk_models *models, uint32_t uid, const char *key)
{
    struct brk_model *model;

    pthread_mutex_lock(&models->lock);
    model = find(models, uid, key);
    if (model) {
        model->users++;
        unlink_model(models, model);
        link_first(models, model);
    }
    pthread_mutex_unlock(&models->lock);
    return model;
}

struct brk_model *brk_model_add(struct brk_models *models, uint32_t uid, const struct pr_broker_model *about,
                                const int file[2])
{
    struct brk_model *model = base_alloc(sizeof(*model)), *earlier;

    if (!model) {
        base_packet_close(file, 2);
        return NULL;
    }
    *model = (struct brk_model){.uid = uid, .about = *about, .file = {file[0], file[1]}, .users = 1};
    pthread_mutex_lock(&models->lock);
    earlier = find(models, uid, about->model);
    if (earlier)
        earlier->purged = true;
    link_first(models, model);
    trim(models);
    pthread_mutex_unlock(&models->lock);
    return model;
}

void brk_model_give(struct brk_models *models, struct brk_model *model)
{
    if (!model)
        return;
    pthread_mutex_lock(&models->lock);
    model->users--;
    trim(models);
    pthread_mutex_unlock(&models->lock);
}

void brk_model_purge(struct brk_models *models, uint32_t uid, bool all, const char *key)
{
    pthread_mutex_lock(&models->lock);
    for (struct brk_model *model = models->first; model; model = model->next)
        if ((all || model->uid == uid) && (!key[0] || !strcmp(model->about.model, key)))
            model->purged = true;
    trim(models);
    pthread_mutex_unlock(&models->lock);
}

void brk_model_drop_all(struct brk_models *models)
{
    while (models->first) {
        struct brk_model *model = models->first;

        models->first = model->next;
        free_model(model);
    }
}
