/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans: a tensor of any number of axes, the slowest first, each with a stride in bytes that is 2 or a
 * multiple of 64. A view (view.h) has the four axes of a descriptor; a span may have more, and is then moved
 * by several descriptors.
 */
#ifndef COMPILER_LOWER_SPAN_H
#define COMPILER_LOWER_SPAN_H

#include "compiler/lower/neural.h"

#define CC_SPAN_AXES (2 * CC_RANK_MAX) /* the axes of two shapes in common */

struct cc_span {
    struct pr_e5_operand at; /* place, index, offset */
    unsigned axes;
    uint32_t extent[CC_SPAN_AXES], stride[CC_SPAN_AXES];
};

int cc_span_source(struct cc_lowering *l, uint32_t value, struct cc_span *span);
int cc_span_result(struct cc_lowering *l, uint32_t value, struct cc_span *span);
/* A new intermediate with these axes in the engine's layout. */
int cc_span_scratch(struct cc_lowering *l, unsigned axes, const uint32_t *extent, struct cc_span *span);
/*
 * The same for a tensor like this one whose axis `slow` is the slowest; the axes of the span keep their
 * order.
 */
int cc_span_stage(struct cc_lowering *l, const struct cc_span *like, unsigned slow, struct cc_span *stage);
/* `count` elements of an axis, `step` apart, from `begin` on. */
struct cc_span cc_span_part(const struct cc_span *span, unsigned axis, uint32_t begin, uint32_t count,
                            uint32_t step);
struct cc_span cc_span_of_view(const struct cc_view *view);

/* The descriptors that a move of these extents takes before it is cut to the limits of an axis. */
uint64_t cc_span_cost(const struct cc_span *from, const struct cc_span *to);
/*
 * Copies a span to another of the same extents, whose axes may be in any order in memory. `how` may be NULL.
 */
int cc_emit_span(struct cc_lowering *l, const struct cc_span *from, const struct cc_span *to,
                 const struct cc_neural *how);

#endif
