/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests. A request is in exactly one state, which only drv_request_set_state() changes. What holds in
 * each:
 *
 *   FREE         in d->free_requests; no client, no cookie
 *   BOUND        counted in client->requests; a call of the client fills it
 *   QUEUED       in the queue of its band; counted in stats.in_flight; process pinned
 *   IN_FIRMWARE  posted; counted in stats.in_flight; bindings and process stay until it comes back
 *   ABORTED      as IN_FIRMWARE, but the caller has its result already
 *   ABANDONED    as IN_FIRMWARE, but no caller is left; it becomes free when it comes back
 *   DONE         the caller takes the result and frees it; bindings are left only to explain a failure
 *
 * A request with a wake port has no caller: what a caller would do, notify_port does at once, so it is never
 * seen ABORTED or DONE from outside.
 */
#include "driver/request.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "driver/bind.h"
#include "driver/client.h"
#include "driver/command.h"
#include "driver/diagnosis.h"
#include "driver/fence.h"
#include "driver/flow.h"
#include "driver/identity.h"
#include "driver/lifecycle.h"
#include "driver/process.h"
#include "protocol/qos.h"
#include "protocol/timing.h"

#define COOKIE_INDEX 0xffu
_Static_assert(DRV_REQUESTS <= COOKIE_INDEX, "a cookie names its request");

#define NEXT(state) (1u << DRV_REQUEST_##state)
static const struct drv_lifecycle_state states[] = {
    [DRV_REQUEST_FREE] = {"free", NEXT(BOUND)},
    [DRV_REQUEST_BOUND] = {"bound", NEXT(QUEUED) | NEXT(IN_FIRMWARE) | NEXT(FREE)},
    [DRV_REQUEST_QUEUED] = {"queued", NEXT(IN_FIRMWARE) | NEXT(DONE) | NEXT(FREE)},
    [DRV_REQUEST_IN_FIRMWARE] = {"in the firmware",
                                 NEXT(DONE) | NEXT(ABORTED) | NEXT(ABANDONED) | NEXT(QUEUED)},
    [DRV_REQUEST_ABORTED] = {"aborted", NEXT(DONE) | NEXT(ABANDONED)},
    [DRV_REQUEST_ABANDONED] = {"abandoned", NEXT(FREE)},
    [DRV_REQUEST_DONE] = {"done", NEXT(FREE)},
};
#undef NEXT
static const struct drv_lifecycle lifecycle = {"request", BASE_COUNT_OF(states), states};

void drv_request_set_state(struct drv_request *r, enum drv_request_state state)
{
    drv_lifecycle_check(&lifecycle, r->state, state);
    r->state = state;
    r->done = state == DRV_REQUEST_ABORTED || state == DRV_REQUEST_DONE;
}

bool drv_request_in_firmware(const struct drv_request *r)
{
    return r->state == DRV_REQUEST_IN_FIRMWARE || r->state == DRV_REQUEST_ABORTED ||
           r->state == DRV_REQUEST_ABANDONED;
}

void drv_request_init(struct drv *d, uint8_t *memory, uint64_t address)
{
    d->free_requests = NULL;
    memset(d->band, 0, sizeof(d->band));
    for (unsigned i = DRV_REQUESTS; i-- > 0;) {
        struct drv_request *r = &d->request[i];

        memset(r, 0, sizeof(*r));
        r->index = i;
        r->message = memory + i * DRV_CELL_BYTES;
        r->address = address + i * DRV_CELL_BYTES;
        r->next = d->free_requests;
        d->free_requests = r;
    }
}

/* A free request becomes one of the client's, for a process that the caller has pinned. */
static void assign_request(struct drv_request *r, struct drv_process *process)
{
    struct drv_client *client = process->client;
    struct drv *d = client->driver;

    drv_request_set_state(r, DRV_REQUEST_BOUND);
    client->requests++;
    process->program->requests++;
    r->client = r->caller = client;
    r->process = process;
    r->kind = DRV_REQUEST_CALL;
    r->chain = NULL;
    r->beside = false;
    r->cookie = ++d->serial << DRV_COOKIE_SHIFT | r->index;
    r->status = 0;
    r->detail = 0;
    for (unsigned i = 0; i < PR_TM_ERRORS; i++)
        r->error[i] = PR_TM_ERROR_FINE;
    r->wake.port = 0;
    r->parked = false;
    r->restarted = r->slept = false;
    r->counters_at = NULL;
    r->totals_at = NULL;
    r->bindings = 0;
}

