/* SPDX-License-Identifier: Apache-2.0 */
/* The wrapper of the firmware's image (protocol/image.h). Its bytes are the caller's and must outlive it. */
#ifndef IMAGE_IMAGE4_H
#define IMAGE_IMAGE4_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/image.h"

struct img_image4 {
    char tag[PR_IMG4_TAG_BYTES + 1];
    char description[PR_IMAGE_TEXT_MAX + 1];
    const uint8_t *payload;
    size_t payload_bytes;
    uint8_t digest[PR_IMG4_DIGEST_BYTES]; /* as the manifest has it, and as the payload has it */
};

/*
 * Reads the wrapper and compares the payload with the manifest's digest. -EINVAL for another form or another
 * payload tag, -EBADMSG for another digest.
 */
int img_image4_read(const void *bytes, size_t size, struct img_image4 *image4, struct base_error *error);
/* The same without the comparison. */
int img_image4_parse(const void *bytes, size_t size, struct img_image4 *image4, struct base_error *error);

#endif
