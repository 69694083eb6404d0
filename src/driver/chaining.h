/* SPDX-License-Identifier: Apache-2.0 */
/* Data chaining: control selector 9; direct-path selectors 3, 4 and 8. */
#ifndef DRIVER_CHAINING_H
#define DRIVER_CHAINING_H

#include "driver/state.h"

IOReturn drv_chaining_prepare(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_chaining_enqueue(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_chaining_ready(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_chaining_activate(struct drv_client *client, struct IOExternalMethodArguments *args);

#endif
