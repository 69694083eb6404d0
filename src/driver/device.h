/* SPDX-License-Identifier: Apache-2.0 */
/* The device: attach, waiting, and the end. boot.h has ANE_Init, power.h the power states. */
#ifndef DRIVER_DEVICE_H
#define DRIVER_DEVICE_H

#include "driver/state.h"

/* How long boot waits for each answer of the controller: so many looks, so far apart. */
#define DRV_POLLS    1000u
#define DRV_POLL_NS  50000u
#define DRV_POLLS_MS (DRV_POLLS * (DRV_POLL_NS / 1000u) / 1000u)

/* Lets the machine run between two looks. */
void drv_device_pause(struct drv *driver);

#endif
