/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the firmware. The machine is strict: a command that has no row in this state is refused before
 * an event is posted. In QUIESCED and beyond no call is accepted.
 */
#include "firmware/life.h"

#include "base/array.h"
#include "firmware/builtin.h"
#include "firmware/event.h"
#include "firmware/exeloop.h"
#include "firmware/log.h"
#include "firmware/power.h"
#include "firmware/process.h"
#include "firmware/pump.h"
#include "firmware/secure.h"
#include "rtkernel/irq.h"
#include "rtkernel/signal.h"

enum life_event { EVENT_START, EVENT_STOP, EVENT_QUIESCE, EVENT_SUSPEND, EVENT_POWER_DOWN, EVENTS };

static const char *const state_names[FW_LIFE_STATES] = {"init", "running", "quiesced", "suspended", "down"};
static const char *const event_names[EVENTS] = {"start", "stop", "quiesce", "suspend", "power-down"};
static const struct rt_fsm_row rows[] = {
    {FW_LIFE_INIT, EVENT_START, FW_LIFE_RUNNING, NULL},
    {FW_LIFE_QUIESCED, EVENT_START, FW_LIFE_RUNNING, NULL},
    {FW_LIFE_RUNNING, EVENT_STOP, FW_LIFE_INIT, NULL},
    {FW_LIFE_QUIESCED, EVENT_STOP, FW_LIFE_INIT, NULL},
    {FW_LIFE_INIT, EVENT_QUIESCE, FW_LIFE_QUIESCED, NULL},
    {FW_LIFE_RUNNING, EVENT_QUIESCE, FW_LIFE_QUIESCED, NULL},
    {FW_LIFE_QUIESCED, EVENT_QUIESCE, FW_LIFE_QUIESCED, NULL},
    {FW_LIFE_QUIESCED, EVENT_SUSPEND, FW_LIFE_SUSPENDED, NULL},
    {FW_LIFE_INIT, EVENT_POWER_DOWN, FW_LIFE_DOWN, NULL},
    {FW_LIFE_RUNNING, EVENT_POWER_DOWN, FW_LIFE_DOWN, NULL},
    {FW_LIFE_QUIESCED, EVENT_POWER_DOWN, FW_LIFE_DOWN, NULL},
    {FW_LIFE_SUSPENDED, EVENT_POWER_DOWN, FW_LIFE_DOWN, NULL},
};
static const struct rt_fsm_table table = {
    .name = "life",
    .state_names = state_names,
    .event_names = event_names,
    .states = FW_LIFE_STATES,
    .events = EVENTS,
    .first = FW_LIFE_INIT,
    .strict = RT_FSM_STRICT,
    .rows = rows,
    .row_count = BASE_COUNT_OF(rows),
};

bool fw_life_create(struct fw *fw)
{
    rt_fsm_init(&fw->life.machine, fw->kernel, &table, fw);
    return !rt_signal_create(fw->kernel, &fw->life.signal);
}

bool fw_life_is_down(const struct fw *fw)
{
    return rt_fsm_state(&fw->life.machine) == FW_LIFE_DOWN;
}

/* The tenant of the secure mode owns the engine until the host ends the mode. */
static bool allowed(struct fw *fw, enum life_event event)
{
    if (fw_secure_is_on(fw)) {
        fw_log(fw, RT_LOG_WARNING,
               "%s is refused: the engine is in secure mode, or on the way; send SECURE_MODE_STOP first",
               event_names[event]);
        return false;
    }
    for (unsigned i = 0; i < BASE_COUNT_OF(rows); i++)
        if (rows[i].state == rt_fsm_state(&fw->life.machine) && rows[i].event == event)
            return true;
    fw_log(fw, RT_LOG_WARNING, "%s is refused: the firmware is %s", event_names[event],
           rt_fsm_state_name(&fw->life.machine));
    return false;
}

enum pr_status fw_life_start(struct fw *fw, struct pr_command_header *header, void *body)
{
    enum pr_status status;

    (void)header;
    if (!allowed(fw, EVENT_START))
        return PR_STATUS_WRONG_STATE;
    status = fw_pump_ask(fw, FW_TASK_SERVER, FW_TASK_TUNABLES, FW_RECORD_QUEUES);
    if (!status)
        status = fw_pump_ask(fw, FW_TASK_SERVER, FW_TASK_EXELOOP, FW_RECORD_START);
    if (status)
        return status;
    rt_fsm_post(&fw->life.machine, EVENT_START, 0);
    fw_exeloop_open(fw, FW_CLOSED_QUIESCED);
    ((struct pr_body_u32 *)body)->value = rt_fsm_state(&fw->exeloop.machine);
    return PR_STATUS_OK;
}

static uint32_t count_calls(const struct fw *fw)
{
    return fw->exeloop.active + fw->events.count + fw->secure.waiting;
}

enum pr_status fw_life_stop(struct fw *fw, struct pr_command_header *header, void *body)
{
    enum pr_status status;

    (void)header;
    if (!allowed(fw, EVENT_STOP))
        return PR_STATUS_WRONG_STATE;
    status = fw_pump_ask(fw, FW_TASK_SERVER, FW_TASK_EXELOOP, FW_RECORD_STOP);
    if (status) {
        fw_log(fw, RT_LOG_WARNING, "stop is refused: %u calls are in flight", count_calls(fw));
        return status;
    }
    rt_fsm_post(&fw->life.machine, EVENT_STOP, 0);
    ((struct pr_body_u32 *)body)->value = rt_fsm_state(&fw->exeloop.machine);
    return PR_STATUS_OK;
}

