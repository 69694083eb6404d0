/* SPDX-License-Identifier: Apache-2.0 */
/* Reports as text, for CH_INFO_GET on DEBUG: tasks, pools, arenas, counters. */
#ifndef FIRMWARE_REPORT_H
#define FIRMWARE_REPORT_H

#include "firmware/state.h"

/* A command of control.c's table; the reply is as long as the text, or as the room for it. */
enum pr_status fw_report_get(struct fw *fw, struct pr_command_header *header, void *body);

#endif
