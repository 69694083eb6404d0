/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware's image: checked, and written to the memory that the boot loader reserved for it. */
#ifndef DRIVER_FIRMWARE_H
#define DRIVER_FIRMWARE_H

#include "driver/state.h"

/*
 * Loads the platform's image, if it has one, and sets the reset vector that the boot writes. -EINVAL or
 * -EBADMSG when the image is wrong, -EFAULT when the platform has no memory for it; with a sentence.
 */
int drv_firmware_load(struct drv *d, struct base_error *error);

#endif
