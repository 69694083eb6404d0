/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RESIZE and CUMSUM: along one axis after the other. The nearest element is a gather at constant indices, or
 * a repetition, and exact. Everything else is a product with a constant matrix, a 1x1 convolution whose
 * channels are the axis, so that its results have the rounding and the ceiling of 2^15 of every convolution.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/pass/compose.h"
#include "compiler/pass/lane.h"

enum {
    TAPS = 4,
    MATRIX_MAX = 1u << 26 /* elements of a constant matrix; chosen */
};

/* Where index i of the result is in x. */
static double place(const struct cc_attributes *a, unsigned axis, uint32_t in, uint32_t out, uint32_t i)
{
    double scale = a->scale[axis] != 0 ? (double)a->scale[axis] : (double)out / in, length = scale * in;

    switch (a->coordinate) {
    case CC_ALIGN_CORNERS: return out == 1 ? 0 : (double)i * (in - 1) / (length - 1);
    case CC_ASYMMETRIC: return a->scale[axis] != 0 ? i / scale : (double)i * in / out;
    case CC_PYTORCH_HALF_PIXEL:
        if (out == 1)
            return 0;
        break;
    case CC_HALF_PIXEL: break;
    }
    return (a->scale[axis] != 0 ? (i + 0.5) / scale : (i + 0.5) * in / out) - 0.5;
}

static uint32_t within(double at, uint32_t length)
{
    return at < 0 ? 0 : at > length - 1 ? length - 1 : (uint32_t)at;
}

static uint32_t nearest(enum cc_nearest mode, double at, uint32_t length)
{
    switch (mode) {
    case CC_ROUND_PREFER_FLOOR: return within(ceil(at - 0.5), length);
    case CC_ROUND_PREFER_CEIL: return within(floor(at + 0.5), length);
    case CC_ROUND_FLOOR: return within(floor(at), length);
    default: return within(ceil(at), length);
    }
}

static void resize_nearest(struct cc_build *b, const struct cc_attributes *a, unsigned axis, uint32_t out,
                           struct cc_lane *lane)
{
    uint32_t in = lane->length, factor = out % in == 0 ? out / in : 0;
    int32_t *index = base_alloc_array(out, sizeof(*index));

    if (!index) {
        cc_build_refuse(b, "there is no memory for %u indices", out);
        return;
    }
    for (uint32_t i = 0; i < out; i++) {
        index[i] = (int32_t)nearest(a->nearest, place(a, axis, in, out, i), in);
        if (factor && (uint32_t)index[i] != i / factor)
            factor = 0;
    }
    if (factor)
        cc_lane_repeat(b, lane, factor);
    else
        cc_lane_gather(b, lane, out, index);
    base_free(index);
}

/* Weights of the elements at -1, 0, 1 and 2 for a place that is `rest` behind 0; Keys' kernel for CUBIC. */
static void weigh(const struct cc_attributes *a, double rest, double weight[TAPS])
{
    double c = (double)a->cubic;

    memset(weight, 0, TAPS * sizeof(*weight));
    if (a->resize == CC_RESIZE_LINEAR) {
        weight[1] = 1 - rest;
        weight[2] = rest;
        return;
    }
    for (int i = 0; i < TAPS; i++) {
        double d = fabs(rest + 1 - i);

        weight[i] = d <= 1 ? ((c + 2) * d - (c + 3)) * d * d + 1 : c * (((d - 5) * d + 8) * d - 4);
    }
}

static void resize_weighted(struct cc_build *b, const struct cc_attributes *a, unsigned axis, uint32_t out,
                            struct cc_lane *lane)
{
    uint32_t in = lane->length;
    double weight[TAPS];
    float *matrix;

    if ((uint64_t)in * out > MATRIX_MAX) {
        cc_build_refuse(b, "an axis of length %u to %u takes a matrix of more than %u elements", in, out,
                        MATRIX_MAX);
        return;
    }
    matrix = base_alloc_array((size_t)in * out, sizeof(*matrix));
    for (uint32_t i = 0; matrix && i < out; i++) {
        double at = place(a, axis, in, out, i), base = floor(at);

        weigh(a, at - base, weight);
        for (int k = 0; k < TAPS; k++)
            matrix[(size_t)i * in + within(base + k - 1, in)] += (float)weight[k];
    }
    if (!matrix)
        cc_build_refuse(b, "there is no memory for a matrix of %u by %u", out, in);
    cc_lane_multiply(b, lane, out, matrix);
}

