/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: a tensor of four axes, the slowest first, each with a stride in bytes that is 2 or a multiple of 64.
 * The families compose their tasks from views.
 */
#ifndef COMPILER_LOWER_VIEW_H
#define COMPILER_LOWER_VIEW_H

#include "compiler/lower/operand.h"

enum { CC_AXIS_N, CC_AXIS_C, CC_AXIS_H, CC_AXIS_W };
struct cc_view {
    struct pr_e5_operand at; /* place, index, offset */
    uint32_t extent[CC_AXES], stride[CC_AXES];
};

struct cc_view cc_view_of(const struct pr_e5_operand *at, const struct cc_layout *layout);
int cc_view_source(struct cc_lowering *l, uint32_t value, struct cc_view *view);
int cc_view_result(struct cc_lowering *l, uint32_t value, struct cc_view *view);
/* A new intermediate of this shape in the engine's layout. */
int cc_view_scratch(struct cc_lowering *l, const uint32_t extent[CC_AXES], struct cc_view *view);
/* A constant of one element. */
int cc_view_scalar(struct cc_lowering *l, uint16_t half, struct cc_view *view);
/* The same elements with axis i at the place of axis perm[i]. */
struct cc_view cc_view_permuted(const struct cc_view *view, const uint32_t perm[CC_AXES]);

#endif
