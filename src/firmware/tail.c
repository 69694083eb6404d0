/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail of a call. The counts are checked before anything that they count is read, and the length of the
 * message is that of all of it.
 */
#include "firmware/tail.h"

#include "firmware/bars.h"
#include "firmware/event.h"
#include "firmware/log.h"
#include "firmware/order.h"
#include "firmware/rule.h"
#include "protocol/log_line.h"
#include "rtkernel/heap.h"
#include "rtkernel/memory.h"

static const struct pr_call_tail *tail_of(const struct pr_call *message)
{
    return (const void *)&message->buffer[message->buffers];
}

static uint32_t count_events(const struct pr_call_tail *tail)
{
    return tail->wait_events + tail->signal_events;
}

static const struct pr_event *events_of(const struct pr_call_tail *tail)
{
    return (const void *)(tail + 1);
}

static const struct pr_custom_bar *bars_of(const struct pr_call_tail *tail)
{
    return (const void *)(events_of(tail) + count_events(tail));
}

/* A call with bars may have events, a call with events has some. */
static enum pr_status check_events(struct fw *fw, const struct pr_call_tail *tail)
{
    const uint64_t count = (uint64_t)tail->wait_events + tail->signal_events;
    enum pr_status status = fw_rule(fw, PR_RULE_EVENTS, count, count);

    if (!status)
        status = fw_rule(fw, PR_RULE_SIGNAL_EVENTS,
                         tail->signal_events > 0 && tail->signal_events <= PR_SIGNAL_EVENTS_MAX,
                         tail->signal_events);
    if (!status)
        status = fw_rule(fw, PR_RULE_WAIT_EVENTS, tail->wait_events <= PR_WAIT_EVENTS_MAX, tail->wait_events);
    return status ? status
                  : fw_rule(fw, PR_RULE_EVENT_MASKS, tail->event_masks == PR_EVENT_MASKS, tail->event_masks);
}

static bool has_order(const struct pr_call_tail *tail)
{
    return tail->execute_order || tail->execute_order_offset || tail->sub_network_order;
}

static enum pr_status check_counts(struct fw *fw, uint32_t id, const struct pr_call_tail *tail)
{
    const bool with_events = id == PR_EXE_PROCEDURE_CALL_WITH_EVENTS;
    const uint32_t flags = with_events ? PR_CALL_FORCE_DISABLE_CACHE : 0;
    enum pr_status status =
        fw_rule(fw, PR_RULE_CUSTOM_BARS, tail->custom_bars <= PR_CUSTOM_BARS_MAX, tail->custom_bars);

    if (!status && (with_events || tail->wait_events || tail->signal_events))
        status = check_events(fw, tail);
    if (!status && with_events)
        status = fw_rule(fw, PR_RULE_EVENT_ORDER, !has_order(tail), tail->sub_network_order);
    return status ? status : fw_rule(fw, PR_RULE_CALL_FLAGS, !(tail->flags & ~flags), tail->flags);
}

static enum pr_status take_order(struct fw *fw, const struct pr_call *message, uint64_t length,
                                 uint64_t call_bytes)
{
    const struct pr_call_tail *tail = tail_of(message);
    const uint64_t offset = tail->execute_order_offset, count = tail->execute_order,
                   end = offset + count * sizeof(uint32_t);
    enum pr_status status = fw_rule(fw, PR_RULE_ORDER_OFFSET, call_bytes <= offset, offset);

    if (!status)
        status = fw_rule(fw, PR_RULE_ORDER_LEAST, count > 0, count);
    if (!status)
        status = fw_rule(fw, PR_RULE_ORDER_MOST, count <= PR_EXECUTE_ORDER_MAX, count);
    if (!status)
        status = fw_rule(fw, PR_RULE_ORDER_CONTAINER, end <= PR_CALL_CONTAINER_BYTES, end);
    if (!status)
        status = fw_rule(fw, PR_RULE_CALL_SIZE, length == end, length);
    if (!status)
        status = fw_rule(fw, PR_RULE_PARTITIONS_MOST, message->partitions == 1, message->partitions);
    return status ? status
                  : fw_order_custom(fw, fw->program[message->program_id], (const uint8_t *)message + offset,
                                    tail->execute_order);
}

