/* SPDX-License-Identifier: Apache-2.0 */
/* What the running firmware says of itself: reports on DEBUG, and load reports that it sends on BUF_T2H. */
#ifndef DRIVER_DEBUG_H
#define DRIVER_DEBUG_H

#include "driver/state.h"

/*
 * A buffer of the firmware's came on BUF_T2H: what it holds is copied, and the buffer is given back with
 * CH_BUFFER_RETURN. One that cannot be given back now is given back with the next.
 */
void drv_debug_take_buffer(struct drv *driver, uint64_t address, uint64_t bytes, uint64_t tag);

#endif
