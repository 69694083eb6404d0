/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the controller's processor runs: the firmware's image, and whether the image itself is executed or the
 * code that the library was compiled with (its native twin).
 */
#ifndef MACHINE_CORE_H
#define MACHINE_CORE_H

#include <anemone/machine.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/image.h"

struct mach_core {
    bool emulated;
    const void *bytes; /* of the image file */
    size_t size;
    uint8_t *file; /* the same when they were read from a file, for base_free; else NULL */
    struct img_image image;
};

/*
 * -EINVAL or -EBADMSG for a wrong image, -ENOTSUP for one that cannot be run as the configuration says, or
 * the error of reading its file; with a sentence. Ended by mach_core_destroy, also after a failure.
 */
int mach_core_create(struct mach_core *core, const struct ane_machine_config *config,
                     struct base_error *error);
void mach_core_destroy(struct mach_core *core);

#endif
