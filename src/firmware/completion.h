/* SPDX-License-Identifier: Apache-2.0 */
/* The end of calls: the engine's events, statistics, PROGRAM_EVENTs. */
#ifndef FIRMWARE_COMPLETION_H
#define FIRMWARE_COMPLETION_H

#include "firmware/state.h"

/* Reads both event lines empty and ends the calls they name. */
void fw_completion_drain(struct fw *fw);
/* After what has ended: pushes what waits, reports to the host, and leaves EXEC when nothing is in flight. */
void fw_completion_go_on(struct fw *fw);
/* A request that has left its queue ends, and its call if it was the last. */
void fw_completion_end(struct fw *fw, uint16_t number, enum pr_status status);
/* Keeps what the engine says of the oldest request of a queue. */
void fw_completion_take_error(struct fw *fw, unsigned queue, struct fw_call *call);
/* Reports ended calls to the host, as far as it has returned slots, and rings once. */
void fw_completion_notify(struct fw *fw);

#endif
