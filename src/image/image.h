/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The firmware's image: wrapper and executable together, and the image that this library was built with. The
 * driver loads it, the processor compares memory with it, the command prints it.
 */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <stdbool.h>

#include "image/image4.h"
#include "image/macho.h"

struct img_image {
    struct img_image4 image4;
    struct img_macho macho;
    bool no_code; /* it has the marker of a build without a cross compiler */
};

/*
 * Checks all of it. The bytes stay the caller's; `image` points into them. -EINVAL or -EBADMSG (the digest),
 * with a sentence.
 */
int img_image_read(const void *bytes, size_t size, struct img_image *image, struct base_error *error);
/* The same without the digest: for bytes that the driver checks before they run. */
int img_image_parse(const void *bytes, size_t size, struct img_image *image, struct base_error *error);

/* Writes the segments to a run of PR_IMAGE_RUN_BYTES: their bytes, and zeros after them. */
void img_image_load(const struct img_image *image, void *run);
/* What the reset vector is for an image in the run at that physical address. */
uint64_t img_image_vector(const struct img_image *image, uint64_t run);
/* The file bytes of the segments are in that run. */
bool img_image_is_at(const struct img_image *image, const void *run);

/* The bytes of the image that the library was built with. */
const void *img_image_built(size_t *size);

#endif
