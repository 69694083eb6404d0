/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor as the kernels see it: elements at byte strides, in host memory (granted DRAM, L2) or in a granted
 * range that has no contiguous host address. No byte outside the span that pr_tensor_span states is touched,
 * and stores touch elements and row tails alone. Addresses need no alignment.
 *
 * Lines are fp16 whatever the format of the elements: 8-bit integers become fp16 without loss, and are made
 * from fp16 by rounding half to even and clamping to the range; a NaN becomes 0.
 */
#ifndef ENGINE_VIEW_H
#define ENGINE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dart/dart.h"
#include "program/task.h"

struct eng_view {
    uint8_t *host;           /* element 0, or NULL: */
    struct dart_range range; /* the range that has element 0 ... */
    uint64_t origin;         /* ... at this byte */
    enum pr_format format;
    uint32_t interleave;  /* elements that are interleaved; 0 and 1: none ... */
    enum pr_axis bundled; /* ... of this axis */
    uint32_t extent[PR_AXES];
    uint32_t stride[PR_AXES]; /* bytes; 0 along a broadcast axis */
    /*
     * Stores fill each row with zeros between these two of its bytes; both 0: they do not. A tail belongs to
     * the last channel of its bundle.
     */
    uint32_t tail_begin, tail;
    bool relu;  /* loads replace negative elements by zero */
    bool slice; /* loads follow the rule for slices */
};

/* `base` is where the tensor begins (its `base` field already added). */
void eng_view_of_host(struct eng_view *view, const struct pr_tensor *tensor, uint8_t *base);
/* `range` begins where the tensor begins and holds its span. */
void eng_view_of_range(struct eng_view *view, const struct pr_tensor *tensor, const struct dart_range *range);

/* The part of a view that is one group of it. */
struct eng_view eng_view_group(const struct eng_view *view, uint32_t group);
/*
 * The part of a view that is every `step`-th column of it from the first-th on. Its extent along W is 0 when
 * there is no such column.
 */
struct eng_view eng_view_columns(const struct eng_view *view, uint32_t first, uint32_t step);

/* The rules of a load, with the one for slices where that applies: never for `ieee`, which has none. */
unsigned eng_view_rules(const struct eng_view *view, unsigned load_rules);

/* Two indices may name the same bytes, so that the order of stores matters. Never false when they do. */
bool eng_view_overlaps_itself(const struct eng_view *view);

/* A line: n elements from an index along one axis. */
struct eng_line {
    uint32_t index[PR_AXES];
    enum pr_axis axis;
    uint32_t n;
};

/*
 * Lines that have to be gathered or scattered go through a buffer of the caller's, which holds this many
 * elements.
 */
#define ENG_LINE_MAX   1024u
#define ENG_LINE_BYTES (2u * ENG_LINE_MAX)

/* Whether elements are fp16 in host memory at plain strides, so that kernels take them as they lie. */
bool eng_view_is_plain(const struct eng_view *view);
/* Whether lines along the axis are packed fp16 in host memory, so that their length has no limit. */
bool eng_view_is_packed(const struct eng_view *view, enum pr_axis axis);
/* The line as packed fp16: in place, or gathered into `buffer`. */
const uint8_t *eng_view_line(const struct eng_view *view, const struct eng_line *line, uint8_t *buffer);
/*
 * Where to write the line as packed fp16: in place, or `buffer`. eng_view_line_put then finishes the store.
 */
uint8_t *eng_view_line_target(const struct eng_view *view, const struct eng_line *line, uint8_t *buffer);
void eng_view_line_put(const struct eng_view *view, const struct eng_line *line, const uint8_t *elements);

/*
 * The reference: rows of any length, element by element. index[PR_AXIS_W] is the first element. Rules are
 * those of the site (enum eng_rule); that for slices is added here.
 */
void eng_view_load_row(const struct eng_view *view, const uint32_t index[PR_AXES], float *out, uint32_t n,
                       unsigned rules);
void eng_view_store_row(const struct eng_view *view, const uint32_t index[PR_AXES], const float *in,
                        uint32_t n, unsigned rules);

#endif
