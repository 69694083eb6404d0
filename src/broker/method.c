/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each handler checks its arguments first, and unwinds what it has made when a later step fails: the client
 * then has what it had before, and no connection that it does not need.
 */
#include "broker/method.h"

#include <string.h>
#include <sys/eventfd.h>

#include "broker/arguments.h"
#include "broker/compile.h"
#include "broker/contention.h"
#include "broker/device.h"
#include "broker/instance.h"
#include "broker/model.h"
#include "broker/payload.h"
#include "broker/resident.h"
#include "broker/share.h"
#include "broker/turn.h"

/* ---- Load ---- */

/* Loads, and makes the first instance. */
static IOReturn load_program(struct brk_call *call, const struct brk_payload *payload,
                             uint64_t intermediate_bytes)
{
    struct brk_client *client = call->client;
    struct brk_instance_wish wish = {.load = call->in, .descriptor = -1};
    struct brk_resident *resident;
    bool share = wish.load->flags & PR_BROKER_SHARE;
    IOReturn result;

    result =
        brk_resident_load(client, wish.load->model, payload, share, &resident, &wish.attached, call->error);
    if (result)
        return result;
    resident->intermediate_bytes = intermediate_bytes;
    result = brk_instance_make(client, resident, &wish, call->out, call->error);
    if (!result)
        return result;
    /* What another process had resident may be gone with it. */
    if (result == kIOReturnNotFound && resident->share)
        brk_share_lost(&client->broker->shares, resident->share);
    brk_resident_end(client, resident);
    return result;
}

static IOReturn load(struct brk_call *call, struct brk_payload *payload, uint64_t intermediate_bytes)
{
    struct brk_client *client = call->client;
    const struct pr_broker_load *arguments = call->in;
    IOReturn result = brk_instance_check_room(client, call->error);

    if (!payload->qos)
        payload->qos = PR_QOS_DEFAULT;
    if (!result)
        result = brk_device_open(&client->device, client->who.task, call->error);
    if (!result)
        result = load_program(call, payload, intermediate_bytes);
    if (result == kIOReturnNotFound && arguments->flags & PR_BROKER_SHARE)
        result = load_program(call, payload, intermediate_bytes);
    if (result)
        brk_instance_rest(client);
    return result;
}

static IOReturn load_model(struct brk_call *call)
{
    struct brk_client *client = call->client;
    const struct pr_broker_load *arguments = call->in;
    struct brk_payload payload = {.representation = ANE_PROGRAM_RT, .qos = arguments->qos};
    struct brk_model *model;
    IOReturn result = brk_arguments_load(client, call->method, arguments, call->error);

    if (!result)
        result = brk_compile_find(client, arguments->model, &model, call->error);
    if (result)
        return result;
    memcpy(payload.file, model->file, sizeof(payload.file));
    payload.bytes[0] = model->about.main_bytes;
    payload.bytes[1] = model->about.weights_bytes;
    payload.name = arguments->name[0] ? arguments->name : arguments->model;
    result = load(call, &payload, model->about.intermediate_bytes);
    brk_model_give(&client->broker->models, model);
    return result;
}

static IOReturn load_image(struct brk_call *call)
{
    const struct pr_broker_load *arguments = call->in;
    struct brk_payload payload = {.representation = ANE_PROGRAM_LEGACY,
                                  .file = {call->descriptor, -1},
                                  .name = arguments->name,
                                  .qos = arguments->qos};
    IOReturn result = brk_arguments_load(call->client, call->method, arguments, call->error);

    if (!result)
        result = brk_payload_size(call->descriptor, "Image", PR_BROKER_IMAGE_BYTES, &payload.bytes[0],
                                  call->error);
    return result ? result : load(call, &payload, 0);
}

/* ---- Instances ---- */

static IOReturn instantiate(struct brk_call *call, const struct brk_instance_wish *wish)
{
    struct brk_client *client = call->client;
    struct brk_resident *resident = brk_resident_find(client, wish->load->model);
    IOReturn result;

    if (!resident)
        return brk_refuse(call->error, kIOReturnNotFound,
                          "Model %s is not resident on this connection; load it first.", wish->load->model);
    result = brk_instance_check_room(client, call->error);
    return result ? result : brk_instance_make(client, resident, wish, call->out, call->error);
}

