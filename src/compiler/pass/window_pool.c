/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools beyond what a descriptor can express. A maximum of maxima is a maximum, so a large window or stride
 * becomes two smaller ones; nothing is rounded. A stride without a factor within the limit is left to a
 * slice of a pool with a stride of 1. An average that leaves elements out is one that counts them all, times
 * a constant per place; a large one is a convolution with equal weights, along H and then along W. A window
 * that is a whole axis is a reduction.
 */
#include <math.h>

#include "base/alloc.h"
#include "compiler/pass/window.h"

/* A pool of the graph that is rewritten, with its rounding up resolved to padding. */
struct pool {
    struct cc_rewrite *r;
    const struct cc_op *op;
    uint32_t in[2], out[2]; /* H and W */
    struct cc_attributes a;
};

static struct pool pool_of(struct cc_rewrite *r, const struct cc_op *op)
{
    const struct cc_value *x = &r->from->value[op->input[0]], *y = &r->from->value[op->output];
    struct pool p = {r, op, {x->dim[2], x->dim[3]}, {y->dim[2], y->dim[3]}, op->a};

    cc_window_pad_up(&p.a, p.in, p.out);
    return p;
}

static bool within_limits(const struct cc_attributes *a)
{
    for (unsigned i = 0; i < 2; i++)
        if (a->stride[i] > CC_STRIDE_MAX || a->dilation[i] > 1 || a->kernel[i] > cc_window_limit[i])
            return false;
    return true;
}

/* The window is the axis, and there is one. */
static bool covers(const struct pool *p, unsigned axis)
{
    return p->a.kernel[axis] == p->in[axis] && p->a.dilation[axis] == 1 && !p->a.pad[2 * axis] &&
           !p->a.pad[2 * axis + 1];
}

/* The same, with anything to reduce. */
static bool is_whole(const struct pool *p, unsigned axis)
{
    return p->in[axis] > 1 && covers(p, axis);
}

static void put_pool(const struct pool *p, const struct cc_attributes *a)
{
    uint32_t x = cc_rewrite_value(p->r, p->op->input[0]);

    cc_rewrite_put(p->r, p->op->output, cc_build_op(&p->r->to, p->op->kind, 1, &x, a));
}

/* Axes that are one window become reductions; the other one stays a pool. */
static void reduced(const struct pool *p, enum cc_op_kind kind)
{
    struct cc_build *b = &p->r->to;
    struct cc_attributes a = p->a;
    uint32_t axes = 0, x = cc_rewrite_value(p->r, p->op->input[0]);

    for (unsigned i = 0; i < 2; i++) {
        if (!is_whole(p, i))
            continue;
        axes |= 1u << (2 + i);
        a.kernel[i] = a.stride[i] = 1;
    }
    x = cc_build_reduce(b, kind, x, axes, true);
    if (!covers(p, 0) || !covers(p, 1))
        x = cc_build_op(b, p->op->kind, 1, &x, &a);
    cc_rewrite_put(p->r, p->op->output, x);
}

/* One axis of two pools after each other. */
struct stage {
    uint32_t kernel, stride, before, after;
};

/*
 * The first one has a window of `kernel` and a stride of `stride`, and the second one what is left. Padding
 * goes to the first one as long as each of its windows has an element of x: the windows that are left out
 * would have none.
 */
static void cut_axis(const struct pool *p, unsigned axis, uint32_t kernel, uint32_t stride, struct stage s[2])
{
    const struct cc_attributes *a = &p->a;
    uint32_t before = a->pad[2 * axis], length = p->in[axis];
    uint32_t rest = (a->kernel[axis] - kernel) / stride + 1, rest_stride = a->stride[axis] / stride;
    uint32_t skipped = before >= kernel ? (before - kernel + stride) / stride : 0;
    uint32_t front = before - stride * skipped;
    uint32_t wanted = rest_stride * (p->out[axis] - 1) + rest - skipped;
    uint32_t most = (length + front + stride - 1) / stride, count = wanted < most ? wanted : most;
    int64_t after = (int64_t)stride * (count - 1) + kernel - length - front;

    s[0] = (struct stage){kernel, stride, front, after > 0 ? (uint32_t)after : 0};
    s[1] = (struct stage){rest, rest_stride, skipped, wanted - count};
}

