/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of one operand: a table in a neural task, or the registers of the planar engine, or several of
 * both.
 */
#include <math.h>

#include "compiler/half.h"
#include "compiler/lower/activation.h"
#include "compiler/lower/family.h"
#include "compiler/lower/neural.h"
#include "compiler/lower/planar.h"
#include "compiler/lower/trigonometry.h"

/* y = table(before * (x + bias)). */
static int by_table(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y,
                    const struct cc_table *table, uint16_t before, uint16_t bias)
{
    struct cc_neural pass = {.table = table, .scale = before, .bias = bias};

    return cc_emit_move(l, x, y, &pass);
}

static int by_curve(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y,
                    enum cc_curve curve, uint16_t before, uint16_t bias)
{
    struct cc_table table = cc_table_curve(curve);

    return by_table(l, x, y, &table, before, bias);
}

static int by_pieces(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y,
                     const struct cc_pieces *pieces)
{
    struct cc_table table = cc_table_pieces(pieces);

    return by_table(l, x, y, &table, 0, 0);
}

static int by_planar(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y,
                     const struct cc_planar *how)
{
    return cc_emit_planar(l, how, x, NULL, y);
}

/* log2, and the change of base behind it. */
static int logarithm(struct cc_lowering *l, const struct cc_op *op, const struct cc_view *x,
                     const struct cc_view *y)
{
    struct cc_view t;
    int status = cc_view_scratch(l, y->extent, &t);

    if (!status)
        status = by_curve(l, x, &t, CC_CURVE_LOG2, 0, cc_half_of_float(op->a.epsilon));
    return status ? status : by_planar(l, &t, y, &(struct cc_planar){.scale = PR_HALF_LN_2});
}

static int floor_or_ceil(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y, bool up)
{
    struct cc_table fraction = cc_table_curve(CC_CURVE_FRACTION), whole = cc_table_curve(CC_CURVE_TRUNCATE);
    struct cc_table step = cc_table_step(up ? CC_STEP_POSITIVE : CC_STEP_NEGATIVE);
    struct cc_view t, s;
    int status = cc_view_scratch(l, y->extent, &t);

    if (!status)
        status = cc_view_scratch(l, y->extent, &s);
    if (!status)
        status = by_table(l, x, &t, &fraction, 0, 0);
    if (!status)
        status = by_table(l, &t, &s, &step, 0, 0);
    if (!status)
        status = by_table(l, x, &t, &whole, 0, 0);
    if (status)
        return status;
    return cc_emit_planar(l, &(struct cc_planar){.flags = up ? 0 : PR_E5_SUBTRACT2}, &t, &s, y);
}

/*
 * log(1 + e^x) = max(x, 0) + ln 2 * log2(1 + 2^(-|x| log2 e)): no table of 33 knots is as close. The chip is
 * measured to give +0 at infinity, so the table of max(x, 0) does.
 */
static int softplus(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y)
{
    struct cc_pieces ramp = {0, PR_HALF_INFINITE, 0, 0, 0, PR_HALF_ONE, 0};
    struct cc_view t, s;
    int status = cc_view_scratch(l, y->extent, &t);

    if (!status)
        status = cc_view_scratch(l, y->extent, &s);
    if (!status)
        status = by_planar(l, x, &t, &(struct cc_planar){.flags = PR_E5_ABS});
    if (!status)
        status = by_curve(l, &t, &s, CC_CURVE_EXP2, PR_HALF_SIGN | PR_HALF_LOG2_E, 0);
    if (!status)
        status = by_curve(l, &s, &t, CC_CURVE_LOG2, 0, PR_HALF_ONE);
    if (!status)
        status = by_pieces(l, x, &s, &ramp);
    return status ? status : cc_emit_planar(l, &(struct cc_planar){.pre_scale = PR_HALF_LN_2}, &t, &s, y);
}

static int softsign(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y)
{
    struct cc_view t, s;
    int status = cc_view_scratch(l, y->extent, &t);

    if (!status)
        status = cc_view_scratch(l, y->extent, &s);
    if (!status)
        status = by_planar(l, x, &t, &(struct cc_planar){.flags = PR_E5_ABS, .bias = PR_HALF_ONE});
    if (!status)
        status = by_curve(l, &t, &s, CC_CURVE_RECIPROCAL, 0, 0);
    return status ? status : cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MUL}, x, &s, y);
}

/* x sigmoid(1.702 x) has no public table; the other two forms share one. */
static int gelu(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y)
{
    struct cc_view t;
    int status = cc_view_scratch(l, y->extent, &t);

    if (!status)
        status = by_curve(l, x, &t, CC_CURVE_SIGMOID, cc_half_of_float(1.702f), 0);
    return status ? status : cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MUL}, x, &t, y);
}

/* y = number, whatever x is. A scale register cannot do it: 0 there means 1. */
static int fill(struct cc_lowering *l, float number, const struct cc_view *y)
{
    struct cc_view scalar;
    int status = cc_view_scalar(l, cc_half_of_float(number), &scalar);

    return status ? status : by_planar(l, &scalar, y, &(struct cc_planar){.op = PR_PE_ADD});
}

static bool is_zero(uint16_t half)
{
    return !(half & ~PR_HALF_SIGN);
}

/*
 * The nearest integer, halves to the even one. x is 2 t + g with t = trunc(x / 2) and |g| < 2, both exact.
 * The sum of g and 1536 is rounded to fp16, whose values are 1 apart there: this rounds g as wanted, since
 * 1536 is even. Every value after it is exact.
 */
