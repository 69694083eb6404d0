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
#include "firmware/shared.h"
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

static enum pr_status check_window(struct fw *fw)
{
    const struct fw_dartmgr *d = &fw->dartmgr;

    if (rt_port_window(fw->port, d->address, d->bytes))
        return PR_STATUS_OK;
    fw_log(fw, RT_LOG_WARNING, "0x%llx bytes at 0x%llx are not mapped", (unsigned long long)d->bytes,
           (unsigned long long)d->address);
    return PR_STATUS_BAD_ARGUMENT;
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
    case FW_RECORD_WINDOW: fw_pump_answer(fw, record, check_window(fw)); break;
    default: break;
    }
}
