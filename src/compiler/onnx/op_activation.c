/* SPDX-License-Identifier: Apache-2.0 */
/* Activations with parameters, and those that are composed of others. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/half.h"
#include "compiler/onnx/op.h"

static uint32_t scaled(const struct cc_onnx_node *n, uint32_t x, float factor)
{
    return factor == 1 ? x : cc_onnx_binary(n, CC_OP_MUL, x, cc_onnx_scalar(n, factor));
}

/* Defaults are those of the specification; beta is gamma for Selu. */
void cc_onnx_op_activation(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct cc_attributes a = {0};

    switch (kind) {
    case CC_OP_ELU: a.alpha = cc_onnx_float(n, "alpha", 1.0f); break;
    case CC_OP_LEAKY_RELU: a.alpha = cc_onnx_float(n, "alpha", 0.01f); break;
    case CC_OP_SELU:
        a.alpha = cc_onnx_float(n, "alpha", 1.67326319217681884765625f);
        a.beta = cc_onnx_float(n, "gamma", 1.05070102214813232421875f);
        break;
    case CC_OP_SIGMOID_HARD:
        a.alpha = cc_onnx_float(n, "alpha", 0.2f);
        a.beta = cc_onnx_float(n, "beta", 0.5f);
        break;
    default: /* HARD_SWISH */
        a.alpha = 1.0f / 6;
        a.beta = 0.5f;
        break;
    }
    cc_onnx_result(n, 0, cc_onnx_unary(n, kind, cc_onnx_operand(n, 0), &a));
}

/* ONNX keeps x > alpha, the graph x >= alpha: alpha becomes the next fp16 number above it. */
void cc_onnx_op_thresholded(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct cc_attributes a = {.alpha = cc_onnx_float(n, "alpha", 1.0f)};
    uint16_t half = cc_half_of_float(a.alpha);

    if (cc_float_of_half(half) <= a.alpha)
        half = half == 0x8000 || half == 0 ? 1 : (uint16_t)(half & 0x8000 ? half - 1 : half + 1);
    a.alpha = cc_float_of_half(half);
    cc_onnx_result(n, 0, cc_onnx_unary(n, kind, cc_onnx_operand(n, 0), &a));
}

/* min(max(x, low), high) with bounds that are not both constant, or whole numbers. */
static uint32_t clip_by_pairs(const struct cc_onnx_node *n, uint32_t x)
{
    if (cc_onnx_has(n, 1))
        x = cc_onnx_binary(n, CC_OP_MAXIMUM, x, cc_onnx_operand(n, 1));
    if (cc_onnx_has(n, 2))
        x = cc_onnx_binary(n, CC_OP_MINIMUM, x, cc_onnx_operand(n, 2));
    return x;
}

static uint32_t clip(const struct cc_onnx_node *n, uint32_t x, float low, float high)
{
    struct cc_attributes a = {.alpha = low, .beta = high};

    if (low > high)
        return cc_onnx_binary(n, CC_OP_MINIMUM, cc_onnx_binary(n, CC_OP_MAXIMUM, x, cc_onnx_scalar(n, low)),
                              cc_onnx_scalar(n, high));
    if (low == 0 && high == INFINITY)
        return cc_onnx_unary(n, CC_OP_RELU, x, NULL);
    if (low == 0 && high == 6)
        return cc_onnx_unary(n, CC_OP_RELU6, x, NULL);
    return low == -INFINITY && high == INFINITY ? x : cc_onnx_unary(n, CC_OP_CLIP, x, &a);
}

/* The largest and smallest floats are how exporters write that there is no bound. */
static float bound(double given)
{
    float number = (float)given;

    return number >= 3.4028234e38f ? INFINITY : number <= -3.4028234e38f ? -INFINITY : number;
}

void cc_onnx_op_clip(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0);
    float low = -INFINITY, high = INFINITY;

    (void)kind;
    if (n->opset < 11) {
        low = bound((double)cc_onnx_float(n, "min", low));
        high = bound((double)cc_onnx_float(n, "max", high));
    } else {
        bool fixed = (!cc_onnx_has(n, 1) || cc_onnx_is_constant(n, cc_onnx_operand(n, 1))) &&
                     (!cc_onnx_has(n, 2) || cc_onnx_is_constant(n, cc_onnx_operand(n, 2)));

        if (!fixed || cc_onnx_shape(n, x)->type == CC_INT32) {
            cc_onnx_result(n, 0, clip_by_pairs(n, x));
            return;
        }
        if (cc_onnx_has(n, 1))
            low = bound(cc_onnx_number(n, 1, "min"));
        if (cc_onnx_has(n, 2))
            high = bound(cc_onnx_number(n, 2, "max"));
    }
    cc_onnx_result(n, 0, clip(n, x, low, high));
}

