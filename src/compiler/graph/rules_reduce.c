/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of operations over whole axes: reductions, softmax, norms. Axes are a mask of bits, counted from the
 * front. The parameters of layer_norm have the lengths of the normalised axes, those of the other norms one
 * number per channel.
 */
#include "compiler/graph/rules.h"

#include <math.h>

static int check_axes(const struct cc_op *op, const struct cc_value *x, struct base_error *error)
{
    if (op->a.axes == 0 && x->rank)
        return cc_rule_refuse(op, error, "there are no axes to reduce");
    if (op->a.axes >> x->rank)
        return cc_rule_refuse(op, error, "axes 0x%x reach beyond rank %u", op->a.axes, x->rank);
    return 0;
}

int cc_rule_reduce(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                   struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    int status = check_axes(op, x, error);

    if (status)
        return status;
    *out = (struct cc_shape){.type = x->type};
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!(op->a.axes >> i & 1))
            out->dim[out->rank++] = x->dim[i];
        else if (op->a.keep_dims)
            out->dim[out->rank++] = 1;
    }
    return cc_rule_float(op, x, error);
}

int cc_rule_softmax(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                    struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);

    if (op->a.axis >= x->rank)
        return cc_rule_refuse(op, error, "axis %u reaches beyond rank %u", op->a.axis, x->rank);
    *out = cc_rule_shape(x);
    return cc_rule_float(op, x, error);
}

int cc_rule_l2_norm(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                    struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);

    *out = cc_rule_shape(x);
    if (x->rank < 2)
        return cc_rule_refuse(op, error, "x is %s, expected at least rank 2", cc_rule_text(x).text);
    return cc_rule_float(op, x, error);
}

static int check_epsilon(const struct cc_op *op, struct base_error *error)
{
    if (isfinite(op->a.epsilon) && op->a.epsilon >= 0)
        return 0;
    return cc_rule_refuse(op, error, "epsilon is %g, expected a finite number of at least 0",
                          (double)op->a.epsilon);
}

/* A scale or offset has the lengths of the normalised axes, in their order. */
static int check_scale(const struct cc_graph *graph, const struct cc_op *op, uint32_t index, const char *what,
                       struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0), *scale;
    struct cc_shape wanted = {.type = x->type};
    int status = cc_rule_constant(graph, op, index, what, &scale, error);
    bool equal;

    if (status || !scale)
        return status;
    for (uint32_t i = 0; i < x->rank; i++)
        if (op->a.axes >> i & 1)
            wanted.dim[wanted.rank++] = x->dim[i];
    equal = scale->rank == wanted.rank;
    for (uint32_t i = 0; equal && i < wanted.rank; i++)
        equal = scale->dim[i] == wanted.dim[i];
    if (equal)
        return 0;
    return cc_rule_refuse(op, error, "%s is %s, expected %s: the axes that are normalised", what,
                          cc_rule_text(scale).text, cc_shape_text(wanted.type, wanted.rank, wanted.dim).text);
}

int cc_rule_layer_norm(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                       struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    int status = cc_rule_float(op, x, error);

    *out = cc_rule_shape(x);
    if (status || (status = check_axes(op, x, error)) || (status = check_epsilon(op, error)) ||
        (status = check_scale(graph, op, op->a.weight, "gamma", error)))
        return status;
    return check_scale(graph, op, op->a.bias, "beta", error);
}

/* INSTANCE_NORM and BATCH_NORM: parameters are one number per channel. */
int cc_rule_channel_norm(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                         struct base_error *error)
{
    const struct cc_attributes *a = &op->a;
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    int status = cc_rule_float(op, x, error);

    if (status || (status = check_epsilon(op, error)))
        return status;
    if (x->rank != 3 && x->rank != 4)
        return cc_rule_refuse(op, error, "x is %s, expected rank 3 or 4: [N, C, W] or [N, C, H, W]",
                              cc_rule_text(x).text);
    if (op->kind == CC_OP_BATCH_NORM && (!a->mean || !a->variance))
        return cc_rule_refuse(op, error, "there is no %s", a->mean ? "variance" : "mean");
    *out = cc_rule_shape(x);
    if ((status = cc_rule_vector(graph, op, a->mean, "mean", x->dim[1], error)) ||
        (status = cc_rule_vector(graph, op, a->variance, "variance", x->dim[1], error)) ||
        (status = cc_rule_vector(graph, op, a->weight, "gamma", x->dim[1], error)))
        return status;
    return cc_rule_vector(graph, op, a->bias, "beta", x->dim[1], error);
}

int cc_rule_arg(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);

    if (op->a.axis >= x->rank)
        return cc_rule_refuse(op, error, "axis %u reaches beyond rank %u", op->a.axis, x->rank);
    *out = (struct cc_shape){.type = CC_INT32};
    for (uint32_t i = 0; i < x->rank; i++)
        if (i != op->a.axis)
            out->dim[out->rank++] = x->dim[i];
        else if (op->a.keep_dims)
            out->dim[out->rank++] = 1;
    return cc_rule_float(op, x, error);
}

int cc_rule_topk(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                 struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    uint32_t count = op->a.size[0];

    if (op->a.axis >= x->rank)
        return cc_rule_refuse(op, error, "axis %u reaches beyond rank %u", op->a.axis, x->rank);
    if (!count || count > x->dim[op->a.axis])
        return cc_rule_refuse(op, error, "k is %u, expected 1 to the %u elements of axis %u", count,
                              x->dim[op->a.axis], op->a.axis);
    *out = cc_rule_shape(x);
    out->dim[op->a.axis] = count;
    if (op->kind == CC_OP_TOPK_INDICES)
        out->type = CC_INT32;
    return cc_rule_float(op, x, error);
}
