/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor driver: the engine's eight task queues, one per priority level. A level has two requests on
 * its queue at most; further calls wait, first come, first served, and go when vacancy returns.
 */
#ifndef FIRMWARE_QUEUE_H
#define FIRMWARE_QUEUE_H

#include "firmware/state.h"

/* Enables the queues and the engine's interrupts, after power was switched on. */
void fw_queue_start(struct fw *fw);
/* Disables them, together and each. Nothing is in flight. */
void fw_queue_stop(struct fw *fw);
/* Takes an accepted call: pushes its requests in order, or lets them wait. */
void fw_queue_submit(struct fw *fw, uint16_t number);
/* The key that a call is queued under; tqId is 0 until it is pushed. */
void fw_queue_key(const struct fw *fw, const struct fw_call *call, uint64_t key[PR_KEY_PARTS]);
/* Pushes what waits, as far as the queue has room. */
void fw_queue_pump(struct fw *fw, unsigned level);
/* The oldest request of a queue has left it: its call, or FW_NO_CALL when there was none. */
uint16_t fw_queue_retire(struct fw *fw, unsigned level);
/* Takes away what waits for its queue of the requests of a call. */
void fw_queue_cancel(struct fw *fw, uint16_t lead);
/* Takes the oldest call that waits for a queue away, or FW_NO_CALL. */
uint16_t fw_queue_unwait(struct fw *fw, unsigned level);
/* Whether an aborted queue holds nothing any more, of this or of another master. */
bool fw_queue_vacant(struct fw *fw, unsigned level);
/* When the next deadline is due; false when no queue has one. */
bool fw_queue_deadline(const struct fw *fw, uint64_t *time);
/* Whether a queue's oldest request is overdue. */
bool fw_queue_overdue(const struct fw *fw, unsigned level, uint64_t now);
/* Asks the task manager to drop all a queue holds. */
void fw_queue_abort(struct fw *fw, unsigned level);

#endif
