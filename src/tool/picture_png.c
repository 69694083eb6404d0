/* SPDX-License-Identifier: Apache-2.0 */
/* libpng's simplified interface: it reports errors by its result, so there is no jump out of it. */
#include <errno.h>
#include <string.h>

#include "tool/picture.h"

#if ANEMONE_PNG
#include <png.h>

int tool_picture_decode_png(const uint8_t *bytes, size_t size, struct tool_picture *picture,
                            struct base_error *error)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    const png_color white = {255, 255, 255};
    int status = 0;

    if (!png_image_begin_read_from_memory(&image, bytes, size))
        return base_fail(error, EINVAL, "it is not a whole PNG: %s.", image.message);
    image.format = PNG_FORMAT_RGB;
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    status = tool_picture_allocate(picture, image.width, image.height, error);
    if (!status && !png_image_finish_read(&image, &white, picture->pixel, 0, NULL))
        status = base_fail(error, EINVAL, "it is not a whole PNG: %s.", image.message);
    png_image_free(&image);
    return status;
}

#else

int tool_picture_decode_png(const uint8_t *bytes, size_t size, struct tool_picture *picture,
                            struct base_error *error)
{
    (void)bytes;
    (void)size;
    (void)picture;
    return base_fail(error, ENOTSUP, "it is a PNG, and this build has no libpng (Debian: libpng-dev).");
}

#endif
