/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The power-control service: the memory cache, the compute islands through the power-state registers, and the
 * processor's own power-gate path. The execution loop's, which switches islands itself, except for the PMU's
 * base and the path.
 */
#ifndef FIRMWARE_POWER_H
#define FIRMWARE_POWER_H

#include "firmware/state.h"

/* At reset: the islands are on, the memory cache is off. */
void fw_power_init(struct fw *fw);
/* The islands, for the first push of EXEC and after its last call; while they are switched by themselves. */
void fw_power_ungate(struct fw *fw);
void fw_power_gate(struct fw *fw);
/* Whether they are on. */
bool fw_power_islands(const struct fw *fw);
/* Off and on again: they have forgotten everything. The queues stay disabled. */
void fw_power_cycle(struct fw *fw);

/* Whether the fabric's link permits the processor to gate its power (Table 29.5). */
bool fw_power_gate_allowed(struct fw *fw);
/* Gates it. Only a reset follows. */
_Noreturn void fw_power_down(struct fw *fw);

/* Commands of control.c's table; the arguments are those of every command. */
enum pr_status fw_power_set_base(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_power_cache_size(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_power_device_on(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_power_device_off(struct fw *fw, struct pr_command_header *header, void *body);
enum pr_status fw_power_dynamic(struct fw *fw, struct pr_command_header *header, void *body);

#endif
