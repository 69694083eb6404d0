/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products. A constant matrix on the right is the weight of a linear, which is [out, in]. */
#include <string.h>

#include "base/alloc.h"
#include "compiler/onnx/op.h"

/* A vector is a row on the left and a column on the right; its axis is not in the result. */
static uint32_t matrix_of(const struct cc_onnx_node *n, uint32_t x, bool row)
{
    uint32_t length = cc_onnx_shape(n, x)->dim[0];

    if (cc_onnx_shape(n, x)->rank != 1)
        return x;
    return cc_onnx_reshape(n, x, 2, row ? (const uint32_t[]){1, length} : (const uint32_t[]){length, 1});
}

static uint32_t without_axis(const struct cc_onnx_node *n, uint32_t x, uint32_t back)
{
    const struct cc_value *v = cc_onnx_shape(n, x);
    uint32_t dims[CC_RANK_MAX], rank = 0;

    for (uint32_t i = 0; i < v->rank; i++)
        if (i != v->rank - back)
            dims[rank++] = v->dim[i];
    return cc_onnx_reshape(n, x, rank, dims);
}

/* Whether operand i is a constant matrix, also one that no node has used yet. */
static bool is_weight(const struct cc_onnx_node *n, uint32_t i)
{
    struct cc_onnx_value given;

    if (!cc_onnx_value_of(n, i, &given))
        return false;
    if (given.state == CC_ONNX_TENSOR)
        return given.rank == 2;
    return given.state == CC_ONNX_GRAPH && cc_onnx_is_constant(n, given.value) &&
           cc_onnx_shape(n, given.value)->rank == 2;
}

void cc_onnx_op_matmul(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), y, made, x_rank = cc_onnx_shape(n, x)->rank, y_rank;

    if (!n->b->status && is_weight(n, 1) && !cc_onnx_is_constant(n, x)) {
        struct cc_attributes a = {.weight = cc_onnx_matrix(n, 1, true, 1) + 1};

        cc_onnx_result(n, 0, cc_onnx_unary(n, CC_OP_LINEAR, x, &a));
        return;
    }
    y = cc_onnx_operand(n, 1);
    y_rank = cc_onnx_shape(n, y)->rank;
    if (!n->b->status && (x_rank == 0 || y_rank == 0))
        cc_build_refuse(n->b, "an operand has rank 0, expected at least 1");
    if (n->b->status)
        return;
    made = cc_onnx_binary(n, kind, matrix_of(n, x, true), matrix_of(n, y, false));
    if (y_rank == 1 && !n->b->status)
        made = without_axis(n, made, 1);
    if (x_rank == 1 && !n->b->status)
        made = without_axis(n, made, y_rank == 1 ? 1 : 2);
    cc_onnx_result(n, 0, made);
}

/* A constant that broadcasts to the columns of the result, times beta: a bias. 0: it is not one. */
static uint32_t bias_of(const struct cc_onnx_node *n, uint32_t c, uint32_t columns, float beta)
{
    const struct cc_value *v = cc_onnx_shape(n, c);
    uint64_t elements = cc_value_elements(v);
    float *data;

    if (!v->data || (elements != 1 && (elements != columns || v->dim[v->rank - 1] != columns)))
        return 0;
    data = base_alloc_array(columns, sizeof(*data));
    for (uint32_t i = 0; data && i < columns; i++)
        data[i] = beta * (float)cc_value_number(v, elements == 1 ? 0 : i);
    return cc_build_const(n->b, CC_FP32, 1, &columns, data) + 1;
}

static uint32_t scaled(const struct cc_onnx_node *n, uint32_t x, float factor)
{
    return factor == 1 ? x : cc_onnx_binary(n, CC_OP_MUL, x, cc_onnx_scalar(n, factor));
}

/* alpha A B + beta C, with A and B transposed if so said */
void cc_onnx_op_gemm(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    float alpha = cc_onnx_float(n, "alpha", 1.0f), beta = cc_onnx_float(n, "beta", 1.0f);
    bool turn_a = cc_onnx_int(n, "transA", 0) != 0, turn_b = cc_onnx_int(n, "transB", 0) != 0;
    uint32_t x = cc_onnx_operand(n, 0), made, c = cc_onnx_has(n, 2) ? cc_onnx_operand(n, 2) : 0;
    struct cc_attributes a = {0};
    bool added = !cc_onnx_has(n, 2) || beta == 0;

    if (!n->b->status && cc_onnx_shape(n, x)->rank != 2)
        cc_build_refuse(n->b, "A has rank %u, expected 2", cc_onnx_shape(n, x)->rank);
    if (n->b->status)
        return;
    if (is_weight(n, 1)) {
        if (turn_a)
            x = cc_onnx_fold(n, cc_build_transpose(n->b, x, (const uint32_t[]){1, 0}));
        a.weight = cc_onnx_matrix(n, 1, !turn_b, alpha) + 1;
        if (!added && !n->b->status)
            a.bias = bias_of(n, c, cc_onnx_shape(n, a.weight - 1)->dim[0], beta);
        added = added || a.bias;
        made = cc_onnx_unary(n, kind, x, &a);
    } else {
        a.transpose_x = turn_a;
        a.transpose_y = turn_b;
        made = scaled(n, cc_onnx_add(n, CC_OP_MATMUL, 2, (const uint32_t[]){x, cc_onnx_operand(n, 1)}, &a),
                      alpha);
    }
    cc_onnx_result(n, 0, added ? made : cc_onnx_binary(n, CC_OP_ADD, made, scaled(n, c, beta)));
}
