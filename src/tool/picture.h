/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures from PNG and JPEG files, and a picture as a tensor. Reading trusts no byte: the size that a file
 * states is compared with the limits before memory is taken.
 */
#ifndef TOOL_PICTURE_H
#define TOOL_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TOOL_PICTURE_BYTES_MAX  (256u << 20) /* of a file; chosen */
#define TOOL_PICTURE_SIDE_MAX   65535u       /* what JPEG can state */
#define TOOL_PICTURE_PIXELS_MAX (64u << 20)  /* chosen */
#define TOOL_PICTURE_CHANNELS   3u
/* Pixels between the two passes of a resize: those of the picture's height and the tensor's width; chosen. */
#define TOOL_PICTURE_BETWEEN_MAX (128u << 20)

/* Red, green and blue of each pixel, 0 to 255, row by row. */
struct tool_picture {
    uint32_t width, height;
    uint8_t *pixel; /* base_free */
};

/*
 * A file's bytes, by their signature. 0, or a negative errno and a sentence for the caller to put the file's
 * name before. Transparent pixels are laid over white; the orientation that a camera notes is not applied.
 */
int tool_picture_decode(const uint8_t *bytes, size_t size, struct tool_picture *picture,
                        struct base_error *error);

/* The same for one form. -ENOTSUP where the build has no library for it. */
int tool_picture_decode_png(const uint8_t *bytes, size_t size, struct tool_picture *picture,
                            struct base_error *error);
int tool_picture_decode_jpeg(const uint8_t *bytes, size_t size, struct tool_picture *picture,
                             struct base_error *error);
/* Compares a size with the limits and takes the memory for its pixels. */
int tool_picture_allocate(struct tool_picture *picture, uint64_t width, uint64_t height,
                          struct base_error *error);

/* How a picture becomes numbers. */
enum tool_fit { TOOL_FIT_STRETCH, TOOL_FIT_CROP };

struct tool_framing {
    enum tool_fit fit;
    uint32_t width, height;
    uint32_t channels; /* 1: grey; 3 */
    bool bgr;          /* blue first */
    bool interleaved;  /* the channels of a pixel follow each other; else one plane per channel */
    double range;      /* what white is before mean and std */
    double mean[TOOL_PICTURE_CHANNELS], std[TOOL_PICTURE_CHANNELS]; /* per channel, in the tensor's order */
};

/*
 * Resizes with a triangle filter (bilinear; when it shrinks as wide as what becomes one pixel), and writes
 * (value / 255 * range - mean) / std, width * height * channels numbers. Errors as above.
 */
int tool_picture_frame(const struct tool_picture *picture, const struct tool_framing *framing, float *to,
                       struct base_error *error);

#endif
