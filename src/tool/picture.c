/* SPDX-License-Identifier: Apache-2.0 */
/* The resize is two passes, rows first, over the part of the picture that is used, in single precision. */
#include "tool/picture.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

static const uint8_t png_signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
static const uint8_t jpeg_signature[3] = {0xff, 0xd8, 0xff};

int tool_picture_allocate(struct tool_picture *picture, uint64_t width, uint64_t height,
                          struct base_error *error)
{
    if (!width || !height)
        return base_fail(error, EINVAL, "the picture is empty.");
    if (width > TOOL_PICTURE_SIDE_MAX || height > TOOL_PICTURE_SIDE_MAX ||
        width * height > TOOL_PICTURE_PIXELS_MAX)
        return base_fail(error, EFBIG,
                         "the picture states %llu x %llu pixels; the limit is %u a side and %u in all.",
                         (unsigned long long)width, (unsigned long long)height, TOOL_PICTURE_SIDE_MAX,
                         TOOL_PICTURE_PIXELS_MAX);
    picture->pixel = base_alloc((size_t)(width * height) * TOOL_PICTURE_CHANNELS);
    if (!picture->pixel)
        return base_fail(error, ENOMEM, "there is no memory for %llu x %llu pixels.",
                         (unsigned long long)width, (unsigned long long)height);
    picture->width = (uint32_t)width;
    picture->height = (uint32_t)height;
    return 0;
}

int tool_picture_decode(const uint8_t *bytes, size_t size, struct tool_picture *picture,
                        struct base_error *error)
{
    int status;

    memset(picture, 0, sizeof(*picture));
    if (size >= sizeof(png_signature) && !memcmp(bytes, png_signature, sizeof(png_signature)))
        status = tool_picture_decode_png(bytes, size, picture, error);
    else if (size >= sizeof(jpeg_signature) && !memcmp(bytes, jpeg_signature, sizeof(jpeg_signature)))
        status = tool_picture_decode_jpeg(bytes, size, picture, error);
    else
        return base_fail(error, EINVAL, "it is neither a PNG nor a JPEG.");
    if (status) {
        base_free(picture->pixel);
        memset(picture, 0, sizeof(*picture));
    }
    return status;
}

/* Resizing. */

/* One axis: `from` pixels beginning at `begin`, of which `span` become `to`. */
struct axis {
    uint32_t from, to;
    double begin, span;
};

/* The pixels that make pixel `at` of the result, and their weights; how many. */
static uint32_t taps(const struct axis *axis, uint32_t at, uint32_t *first, float *weight)
{
    double scale = axis->span / axis->to, reach = scale > 1 ? scale : 1,
           centre = axis->begin + (at + 0.5) * scale, sum = 0;
    double low = floor(centre - reach), high = ceil(centre + reach);
    uint32_t count = 0, end;

    *first = low > 0 ? (uint32_t)low : 0;
    end = high < axis->from ? (uint32_t)high : axis->from;
    for (uint32_t i = *first; i < end; i++) {
        double w = 1 - fabs(i + 0.5 - centre) / reach;

        weight[count++] = (float)(w > 0 ? w : 0);
        sum += w > 0 ? w : 0;
    }
    for (uint32_t i = 0; i < count; i++)
        weight[i] = (float)(weight[i] / sum);
    return count;
}

static size_t taps_max(const struct axis *axis)
{
    double scale = axis->span / axis->to;

    return (size_t)(2 * ceil(scale > 1 ? scale : 1)) + 3;
}

/* The part of the picture that is used: all of it, or the largest centred one of the tensor's proportions. */
static void choose_part(const struct tool_picture *picture, const struct tool_framing *framing,
                        struct axis *x, struct axis *y)
{
    *x = (struct axis){picture->width, framing->width, 0, picture->width};
    *y = (struct axis){picture->height, framing->height, 0, picture->height};
    if (framing->fit == TOOL_FIT_CROP) {
        double scale = fmin(x->span / x->to, y->span / y->to);

        x->span = scale * x->to;
        y->span = scale * y->to;
        x->begin = (picture->width - x->span) / 2;
        y->begin = (picture->height - y->span) / 2;
    }
}

