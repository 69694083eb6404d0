/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions and pools. The graph has windows over H and W alone: one spatial axis becomes two with an H of
 * 1, and three are refused.
 */
#include "compiler/onnx/op.h"

struct window {
    bool flat; /* one spatial axis: it is W */
    uint32_t kernel[2];
    struct cc_attributes a;
};

/* [N, C, W] as [N, C, 1, W]; constants too. */
static uint32_t raised(const struct cc_onnx_node *n, uint32_t x)
{
    const struct cc_value *v = cc_onnx_shape(n, x);

    return cc_onnx_reshape(n, x, 4, (const uint32_t[]){v->dim[0], v->dim[1], 1, v->dim[2]});
}

static uint32_t lowered(const struct cc_onnx_node *n, const struct window *w, uint32_t x)
{
    const struct cc_value *v = cc_onnx_shape(n, x);

    return w->flat ? cc_onnx_reshape(n, x, 3, (const uint32_t[]){v->dim[0], v->dim[1], v->dim[3]}) : x;
}

/* Two positive numbers of an attribute, H and W; 1 where it is absent. */
static bool pair(const struct cc_onnx_node *n, const struct window *w, const char *name, uint32_t to[2])
{
    struct cc_onnx_list list;
    bool there = cc_onnx_ints(n, name, &list);
    uint32_t count = w->flat ? 1 : 2;

    to[0] = to[1] = 1;
    if (!there)
        return false;
    if (list.count != count) {
        cc_build_refuse(n->b, "%s has %u numbers, expected %u", name, list.count, count);
        return true;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (list.number[i] < 1 || list.number[i] > INT32_MAX)
            cc_build_refuse(n->b, "%s has %lld, expected at least 1", name, (long long)list.number[i]);
        else
            to[w->flat ? 1 : i] = (uint32_t)list.number[i];
    }
    return true;
}

/* Begins in order, then ends; the graph has begin and end of H, then of W. */
static void explicit_pads(const struct cc_onnx_node *n, struct window *w)
{
    struct cc_onnx_list list;
    uint32_t count = w->flat ? 1 : 2;

    if (!cc_onnx_ints(n, "pads", &list))
        return;
    if (list.count != 2 * count) {
        cc_build_refuse(n->b, "pads has %u numbers, expected %u", list.count, 2 * count);
        return;
    }
    for (uint32_t i = 0; i < 2 * count; i++) {
        uint32_t axis = w->flat ? 1 : i % count;

        if (list.number[i] < 0 || list.number[i] > INT32_MAX)
            cc_build_refuse(n->b, "pads has %lld, expected at least 0", (long long)list.number[i]);
        else
            w->a.pad[2 * axis + i / count] = (uint32_t)list.number[i];
    }
}

enum { NOTSET, SAME_UPPER, SAME_LOWER, VALID };

static unsigned auto_pad(const struct cc_onnx_node *n)
{
    static const char *const words[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};

    return cc_onnx_choice(n, "auto_pad", words, "NOTSET");
}

static uint64_t extent_of(const struct window *w, unsigned i)
{
    return (uint64_t)(w->kernel[i] - 1) * w->a.dilation[i] + 1;
}

static void split_padding(struct window *w, unsigned i, uint64_t total, bool upper)
{
    uint64_t less = total / 2, more = total - less;

    w->a.pad[2 * i] = (uint32_t)(upper ? less : more);
    w->a.pad[2 * i + 1] = (uint32_t)(upper ? more : less);
}

/* SAME: as many results as strides begin in x. */
static void same_pads(struct window *w, const struct cc_value *x, bool upper)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t length = x->dim[2 + i], stride = w->a.stride[i];
        uint64_t reach = ((length + stride - 1) / stride - 1) * stride + extent_of(w, i);

        split_padding(w, i, reach > length ? reach - length : 0, upper);
    }
}

