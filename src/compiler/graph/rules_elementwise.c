/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of elementwise operations, comparisons and boolean logic. Operands broadcast against each other and
 * must have one type; there is no promotion. Numbers that become part of a table or a register must be
 * finite; only the bounds of a clamp may be infinite.
 */
#include "compiler/graph/rules.h"

#include <math.h>

static bool given(float value)
{
    return value == value;
}

/* Numbers in a table or a scale are finite; bounds may be infinite. */
static int check_numbers(const struct cc_op *op, struct base_error *error)
{
    const struct cc_attributes *a = &op->a;
    bool bounds = op->kind == CC_OP_CLIP || op->kind == CC_OP_THRESHOLD || op->kind == CC_OP_CLAMPED_RELU;

    if (!given(a->alpha) || !given(a->beta))
        return cc_rule_refuse(op, error, "%s is not a number", given(a->alpha) ? "beta" : "alpha");
    if (!isfinite(a->epsilon))
        return cc_rule_refuse(op, error, "epsilon is %g, expected a finite number", (double)a->epsilon);
    if (!bounds && (!isfinite(a->alpha) || !isfinite(a->beta)))
        return cc_rule_refuse(op, error, "alpha is %g and beta is %g, expected finite numbers",
                              (double)a->alpha, (double)a->beta);
    if (op->kind == CC_OP_CLIP && a->alpha > a->beta)
        return cc_rule_refuse(op, error, "alpha is %g and beta is %g, expected alpha <= beta",
                              (double)a->alpha, (double)a->beta);
    if (op->kind == CC_OP_CLAMPED_RELU && !isfinite(a->alpha))
        return cc_rule_refuse(op, error, "alpha is %g, expected a finite number", (double)a->alpha);
    if (op->kind == CC_OP_GELU && (unsigned)a->gelu > CC_GELU_SIGMOID)
        return cc_rule_refuse(op, error, "mode %u does not exist", (unsigned)a->gelu);
    return 0;
}

int cc_rule_unary(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                  struct base_error *error)
{
    int status = cc_rule_float(op, cc_rule_operand(graph, op, 0), error);

    *out = cc_rule_shape(cc_rule_operand(graph, op, 0));
    return status ? status : check_numbers(op, error);
}

/* A bool becomes 0 or 1. Integers that are computed exist on the host alone, and the lowering refuses them. */
int cc_rule_cast(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                 struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);

    if (op->a.to == CC_BOOL && !x->data)
        return cc_rule_refuse(op, error, "dtype is bool, expected fp16, fp32 or int32");
    *out = cc_rule_shape(x);
    out->type = op->a.to;
    return 0;
}

int cc_rule_binary(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                   struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0), *y = cc_rule_operand(graph, op, 1);
    struct cc_shape left = cc_rule_shape(x), right = cc_rule_shape(y);
    int status = cc_rule_same_type(op, x, y, error);

    out->type = cc_rule_result_type(x, y);
    return status ? status : cc_rule_broadcast(op, &left, &right, 0, out, error);
}

int cc_rule_compare(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                    struct base_error *error)
{
    int status = cc_rule_binary(graph, op, out, error);

    out->type = CC_BOOL;
    return status;
}

static int check_bool(const struct cc_op *op, const struct cc_value *value, struct base_error *error)
{
    if (value->type == CC_BOOL)
        return 0;
    return cc_rule_refuse(op, error, "operand `%.64s` is %s, expected bool", value->name,
                          cc_rule_text(value).text);
}

int cc_rule_logical(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                    struct base_error *error)
{
    int status = 0;

    *out = cc_rule_shape(cc_rule_operand(graph, op, 0));
    for (uint32_t i = 0; i < op->inputs && !status; i++) {
        const struct cc_value *value = cc_rule_operand(graph, op, i);
        struct cc_shape shape = cc_rule_shape(value);

        status = check_bool(op, value, error);
        if (!status)
            status = cc_rule_broadcast(op, out, &shape, 0, out, error);
    }
    return status;
}

int cc_rule_select(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                   struct base_error *error)
{
    const struct cc_value *cond = cc_rule_operand(graph, op, 0), *a = cc_rule_operand(graph, op, 1),
                          *b = cc_rule_operand(graph, op, 2);
    struct cc_shape condition = cc_rule_shape(cond), left = cc_rule_shape(a), right = cc_rule_shape(b);
    int status = check_bool(op, cond, error);

    if (status || (status = cc_rule_same_type(op, a, b, error)))
        return status;
    out->type = cc_rule_result_type(a, b);
    if ((status = cc_rule_broadcast(op, &left, &right, 0, out, error)))
        return status;
    return cc_rule_broadcast(op, out, &condition, 0, out, error);
}

/* PRELU and SOFTPLUS_PARAMETRIC: one number per channel. */
int cc_rule_channel_parameters(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                               struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    int status = cc_rule_float(op, x, error);

    *out = cc_rule_shape(x);
    if (status)
        return status;
    if (x->rank < 2)
        return cc_rule_refuse(op, error, "x is %s, expected at least rank 2: [N, C, ...]",
                              cc_rule_text(x).text);
    if (!op->a.weight || (op->kind == CC_OP_SOFTPLUS_PARAMETRIC && !op->a.bias))
        return cc_rule_refuse(op, error, "there is no %s", op->a.weight ? "beta" : "alpha");
    status = cc_rule_vector(graph, op, op->a.weight, "alpha", x->dim[1], error);
    return status ? status : cc_rule_vector(graph, op, op->a.bias, "beta", x->dim[1], error);
}