/* Waits until nothing is in flight; false when the host must reset the engine first. Blocks. */
static bool drain(struct fw *fw)
{
    const uint32_t flags = FW_SIGNAL_DRAINED | FW_SIGNAL_RESET;

    (void)rt_signal_wait(fw->life.signal, flags, NULL, RT_NO_WAIT); /* of an earlier wait */
    while (fw->exeloop.active && !(fw->closed & FW_CLOSED_RESET))
        (void)rt_signal_wait(fw->life.signal, flags, NULL, RT_FOREVER);
    return !fw->exeloop.active;
}

static uint32_t count_programs(const struct fw *fw)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < PR_PROGRAMS_MAX; i++)
        count += fw->program_slot[i].valid;
    return count;
}

static uint32_t count_processes(const struct fw *fw)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < PR_PROCESSES_MAX; i++)
        count += fw_process_running(&fw->process[i]);
    return count;
}

enum pr_status fw_life_quiesce(struct fw *fw, struct pr_command_header *header, void *body)
{
    const uint32_t calls = count_calls(fw);
    const bool was_closed = fw->closed & FW_CLOSED_QUIESCED;

    (void)header;
    if (!allowed(fw, EVENT_QUIESCE))
        return PR_STATUS_WRONG_STATE;
    fw_exeloop_close(fw, FW_CLOSED_QUIESCED);
    if (fw->events.count || fw->secure.waiting)
        (void)fw_event_ask_cancel(fw, FW_TASK_SERVER, &FW_EVENT_MATCH_ALL);
    if (!drain(fw)) {
        if (!was_closed)
            fw_exeloop_open(fw, FW_CLOSED_QUIESCED);
        fw_log(fw, RT_LOG_WARNING, "quiesce is refused: the host has not reset the engine yet");
        return PR_STATUS_BUSY;
    }
    rt_fsm_post(&fw->life.machine, EVENT_QUIESCE, 0);
    fw_pump_want(fw, FW_TASK_LOADMON, FW_REASON_REPORT);
    *(struct pr_body_quiesce *)body = (struct pr_body_quiesce){.calls = calls,
                                                               .programs = count_programs(fw),
                                                               .processes = count_processes(fw),
                                                               .state = rt_fsm_state(&fw->exeloop.machine)};
    return PR_STATUS_OK;
}

/* Built-in networks are the firmware's own: the host cannot unload them, and they are gone with the power. */
enum pr_status fw_life_suspend(struct fw *fw, struct pr_command_header *header, void *body)
{
    const uint32_t programs = count_programs(fw) - fw_builtin_count(fw);

    (void)header;
    (void)body;
    if (!allowed(fw, EVENT_SUSPEND))
        return PR_STATUS_WRONG_STATE;
    if (programs) {
        fw_log(fw, RT_LOG_WARNING, "suspend is refused: %u programs are loaded", programs);
        return PR_STATUS_BUSY;
    }
    rt_fsm_post(&fw->life.machine, EVENT_SUSPEND, 0);
    return PR_STATUS_OK;
}

/* No call is accepted from here on, if nothing is in flight: one critical section. */
static bool close_idle(struct fw *fw)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    const bool idle = !fw_exeloop_busy(fw);

    if (idle)
        fw_exeloop_close(fw, FW_CLOSED_QUIESCED);
    rt_irq_restore(fw->kernel, previous);
    return idle;
}

/* The gate itself follows the answer (server.c). */
enum pr_status fw_life_power_down(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    (void)body;
    if (!allowed(fw, EVENT_POWER_DOWN) || !fw_power_gate_allowed(fw))
        return PR_STATUS_WRONG_STATE;
    if (!close_idle(fw)) {
        fw_log(fw, RT_LOG_WARNING, "power-down is refused: %u calls are in flight", count_calls(fw));
        return PR_STATUS_BUSY;
    }
    rt_fsm_post(&fw->life.machine, EVENT_POWER_DOWN, 0);
    return PR_STATUS_OK;
}

enum pr_status fw_life_reset(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_reset *range = body;
    enum pr_status status;

    (void)header;
    if (fw->intmgr.phase != FW_INTMGR_RESETTING) {
        fw_log(fw, RT_LOG_WARNING, "a reset of queues %u to %u is refused: the firmware wants none",
               range->first_queue, range->last_queue);
        return PR_STATUS_WRONG_STATE;
    }
    if (range->first_queue != fw->intmgr.first || range->last_queue != fw->intmgr.last) {
        fw_log(fw, RT_LOG_WARNING, "a reset of queues %u to %u is refused: %u to %u are wanted",
               range->first_queue, range->last_queue, fw->intmgr.first, fw->intmgr.last);
        return PR_STATUS_BAD_ARGUMENT;
    }
    status = fw_pump_ask(fw, FW_TASK_SERVER, FW_TASK_EXELOOP, FW_RECORD_RESET);
    return status ? status : fw_pump_ask(fw, FW_TASK_SERVER, FW_TASK_INTMGR, FW_RECORD_RESET);
}
