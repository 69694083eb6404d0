/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events. Held calls are looked at in the order in which they came. A row of the host's table is read each
 * time that its value is wanted, and a row that cannot be read has the value 0: its calls wait on. While the
 * loop is closed nothing is dispatched; opening it is a reason to look.
 */
#include "firmware/event.h"

#include "firmware/cache.h"
#include "firmware/cacherun.h"
#include "firmware/call.h"
#include "firmware/completion.h"
#include "firmware/dartmgr.h"
#include "firmware/doorbell.h"
#include "firmware/exeloop.h"
#include "firmware/log.h"
#include "firmware/notify.h"
#include "firmware/pump.h"
#include "firmware/rule.h"
#include "firmware/secure.h"
#include "firmware/shared.h"
#include "rtkernel/irq.h"

static const struct fw_list none = {FW_NO_CALL, FW_NO_CALL};

void fw_event_init(struct fw *fw)
{
    fw->events.held = none;
}

/* Targets of the endpoint that are bound. */
static uint32_t bound_targets(const struct fw *fw)
{
    uint32_t mask = 0;

    for (unsigned i = 0; i < PR_DOORBELL_TARGETS; i++)
        mask |= (uint32_t)(fw->target[i].bits != 0) << i;
    return mask;
}

static bool known_id(const struct fw *fw, const struct pr_event *event)
{
    switch (event->type) {
    case PR_EVENT_FIRMWARE: return event->id < PR_FIRMWARE_EVENTS;
    case PR_EVENT_SHARED: return event->id < fw->events.rows;
    default: return true;
    }
}

enum pr_status fw_event_check(struct fw *fw, const struct pr_event *event, bool signal)
{
    const bool known = event->type == PR_EVENT_FIRMWARE || event->type == PR_EVENT_SHARED ||
                       (event->type == PR_EVENT_USER && signal);
    const uint32_t targets = signal ? bound_targets(fw) : 0;
    enum pr_status status = fw_rule(fw, PR_RULE_EVENT_TYPE, known, event->type);

    if (!status)
        status = fw_rule(fw, PR_RULE_EVENT_ID, known_id(fw, event), event->id);
    if (!status)
        status = fw_rule(fw, PR_RULE_EVENT_TARGET, !(event->target_mask & ~targets), event->target_mask);
    return status;
}

enum pr_status fw_event_check_shared(struct fw *fw, const struct pr_event *event, uint32_t count)
{
    uint64_t active[PR_SHARED_EVENTS_MAX];
    uint32_t used = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 0;

        if (event[i].type != PR_EVENT_SHARED)
            continue;
        while (at < used && active[at] != event[i].id)
            at++;
        if (at < used)
            continue;
        if (used == PR_SHARED_EVENTS_MAX)
            return fw_rule_broken(fw, PR_RULE_SHARED_EVENTS, used);
        active[used++] = event[i].id;
    }
    return PR_STATUS_OK;
}

static uint64_t row_address(const struct fw *fw, uint64_t id)
{
    return fw->events.table + id * PR_SHARED_EVENT_BYTES;
}

static uint64_t value_of(struct fw *fw, const struct pr_event *event)
{
    struct pr_shared_event row = {0};

    if (event->type == PR_EVENT_FIRMWARE)
        return fw->events.counter[event->id];
    (void)fw_shared_in(fw, &row, row_address(fw, event->id), sizeof(row));
    return row.value;
}

static bool waits_hold(struct fw *fw, const struct fw_call_events *events)
{
    for (uint32_t i = 0; i < events->waits; i++)
        if (value_of(fw, &events->event[i]) < events->event[i].value)
            return false;
    return true;
}

static void keep(struct fw *fw, uint16_t number)
{
    fw_call_put(fw, &fw->events.held, number);
    fw->events.count++;
}

bool fw_event_hold(struct fw *fw, uint16_t number)
{
    if (waits_hold(fw, fw->call[number].events))
        return false;
    keep(fw, number);
    fw->events.held_ever++;
    return true;
}

/* The list without its calls; those that stay held are put back in their order. */
static struct fw_list take_all(struct fw *fw)
{
    const struct fw_list held = fw->events.held;

    fw->events.held = none;
    fw->events.count = 0;
    return held;
}

/* A call begins to wait for its queue now: what it waited for before is not its latency. */
void fw_event_look(struct fw *fw)
{
    struct fw_list held;
    uint16_t number;

    if (!fw->events.count || fw->closed)
        return;
    held = take_all(fw);
    while ((number = fw_call_take(fw, &held)) != FW_NO_CALL) {
        if (!waits_hold(fw, fw->call[number].events)) {
            keep(fw, number);
            continue;
        }
        fw->call[number].accepted = rt_port_now(fw->port);
        fw_exeloop_dispatch(fw, number);
    }
}

static void raise_shared(struct fw *fw, const struct pr_event *event)
{
    const struct pr_shared_event row = {.value = event->value, .time = fw_shared_host_time(fw)};

    if (value_of(fw, event) < event->value)
        (void)fw_shared_out(fw, row_address(fw, event->id), &row, sizeof(row));
}

