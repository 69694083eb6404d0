/* SPDX-License-Identifier: Apache-2.0 */
/* externalMethod: the dispatch array of each client class, and the checks before a method runs. */
#ifndef DRIVER_DISPATCH_H
#define DRIVER_DISPATCH_H

#include "driver/state.h"

/* The array of a class (enum ane_client_type) and its length; NULL when there is no such class. */
const struct IOExternalMethodDispatch2022 *drv_dispatch_array(uint32_t type, uint32_t *count);

/* Nothing is read and nothing changes before sizes, pointers, session and entitlements have been checked. */
IOReturn drv_dispatch(struct drv_client *client, uint32_t selector,
                      struct IOExternalMethodArguments *arguments);

#endif
