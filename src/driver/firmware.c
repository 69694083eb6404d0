/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image is checked before a byte of it is written, and again by the processor when it starts: it compares
 * what is in memory then.
 */
#include "driver/firmware.h"

#include <errno.h>
#include <inttypes.h>

#include "image/image.h"

int drv_firmware_load(struct drv *d, struct base_error *error)
{
    const struct drv_platform *p = &d->platform;
    struct img_image image;
    void *run;
    int status;

    d->vector = p->firmware_image;
    if (!p->firmware_bytes)
        return 0;
    status = img_image_read(p->firmware_bytes, p->firmware_size, &image, error);
    if (status)
        return status;
    run = p->memory_at(p->context, p->firmware_image, PR_IMAGE_RUN_BYTES);
    if (!run)
        return base_fail(error, EFAULT,
                         "There is no memory for the firmware image: 0x%x bytes at 0x%" PRIx64 ".",
                         PR_IMAGE_RUN_BYTES, p->firmware_image);
    img_image_load(&image, run);
    d->vector = img_image_vector(&image, p->firmware_image);
    SOC_TRACE(p->trace, DRV_FIRMWARE, image.image4.tag, p->firmware_image, d->vector);
    return 0;
}
