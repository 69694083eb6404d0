/* SPDX-License-Identifier: Apache-2.0 */
/* The control commands of IO and DEBUG: the table, and what each does. */
#ifndef FIRMWARE_CONTROL_H
#define FIRMWARE_CONTROL_H

#include "firmware/state.h"

/*
 * Runs the command in server.message, whose header and length have been checked against each other.
 * `capacity` is what the host left room for; the number of bytes of the reply's body comes back through
 * `reply`.
 */
enum pr_status fw_control_run(struct fw *fw, enum pr_channel channel, size_t capacity, size_t *reply);

/* Runs the command that the server is at. By the task of the command, while the server waits. */
enum pr_status fw_control_execute(struct fw *fw);

#endif
