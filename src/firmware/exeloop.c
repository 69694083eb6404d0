/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The execution loop. Between two records it is in EXEC exactly while calls are waiting or running, in RUN
 * while there are none, and in INIT until the first start. A message is copied once, and the copy is checked
 * and used. Every slot goes back to the host, that of a refused message with its status and a ring.
 */
#include "firmware/exeloop.h"

#include "base/array.h"
#include "firmware/call.h"
#include "firmware/channel.h"
#include "firmware/completion.h"
#include "firmware/doorbell.h"
#include "firmware/log.h"
#include "firmware/pump.h"
#include "firmware/queue.h"
#include "firmware/shared.h"
#include "rtkernel/fault.h"
#include "rtkernel/queue.h"
#include "rtkernel/task.h"
#include "rtkernel/timer.h"

static void on_start(void *context, unsigned event, uint64_t argument)
{
    (void)event;
    (void)argument;
    fw_queue_start(context);
}

static void on_dispatch(void *context, unsigned event, uint64_t argument)
{
    struct fw *fw = context;

    (void)event;
    fw_queue_submit(fw, (uint16_t)argument);
}

/* The deadline runs from the first call in flight to the last. */
static void on_first_dispatch(void *context, unsigned event, uint64_t argument)
{
    struct fw *fw = context;

    on_dispatch(context, event, argument);
    rt_timer_start(fw->exeloop.deadline, PR_DEADLINE_NS, 0);
}

static void on_drain(void *context, unsigned event, uint64_t argument)
{
    struct fw *fw = context;

    (void)event;
    (void)argument;
    rt_timer_stop(fw->exeloop.deadline);
}

static const char *const state_names[PR_EXECUTION_COUNT] = {
#define X(id, number, meaning) [PR_EXECUTION_##id] = #id,
    PR_EXECUTION_STATES(X)
#undef X
};
static const char *const event_names[FW_EVENTS] = {"start", "dispatch", "drain"};
static const struct rt_fsm_row rows[] = {
    {PR_EXECUTION_INIT, FW_EVENT_START, PR_EXECUTION_RUN, on_start},
    {PR_EXECUTION_RUN, FW_EVENT_DISPATCH, PR_EXECUTION_EXEC, on_first_dispatch},
    {PR_EXECUTION_EXEC, FW_EVENT_DISPATCH, PR_EXECUTION_EXEC, on_dispatch},
    {PR_EXECUTION_EXEC, FW_EVENT_DRAIN, PR_EXECUTION_RUN, on_drain},
};
static const struct rt_fsm_table table = {
    .name = "exeloop",
    .state_names = state_names,
    .event_names = event_names,
    .states = PR_EXECUTION_COUNT,
    .events = FW_EVENTS,
    .first = PR_EXECUTION_INIT,
    .strict = RT_FSM_LENIENT,
    .rows = rows,
    .row_count = BASE_COUNT_OF(rows),
};

static void log_call(struct fw *fw)
{
    const struct pr_call *call = (const void *)fw->exeloop.message;

    fw_log(fw, RT_LOG_INFO, "[EXELOOP] CMD=0x%02x [PROC CALL] at %lld : ProgId=%d ProcId=%d Proc=%d Pri=%d",
           call->head.id, (long long)rt_port_now(fw->port), (int)call->program_id, (int)call->process_id,
           (int)call->procedure, (int)call->priority);
}

static enum pr_status procedure_call(struct fw *fw, uint64_t length)
{
    enum pr_status status;
    uint16_t number;

    if (rt_fsm_state(&fw->exeloop.machine) == PR_EXECUTION_INIT)
        return PR_STATUS_NOT_READY;
    status = fw_call_accept(fw, length, &number);
    if (!status) {
        if (fw->exeloop.log_level)
            log_call(fw);
        rt_fsm_post(&fw->exeloop.machine, FW_EVENT_DISPATCH, number);
        return status;
    }
    fw->exeloop.dropped++;
    fw_log(fw, RT_LOG_WARNING, "[EXELOOP] CMD=0x%02x dropped: %s (%llu dropped)", PR_EXE_PROCEDURE_CALL,
           pr_status_text(status), (unsigned long long)fw->exeloop.dropped);
    return status;
}

static enum pr_status unknown(struct fw *fw, uint32_t id)
{
    const char *name = pr_exeloop_name(id);

