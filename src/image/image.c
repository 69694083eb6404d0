/* SPDX-License-Identifier: Apache-2.0 */
#include "image/image.h"

#include <string.h>

#include "base/alloc.h"
#include "image/built.h"

static bool has_marker(const struct img_macho *macho)
{
    for (unsigned i = 0; i < macho->segments; i++) {
        const struct img_segment *s = &macho->segment[i];

        if (s->file_bytes >= PR_IMAGE_NO_CODE_BYTES &&
            !memcmp(s->bytes, PR_IMAGE_NO_CODE, PR_IMAGE_NO_CODE_BYTES))
            return true;
    }
    return false;
}

static int read_payload(struct img_image *image, struct base_error *error)
{
    int status = img_macho_read(image->image4.payload, image->image4.payload_bytes, &image->macho, error);

    if (!status)
        image->no_code = has_marker(&image->macho);
    return status;
}

int img_image_read(const void *bytes, size_t size, struct img_image *image, struct base_error *error)
{
    int status = img_image4_read(bytes, size, &image->image4, error);

    return status ? status : read_payload(image, error);
}

int img_image_parse(const void *bytes, size_t size, struct img_image *image, struct base_error *error)
{
    int status = img_image4_parse(bytes, size, &image->image4, error);

    return status ? status : read_payload(image, error);
}

static size_t offset_of(const struct img_segment *segment)
{
    return (size_t)(segment->address - PR_IMAGE_BASE);
}

void img_image_load(const struct img_image *image, void *run)
{
    for (unsigned i = 0; i < image->macho.segments; i++) {
        const struct img_segment *s = &image->macho.segment[i];
        uint8_t *to = (uint8_t *)run + offset_of(s);

        memcpy(to, s->bytes, s->file_bytes);
        base_clear(to + s->file_bytes, s->memory_bytes - s->file_bytes);
    }
}

bool img_image_is_at(const struct img_image *image, const void *run)
{
    for (unsigned i = 0; i < image->macho.segments; i++) {
        const struct img_segment *s = &image->macho.segment[i];

        if (memcmp((const uint8_t *)run + offset_of(s), s->bytes, s->file_bytes) != 0)
            return false;
    }
    return true;
}

uint64_t img_image_vector(const struct img_image *image, uint64_t run)
{
    return run + (image->macho.entry - PR_IMAGE_BASE);
}

const void *img_image_built(size_t *size)
{
    *size = img_built_bytes;
    return img_built;
}
