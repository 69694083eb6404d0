/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composites of the reduce family: the reductions that the planar engine does not have, and softmax and the
 * norms where a group has more elements than one of its tasks reduces. Reductions over several axes that do
 * not fit one task are done axis by axis.
 */
#include "compiler/pass/compose.h"

#include <math.h>

#include "base/alloc.h"

static const struct cc_value *value_of(const struct cc_rewrite *r, uint32_t value)
{
    return cc_build_value(&r->to, value);
}

/* keep_dims false: the axes of length 1 are removed at the end. */
static uint32_t finish(struct cc_rewrite *r, const struct cc_op *op, uint32_t y)
{
    const struct cc_value *v = &r->from->value[op->output];

    return op->a.keep_dims ? y : cc_build_reshape(&r->to, y, v->rank, v->dim);
}

static uint32_t times(struct cc_build *b, uint32_t x, float factor)
{
    return cc_build_binary(b, CC_OP_MUL, x, cc_build_scalar(b, factor));
}

static uint32_t exponential_above(struct cc_build *b, uint32_t x, uint32_t most)
{
    return cc_build_unary(b, CC_OP_EXP, cc_build_binary(b, CC_OP_SUB, x, most));
}

/* m + log(sum e^(x - m)), m the largest: no exponential overflows. */
static uint32_t log_sum_exp(struct cc_rewrite *r, const struct cc_op *op, uint32_t x)
{
    struct cc_build *b = &r->to;
    uint32_t most = cc_build_reduce(b, CC_OP_REDUCE_MAX, x, op->a.axes, true);
    uint32_t sum = cc_build_reduce(b, CC_OP_REDUCE_SUM, exponential_above(b, x, most), op->a.axes, true);

    return finish(r, op, cc_build_binary(b, CC_OP_ADD, cc_build_unary(b, CC_OP_LOG, sum), most));
}

static uint32_t log_softmax(struct cc_rewrite *r, const struct cc_op *op, uint32_t x)
{
    struct cc_build *b = &r->to;
    uint32_t axes = 1u << op->a.axis, most = cc_build_reduce(b, CC_OP_REDUCE_MAX, x, axes, true);
    uint32_t above = cc_build_binary(b, CC_OP_SUB, x, most);
    uint32_t sum = cc_build_reduce(b, CC_OP_REDUCE_SUM, cc_build_unary(b, CC_OP_EXP, above), axes, true);

    return cc_build_binary(b, CC_OP_SUB, above, cc_build_unary(b, CC_OP_LOG, sum));
}

static uint32_t softmax(struct cc_rewrite *r, const struct cc_op *op, uint32_t x)
{
    struct cc_build *b = &r->to;
    uint32_t axes = 1u << op->a.axis, most = cc_build_reduce(b, CC_OP_REDUCE_MAX, x, axes, true);
    uint32_t above = exponential_above(b, x, most);

    return cc_build_binary(b, CC_OP_REAL_DIV, above, cc_build_reduce(b, CC_OP_REDUCE_SUM, above, axes, true));
}

/*
 * sqrt((factor norm(x))^2 + epsilon) over `axes`, which stay. It is the norm of two numbers, so that no
 * square is rounded to fp16.
 */
static uint32_t root_of_squares(struct cc_rewrite *r, uint32_t x, uint32_t axes, float factor, float epsilon)
{
    struct cc_build *b = &r->to;
    uint32_t norm = cc_build_reduce(b, CC_OP_REDUCE_L2_NORM, x, axes, true), rank, axis = 0,
             dims[CC_RANK_MAX];
    uint32_t pair[2];
    float *offset;
    uint64_t count;

    if (factor != 1)
        norm = times(b, norm, factor);
    if (b->status || epsilon == 0)
        return norm;
    while (!(axes >> axis & 1))
        axis++;
    rank = value_of(r, norm)->rank;
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = value_of(r, norm)->dim[i];
    count = cc_value_elements(value_of(r, norm));
    offset = base_alloc_array(count, sizeof(*offset));
    for (uint64_t i = 0; offset && i < count; i++)
        offset[i] = sqrtf(epsilon);
    pair[0] = norm;
    pair[1] = cc_build_const(b, CC_FP32, rank, dims, offset);
    return cc_build_reduce(b, CC_OP_REDUCE_L2_NORM, cc_build_concat(b, 2, pair, axis), 1u << axis, true);
}

