/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Program images: private copies of .hwx images, one for each procedure, become text, kernel and a firmware
 * container in DRAM of the driver's own.
 */
#ifndef DRIVER_IMAGE_H
#define DRIVER_IMAGE_H

#include "driver/state.h"

struct drv_image {
    const void *bytes;
    uint64_t size;
    const void *constants; /* those of its kernel; NULL: they are in the image */
};

/*
 * Fills procedures, text, kernel and container of the program, whose number of procedures is set: one image
 * each. A kernel that the program has already is that of its only image. On failure nothing is left and the
 * reason is the driver's last error.
 */
IOReturn drv_image_load(struct drv *driver, const struct drv_image *image, struct drv_program *program);
void drv_image_drop(struct drv *driver, struct drv_program *program);
/* kIOReturnBadArgument, with a sentence that names the procedure where there are several. */
IOReturn drv_image_refuse(struct drv *driver, const struct drv_program *program, uint32_t procedure,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
