/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers. A trigger is a request of the client that prepared the chain, with the chain's priority: it waits
 * in the queue of that band, and a timeout, a close or a restart ends it as it ends a request. Its inputs and
 * the driver's own buffers are in use until the execution has ended.
 */
#include "driver/trigger.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "driver/bind.h"
#include "driver/chained_buffer.h"
#include "driver/client.h"
#include "driver/fence.h"
#include "driver/identity.h"
#include "driver/process.h"
#include "driver/request.h"
#include "protocol/qos.h"

/* The chain that a trigger of this one runs. */
static struct drv_chain *target_of(struct drv_chain *chain)
{
    return chain->group == chain ? chain->active : chain;
}

static IOReturn check_ready(struct drv *d, const struct drv_chain *target,
                            const struct ane_inputs_ready *ready)
{
    const uint32_t inputs = drv_chain_procedure(target)->inputs, bit = d->ring[PR_CHANNEL_DATA_CHAIN_H2T].bit;

    if (ready->doorbell >= PR_DOORBELL_INDEX_LIMIT || ready->doorbell != bit)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Inputs ready: doorbell %u; the limit is %u, and that of DATA_CHAIN_H2T is %u.",
                          ready->doorbell, PR_DOORBELL_INDEX_LIMIT, bit);
    if (ready->inputs != inputs || inputs > PR_TRIGGER_INPUTS_MAX)
        return drv_refuse(d, kIOReturnBadArgument,
                          "Inputs ready: %u inputs; the chain has %u, and a trigger %u at most.",
                          ready->inputs, inputs, PR_TRIGGER_INPUTS_MAX);
    if (!base_is_zero(&ready->input[inputs], (ANE_INPUTS_READY_BUFFERS - inputs) * sizeof(ready->input[0])))
        return drv_refuse(d, kIOReturnBadArgument, "Inputs ready: buffers after input %u are not 0.", inputs);
    return kIOReturnSuccess;
}

/* Before the call waits for a request, and after it: others may have triggered the chain meanwhile. */
static IOReturn check_time(struct drv *d, const struct drv_chain *target, uint64_t timestamp)
{
    if (timestamp > target->timestamp)
        return kIOReturnSuccess;
    return drv_refuse(d, kIOReturnBadArgument,
                      "Inputs ready: timestamp %" PRIu64 " does not come after %" PRIu64 ".", timestamp,
                      target->timestamp);
}

/* The input comes by a link: its entry is all 0. */
static bool comes_by_link(const struct drv_chain *target, const struct ane_chained_buffer *input, uint32_t i)
{
    return target->linked >> i & 1 && base_is_zero(input, sizeof(*input));
}

static IOReturn bind_inputs(struct drv_client *caller, struct drv_request *r, const struct drv_chain *target,
                            const struct ane_inputs_ready *ready, struct pr_cache_trigger *message)
{
    const struct drv_procedure *p = drv_chain_procedure(target);
    const struct drv_chained_role role = {caller, r->client, PR_USAGE_INPUT, PR_BUFFER_IN};

    for (uint32_t i = 0; i < p->inputs; i++) {
        struct drv_mapping *mapping = NULL;
        IOReturn result;

        if (comes_by_link(target, &ready->input[i], i))
            continue;
        result = drv_chained_buffer_bind(&role, &ready->input[i], p->first_buffer + i, p->bytes[i], &mapping,
                                         &message->buffer[message->buffers]);
        if (result)
            return result;
        drv_bind_add(r, mapping);
        message->buffers++;
    }
    return kIOReturnSuccess;
}

/* Intermediate and scratch buffers follow the ports. */
static IOReturn bind_own(struct drv_request *r, struct pr_cache_trigger *message)
{
    const struct drv_procedure *p = drv_chain_procedure(r->chain);
    const uint32_t given = r->bindings;
    IOReturn result = drv_chain_bind_own(r->chain, r);

    if (!result && r->bindings > PR_TRIGGER_INPUTS_MAX)
        result =
            drv_refuse(r->client->driver, kIOReturnUnsupported,
                       "Inputs ready: %u buffers, intermediate ones among them; a trigger has %u at most.",
                       r->bindings, PR_TRIGGER_INPUTS_MAX);
    for (uint32_t i = given; i < r->bindings && !result; i++) {
        const uint32_t position = p->inputs + p->outputs + i - given;

        message->buffer[message->buffers++] = (struct pr_buffer){.valid = PR_BUFFER_VALID,
                                                                 .index = p->first_buffer + position,
                                                                 .type = p->type[position],
                                                                 .address = r->binding[i]->iova,
                                                                 .bytes = r->binding[i]->bytes};
    }
    return result;
}