static uint32_t l2_norm(struct cc_rewrite *r, const struct cc_op *op, uint32_t x)
{
    uint32_t axes = (1u << value_of(r, x)->rank) - 2;

    return cc_build_binary(&r->to, CC_OP_REAL_DIV, x, root_of_squares(r, x, axes, 1, op->a.epsilon));
}

/* gamma or beta in the shape of x, with axes of length 1 for those that are not normalised. */
static uint32_t layer_parameter(struct cc_rewrite *r, const struct cc_op *op, uint32_t parameter)
{
    const struct cc_value *x = &r->from->value[op->input[0]];
    uint32_t dims[CC_RANK_MAX];

    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = op->a.axes >> i & 1 ? x->dim[i] : 1;
    return cc_compose_constant(r, parameter, x->rank, dims);
}

static uint64_t reduced_elements(const struct cc_value *x, uint32_t axes)
{
    uint64_t count = 1;

    for (uint32_t i = 0; i < x->rank; i++)
        count *= axes >> i & 1 ? x->dim[i] : 1;
    return count;
}

static uint32_t layer_norm(struct cc_rewrite *r, const struct cc_op *op, uint32_t x)
{
    struct cc_build *b = &r->to;
    float factor = 1 / sqrtf((float)reduced_elements(&r->from->value[op->input[0]], op->a.axes));
    uint32_t mean = cc_build_reduce(b, CC_OP_REDUCE_MEAN, x, op->a.axes, true);
    uint32_t centred = cc_build_binary(b, CC_OP_SUB, x, mean);
    uint32_t y = cc_build_binary(b, CC_OP_REAL_DIV, centred,
                                 root_of_squares(r, centred, op->a.axes, factor, op->a.epsilon));

    if (op->a.weight)
        y = cc_build_binary(b, CC_OP_MUL, y, layer_parameter(r, op, op->a.weight));
    if (op->a.bias)
        y = cc_build_binary(b, CC_OP_ADD, y, layer_parameter(r, op, op->a.bias));
    return y;
}

/* `size` elements from `begin` on, of one axis. */
static uint32_t part(struct cc_rewrite *r, uint32_t x, uint32_t axis, uint32_t begin, uint32_t size)
{
    uint32_t from[CC_RANK_MAX] = {0}, sizes[CC_RANK_MAX] = {0};

    if (r->to.status)
        return 0;
    for (uint32_t i = 0; i < value_of(r, x)->rank; i++)
        sizes[i] = value_of(r, x)->dim[i];
    from[axis] = begin;
    sizes[axis] = size;
    return cc_build_slice(&r->to, x, from, sizes, NULL);
}

/* The product along an axis that is not the last: its two halves are multiplied until one element is left. */
static uint32_t product_along(struct cc_rewrite *r, uint32_t x, uint32_t axis)
{
    uint32_t rest = 0;
    bool odd = false;

    while (!r->to.status && value_of(r, x)->dim[axis] > 1) {
        uint32_t length = value_of(r, x)->dim[axis], half = length / 2, low, high;

        if (length & 1) {
            uint32_t last = part(r, x, axis, length - 1, 1);

            rest = odd ? cc_build_binary(&r->to, CC_OP_MUL, rest, last) : last;
            odd = true;
        }
        low = part(r, x, axis, 0, half);
        high = part(r, x, axis, half, half);
        x = cc_build_binary(&r->to, CC_OP_MUL, low, high);
    }
    return odd ? cc_build_binary(&r->to, CC_OP_MUL, x, rest) : x;
}

/*
 * A slice of the last axis passes large values only from 64-byte boundaries on, so that axis is exchanged
 * with the one before it.
 */
