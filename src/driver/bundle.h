/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bundles: records become a program image in memory of the driver's own, which then goes the way of every
 * image. Its constants are left where they are.
 */
#ifndef DRIVER_BUNDLE_H
#define DRIVER_BUNDLE_H

#include "driver/image.h"
#include "driver/state.h"

/* Where the parts are, main.e5 behind the struct; false when they are not exactly `size` bytes. */
bool drv_bundle_find(const void *bytes, uint64_t size, struct ane_program_bundle *head, uint64_t *weights);
/*
 * `bytes` is a private copy of what abi.h calls struct ane_program_bundle and of main.e5. The image, whose
 * constants are to be set, is for drv_bundle_drop. On failure nothing is left and the reason is the driver's
 * last error.
 */
IOReturn drv_bundle_expand(struct drv *driver, const void *bytes, struct drv_image *image);
void drv_bundle_drop(struct drv_image *image);

#endif