uint32_t cc_compose_resize(struct cc_build *b, const struct cc_op *op, uint32_t x)
{
    bool exact = op->a.resize == CC_RESIZE_NEAREST;
    uint32_t first = b->status ? 0 : cc_build_value(b, x)->rank - 2;
    struct cc_lane lane;

    for (unsigned i = 0; i < 2 && !b->status; i++) {
        uint32_t in = cc_build_value(b, x)->dim[first + i], out = op->a.size[i];

        if (in == out && (op->a.scale[i] == 0 || op->a.scale[i] == 1) && op->a.resize != CC_RESIZE_NEAREST)
            continue; /* every place is an element */
        cc_lane_open(b, x, first + i, !exact, &lane);
        if (b->status)
            break;
        if (exact)
            resize_nearest(b, &op->a, i, out, &lane);
        else
            resize_weighted(b, &op->a, i, out, &lane);
        x = cc_lane_close(b, &lane);
    }
    return x;
}

/* CUMSUM: a triangular matrix; a long axis in blocks, whose sums are added up in the same way. */

enum { BLOCK = 256 };

static void add_up(struct cc_build *b, const struct cc_attributes *a, struct cc_lane *lane)
{
    uint32_t n = lane->length;
    float *matrix = base_alloc_array((size_t)n * n, sizeof(*matrix));

    for (uint32_t i = 0; matrix && i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            matrix[(size_t)i * n + k] = (a->reverse ? k > i : k < i) || (k == i && !a->exclusive);
    if (!matrix)
        cc_build_refuse(b, "there is no memory for a matrix of %u by %u", n, n);
    cc_lane_multiply(b, lane, n, matrix);
}

/* [outer, blocks, BLOCK, middle, row] without the middle, which would be a sixth axis with its siblings. */
static void add_up_blocks(struct cc_build *b, const struct cc_attributes *a, struct cc_lane *lane)
{
    uint32_t whole = lane->length, blocks = (whole + BLOCK - 1) / BLOCK, x = lane->value, sums;
    struct cc_attributes end = {.end = {0, blocks * BLOCK - whole}};
    struct cc_attributes before = {.axis = 1, .exclusive = true, .reverse = a->reverse};
    struct cc_value v;
    struct cc_lane each;

    if (end.end[1])
        x = cc_build_op(b, CC_OP_PAD, 1, &x, &end);
    if (b->status)
        return;
    v = *cc_build_value(b, x);
    each = (struct cc_lane){.length = BLOCK};
    each.value = cc_build_reshape(b, x, 4, (uint32_t[]){v.dim[0] * blocks, BLOCK, v.dim[2], v.dim[3]});
    sums = cc_build_reduce(b, CC_OP_REDUCE_SUM, each.value, 1u << 1, true);
    sums = b->status ? 0 : cc_build_reshape(b, sums, 4, (uint32_t[]){v.dim[0], blocks, v.dim[2], v.dim[3]});
    sums = cc_build_op(b, CC_OP_CUMSUM, 1, &sums, &before);
    sums =
        b->status ? 0 : cc_build_reshape(b, sums, 4, (uint32_t[]){v.dim[0] * blocks, 1, v.dim[2], v.dim[3]});
    add_up(b, a, &each);
    x = cc_build_binary(b, CC_OP_ADD, each.value, sums);
    if (b->status)
        return;
    x = cc_build_reshape(b, x, 4, v.dim);
    v.dim[1] = whole;
    lane->value = cc_build_slice(b, x, (uint32_t[CC_RANK_MAX]){0}, v.dim, NULL);
}

uint32_t cc_compose_cumsum(struct cc_build *b, const struct cc_op *op, uint32_t x)
{
    struct cc_lane lane;

    cc_lane_open(b, x, op->a.axis, true, &lane);
    if (b->status)
        return 0;
    if (lane.length > 2 * BLOCK)
        add_up_blocks(b, &op->a, &lane);
    else
        add_up(b, &op->a, &lane);
    return cc_lane_close(b, &lane);
}
