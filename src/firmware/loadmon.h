/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load monitor: how long the execution loop was busy. A report goes to the host on BUF_T2H in a buffer of
 * the firmware's, which is the host's until it is returned on BUF_H2T.
 */
#ifndef FIRMWARE_LOADMON_H
#define FIRMWARE_LOADMON_H

#include "firmware/state.h"

/* Makes the credits of the buffers. False when the pool is exhausted. */
bool fw_loadmon_create(struct fw *fw);
void fw_loadmon_run(struct fw *fw, const struct fw_record *record);

/* The execution loop: it has entered EXEC, left it, finished a call. */
void fw_loadmon_enter(struct fw *fw);
void fw_loadmon_leave(struct fw *fw);
void fw_loadmon_finished(struct fw *fw);
/* CPU_LOAD_GET, a command of control.c's table: the report so far, which does not end the span. */
enum pr_status fw_loadmon_get(struct fw *fw, struct pr_command_header *header, void *body);

#endif
