/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The execution loop. Between two records it is in EXEC exactly while calls are waiting or running or an
 * abort has not cleared its queue yet, in RUN while there is none of that, and in INIT until the first start.
 * The secure phase has EXEC-SECURE instead of both; PAUSE is between (secure.c). A message is copied once,
 * and the copy is checked and used. Every slot goes back to the host, that of a refused message with its
 * status and a ring.
 */
#include "firmware/exeloop.h"

#include "base/array.h"
#include "firmware/abort.h"
#include "firmware/cache.h"
#include "firmware/cacherun.h"
#include "firmware/cacheset.h"
#include "firmware/cachetrigger.h"
#include "firmware/call.h"
#include "firmware/channel.h"
#include "firmware/completion.h"
#include "firmware/datafile.h"
#include "firmware/control.h"
#include "firmware/disposition.h"
#include "firmware/doorbell.h"
#include "firmware/event.h"
#include "firmware/inference.h"
#include "firmware/intmgr.h"
#include "firmware/loadmon.h"
#include "firmware/log.h"
#include "firmware/notify.h"
#include "firmware/power.h"
#include "firmware/pump.h"
#include "firmware/queue.h"
#include "firmware/reservation.h"
#include "firmware/retained.h"
#include "firmware/rpc.h"
#include "firmware/rule.h"
#include "firmware/sanity.h"
#include "firmware/secure.h"
#include "firmware/shared.h"
#include "firmware/signpost.h"
#include "firmware/tail.h"
#include "protocol/log_line.h"
#include "rtkernel/fault.h"
#include "rtkernel/irq.h"
#include "rtkernel/signal.h"
#include "rtkernel/timer.h"

static void on_start(void *context, unsigned event, uint64_t argument)
{
    (void)event;
    (void)argument;
    fw_exeloop_open(context, FW_CLOSED_INIT);
}

static void on_stop(void *context, unsigned event, uint64_t argument)
{
    (void)event;
    (void)argument;
    fw_exeloop_close(context, FW_CLOSED_INIT);
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

    fw_loadmon_enter(fw);
    if (fw->power.dynamic) {
        fw_exeloop_check(fw, "power for a push");
        fw_power_ungate(fw);
    }
    on_dispatch(context, event, argument);
    rt_timer_start(fw->exeloop.deadline, PR_DEADLINE_NS, 0);
}

/* In the secure phase one state has both: idle and in flight. */
static void on_secure_dispatch(void *context, unsigned event, uint64_t argument)
{
    const struct fw *fw = context;

    if (fw->loadmon.busy_now)
        on_dispatch(context, event, argument);
    else
        on_first_dispatch(context, event, argument);
}

static void on_drain(void *context, unsigned event, uint64_t argument)
{
    struct fw *fw = context;

    (void)event;
    (void)argument;
    rt_timer_stop(fw->exeloop.deadline);
    fw_loadmon_leave(fw);
    if (fw->power.dynamic && !fw->setting.property[PR_PROPERTY_PERFORMANCE])
        fw_power_gate(fw);
    if (fw->setting.property[PR_PROPERTY_SANITY])
        fw_sanity_check(fw);
    if (fw->closed & FW_CLOSED_QUIESCED)
        rt_signal_raise(fw->life.signal, FW_SIGNAL_DRAINED);
    fw_secure_drained(fw);
}

static void on_pause(void *context, unsigned event, uint64_t argument)
{
    (void)event;
    (void)argument;
    fw_secure_pause(context);
}

