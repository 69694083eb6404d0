/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensor-mover driver: the words in which the engine's data movement reports an error. A descriptor moves
 * its operands by itself, so there is nothing to start here; what can go wrong is a transfer. The execution
 * loop's, in EXEC.
 */
#ifndef FIRMWARE_MOVER_H
#define FIRMWARE_MOVER_H

#include "firmware/state.h"

/*
 * Takes the error words of the task manager, if they are a queue's, and clears them; else they are
 * PR_TM_ERROR_FINE. They keep the first error of all queues.
 */
void fw_mover_take_error(struct fw *fw, unsigned queue, uint32_t error[PR_TM_ERRORS]);
/* TM_SYNC_ERR_NOTIFICATION, when the words that a call has name a transfer of an operand. */
void fw_mover_report(struct fw *fw, const struct fw_call *call);

#endif
