/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of linear and matmul. The last two axes of matmul's operands are matrices; those before them
 * broadcast. The weight of linear is [out, in], so the product is with its transpose.
 */
#include "compiler/graph/rules.h"

int cc_rule_linear(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                   struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0), *weight;
    int status = cc_rule_constant(graph, op, op->a.weight, "weight", &weight, error);

    if (status)
        return status;
    if (!weight)
        return cc_rule_refuse(op, error, "there is no weight");
    if (x->rank < 1)
        return cc_rule_refuse(op, error, "x is %s, expected at least rank 1", cc_rule_text(x).text);
    if (weight->rank != 2 || weight->dim[1] != x->dim[x->rank - 1])
        return cc_rule_refuse(op, error, "weight is %s, expected [out, %u] for x of %s",
                              cc_rule_text(weight).text, x->dim[x->rank - 1], cc_rule_text(x).text);
    *out = cc_rule_shape(x);
    out->dim[x->rank - 1] = weight->dim[0];
    return cc_rule_vector(graph, op, op->a.bias, "bias", weight->dim[0], error);
}

int cc_rule_matmul(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                   struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0), *y = cc_rule_operand(graph, op, 1);
    struct cc_shape left = cc_rule_shape(x), right = cc_rule_shape(y);
    uint32_t rows, columns, inner_x, inner_y;
    int status = cc_rule_same_type(op, x, y, error);

    if (status)
        return status;
    if (x->rank < 2 || y->rank < 2)
        return cc_rule_refuse(op, error, "%s by %s: expected operands of at least rank 2",
                              cc_rule_text(x).text, cc_rule_text(y).text);
    rows = x->dim[x->rank - (op->a.transpose_x ? 1 : 2)];
    inner_x = x->dim[x->rank - (op->a.transpose_x ? 2 : 1)];
    inner_y = y->dim[y->rank - (op->a.transpose_y ? 1 : 2)];
    columns = y->dim[y->rank - (op->a.transpose_y ? 2 : 1)];
    if (inner_x != inner_y)
        return cc_rule_refuse(op, error, "%s%s by %s%s: inner lengths %u and %u, expected equal",
                              cc_rule_text(x).text, op->a.transpose_x ? " transposed" : "",
                              cc_rule_text(y).text, op->a.transpose_y ? " transposed" : "", inner_x, inner_y);
    if ((status = cc_rule_broadcast(op, &left, &right, 2, out, error)))
        return status;
    out->type = cc_rule_result_type(x, y);
    out->dim[out->rank - 2] = rows;
    out->dim[out->rank - 1] = columns;
    return 0;
}
