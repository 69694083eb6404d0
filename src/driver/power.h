/* SPDX-License-Identifier: Apache-2.0 */
/* Power: power_on_hardware in its two halves, and off. */
#ifndef DRIVER_POWER_H
#define DRIVER_POWER_H

#include "driver/state.h"

/* Asks for every power domain. */
void drv_power_request(struct drv *driver);
/*
 * 0: every domain is on, and what the DARTs had lost is written again. 1: not yet. -ETIMEDOUT after `late`,
 * with the domain that is missing; -ENOMEM.
 */
int drv_power_resume(struct drv *driver, bool late, struct base_error *error);
/* Off: controller, engine and DARTs forget. */
void drv_power_off(struct drv *driver);
/* Every power state is on, as its register reads now. */
bool drv_power_is_on(struct drv *driver);

#endif
