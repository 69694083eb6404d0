/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests. A request is in exactly one state, which only set_state() changes. What holds in each:
 *
 *   FREE         in d->free_requests; no client, no cookie
 *   BOUND        counted in client->requests; a call of the client fills it
 *   QUEUED       in the queue of its band; counted in stats.in_flight; process pinned
 *   IN_FIRMWARE  posted; counted in stats.in_flight; bindings and process stay until it comes back
 *   ABORTED      as IN_FIRMWARE, but the caller has its result already
 *   ABANDONED    as IN_FIRMWARE, but no caller is left; it becomes free when it comes back
 *   DONE         the caller takes the result and frees it; bindings are left only to explain a failure
 *
 * Of one band at most one request runs in the firmware, unless its caller has given it up (leave_band).
 */
#include "driver/request.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "driver/client.h"
#include "driver/command.h"
#include "driver/diagnosis.h"
#include "driver/fault.h"
#include "driver/identity.h"
#include "driver/lifecycle.h"
#include "driver/mapping.h"
#include "driver/process.h"
#include "driver/ring.h"
#include "driver/surface.h"
#include "protocol/stats.h"

#define COOKIE_INDEX 0xffu
#define COOKIE_SHIFT 8
_Static_assert(DRV_REQUESTS <= COOKIE_INDEX, "a cookie names its request");

#define NEXT(state) (1u << DRV_REQUEST_##state)
static const struct drv_lifecycle_state states[] = {
    [DRV_REQUEST_FREE] = {"free", NEXT(BOUND)},
    [DRV_REQUEST_BOUND] = {"bound", NEXT(QUEUED) | NEXT(IN_FIRMWARE) | NEXT(FREE)},
    [DRV_REQUEST_QUEUED] = {"queued", NEXT(IN_FIRMWARE) | NEXT(DONE) | NEXT(FREE)},
    [DRV_REQUEST_IN_FIRMWARE] = {"in the firmware", NEXT(DONE) | NEXT(ABORTED) | NEXT(ABANDONED)},
    [DRV_REQUEST_ABORTED] = {"aborted", NEXT(DONE) | NEXT(ABANDONED)},
    [DRV_REQUEST_ABANDONED] = {"abandoned", NEXT(FREE)},
    [DRV_REQUEST_DONE] = {"done", NEXT(FREE)},
};
#undef NEXT
static const struct drv_lifecycle lifecycle = {"request", BASE_COUNT_OF(states), states};

static void set_state(struct drv_request *r, enum drv_request_state state)
{
    drv_lifecycle_check(&lifecycle, r->state, state);
    r->state = state;
    r->done = state == DRV_REQUEST_ABORTED || state == DRV_REQUEST_DONE;
}

static bool firmware_has(const struct drv_request *r)
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

static struct drv_band *band_of(struct drv *d, const struct drv_request *r)
{
    return &d->band[r->priority <= PR_PRIORITY_REALTIME_MAX];
}

