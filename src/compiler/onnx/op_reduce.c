/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and softmax. Axes are attributes before a version and an operand from it on. */
#include "compiler/onnx/op.h"

void cc_onnx_op_reduce(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), rank = cc_onnx_shape(n, x)->rank;
    struct cc_attributes a = {.keep_dims = cc_onnx_int(n, "keepdims", 1) != 0};
    struct cc_onnx_list axes;
    bool given = cc_onnx_axes_or_input(n, kind == CC_OP_REDUCE_SUM ? 13 : 18, "axes", 1, &axes) && axes.count;

    if (n->b->status)
        return;
    if (!given && cc_onnx_int(n, "noop_with_empty_axes", 0)) {
        cc_onnx_result(n, 0, x);
        return;
    }
    a.axes = given ? cc_onnx_axes(n, &axes, rank) : (1u << rank) - 1;
    cc_onnx_result(n, 0, cc_onnx_unary(n, kind, x, &a));
}

/* Before version 13 all axes from `axis` on are one. */
static uint32_t flat_softmax(const struct cc_onnx_node *n, enum cc_op_kind kind, uint32_t x, uint32_t axis)
{
    struct cc_value v = *cc_onnx_shape(n, x);
    uint32_t flat[2] = {1, 1}, made;

    for (uint32_t i = 0; i < v.rank; i++)
        flat[i >= axis] *= v.dim[i];
    made = cc_onnx_unary(n, kind, cc_onnx_reshape(n, x, 2, flat), &(struct cc_attributes){.axis = 1});
    return cc_onnx_reshape(n, made, v.rank, v.dim);
}

void cc_onnx_op_softmax(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0);
    const struct cc_value *v = cc_onnx_shape(n, x);
    uint32_t axis = cc_onnx_axis(n, cc_onnx_int(n, "axis", n->opset < 13 ? 1 : -1), v->rank), behind = 1;

    for (uint32_t i = axis + 1; i < v->rank && !n->b->status; i++)
        behind *= v->dim[i];
    if (n->opset < 13 && behind > 1)
        cc_onnx_result(n, 0, flat_softmax(n, kind, x, axis));
    else
        cc_onnx_result(n, 0, cc_onnx_unary(n, kind, x, &(struct cc_attributes){.axis = axis}));
}

void cc_onnx_op_arg(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0);
    struct cc_attributes a = {.keep_dims = cc_onnx_int(n, "keepdims", 1) != 0,
                              .reverse = cc_onnx_int(n, "select_last_index", 0) != 0};

    a.axis = cc_onnx_axis(n, cc_onnx_int(n, "axis", 0), cc_onnx_shape(n, x)->rank);
    cc_onnx_result(n, 0, n->b->status ? 0 : cc_onnx_unary(n, kind, x, &a));
}

/* Two results of one node: two operations. Before version 10 k is an attribute. */
void cc_onnx_op_topk(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0);
    struct cc_attributes a = {.reverse = cc_onnx_int(n, "largest", 1) == 0};
    double k = n->opset < 10 ? (double)cc_onnx_int(n, "k", 0) : cc_onnx_number(n, 1, "k");

    a.axis = cc_onnx_axis(n, cc_onnx_int(n, "axis", -1), cc_onnx_shape(n, x)->rank);
    a.size[0] = k >= 1 && k <= UINT32_MAX ? (uint32_t)k : 0;
    if (!n->b->status && n->proto->n_output > 0 && n->proto->output[0][0])
        cc_onnx_result(n, 0, cc_onnx_unary(n, kind, x, &a));
    if (!n->b->status && n->proto->n_output > 1 && n->proto->output[1][0])
        cc_onnx_result(n, 1, cc_onnx_unary(n, CC_OP_TOPK_INDICES, x, &a));
}
