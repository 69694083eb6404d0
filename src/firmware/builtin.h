/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in networks: programs whose container and text the firmware has itself (protocol/inference.h).
 * Each has a slot of the program table and one process, from its first use to the next boot.
 */
#ifndef FIRMWARE_BUILTIN_H
#define FIRMWARE_BUILTIN_H

#include "firmware/state.h"

/* The server's: program and process of a row, which is loaded with the network if it is empty. */
enum pr_status fw_builtin_find(struct fw *fw, uint32_t row, uint32_t network, uint32_t *program,
                               uint32_t *process);
/* The call manager's part: loads the row that was asked for. */
enum pr_status fw_builtin_load(struct fw *fw);
/* Whether it is a built-in network's, which the host does not end. */
bool fw_builtin_has_program(const struct fw *fw, uint32_t program);
bool fw_builtin_has_process(const struct fw *fw, uint32_t process);
uint32_t fw_builtin_count(const struct fw *fw);

#endif