/* The requests of the call, once the message has all that its counts say. */
static enum pr_status take_requests(struct fw *fw, const struct pr_call *message, uint64_t length)
{
    const struct pr_call_tail *tail = tail_of(message);
    const uint64_t call_bytes = PR_CALL_BYTES(message->buffers) +
                                PR_CALL_TAIL_BYTES(tail->wait_events, tail->signal_events, tail->custom_bars);

    if (has_order(tail))
        return take_order(fw, message, length, call_bytes);
    fw_order_own(fw, message->procedure, message->partitions);
    return fw_rule(fw, PR_RULE_CALL_SIZE, length == call_bytes, length);
}

static enum pr_status take_events(struct fw *fw, const struct pr_call_tail *tail)
{
    enum pr_status status = fw_event_check_shared(fw, events_of(tail), count_events(tail));

    for (uint32_t i = 0; i < count_events(tail) && !status; i++)
        status = fw_event_check(fw, &events_of(tail)[i], i >= tail->wait_events);
    return status;
}

enum pr_status fw_tail_take(struct fw *fw, const struct pr_call *message, uint64_t length)
{
    const struct pr_call_tail *tail = tail_of(message);
    enum pr_status status = check_counts(fw, message->head.id, tail);

    if (!status)
        status = take_requests(fw, message, length);
    if (!status)
        status = take_events(fw, tail);
    return status ? status
                  : fw_bars_bind(fw, fw->program[message->program_id], bars_of(tail), tail->custom_bars);
}

enum pr_status fw_tail_attach(struct fw *fw, const struct pr_call *message, uint16_t number)
{
    const struct pr_call_tail *tail = tail_of(message);
    const size_t bytes = count_events(tail) * sizeof(struct pr_event);
    struct fw_call_events *events;

    if (!bytes)
        return PR_STATUS_OK;
    events = rt_heap_alloc(fw->kernel, RT_ARENA_SYSTEM, sizeof(*events) + bytes);
    if (!events)
        return PR_STATUS_NO_RESOURCES;
    events->waits = tail->wait_events;
    events->signals = tail->signal_events;
    rt_memcpy(events->event, events_of(tail), bytes);
    fw->call[number].events = events;
    return PR_STATUS_OK;
}

bool fw_tail_disables_cache(const struct pr_call *message)
{
    return tail_of(message)->flags & PR_CALL_FORCE_DISABLE_CACHE;
}

static void log_event(struct fw *fw, bool signal, uint32_t i, const struct pr_event *event)
{
    fw_log(fw, RT_LOG_INFO, signal ? PR_LINE_SIGNAL_EVENT : PR_LINE_WAIT_EVENT, (int)i, (int)event->type,
           event->target_mask, (long long)event->id, (long long)event->value);
}

void fw_tail_log(struct fw *fw, const struct pr_call *message)
{
    const struct pr_call_tail *tail = tail_of(message);
    const struct pr_custom_bar *bar = bars_of(tail);

    fw_log(fw, RT_LOG_INFO, PR_LINE_SHAPE, (int)message->buffers, (int)message->priority,
           (int)tail->custom_bars, (int)tail->wait_events, (int)tail->signal_events);
    for (uint32_t i = 0; i < tail->wait_events; i++)
        log_event(fw, false, i, &events_of(tail)[i]);
    for (uint32_t i = 0; i < tail->signal_events; i++)
        log_event(fw, true, i, &events_of(tail)[tail->wait_events + i]);
    for (uint32_t i = 0; i < tail->custom_bars; i++)
        fw_log(fw, RT_LOG_INFO, PR_LINE_BAR, (int)i, (int)bar[i].type, (int)bar[i].config, (int)bar[i].bar_id,
               (unsigned long long)bar[i].value, (long long)bar[i].bytes);
}
