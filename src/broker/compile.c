/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a compile service sends is not trusted: sizes are those of its files, and a client gets a copy of
 * main.e5, never the file that will be loaded.
 */
#include "broker/compile.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "broker/arguments.h"
#include "broker/backoff.h"
#include "broker/model.h"
#include "broker/order.h"
#include "broker/payload.h"

#define ORDINARY 0u
#define LONGER   1u

static IOReturn no_memory(struct base_error *error)
{
    return brk_refuse(error, kIOReturnNoMemory, "No memory for an order to the compile service.");
}

/* Nothing changes a file between its hash and its load. */
static bool is_sealed(int file)
{
    const int all = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
    int seals = fcntl(file, F_GET_SEALS);

    return seals >= 0 && (seals & all) == all;
}

/* The reply's files as a model, taken. */
static IOReturn keep_model(struct brk_client *client, struct brk_order *order, struct brk_model **kept,
                           struct base_error *error)
{
    struct pr_broker_model about = order->reply.model;
    int file[2] = {order->file[0], order->file[1]};
    IOReturn result =
        brk_payload_size(file[0], "Compiled model", PR_COMPILE_FILE_BYTES, &about.main_bytes, error);

    /* A model without constants has an empty file. */
    about.weights_bytes = (uint64_t)lseek(file[1], 0, SEEK_END);
    if (!result && about.weights_bytes)
        result =
            brk_payload_size(file[1], "Compiled model", PR_COMPILE_FILE_BYTES, &about.weights_bytes, error);
    about.model[sizeof(about.model) - 1] = about.trouble[sizeof(about.trouble) - 1] = '\0';
    if (!result && (!is_sealed(file[0]) || !is_sealed(file[1])))
        result = brk_refuse(error, kIOReturnError, "The compile service returned files that may change.");
    if (!result && !brk_model_is_key(about.model))
        result =
            brk_refuse(error, kIOReturnError, "The compile service returned a model without identifier.");
    if (result)
        return result;
    order->file[0] = order->file[1] = -1;
    *kept = brk_model_add(&client->broker->models, client->who.uid, &about, file);
    return *kept ? kIOReturnSuccess : no_memory(error);
}

IOReturn brk_compile_find(struct brk_client *client, const char *model, struct brk_model **found,
                          struct base_error *error)
{
    struct brk_order *order;
    IOReturn result;

    *found = brk_model_take(&client->broker->models, client->who.uid, model);
    if (*found)
        return kIOReturnSuccess;
    order = brk_order_make(PR_COMPILE_FIND, PR_QOS_USER_INTERACTIVE);
    if (!order)
        return no_memory(error);
    order->body.find.uid = client->who.uid;
    order->body.find.gid = client->who.gid;
    memcpy(order->body.find.model, model, PR_BROKER_KEY);
    result = brk_order_run(&client->broker->compiler[ORDINARY], &order, client->socket, error);
    if (!result && strncmp(order->reply.model.model, model, PR_BROKER_KEY) != 0)
        result =
            brk_refuse(error, kIOReturnError, "The compile service returned another model than %s.", model);
    if (!result)
        result = keep_model(client, order, found, error);
    brk_order_free(order);
    return result;
}

/* A copy of a file's bytes in a memory file; -1 with a sentence. */
static int copy_file(int file, uint64_t bytes, struct base_error *error)
{
    int copy = base_file_memory("anemone-main", bytes);
    void *to = copy < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);

    if (to == MAP_FAILED) {
        brk_refuse(error, kIOReturnNoMemory, "No memory for a copy of main.e5.");
    } else if (!brk_payload_read(file, 0, to, bytes, error)) {
        munmap(to, bytes);
        return copy;
    } else {
        munmap(to, bytes);
    }
    if (copy >= 0)
        close(copy);
    return -1;
}

static IOReturn order_model(struct brk_client *client, const struct pr_broker_compile *compile, int folder,
                            struct brk_model **made, struct base_error *error)
{
    struct brk_backoffs *backoffs = &client->broker->backoffs;
    uint32_t qos = compile->qos ? compile->qos : PR_QOS_DEFAULT;
    unsigned which = compile->flags & PR_BROKER_COMPILE_LONG ? LONGER : ORDINARY;
    struct brk_order *order = brk_order_make(PR_COMPILE_COMPILE, qos);
    IOReturn result;

    if (!order)
        return no_memory(error);
    order->body.compile.uid = client->who.uid;
    order->body.compile.gid = client->who.gid;
    order->body.compile.qos = qos;
    order->body.compile.flags = compile->flags;
    memcpy(order->body.compile.name, compile->name, sizeof(compile->name));
    order->folder = folder;
    order->backoffs = backoffs;
    order->who = client->who;
    result = brk_order_run(&client->broker->compiler[which], &order, client->socket, error);
    if (!result)
        result = keep_model(client, order, made, error);
    if (!result)
        brk_backoff_worked(backoffs, &client->who);
    brk_order_free(order);
    return result;
}

static IOReturn check_folder(int descriptor, struct base_error *error)
{
    struct stat about;

    if (!fstat(descriptor, &about) && S_ISDIR(about.st_mode))
        return kIOReturnSuccess;
    return brk_refuse(error, kIOReturnBadArgument,
                      "Compile: the descriptor that came with the model's name is not one of a folder.");
}

IOReturn brk_compile_model(struct brk_call *call)
{
    struct brk_client *client = call->client;
    const struct pr_broker_compile *compile = call->in;
    struct brk_model *model = NULL;
    IOReturn result = brk_arguments_compile(client, compile, call->error);

    if (!result)
        result = check_folder(call->descriptor, call->error);
    if (!result)
        result = brk_backoff_check(&client->broker->backoffs, &client->who, call->error);
    if (!result)
        result = order_model(client, compile, call->descriptor, &model, call->error);
    if (result || !model)
        return result;
    memcpy(call->out, &model->about, sizeof(model->about));
    call->returned = copy_file(model->file[0], model->about.main_bytes, call->error);
    brk_model_give(&client->broker->models, model);
    return call->returned < 0 ? kIOReturnNoMemory : kIOReturnSuccess;
}

IOReturn brk_compile_purge(struct brk_call *call)
{
    struct brk_client *client = call->client;
    const struct pr_broker_purge *purge = call->in;
    bool all = call->method == PR_BROKER_PURGE_ALL;
    IOReturn result = brk_arguments_purge(purge, call->error);
    struct brk_order *order;

    if (result)
        return result;
    order = brk_order_make(PR_COMPILE_PURGE, PR_QOS_USER_INTERACTIVE);
    if (!order)
        return no_memory(call->error);
    order->body.purge.uid = client->who.uid;
    order->body.purge.gid = client->who.gid;
    order->body.purge.all = all;
    memcpy(order->body.purge.model, purge->model, sizeof(purge->model));
    brk_model_purge(&client->broker->models, client->who.uid, all, purge->model);
    result = brk_order_run(&client->broker->compiler[ORDINARY], &order, client->socket, call->error);
    if (!result)
        memcpy(call->out, &order->reply.purged, sizeof(order->reply.purged));
    brk_order_free(order);
    return result;
}
