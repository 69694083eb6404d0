/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quantised models. Constants are dequantised here. An activation that is quantised and dequantised again
 * becomes a clip to the range that its type can hold: the engine computes in fp16, so the rounding to steps
 * of the scale is left out.
 */
#include <string.h>

#include "base/alloc.h"
#include "compiler/onnx/op.h"
#include "compiler/onnx/tensor.h"

enum { UINT8 = 2 }; /* of the specification */

/* Scales and zero points of a constant, one or one per index of an axis. */
struct steps {
    float *scale, *zero;
    uint32_t count;
};

static void release_steps(struct steps *s)
{
    base_free(s->scale);
    base_free(s->zero);
}

static bool read_steps(const struct cc_onnx_node *n, uint32_t scale, uint32_t zero, struct steps *s)
{
    uint32_t rank, dims[CC_RANK_MAX] = {0}, zero_rank, zero_dims[CC_RANK_MAX] = {0};

    *s = (struct steps){0};
    s->scale = cc_onnx_floats(n, scale, &rank, dims);
    if (s->scale && cc_onnx_has(n, zero))
        s->zero = cc_onnx_floats(n, zero, &zero_rank, zero_dims);
    if (n->b->status)
        return false;
    s->count = rank ? dims[0] : 1;
    if (rank > 1 || (s->zero && (zero_rank != rank || (rank && zero_dims[0] != dims[0])))) {
        cc_build_refuse(n->b,
                        "scale and zero point have rank %u and %u, expected one number, or one per index "
                        "of an axis, for both",
                        rank, s->zero ? zero_rank : rank);
        return false;
    }
    return true;
}

/* scale * (x - zero), in place. */
static void dequantize(const struct steps *s, float *data, uint32_t rank, const uint32_t *dims, uint32_t axis)
{
    uint64_t inner = 1, elements = 1;

    for (uint32_t i = 0; i < rank; i++) {
        elements *= dims[i];
        inner *= i > axis ? dims[i] : 1;
    }
    for (uint64_t i = 0; i < elements; i++) {
        uint64_t k = s->count == 1 ? 0 : i / inner % s->count;

        data[i] = s->scale[k] * (data[i] - (s->zero ? s->zero[k] : 0));
    }
}

/* Operand i, a constant of whole numbers, as floats. The axis of its steps is `axis` if there are several. */
static uint32_t dequantized(const struct cc_onnx_node *n, uint32_t i, const struct steps *s, int64_t axis)
{
    uint32_t rank = 0, dims[CC_RANK_MAX] = {0}, along = 0;
    float *data = cc_onnx_floats(n, i, &rank, dims);

    if (data && s->count > 1) {
        along = cc_onnx_axis(n, axis, rank);
        if (!n->b->status && dims[along] != s->count)
            cc_build_refuse(n->b, "there are %u scales for axis %u of length %u", s->count, along,
                            dims[along]);
    }
    if (!data || n->b->status) {
        base_free(data);
        return 0;
    }
    dequantize(s, data, rank, dims, along);
    return cc_build_const(n->b, CC_FP32, rank, dims, data);
}

/* What a value at run time stands for, by another scale and zero point than it was quantised with. */
static uint32_t restated(const struct cc_onnx_node *n, const struct cc_onnx_value *x, double scale,
                         double zero)
{
    struct cc_attributes a = {.alpha = (float)(scale / x->scale), .beta = (float)((x->zero - zero) * scale)};

    if (x->scale == scale && x->zero == zero)
        return x->value;
    return cc_onnx_unary(n, CC_OP_LINEAR_ACTIVATION, x->value, &a);
}

static bool one_step(const struct cc_onnx_node *n, const struct steps *s)
{
    if (!n->b->status && (s->count != 1 || !(s->scale[0] > 0)))
        cc_build_refuse(n->b, "a value at run time has %u scales, expected one above 0", s->count);
    return !n->b->status;
}

void cc_onnx_op_dequantize(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct cc_onnx_value x;
    struct steps s = {0};

    (void)kind;
    if (cc_onnx_int(n, "block_size", 0))
        cc_build_refuse(n->b, "block_size is given, which is not taken");
    if (cc_onnx_value_of(n, 0, &x) && read_steps(n, 1, 2, &s)) {
        if (x.state != CC_ONNX_QUANTIZED)
            cc_onnx_result(n, 0, dequantized(n, 0, &s, cc_onnx_int(n, "axis", 1)));
        else if (one_step(n, &s))
            cc_onnx_result(n, 0, restated(n, &x, (double)s.scale[0], s.zero ? (double)s.zero[0] : 0.0));
    }
    release_steps(&s);
}