/* A free request becomes one of the client's, for a process that the caller has pinned. */
static void assign_request(struct drv_request *r, struct drv_process *process)
{
    struct drv_client *client = process->client;
    struct drv *d = client->driver;

    set_state(r, DRV_REQUEST_BOUND);
    client->requests++;
    process->program->requests++;
    r->client = client;
    r->process = process;
    r->cookie = ++d->serial << COOKIE_SHIFT | r->index;
    r->status = 0;
    r->detail = 0;
    r->in_place = false;
    for (unsigned i = 0; i < PR_TM_ERRORS; i++)
        r->error[i] = PR_TM_ERROR_FINE;
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
static IOReturn await_request(struct drv_process *process, struct drv_deadline *deadline,
                              struct drv_request **r)
{
    struct drv_client *client = process->client;
    struct drv *d = client->driver;
    struct drv_waiter waiter = {.client = client, .process = process, .request = take_request(process)};
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
                          client->number);
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

/* Its mappings and its process are free again: nothing of the client's is under way because of it. */
static void unbind_buffers(struct drv_request *r)
{
    for (uint32_t i = 0; i < r->bindings; i++)
        drv_surface_unuse(r->client, r->binding[i]);
    r->bindings = 0;
}

static void unbind_request(struct drv_request *r)
{
    if (!r->process)
        return;
    unbind_buffers(r);
    r->process->program->requests--;
    drv_process_unpin(r->process);
    r->process = NULL;
}

/* No caller looks at it and the firmware does not have it. */
static void free_request(struct drv *d, struct drv_request *r)
{
    set_state(r, DRV_REQUEST_FREE);
    r->client->requests--;
    unbind_request(r);
    r->cookie = 0;
    r->client = NULL;
    pass_on_request(d, r);
}

/* Binding. */

static void add_binding(struct drv_request *r, struct drv_mapping *mapping)
{
    mapping->uses++;
    mapping->used = r->cookie >> COOKIE_SHIFT;
    r->binding[r->bindings++] = mapping;
}

static IOReturn bind_surface(struct drv_request *r, uint32_t position, uint32_t surface, uint64_t offset,
                             uint32_t usage)
{
    struct drv_client *client = r->client;
    struct drv_process *process = r->process;
    struct drv_mapping *mapping;
    uint64_t least = process->program->bytes[position];

    /* Mapping a buffer may have reclaimed those that were remembered for later positions. */
    if (process->generation != client->generation) {
        memset(process->recent, 0, sizeof(process->recent));
        process->generation = client->generation;
    }
    mapping = process->recent[position];
    if (!mapping || mapping->surface != surface) {
        IOReturn result = drv_surface_map(client, surface, usage, false, &mapping);

        if (result)
            return result;
        process->recent[position] = mapping;
    }
    if (offset % PR_DMA_GRANULE || offset > mapping->bytes || least > mapping->bytes - offset)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "Buffer %u: %" PRIu64 " bytes at offset %" PRIu64
                          " of surface %u, which has %" PRIu64 "; offsets are multiples of %u.",
                          position, least, offset, surface, mapping->bytes, PR_DMA_GRANULE);
    add_binding(r, mapping);
    return kIOReturnSuccess;
}

/* The driver's own, one for each band: of one band only one request is in the firmware. */
static IOReturn bind_own(struct drv_request *r, struct drv_mapping *bands[DRV_BANDS], uint32_t usage,
                         uint64_t bytes)
{
    const unsigned band = r->priority <= PR_PRIORITY_REALTIME_MAX;
    struct drv_mapping **own = &bands[band];
    IOReturn result = kIOReturnSuccess;

    if (!*own && usage == PR_USAGE_INTERMEDIATE)
        *own = drv_process_sibling_buffer(r->process, band);
    if (!*own)
        result = drv_surface_make(r->client, usage, bytes, own);
    else if (!(*own)->iova)
        result = drv_surface_place(r->client, *own);
    if (result)
        return result;
    add_binding(r, *own);
    return kIOReturnSuccess;
}

/* Whether another request of the client has buffers. */
static bool has_bound_request(const struct drv_client *client)
{
    for (unsigned i = 0; i < DRV_REQUESTS; i++)
        if (client->driver->request[i].client == client && client->driver->request[i].bindings)
            return true;
    return false;
}

static IOReturn bind_all(struct drv_request *r, const struct ane_request *request)
{
    const struct drv_program *program = r->process->program;
    uint32_t given = request->inputs + request->outputs + request->intermediates;
    IOReturn result = kIOReturnSuccess;

    for (uint32_t i = 0; i < given && !result; i++)
        result = bind_surface(r, i, request->surface[i], request->offset[i],
                              i < program->inputs                      ? PR_USAGE_INPUT
                              : i < program->inputs + program->outputs ? PR_USAGE_OUTPUT
                                                                       : PR_USAGE_INTERMEDIATE);
    if (!result && program->intermediates && !request->intermediates)
        result = bind_own(r, r->process->intermediate, PR_USAGE_INTERMEDIATE, program->bytes[given]);
    if (!result && program->scratch_bytes)
        result = bind_own(r, r->process->scratch, PR_USAGE_CONSTANTS, program->scratch_bytes);
    return result;
}

