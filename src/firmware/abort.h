/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The abort of overdue queues. The interrupt manager decides when; the execution loop, whose the queues are,
 * calls these.
 */
#ifndef FIRMWARE_ABORT_H
#define FIRMWARE_ABORT_H

#include "firmware/state.h"

/* Aborts every queue whose oldest request is overdue. Calls of a queue that is vacant afterwards end. */
void fw_abort_overdue(struct fw *fw);
/* Ends the calls of aborted queues that have become vacant since. */
void fw_abort_check(struct fw *fw);
/* The queues whose abort has not cleared: since when, and which; false when there are none. */
bool fw_abort_pending(const struct fw *fw, uint64_t *since, uint8_t *first, uint8_t *last);
/* The host has reset the range: all of its calls end with ABORTED, in the order they were submitted. */
void fw_abort_reset(struct fw *fw, unsigned first, unsigned last);

#endif