/* The element type of a zero point is that of the result; UINT8 without one. */
static bool range_of(const struct cc_onnx_node *n, uint32_t zero, double *low, double *high)
{
    struct cc_onnx_value given;
    int32_t type = (int32_t)cc_onnx_int(n, "output_dtype", 0);

    if (type == 0)
        type = UINT8;
    if (cc_onnx_has(n, zero) && cc_onnx_value_of(n, zero, &given))
        type = given.state == CC_ONNX_TENSOR ? given.tensor->data_type : given.elem;
    if (cc_onnx_type_range(type, low, high))
        return true;
    cc_build_refuse(n->b, "it quantises to %s, expected whole numbers of at most 16 bits",
                    cc_onnx_type_text(type).text);
    return false;
}

/* A float at run time becomes what its whole numbers stand for: what the range holds of it. */
static void quantized(const struct cc_onnx_node *n, uint32_t x, const struct steps *s, uint32_t zero)
{
    struct cc_onnx_value made = {.state = CC_ONNX_QUANTIZED};
    struct cc_attributes a = {0};
    double low, high;

    if (!one_step(n, s) || !range_of(n, zero, &low, &high))
        return;
    made.scale = (double)s->scale[0];
    made.zero = s->zero ? (double)s->zero[0] : 0;
    a.alpha = (float)((low - made.zero) * made.scale);
    a.beta = (float)((high - made.zero) * made.scale);
    made.value = cc_onnx_unary(n, CC_OP_CLIP, x, &a);
    cc_onnx_result_value(n, 0, &made);
}

void cc_onnx_op_quantize(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0);
    struct steps s = {0};

    (void)kind;
    if (cc_onnx_int(n, "block_size", 0))
        cc_build_refuse(n->b, "block_size is given, which is not taken");
    if (!n->b->status && cc_onnx_is_constant(n, x))
        cc_build_refuse(n->b, "x is a constant; quantise it in the model");
    if (!n->b->status && read_steps(n, 1, 2, &s))
        quantized(n, x, &s, 2);
    release_steps(&s);
}

/* Operand i at run time as a float, by the steps that follow it. */
static uint32_t activation(const struct cc_onnx_node *n, uint32_t i, struct steps *s)
{
    struct cc_onnx_value x;

    if (!read_steps(n, i + 1, i + 2, s) || !cc_onnx_value_of(n, i, &x))
        return 0;
    if (x.state != CC_ONNX_QUANTIZED)
        return dequantized(n, i, s, 0);
    return one_step(n, s) ? restated(n, &x, (double)s->scale[0], s->zero ? (double)s->zero[0] : 0.0) : 0;
}

/* The bias counts in steps of the scales of x and of the weights. */
static uint32_t quantized_bias(const struct cc_onnx_node *n, const struct steps *x, const struct steps *w)
{
    uint32_t rank, dims[CC_RANK_MAX] = {0};
    float *data = cc_onnx_floats(n, 8, &rank, dims);

    if (!data || rank != 1 || (w->count != 1 && w->count != dims[0])) {
        base_free(data);
        cc_build_refuse(n->b, "the bias has rank %u, expected one number per channel", data ? rank : 0);
        return 0;
    }
    for (uint32_t i = 0; i < dims[0]; i++)
        data[i] *= x->scale[0] * w->scale[w->count == 1 ? 0 : i];
    return cc_build_const(n->b, CC_FP32, 1, dims, data) + 1;
}

void cc_onnx_op_qlinear_conv(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct steps xs = {0}, ws = {0}, ys = {0};
    uint32_t x = activation(n, 0, &xs), weight = 0, bias = 0, made;

    if (!n->b->status && read_steps(n, 4, 5, &ws))
        weight = dequantized(n, 3, &ws, 0);
    if (!n->b->status && cc_onnx_has(n, 8))
        bias = quantized_bias(n, &xs, &ws);
    if (!n->b->status && read_steps(n, 6, 7, &ys)) {
        made = cc_onnx_convolution(n, kind, x, weight, bias);
        if (!n->b->status)
            quantized(n, made, &ys, 7);
    }
    release_steps(&xs);
    release_steps(&ws);
    release_steps(&ys);
}

void cc_onnx_op_qlinear_matmul(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct steps as = {0}, bs = {0}, ys = {0};
    uint32_t a = activation(n, 0, &as), b = n->b->status ? 0 : activation(n, 3, &bs);

    if (!n->b->status && read_steps(n, 6, 7, &ys))
        quantized(n, cc_onnx_binary(n, kind, a, b), &ys, 7);
    release_steps(&as);
    release_steps(&bs);
    release_steps(&ys);
}
