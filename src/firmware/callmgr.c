/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call manager. The server has checked the size of a command's body and waits for the answer, so the
 * commands of a channel keep their order.
 */
#include "firmware/callmgr.h"

#include "firmware/builtin.h"
#include "firmware/control.h"
#include "firmware/prefetch.h"
#include "firmware/process.h"
#include "firmware/program.h"
#include "firmware/pump.h"

void fw_callmgr_run(struct fw *fw, const struct fw_record *record)
{
    if (record->kind == FW_RECORD_COMMAND)
        fw_pump_answer(fw, record, fw_control_execute(fw));
    else if (record->kind == FW_RECORD_BUILTIN)
        fw_pump_answer(fw, record, fw_builtin_load(fw));
}

enum pr_status fw_callmgr_load(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_load *arguments = body;
    enum pr_status status;
    uint32_t slot = PR_NO_ID;

    if (arguments->working_bytes && arguments->working_bytes < sizeof(struct pr_working_set))
        return PR_STATUS_BAD_ARGUMENT;
    status = fw_program_load(fw, arguments->container, arguments->bytes, header->program_id, &slot);
    if (!status && arguments->working_bytes && !fw_program_show(fw, slot, arguments->working)) {
        fw_program_unload(fw, slot);
        status = PR_STATUS_BAD_ARGUMENT;
    }
    header->program_id = status ? PR_NO_ID : slot;
    fw->server.loads += !status;
    if (!status)
        fw_prefetch_load(fw, slot);
    return status;
}

enum pr_status fw_callmgr_unload(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)body;
    return fw_program_unload(fw, header->program_id);
}

enum pr_status fw_callmgr_create(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_process *arguments = body;
    enum pr_status status = PR_STATUS_BAD_SIZE;
    uint32_t slot = PR_NO_ID;

    if (arguments->buffers <= PR_PROCESS_BUFFERS_MAX && header->size == PR_PROCESS_BYTES(arguments->buffers))
        status = fw_process_create(fw, header->program_id, header->process_id, arguments, &slot);
    header->process_id = status ? PR_NO_ID : slot;
    return status;
}

enum pr_status fw_callmgr_terminate(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)body;
    return fw_process_terminate(fw, header->program_id, header->process_id);
}
