/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors in .npy files: versions 1.0 to 3.0, half and single precision and integers of 8, 32 and 64 bits,
 * C order.
 * Reading trusts no byte.
 */
#ifndef TOOL_NPY_H
#define TOOL_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

#define TOOL_NPY_RANK_MAX     8u
#define TOOL_NPY_HEADER_BYTES 256u /* room for any header this file writes */

/* The last two are of files alone: no port has them. */
enum tool_type { TOOL_FP16, TOOL_FP32, TOOL_UINT8, TOOL_INT8, TOOL_INT32, TOOL_INT64 };

struct tool_shape {
    unsigned rank;
    uint64_t dim[TOOL_NPY_RANK_MAX];
};

struct tool_npy {
    enum tool_type type;
    struct tool_shape shape;
    uint64_t elements, bytes; /* of data, which follow the header */
};

size_t tool_type_bytes(enum tool_type type);
const char *tool_type_name(enum tool_type type);

/*
 * A file in two steps, so that an unusable tensor is refused before its data is read. 0, or a negative
 * errno and a sentence that begins with what is wrong, for the caller to put the file's name before.
 */
int tool_npy_read_header(FILE *file, struct tool_npy *npy, struct base_error *error);
/* npy->bytes of data, after which the file has to end. */
int tool_npy_read_data(FILE *file, const struct tool_npy *npy, void *data, struct base_error *error);
/* Writes a version 1.0 header; its size, a multiple of 64. */
size_t tool_npy_header(enum tool_type type, const struct tool_shape *shape,
                       char header[TOOL_NPY_HEADER_BYTES]);

/* "[1, 8, 16, 16]" */
const char *tool_shape_text(const struct tool_shape *shape, char *text, size_t capacity);
/* The same, or the same as `port` with its ones left out. */
bool tool_shape_fits(const struct tool_shape *shape, const struct tool_shape *port);

/*
 * Copies elements, from one type to the other when they differ: exact to single and to integers, rounded half
 * to even to half. No alignment is asked for. 0, or a negative errno and a sentence for the caller to put the
 * file's name before when an integer of 8 bits cannot hold an element; between half and single
 * precision there is no such case.
 */
int tool_convert(enum tool_type to_type, void *to, enum tool_type from_type, const void *from,
                 uint64_t elements, struct base_error *error);
/* Element i of integers, as it is. */
int64_t tool_integer(enum tool_type type, const void *from, uint64_t index);
/* Between half and single precision. */
void tool_convert_float(enum tool_type to_type, void *to, enum tool_type from_type, const void *from,
                        uint64_t elements);

#endif