    fw->exeloop.unknown++;
    if (name)
        fw_log(fw, RT_LOG_WARNING, "Cmd 0x%x [%s] is not done yet through ExeLoop cmd channel", id, name);
    else if (fw->unknown_id_panics)
        rt_fault_assert(fw->kernel, "Cmd 0x%x is not supported through ExeLoop cmd channel", id);
    else
        fw_log(fw, RT_LOG_WARNING, "Cmd 0x%x is not supported through ExeLoop cmd channel (%llu dropped)", id,
               (unsigned long long)fw->exeloop.unknown);
    return PR_STATUS_UNKNOWN_COMMAND;
}

static enum pr_status run(struct fw *fw, const struct pr_slot *slot)
{
    const struct pr_exe_header *head = (const void *)fw->exeloop.message;

    if (slot->length < sizeof(*head) || slot->length > sizeof(fw->exeloop.message) ||
        !fw_shared_in(fw, fw->exeloop.message, slot->address, slot->length)) {
        fw->exeloop.dropped++;
        fw_log(fw, RT_LOG_WARNING,
               "[EXELOOP] a message of 0x%llx bytes at 0x%llx cannot be read (%llu dropped)",
               (unsigned long long)slot->length, (unsigned long long)slot->address,
               (unsigned long long)fw->exeloop.dropped);
        return PR_STATUS_BAD_SIZE;
    }
    return head->id == PR_EXE_PROCEDURE_CALL ? procedure_call(fw, slot->length) : unknown(fw, head->id);
}

/* The host hears of every slot that comes back: for an accepted call that is the first of two rings. */
static void handle(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot, uint32_t number)
{
    const uint16_t status = (uint16_t)run(fw, slot);

    if (slot->length >= sizeof(struct pr_exe_header))
        (void)fw_shared_out(fw, slot->address + offsetof(struct pr_exe_header, status), &status,
                            sizeof(status));
    fw_channel_return(fw, channel, slot, number);
    fw_doorbell_ring(fw, channel);
}

static void look(struct fw *fw)
{
    const uint32_t reasons = fw_pump_reasons(fw, &fw->exeloop.pump);

    if (reasons & FW_REASON_ENGINE)
        fw_completion_drain(fw);
    if (reasons >> pr_channel_table[PR_CHANNEL_IO_T2H].bit & 1)
        fw_completion_notify(fw);
    if (reasons >> pr_channel_table[PR_CHANNEL_DATA_CHAIN_H2T].bit & 1)
        fw_pump_channel(fw, &fw->exeloop.pump, PR_CHANNEL_DATA_CHAIN_H2T, handle);
}

static void entry(void *arg)
{
    struct fw *fw = arg;
    struct fw_record record;

    for (;;) {
        if (rt_task_wait_any(fw->kernel, &record, sizeof(record), NULL, RT_FOREVER) != (int)sizeof(record))
            continue;
        switch (record.kind) {
        case FW_RECORD_LOOK: look(fw); break;
        case FW_RECORD_DEADLINE: fw_completion_deadline(fw); break;
        case FW_RECORD_START: rt_fsm_post(&fw->exeloop.machine, FW_EVENT_START, 0); break;
        }
    }
}

bool fw_exeloop_create(struct fw *fw)
{
    const struct fw_record deadline = {.kind = FW_RECORD_DEADLINE};
    struct fw_exeloop *e = &fw->exeloop;

    fw_call_init(fw);
    rt_fsm_init(&e->machine, fw->kernel, &table, fw);
    return fw_pump_create(fw, &e->pump, "exeloop", FW_EXELOOP_PRIORITY, entry) &&
           !rt_timer_create_post(fw->kernel, &e->deadline, rt_task_interrupts(e->pump.task), &deadline,
                                 sizeof(deadline));
}

enum pr_status fw_exeloop_start(struct fw *fw)
{
    const struct fw_record start = {.kind = FW_RECORD_START};

    if (rt_fsm_state(&fw->exeloop.machine) != PR_EXECUTION_INIT)
        return PR_STATUS_WRONG_STATE;
    if (rt_queue_send(rt_task_input(fw->exeloop.pump.task), &start, sizeof(start), RT_FOREVER))
        return PR_STATUS_NO_RESOURCES;
    return PR_STATUS_OK;
}
