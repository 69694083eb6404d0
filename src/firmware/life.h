/* SPDX-License-Identifier: Apache-2.0 */
/* The life of the firmware: start, stop, quiesce, suspend, power-down, and the host's reset. */
#ifndef FIRMWARE_LIFE_H
#define FIRMWARE_LIFE_H

#include "firmware/state.h"

/* Makes its machine and its signal. False when the pool is exhausted. */
bool fw_life_create(struct fw *fw);
/* POWER_DOWN was answered: the processor may gate its power. */
bool fw_life_is_down(const struct fw *fw);

/* Commands of control.c's table, run by the server; the arguments are those of every command. */
enum pr_status fw_life_start(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_life_stop(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_life_quiesce(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_life_suspend(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_life_power_down(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_life_reset(struct fw *fw, struct pr_command_header *header, void *body);

#endif
