/* SPDX-License-Identifier: Apache-2.0 */
/* Processes: instances of loaded programs, in 288 slots, each idle or running. */
#ifndef FIRMWARE_PROCESS_H
#define FIRMWARE_PROCESS_H

#include "firmware/state.h"

/* All idle. */
void fw_process_init(struct fw *fw);

static inline bool fw_process_running(const struct fw_process *process)
{
    return rt_fsm_state(&process->machine) == FW_PROCESS_RUNNING;
}

/*
 * A running process of a program, whose engine traffic uses a DART stream. The program's own buffers are at
 * the addresses of the body, in that stream's domain. `wanted` is a reserved id, or PR_NO_ID for any.
 */
enum pr_status fw_process_create(struct fw *fw, uint32_t program, uint32_t wanted,
                                 const struct pr_body_process *body, uint32_t *slot);
/* PREMAP_BUFFER for a running process of the program. */
enum pr_status fw_process_premap(struct fw *fw, uint32_t program, uint32_t slot,
                                 const struct pr_body_premap *body);
/* Back to idle; BUSY while it has calls. `program` may be PR_NO_ID. */
enum pr_status fw_process_terminate(struct fw *fw, uint32_t program, uint32_t slot);

#endif
