/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libjpeg ends on an error by a jump back into decode(). What is damaged is refused although the library
 * would go on with grey pixels, and so is a picture of very many scans, each of which costs as much time as a
 * whole picture.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "tool/picture.h"

#if ANEMONE_JPEG
#include <jerror.h>
#include <jpeglib.h>

#define SCANS_MAX 100 /* chosen: encoders write about ten */

struct decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr manager;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    char said[JMSG_LENGTH_MAX];
    bool too_long;
};

static void leave(j_common_ptr common)
{
    struct decoder *d = common->client_data;

    d->manager.format_message(common, d->said);
    longjmp(d->back, 1);
}

/* Warnings about data that is missing or cannot be read. */
static void take_message(j_common_ptr common, int level)
{
    int code = common->err->msg_code;

    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE))
        leave(common);
}

static void say_nothing(j_common_ptr common)
{
    (void)common;
}

static void count_scans(j_common_ptr common)
{
    struct decoder *d = common->client_data;

    d->too_long = d->jpeg.input_scan_number > SCANS_MAX;
    if (d->too_long)
        longjmp(d->back, 1);
}

static void read_rows(struct decoder *d, struct tool_picture *picture)
{
    jpeg_start_decompress(&d->jpeg);
    while (d->jpeg.output_scanline < d->jpeg.output_height) {
        JSAMPROW row =
            picture->pixel + (size_t)d->jpeg.output_scanline * picture->width * TOOL_PICTURE_CHANNELS;

        jpeg_read_scanlines(&d->jpeg, &row, 1);
    }
    jpeg_finish_decompress(&d->jpeg);
}

static int decode(struct decoder *d, const uint8_t *bytes, size_t size, struct tool_picture *picture,
                  struct base_error *error)
{
    int status;

    if (setjmp(d->back))
        return d->too_long ? base_fail(error, EFBIG, "it has more than %d scans, the limit.", SCANS_MAX)
                           : base_fail(error, EINVAL, "it is not a whole JPEG: %s.", d->said);
    jpeg_create_decompress(&d->jpeg);
    d->jpeg.progress = &d->progress;
    jpeg_mem_src(&d->jpeg, bytes, (unsigned long)size);
    jpeg_read_header(&d->jpeg, TRUE);
    if (d->jpeg.num_components != 1 && d->jpeg.num_components != 3)
        return base_fail(error, EINVAL, "it has %d components; grey and colours of three are read.",
                         d->jpeg.num_components);
    d->jpeg.out_color_space = JCS_RGB;
    status = tool_picture_allocate(picture, d->jpeg.image_width, d->jpeg.image_height, error);
    if (!status)
        read_rows(d, picture);
    return status;
}

int tool_picture_decode_jpeg(const uint8_t *bytes, size_t size, struct tool_picture *picture,
                             struct base_error *error)
{
    struct decoder d = {.too_long = false};
    int status;

    d.jpeg.err = jpeg_std_error(&d.manager);
    d.jpeg.client_data = &d;
    d.manager.error_exit = leave;
    d.manager.emit_message = take_message;
    d.manager.output_message = say_nothing;
    d.progress.progress_monitor = count_scans;
    status = decode(&d, bytes, size, picture, error);
    jpeg_destroy_decompress(&d.jpeg);
    return status;
}

#else

int tool_picture_decode_jpeg(const uint8_t *bytes, size_t size, struct tool_picture *picture,
                             struct base_error *error)
{
    (void)bytes;
    (void)size;
    (void)picture;
    return base_fail(error, ENOTSUP, "it is a JPEG, and this build has no libjpeg (Debian: libjpeg-dev).");
}

#endif