static const char *const state_names[PR_EXECUTION_COUNT] = {
#define X(id, number, name, meaning) [PR_EXECUTION_##id] = (name),
    PR_EXECUTION_STATES(X)
#undef X
};
static const char *const event_names[FW_EVENTS] = {"start", "stop",
#define X(id, name, meaning) [FW_EVENT_##id] = (name),
                                                   PR_EXECUTION_EVENTS(X)
#undef X
};
static const struct rt_fsm_row rows[] = {
    {PR_EXECUTION_INIT, FW_EVENT_START, PR_EXECUTION_RUN, on_start},
    {PR_EXECUTION_RUN, FW_EVENT_STOP, PR_EXECUTION_INIT, on_stop},
    {PR_EXECUTION_RUN, FW_EVENT_DISPATCH, PR_EXECUTION_EXEC, on_first_dispatch},
    {PR_EXECUTION_EXEC, FW_EVENT_DISPATCH, PR_EXECUTION_EXEC, on_dispatch},
    {PR_EXECUTION_EXEC, FW_EVENT_DRAIN, PR_EXECUTION_RUN, on_drain},
    {PR_EXECUTION_RUN, FW_EVENT_ENTER_SECURE, PR_EXECUTION_PAUSE, on_pause},
    {PR_EXECUTION_EXEC_SECURE, FW_EVENT_DISPATCH, PR_EXECUTION_EXEC_SECURE, on_secure_dispatch},
    {PR_EXECUTION_EXEC_SECURE, FW_EVENT_DRAIN, PR_EXECUTION_EXEC_SECURE, on_drain},
    {PR_EXECUTION_EXEC_SECURE, FW_EVENT_EXIT_SECURE, PR_EXECUTION_PAUSE, on_pause},
};
static const struct rt_fsm_table table = {
    .name = "exeloop",
    .state_names = state_names,
    .event_names = event_names,
    .states = PR_EXECUTION_COUNT,
    .events = FW_EVENTS,
    .first = PR_EXECUTION_INIT,
    .strict = RT_FSM_STRICT,
    .transient = 1u << PR_EXECUTION_PAUSE,
    .rows = rows,
    .row_count = BASE_COUNT_OF(rows),
};

static void log_call(struct fw *fw)
{
    const struct pr_call *call = (const void *)fw->exeloop.message;
    const uint32_t id = call->head.id;

    fw_log(fw, RT_LOG_INFO,
           id == PR_EXE_PROCEDURE_CALL             ? PR_LINE_CALL
           : id == PR_EXE_PROCEDURE_CALL_WITH_BARS ? PR_LINE_CALL_BARS
                                                   : PR_LINE_CALL_EVENTS,
           id, (long long)rt_port_now(fw->port), (int)call->program_id, (int)call->process_id,
           (int)call->procedure, (int)call->priority);
    if (id != PR_EXE_PROCEDURE_CALL)
        fw_tail_log(fw, call);
    else
        fw_log(fw, RT_LOG_INFO, PR_LINE_SHAPE, (int)call->buffers, (int)call->priority, 0, 0, 0);
}

/* The rule that keeps a call out. */
static const char *closed_text(uint32_t closed)
{
    return closed & FW_CLOSED_INIT       ? "the execution loop is not started"
           : closed & FW_CLOSED_RESET    ? "the host has not reset the engine yet"
           : closed & FW_CLOSED_QUIESCED ? "the firmware is quiesced"
           : closed & FW_CLOSED_ENDPOINT ? "the endpoint is not bound"
           : closed & FW_CLOSED_CACHE    ? "the memory cache is off"
                                         : "the compute islands are off";
}

static enum pr_status refuse_closed(struct fw *fw)
{
    const struct pr_exe_header *head = (const void *)fw->exeloop.message;

    fw_log(fw, RT_LOG_WARNING, "[EXELOOP] CMD=%#04x refused: %s", head->id, closed_text(fw->closed));
    return PR_STATUS_NOT_READY;
}

static void log_refused(struct fw *fw, uint32_t id, enum pr_status status)
{
    const enum fw_disposition disposition = fw_disposition_of(status);

    fw_disposition_count(fw, status);
    fw_log(fw, RT_LOG_WARNING, "[EXELOOP] CMD=%#04x %s: %s (%llu dropped, %llu rejected)", id,
           fw_disposition_name(disposition), pr_status_text(status),
           (unsigned long long)fw->count[FW_DROPPED], (unsigned long long)fw->count[FW_REJECTED]);
}

/* A call that has to wait is dispatched when its events are there. */
static void begin(struct fw *fw, uint16_t number)
{
    const struct fw_call_events *events = fw->call[number].events;

    if (!events || !events->waits || !fw_event_hold(fw, number))
        fw_exeloop_dispatch(fw, number);
}

/* A message that names program and process at the places where a call has them: its place in the ring. */
static uint32_t take_ticket(struct fw *fw, uint64_t length)
{
    const struct pr_call *call = (const void *)fw->exeloop.message;
    const bool named = length >= sizeof(struct pr_exe_process_id), whole = length >= sizeof(*call);

    return fw_retained_take(fw, PR_CHANNEL_DATA_CHAIN_H2T, call->head.id, named ? call->program_id : PR_NO_ID,
                            named ? call->process_id : PR_NO_ID, whole ? call->procedure : 0);
}

