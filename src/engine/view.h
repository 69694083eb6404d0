/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor as the kernels see it: fp16 elements at byte strides, in host memory (granted DRAM, L2) or in a
 * granted range that has no contiguous host address. No byte outside the span that pr_tensor_span states is
 * touched, and stores touch elements and row tails alone. Addresses need no alignment.
 */
#ifndef ENGINE_VIEW_H
#define ENGINE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dart/dart.h"
#include "protocol/task.h"

struct eng_view {
    uint8_t *host;           /* element 0, or NULL: */
    struct dart_range range; /* the range that begins with element 0 */
    uint32_t extent[PR_AXES];
    uint32_t stride[PR_AXES]; /* bytes; 0 along a broadcast axis */
    uint32_t tail;            /* stores fill each row with zeros up to this byte of it; 0: they do not */
    bool relu;                /* loads cut negative elements to zero */
};

/* `base` is where the tensor begins (its `base` field already added). */
void eng_view_of_host(struct eng_view *view, const struct pr_tensor *tensor, uint8_t *base);
/* `range` begins where the tensor begins and holds its span. */
void eng_view_of_range(struct eng_view *view, const struct pr_tensor *tensor, const struct dart_range *range);

/* Two indices may name the same bytes, so that the order of stores matters. Never false when they do. */
bool eng_view_overlaps_itself(const struct eng_view *view);

/* A line: n elements from an index along one axis. */
struct eng_line {
    uint32_t index[PR_AXES];
    enum pr_axis axis;
    uint32_t n;
};

/*
 * Lines that have to be gathered or scattered go through a buffer of the caller's, this many elements at
 * most.
 */
#define ENG_LINE_MAX   1024u
#define ENG_LINE_BYTES (2u * ENG_LINE_MAX)

/* Whether lines along the axis lie packed in host memory, so that their length has no limit. */
bool eng_view_is_packed(const struct eng_view *view, enum pr_axis axis);
/* The line's halfs, packed: in place, or gathered into `buffer`. */
const uint8_t *eng_view_line(const struct eng_view *view, const struct eng_line *line, uint8_t *buffer);
/*
 * Where to write the line's halfs, packed: in place, or `buffer`. eng_view_line_put then finishes the store.
 */
uint8_t *eng_view_line_target(const struct eng_view *view, const struct eng_line *line, uint8_t *buffer);
void eng_view_line_put(const struct eng_view *view, const struct eng_line *line, const uint8_t *halfs);

/*
 * The reference: rows of any length, element by element. index[PR_AXIS_W] is the first element. Rules are
 * those of the site (enum eng_rule).
 */
void eng_view_load_row(const struct eng_view *view, const uint32_t index[PR_AXES], float *out, uint32_t n,
                       unsigned rules);
void eng_view_store_row(const struct eng_view *view, const uint32_t index[PR_AXES], const float *in,
                        uint32_t n, unsigned rules);

#endif
