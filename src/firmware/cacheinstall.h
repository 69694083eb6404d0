/* SPDX-License-Identifier: Apache-2.0 */
/* Installing a cache request: the checks on the command, and what is kept of it. */
#ifndef FIRMWARE_CACHEINSTALL_H
#define FIRMWARE_CACHEINSTALL_H

#include "firmware/state.h"

/* A command of control.c's table, in three forms. */
enum pr_status fw_cacheinstall_run(struct fw *fw, struct pr_command_header *header, void *body);

#endif
