/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that are one activation table. A piecewise linear operation is two lines with a clamp at each
 * end; the ends belong to the clamps, so a bound that excludes its end moves by one fp16 value. A fused table
 * gets values that are not rounded to fp16, so cc_activation_fuses leaves out those that count on it.
 */
#include "compiler/lower/activation.h"

#include "base/array.h"
#include "compiler/half.h"

/* The largest fp16 value below this one; there is none below -inf. */
static uint16_t half_before(uint16_t half)
{
    if (half == PR_HALF_MINUS_INFINITE)
        return half;
    if (!(half & ~PR_HALF_SIGN))
        return PR_HALF_SIGN | 1;
    return half & PR_HALF_SIGN ? half + 1 : half - 1;
}

/*
 * For a negative alpha: the fp16 value nearest to 0 for which alpha x >= beta. The product of two fp16 values
 * is exact in double precision, so the search is exact; it starts at most one fp16 value away from the
 * result.
 */
static uint16_t last_clamped(uint16_t alpha, uint16_t beta)
{
    double slope = (double)cc_float_of_half(alpha), top = (double)cc_float_of_half(beta);
    uint16_t half = cc_half_of_float((float)(top / slope)) | PR_HALF_SIGN;

    while (half < PR_HALF_MINUS_INFINITE && slope * (double)cc_float_of_half(half) < top)
        half++;
    while (half > PR_HALF_SIGN && slope * (double)cc_float_of_half(half - 1) >= top)
        half--;
    return half;
}

/*
 * min(beta, x >= 0 ? x : alpha x), beta >= 0. With a negative alpha the clamp at beta applies on both sides.
 */
static void clamp_both_sides(struct cc_pieces *p, uint16_t alpha, uint16_t beta)
{
    p->above = p->y_above = beta;
    p->negative = alpha;
    if (!(alpha & PR_HALF_SIGN))
        return;
    p->y_below = beta;
    if (alpha != PR_HALF_SIGN)
        p->below = last_clamped(alpha, beta);
}

/*
 * Operations that are two linear pieces; false for any other, and for a clamp that one table cannot express.
 */
static bool pieces_of(const struct cc_op *op, struct cc_pieces *p)
{
    uint16_t alpha = cc_half_of_float(op->a.alpha), beta = cc_half_of_float(op->a.beta);

    *p = (struct cc_pieces){PR_HALF_MINUS_INFINITE,
                            PR_HALF_INFINITE,
                            PR_HALF_MINUS_INFINITE,
                            PR_HALF_INFINITE,
                            PR_HALF_ONE,
                            PR_HALF_ONE,
                            0};
    switch (op->kind) {
    case CC_OP_RELU6:
        p->below = p->y_below = 0;
        p->above = p->y_above = cc_half_of_float(6);
        break;
    case CC_OP_CLIP:
        p->below = p->y_below = alpha;
        p->above = p->y_above = beta;
        break;
    case CC_OP_THRESHOLD: p->below = p->y_below = alpha; break;
    case CC_OP_THRESHOLDED_RELU:
        /* The clamp includes its end. */
        p->below = half_before(alpha);
        p->y_below = 0;
        break;
    case CC_OP_CLAMPED_RELU: clamp_both_sides(p, alpha, beta); break;
    case CC_OP_LEAKY_RELU: p->negative = alpha; break;
    default: return false;
    }
    /* The result for x = -inf follows from the slope below 0. */
    if (p->y_below == PR_HALF_MINUS_INFINITE && p->negative & PR_HALF_SIGN)
        p->y_below = PR_HALF_INFINITE;
    if (p->y_below == PR_HALF_MINUS_INFINITE && !p->negative)
        p->y_below = 0;
    return op->kind != CC_OP_CLAMPED_RELU || op->a.beta >= 0;
}

bool cc_activation_table(const struct cc_op *op, struct cc_table *table, uint16_t *scale)
{
    static const struct {
        enum cc_op_kind kind;
        enum cc_curve curve;
    } known[] = {{CC_OP_SIGMOID, CC_CURVE_SIGMOID}, {CC_OP_TANH, CC_CURVE_TANH}, {CC_OP_ERF, CC_CURVE_ERF},
                 {CC_OP_EXP, CC_CURVE_EXP2},        {CC_OP_EXP2, CC_CURVE_EXP2}, {CC_OP_SQRT, CC_CURVE_SQRT},
                 {CC_OP_SIGN, CC_CURVE_SIGN},       {CC_OP_SILU, CC_CURVE_SILU}, {CC_OP_GELU, CC_CURVE_GELU}};
    struct cc_pieces pieces;

    *scale = op->kind == CC_OP_EXP ? PR_HALF_LOG2_E : 0;
    if (op->kind == CC_OP_GELU && op->a.gelu == CC_GELU_SIGMOID)
        return false;
    for (unsigned i = 0; i < BASE_COUNT_OF(known); i++)
        if (op->kind == known[i].kind) {
            *table = cc_table_curve(known[i].curve);
            return true;
        }
    if (op->kind == CC_OP_ELU)
        *table = cc_table_elu(op->a.alpha, 1);
    else if (op->kind == CC_OP_SELU)
        *table = cc_table_elu(op->a.alpha * op->a.beta, op->a.beta);
    else if (pieces_of(op, &pieces))
        *table = cc_table_pieces(&pieces);
    else
        return false;
    return true;
}

bool cc_activation_fuses(const struct cc_op *op)
{
    struct cc_table table;
    uint16_t scale;

    if (op->kind == CC_OP_THRESHOLDED_RELU || (op->kind == CC_OP_CLAMPED_RELU && op->a.alpha < 0))
        return false;
    return cc_activation_table(op, &table, &scale);
}
