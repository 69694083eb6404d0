/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BACK_CHANNEL_RPC: calls of the firmware's to the host (struct pr_notify_rpc), and what the host sends: the
 * answers, and payloads of its own. RPCEventMap has a place for each call that is not answered yet.
 */
#ifndef FIRMWARE_RPC_H
#define FIRMWARE_RPC_H

#include "firmware/state.h"

/*
 * Calls the host, with a text of at most PR_RPC_TEXT_BYTES or none. Any task. False, and counted, while fewer
 * than PR_RPC_POOL_LEAST events are free. A place that was not answered is reported and used again.
 */
bool fw_rpc_call(struct fw *fw, enum pr_rpc_kind kind, const char *text, size_t bytes);
/* GetDirectProcCallEventPoolAvailNum(). */
uint32_t fw_rpc_available(struct fw *fw);

/* BACK_CHANNEL_RPC: an arm of the execution loop, and a command of control.c's table. */
enum pr_status fw_rpc_message(struct fw *fw, uint64_t length);
enum pr_status fw_rpc_command(struct fw *fw, struct pr_command_header *header, void *body);

#endif
