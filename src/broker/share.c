/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two processes that load at the same time have a share each; later ones attach to the newer. The connection
 * of a share belongs to its record: no other call is made on it after the load.
 */
#include "broker/share.h"

#include <string.h>

#include "base/alloc.h"
#include "broker/device.h"

static bool is_match(const struct brk_share *share, const struct pr_broker_client *who, const char *model)
{
    return !share->lost && !strcmp(share->model, model) &&
           !memcmp(share->team, who->team, sizeof(share->team)) &&
           !memcmp(share->cdhash, who->cdhash, sizeof(share->cdhash));
}

struct brk_share *brk_share_find(struct brk_shares *shares, const struct pr_broker_client *who,
                                 const char *model)
{
    struct brk_share *share;

    pthread_mutex_lock(&shares->lock);
    for (share = shares->first; share && !is_match(share, who, model);)
        share = share->next;
    if (share)
        share->users++;
    pthread_mutex_unlock(&shares->lock);
    return share;
}

static void free_share(struct brk_share *share)
{
    brk_device_destroy(&share->device);
    base_free(share);
}

IOReturn brk_share_make(struct brk_shares *shares, const struct pr_broker_client *who, const char *model,
                        const struct brk_payload *payload, struct brk_share **made, struct base_error *error)
{
    struct brk_share *share = base_alloc(sizeof(*share));
    IOReturn result;

    if (!share)
        return brk_refuse(error, kIOReturnNoMemory, "No memory for a shared model.");
    brk_device_init(&share->device);
    memcpy(share->model, model, sizeof(share->model));
    memcpy(share->team, who->team, sizeof(share->team));
    memcpy(share->cdhash, who->cdhash, sizeof(share->cdhash));
    share->task = who->task;
    share->users = 1;
    result = brk_device_open(&share->device, who->task, error);
    if (!result)
        result = brk_payload_load(&share->device, who->task, payload, &share->token, error);
    if (result) {
        free_share(share);
        return result;
    }
    pthread_mutex_lock(&shares->lock);
    share->next = shares->first;
    shares->first = share;
    pthread_mutex_unlock(&shares->lock);
    *made = share;
    return kIOReturnSuccess;
}

void brk_share_lost(struct brk_shares *shares, struct brk_share *share)
{
    pthread_mutex_lock(&shares->lock);
    share->lost = true;
    pthread_mutex_unlock(&shares->lock);
}

void brk_share_give(struct brk_shares *shares, struct brk_share *share)
{
    struct brk_share **link = &shares->first;
    bool last;

    pthread_mutex_lock(&shares->lock);
    last = --share->users == 0;
    if (last) {
        while (*link != share)
            link = &(*link)->next;
        *link = share->next;
    }
    pthread_mutex_unlock(&shares->lock);
    if (last)
        free_share(share);
}
