/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispositions (seeds ch. 29): a difference of the minor version warns; a command for what was torn down is
 * dropped; one that fails its checks is rejected; a failed invariant faults, which the restart count shows.
 */
#ifndef FIRMWARE_DISPOSITION_H
#define FIRMWARE_DISPOSITION_H

#include "firmware/state.h"

/* Which one a status is; FW_DISPOSITION_COUNT for none of them. */
enum fw_disposition fw_disposition_of(enum pr_status status);
const char *fw_disposition_name(enum fw_disposition disposition);
/* Counts the end of a command. By the execution loop, or with interrupts masked. */
void fw_disposition_count(struct fw *fw, enum pr_status status);

#endif
