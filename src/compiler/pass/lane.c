/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes. An axis that is not the last keeps the rows of its tensor, so a reshape that is an alias opens its
 * lane. The last axis is exchanged by a transposition with the longest of the others.
 */
#include "compiler/pass/lane.h"

#include <string.h>

static void turn_order(const struct cc_value *v, uint32_t axis, bool few, uint32_t perm[CC_RANK_MAX])
{
    uint32_t last = v->rank - 1, fast = last, outer = axis, count = 0;

    for (uint32_t i = 0; axis == last && i < last; i++)
        if (fast == last || v->dim[i] >= v->dim[fast])
            fast = i;
    if (axis != last && !few)
        outer = axis ? 0 : axis; /* all axes before it stay there */
    else if (v->rank > 2 && axis != 0 && fast != 0)
        outer = 0;
    if (axis != last && !few) {
        for (uint32_t i = 0; i < v->rank; i++)
            perm[i] = i;
        return;
    }
    if (outer != axis)
        perm[count++] = outer;
    perm[count++] = axis;
    for (uint32_t i = 0; i < v->rank; i++)
        if (i != axis && i != fast && (i != outer || outer == axis))
            perm[count++] = i;
    if (fast != axis)
        perm[count++] = fast;
}

void cc_lane_open(struct cc_build *b, uint32_t x, uint32_t axis, bool few, struct cc_lane *lane)
{
    uint32_t perm[CC_RANK_MAX], form[4] = {1, 1, 1, 1}, turned, given = x;
    struct cc_value v;

    *lane = (struct cc_lane){0};
    if (b->status)
        return;
    v = *cc_build_value(b, x);
    if (v.rank == 1) {
        x = cc_build_reshape(b, x, 2, (uint32_t[]){v.dim[0], 1});
        v.rank = 2;
        v.dim[1] = 1;
    }
    turn_order(&v, axis, few, perm);
    turned = cc_build_transpose(b, x, perm);
    lane->line = cc_build_value(b, given)->rank == 1;
    lane->rank = v.rank;
    lane->length = v.dim[axis];
    for (uint32_t i = 0; i < v.rank; i++) {
        lane->dim[i] = v.dim[perm[i]];
        lane->back[perm[i]] = i;
        if (perm[i] == axis)
            lane->place = i;
    }
    for (uint32_t i = 0; i < v.rank; i++)
        form[i < lane->place ? 0 : i == lane->place ? 1 : i + 1 < v.rank ? 2 : 3] *= lane->dim[i];
    lane->value = cc_build_reshape(b, turned, 4, form);
}

uint32_t cc_lane_close(struct cc_build *b, const struct cc_lane *lane)
{
    uint32_t dim[CC_RANK_MAX], turned;

    if (b->status)
        return 0;
    if (lane->line)
        return cc_build_reshape(b, lane->value, 1, &lane->length);
    memcpy(dim, lane->dim, sizeof(dim));
    dim[lane->place] = lane->length;
    turned = cc_build_reshape(b, lane->value, lane->rank, dim);
    return cc_build_transpose(b, turned, lane->back);
}

void cc_lane_gather(struct cc_build *b, struct cc_lane *lane, uint32_t count, const int32_t *index)
{
    struct cc_attributes a = {.axis = 1};

    if (b->status)
        return;
    a.indices = cc_build_ints(b, 1, &count, index) + 1;
    lane->value = cc_build_op(b, CC_OP_GATHER, 1, &lane->value, &a);
    lane->length = count;
}

void cc_lane_repeat(struct cc_build *b, struct cc_lane *lane, uint32_t factor)
{
    struct cc_attributes a = {.reps = {1, factor, 1, 1}};
    struct cc_value v;
    uint32_t each;

    if (b->status || factor == 1)
        return;
    v = *cc_build_value(b, lane->value);
    each = cc_build_reshape(b, lane->value, 4, (uint32_t[]){v.dim[0] * v.dim[1], 1, v.dim[2], v.dim[3]});
    each = cc_build_op(b, CC_OP_TILE, 1, &each, &a);
    lane->length *= factor;
    lane->value = cc_build_reshape(b, each, 4, (uint32_t[]){v.dim[0], lane->length, v.dim[2], v.dim[3]});
}

void cc_lane_multiply(struct cc_build *b, struct cc_lane *lane, uint32_t rows, float *matrix)
{
    struct cc_attributes a = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1};

    a.weight = cc_build_const(b, CC_FP32, 4, (uint32_t[]){rows, lane->length, 1, 1}, matrix) + 1;
    if (b->status)
        return;
    lane->value = cc_build_op(b, CC_OP_CONV, 1, &lane->value, &a);
    lane->length = rows;
}