static void notify_user(struct fw *fw, const struct fw_call *call, const struct pr_event *event)
{
    const struct pr_notify_user message = {.head.id = PR_CMD_USER_EVENT,
                                           .event = event->id,
                                           .value = event->value,
                                           .program_id = call->program,
                                           .process_id = call->process,
                                           .time = fw_shared_host_time(fw)};

    fw_notify_post(fw, &message, sizeof(message));
}

/* Each target of the masks is rung once, after all values are there. */
void fw_event_signal(struct fw *fw, const struct fw_call *call)
{
    const struct fw_call_events *events = call->events;
    uint32_t targets = 0;

    for (uint32_t i = events->waits; i < events->waits + events->signals; i++) {
        const struct pr_event *event = &events->event[i];

        targets |= event->target_mask;
        if (event->type == PR_EVENT_USER)
            notify_user(fw, call, event);
        else if (event->type == PR_EVENT_SHARED)
            raise_shared(fw, event);
        else if (fw->events.counter[event->id] < event->value)
            fw->events.counter[event->id] = event->value;
    }
    fw_doorbell_signal(fw, targets);
    fw_event_look(fw);
}

bool fw_event_matches(struct fw *fw, uint16_t number, const struct fw_event_match *match)
{
    const struct fw_call *call = &fw->call[number];

    return (!match->cookie || call->cookie == match->cookie) &&
           (!match->handler ||
            (call->origin == FW_ORIGIN_CACHE && fw_cacherun_loses(fw, call->execution, match->handler))) &&
           (match->process == PR_NO_ID || call->process == match->process) &&
           call->level >= match->first_level && call->level <= match->last_level;
}

uint32_t fw_event_end(struct fw *fw, const struct fw_event_match *match)
{
    struct fw_list held = take_all(fw);
    uint32_t ended = 0;
    uint16_t number;

    while ((number = fw_call_take(fw, &held)) != FW_NO_CALL) {
        if (!fw_event_matches(fw, number, match)) {
            keep(fw, number);
            continue;
        }
        fw_completion_end(fw, number, PR_STATUS_ABORTED);
        ended++;
    }
    return match->outside ? ended + fw_secure_end(fw, match) : ended;
}

uint32_t fw_event_cancel(struct fw *fw, const struct fw_event_match *match)
{
    const uint32_t ended = fw_event_end(fw, match);

    if (ended)
        fw_completion_notify(fw);
    return ended;
}

/* One task at a time asks: a command is under way, and the server waits for it. */
uint32_t fw_event_ask_cancel(struct fw *fw, enum fw_task from, const struct fw_event_match *match)
{
    fw->events.asked = *match;
    fw->events.cancelled = 0;
    (void)fw_pump_ask(fw, from, FW_TASK_EXELOOP, FW_RECORD_CANCEL);
    return fw->events.cancelled;
}

/* False when calls are in flight, or cache requests are installed, whose events name rows. */
static bool replace_table(struct fw *fw, uint64_t address, uint32_t rows)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    const bool idle = !fw_exeloop_busy(fw) && !fw_cache_has_events(fw);

    if (idle) {
        fw->events.table = address;
        fw->events.rows = rows;
    }
    rt_irq_restore(fw->kernel, previous);
    return idle;
}

/* Hosts that send no body have no events to share. */
enum pr_status fw_event_table(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_shared_events *events = body;
    struct fw_event_match match = FW_EVENT_MATCH_ALL;

    if (!header->size)
        return PR_STATUS_OK;
    if (header->size != sizeof(*events))
        return PR_STATUS_BAD_SIZE;
    if (events->flags & ~PR_SHARED_EVENTS_CANCEL) {
        fw_log(fw, RT_LOG_WARNING, "flags 0x%x of shared events: 0x%x are known", events->flags,
               PR_SHARED_EVENTS_CANCEL);
        return PR_STATUS_BAD_ARGUMENT;
    }
    fw->server.reply = fw->server.capacity >= sizeof(*events) ? sizeof(*events) : 0;
    if (events->flags & PR_SHARED_EVENTS_CANCEL) {
        match.cookie = events->address;
        events->events = fw_event_ask_cancel(fw, FW_TASK_SERVER, &match);
        return PR_STATUS_OK;
    }
    if (events->events > PR_SHARED_EVENT_ROWS)
        events->events = PR_SHARED_EVENT_ROWS;
    if (events->events && fw_dartmgr_window(fw, FW_TASK_SERVER, events->address,
                                            (uint64_t)events->events * PR_SHARED_EVENT_BYTES))
        return PR_STATUS_BAD_ARGUMENT;
    if (!replace_table(fw, events->address, events->events)) {
        fw_log(
            fw, RT_LOG_WARNING,
            "another table of shared events is refused: calls are in flight, or a cache request has events");
        return PR_STATUS_BUSY;
    }
    return PR_STATUS_OK;
}
