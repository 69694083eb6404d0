/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The debug work processor, control selectors 11 to 15: one client is registered and gets the firmware's
 * debug calls as items, which it fetches and completes.
 */
#ifndef DRIVER_DEBUG_WORK_H
#define DRIVER_DEBUG_WORK_H

#include "driver/state.h"

IOReturn drv_debug_work_register(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_debug_work_unregister(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_debug_work_get(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_debug_work_complete(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_debug_work_release(struct drv_client *client, struct IOExternalMethodArguments *args);

/* A debug call of the firmware's: an item, or answered at once when there is no processor or no room. */
void drv_debug_work_add(struct drv *driver, uint32_t slot, const char *text, uint32_t bytes);
/* The client goes: what it had is answered, and the firmware makes no more debug calls. */
void drv_debug_work_leave(struct drv_client *client);
/* The firmware was stopped: its calls are over. And it runs again: it hears of the processor. */
void drv_debug_work_forget(struct drv *driver);
void drv_debug_work_booted(struct drv *driver);

#endif
