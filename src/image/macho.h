/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable in the firmware's image (protocol/image.h). Its bytes are the caller's and must outlive it.
 */
#ifndef IMAGE_MACHO_H
#define IMAGE_MACHO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/image.h"

struct img_segment {
    char name[PR_MACHO_NAME_BYTES + 1];
    uint64_t address, memory_bytes; /* as the processor sees it, from PR_IMAGE_BASE on */
    const uint8_t *bytes;           /* file_bytes of them; the rest is zero */
    uint64_t offset, file_bytes;    /* in the executable */
    uint32_t protect;
};

struct img_macho {
    struct img_segment segment[PR_IMAGE_SEGMENTS_MAX];
    unsigned segments;
    uint64_t entry; /* an address like a segment's */
    uint8_t uuid[PR_MACHO_UUID_BYTES];
};

/* -EINVAL with a sentence for each way to be wrong. */
int img_macho_read(const void *bytes, size_t size, struct img_macho *macho, struct base_error *error);

#endif