/* Axes, kernel, strides and dilations; x becomes rank 4. */
static uint32_t open_window(const struct cc_onnx_node *n, uint32_t x, struct window *w)
{
    const struct cc_value *v = cc_onnx_shape(n, x);

    if (n->b->status)
        return 0;
    if (v->rank == 5) {
        cc_build_refuse(n->b,
                        "x is %s: windows over three axes do not exist on this engine, expected [N, C, H, "
                        "W] or [N, C, W]",
                        cc_shape_text(v->type, v->rank, v->dim).text);
        return 0;
    }
    if (v->rank != 3 && v->rank != 4) {
        cc_build_refuse(n->b, "x is %s, expected [N, C, H, W] or [N, C, W]",
                        cc_shape_text(v->type, v->rank, v->dim).text);
        return 0;
    }
    w->flat = v->rank == 3;
    pair(n, w, "strides", w->a.stride);
    pair(n, w, "dilations", w->a.dilation);
    return w->flat ? raised(n, x) : x;
}

static void resolve_pads(const struct cc_onnx_node *n, struct window *w, uint32_t x)
{
    unsigned mode = auto_pad(n);

    if (n->b->status)
        return;
    if (mode == NOTSET)
        explicit_pads(n, w);
    else if (mode != VALID)
        same_pads(w, cc_onnx_shape(n, x), mode == SAME_UPPER);
}

/* The weights of a convolution, with two spatial axes; their lengths are the kernel's. */
static uint32_t weights(const struct cc_onnx_node *n, struct window *w, uint32_t weight)
{
    uint32_t wanted[2];
    const struct cc_value *v = cc_onnx_shape(n, weight);
    int64_t groups = cc_onnx_int(n, "group", 1);

    if (n->b->status)
        return 0;
    if (v->rank != (w->flat ? 3u : 4u)) {
        cc_build_refuse(n->b, "the weight is %s, expected rank %u as x has",
                        cc_shape_text(v->type, v->rank, v->dim).text, w->flat ? 3 : 4);
        return 0;
    }
    if (groups < 1 || groups > UINT32_MAX)
        cc_build_refuse(n->b, "group is %lld, expected at least 1", (long long)groups);
    w->a.groups = (uint32_t)groups;
    w->kernel[0] = w->flat ? 1 : v->dim[2];
    w->kernel[1] = v->dim[v->rank - 1];
    if (pair(n, w, "kernel_shape", wanted) && !n->b->status &&
        (wanted[0] != w->kernel[0] || wanted[1] != w->kernel[1]))
        cc_build_refuse(n->b, "kernel_shape is %u by %u, and the weight is %s", wanted[0], wanted[1],
                        cc_shape_text(v->type, v->rank, v->dim).text);
    return w->flat ? raised(n, weight) : weight;
}

uint32_t cc_onnx_convolution(const struct cc_onnx_node *n, enum cc_op_kind kind, uint32_t x, uint32_t weight,
                             uint32_t bias)
{
    struct window w = {0};
    bool computed;

    x = open_window(n, x, &w);
    weight = weights(n, &w, weight);
    computed = !n->b->status && !cc_onnx_is_constant(n, weight);
    w.a.weight = computed ? 0 : weight + 1;
    w.a.bias = bias;
    resolve_pads(n, &w, x);
    if (n->b->status)
        return 0;
    return lowered(n, &w, cc_onnx_add(n, kind, computed ? 2 : 1, (const uint32_t[]){x, weight}, &w.a));
}

void cc_onnx_op_conv(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), weight = cc_onnx_operand(n, 1);
    uint32_t bias = cc_onnx_has(n, 2) ? cc_onnx_constant(n, 2, "the bias") + 1 : 0;

    cc_onnx_result(n, 0, cc_onnx_convolution(n, kind, x, weight, bias));
}

