/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fences. `waits` of a request is not 0 from retain to release of one that waits; `accepted` says that the
 * firmware has it, `end_asked` that the firmware was asked to end it. Those that are still to be asked are
 * found by looking at all requests, while `d->fence_retry` is set.
 */
#include "driver/fence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "driver/command.h"
#include "driver/event.h"
#include "driver/flow.h"
#include "driver/request.h"
#include "protocol/call.h"

_Static_assert(ANE_EVENT_SHARED == PR_EVENT_SHARED && ANE_SHARED_EVENT_DOORBELL == PR_DOORBELL_SHARED_EVENT &&
                   ANE_REQUEST_SIGNALS == PR_SIGNAL_EVENTS_MAX && ANE_REQUEST_EVENTS <= PR_WAIT_EVENTS_MAX &&
                   ANE_REQUEST_EVENT_OBJECTS == PR_SHARED_EVENTS_MAX,
               "what a client may name, the firmware takes");
/* One signal more, which changes nothing: a call with events has one at least. */
_Static_assert(PR_CALL_BYTES(PR_CALL_BUFFERS_MAX) + sizeof(struct pr_call_tail) +
                       (ANE_REQUEST_EVENTS + 1) * sizeof(struct pr_event) <=
                   DRV_CELL_BYTES,
               "a call with events fits into a cell");

static uint32_t count_of(const struct ane_request *request)
{
    return request->wait_events + request->signal_events;
}

static IOReturn check_record(struct drv *d, const struct ane_request_event *record, uint32_t number,
                             bool signal)
{
    const uint32_t targets = signal ? (1u << PR_DOORBELL_TARGETS) - 1 : 0;

    if (record->type != ANE_EVENT_SHARED)
        return drv_refuse(d, kIOReturnBadArgument, "Event %u has type %u; requests have events of type %u.",
                          number, record->type, ANE_EVENT_SHARED);
    if (record->target_mask & ~targets)
        return drv_refuse(d, kIOReturnBadArgument, "Event %u has target mask 0x%x; 0x%x is possible.", number,
                          record->target_mask, targets);
    return kIOReturnSuccess;
}

IOReturn drv_fence_check(struct drv *d, const struct ane_request *request)
{
    IOReturn result = kIOReturnSuccess;

    if (request->wait_events > ANE_REQUEST_EVENTS || request->signal_events > ANE_REQUEST_SIGNALS ||
        count_of(request) > ANE_REQUEST_EVENTS)
        return drv_refuse(d, kIOReturnBadArgument,
                          "The request waits for %u events and signals %u; the limits are %u together and %u "
                          "signals.",
                          request->wait_events, request->signal_events, ANE_REQUEST_EVENTS,
                          ANE_REQUEST_SIGNALS);
    for (uint32_t i = 0; i < count_of(request) && !result; i++)
        result = check_record(d, &request->event[i], i, i >= request->wait_events);
    return result;
}

static bool may_wait(const struct drv_request *r)
{
    return r->client && (r->waits || r->kind == DRV_REQUEST_TRIGGER);
}

/* Requests that may wait, of a client or, with NULL, of all. */
static uint32_t count_waiting(const struct drv *d, const struct drv_client *client)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < DRV_REQUESTS; i++)
        count += may_wait(&d->request[i]) && (!client || d->request[i].client == client);
    return count;
}

IOReturn drv_fence_admit(const struct drv_client *client)
{
    struct drv *d = client->driver;
    const uint32_t own = count_waiting(d, client), all = count_waiting(d, NULL);

    if (all < DRV_WAITING_REQUESTS && own < DRV_WAITING_REQUESTS / 2)
        return kIOReturnSuccess;
    return drv_refuse(
        d, kIOReturnNoResources,
        "Client %u has %u requests that may wait for events or output sets, and all clients %u; "
        "the limits are %u and %u.",
        client->number, own, all, DRV_WAITING_REQUESTS / 2, DRV_WAITING_REQUESTS);
}

static struct drv_event *find_fence(const struct drv_request *r, const struct drv_event *event)
{
    for (uint32_t i = 0; i < r->fences; i++)
        if (r->fence[i] == event)
            return r->fence[i];
    return NULL;
}

static IOReturn retain_one(struct drv_request *r, uint64_t number)
{
    struct drv_event *event = drv_event_find(r->client, number);

    if (!event)
        return drv_refuse(r->client->driver, kIOReturnNotFound,
                          "There is no shared event %" PRIu64 " that task %u may name here.", number,
                          r->client->identity.task);
    if (find_fence(r, event))
        return kIOReturnSuccess;
    if (r->fences == PR_SHARED_EVENTS_MAX)
        return drv_refuse(r->client->driver, kIOReturnBadArgument,
                          "The request names more than %u different events.", PR_SHARED_EVENTS_MAX);
    drv_event_retain(event);
    r->fence[r->fences++] = event;
    return kIOReturnSuccess;
}

