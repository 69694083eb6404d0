/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data files. Source and destination are the host's memory and may overlap: bytes go through a private
 * buffer, and after an overlap the destination has what that order of copying gives.
 */
#include "firmware/datafile.h"

#include "firmware/log.h"
#include "firmware/process.h"
#include "firmware/program.h"
#include "firmware/rule.h"
#include "firmware/shared.h"

#define PIECE 256u

bool fw_datafile_allowed(const struct fw *fw)
{
    for (uint32_t i = 0; i < PR_PROGRAMS_MAX; i++)
        if (fw->program[i] && fw->program[i]->mutable)
            return true;
    return false;
}

static enum pr_status check_target(struct fw *fw, const struct pr_exe_data_file *file)
{
    enum pr_status status =
        fw_rule(fw, PR_RULE_PROGRAM_ID, file->program_id < PR_PROGRAMS_MAX, file->program_id);

    if (!status && !fw_program_get(fw, file->program_id))
        status = PR_STATUS_NO_PROGRAM;
    if (!status)
        status = fw_rule(fw, PR_RULE_PROCESS_ID, file->process_id < PR_PROCESSES_MAX, file->process_id);
    if (!status && (!fw_process_running(&fw->process[file->process_id]) ||
                    fw->process[file->process_id].program != file->program_id))
        status = PR_STATUS_NO_PROCESS;
    return status;
}

/* What is wrong with the place that a file is for, or NULL. */
static const char *find_wrong(struct fw *fw, const struct pr_exe_data_file *file)
{
    const struct fw_program *program = fw->program[file->program_id];
    const uint32_t place = file->index < PR_GENERIC_BUFFERS_MAX ? program->place[file->index] : FW_NO_PLACE;
    const struct pr_generic_buffer *buffer = &program->container.buffer[place != FW_NO_PLACE ? place : 0];

    if (place == FW_NO_PLACE)
        return "is for a buffer that the program does not have";
    if (buffer->type != PR_BUFFER_MUTABLE && buffer->type != PR_BUFFER_INTERMEDIATE)
        return "is for a buffer that is neither mutable nor intermediate";
    if (!file->bytes || file->offset > buffer->bytes || file->bytes > buffer->bytes - file->offset)
        return "is empty or ends behind its buffer";
    if (file->destination >= PR_SECTION_LIMIT || buffer->bytes > PR_SECTION_LIMIT - file->destination)
        return "is for a buffer that ends above 0xe0000000";
    if (!rt_port_window(fw->port, file->source, file->bytes) ||
        !rt_port_window(fw->port, file->destination + file->offset, file->bytes))
        return "is not mapped, or its buffer is not";
    return NULL;
}

/* Both ranges were mapped a moment ago; what the host takes away meanwhile is not copied. */
static bool copy(struct fw *fw, const struct pr_exe_data_file *file)
{
    const uint64_t to = file->destination + file->offset;
    uint8_t piece[PIECE];

    for (uint64_t done = 0; done < file->bytes; done += PIECE) {
        const size_t bytes = (size_t)(file->bytes - done < PIECE ? file->bytes - done : PIECE);

        if (!fw_shared_in(fw, piece, file->source + done, bytes) ||
            !fw_shared_out(fw, to + done, piece, bytes))
            return false;
    }
    return true;
}

enum pr_status fw_datafile_load(struct fw *fw, const struct pr_exe_data_file *file)
{
    enum pr_status status = fw_rule(fw, PR_RULE_DATA_FILE_FLAG, fw_datafile_allowed(fw), file->program_id);
    const char *wrong;

    if (!status)
        status = check_target(fw, file);
    if (status)
        return status;
    wrong = find_wrong(fw, file);
    if (!wrong && !copy(fw, file))
        wrong = "lost its mapping while it was copied";
    if (!wrong)
        return PR_STATUS_OK;
    fw_log(fw, RT_LOG_WARNING, "a data file of 0x%llx bytes for buffer %u %s",
           (unsigned long long)file->bytes, file->index, wrong);
    return PR_STATUS_BAD_ARGUMENT;
}