static uint32_t product_along_last(struct cc_rewrite *r, uint32_t x)
{
    uint32_t rank, length, perm[CC_RANK_MAX];

    if (r->to.status)
        return 0;
    rank = value_of(r, x)->rank;
    length = value_of(r, x)->dim[rank - 1];
    for (uint32_t i = 0; i < rank; i++)
        perm[i] = i;
    if (rank == 1) {
        x = cc_build_reshape(&r->to, x, 2, (const uint32_t[]){length, 1});
        return cc_build_reshape(&r->to, product_along(r, x, 0), 1, (const uint32_t[]){1});
    }
    perm[rank - 1] = rank - 2;
    perm[rank - 2] = rank - 1;
    x = product_along(r, cc_build_transpose(&r->to, x, perm), rank - 2);
    return cc_build_transpose(&r->to, x, perm);
}

static uint32_t product(struct cc_rewrite *r, const struct cc_op *op, uint32_t x)
{
    uint32_t rank = r->from->value[op->input[0]].rank;

    for (uint32_t i = 0; i < rank && !r->to.status; i++)
        if (op->a.axes >> i & 1 && value_of(r, x)->dim[i] > 1)
            x = i + 1 == rank ? product_along_last(r, x) : product_along(r, x, i);
    return finish(r, op, x);
}

/* The axis that is reduced, if there is one alone; else CC_RANK_MAX. */
static uint32_t only_axis(const struct cc_value *x, uint32_t axes)
{
    uint32_t found = CC_RANK_MAX, count = 0;

    for (uint32_t i = 0; i < x->rank; i++)
        if (axes >> i & 1 && x->dim[i] > 1) {
            found = i;
            count++;
        }
    return count == 1 ? found : CC_RANK_MAX;
}

/* Of one axis: the part that the lowering can divide, the rest, and both results together. */
static uint32_t by_parts(struct cc_rewrite *r, const struct cc_op *op, uint32_t x, uint32_t axis)
{
    struct cc_build *b = &r->to;
    uint32_t length = r->from->value[op->input[0]].dim[axis], rest = length % PR_WIDTH_MAX, y[2];

    for (unsigned i = 0; i < 2; i++) {
        y[i] = part(r, x, axis, i ? length - rest : 0, i ? rest : length - rest);
        y[i] = cc_build_reduce(b, op->kind, y[i], 1u << axis, true);
        if (op->kind == CC_OP_REDUCE_MEAN)
            y[i] = times(b, y[i], (float)(i ? rest : length - rest) / (float)length);
    }
    switch (op->kind) {
    case CC_OP_REDUCE_MAX: return finish(r, op, cc_build_binary(b, CC_OP_MAXIMUM, y[0], y[1]));
    case CC_OP_REDUCE_MIN: return finish(r, op, cc_build_binary(b, CC_OP_MINIMUM, y[0], y[1]));
    case CC_OP_REDUCE_L2_NORM:
        return finish(r, op, cc_build_reduce(b, op->kind, cc_build_concat(b, 2, y, axis), 1u << axis, true));
    default: return finish(r, op, cc_build_binary(b, CC_OP_ADD, y[0], y[1]));
    }
}

/* The reduction that continues one over other axes. */
static enum cc_op_kind next_of(enum cc_op_kind kind)
{
    return kind == CC_OP_REDUCE_SUM_SQUARE ? CC_OP_REDUCE_SUM : kind;
}

/* One axis after the other, from the last on; or one axis in two parts. */
static uint32_t cut_reduction(struct cc_rewrite *r, const struct cc_op *op, uint32_t x)
{
    uint32_t only = only_axis(&r->from->value[op->input[0]], op->a.axes);
    enum cc_op_kind kind = op->kind;

    if (only < CC_RANK_MAX)
        return by_parts(r, op, x, only);
    for (uint32_t i = CC_RANK_MAX; i-- > 0;)
        if (op->a.axes >> i & 1 && r->from->value[op->input[0]].dim[i] > 1) {
            x = cc_build_reduce(&r->to, kind, x, 1u << i, true);
            kind = next_of(kind);
        }
    return finish(r, op, x);
}

/* Whether the reduced axes are neighbours. With rank 5, others would have to be brought together first. */
static bool is_run(const struct cc_value *x, uint32_t axes)
{
    bool begun = false, ended = false;

    for (uint32_t i = 0; i < x->rank; i++) {
        bool reduced = axes >> i & 1;

        if (reduced && ended)
            return false;
        ended |= begun && !reduced && x->dim[i] > 1;
        begun |= reduced;
    }
    return true;
}

