/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations. An id is free, reserved, used, or reserved and used: what uses it may go and come again until
 * the host returns the id. A process id is reserved for one program and goes with it. Two tasks change the
 * word of a process: they do it in critical sections.
 */
#include "firmware/reservation.h"

#include "firmware/log.h"
#include "firmware/process.h"
#include "firmware/program.h"
#include "rtkernel/irq.h"

static bool find_program(const struct fw *fw, uint32_t *slot)
{
    for (*slot = 0; *slot < PR_PROGRAMS_MAX; ++*slot)
        if (!fw->program[*slot] && !fw->program_reserved[*slot])
            return true;
    return false;
}

static bool find_process(const struct fw *fw, uint32_t *slot)
{
    for (*slot = 0; *slot < PR_PROCESSES_MAX; ++*slot)
        if (!fw_process_running(&fw->process[*slot]) && !fw->process[*slot].reserved)
            return true;
    return false;
}

static bool program_reserved(const struct fw *fw, uint32_t slot)
{
    return slot < PR_PROGRAMS_MAX && fw->program_reserved[slot];
}

static bool process_reserved(const struct fw *fw, uint32_t program, uint32_t slot)
{
    return slot < PR_PROCESSES_MAX && program < PR_PROGRAMS_MAX && fw->process[slot].reserved == program + 1;
}

enum pr_status fw_reservation_program(struct fw *fw, uint32_t wanted, uint32_t *slot)
{
    if (wanted == PR_NO_ID)
        return find_program(fw, slot) ? PR_STATUS_OK : PR_STATUS_NO_RESOURCES;
    if (!program_reserved(fw, wanted)) {
        fw_log(fw, RT_LOG_WARNING, "program id %u is not reserved; name none, or request one", wanted);
        return PR_STATUS_NO_PROGRAM;
    }
    *slot = wanted;
    return fw->program[wanted] ? PR_STATUS_BUSY : PR_STATUS_OK;
}

enum pr_status fw_reservation_process(struct fw *fw, uint32_t program, uint32_t wanted, uint32_t *slot)
{
    if (wanted == PR_NO_ID)
        return find_process(fw, slot) ? PR_STATUS_OK : PR_STATUS_NO_RESOURCES;
    if (!process_reserved(fw, program, wanted)) {
        fw_log(fw, RT_LOG_WARNING, "process id %u is not reserved for program %u; name none, or request one",
               wanted, program);
        return PR_STATUS_NO_PROCESS;
    }
    *slot = wanted;
    return fw_process_running(&fw->process[wanted]) ? PR_STATUS_BUSY : PR_STATUS_OK;
}

void fw_reservation_drop(struct fw *fw, uint32_t program)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);

    for (uint32_t i = 0; i < PR_PROCESSES_MAX; i++)
        if (process_reserved(fw, program, i))
            fw->process[i].reserved = 0;
    rt_irq_restore(fw->kernel, previous);
}

enum pr_status fw_reservation_request_program(struct fw *fw, struct pr_command_header *header, void *body)
{
    uint32_t slot;

    (void)body;
    header->program_id = PR_NO_ID;
    if (!find_program(fw, &slot))
        return PR_STATUS_NO_RESOURCES;
    fw->program_reserved[slot] = true;
    header->program_id = slot;
    return PR_STATUS_OK;
}

enum pr_status fw_reservation_return_program(struct fw *fw, struct pr_command_header *header, void *body)
{
    const uint32_t slot = header->program_id;

    (void)body;
    if (!program_reserved(fw, slot)) {
        fw_log(fw, RT_LOG_WARNING, "program id %u is returned, and is not reserved", slot);
        return PR_STATUS_NO_PROGRAM;
    }
    if (fw->program[slot])
        return PR_STATUS_BUSY;
    fw->program_reserved[slot] = false;
    return PR_STATUS_OK;
}

enum pr_status fw_reservation_request_process(struct fw *fw, struct pr_command_header *header, void *body)
{
    uint32_t slot, previous;
    bool found;

    (void)body;
    header->process_id = PR_NO_ID;
    if (!fw_program_get(fw, header->program_id))
        return PR_STATUS_NO_PROGRAM;
    previous = rt_irq_mask(fw->kernel);
    found = find_process(fw, &slot);
    if (found)
        fw->process[slot].reserved = (uint16_t)(header->program_id + 1);
    rt_irq_restore(fw->kernel, previous);
    if (!found)
        return PR_STATUS_NO_RESOURCES;
    header->process_id = slot;
    return PR_STATUS_OK;
}

enum pr_status fw_reservation_return(struct fw *fw, uint32_t program, uint32_t process)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    const bool reserved = process_reserved(fw, program, process),
               running = reserved && fw_process_running(&fw->process[process]);

    if (reserved && !running)
        fw->process[process].reserved = 0;
    rt_irq_restore(fw->kernel, previous);
    if (reserved)
        return running ? PR_STATUS_BUSY : PR_STATUS_OK;
    fw_log(fw, RT_LOG_WARNING, "process id %u is returned, and is not reserved for program %u", process,
           program);
    return PR_STATUS_NO_PROCESS;
}

enum pr_status fw_reservation_return_process(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)body;
    return fw_reservation_return(fw, header->program_id, header->process_id);
}