/* Statistics are written by the firmware: in the base domain. */
static IOReturn bind_stats(struct drv_request *r, uint32_t surface, struct pr_buffer *stats)
{
    struct drv_mapping *mapping;
    IOReturn result;

    memset(stats, 0, sizeof(*stats));
    if (!surface)
        return kIOReturnSuccess;
    result = drv_surface_map(r->client, surface, PR_USAGE_OUTPUT, true, &mapping);
    if (result)
        return result;
    if (mapping->bytes < PR_STATS_HEADER_BYTES + PR_STATS_ENGINE_BYTES)
        return drv_refuse(r->client->driver, kIOReturnBadArgument,
                          "Statistics surface %u has %" PRIu64 " bytes; a record has %u.", surface,
                          mapping->bytes, PR_STATS_HEADER_BYTES + PR_STATS_ENGINE_BYTES);
    add_binding(r, mapping);
    *stats = (struct pr_buffer){
        .valid = 1, .type = PR_BUFFER_OUT, .address = mapping->iova, .bytes = mapping->bytes};
    return kIOReturnSuccess;
}

static void build_call(struct drv_request *r, const struct ane_request *request)
{
    const struct drv_process *process = r->process;
    const struct drv_program *program = process->program;
    struct pr_call *call = (void *)r->message;
    uint32_t buffers = r->bindings;

    call->head = (struct pr_exe_header){.id = PR_EXE_PROCEDURE_CALL};
    call->program_id = program->id;
    call->process_id = process->id;
    call->procedure = request->procedure;
    call->priority = request->priority;
    call->output_sets = PR_CALL_OUTPUT_SETS;
    call->partitions = 1;
    call->cookie = r->cookie;
    call->buffers = buffers;
    call->zero = 0;
    for (uint32_t i = 0; i < buffers; i++) {
        uint64_t offset =
            i < request->inputs + request->outputs + request->intermediates ? request->offset[i] : 0;

        call->buffer[i] = (struct pr_buffer){
            .valid = 1,
            .index = i,
            .type = i < program->inputs                                               ? PR_BUFFER_IN
                    : i < program->inputs + program->outputs                          ? PR_BUFFER_OUT
                    : i < program->inputs + program->outputs + program->intermediates ? PR_BUFFER_INTERMEDIATE
                                                                                      : PR_BUFFER_MUTABLE,
            .address = r->binding[i]->iova + offset,
            .bytes = r->binding[i]->bytes - offset,
        };
    }
    r->length = PR_CALL_BYTES(buffers);
}

/* Sending. */

static bool send_request(struct drv *d, struct drv_request *r)
{
    if (d->fault.parked || !drv_ring_post(d, PR_CHANNEL_DATA_CHAIN_H2T, r->address, r->length, r, &r->slot))
        return false;
    set_state(r, DRV_REQUEST_IN_FIRMWARE);
    band_of(d, r)->running = r;
    return true;
}

/* Sends the next of a band that is free. */
static void advance_band(struct drv *d, struct drv_band *band)
{
    struct drv_request *r = band->queue;

    if (r && !band->running && send_request(d, r))
        band->queue = r->next;
}

void drv_request_resume(struct drv *d)
{
    for (unsigned i = 0; i < DRV_BANDS; i++)
        advance_band(d, &d->band[i]);
}

/* The band is free for others, if it was this request's. */
static void leave_band(struct drv *d, struct drv_band *band, const struct drv_request *r)
{
    if (band->running != r)
        return;
    band->running = NULL;
    advance_band(d, band);
}

/* By priority, then arrival. */
static void enqueue_request(struct drv *d, struct drv_request *r)
{
    struct drv_request **link = &band_of(d, r)->queue;

    while (*link && (*link)->priority <= r->priority)
        link = &(*link)->next;
    r->next = *link;
    *link = r;
    set_state(r, DRV_REQUEST_QUEUED);
}