IOReturn drv_fence_retain(struct drv_request *r, const struct ane_request *wanted)
{
    IOReturn result = wanted->wait_events ? drv_fence_admit(r->client) : kIOReturnSuccess;

    for (uint32_t i = 0; i < count_of(wanted) && !result; i++)
        result = retain_one(r, wanted->event[i].event);
    if (!result)
        r->waits = wanted->wait_events;
    return result;
}

static struct pr_event translate(const struct drv_request *r, const struct ane_request_event *record)
{
    const struct drv *d = r->client->driver;
    const struct drv_event *event = &d->event[record->event % PR_SHARED_EVENT_ROWS];

    return (struct pr_event){.type = PR_EVENT_SHARED,
                             .target_mask = record->target_mask,
                             .id = drv_event_row(d, find_fence(r, event)),
                             .value = record->value};
}

/* A signal of the firmware's counter 0 to 0 raises nothing. */
void drv_fence_write(struct drv_request *r, const struct ane_request *wanted)
{
    const struct pr_event nothing = {.type = PR_EVENT_FIRMWARE};
    struct pr_call_tail tail = {.wait_events = wanted->wait_events,
                                .signal_events = wanted->signal_events ? wanted->signal_events : 1,
                                .event_masks = PR_EVENT_MASKS};
    struct pr_call *call = (void *)r->message;
    uint8_t *at = r->message + r->length;

    if (!count_of(wanted))
        return;
    call->head.id = PR_EXE_PROCEDURE_CALL_WITH_EVENTS;
    memcpy(at, &tail, sizeof(tail));
    at += sizeof(tail);
    for (uint32_t i = 0; i < tail.wait_events + tail.signal_events; i++, at += sizeof(nothing)) {
        const struct pr_event event = i < count_of(wanted) ? translate(r, &wanted->event[i]) : nothing;

        memcpy(at, &event, sizeof(event));
    }
    r->length = (uint32_t)(at - r->message);
}

void drv_fence_release(struct drv_request *r)
{
    if (!r->fences)
        return;
    drv_event_changed(r->client->driver);
    while (r->fences)
        drv_event_unuse(r->fence[--r->fences]);
    r->waits = 0;
    r->accepted = r->end_asked = false;
}

/* The answer is not looked at: the call's own event ends the request. */
static bool ask_end(struct drv *d, const struct drv_request *r)
{
    struct pr_body_shared_events body = {.address = r->cookie, .flags = PR_SHARED_EVENTS_CANCEL};
    const struct drv_command_args args = {.id = PR_CMD_INIT_SHARED_EVENT_INFO,
                                          .program = PR_NO_ID,
                                          .process = PR_NO_ID,
                                          .body = &body,
                                          .bytes = sizeof(body)};

    SOC_TRACE(d->platform.trace, DRV_HELD_ENDS, r->client->number, r->cookie);
    return drv_command_post(d, &args, NULL);
}

void drv_fence_give_up(struct drv *d, struct drv_request *r)
{
    if (!r->waits || !r->accepted || r->end_asked)
        return;
    r->end_asked = d->ready && ask_end(d, r);
    d->fence_retry |= !r->end_asked;
}

void drv_fence_retry(struct drv *d)
{
    d->fence_retry = false;
    for (unsigned i = 0; i < DRV_REQUESTS; i++)
        if (d->request[i].state == DRV_REQUEST_ABORTED || d->request[i].state == DRV_REQUEST_ABANDONED)
            drv_fence_give_up(d, &d->request[i]);
}

void drv_fence_accepted(struct drv *d, struct drv_request *r)
{
    if (!r->waits)
        return;
    SOC_TRACE(d->platform.trace, DRV_HELD, r->client->number, r->cookie);
    r->accepted = true;
    drv_flow_leave(d, r);
    if (r->state != DRV_REQUEST_IN_FIRMWARE)
        drv_fence_give_up(d, r);
}

bool drv_fence_is_held(const struct drv *d)
{
    for (unsigned i = 0; i < DRV_REQUESTS; i++)
        if (d->request[i].waits && d->request[i].state == DRV_REQUEST_IN_FIRMWARE)
            return true;
    return false;
}

void drv_fence_describe(const struct drv_request *r, char *text, size_t size)
{
    text[0] = '\0';
    if (r->waits && r->accepted)
        snprintf(text, size, "; it may still wait for one of its %u wait events", r->waits);
}