static void set_stage(struct cc_attributes *a, unsigned axis, const struct stage *s)
{
    a->kernel[axis] = s->kernel;
    a->stride[axis] = s->stride;
    a->pad[2 * axis] = s->before;
    a->pad[2 * axis + 1] = s->after;
}

static uint32_t factor_of(uint32_t stride)
{
    for (uint32_t factor = CC_STRIDE_MAX; factor > 1; factor--)
        if (stride % factor == 0)
            return factor;
    return 1;
}

static void choose_stages(const struct pool *p, unsigned axis, struct stage s[2])
{
    const struct cc_attributes *a = &p->a;
    uint32_t kernel = a->kernel[axis], stride = a->stride[axis], factor, rest;

    if (stride > CC_STRIDE_MAX) {
        factor = factor_of(stride);
        rest = kernel / factor ? kernel / factor : 1;
        cut_axis(p, axis, kernel - factor * (rest - 1), factor, s);
    } else if (kernel > cc_window_limit[axis]) {
        cut_axis(p, axis, cc_window_limit[axis], 1, s);
    } else {
        s[0] = (struct stage){kernel, stride, a->pad[2 * axis], a->pad[2 * axis + 1]};
        s[1] = (struct stage){1, 1, 0, 0};
    }
}

static uint32_t awkward(uint32_t stride)
{
    return stride > CC_STRIDE_MAX && factor_of(stride) == 1 ? stride : 1;
}

/* Stage after stage, until what is left is within the limits, or has a stride that is left to a slice. */
static void max_of_max(struct pool *p)
{
    struct cc_build *b = &p->r->to;
    uint32_t x = cc_rewrite_value(p->r, p->op->input[0]);

    while (!b->status && !within_limits(&p->a) && awkward(p->a.stride[0]) == 1 &&
           awkward(p->a.stride[1]) == 1) {
        struct cc_attributes a = {.dilation = {1, 1}};

        for (unsigned i = 0; i < 2; i++) {
            struct stage s[2];

            choose_stages(p, i, s);
            set_stage(&a, i, &s[0]);
            set_stage(&p->a, i, &s[1]);
        }
        x = cc_build_op(b, CC_OP_MAX_POOL, 1, &x, &a);
        for (unsigned i = 0; i < 2 && !b->status; i++)
            p->in[i] = cc_build_value(b, x)->dim[2 + i];
    }
    cc_rewrite_put(p->r, p->op->output, cc_build_op(b, CC_OP_MAX_POOL, 1, &x, &p->a));
}

/* All windows, and then every so many of them. The padding at the end is what the last of them needs. */
static void every_window(const struct pool *p, const uint32_t step[2])
{
    struct cc_build *b = &p->r->to;
    struct cc_attributes a = p->a;
    uint32_t x = cc_rewrite_value(p->r, p->op->input[0]);

    for (unsigned i = 0; i < 2; i++)
        a.stride[i] /= step[i];
    x = cc_build_op(b, p->op->kind, 1, &x, &a);
    cc_rewrite_put(p->r, p->op->output, cc_window_every(b, x, step, p->r->from->value[p->op->output].dim));
}

void cc_window_max_pool(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    struct pool p;
    uint32_t step[2];
    bool dilated;

    if (op->kind != CC_OP_MAX_POOL || (within_limits(&op->a) && !op->a.ceil))
        return;
    *done = true;
    p = pool_of(r, op);
    dilated = p.a.dilation[0] > 1 || p.a.dilation[1] > 1;
    for (unsigned i = 0; i < 2; i++)
        step[i] = dilated ? p.a.stride[i] : awkward(p.a.stride[i]);
    if (within_limits(&p.a))
        put_pool(&p, &p.a);
    else if (is_whole(&p, 0) || is_whole(&p, 1))
        reduced(&p, CC_OP_REDUCE_MAX);
    else if (step[0] > 1 || step[1] > 1)
        every_window(&p, step);
    else if (dilated)
        cc_rewrite_put(r, op->output,
                       cc_window_stacked(&r->to, op->kind, cc_rewrite_value(r, op->input[0]), p.a.kernel,
                                         &p.a, r->from->value[op->output].dim, -INFINITY));
    else
        max_of_max(&p);
}