/* Out of its queue, unsent; the caller sets the next state. */
static void dequeue_request(struct drv *d, struct drv_request *r)
{
    struct drv_request **link = &band_of(d, r)->queue;

    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    d->stats.in_flight--;
}

static void submit_request(struct drv *d, struct drv_request *r)
{
    struct drv_band *band = band_of(d, r);

    d->stats.requests++;
    d->stats.in_flight++;
    if (!band->queue && !band->running && send_request(d, r))
        return;
    enqueue_request(d, r);
    advance_band(d, band);
}

/* Coming back. */

/* The firmware has let go of it. One that was aborted keeps that result. */
static void complete_request(struct drv *d, struct drv_request *r, uint32_t status, uint64_t detail)
{
    struct drv_band *band = band_of(d, r);
    struct drv_ring *ring = &d->ring[PR_CHANNEL_DATA_CHAIN_H2T];

    r->status = status;
    r->detail = detail;
    if (status != PR_STATUS_OK)
        drv_fault_attribute(d, r, status);
    if (ring->holder[r->slot] == r)
        ring->holder[r->slot] = NULL;
    d->stats.in_flight--;
    if (r->state == DRV_REQUEST_IN_FIRMWARE)
        r->result = drv_status_return(status);
    if (r->state == DRV_REQUEST_ABANDONED) {
        free_request(d, r);
    } else {
        set_state(r, DRV_REQUEST_DONE);
        /*
         * Others may wait for what it holds, and its caller may be slow; to explain a failure takes the
         * process.
         */
        if (status == PR_STATUS_OK)
            unbind_request(r);
    }
    leave_band(d, band, r);
}

void drv_request_event(struct drv *d, const struct pr_program_failure *failure)
{
    const struct pr_program_event *event = &failure->event;
    uint32_t index = event->cookie & COOKIE_INDEX;
    struct drv_request *r = index < DRV_REQUESTS ? &d->request[index] : NULL;

    if (event->state != PR_EVENT_FINISHED)
        return;
    if (!r || !firmware_has(r) || r->cookie != event->cookie) {
        SOC_TRACE(d->platform.trace, DRV_EVENT_UNCLAIMED, event->cookie, event->program_id,
                  event->process_id);
        return;
    }
    memcpy(r->error, failure->error, sizeof(r->error));
    complete_request(d, r, event->status, event->detail);
}

void drv_request_returns(struct drv *d)
{
    struct drv_ring *ring = &d->ring[PR_CHANNEL_DATA_CHAIN_H2T];

    for (uint32_t i = 0; i < ring->slots; i++) {
        struct drv_request *r = ring->holder[i];
        uint16_t status;

        if (!r || !drv_ring_returned(d, PR_CHANNEL_DATA_CHAIN_H2T, i))
            continue;
        ring->holder[i] = NULL;
        status = pr_le16(r->message + offsetof(struct pr_exe_header, status));
        if (status != PR_STATUS_OK || r->in_place)
            complete_request(d, r, status, 0);
    }
}

/* Those of the client that wait for a request leave the line without one. */
static void abort_waiters(struct drv_client *client)
{
    struct drv_waiter *waiter = client->driver->request_waiters, *next;

    for (; waiter; waiter = next) {
        next = waiter->next;
        if (waiter->client != client)
            continue;
        drv_waiter_remove(&client->driver->request_waiters, waiter);
        waiter->done = true;
    }
}

void drv_request_abort_all(struct drv_client *client)
{
    struct drv *d = client->driver;

    abort_waiters(client);
    drv_waiter_wake_client(&d->address_waiters, client);
    for (unsigned i = 0; i < DRV_REQUESTS; i++) {
        struct drv_request *r = &d->request[i];

        if (r->client != client || (r->state != DRV_REQUEST_QUEUED && r->state != DRV_REQUEST_IN_FIRMWARE))
            continue;
        r->result = kIOReturnAborted;
        if (r->state == DRV_REQUEST_IN_FIRMWARE) {
            set_state(r, DRV_REQUEST_ABORTED);
            continue;
        }
        dequeue_request(d, r);
        set_state(r, DRV_REQUEST_DONE);
        unbind_request(r);
    }
}

