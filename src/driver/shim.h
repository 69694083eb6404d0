/* SPDX-License-Identifier: Apache-2.0 */
/* The shims of programs, requests and memory maps: one copy of the struct, its session, then the method. */
#ifndef DRIVER_SHIM_H
#define DRIVER_SHIM_H

#include "driver/state.h"

IOReturn drv_shim_send(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_shim_create(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_shim_prepare(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_shim_unprepare(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_shim_destroy(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_shim_map(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_shim_unmap(struct drv_client *client, struct IOExternalMethodArguments *args);

/* The wake port of an asynchronous call. Its references are copied once; words that were not given are 0. */
IOReturn drv_shim_read_wake(const struct drv_client *client, const struct IOExternalMethodArguments *args,
                            struct drv_wake *wake);

#endif
