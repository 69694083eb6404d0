/* SPDX-License-Identifier: Apache-2.0 */
/* An operation of constants is a constant before the next one is added. */
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/eval.h"
#include "compiler/onnx/reader.h"

int cc_onnx_no_memory(struct cc_onnx *reader)
{
    return cc_build_refuse(&reader->build, "there is no memory for it");
}

uint32_t cc_onnx_fold(const struct cc_onnx_node *n, uint32_t value)
{
    struct cc_graph *graph = n->b->graph;
    bool folded;

    if (!n->b->status && graph->ops && graph->op[graph->ops - 1].output == value)
        n->b->status = cc_eval_fold(graph, graph->ops - 1, &folded, n->b->error);
    return n->b->status ? 0 : value;
}

uint32_t cc_onnx_add(const struct cc_onnx_node *n, enum cc_op_kind kind, uint32_t inputs,
                     const uint32_t *input, const struct cc_attributes *a)
{
    return cc_onnx_fold(n, cc_build_op(n->b, kind, inputs, input, a));
}

uint32_t cc_onnx_unary(const struct cc_onnx_node *n, enum cc_op_kind kind, uint32_t x,
                       const struct cc_attributes *a)
{
    return cc_onnx_add(n, kind, 1, &x, a);
}

uint32_t cc_onnx_binary(const struct cc_onnx_node *n, enum cc_op_kind kind, uint32_t x, uint32_t y)
{
    return cc_onnx_add(n, kind, 2, (const uint32_t[]){x, y}, NULL);
}

/* A constant keeps its elements: no need to compute them. */
uint32_t cc_onnx_reshape(const struct cc_onnx_node *n, uint32_t x, uint32_t rank, const uint32_t *dims)
{
    const struct cc_value *v = cc_build_value(n->b, x);
    bool same = v->rank == rank && !memcmp(v->dim, dims, rank * sizeof(*dims));
    void *copy;

    if (n->b->status)
        return 0;
    if (same || !v->data || rank > CC_RANK_MAX || cc_shape_bytes(v->type, rank, dims) != v->bytes)
        return cc_build_reshape(n->b, x, rank, dims);
    copy = base_alloc(v->bytes);
    if (copy)
        memcpy(copy, v->data, v->bytes);
    return cc_build_const(n->b, v->type, rank, dims, copy);
}

uint32_t cc_onnx_scalar(const struct cc_onnx_node *n, float number)
{
    return cc_build_scalar(n->b, number);
}

uint32_t cc_onnx_vector(const struct cc_onnx_node *n, uint32_t length, float number)
{
    float *data = n->b->status ? NULL : base_alloc_array(length, sizeof(*data));

    for (uint32_t i = 0; data && i < length; i++)
        data[i] = number;
    return cc_build_const(n->b, CC_FP32, 1, &length, data);
}

uint32_t cc_onnx_number_like(const struct cc_onnx_node *n, double number, uint32_t like)
{
    int32_t whole = (int32_t)number;

    if (cc_build_value(n->b, like)->type == CC_INT32)
        return cc_build_ints(n->b, 0, NULL, &whole);
    return cc_build_scalar(n->b, (float)number);
}

uint32_t cc_onnx_as_float(const struct cc_onnx_node *n, uint32_t x)
{
    const struct cc_value *v = cc_build_value(n->b, x);

    if (n->b->status || !v->data || v->type == CC_FP16 || v->type == CC_FP32)
        return x;
    return cc_onnx_unary(n, CC_OP_CAST, x, &(struct cc_attributes){.to = CC_FP32});
}
