/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address-translation manager. What it is asked about a process is in the state, because the one task
 * that makes processes waits for the answer; a window's range is there for one asker at a time.
 */
#include "firmware/dartmgr.h"

#include "firmware/control.h"
#include "firmware/log.h"
#include "firmware/process.h"
#include "firmware/pump.h"
#include "firmware/rebase.h"
#include "firmware/rule.h"
#include "firmware/shared.h"
#include "rtkernel/irq.h"
#include "rtkernel/mutex.h"

enum pr_status fw_dartmgr_rebase(struct fw *fw, const struct fw_program *program,
                                 const struct pr_body_process *body, struct fw_rebase **rebase)
{
    enum pr_status status;

    fw->dartmgr.program = program;
    fw->dartmgr.body = body;
    status = fw_pump_ask(fw, FW_TASK_CALLMGR, FW_TASK_DARTMGR, FW_RECORD_REBASE);
    *rebase = fw->dartmgr.rebase;
    return status;
}

enum pr_status fw_dartmgr_window(struct fw *fw, enum fw_task from, uint64_t address, uint64_t bytes)
{
    enum pr_status status;

    (void)rt_mutex_lock(fw->dartmgr.asking, RT_FOREVER);
    fw->dartmgr.address = address;
    fw->dartmgr.bytes = bytes;
    status = fw_pump_ask(fw, from, FW_TASK_DARTMGR, FW_RECORD_WINDOW);
    (void)rt_mutex_unlock(fw->dartmgr.asking);
    return status;
}

enum pr_status fw_dartmgr_premap(struct fw *fw, struct pr_command_header *header, void *body)
{
    return fw_process_premap(fw, header->program_id, header->process_id, body);
}

static enum pr_status check_window(struct fw *fw, uint64_t address, uint64_t bytes)
{
    if (rt_port_window(fw->port, address, bytes))
        return PR_STATUS_OK;
    fw_log(fw, RT_LOG_WARNING, "0x%llx bytes at 0x%llx are not mapped", (unsigned long long)bytes,
           (unsigned long long)address);
    return PR_STATUS_BAD_ARGUMENT;
}

static uint32_t count_maps(const struct fw_statistics *statistics)
{
    return statistics->count < PR_STATS_MAPS ? statistics->count : PR_STATS_MAPS;
}

static bool holds(const struct fw_statistics *statistics, uint32_t i, uint64_t address, uint64_t bytes)
{
    const uint64_t first = statistics->map[i].address, all = statistics->map[i].bytes;

    return address >= first && address - first <= all && bytes <= all - (address - first);
}

/* The same buffer, not one that holds it: the host can tell which entries there are. */
static bool is_kept(const struct fw_statistics *statistics, const struct pr_buffer *buffer)
{
    for (uint32_t i = 0; i < count_maps(statistics); i++)
        if (statistics->map[i].address == buffer->address && statistics->map[i].bytes == buffer->bytes)
            return true;
    return false;
}

/* The execution loop may preempt this task: an entry is changed in a critical section. */
static void keep_statistics(struct fw *fw, struct fw_statistics *statistics, const struct pr_buffer *buffer)
{
    const uint32_t previous = rt_irq_mask(fw->kernel), i = statistics->count % PR_STATS_MAPS;

    statistics->map[i].address = buffer->address;
    statistics->map[i].bytes = buffer->bytes;
    statistics->count++;
    if (!statistics->base || buffer->address < statistics->base)
        statistics->base = buffer->address;
    rt_irq_restore(fw->kernel, previous);
}

enum pr_status fw_dartmgr_map_statistics(struct fw *fw, struct fw_rebase *rebase,
                                         const struct pr_body_premap *body)
{
    const struct pr_buffer *buffer = &body->buffer;
    enum pr_status status;

    if (!buffer->address || !buffer->bytes)
        return PR_STATUS_OK;
    status = fw_rule(fw, PR_RULE_PREMAP_BUFFERS, body->buffers == 1, body->buffers);
    if (status)
        return status;
    if (body->operations != 1 || body->zero || !(buffer->valid & PR_BUFFER_VALID)) {
        fw_log(fw, RT_LOG_WARNING,
               "a pre-map of a statistics buffer has %u operations, valid 0x%x; 1 and bit 0 are expected",
               body->operations, buffer->valid);
        return PR_STATUS_BAD_ARGUMENT;
    }
    status = check_window(fw, buffer->address, buffer->bytes);
    if (!status && !is_kept(&rebase->statistics, buffer))
        keep_statistics(fw, &rebase->statistics, buffer);
    return status;
}

bool fw_dartmgr_statistics(struct fw *fw, const struct fw_rebase *rebase, const struct pr_buffer *buffer)
{
    for (uint32_t i = 0; i < count_maps(&rebase->statistics); i++)
        if (holds(&rebase->statistics, i, buffer->address, buffer->bytes))
            return true;
    fw->stats.unmapped++;
    return false;
}

bool fw_dartmgr_create(struct fw *fw)
{
    return !rt_mutex_create(fw->kernel, &fw->dartmgr.asking);
}

void fw_dartmgr_run(struct fw *fw, const struct fw_record *record)
{
    struct fw_dartmgr *d = &fw->dartmgr;

    switch (record->kind) {
    case FW_RECORD_COMMAND: fw_pump_answer(fw, record, fw_control_execute(fw)); break;
    case FW_RECORD_REBASE:
        fw_pump_answer(fw, record, fw_rebase_make(fw, d->program, d->body, &d->rebase));
        break;
    case FW_RECORD_WINDOW: fw_pump_answer(fw, record, check_window(fw, d->address, d->bytes)); break;
    default: break;
    }
}