/* Lengths of the result, and the padding at the begins that they mean; the graph needs no more. */
static void transposed_size(const struct cc_onnx_node *n, struct window *w, const struct cc_value *x)
{
    uint32_t more[2] = {0, 0}, wanted[2];
    struct cc_onnx_list list;
    unsigned mode = auto_pad(n);
    bool given;

    if (cc_onnx_ints(n, "output_padding", &list))
        for (uint32_t i = 0; i < list.count && i < 2; i++)
            more[w->flat ? 1 : i] =
                list.number[i] > 0 && list.number[i] < INT32_MAX ? (uint32_t)list.number[i] : 0;
    given = pair(n, w, "output_shape", wanted);
    if (mode == NOTSET && !given)
        explicit_pads(n, w);
    for (unsigned i = 0; i < 2 && !n->b->status; i++) {
        uint64_t whole = (uint64_t)w->a.stride[i] * (x->dim[2 + i] - 1) + more[i] + extent_of(w, i);
        uint64_t size = whole - w->a.pad[2 * i] - w->a.pad[2 * i + 1];

        if (given && !(w->flat && i == 0))
            size = wanted[i];
        else if (mode == SAME_UPPER || mode == SAME_LOWER)
            size = (uint64_t)x->dim[2 + i] * w->a.stride[i];
        else if ((uint64_t)w->a.pad[2 * i] + w->a.pad[2 * i + 1] >= whole)
            size = 0;
        if (given || mode == SAME_UPPER || mode == SAME_LOWER)
            split_padding(w, i, whole > size ? whole - size : 0, mode == SAME_UPPER);
        if (size == 0 || size > UINT32_MAX)
            cc_build_refuse(n->b, "axis %u of the result has length %llu", 2 + i, (unsigned long long)size);
        w->a.size[i] = (uint32_t)size;
    }
}

void cc_onnx_op_conv_transpose(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct window w = {0};
    uint32_t x = open_window(n, cc_onnx_operand(n, 0), &w);

    w.a.weight = weights(n, &w, cc_onnx_constant(n, 1, "the weight")) + 1;
    if (cc_onnx_has(n, 2))
        w.a.bias = cc_onnx_constant(n, 2, "the bias") + 1;
    if (n->b->status)
        return;
    transposed_size(n, &w, cc_onnx_shape(n, x));
    cc_onnx_result(n, 0, lowered(n, &w, cc_onnx_unary(n, kind, x, &w.a)));
}

void cc_onnx_op_pool(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct window w = {0};
    uint32_t x = open_window(n, cc_onnx_operand(n, 0), &w);

    if (n->b->status)
        return;
    if (!pair(n, &w, "kernel_shape", w.kernel))
        cc_build_refuse(n->b, "there is no kernel_shape");
    if (kind == CC_OP_L2_POOL && cc_onnx_int(n, "p", 2) != 2)
        cc_build_refuse(n->b, "p is %lld, expected 2", (long long)cc_onnx_int(n, "p", 2));
    resolve_pads(n, &w, x);
    w.a.kernel[0] = w.kernel[0];
    w.a.kernel[1] = w.kernel[1];
    w.a.ceil = cc_onnx_int(n, "ceil_mode", 0) != 0;
    w.a.exclude_padding = kind == CC_OP_AVG_POOL && !cc_onnx_int(n, "count_include_pad", 0);
    cc_onnx_result(n, 0, lowered(n, &w, cc_onnx_unary(n, kind, x, &w.a)));
}

/* A reduction over all axes after the channels. */
void cc_onnx_op_global_pool(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), rank = cc_onnx_shape(n, x)->rank;
    struct cc_attributes a = {.axes = ((1u << rank) - 1) & ~3u, .keep_dims = true};

    if (kind == CC_OP_REDUCE_L2_NORM && cc_onnx_int(n, "p", 2) != 2)
        cc_build_refuse(n->b, "p is %lld, expected 2", (long long)cc_onnx_int(n, "p", 2));
    cc_onnx_result(n, 0, rank == 2 ? x : cc_onnx_unary(n, kind, x, &a));
}

void cc_onnx_op_lrn(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), made;
    struct cc_value v = *cc_onnx_shape(n, x);
    int64_t size = cc_onnx_int(n, "size", 0);
    struct cc_attributes a = {.alpha = cc_onnx_float(n, "alpha", 0.0001f),
                              .beta = cc_onnx_float(n, "bias", 1.0f),
                              .gamma = cc_onnx_float(n, "beta", 0.75f),
                              .kernel = {size > 0 && size < INT32_MAX ? (uint32_t)size : 0, 0}};

    if (n->b->status)
        return;
    if (v.rank == 5)
        x = cc_onnx_reshape(n, x, 4, (const uint32_t[]){v.dim[0], v.dim[1], v.dim[2] * v.dim[3], v.dim[4]});
    made = cc_onnx_unary(n, kind, x, &a);
    cc_onnx_result(n, 0, v.rank == 5 ? cc_onnx_reshape(n, made, v.rank, v.dim) : made);
}
