/* SPDX-License-Identifier: Apache-2.0 */
/* Async events, and their places at operations. */
#include "runtime/event.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/async.h"
#include "runtime/operation.h"

struct e5_event *e5_event_keep(struct e5_event *event)
{
    atomic_fetch_add(&event->count, 1);
    return event;
}

void e5_event_drop(struct e5_event *event)
{
    if (event && atomic_fetch_sub(&event->count, 1) == 1)
        base_free(event);
}

static void end(void *handle)
{
    e5_event_drop(((e5rt_async_event_t)handle)->event);
}

e5rt_async_event_t e5_event_handle(struct e5_event *event)
{
    e5rt_async_event_t handle = e5_handle_make(E5_EVENT, sizeof(*handle), end);

    if (handle)
        handle->event = e5_event_keep(event);
    return handle;
}

bool e5_event_reached(const struct e5_event *event, uint64_t value)
{
    return event->last >= value;
}

/* What has been signalled since is not lost any more. */
static void forget_reached(struct e5_event *event)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < event->losses; i++)
        if (!e5_event_reached(event, event->loss[i].last))
            event->loss[kept++] = event->loss[i];
    event->losses = kept;
}

/* Without room a loss is made larger: what waits for a value in between fails early, and not never. */
void e5_event_lose(struct e5_event *event, uint64_t value)
{
    struct e5_loss *loss = event->loss;

    forget_reached(event);
    if (e5_event_reached(event, value))
        return;
    while (loss < event->loss + event->losses && (value < loss->first || value - 1 > loss->last))
        loss++;
    if (loss == event->loss + event->losses && event->losses < E5_LOSSES) {
        event->losses++;
        *loss = (struct e5_loss){value, value};
        return;
    }
    if (loss == event->loss + E5_LOSSES)
        loss--;
    if (value < loss->first)
        loss->first = value;
    if (value > loss->last)
        loss->last = value;
}

uint64_t e5_event_next_loss(const struct e5_event *event, uint64_t value)
{
    uint64_t next = 0;

    for (unsigned i = 0; i < event->losses; i++) {
        const struct e5_loss *loss = &event->loss[i];
        const uint64_t at = loss->first > value ? loss->first : value;

        if (at <= loss->last && (!next || at < next))
            next = at;
    }
    return next;
}

void e5_event_raise(struct e5_event *event, uint64_t value)
{
    if (value > event->last)
        event->last = value;
    if (value > event->future)
        event->future = value;
}

int64_t e5rt_async_event_create(e5rt_async_event_t *event, const char *name, uint32_t value)
{
    int64_t status = e5_check_given(event, "the place for the event", __func__);
    struct e5_event *made;

    if (status)
        return status;
    *event = NULL;
    if (!name)
        return e5_fail(E5RT_INVALID_ARGUMENT, "%s: eventName is NULL.", __func__);
    if (strlen(name) > E5_EVENT_NAME_MAX)
        return e5_fail(E5RT_INVALID_ARGUMENT, "%s: the event's name has %zu characters; the limit is %u.",
                       __func__, strlen(name), E5_EVENT_NAME_MAX);
    made = base_alloc(sizeof(*made));
    if (!made)
        return e5_fail_memory("an event");
    atomic_init(&made->count, 1);
    memcpy(made->name, name, strlen(name) + 1);
    made->last = made->future = value;
    *event = e5_event_handle(made);
    e5_event_drop(made);
    return *event ? E5RT_OK : e5_fail_memory("an event");
}

int64_t e5rt_async_event_release(e5rt_async_event_t *event)
{
    return e5_handle_release(event, E5_EVENT, __func__);
}

int64_t e5rt_async_event_get_name(e5rt_async_event_t event, const char **name)
{
    int64_t status = e5_check(event, E5_EVENT, __func__);

    if (!status)
        status = e5_check_given(name, "the place for the name", __func__);
    if (!status)
        *name = event->event->name;
    return status;
}

static int64_t get_value(e5rt_async_event_t event, uint64_t *value, bool future, const char *call)
{
    int64_t status = e5_check(event, E5_EVENT, call);

    if (!status)
        status = e5_check_given(value, "the place for the value", call);
    if (status)
        return status;
    e5_async_lock();
    *value = future ? event->event->future : event->event->last;
    e5_async_unlock();
    return E5RT_OK;
}

int64_t e5rt_async_event_get_last_signaled_value(e5rt_async_event_t event, uint64_t *value)
{
    return get_value(event, value, false, __func__);
}

int64_t e5rt_async_event_get_active_future_value(e5rt_async_event_t event, uint64_t *value)
{
    return get_value(event, value, true, __func__);
}

/* An event does not fall below what it has signalled. */
static int64_t refuse_fall(const struct e5_event *event, uint64_t value, const char *call)
{
    return e5_fail(E5RT_INVALID_ARGUMENT,
                   "%s: event %s has signalled %" PRIu64 "; %" PRIu64 " is below that, and values only rise.",
                   call, event->name, event->last, value);
}

int64_t e5rt_async_event_set_active_future_value(e5rt_async_event_t event, uint64_t value)
{
    int64_t status = e5_check(event, E5_EVENT, __func__);

    if (status)
        return status;
    e5_async_lock();
    if (value < event->event->last)
        status = refuse_fall(event->event, value, __func__);
    else
        event->event->future = value;
    e5_async_unlock();
    return status;
}

