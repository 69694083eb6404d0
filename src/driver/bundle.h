/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles: records become a program image in DRAM of the driver's own, which then goes the way of every
 * image.
 */
#ifndef DRIVER_BUNDLE_H
#define DRIVER_BUNDLE_H

#include "driver/state.h"

/*
 * `bytes` is a private copy of what abi.h calls struct ane_program_bundle and what follows it. Otherwise as
 * drv_image_load.
 */
IOReturn drv_bundle_load(struct drv *driver, const void *bytes, uint64_t size, struct drv_program *program);

#endif
