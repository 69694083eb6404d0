/* SPDX-License-Identifier: Apache-2.0 */
/* The rebase: from the host's device addresses to the mapped addresses whose low halves go to the BARs. */
#ifndef FIRMWARE_REBASE_H
#define FIRMWARE_REBASE_H

#include "firmware/state.h"

/*
 * The program's own buffers at the addresses of the body: each once and no other, large enough, and inside
 * the aperture.
 */
enum pr_status fw_rebase_make(struct fw *fw, const struct fw_program *program,
                              const struct pr_body_process *body, struct fw_rebase **rebase);
/* Why a call of the program may not bind the buffer, or NULL. */
const char *fw_rebase_wrong(const struct fw_program *program, const struct pr_buffer *buffer);
/* Rebases a buffer ahead of the calls that bind it, and gives it its pool. */
enum pr_status fw_rebase_premap(struct fw *fw, const struct fw_program *program, struct fw_rebase *rebase,
                                const struct pr_body_premap *body);
/*
 * The mapped address of a buffer that a call binds, computed at its first binding and kept; 0 when the buffer
 * is outside the aperture.
 */
uint64_t fw_rebase_bind(struct fw *fw, struct fw_rebase *rebase, const struct pr_buffer *buffer);
/* The same ahead of the calls that bind it; the buffer is one of that pool from here on. */
uint64_t fw_rebase_tag(struct fw *fw, struct fw_rebase *rebase, const struct pr_buffer *buffer,
                       uint32_t pool);
/* Fills the operands of a record for the draft; false when the call binds no buffer there. */
bool fw_rebase_fill(struct fw_rebase *rebase, const struct fw_program *program, const struct fw_exeloop *e,
                    struct pr_rebase_record *record);
/* Of a process that is idle again. */
void fw_rebase_drop(struct fw *fw, struct fw_process *process);

#endif