/* A message that is refused, or done at once. */
static enum pr_status end(struct fw *fw, uint32_t ticket, enum pr_status status)
{
    const struct pr_exe_header *head = (const void *)fw->exeloop.message;

    if (status && status != PR_STATUS_NOT_READY)
        log_refused(fw, head->id, status);
    fw_retained_end(fw, ticket, status);
    return status;
}

static enum pr_status procedure_call(struct fw *fw, uint64_t length)
{
    const struct pr_call *call = (const void *)fw->exeloop.message;
    const uint32_t ticket = take_ticket(fw, length);
    uint16_t number;
    const enum pr_status status =
        fw->closed ? refuse_closed(fw) : fw_call_accept(fw, length, ticket, &number);

    if (status)
        return end(fw, ticket, status);
    if (fw->exeloop.log_level)
        log_call(fw);
    fw_signpost(fw, PR_SIGNPOST_ACCEPTED, (uint32_t)fw->call[number].program << 16 | fw->call[number].process,
                (uint32_t)fw->call[number].cookie);
    if (call->head.id == PR_EXE_PROCEDURE_CALL_WITH_EVENTS && fw_tail_disables_cache(call))
        fw_cache_invalidate_all(fw, PR_NO_ID);
    begin(fw, number);
    return PR_STATUS_OK;
}

static enum pr_status return_process_id(struct fw *fw, uint64_t length)
{
    const struct pr_exe_process_id *message = (const void *)fw->exeloop.message;
    const uint32_t ticket = take_ticket(fw, length);
    const enum pr_status status = fw_rule(fw, PR_RULE_CALL_SIZE, length == sizeof(*message), length);

    return end(fw, ticket,
               status ? status : fw_reservation_return(fw, message->program_id, message->process_id));
}

static enum pr_status load_data_file(struct fw *fw, uint64_t length)
{
    const struct pr_exe_data_file *message = (const void *)fw->exeloop.message;
    const uint32_t ticket = take_ticket(fw, length);
    enum pr_status status = fw->closed ? refuse_closed(fw) : PR_STATUS_OK;

    if (!status)
        status = fw_rule(fw, PR_RULE_CALL_SIZE, length == sizeof(*message), length);
    return end(fw, ticket, status ? status : fw_datafile_load(fw, message));
}

/* What is refused is counted and logged. A trigger in the wrong state was counted where it was dropped. */
static enum pr_status counted(struct fw *fw, uint64_t length,
                              enum pr_status (*run)(struct fw *fw, uint64_t length))
{
    const struct pr_exe_header *head = (const void *)fw->exeloop.message;
    const enum pr_status status = run(fw, length);

    if (!status)
        return status;
    fw_disposition_count(fw, status);
    fw_log(fw, RT_LOG_WARNING, "[EXELOOP] CMD=0x%02x refused: %s", head->id, pr_status_text(status));
    return status;
}

static enum pr_status cache_trigger(struct fw *fw, uint64_t length)
{
    if (!fw->closed)
        return counted(fw, length, fw_cachetrigger_run);
    fw_log(fw, RT_LOG_WARNING, "[EXELOOP] CMD=0x%02x refused: %s", PR_EXE_CACHE_REQUEST_TRIGGER,
           closed_text(fw->closed));
    return PR_STATUS_NOT_READY;
}

static enum pr_status cache_recycle(struct fw *fw, uint64_t length)
{
    return counted(fw, length, fw_cacheset_recycle);
}

static enum pr_status cache_select(struct fw *fw, uint64_t length)
{
    return counted(fw, length, fw_cache_select);
}

static enum pr_status back_channel(struct fw *fw, uint64_t length)
{
    return counted(fw, length, fw_rpc_message);
}

static enum pr_status unknown(struct fw *fw, uint32_t id)
{
    fw->exeloop.unknown++;
    fw_disposition_count(fw, PR_STATUS_UNKNOWN_COMMAND);
    if (fw->unknown_id_panics)
        rt_fault_assert(fw->kernel, PR_LINE_UNSUPPORTED, id);
    else
        fw_log(fw, RT_LOG_WARNING, PR_LINE_UNSUPPORTED, id);
    return PR_STATUS_UNKNOWN_COMMAND;
}