/* Its message in its cell. */
static IOReturn write_trigger(struct drv_client *caller, struct drv_request *r, const struct drv_chain *chain,
                              const struct ane_inputs_ready *ready)
{
    struct pr_cache_trigger message = {.head = {.id = PR_EXE_CACHE_REQUEST_TRIGGER},
                                       .cache_handler = chain->cache_handler,
                                       .timestamp = ready->timestamp,
                                       .cookie = r->cookie};
    IOReturn result = bind_inputs(caller, r, r->chain, ready, &message);

    if (!result)
        result = bind_own(r, &message);
    if (result)
        return result;
    r->length = PR_CACHE_TRIGGER_BYTES(message.buffers);
    memcpy(r->message, &message, r->length);
    return kIOReturnSuccess;
}

/* A request in hand, bound; or nothing. */
static IOReturn make_trigger(struct drv_client *caller, struct drv_chain *chain, struct drv_chain *target,
                             const struct ane_inputs_ready *ready, struct drv_deadline *deadline,
                             struct drv_request **made)
{
    struct drv *d = caller->driver;
    struct drv_request *r;
    IOReturn result = drv_request_take(target->process, caller, deadline, &r);

    if (result)
        return result;
    result = drv_fence_admit(r->client);
    r->kind = DRV_REQUEST_TRIGGER;
    r->caller = caller;
    r->chain = target;
    r->executions = 1;
    target->users++;
    r->priority = target->priority;
    r->procedure = target->procedure;
    r->qos = drv_process_qos(r->process);
    r->urgency = pr_qos_queue_index(r->qos);
    if (!result)
        result = drv_chain_check(target); /* the call has waited */
    if (!result && (drv_client_is_closed(caller) || drv_client_is_closed(r->client)))
        result = drv_refuse(d, kIOReturnAborted, "Client %u was closed.",
                            (drv_client_is_closed(caller) ? caller : r->client)->number);
    if (!result)
        result = check_time(d, target, ready->timestamp);
    if (!result)
        result = write_trigger(caller, r, chain, ready);
    if (result)
        drv_request_leave(d, r, false);
    *made = r;
    return result;
}

/* Timestamps rise from trigger to trigger; one that was refused does not count. */
static IOReturn run(struct drv_client *caller, struct drv_chain *chain, struct drv_chain *target,
                    const struct ane_inputs_ready *ready, const struct drv_wake *wake)
{
    struct ane_request_reply reply = {.sequence = ready->timestamp, .token = ready->handle};
    struct drv_deadline deadline = {.ns = caller->timeout_ns};
    const uint64_t before = target->timestamp;
    struct drv_request *r;
    IOReturn result = make_trigger(caller, chain, target, ready, &deadline, &r);

    if (result)
        return result;
    target->timestamp = ready->timestamp;
    result = drv_request_run(r, wake, &deadline, &reply);
    if (result && target->timestamp == ready->timestamp)
        target->timestamp = before;
    return result;
}

IOReturn drv_trigger_run(struct drv_client *caller, struct drv_chain *chain,
                         const struct ane_inputs_ready *ready, const struct drv_wake *wake)
{
    struct drv *d = caller->driver;
    struct drv_chain *target = target_of(chain);
    IOReturn result = check_ready(d, target, ready);

    if (!result)
        result = check_time(d, target, ready->timestamp);
    if (!result)
        result = drv_identity_admit(caller, target->priority, "Inputs ready");
    if (!result && wake)
        result = drv_request_reserve(d, wake);
    if (result)
        return result;
    target->users++;
    result = run(caller, chain, target, ready, wake);
    drv_chain_put(target);
    if (result && wake)
        drv_request_cancel(d, wake);
    return result;
}
