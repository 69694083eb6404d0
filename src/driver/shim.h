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

#endif