/* Below the limits of the client and of an instance. */
static bool may_have_request(const struct drv_process *process)
{
    const struct drv_program *program = process->program;

    return process->client->requests < process->client->queue_depth &&
           (!program->queue_depth || program->requests < program->queue_depth);
}

/* Callers before this one wait because of the instance's own limit. */
static bool is_waited_for(const struct drv *d, const struct drv_program *program)
{
    const struct drv_waiter *waiter = program->queue_depth ? d->request_waiters : NULL;

    while (waiter && waiter->process->program != program)
        waiter = waiter->next;
    return waiter;
}

/*
 * A caller that waits for a request gets it as soon as it is free: while one is free, no caller waits that
 * may have it.
 */
static struct drv_request *take_request(struct drv_process *process)
{
    struct drv *d = process->client->driver;
    struct drv_request *r = d->free_requests;

    if (!r || !may_have_request(process) || is_waited_for(d, process->program))
        return NULL;
    d->free_requests = r->next;
    assign_request(r, process);
    return r;
}

/* The same, waiting for one: first come, first served among clients below their limit. */
static IOReturn await_request(struct drv_process *process, struct drv_client *caller,
                              struct drv_deadline *deadline, struct drv_request **r)
{
    struct drv_client *client = process->client;
    struct drv *d = client->driver;
    struct drv_waiter waiter = {
        .client = client, .caller = caller, .process = process, .request = take_request(process)};
    bool in_time = true;

    if (!waiter.request) {
        drv_waiter_append(&d->request_waiters, &waiter);
        in_time = !drv_wait(d, &waiter.done, deadline);
        drv_waiter_remove(&d->request_waiters, &waiter);
    }
    *r = waiter.request;
    if (*r)
        return kIOReturnSuccess;
    if (in_time)
        return drv_refuse(d, kIOReturnAborted, "Client %u was closed while its request waited to be sent.",
                          (drv_client_is_closed(client) ? client : caller)->number);
    d->stats.over_quota += client->requests >= client->queue_depth;
    return drv_refuse(
        d, kIOReturnTimeout,
        "Client %u has had %u requests under way for %" PRIu64 " ms, and program 0x%" PRIx64
        " %u; the limits are %u for this client, %u in all, and the queue depth of an instance.",
        client->number, client->requests, (uint64_t)(client->timeout_ns / DRV_MS), process->program->token,
        process->program->requests, client->queue_depth, DRV_REQUESTS);
}

/* A request has become free: the first in the line that may have it gets it. */
static void pass_on_request(struct drv *d, struct drv_request *r)
{
    struct drv_waiter *waiter = d->request_waiters;

    while (waiter && !may_have_request(waiter->process))
        waiter = waiter->next;
    if (!waiter) {
        r->next = d->free_requests;
        d->free_requests = r;
        return;
    }
    drv_waiter_remove(&d->request_waiters, waiter);
    assign_request(r, waiter->process);
    waiter->request = r;
    waiter->done = true;
}

/* A free request is offered for each caller that may have one now. */
void drv_request_depth_changed(struct drv *d)
{
    for (uint32_t i = 0; i < DRV_REQUESTS && d->free_requests && d->request_waiters; i++) {
        struct drv_request *r = d->free_requests;

        d->free_requests = r->next;
        pass_on_request(d, r);
    }
}

/* No caller looks at it and the firmware does not have it. */
void drv_request_free(struct drv *d, struct drv_request *r)
{
    drv_request_set_state(r, DRV_REQUEST_FREE);
    drv_fence_release(r);
    r->client->requests--;
    drv_bind_release(r);
    r->cookie = 0;
    r->client = r->caller = NULL;
    pass_on_request(d, r);
}

/* Leaving. */

/* The buffer of the driver's is the request's alone, if it has bound it: it goes with its last use. */
static void keep_own(const struct drv_request *r, struct drv_mapping *own)
{
    for (uint32_t i = 0; own && i < r->bindings; i++)
        if (r->binding[i] == own) {
            own->stale = true;
            drv_process_disown_buffer(r->client, own);
            return;
        }
}