/* The arms of the dispatcher (seeds Table 30.6). The message is in exeloop.message. */
static const struct arm {
    uint32_t id;
    enum pr_status (*run)(struct fw *fw, uint64_t length);
} arms[] = {
    {PR_EXE_PROCEDURE_CALL, procedure_call},
    {PR_EXE_PROCEDURE_CALL_WITH_BARS, procedure_call},
    {PR_EXE_PROCEDURE_CALL_WITH_EVENTS, procedure_call},
    {PR_EXE_CH_DATA_FILE_LOAD2, load_data_file},
    {PR_EXE_RETURN_PROCESS_ID, return_process_id},
    {PR_EXE_CACHE_REQUEST_TRIGGER, cache_trigger},
    {PR_EXE_CACHE_REQUEST_SUBMIT, cache_recycle},
    {PR_EXE_PROCEDURE_CALL_VARIANT, cache_select},
    {PR_EXE_BACK_CHANNEL_RPC, back_channel},
};

static enum pr_status dispatch(struct fw *fw, uint32_t id, uint64_t length)
{
    for (size_t i = 0; i < BASE_COUNT_OF(arms); i++)
        if (arms[i].id == id)
            return arms[i].run(fw, length);
    return unknown(fw, id);
}

/* What the loop can hold is the union of its messages; the bound comes before the first field is read. */
static enum pr_status fetch(struct fw *fw, const struct pr_slot *slot)
{
    const enum pr_status status =
        fw_rule(fw, PR_RULE_EXELOOP_SIZE, slot->length <= sizeof(fw->exeloop.message), slot->length);

    if (!status && slot->length >= sizeof(struct pr_exe_header) &&
        fw_shared_in(fw, fw->exeloop.message, slot->address, slot->length))
        return status;
    if (!status)
        fw_log(fw, RT_LOG_WARNING, "[EXELOOP] a message of 0x%llx bytes at 0x%llx cannot be read",
               (unsigned long long)slot->length, (unsigned long long)slot->address);
    if (slot->length < sizeof(struct pr_exe_header) ||
        !rt_port_window(fw->port, slot->address, sizeof(struct pr_exe_header)))
        fw_notify_unreadable(fw, PR_CHANNEL_DATA_CHAIN_H2T, slot);
    return PR_STATUS_BAD_SIZE;
}

static enum pr_status run(struct fw *fw, const struct pr_slot *slot)
{
    const struct pr_exe_header *head = (const void *)fw->exeloop.message;
    const enum pr_status status = fetch(fw, slot);

    if (status) {
        fw_disposition_count(fw, status);
        return status;
    }
    if (fw->closed & FW_CLOSED_ENDPOINT)
        return fw_rule_broken(fw, PR_RULE_ENDPOINT_BOUND, head->id);
    return dispatch(fw, head->id, slot->length);
}

/* The host hears of every slot that comes back: for an accepted call that is the first of two rings. */
static void handle(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot, uint32_t number)
{
    fw_channel_status(fw, channel, slot, run(fw, slot));
    fw_channel_return(fw, channel, slot, number);
    fw_doorbell_ring(fw, channel);
}

/* What a message or a command about cache requests leaves to do. */
static void go_on_chaining(struct fw *fw)
{
    fw_cacherun_start(fw);
    if (fw_cacherun_reports(fw))
        fw_completion_notify(fw);
}

static void look(struct fw *fw)
{
    const uint32_t reasons = fw_pump_reasons(fw, FW_TASK_EXELOOP);

    if (reasons & FW_REASON_ENGINE)
        fw_completion_drain(fw);
    if (reasons & FW_REASON_ABORT)
        fw_abort_overdue(fw);
    if (reasons & FW_REASON_CHECK)
        fw_abort_check(fw);
    if (reasons & FW_REASON_EVENTS)
        fw_event_look(fw);
    if (reasons >> pr_channel_table[PR_CHANNEL_IO_T2H].bit & 1 || reasons & FW_REASON_NOTIFY)
        fw_completion_notify(fw);
    if (reasons >> pr_channel_table[PR_CHANNEL_DATA_CHAIN_H2T].bit & 1)
        fw_pump_channel(fw, FW_TASK_EXELOOP, PR_CHANNEL_DATA_CHAIN_H2T, handle);
    go_on_chaining(fw);
}

static enum pr_status start(struct fw *fw)
{
    fw->cache.disabled = false;
    if (rt_fsm_state(&fw->exeloop.machine) == PR_EXECUTION_INIT)
        rt_fsm_post(&fw->exeloop.machine, FW_EVENT_START, 0);
    return PR_STATUS_OK;
}