void drv_request_leave_bands(struct drv_client *client)
{
    struct drv *d = client->driver;

    for (unsigned i = 0; i < DRV_BANDS; i++)
        if (d->band[i].running && d->band[i].running->client == client)
            leave_band(d, &d->band[i], d->band[i].running);
}

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
    struct drv_band *band = band_of(d, r);

    keep_own(r, r->process->intermediate[band - d->band]);
    keep_own(r, r->process->scratch[band - d->band]);
    leave_band(d, band, r);
}

/* The caller leaves: the request is free, or the firmware's until it comes back. */
static void leave_request(struct drv *d, struct drv_request *r, bool timed_out)
{
    if (!firmware_has(r)) {
        free_request(d, r);
        return;
    }
    set_state(r, DRV_REQUEST_ABANDONED);
    if (timed_out)
        abandon_request(d, r);
}

static IOReturn await_completion(struct drv *d, struct drv_request *r, struct drv_deadline *deadline,
                                 struct ane_request_reply *reply)
{
    IOReturn result;

    if (drv_wait(d, &r->done, deadline))
        result = drv_diagnosis_timeout(d, r);
    else if (r->result && r->status)
        result = drv_diagnosis_failure(d, r);
    else
        result = r->result ? drv_refuse(d, r->result, "Client %u was closed while its request was under way.",
                                        r->client->number)
                           : kIOReturnSuccess;
    if (r->state == DRV_REQUEST_QUEUED)
        dequeue_request(d, r);
    d->stats.completed += result == kIOReturnSuccess;
    d->stats.aborted += result == kIOReturnAborted;
    d->stats.failed += result != kIOReturnSuccess && result != kIOReturnAborted;
    reply->status = result == kIOReturnTimeout || (result && !r->status) ? (uint32_t)result : r->status;
    reply->detail = r->detail;
    leave_request(d, r, result == kIOReturnTimeout);
    return result;
}

/* Selector 2. */

/* `category` and `qos` are accepted as they come: no public source says what else they may be. */
static IOReturn check_request(const struct drv_client *client, uint64_t doorbell,
                              const struct ane_request *request)
{
    struct drv *d = client->driver;

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
    if (request->procedure)
        return drv_refuse(d, kIOReturnBadArgument, "Procedure %u; the program has 1.", request->procedure);
    if (!base_is_zero(request->reserved, sizeof(request->reserved)))
        return drv_refuse(d, kIOReturnBadArgument, "Reserved bytes of the request are not 0.");
    return drv_identity_admit(client, request->priority, "Request");
}

static IOReturn check_counts(struct drv *d, const struct drv_program *program,
                             const struct ane_request *request)
{
    if (request->inputs == program->inputs && request->outputs == program->outputs &&
        (request->intermediates == 0 || request->intermediates == program->intermediates))
        return kIOReturnSuccess;
    return drv_refuse(d, kIOReturnBadArgument,
                      "The request binds %u inputs, %u outputs and %u intermediates; program 0x%" PRIx64
                      " has %u, %u and %u.",
                      request->inputs, request->outputs, request->intermediates, program->token,
                      program->inputs, program->outputs, program->intermediates);
}

/*
 * All buffers at their addresses. When they do not fit where others of the request are already, all are
 * placed once more, from the beginning of what is free.
 */
static IOReturn bind_compactly(struct drv_request *r, const struct ane_request *request)
{
    IOReturn result = bind_all(r, request);

    if (result != kIOReturnNoResources)
        return result;
    unbind_buffers(r);
    drv_mapping_free_up_all(r->client->driver, r->client->domain);
    return bind_all(r, request);
}

