/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker that gives memory and power back: drv_reclaim_pass of driver.h. It also runs when an allocation
 * finds no memory.
 */
#ifndef DRIVER_RECLAIM_H
#define DRIVER_RECLAIM_H

#include "driver/state.h"

/*
 * Unwires the program that has been idle longest, for an allocation that found no memory. May wait: what the
 * caller has found before is protected by a pin or a hold. False when none could be unwired.
 */
bool drv_reclaim_one(struct drv *driver);
/* The same for a slot of the firmware: that program is unloaded, with its processes, and stays wired. */
bool drv_reclaim_slot(struct drv *driver);

#endif
