/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers of cache requests: the host's, and those of executions that others follow. */
#ifndef FIRMWARE_CACHETRIGGER_H
#define FIRMWARE_CACHETRIGGER_H

#include "firmware/state.h"

/* Message 0x209 of the execution loop. */
enum pr_status fw_cachetrigger_run(struct fw *fw, uint64_t length);
/* An execution has ended well: triggers the requests that follow it. Returns how many events follow. */
uint8_t fw_cachetrigger_follow(struct fw *fw, const struct fw_execution *before);

#endif
