/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program images: a private copy of a .hwx becomes text, kernel and a firmware container in DRAM of the
 * driver's own.
 */
#ifndef DRIVER_IMAGE_H
#define DRIVER_IMAGE_H

#include "driver/state.h"

/*
 * Fills ports, text, kernel and container of the program. On failure nothing is left and the reason is the
 * driver's last error.
 */
IOReturn drv_image_load(struct drv *driver, const void *bytes, uint64_t size, struct drv_program *program);
void drv_image_drop(struct drv *driver, struct drv_program *program);

#endif
