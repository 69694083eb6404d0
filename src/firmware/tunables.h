/* SPDX-License-Identifier: Apache-2.0 */
/* The tunable-register loader: the registers of the queues, and the defaults that the host sets. */
#ifndef FIRMWARE_TUNABLES_H
#define FIRMWARE_TUNABLES_H

#include "firmware/state.h"

/* The weights of the queues are those of the table. */
void fw_tunables_init(struct fw *fw);
void fw_tunables_run(struct fw *fw, const struct fw_record *record);
/* ANE_DEFAULT_SETTING_SET, a command of control.c's table; the body's size and count agree. */
enum pr_status fw_tunables_set(struct fw *fw, struct pr_command_header *header, void *body);

/* REG_FILE_LOAD, of the same table: all rows or none, before the first program is loaded. */
enum pr_status fw_tunables_load(struct fw *fw, struct pr_command_header *header, void *body);

#endif
