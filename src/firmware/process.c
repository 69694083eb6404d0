/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes. A slot changes its state, and its program's count, in one critical section; the call manager
 * does.
 */
#include "firmware/process.h"

#include "base/array.h"
#include "firmware/builtin.h"
#include "firmware/dartmgr.h"
#include "firmware/inference.h"
#include "firmware/log.h"
#include "firmware/program.h"
#include "firmware/pump.h"
#include "firmware/rebase.h"
#include "firmware/reservation.h"
#include "protocol/dart_regs.h"
#include "rtkernel/irq.h"

enum process_event { EVENT_CREATE, EVENT_TERMINATE, EVENTS };
static const char *const state_names[] = {"idle", "running"};
static const char *const event_names[] = {"create", "terminate"};
static const struct rt_fsm_row rows[] = {
    {FW_PROCESS_IDLE, EVENT_CREATE, FW_PROCESS_RUNNING, NULL},
    {FW_PROCESS_RUNNING, EVENT_TERMINATE, FW_PROCESS_IDLE, NULL},
};
static const struct rt_fsm_table table = {
    .name = "process",
    .state_names = state_names,
    .event_names = event_names,
    .states = FW_PROCESS_STATES,
    .events = EVENTS,
    .first = FW_PROCESS_IDLE,
    .strict = RT_FSM_STRICT,
    .rows = rows,
    .row_count = BASE_COUNT_OF(rows),
};

void fw_process_init(struct fw *fw)
{
    for (uint32_t i = 0; i < PR_PROCESSES_MAX; i++)
        rt_fsm_init(&fw->process[i].machine, fw->kernel, &table, &fw->process[i]);
}

/* A bypass stream would reach memory past the DART. */
static bool stream_allowed(uint32_t word)
{
    const uint32_t stream = PR_PROCESS_STREAM(word);

    return !(word & PR_PROCESS_UNKNOWN) && stream < PR_DART_STREAMS &&
           !(PR_DART_BYPASS_STREAMS >> stream & 1);
}

enum pr_status fw_process_create(struct fw *fw, uint32_t program, uint32_t wanted,
                                 const struct pr_body_process *body, uint32_t *slot)
{
    struct fw_program *of = fw_program_get(fw, program);
    struct fw_process *process;
    struct fw_rebase *rebase;
    enum pr_status status;
    uint32_t previous;

    if (!of)
        return PR_STATUS_NO_PROGRAM;
    if (!stream_allowed(body->stream))
        return PR_STATUS_BAD_ARGUMENT;
    status = fw_reservation_process(fw, program, wanted, slot);
    if (!status)
        status = fw_dartmgr_rebase(fw, of, body, &rebase);
    if (status)
        return status;
    process = &fw->process[*slot];
    previous = rt_irq_mask(fw->kernel);
    process->rebase = rebase;
    process->stream = PR_PROCESS_STREAM(body->stream);
    process->user = PR_PROCESS_USER(body->stream);
    process->secure = body->stream & PR_PROCESS_SECURE;
    process->program = (uint16_t)program;
    process->finished = 0;
    rt_fsm_post(&process->machine, EVENT_CREATE, 0);
    of->processes++;
    rt_irq_restore(fw->kernel, previous);
    fw_log(fw, RT_LOG_INFO, "process %u: program %u, stream %u, text at 0x%llx", *slot, program,
           process->stream, (unsigned long long)rebase->text);
    return PR_STATUS_OK;
}

enum pr_status fw_process_premap(struct fw *fw, uint32_t program, uint32_t slot,
                                 const struct pr_body_premap *body)
{
    const struct fw_program *of = fw_program_get(fw, program);

    if (!of)
        return PR_STATUS_NO_PROGRAM;
    if (slot >= PR_PROCESSES_MAX || !fw_process_running(&fw->process[slot]) ||
        fw->process[slot].program != program)
        return PR_STATUS_NO_PROCESS;
    if (body->pool == PR_POOL_STATS)
        return fw_dartmgr_map_statistics(fw, fw->process[slot].rebase, body);
    if (body->pool == PR_POOL_PROPERTY)
        return fw_inference_premap(fw, fw->process[slot].rebase, body);
    return fw_rebase_premap(fw, of, fw->process[slot].rebase, body);
}

enum pr_status fw_process_terminate(struct fw *fw, uint32_t program, uint32_t slot)
{
    struct fw_process *process = &fw->process[slot < PR_PROCESSES_MAX ? slot : 0];
    enum pr_status status = PR_STATUS_OK;
    uint32_t previous;

    if (slot >= PR_PROCESSES_MAX || !fw_process_running(process))
        return PR_STATUS_NO_PROCESS;
    if (program != PR_NO_ID && program != process->program)
        return PR_STATUS_NO_PROGRAM;
    if (fw_builtin_has_process(fw, slot)) {
        fw_log(fw, RT_LOG_WARNING, "process %u is that of a built-in network and does not end", slot);
        return PR_STATUS_WRONG_STATE;
    }
    if (process->requests || process->calls) {
        fw->cache.process = slot;
        (void)fw_pump_ask(fw, FW_TASK_CALLMGR, FW_TASK_EXELOOP, FW_RECORD_PROCESS);
    }
    previous = rt_irq_mask(fw->kernel);
    if (process->calls || process->requests) {
        status = PR_STATUS_BUSY;
    } else {
        rt_fsm_post(&process->machine, EVENT_TERMINATE, 0);
        fw->program[process->program]->processes--;
    }
    rt_irq_restore(fw->kernel, previous);
    if (!status) {
        fw_log(fw, RT_LOG_INFO, "process %u ends: %llu calls, %llu buffers rebased, %llu pre-mapped", slot,
               (unsigned long long)process->finished, (unsigned long long)process->rebase->rebased,
               (unsigned long long)process->rebase->premapped);
        fw_rebase_drop(fw, process);
    }
    return status;
}
