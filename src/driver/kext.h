/* SPDX-License-Identifier: Apache-2.0 */
/* The three version-locked kernel extensions: what the registry shows of them, and the lock itself. */
#ifndef DRIVER_KEXT_H
#define DRIVER_KEXT_H

#include "driver/driver.h"
#include "protocol/kext.h"

/* The extensions that were loaded, by enum pr_kext_id. */
const struct pr_kext *drv_kext_loaded(const struct drv_platform *platform);
/* -EPROTO, with both bundles and versions, when one has another version than the interface driver. */
int drv_kext_check(const struct drv_platform *platform, struct base_error *error);

#endif
