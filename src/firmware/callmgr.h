/* SPDX-License-Identifier: Apache-2.0 */
/* The call manager: runs the commands about programs and processes, which it alone makes and ends. */
#ifndef FIRMWARE_CALLMGR_H
#define FIRMWARE_CALLMGR_H

#include "firmware/state.h"

void fw_callmgr_run(struct fw *fw, const struct fw_record *record);

/* Commands of control.c's table; the arguments are those of every command. */
enum pr_status fw_callmgr_load(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_callmgr_unload(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_callmgr_create(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_callmgr_terminate(struct fw *fw, struct pr_command_header *header, void *body);

#endif