int64_t e5rt_async_event_signal(e5rt_async_event_t event, uint64_t value)
{
    int64_t status = e5_check(event, E5_EVENT, __func__);

    if (status)
        return status;
    e5_async_lock();
    if (value < event->event->last)
        status = refuse_fall(event->event, value, __func__);
    else
        e5_event_raise(event->event, value);
    e5_async_unlock_changed();
    return status;
}

int64_t e5rt_async_event_sync_wait(e5rt_async_event_t event, uint64_t value, uint64_t timeout_ns)
{
    int64_t status = e5_check(event, E5_EVENT, __func__);
    struct e5_event *kept;

    if (status)
        return status;
    if (e5_async_is_service())
        return e5_fail(E5RT_INVALID_OPERATION,
                       "%s: a completion callback cannot wait for an event: what it waits for would be "
                       "done by its own thread.",
                       __func__);
    kept = e5_event_keep(event->event);
    e5_async_lock();
    if (!e5_async_wait(kept, value, timeout_ns))
        status = e5_fail(E5RT_INVALID_OPERATION,
                         e5_async_is_lost(kept, value)
                             ? "Event %s will not reach %" PRIu64 ": work that was to signal it has failed; "
                               "the last value is %" PRIu64 "."
                             : "Event %s did not reach %" PRIu64 " in time; the last value is %" PRIu64 ".",
                         kept->name, value, kept->last);
    e5_async_unlock();
    e5_event_drop(kept);
    return status;
}

/* At operations. */

static int64_t check_binding(e5rt_execution_stream_operation_t operation, const char *call)
{
    int64_t status = e5_check(operation, E5_OPERATION, call);

    if (!status && operation->encoded)
        status = e5_fail(E5RT_INVALID_OPERATION,
                         "Op %s has been encoded and hence its events cannot change before its stream is "
                         "reset.",
                         operation->name);
    return status;
}

int64_t e5rt_execution_stream_operation_bind_completion_event(e5rt_execution_stream_operation_t operation,
                                                              e5rt_async_event_t event)
{
    int64_t status = check_binding(operation, __func__);
    struct e5_event *before;

    if (!status)
        status = e5_check_optional(event, E5_EVENT, __func__);
    if (status)
        return status;
    before = operation->completion;
    operation->completion = event ? e5_event_keep(event->event) : NULL;
    e5_event_drop(before);
    return E5RT_OK;
}

int64_t e5rt_execution_stream_operation_bind_dependent_events(e5rt_execution_stream_operation_t operation,
                                                              const e5rt_async_event_t *events,
                                                              uint64_t count)
{
    int64_t status = check_binding(operation, __func__);

    if (!status && count)
        status = e5_check_given(events, "the list of events", __func__);
    if (!status && count > E5_DEPENDENT_EVENTS)
        status = e5_fail(E5RT_OUT_OF_BOUNDS, "%s: %" PRIu64 " events were given; the limit is %u.", __func__,
                         count, E5_DEPENDENT_EVENTS);
    for (uint64_t i = 0; i < count && !status; i++)
        status = e5_check(events[i], E5_EVENT, __func__);
    if (status)
        return status;
    for (uint64_t i = 0; i < count; i++)
        e5_event_keep(events[i]->event);
    for (size_t i = 0; i < operation->dependents; i++)
        e5_event_drop(operation->dependent[i]);
    for (uint64_t i = 0; i < count; i++)
        operation->dependent[i] = events[i]->event;
    operation->dependents = (size_t)count;
    return E5RT_OK;
}

int64_t e5rt_execution_stream_operation_get_dependent_event_count(e5rt_execution_stream_operation_t operation,
                                                                  uint64_t *count)
{
    int64_t status = e5_check(operation, E5_OPERATION, __func__);

    if (!status)
        status = e5_check_given(count, "the place for the count", __func__);
    if (!status)
        *count = operation->dependents;
    return status;
}

int64_t e5rt_execution_stream_operation_retain_completion_event(e5rt_execution_stream_operation_t operation,
                                                                e5rt_async_event_t *event)
{
    int64_t status = e5_check_given(event, "the place for the event", __func__);

    if (status)
        return status;
    *event = NULL;
    status = e5_check(operation, E5_OPERATION, __func__);
    if (status)
        return status;
    if (!operation->completion)
        return e5_fail(E5RT_INVALID_OPERATION, "Op %s has no completion event.", operation->name);
    *event = e5_event_handle(operation->completion);
    return *event ? E5RT_OK : e5_fail_memory("an event");
}

int64_t e5rt_execution_stream_operation_retain_dependent_events(e5rt_execution_stream_operation_t operation,
                                                                uint64_t count, e5rt_async_event_t *events)
{
    int64_t status = e5_check(operation, E5_OPERATION, __func__);

    if (!status && count)
        status = e5_check_given(events, "the place for the events", __func__);
    if (status)
        return status;
    if (count > operation->dependents)
        return e5_fail(E5RT_OUT_OF_BOUNDS, "%s: %" PRIu64 " events were asked for; op %s depends on %zu.",
                       __func__, count, operation->name, operation->dependents);
    for (uint64_t i = 0; i < count; i++)
        events[i] = NULL;
    for (uint64_t i = 0; i < count && !status; i++) {
        events[i] = e5_event_handle(operation->dependent[i]);
        if (!events[i])
            status = e5_fail_memory("an event");
    }
    for (uint64_t i = 0; i < count && status; i++)
        e5rt_async_event_release(&events[i]);
    return status;
}
