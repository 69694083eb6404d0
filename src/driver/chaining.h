/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data chaining, the driver's half: a chain is a prepared program whose calls the firmware keeps installed
 * (a cache request), with output sets that it gets ahead of time.
 */
#ifndef DRIVER_CHAINING_H
#define DRIVER_CHAINING_H

#include "driver/state.h"

/* Control selector 9; direct-path selectors 3, 4 and 8. */
IOReturn drv_chaining_prepare(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_chaining_enqueue(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_chaining_ready(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_chaining_activate(struct drv_client *client, struct IOExternalMethodArguments *args);

/* The process ends, and its chains with it. */
void drv_chaining_drop(struct drv_process *process);
/* The firmware was restarted: its chains are lost; those that no call uses are dropped. */
void drv_chaining_lose(struct drv_process *process);

#endif
