/* SPDX-License-Identifier: Apache-2.0 */
/* Sleep: the firmware is quiesced, emptied, suspended and powered down. recovery.h wakes the device. */
#ifndef DRIVER_SLEEP_H
#define DRIVER_SLEEP_H

#include "driver/state.h"

/*
 * With the gate, which is given up meanwhile. Requests that the firmware has are waited for; those that are
 * queued wake the device again. 0, or a negative errno with a sentence: -EBUSY, nothing changed; -EIO, the
 * firmware did not obey and is restarted.
 */
int drv_sleep_enter(struct drv *driver, struct base_error *error);

#endif
