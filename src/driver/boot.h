/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ANE_Init: power_on_hardware and the firmware's boot to its first commands, as steps. The driver's start
 * repeats the step with pauses; recovery and wake repeat it from a timer.
 */
#ifndef DRIVER_BOOT_H
#define DRIVER_BOOT_H

#include "driver/state.h"

/* The next step is the first one. Warm: the firmware may keep what it retained. */
void drv_boot_begin(struct drv *driver, bool warm);
/*
 * Goes as far as it can. 0: the firmware is up and the first commands are answered. 1: not yet, call again. A
 * negative errno, with a sentence: failed; the hardware is as it was left. A missing second wake, and a
 * firmware that fails before it is up, are tried again with a power cycle, DRV_BOOT_TRIES times in all.
 */
int drv_boot_step(struct drv *driver, struct base_error *error);

/* After the controller has stopped: what the firmware was given goes. */
void drv_boot_drop_surfaces(struct drv *driver);
/* The same for what the firmware has asked for itself, which it asks for again. */
void drv_boot_drop_shared(struct drv *driver);

#endif
