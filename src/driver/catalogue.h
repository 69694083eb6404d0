/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The catalogue's methods, each on a handler's terms: exact sizes, no NULL, the client open and allowed.
 * Those that only report are in diagnostics.c.
 */
#ifndef DRIVER_CATALOGUE_H
#define DRIVER_CATALOGUE_H

#include <anemone/catalogue.h>

#include "driver/state.h"

IOReturn drv_diagnostics_clients(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_diagnostics_allocations(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_diagnostics_models(struct drv_client *client, struct IOExternalMethodArguments *args);

#endif