/* How many elements of window i count, along an axis. */
static uint32_t counted(const struct pool *p, unsigned axis, uint32_t i)
{
    const struct cc_attributes *a = &p->op->a;
    int64_t low = a->exclude_padding ? 0 : -(int64_t)a->pad[2 * axis];
    int64_t high = (int64_t)p->in[axis] + (a->exclude_padding ? 0 : a->pad[2 * axis + 1]);
    int64_t at = (int64_t)a->stride[axis] * i - a->pad[2 * axis], step = a->dilation[axis];
    int64_t first = at < low ? (low - at + step - 1) / step : 0;
    int64_t end = at < high ? (high - at + step - 1) / step : 0;

    end = end < a->kernel[axis] ? end : a->kernel[axis];
    return end > first ? (uint32_t)(end - first) : 0;
}

/* The whole window's elements over those that count, at each place; *any is whether any is not 1. */
static uint32_t factors(const struct pool *p, bool *any)
{
    const uint32_t *dim = p->out;
    double whole = (double)p->a.kernel[0] * p->a.kernel[1];
    float *factor = base_alloc_array((size_t)dim[0] * dim[1], sizeof(*factor));

    *any = false;
    for (uint32_t i = 0; factor && i < dim[0]; i++) {
        uint32_t rows = counted(p, 0, i);

        for (uint32_t k = 0; k < dim[1]; k++) {
            factor[(size_t)i * dim[1] + k] = (float)(whole / ((double)rows * counted(p, 1, k)));
            *any |= factor[(size_t)i * dim[1] + k] != 1;
        }
    }
    return cc_build_const(&p->r->to, CC_FP32, 2, dim, factor);
}

static void average_counted(const struct pool *p)
{
    struct cc_build *b = &p->r->to;
    struct cc_attributes a = p->a;
    uint32_t x = cc_rewrite_value(p->r, p->op->input[0]), factor;
    bool any;

    a.exclude_padding = false;
    factor = factors(p, &any);
    x = cc_build_op(b, CC_OP_AVG_POOL, 1, &x, &a);
    if (any && !b->status)
        x = cc_build_binary(b, CC_OP_MUL, x, factor);
    cc_rewrite_put(p->r, p->op->output, x);
}

/* A convolution of each channel with equal weights along one axis. */
static uint32_t average_along(const struct pool *p, uint32_t x, unsigned axis)
{
    struct cc_build *b = &p->r->to;
    uint32_t channels = p->r->from->value[p->op->input[0]].dim[1], dim[4] = {channels, 1, 1, 1};
    struct cc_attributes a = {.stride = {1, 1}, .dilation = {1, 1}, .groups = channels};
    struct cc_kernel kernel;

    if (p->a.kernel[axis] == 1 && p->a.stride[axis] == 1)
        return x;
    dim[2 + axis] = p->a.kernel[axis];
    a.stride[axis] = p->a.stride[axis];
    a.dilation[axis] = p->a.dilation[axis];
    a.pad[2 * axis] = p->a.pad[2 * axis];
    a.pad[2 * axis + 1] = p->a.pad[2 * axis + 1];
    if (!cc_kernel_make(b, dim, &kernel))
        return 0;
    for (size_t i = 0; i < (size_t)channels * dim[2 + axis]; i++)
        kernel.w[i] = 1.0f / (float)dim[2 + axis];
    a.weight = cc_kernel_put(b, &kernel);
    return cc_build_op(b, CC_OP_CONV, 1, &x, &a);
}

static bool pads_within_limit(const struct cc_attributes *a)
{
    return a->pad[0] <= CC_PAD_MAX && a->pad[2] <= CC_PAD_MAX;
}

void cc_window_avg_pool(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    struct pool p;
    uint32_t x;

    if (op->kind != CC_OP_AVG_POOL)
        return;
    p = pool_of(r, op);
    *done = true;
    if (op->a.exclude_padding || op->a.ceil) {
        average_counted(&p);
    } else if (covers(&p, 0) && covers(&p, 1) && p.in[0] <= PR_HEIGHT_MAX && p.in[1] <= PR_WIDTH_MAX) {
        *done = false; /* the lowering has a form for it */
    } else if (within_limits(&p.a) && pads_within_limit(&p.a)) {
        *done = false;
    } else if (is_whole(&p, 0) || is_whole(&p, 1)) {
        reduced(&p, CC_OP_REDUCE_MEAN);
    } else {
        x = average_along(&p, cc_rewrite_value(r, op->input[0]), 0);
        cc_rewrite_put(r, op->output, r->to.status ? 0 : average_along(&p, x, 1));
    }
}