/*
 * A request that timed out in the firmware keeps its cell and bindings until it comes back, but not its band:
 * the next doorbell may make the firmware see what it has missed. It also keeps the driver's intermediate
 * and scratch buffers: others get new ones.
 */
static void abandon_request(struct drv *d, struct drv_request *r)
{
    keep_own(r, r->process->intermediate[drv_flow_band(r)]);
    keep_own(r, r->process->scratch[drv_flow_band(r)]);
    drv_flow_leave(d, r);
}

void drv_request_leave(struct drv *d, struct drv_request *r, bool timed_out)
{
    if (r->state == DRV_REQUEST_QUEUED)
        drv_flow_remove(d, r);
    if (!drv_request_in_firmware(r)) {
        drv_request_free(d, r);
        return;
    }
    drv_request_set_state(r, DRV_REQUEST_ABANDONED);
    r->caller = NULL;
    if (timed_out)
        abandon_request(d, r);
    drv_fence_give_up(d, r);
}

/*
 * A request has come to its end, or its time has: says what became of it and leaves it. On a timeout the
 * search for a lost answer may complete it meanwhile.
 */
static IOReturn conclude_request(struct drv *d, struct drv_request *r, bool timed_out,
                                 struct ane_request_reply *reply)
{
    IOReturn result;

    if (timed_out)
        result = drv_diagnosis_timeout(d, r);
    else if (r->result && r->status)
        result = drv_diagnosis_failure(d, r);
    else
        result = r->result ? drv_refuse(d, r->result, "Client %u was closed while its request was under way.",
                                        r->client->number)
                           : kIOReturnSuccess;
    d->stats.completed += result == kIOReturnSuccess;
    r->client->completed += result == kIOReturnSuccess;
    d->stats.aborted += result == kIOReturnAborted;
    d->stats.failed += result != kIOReturnSuccess && result != kIOReturnAborted;
    reply->status = result == kIOReturnTimeout || (result && !r->status) ? (uint32_t)result : r->status;
    reply->detail = r->detail;
    drv_request_leave(d, r, result == kIOReturnTimeout);
    return result;
}

/* Its port is taken out first: nothing that happens here sends a second message. */
static void notify_port(struct drv *d, struct drv_request *r, bool timed_out)
{
    struct drv_message message = {.reply = {.sequence = r->sequence, .token = r->token}};
    uint32_t port = r->wake.port, client = r->client->number, index = r->index;

    memcpy(message.reference, r->wake.reference, sizeof(message.reference));
    r->wake.port = 0;
    message.result = conclude_request(d, r, timed_out, &message.reply);
    SOC_TRACE(d->platform.trace, DRV_MESSAGE, client, message.reply.sequence, (unsigned)message.result);
    d->platform.port_deliver(d->platform.context, index, port, &message);
}

void drv_request_tell(struct drv *d, struct drv_request *r)
{
    if (r->state == DRV_REQUEST_DONE && r->wake.port)
        notify_port(d, r, false);
}

void drv_request_fail_queued(struct drv *d, struct drv_request *r, uint32_t status)
{
    drv_flow_remove(d, r);
    r->restarted = true;
    r->status = status;
    r->result = drv_status_return(status);
    drv_request_set_state(r, DRV_REQUEST_DONE);
    drv_request_tell(d, r);
}

struct drv_request *drv_request_find(struct drv *d, uint64_t cookie)
{
    uint32_t index = cookie & COOKIE_INDEX;

    if (index >= DRV_REQUESTS)
        return NULL;
    return drv_request_in_firmware(&d->request[index]) && d->request[index].cookie == cookie
               ? &d->request[index]
               : NULL;
}

/* Those of the client, or called by it, that wait for a request leave the line without one. */
static void abort_waiters(struct drv_client *client)
{
    struct drv_waiter *waiter = client->driver->request_waiters, *next;

    for (; waiter; waiter = next) {
        next = waiter->next;
        if (waiter->client != client && waiter->caller != client)
            continue;
        drv_waiter_remove(&client->driver->request_waiters, waiter);
        waiter->done = true;
    }
}

/* The oldest request of the client, or made by it, that its caller or its port still waits for; or NULL. */
static struct drv_request *find_oldest(struct drv *d, const struct drv_client *client)
{
    struct drv_request *oldest = NULL;