/*
 * Whether one task reduces these axes: besides W it has two axes, of at most PR_HEIGHT_MAX elements. A longer
 * one is divided by the lowering if it is the only one and a multiple of that.
 */
static bool fits(const struct cc_value *x, uint32_t axes)
{
    uint32_t only = only_axis(x, axes), count = 0;
    bool small = true;

    if (only < CC_RANK_MAX)
        return x->dim[only] <= PR_WIDTH_MAX || x->dim[only] % PR_WIDTH_MAX == 0;
    for (uint32_t i = 0; i < x->rank; i++) {
        bool reduced = axes >> i & 1 && x->dim[i] > 1;

        count += reduced;
        small &= !reduced || x->dim[i] <= PR_HEIGHT_MAX;
    }
    /* More than two besides W are merged, and of rank 5 neighbours are. */
    if (count > 2 || x->rank == CC_RANK_MAX)
        small &= reduced_elements(x, axes) <= PR_HEIGHT_MAX;
    return count < 2 || (small && (x->rank < CC_RANK_MAX || is_run(x, axes)));
}

/* The planes of softmax and the norms: rows of the last axis. */
static bool norm_fits(const struct cc_value *x, uint32_t axes)
{
    uint64_t count = reduced_elements(x, axes);
    uint32_t last = 0;

    for (uint32_t i = 0; i < x->rank; i++)
        last = axes >> i & 1 ? x->dim[i] : last;
    if (x->dim[x->rank - 1] == 1)
        last = 1;
    return count <= PR_HEIGHT_MAX || (last <= PR_WIDTH_MAX && count / last <= PR_HEIGHT_MAX);
}

/* The axes that an operation computes along. */
static uint32_t axes_of(const struct cc_op *op, const struct cc_value *x)
{
    switch (op->kind) {
    case CC_OP_SOFTMAX:
    case CC_OP_LOG_SOFTMAX: return 1u << op->a.axis;
    case CC_OP_L2_NORM: return (1u << x->rank) - 2;
    default: return op->a.axes;
    }
}

/* A mask of axes without one of them. */
static uint32_t without(uint32_t axes, uint32_t axis)
{
    return (axes & ((1u << axis) - 1)) | (axes >> (axis + 1) << axis);
}

/* Whether an axis of length 1 can be left out: another axis is left to compute along, and the limits hold. */
static bool can_leave_out(const struct cc_op *op, const struct cc_value *x, uint32_t axis,
                          uint32_t dims[CC_RANK_MAX])
{
    bool along = axes_of(op, x) >> axis & 1, parameters = op->a.weight || op->a.bias;
    struct base_error limit;
    uint32_t count = 0;

    if (x->dim[axis] != 1 || !without(axes_of(op, x), axis) || (op->kind == CC_OP_L2_NORM && !axis) ||
        (along && parameters))
        return false;
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != axis)
            dims[count++] = x->dim[i];
    return !cc_shape_check(x->type, count, dims, false, &limit);
}

/* Rank 5 with an axis of length 1: the same with rank 4, before anything is cut. */
static bool leave_out(struct cc_rewrite *r, const struct cc_op *op)
{
    const struct cc_value *x = &r->from->value[op->input[0]], *out = &r->from->value[op->output];
    uint32_t dims[CC_RANK_MAX], axis = 0, value;
    struct cc_attributes a = op->a;

    if (x->rank < CC_RANK_MAX)
        return false;
    while (axis < x->rank && !can_leave_out(op, x, axis, dims))
        axis++;
    if (axis == x->rank)
        return false;
    a.axes = without(a.axes, axis);
    a.axis -= a.axis > axis;
    a.weight = cc_rewrite_parameter(r, op->a.weight);
    a.bias = cc_rewrite_parameter(r, op->a.bias);
    value = cc_rewrite_value(r, op->input[0]);
    value = cc_build_reshape(&r->to, value, x->rank - 1, dims);
    value = cc_build_op(&r->to, op->kind, 1, &value, &a);
    cc_rewrite_put(r, op->output, cc_build_reshape(&r->to, value, out->rank, out->dim));
    return true;
}