static enum pr_status stop(struct fw *fw)
{
    if (fw_exeloop_busy(fw) || rt_fsm_state(&fw->exeloop.machine) == PR_EXECUTION_EXEC)
        return PR_STATUS_BUSY;
    if (rt_fsm_state(&fw->exeloop.machine) == PR_EXECUTION_RUN)
        rt_fsm_post(&fw->exeloop.machine, FW_EVENT_STOP, 0);
    return PR_STATUS_OK;
}

static void run_command(struct fw *fw, const struct fw_record *record)
{
    const enum pr_status status = fw_control_execute(fw);

    go_on_chaining(fw);
    fw_pump_answer(fw, record, status);
}

/*
 * A process is about to end: what of it is held ends first. Its cache requests end with it, and stay while
 * calls of it are under way, because then it does not end.
 */
static void end_process(struct fw *fw, uint32_t process)
{
    struct fw_event_match match = FW_EVENT_MATCH_ALL;

    match.process = process;
    (void)fw_event_cancel(fw, &match);
    if (!fw->process[process].calls)
        fw_cache_invalidate_all(fw, process);
    go_on_chaining(fw);
}

void fw_exeloop_run(struct fw *fw, const struct fw_record *record)
{
    switch (record->kind) {
    case FW_RECORD_LOOK: look(fw); break;
    case FW_RECORD_START: fw_pump_answer(fw, record, start(fw)); break;
    case FW_RECORD_STOP: fw_pump_answer(fw, record, stop(fw)); break;
    case FW_RECORD_SECURE: fw_secure_overdue(fw); break;
    case FW_RECORD_INFERENCE: fw_pump_answer(fw, record, fw_inference_expand(fw)); break;
    case FW_RECORD_RESET:
        fw_abort_reset(fw, fw->intmgr.first, fw->intmgr.last);
        fw_pump_answer(fw, record, PR_STATUS_OK);
        break;
    case FW_RECORD_CANCEL:
        fw->events.cancelled = fw_event_cancel(fw, &fw->events.asked);
        fw_pump_answer(fw, record, PR_STATUS_OK);
        break;
    case FW_RECORD_COMMAND: run_command(fw, record); break;
    case FW_RECORD_PROCESS:
        end_process(fw, fw->cache.process);
        fw_pump_answer(fw, record, PR_STATUS_OK);
        break;
    default: break;
    }
}

void fw_exeloop_dispatch(struct fw *fw, uint16_t number)
{
    if (!fw_secure_holds(fw, number))
        rt_fsm_post(&fw->exeloop.machine, FW_EVENT_DISPATCH, number);
}

bool fw_exeloop_busy(const struct fw *fw)
{
    return fw->exeloop.active || fw->events.count || fw->secure.waiting;
}

void fw_exeloop_check(struct fw *fw, const char *what)
{
    const unsigned state = rt_fsm_state(&fw->exeloop.machine);

    if (state != PR_EXECUTION_EXEC && state != PR_EXECUTION_EXEC_SECURE)
        rt_fault_assert(fw->kernel, "%s in %s, outside EXEC and EXEC-SECURE", what,
                        rt_fsm_state_name(&fw->exeloop.machine));
}

void fw_exeloop_close(struct fw *fw, uint32_t reason)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);

    fw->closed |= reason;
    rt_irq_restore(fw->kernel, previous);
}

void fw_exeloop_open(struct fw *fw, uint32_t reason)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);

    fw->closed &= ~reason;
    rt_irq_restore(fw->kernel, previous);
    if (fw->events.count && !fw->closed)
        fw_pump_want(fw, FW_TASK_EXELOOP, FW_REASON_EVENTS);
    if (fw->cache.wanted)
        fw_pump_want(fw, FW_TASK_EXELOOP, FW_REASON_CACHE);
}

bool fw_exeloop_create(struct fw *fw)
{
    struct fw_exeloop *e = &fw->exeloop;

    fw_call_init(fw);
    fw_cache_init(fw);
    fw_event_init(fw);
    rt_fsm_init(&e->machine, fw->kernel, &table, fw);
    fw->closed = FW_CLOSED_INIT | FW_CLOSED_CACHE | FW_CLOSED_ENDPOINT;
    return fw_intmgr_timeout(fw, &e->deadline);
}