    for (unsigned i = 0; i < DRV_REQUESTS; i++) {
        struct drv_request *r = &d->request[i];

        if ((r->client == client || r->caller == client) &&
            (r->state == DRV_REQUEST_QUEUED || r->state == DRV_REQUEST_IN_FIRMWARE) &&
            (!oldest || r->cookie < oldest->cookie))
            oldest = r;
    }
    return oldest;
}

/* Oldest first: that is the order of their messages. */
void drv_request_abort_all(struct drv_client *client)
{
    struct drv *d = client->driver;
    struct drv_request *r;

    abort_waiters(client);
    drv_waiter_wake_client(&d->address_waiters, client);
    while ((r = find_oldest(d, client))) {
        r->result = kIOReturnAborted;
        if (r->state == DRV_REQUEST_IN_FIRMWARE) {
            drv_request_set_state(r, DRV_REQUEST_ABORTED);
            drv_fence_give_up(d, r);
        } else {
            drv_flow_remove(d, r);
            drv_request_set_state(r, DRV_REQUEST_DONE);
            drv_bind_release(r);
        }
        if (r->wake.port)
            notify_port(d, r, false);
    }
}

void drv_request_expire(struct drv *d, uint32_t index)
{
    struct drv_request *r = &d->request[index];

    if (r->wake.port && (r->state == DRV_REQUEST_QUEUED || r->state == DRV_REQUEST_IN_FIRMWARE))
        notify_port(d, r, true);
}

/* Selector 2. */

/* `category` is accepted as it comes: no public source says what else it may be. */
static IOReturn check_request(const struct drv_client *client, uint64_t doorbell,
                              const struct ane_request *request)
{
    struct drv *d = client->driver;
    IOReturn result;

    if (doorbell >= PR_DOORBELL_INDEX_LIMIT)
        return drv_refuse(d, kIOReturnBadArgument, "Doorbell %" PRIu64 "; the limit is %u.", doorbell,
                          PR_DOORBELL_INDEX_LIMIT);
    /* Calls travel on one channel only; a doorbell of another would be rung for nothing. */
    if (doorbell != d->ring[PR_CHANNEL_DATA_CHAIN_H2T].bit)
        return drv_refuse(d, kIOReturnBadArgument, "Doorbell %" PRIu64 " is not that of DATA_CHAIN_H2T, %u.",
                          doorbell, d->ring[PR_CHANNEL_DATA_CHAIN_H2T].bit);
    if (request->priority >= PR_PRIORITIES)
        return drv_refuse(d, kIOReturnBadArgument, "Priority %u; there are %u.", request->priority,
                          PR_PRIORITIES);
    if (!base_is_zero(request->reserved, sizeof(request->reserved)))
        return drv_refuse(d, kIOReturnBadArgument, "Reserved bytes of the request are not 0.");
    result = drv_fence_check(d, request);
    return result ? result : drv_identity_admit(client, request->priority, "Request");
}

static IOReturn check_counts(struct drv *d, const struct drv_program *program,
                             const struct ane_request *request)
{
    const struct drv_procedure *p;

    if (request->procedure >= program->procedures)
        return drv_refuse(d, kIOReturnBadArgument, "Procedure %u; program 0x%" PRIx64 " has %u.",
                          request->procedure, program->token, program->procedures);
    p = &program->procedure[request->procedure];
    if (request->inputs == p->inputs && request->outputs == p->outputs &&
        (request->intermediates == 0 || request->intermediates == p->intermediates))
        return kIOReturnSuccess;
    return drv_refuse(d, kIOReturnBadArgument,
                      "The request binds %u inputs, %u outputs and %u intermediates; procedure %u of "
                      "program 0x%" PRIx64 " has %u, %u and %u.",
                      request->inputs, request->outputs, request->intermediates, request->procedure,
                      program->token, p->inputs, p->outputs, p->intermediates);
}

/* The engine was restarted while the call waited, and the firmware did not take the program again. */
static IOReturn refuse_lost(const struct drv_process *process)
{
    return drv_refuse(process->client->driver, kIOReturnNotReady,
                      "Program 0x%" PRIx64 " was lost when the engine was restarted.",
                      process->program->token);
}