/* Only axes of length 1 are reduced: the elements stay as they are, but for their function. */
static uint32_t reduce_single(struct cc_rewrite *r, const struct cc_op *op, uint32_t x)
{
    const struct cc_value *v = &r->from->value[op->output];

    switch (op->kind) {
    case CC_OP_REDUCE_L1_NORM:
    case CC_OP_REDUCE_L2_NORM: x = cc_build_unary(&r->to, CC_OP_ABS, x); break;
    case CC_OP_REDUCE_SUM_SQUARE: x = cc_build_unary(&r->to, CC_OP_SQUARE, x); break;
    case CC_OP_REDUCE_LOG_SUM: x = cc_build_unary(&r->to, CC_OP_LOG, x); break;
    default: break;
    }
    return cc_build_reshape(&r->to, x, v->rank, v->dim);
}

static bool is_reduction(const struct cc_op *op)
{
    switch (op->kind) {
#define X(id, name, inputs) case CC_OP_##id:
        CC_OPS_REDUCE(X)
#undef X
        return true;
    default: return false;
    }
}

/* The operations of this family. Batch and instance norms have rank 3 or 4. */
static bool is_family(const struct cc_op *op)
{
    switch (op->kind) {
    case CC_OP_SOFTMAX:
    case CC_OP_LOG_SOFTMAX:
    case CC_OP_LAYER_NORM:
    case CC_OP_L2_NORM: return true;
    default: return is_reduction(op);
    }
}

static bool is_composite(const struct cc_op *op, const struct cc_value *x)
{
    switch (op->kind) {
    case CC_OP_REDUCE_L1_NORM:
    case CC_OP_REDUCE_LOG_SUM:
    case CC_OP_REDUCE_LOG_SUM_EXP:
    case CC_OP_REDUCE_PROD:
    case CC_OP_LOG_SOFTMAX: return true;
    case CC_OP_REDUCE_MEAN:
    case CC_OP_REDUCE_SUM:
    case CC_OP_REDUCE_MAX:
    case CC_OP_REDUCE_MIN:
    case CC_OP_REDUCE_L2_NORM:
    case CC_OP_REDUCE_SUM_SQUARE: return !fits(x, op->a.axes);
    case CC_OP_SOFTMAX: return x->dim[op->a.axis] > PR_WIDTH_MAX;
    case CC_OP_LAYER_NORM: return !norm_fits(x, op->a.axes);
    case CC_OP_L2_NORM: return !norm_fits(x, (1u << x->rank) - 2);
    default: return false;
    }
}

void cc_compose_reduce(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    struct cc_build *b = &r->to;
    uint32_t x, y;

    if (!is_family(op))
        return;
    if (is_reduction(op) && reduced_elements(&r->from->value[op->input[0]], op->a.axes) == 1) {
        cc_rewrite_put(r, op->output, reduce_single(r, op, cc_rewrite_value(r, op->input[0])));
        *done = true;
        return;
    }
    *done = leave_out(r, op);
    if (*done || !is_composite(op, &r->from->value[op->input[0]]))
        return;
    x = cc_rewrite_value(r, op->input[0]);
    switch (op->kind) {
    case CC_OP_REDUCE_L1_NORM:
        y = cc_build_reduce(b, CC_OP_REDUCE_SUM, cc_build_unary(b, CC_OP_ABS, x), op->a.axes,
                            op->a.keep_dims);
        break;
    case CC_OP_REDUCE_LOG_SUM:
        y = cc_build_unary(b, CC_OP_LOG,
                           cc_build_reduce(b, CC_OP_REDUCE_SUM, x, op->a.axes, op->a.keep_dims));
        break;
    case CC_OP_REDUCE_LOG_SUM_EXP: y = log_sum_exp(r, op, x); break;
    case CC_OP_REDUCE_PROD: y = product(r, op, x); break;
    case CC_OP_LOG_SOFTMAX: y = log_softmax(r, op, x); break;
    case CC_OP_SOFTMAX: y = softmax(r, op, x); break;
    case CC_OP_LAYER_NORM: y = layer_norm(r, op, x); break;
    case CC_OP_L2_NORM: y = l2_norm(r, op, x); break;
    default: y = cut_reduction(r, op, x); break;
    }
    cc_rewrite_put(r, op->output, y);
    *done = true;
}
