/* SPDX-License-Identifier: Apache-2.0 */
/* Events: counters of the firmware's. Held calls are looked at in the order in which they came. */
#include "firmware/event.h"

#include "firmware/call.h"
#include "firmware/exeloop.h"
#include "firmware/rule.h"

void fw_event_init(struct fw *fw)
{
    fw->events.held = (struct fw_list){FW_NO_CALL, FW_NO_CALL};
}

enum pr_status fw_event_check(struct fw *fw, const struct pr_event *event, bool signal)
{
    enum pr_status status = fw_rule(fw, PR_RULE_EVENT_TYPE, event->type == PR_EVENT_FIRMWARE, event->type);

    (void)signal;
    if (!status)
        status = fw_rule(fw, PR_RULE_EVENT_ID, event->id < PR_FIRMWARE_EVENTS, event->id);
    return status ? status : fw_rule(fw, PR_RULE_EVENT_TARGET, !event->target_mask, event->target_mask);
}

static bool waits_hold(const struct fw *fw, const struct fw_call_events *events)
{
    for (uint32_t i = 0; i < events->waits; i++)
        if (fw->events.counter[events->event[i].id] < events->event[i].value)
            return false;
    return true;
}

bool fw_event_hold(struct fw *fw, uint16_t number)
{
    if (waits_hold(fw, fw->call[number].events))
        return false;
    fw_call_put(fw, &fw->events.held, number);
    return true;
}

/* A call that still waits goes back to the end of the list, so that the order stays. */
static void look_at_held(struct fw *fw)
{
    struct fw_list held = fw->events.held;
    uint16_t number;

    fw_event_init(fw);
    while ((number = fw_call_take(fw, &held)) != FW_NO_CALL)
        if (!fw_event_hold(fw, number))
            fw_exeloop_dispatch(fw, number);
}

void fw_event_signal(struct fw *fw, const struct fw_call *call)
{
    const struct fw_call_events *events = call->events;

    for (uint32_t i = events->waits; i < events->waits + events->signals; i++) {
        const struct pr_event *event = &events->event[i];

        if (fw->events.counter[event->id] < event->value)
            fw->events.counter[event->id] = event->value;
    }
    look_at_held(fw);
}