/*
 * The same, but a request that does not fit beside others of its client waits until one of them is over.
 * It holds no buffer meanwhile, so two of them never wait for each other.
 */
static IOReturn bind_in_turn(struct drv_request *r, const struct ane_request *request,
                             struct drv_deadline *deadline)
{
    struct drv *d = r->client->driver;
    IOReturn result = bind_compactly(r, request);

    while (result == kIOReturnNoResources) {
        struct drv_waiter waiter = {.client = r->client};
        bool in_time;

        unbind_buffers(r);
        if (!has_bound_request(r->client))
            break;
        drv_waiter_append(&d->address_waiters, &waiter);
        in_time = !drv_wait(d, &waiter.done, deadline);
        drv_waiter_remove(&d->address_waiters, &waiter);
        if (drv_client_is_closed(r->client))
            return drv_refuse(d, kIOReturnAborted,
                              "Client %u was closed while its request waited for addresses.",
                              r->client->number);
        if (!in_time)
            return drv_refuse(
                d, kIOReturnTimeout,
                "The buffers of the request did not fit beside those of other requests of client "
                "%u in time.",
                r->client->number);
        result = bind_compactly(r, request);
    }
    return result;
}

/* With the process pinned. From the last buffer to the doorbell nothing waits. */
static IOReturn prepare_request(struct drv_request *r, const struct ane_request *request,
                                struct drv_deadline *deadline)
{
    IOReturn result;

    r->priority = request->priority;
    r->qos = request->qos ? request->qos : r->client->qos;
    result = bind_in_turn(r, request, deadline);
    if (result)
        return result;
    build_call(r, request);
    return bind_stats(r, request->stats_surface, &((struct pr_call *)(void *)r->message)->stats);
}

IOReturn drv_request_send(struct drv_client *client, uint64_t doorbell, const struct ane_request *request,
                          struct ane_request_reply *reply)
{
    struct drv_deadline deadline = {.ns = client->timeout_ns};
    struct drv *d = client->driver;
    struct drv_process *process;
    struct drv_request *r;
    IOReturn result = check_request(client, doorbell, request);

    *reply = (struct ane_request_reply){.sequence = request->sequence, .token = request->token};
    if (!result)
        result = drv_process_get(client, request->token, &deadline, &process);
    if (result)
        return result;
    result = check_counts(d, process->program, request);
    if (!result)
        result = await_request(process, &deadline, &r);
    if (result) {
        drv_process_unpin(process);
        return result;
    }
    result = drv_client_is_closed(client)
                 ? drv_refuse(d, kIOReturnAborted, "Client %u was closed.", client->number)
                 : prepare_request(r, request, &deadline);
    if (result) {
        free_request(d, r);
        return result;
    }
    submit_request(d, r);
    return await_completion(d, r, &deadline, reply);
}

IOReturn drv_request_message(struct drv_process *process, void *message, uint32_t bytes,
                             struct drv_deadline *deadline, uint32_t *status)
{
    struct drv_client *client = process->client;
    struct drv *d = client->driver;
    struct drv_request *r;
    IOReturn result = await_request(process, deadline, &r);
    bool late;

    if (result)
        return result;
    drv_process_pin(process); /* the request's own */
    memcpy(r->message, message, bytes);
    r->length = bytes;
    r->priority = ANE_REQUEST_PRIORITY;
    r->in_place = true;
    submit_request(d, r);
    late = drv_wait(d, &r->done, deadline);
    if (late)
        result =
            drv_refuse(d, kIOReturnTimeout, "A message of program 0x%" PRIx64 " was not answered in time.",
                       process->program->token);
    else if (r->result == kIOReturnAborted)
        result = drv_refuse(d, kIOReturnAborted, "Client %u was closed while its message was under way.",
                            client->number);
    if (r->state == DRV_REQUEST_QUEUED)
        dequeue_request(d, r);
    memcpy(message, r->message, bytes);
    *status = r->status;
    leave_request(d, r, late);
    return result;
}