static int round_to_even(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y)
{
    const uint16_t middle = cc_half_of_float(1536);
    struct cc_view t, g, whole;
    int status = cc_view_scratch(l, y->extent, &t);

    if (!status)
        status = cc_view_scratch(l, y->extent, &g);
    if (!status)
        status = cc_view_scratch(l, y->extent, &whole);
    if (!status)
        status = by_curve(l, x, &t, CC_CURVE_FRACTION, PR_HALF_ONE_HALF, 0);
    if (!status)
        status = by_planar(l, &t, &g, &(struct cc_planar){.scale = PR_HALF_TWO, .bias = middle});
    if (!status)
        status = by_curve(l, x, &whole, CC_CURVE_TRUNCATE, PR_HALF_ONE_HALF, 0);
    return status
               ? status
               : cc_emit_planar(l,
                                &(struct cc_planar){.pre_scale = PR_HALF_TWO, .bias = middle | PR_HALF_SIGN},
                                &whole, &g, y);
}

static int scaled_tanh(struct cc_lowering *l, const struct cc_op *op, const struct cc_view *x,
                       const struct cc_view *y)
{
    uint16_t alpha = cc_half_of_float(op->a.alpha), beta = cc_half_of_float(op->a.beta);
    struct cc_view t;
    int status;

    if (is_zero(alpha) || is_zero(beta))
        return fill(l, 0, y);
    status = cc_view_scratch(l, y->extent, &t);
    if (!status)
        status = by_curve(l, x, &t, CC_CURVE_TANH, beta, 0);
    return status ? status : by_planar(l, &t, y, &(struct cc_planar){.scale = alpha});
}

/* min(max(alpha x + beta, 0), 1): a ReLU, then a minimum. */
static int sigmoid_hard(struct cc_lowering *l, const struct cc_op *op, const struct cc_view *x,
                        const struct cc_view *y)
{
    uint16_t alpha = cc_half_of_float(op->a.alpha);
    struct cc_pieces minimum = {PR_HALF_MINUS_INFINITE,
                                PR_HALF_ONE,
                                PR_HALF_MINUS_INFINITE,
                                PR_HALF_ONE,
                                PR_HALF_ONE,
                                PR_HALF_ONE,
                                0};
    struct cc_view t;
    int status;

    if (is_zero(alpha))
        return fill(l, fminf(fmaxf(op->a.beta, 0), 1), y);
    status = cc_view_scratch(l, y->extent, &t);
    if (!status)
        status = by_planar(
            l, x, &t,
            &(struct cc_planar){.scale = alpha, .bias = cc_half_of_float(op->a.beta), .flags = PR_E5_RELU});
    return status ? status : by_pieces(l, &t, y, &minimum);
}

static int lower_view(struct cc_lowering *l, const struct cc_op *op, const struct cc_view *x,
                      const struct cc_view *y)
{
    uint16_t epsilon = cc_half_of_float(op->a.epsilon), scale;
    struct cc_table table;

    if (cc_activation_table(op, &table, &scale))
        return by_table(l, x, y, &table, scale, 0);
    switch (op->kind) {
    case CC_OP_LOG: return logarithm(l, op, x, y);
    case CC_OP_RSQRT: return by_curve(l, x, y, CC_CURVE_RSQRT, 0, epsilon);
    case CC_OP_INVERSE: return by_curve(l, x, y, CC_CURVE_RECIPROCAL, 0, epsilon);
    case CC_OP_GELU: return gelu(l, x, y);
    case CC_OP_ABS: return by_planar(l, x, y, &(struct cc_planar){.flags = PR_E5_ABS});
    case CC_OP_SQUARE: return by_planar(l, x, y, &(struct cc_planar){.op = PR_PE_SQUARE_OF_SUM});
    case CC_OP_CEIL: return floor_or_ceil(l, x, y, true);
    case CC_OP_FLOOR: return floor_or_ceil(l, x, y, false);
    case CC_OP_SOFTPLUS: return softplus(l, x, y);
    case CC_OP_SOFTSIGN: return softsign(l, x, y);
    case CC_OP_SIGMOID_HARD: return sigmoid_hard(l, op, x, y);
    case CC_OP_SCALED_TANH: return scaled_tanh(l, op, x, y);
    case CC_OP_LINEAR_ACTIVATION:
        if (is_zero(cc_half_of_float(op->a.alpha)))
            return fill(l, op->a.beta, y);
        return by_planar(l, x, y,
                         &(struct cc_planar){.scale = cc_half_of_float(op->a.alpha),
                                             .bias = cc_half_of_float(op->a.beta)});
    case CC_OP_ROUND: return round_to_even(l, x, y);
    case CC_OP_SIN: return cc_emit_sine(l, x, y);
    case CC_OP_COS: return cc_emit_cosine(l, x, y);
    case CC_OP_ATAN: return cc_emit_arc(l, x, y);
    default: return cc_refuse(l, "the engine has no form of this operation");
    }
}

int cc_lower_unary(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    struct cc_view x, y;
    int status = cc_view_source(l, op->input[0], &x);

    if (!status)
        status = cc_view_result(l, step->output, &y);
    return status ? status : lower_view(l, op, &x, &y);
}

int cc_lower_relu(struct cc_lowering *l, const struct cc_step *step)
{
    struct pr_e5_operand to;
    struct cc_layout layout;
    int status = cc_result(l, step->output, &to, &layout);

    return status ? status : cc_emit_copy(l, step->op->input[0], &to, &(struct cc_neural){.relu = true});
}