static IOReturn create_instance(struct brk_call *call)
{
    const struct brk_instance_wish wish = {.load = call->in, .descriptor = -1};
    IOReturn result = brk_arguments_load(call->client, call->method, wish.load, call->error);

    return result ? result : instantiate(call, &wish);
}

static IOReturn create_adapter(struct brk_call *call)
{
    const struct pr_broker_adapter *adapter = call->in;
    const struct brk_instance_wish wish = {
        .load = &adapter->load, .adapter = adapter, .descriptor = call->descriptor};
    uint64_t bytes;
    IOReturn result = brk_arguments_load(call->client, call->method, wish.load, call->error);

    if (!result)
        result = brk_payload_size(call->descriptor, "Adapter", PR_BROKER_IMAGE_BYTES, &bytes, call->error);
    if (!result)
        result = brk_arguments_adapter(adapter, bytes, call->error);
    return result ? result : instantiate(call, &wish);
}

static IOReturn release(struct brk_call *call)
{
    const struct pr_broker_handle *handle = call->in;
    struct brk_instance *instance = brk_instance_find(call->client, handle->instance, call->error);

    return instance ? brk_instance_release(call->client, instance, call->error) : kIOReturnNotFound;
}

/* ---- Requests ---- */

static IOReturn send_request(struct brk_call *call, const struct ane_request *request)
{
    const struct pr_broker_submit *submit = call->in;
    size_t size = sizeof(struct ane_request_reply);
    IOReturn result =
        IOConnectCallMethod(call->client->device.connect, ANE_CONTROL_ProgramSendRequest, &submit->doorbell,
                            1, request, sizeof(*request), NULL, NULL, call->out, &size);

    return result ? brk_refuse(call->error, result, "%s", ane_machine_error()) : kIOReturnSuccess;
}
_Static_assert(sizeof(struct ane_request) == sizeof(((struct pr_broker_submit *)0)->request), "one size");
_Static_assert(sizeof(struct ane_request_reply) == sizeof(struct pr_broker_submitted), "one size");

static IOReturn send_in_turn(struct brk_call *call, const struct brk_instance *instance)
{
    const struct pr_broker_submit *submit = call->in;
    struct brk_client *client = call->client;
    struct ane_request request;
    IOReturn result;

    memcpy(&request, submit->request, sizeof(request));
    request.token = instance->about.program;
    request.session = client->device.session;
    if (!request.wait_events)
        return send_request(call, &request);
    result = brk_turn_take(client, call->error);
    if (result)
        return result;
    result = send_request(call, &request);
    brk_turn_give(client);
    return result;
}

static IOReturn submit(struct brk_call *call)
{
    const struct pr_broker_submit *arguments = call->in;
    struct brk_client *client = call->client;
    struct brk_instance *instance = brk_instance_find(client, arguments->instance, call->error);
    IOReturn result = kIOReturnSuccess;

    if (!instance)
        return kIOReturnNotFound;
    if (!instance->prepared)
        result = brk_instance_prepare(client, instance, call->error);
    if (result)
        return result;
    if (brk_contention_note(&client->broker->contention, client->party))
        eventfd_write(client->broker->wake, 1);
    return send_in_turn(call, instance);
}

/* ---- Who the caller is ---- */

static IOReturn info(struct brk_call *call)
{
    struct brk_client *client = call->client;
    struct pr_broker_info *about = call->out;

    *about = (struct pr_broker_info){.task = client->who.task,
                                     .uid = client->who.uid,
                                     .pid = client->who.pid,
                                     .tier = client->tier,
                                     .entitlements = client->who.entitlements,
                                     .instances = client->count};
    about->queue_depth =
        brk_contention_depth(&client->broker->contention, client->party, &about->active_clients);
    brk_arguments_partition(client, about->partition);
    return kIOReturnSuccess;
}

IOReturn brk_method_call(struct brk_call *call)
{
    switch (call->method) {
    case PR_BROKER_COMPILE: return brk_compile_model(call);
    case PR_BROKER_LOAD: return load_model(call);
    case PR_BROKER_LOAD_IMAGE: return load_image(call);
    case PR_BROKER_CREATE_INSTANCE: return create_instance(call);
    case PR_BROKER_CREATE_INSTANCE_WITH_WEIGHTS: return create_adapter(call);
    case PR_BROKER_RELEASE: return release(call);
    case PR_BROKER_SUBMIT: return submit(call);
    case PR_BROKER_PURGE:
    case PR_BROKER_PURGE_ALL: return brk_compile_purge(call);
    default: return info(call);
    }
}