/* Every row of the picture, as wide as the tensor. */
static void resize_rows(const struct tool_picture *picture, const struct axis *x, float *weight, float *rows)
{
    for (uint32_t at = 0; at < x->to; at++) {
        uint32_t first, count = taps(x, at, &first, weight);

        for (uint32_t row = 0; row < picture->height; row++) {
            const uint8_t *from =
                picture->pixel + ((size_t)row * picture->width + first) * TOOL_PICTURE_CHANNELS;
            float *to = rows + ((size_t)row * x->to + at) * TOOL_PICTURE_CHANNELS;

            for (uint32_t c = 0; c < TOOL_PICTURE_CHANNELS; c++) {
                float sum = 0;

                for (uint32_t i = 0; i < count; i++)
                    sum += weight[i] * (float)from[i * TOOL_PICTURE_CHANNELS + c];
                to[c] = sum;
            }
        }
    }
}

/* ITU-R BT.601, as image libraries make grey. */
static float grey(const float rgb[TOOL_PICTURE_CHANNELS])
{
    return 0.299f * rgb[0] + 0.587f * rgb[1] + 0.114f * rgb[2];
}

static void put_pixel(const struct tool_framing *framing, const float rgb[TOOL_PICTURE_CHANNELS],
                      size_t index, float *to)
{
    size_t plane = (size_t)framing->width * framing->height;

    for (uint32_t c = 0; c < framing->channels; c++) {
        float value =
            framing->channels == 1 ? grey(rgb) : rgb[framing->bgr ? TOOL_PICTURE_CHANNELS - 1 - c : c];

        to[framing->interleaved ? index * framing->channels + c : c * plane + index] =
            (float)((value / 255 * framing->range - framing->mean[c]) / framing->std[c]);
    }
}

static void resize_columns(const struct axis *y, const struct tool_framing *framing, const float *rows,
                           float *weight, float *to)
{
    size_t row_length = (size_t)framing->width * TOOL_PICTURE_CHANNELS;

    for (uint32_t at = 0; at < y->to; at++) {
        uint32_t first, count = taps(y, at, &first, weight);

        for (uint32_t column = 0; column < framing->width; column++) {
            const float *from = rows + (size_t)first * row_length + (size_t)column * TOOL_PICTURE_CHANNELS;
            float rgb[TOOL_PICTURE_CHANNELS] = {0};

            for (uint32_t i = 0; i < count; i++)
                for (uint32_t c = 0; c < TOOL_PICTURE_CHANNELS; c++)
                    rgb[c] += weight[i] * from[i * row_length + c];
            put_pixel(framing, rgb, (size_t)at * framing->width + column, to);
        }
    }
}

int tool_picture_frame(const struct tool_picture *picture, const struct tool_framing *framing, float *to,
                       struct base_error *error)
{
    const uint64_t between = (uint64_t)picture->height * framing->width;
    float *rows, *weight;
    struct axis x, y;
    int status = 0;

    if (between > TOOL_PICTURE_BETWEEN_MAX)
        return base_fail(error, EFBIG, "it is %u high and the input %u wide; their product is limited to %u.",
                         picture->height, framing->width, TOOL_PICTURE_BETWEEN_MAX);
    choose_part(picture, framing, &x, &y);
    weight = base_alloc_array(taps_max(&x) + taps_max(&y), sizeof(*weight));
    rows = base_alloc_array(between, TOOL_PICTURE_CHANNELS * sizeof(*rows));
    if (weight && rows) {
        resize_rows(picture, &x, weight, rows);
        resize_columns(&y, framing, rows, weight, to);
    } else {
        status = base_fail(error, ENOMEM, "there is no memory to resize it.");
    }
    base_free(rows);
    base_free(weight);
    return status;
}