/* A request in hand, bound; or nothing. The deadline covers what is waited for. */
static IOReturn make_request(struct drv_client *client, const struct ane_request *request,
                             struct drv_deadline *deadline, struct drv_request **made)
{
    struct drv *d = client->driver;
    struct drv_process *process;
    struct drv_request *r;
    IOReturn result = drv_process_get(client, request->token, deadline, &process);

    if (result)
        return result;
    result = check_counts(d, process->program, request);
    if (!result)
        result = await_request(process, client, deadline, &r);
    if (result) {
        drv_process_unpin(process);
        return result;
    }
    result = drv_client_is_closed(client)
                 ? drv_refuse(d, kIOReturnAborted, "Client %u was closed.", client->number)
                 : drv_fence_retain(r, request);
    if (!result)
        result = drv_bind_request(r, request, deadline);
    if (!result)
        drv_spend(d, PR_TIMING_BUILD_NS);
    /* The device may have fallen asleep meanwhile, or the firmware been restarted. */
    if (!result && d->asleep)
        result = drv_process_run(process, deadline);
    if (!result && process->state != DRV_PROCESS_LIVE)
        result = refuse_lost(process);
    if (result) {
        drv_request_free(d, r);
        return result;
    }
    *made = r;
    return kIOReturnSuccess;
}

IOReturn drv_request_take(struct drv_process *process, struct drv_client *caller,
                          struct drv_deadline *deadline, struct drv_request **taken)
{
    struct drv *d = process->client->driver;
    const uint64_t boots = d->stats.boots;
    IOReturn result = await_request(process, caller, deadline, taken);

    if (!*taken)
        return result;
    drv_process_pin(process);
    /* What its message will name is the firmware's of before, even if the process has a slot again. */
    if (process->state == DRV_PROCESS_LIVE && d->stats.boots == boots)
        return kIOReturnSuccess;
    drv_request_free(d, *taken);
    return refuse_lost(process);
}

IOReturn drv_request_reserve(struct drv *d, const struct drv_wake *wake)
{
    struct base_error error = {{0}};

    switch (d->platform.port_reserve(d->platform.context, wake->port, &error)) {
    case 0: return kIOReturnSuccess;
    case -ENOENT: return drv_refuse(d, kIOReturnBadArgument, "%s", error.text);
    default: return drv_refuse(d, kIOReturnNoResources, "%s", error.text);
    }
}

void drv_request_cancel(struct drv *d, const struct drv_wake *wake)
{
    d->platform.port_cancel(d->platform.context, wake->port);
}

/* From here on the request ends with a message, whatever becomes of it. */
static IOReturn post_request(struct drv *d, struct drv_request *r, const struct drv_wake *wake,
                             const struct drv_deadline *deadline, struct ane_request_reply *reply)
{
    if (d->platform.port_watch(d->platform.context, r->index, deadline)) {
        drv_request_free(d, r);
        return drv_refuse(d, kIOReturnNoResources, "No timer is left for the deadline of a request.");
    }
    r->wake = *wake;
    r->sequence = reply->sequence;
    r->token = reply->token;
    drv_flow_submit(d, r);
    reply->status = ANE_REQUEST_PENDING;
    return kIOReturnSuccess;
}

IOReturn drv_request_run(struct drv_request *r, const struct drv_wake *wake, struct drv_deadline *deadline,
                         struct ane_request_reply *reply)
{
    struct drv *d = r->client->driver;

    if (wake)
        return post_request(d, r, wake, deadline, reply);
    drv_flow_submit(d, r);
    return conclude_request(d, r, drv_wait(d, &r->done, deadline) != 0, reply);
}

IOReturn drv_request_send(struct drv_client *client, uint64_t doorbell, const struct ane_request *request,
                          const struct drv_wake *wake, struct ane_request_reply *reply)
{
    struct drv_deadline deadline = {.ns = client->timeout_ns};
    struct drv *d = client->driver;
    struct drv_request *r;
    IOReturn result = check_request(client, doorbell, request);

    *reply = (struct ane_request_reply){.sequence = request->sequence, .token = request->token};
    if (!result && wake)
        result = drv_request_reserve(d, wake);
    if (result)
        return result;
    result = make_request(client, request, &deadline, &r);
    if (!result)
        result = drv_request_run(r, wake, &deadline, reply);
    if (result && wake)
        drv_request_cancel(d, wake);
    return result;
}
