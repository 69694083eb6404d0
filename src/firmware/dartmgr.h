/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address-translation manager: rebases the buffers of new processes and those that are mapped ahead, and
 * decides whether memory that the host names is mapped. Calls bind their buffers in the execution loop. It
 * also keeps which statistics buffers a process has mapped.
 */
#ifndef FIRMWARE_DARTMGR_H
#define FIRMWARE_DARTMGR_H

#include "firmware/state.h"

/* Makes its mutex. False when the pool is exhausted. */
bool fw_dartmgr_create(struct fw *fw);
void fw_dartmgr_run(struct fw *fw, const struct fw_record *record);

/* For the call manager: fw_rebase_make, in this task. Blocks. */
enum pr_status fw_dartmgr_rebase(struct fw *fw, const struct fw_program *program,
                                 const struct pr_body_process *body, struct fw_rebase **rebase);
/* For a task: whether every byte of the range is mapped; BAD_ARGUMENT when not. Blocks. */
enum pr_status fw_dartmgr_window(struct fw *fw, enum fw_task from, uint64_t address, uint64_t bytes);
/* PREMAP_BUFFER, a command of control.c's table. */
enum pr_status fw_dartmgr_premap(struct fw *fw, struct pr_command_header *header, void *body);

/* PREMAP_BUFFER of a statistics buffer. Nothing is mapped without an address or a size. */
enum pr_status fw_dartmgr_map_statistics(struct fw *fw, struct fw_rebase *rebase,
                                         const struct pr_body_premap *body);
/* For the execution loop: whether a mapped statistics buffer holds this one. Counts those that none holds. */
bool fw_dartmgr_statistics(struct fw *fw, const struct fw_rebase *rebase, const struct pr_buffer *buffer);

#endif
