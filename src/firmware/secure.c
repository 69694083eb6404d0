/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secure mode. Phases: OFF; QUIESCING, from START or STOP until nothing is in flight; PAUSED, with the
 * machine in PAUSE, until the host's answer or its deadline; ON. No event is posted to the machine in PAUSE:
 * a call is held, nothing is in flight that could end, and START, STOP and the rest are refused.
 */
#include "firmware/secure.h"

#include "firmware/call.h"
#include "firmware/completion.h"
#include "firmware/event.h"
#include "firmware/exeloop.h"
#include "firmware/log.h"
#include "firmware/notify.h"
#include "firmware/power.h"
#include "firmware/queue.h"
#include "firmware/shared.h"
#include "rtkernel/task.h"
#include "rtkernel/timer.h"

bool fw_secure_create(struct fw *fw)
{
    const struct fw_record overdue = {.kind = FW_RECORD_SECURE};

    fw->secure.held = (struct fw_list){FW_NO_CALL, FW_NO_CALL};
    return !rt_timer_create_post(fw->kernel, &fw->secure.timer,
                                 rt_task_interrupts(fw->pump[FW_TASK_EXELOOP].task), &overdue,
                                 sizeof(overdue));
}

static void notify(struct fw *fw, enum pr_secure_phase phase)
{
    const struct pr_notify_secure message = {.head.id = PR_CMD_SECURE_MODE_EVENT,
                                             .phase = phase,
                                             .dropped = fw->secure.dropped,
                                             .waiting = fw->secure.waiting,
                                             .time = fw_shared_host_time(fw)};

    fw_notify_post_awaited(fw, &message, sizeof(message));
}

/* The mode admits calls of one kind, a switch none. */
static bool admitted(const struct fw *fw, const struct fw_process *process)
{
    return process->secure ? fw->secure.phase == FW_SECURE_ON : fw->secure.phase == FW_SECURE_OFF;
}

static void keep(struct fw *fw, uint16_t number)
{
    fw_call_put(fw, &fw->secure.held, number);
    fw->secure.waiting++;
}

bool fw_secure_holds(struct fw *fw, uint16_t number)
{
    if (admitted(fw, &fw->process[fw->call[number].process]))
        return false;
    keep(fw, number);
    return true;
}

/* The list without its calls. */
static struct fw_list take_all(struct fw *fw)
{
    const struct fw_list held = fw->secure.held;

    fw->secure.held = (struct fw_list){FW_NO_CALL, FW_NO_CALL};
    fw->secure.waiting = 0;
    return held;
}

uint32_t fw_secure_end(struct fw *fw, const struct fw_event_match *match)
{
    struct fw_list list = take_all(fw);
    uint32_t ended = 0;
    uint16_t number;

    while ((number = fw_call_take(fw, &list)) != FW_NO_CALL) {
        if (!fw_event_matches(fw, number, match)) {
            keep(fw, number);
            continue;
        }
        fw_completion_end(fw, number, PR_STATUS_ABORTED);
        ended++;
    }
    return ended;
}

/* A call that is still not admitted is held again, behind those before it. */
static void release(struct fw *fw)
{
    struct fw_list list = take_all(fw);
    uint16_t number;

    while ((number = fw_call_take(fw, &list)) != FW_NO_CALL)
        fw_exeloop_dispatch(fw, number);
}

bool fw_secure_drops(struct fw *fw, const struct fw_process *process)
{
    if (!fw_secure_is_on(fw) || process->secure)
        return false;
    fw->secure.dropped++;
    fw->secure.dropped_ever++;
    return true;
}

void fw_secure_drained(struct fw *fw)
{
    if (fw->secure.phase == FW_SECURE_QUIESCING)
        rt_fsm_post(&fw->exeloop.machine, fw->secure.entering ? FW_EVENT_ENTER_SECURE : FW_EVENT_EXIT_SECURE,
                    0);
}

void fw_secure_pause(struct fw *fw)
{
    if (fw_power_islands(fw))
        fw_queue_stop(fw);
    notify(fw, PR_SECURE_QUIESCED);
    fw_power_cycle(fw);
    fw->secure.phase = FW_SECURE_PAUSED;
    fw->secure.paused = rt_port_now(fw->port);
    notify(fw, PR_SECURE_PAUSED);
    rt_timer_start(fw->secure.timer, PR_SECURE_RESUME_NS, 0);
}

/* The other side of PAUSE. Islands that are switched by themselves are off while nothing is in flight. */
static void cross(struct fw *fw, bool secure)
{
    rt_timer_stop(fw->secure.timer);
    fw_queue_start(fw);
    if (fw->power.dynamic)
        fw_power_gate(fw);
    rt_fsm_cross(&fw->exeloop.machine, secure ? PR_EXECUTION_EXEC_SECURE : PR_EXECUTION_RUN);
    fw->secure.phase = secure ? FW_SECURE_ON : FW_SECURE_OFF;
    fw->secure.switches++;
    notify(fw, secure ? PR_SECURE_ENTERED : PR_SECURE_LEFT);
    release(fw);
}

/* The record of a timer that was stopped may still be on its way. */
void fw_secure_overdue(struct fw *fw)
{
    if (fw->secure.phase != FW_SECURE_PAUSED ||
        rt_port_now(fw->port) - fw->secure.paused < PR_SECURE_RESUME_NS)
        return;
    fw->secure.timeouts++;
    fw_log(fw, RT_LOG_ERROR,
           "the host did not resume the transition within %u seconds: the engine is not in secure mode",
           (uint32_t)(PR_SECURE_RESUME_NS / 1000000000u));
    cross(fw, false);
}

/* What keeps a switch from beginning, or NULL. */
static const char *switch_wrong(const struct fw *fw, bool entering, uint32_t word)
{
    const uint8_t phase = fw->secure.phase;

    if (word)
        return "its word is not 0";
    if (phase == FW_SECURE_QUIESCING || phase == FW_SECURE_PAUSED)
        return "a switch is under way";
    if (entering == (phase == FW_SECURE_ON))
        return entering ? "the engine is in secure mode" : "the engine is not in secure mode";
    if (fw->closed)
        return "the execution loop is closed";
    return fw->power.pmu ? NULL : "the PMU's base is not set";
}

static enum pr_status begin(struct fw *fw, bool entering, const void *body)
{
    const uint32_t word = ((const struct pr_body_u32 *)body)->value;
    const char *wrong = switch_wrong(fw, entering, word);

    if (wrong) {
        fw_log(fw, RT_LOG_WARNING, "a switch %s secure mode is refused: %s", entering ? "to" : "from", wrong);
        return word ? PR_STATUS_BAD_ARGUMENT : PR_STATUS_WRONG_STATE;
    }
    fw->secure.phase = FW_SECURE_QUIESCING;
    fw->secure.entering = entering;
    if (entering)
        fw->secure.dropped = 0;
    if (!fw->loadmon.busy_now)
        fw_secure_drained(fw);
    return PR_STATUS_OK;
}

enum pr_status fw_secure_start(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    return begin(fw, true, body);
}

enum pr_status fw_secure_stop(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    return begin(fw, false, body);
}

enum pr_status fw_secure_resume(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    (void)body;
    if (fw->secure.phase != FW_SECURE_PAUSED) {
        fw_log(fw, RT_LOG_WARNING, "no transition waits for the host to resume it");
        return PR_STATUS_WRONG_STATE;
    }
    cross(fw, fw->secure.entering);
    return PR_STATUS_OK;
}
