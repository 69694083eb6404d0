/* SPDX-License-Identifier: Apache-2.0 */
/* The end of calls: the engine's events, statistics, PROGRAM_EVENTs, the deadline. */
#ifndef FIRMWARE_COMPLETION_H
#define FIRMWARE_COMPLETION_H

#include "firmware/state.h"

/* A PROGRAM_EVENT's cell in the extra heap: one per IO_T2H slot. */
#define FW_EVENT_CELL_BYTES 0x40u

/* Reads both event lines empty and ends the calls they name. */
void fw_completion_drain(struct fw *fw);
/* The deadline's timer has fired: queues whose oldest request is overdue are aborted, their calls end. */
void fw_completion_deadline(struct fw *fw);
/* Reports ended calls to the host, as far as it has returned slots, and rings once. */
void fw_completion_notify(struct fw *fw);

#endif