/* Whether the slope broadcasts as one number per channel. */
static bool is_per_channel(const struct cc_value *slope, const struct cc_value *x)
{
    if (!slope->data || x->rank < 2 || slope->rank > x->rank)
        return false;
    for (uint32_t i = 0; i < slope->rank; i++) {
        uint32_t axis = x->rank - slope->rank + i;

        if (slope->dim[i] != 1 && axis != 1)
            return false;
        if (axis == 1 && slope->dim[i] != 1 && slope->dim[i] != x->dim[1])
            return false;
    }
    return true;
}

static uint32_t slope_vector(const struct cc_onnx_node *n, uint32_t slope, uint32_t channels)
{
    const struct cc_value *v = cc_onnx_shape(n, slope);
    float *data = n->b->status ? NULL : base_alloc_array(channels, sizeof(*data));

    for (uint32_t i = 0; data && i < channels; i++)
        data[i] = (float)cc_value_number(v, cc_value_elements(v) == 1 ? 0 : i);
    return cc_build_const(n->b, CC_FP32, 1, &channels, data);
}

void cc_onnx_op_prelu(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), slope = cc_onnx_operand(n, 1), zero, negative;

    if (is_per_channel(cc_onnx_shape(n, slope), cc_onnx_shape(n, x)) && !cc_onnx_is_constant(n, x)) {
        struct cc_attributes a = {.weight = slope_vector(n, slope, cc_onnx_shape(n, x)->dim[1]) + 1};

        cc_onnx_result(n, 0, cc_onnx_unary(n, kind, x, &a));
        return;
    }
    zero = cc_onnx_scalar(n, 0);
    negative = cc_onnx_binary(n, CC_OP_MUL, cc_onnx_binary(n, CC_OP_MINIMUM, x, zero), slope);
    cc_onnx_result(n, 0, cc_onnx_binary(n, CC_OP_ADD, cc_onnx_unary(n, CC_OP_RELU, x, NULL), negative));
}

void cc_onnx_op_gelu(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    static const char *const modes[] = {"none", "tanh", NULL};
    struct cc_attributes a = {.gelu = cc_onnx_choice(n, "approximate", modes, "none") ? CC_GELU_TANH
                                                                                      : CC_GELU_EXACT};

    cc_onnx_result(n, 0, cc_onnx_unary(n, kind, cc_onnx_operand(n, 0), &a));
}

/* x tanh(log(1 + e^x)) */
void cc_onnx_op_mish(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), inner = cc_onnx_unary(n, CC_OP_SOFTPLUS, x, NULL);

    cc_onnx_result(n, 0, cc_onnx_binary(n, CC_OP_MUL, x, cc_onnx_unary(n, kind, inner, NULL)));
}

/* alpha times the ELU of x / alpha */
void cc_onnx_op_celu(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    float alpha = cc_onnx_float(n, "alpha", 1.0f);
    uint32_t x = cc_onnx_operand(n, 0);

    if (alpha == 0)
        cc_build_refuse(n->b, "alpha is 0");
    x = cc_onnx_unary(n, kind, scaled(n, x, 1 / alpha), &(struct cc_attributes){.alpha = 1});
    cc_onnx_result(n, 0, scaled(n, x, alpha));
}

/* x / (1 + e^(-alpha x)) */
void cc_onnx_op_swish(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    float alpha = cc_onnx_float(n, "alpha", 1.0f);
    uint32_t x = cc_onnx_operand(n, 0);

    if (alpha == 1)
        cc_onnx_result(n, 0, cc_onnx_unary(n, kind, x, NULL));
    else
        cc_onnx_result(
            n, 0,
            cc_onnx_binary(n, CC_OP_MUL, x, cc_onnx_unary(n, CC_OP_SIGMOID, scaled(n, x, alpha), NULL)));
}

/* x < -lambd: x + bias; x > lambd: x - bias; 0 between */
void cc_onnx_op_shrink(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    float bias = cc_onnx_float(n, "bias", 0.0f), lambd = cc_onnx_float(n, "lambd", 0.5f);
    uint32_t x = cc_onnx_operand(n, 0), low, operands[3];

    operands[0] = cc_onnx_binary(n, CC_OP_LESS, x, cc_onnx_scalar(n, -lambd));
    operands[1] = bias == 0 ? x : cc_onnx_binary(n, CC_OP_ADD, x, cc_onnx_scalar(n, bias));
    operands[2] = cc_onnx_scalar(n, 0);
    low = cc_onnx_add(n, kind, 3, operands, NULL);
    operands[0] = cc_onnx_binary(n, CC_OP_GREATER, x, cc_onnx_scalar(n, lambd));
    operands[1] = bias == 0 ? x : cc_onnx_binary(n, CC_OP_SUB, x, cc_onnx_scalar(n, bias));
    operands[2] = low;
    cc_onnx_result(n, 0, cc_onnx_add(n, kind, 3, operands, NULL));
}
