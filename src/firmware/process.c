/* SPDX-License-Identifier: Apache-2.0 */
/* Processes. A slot changes its state, and its program's count, in one critical section. */
#include "firmware/process.h"

#include "firmware/log.h"
#include "firmware/program.h"
#include "firmware/rebase.h"
#include "protocol/dart_regs.h"
#include "rtkernel/irq.h"

static bool find_idle_process(const struct fw *fw, uint32_t *slot)
{
    for (*slot = 0; *slot < PR_PROCESSES_MAX; ++*slot)
        if (fw->process[*slot].state == FW_PROCESS_IDLE)
            return true;
    return false;
}

/* A bypass stream would reach memory past the DART. */
static bool stream_allowed(uint32_t stream)
{
    return stream < PR_DART_STREAMS && !(PR_DART_BYPASS_STREAMS >> stream & 1);
}

enum pr_status fw_process_create(struct fw *fw, uint32_t program, const struct pr_body_process *body,
                                 uint32_t *slot)
{
    struct fw_program *of = fw_program_get(fw, program);
    struct fw_rebase *rebase;
    enum pr_status status;
    uint32_t previous;

    if (!of)
        return PR_STATUS_NO_PROGRAM;
    if (!stream_allowed(body->stream))
        return PR_STATUS_BAD_ARGUMENT;
    if (!find_idle_process(fw, slot))
        return PR_STATUS_NO_RESOURCES;
    status = fw_rebase_make(fw, of, body, &rebase);
    if (status)
        return status;
    previous = rt_irq_mask(fw->kernel);
    fw->process[*slot] = (struct fw_process){.rebase = rebase,
                                             .state = FW_PROCESS_RUNNING,
                                             .stream = (uint8_t)body->stream,
                                             .program = (uint16_t)program};
    of->processes++;
    rt_irq_restore(fw->kernel, previous);
    fw_log(fw, RT_LOG_INFO, "process %u: program %u, stream %u, text at 0x%llx", *slot, program, body->stream,
           (unsigned long long)rebase->text);
    return PR_STATUS_OK;
}

enum pr_status fw_process_premap(struct fw *fw, uint32_t program, uint32_t slot,
                                 const struct pr_body_premap *body)
{
    const struct fw_program *of = fw_program_get(fw, program);

    if (!of)
        return PR_STATUS_NO_PROGRAM;
    if (slot >= PR_PROCESSES_MAX || fw->process[slot].state != FW_PROCESS_RUNNING ||
        fw->process[slot].program != program)
        return PR_STATUS_NO_PROCESS;
    return fw_rebase_premap(fw, of, fw->process[slot].rebase, body);
}

enum pr_status fw_process_terminate(struct fw *fw, uint32_t program, uint32_t slot)
{
    struct fw_process *process = &fw->process[slot < PR_PROCESSES_MAX ? slot : 0];
    enum pr_status status = PR_STATUS_OK;
    uint32_t previous;

    if (slot >= PR_PROCESSES_MAX || process->state != FW_PROCESS_RUNNING)
        return PR_STATUS_NO_PROCESS;
    if (program != PR_NO_ID && program != process->program)
        return PR_STATUS_NO_PROGRAM;
    previous = rt_irq_mask(fw->kernel);
    if (process->calls) {
        status = PR_STATUS_BUSY;
    } else {
        process->state = FW_PROCESS_IDLE;
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
