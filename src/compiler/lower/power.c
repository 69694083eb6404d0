/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pow. A constant integer exponent is a chain of products, which gives negative bases the right sign;
 * exponents of 0.5 and -0.5 are tables. Every other power is 2^(y log2 |x|) with the sign computed
 * separately. A negative base with an exponent that is not an integer is indeterminate, and the result is +0
 * by the engine's rule for indeterminate forms.
 */
#include <math.h>

#include "compiler/half.h"
#include "compiler/lower/family.h"
#include "compiler/lower/neural.h"
#include "compiler/lower/planar.h"
#include "program/activation.h"

static int product(struct cc_lowering *l, const struct cc_view *a, const struct cc_view *b,
                   const struct cc_view *y)
{
    return cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MUL}, a, b, y);
}

static int to_scratch(struct cc_lowering *l, const struct cc_table *table, uint16_t scale,
                      const struct cc_view *x, struct cc_view *y)
{
    int status = cc_view_scratch(l, x->extent, y);

    return status ? status : cc_emit_move(l, x, y, &(struct cc_neural){.table = table, .scale = scale});
}

/* y = 1. */
static int ones(struct cc_lowering *l, const struct cc_view *y)
{
    struct cc_view one;
    int status = cc_view_scalar(l, PR_HALF_ONE, &one);

    return status ? status : cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_ADD}, &one, NULL, y);
}

/*
 * One step of a chain of products, to the result if it is the last, else to a buffer. `factor` NULL: a
 * square.
 */
static int chain(struct cc_lowering *l, struct cc_view *power, const struct cc_view *factor, bool last,
                 const struct cc_view *y)
{
    struct cc_view next = *y;
    int status = last ? 0 : cc_view_scratch(l, y->extent, &next);

    if (!status && factor)
        status = product(l, power, factor, &next);
    else if (!status)
        status = cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_SQUARE_OF_SUM}, power, NULL, &next);
    *power = next;
    return status;
}

/*
 * x^n by squaring and multiplying, from the highest bit of n. No intermediate power overflows or underflows
 * before the result does.
 */
static int whole_power(struct cc_lowering *l, const struct cc_view *x, uint32_t n, const struct cc_view *y)
{
    struct cc_view power = *x;
    uint32_t bit = 1;
    int status = 0;

    if (n == 1)
        return cc_emit_move(l, x, y, NULL);
    while (bit <= n / 2)
        bit *= 2;
    while (bit > 1 && !status) {
        bit /= 2;
        status = chain(l, &power, NULL, bit == 1 && !(n & 1), y);
        if (!status && n & bit)
            status = chain(l, &power, x, bit == 1, y);
    }
    return status;
}

static int reciprocal(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y)
{
    struct cc_table table = cc_table_curve(CC_CURVE_RECIPROCAL);

    return cc_emit_move(l, x, y, &(struct cc_neural){.table = &table});
}

/*
 * The reciprocal of x^n. A power that underflows to 0 has lost its sign, so an odd n is computed as 1 /
 * x^(n-1) times 1 / x.
 */
static int negative_power(struct cc_lowering *l, const struct cc_view *x, uint32_t n, const struct cc_view *y)
{
    struct cc_view power, even = *y, single;
    int status;

    if (n == 1)
        return reciprocal(l, x, y);
    status = cc_view_scratch(l, y->extent, &power);
    if (!status)
        status = whole_power(l, x, n & ~1u, &power);
    if (!status && n & 1)
        status = cc_view_scratch(l, y->extent, &even);
    if (!status)
        status = reciprocal(l, &power, &even);
    if (status || !(n & 1))
        return status;
    status = cc_view_scratch(l, y->extent, &single);
    if (!status)
        status = reciprocal(l, x, &single);
    return status ? status : product(l, &even, &single, y);
}

/*
 * The public table, except that log2(+inf) is +inf. The public table has 0 there, which would make every
 * power of an infinity 1.
 */
static struct cc_table logarithm(void)
{
    struct cc_table table = cc_table_curve(CC_CURVE_LOG2);

    table.half[PR_AT_ABOVE] = PR_HALF_INFINITE;
    return table;
}

/* An exponent that is not an integer: the result is 0 where x is negative. */
static int fractional_power(struct cc_lowering *l, const struct cc_view *x, uint16_t exponent,
                            const struct cc_view *y)
{
    struct cc_table log2 = logarithm(), exp2 = cc_table_curve(CC_CURVE_EXP2);
    struct cc_table root =
        cc_table_curve(exponent & PR_HALF_SIGN ? CC_CURVE_RSQRT : CC_CURVE_SQRT); /* 0 below 0 */
    struct cc_view t, s, mask;
    int status;

    if ((exponent & ~PR_HALF_SIGN) == PR_HALF_ONE_HALF)
        return cc_emit_move(l, x, y, &(struct cc_neural){.table = &root});
    status = to_scratch(l, &log2, 0, x, &t);
    if (!status)
        status = to_scratch(l, &exp2, exponent, &t, &s);
    if (!status)
        status = cc_view_scratch(l, y->extent, &mask);
    if (!status)
        status = cc_emit_planar(l, &(struct cc_planar){.compare = PR_PE_GREATER_EQUAL}, x, NULL, &mask);
    return status ? status : product(l, &s, &mask, y);
}

static int known_power(struct cc_lowering *l, const struct cc_view *x, uint16_t half, const struct cc_view *y)
{
    float exponent = cc_float_of_half(half), size = fabsf(exponent);

    if (!isfinite(exponent))
        return cc_refuse(l, "its exponent is %g; expected a finite number", (double)exponent);
    if (exponent == 0)
        return ones(l, y);
    if (size != floorf(size))
        return fractional_power(l, x, half, y);
    return exponent > 0 ? whole_power(l, x, (uint32_t)size, y) : negative_power(l, x, (uint32_t)size, y);
}

/*
 * For each exponent a value c, so that a negative base has the factor 1 - c: 0 for even, 2 for odd, 1 for an
 * exponent that is not an integer.
 */
static int parity(struct cc_lowering *l, const struct cc_view *exponent, struct cc_view *parity)
{
    struct cc_table fraction = cc_table_curve(CC_CURVE_FRACTION), differs = cc_table_not_zero(PR_HALF_ONE);
    struct cc_view t, s, odd, broken;
    int status = to_scratch(l, &fraction, 0, exponent, &t);

    if (!status)
        status = to_scratch(l, &differs, 0, &t, &broken);
    if (!status)
        status = to_scratch(l, &fraction, PR_HALF_ONE_HALF, exponent, &s);
    if (!status)
        status = to_scratch(l, &differs, 0, &s, &odd);
    if (!status)
        status = cc_view_scratch(l, exponent->extent, parity);
    return status ? status
                  : cc_emit_planar(l, &(struct cc_planar){.pre_scale = PR_HALF_TWO, .flags = PR_E5_SUBTRACT2},
                                   &odd, &broken, parity);
}

/* y = power times the factor that a negative base needs. */
static int give_sign(struct cc_lowering *l, const struct cc_view *base, const struct cc_view *exponent,
                     const struct cc_view *power, const struct cc_view *y)
{
    struct cc_view off, negative, factor;
    int status = parity(l, exponent, &off);

    if (!status)
        status = cc_view_scratch(l, base->extent, &negative);
    if (!status)
        status = cc_emit_planar(l, &(struct cc_planar){.compare = PR_PE_GREATER, .flags = PR_E5_SUBTRACT1},
                                base, NULL, &negative);
    if (!status)
        status = cc_view_scratch(l, y->extent, &factor);
    if (!status)
        status = cc_emit_planar(
            l, &(struct cc_planar){.op = PR_PE_MUL, .scale = PR_HALF_MINUS_ONE, .bias = PR_HALF_ONE},
            &negative, &off, &factor);
    return status ? status : product(l, power, &factor, y);
}

/*
 * 2^(exponent * log2(base)) of a base that is not negative. An exponent of 0 gives 1 even where the logarithm
 * is infinite: there the logarithm is replaced by a finite one, so that the product is 0.
 */
static int positive_power(struct cc_lowering *l, const struct cc_view *base, const struct cc_view *exponent,
                          const struct cc_view *y)
{
    struct cc_table log2 = logarithm(), exp2 = cc_table_curve(CC_CURVE_EXP2),
                    lowest = cc_table_not_zero(PR_HALF_MINUS_INFINITE);
    struct cc_view t, floor, s, kept;
    int status = to_scratch(l, &log2, 0, base, &t);

    if (!status)
        status = to_scratch(l, &lowest, 0, exponent, &floor);
    if (!status)
        status = cc_view_scratch(l, y->extent, &kept);
    if (!status)
        status = cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MAX}, &t, &floor, &kept);
    if (!status)
        status = cc_view_scratch(l, y->extent, &s);
    if (!status)
        status = product(l, &kept, exponent, &s);
    return status ? status : cc_emit_move(l, &s, y, &(struct cc_neural){.table = &exp2});
}

/* A constant without a negative element. */
static bool never_negative(const struct cc_lowering *l, uint32_t value)
{
    const struct cc_value *v = cc_value_of(l, value);
    const uint16_t *values = cc_data(l, value);
    size_t count = v->bytes / cc_type_bytes(v->type);

    for (size_t i = 0; values && i < count; i++)
        if (cc_float_of_half(values[i]) < 0)
            return false;
    return values != NULL;
}

int cc_lower_power(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    struct cc_view x, exponent, y, size, power;
    int status = cc_view_result(l, step->output, &y);

    if (!status)
        status = cc_view_source(l, op->input[0], &x);
    if (status)
        return status;
    if (cc_is_constant(l, op->input[0]) && cc_is_constant(l, op->input[1]))
        return cc_refuse(l, "both operands are constants; compute the result before compiling");
    if (cc_is_scalar(l, op->input[1]))
        return known_power(l, &x, cc_data(l, op->input[1])[0], &y);
    status = cc_view_source(l, op->input[1], &exponent);
    if (!status && never_negative(l, op->input[0]))
        return positive_power(l, &x, &exponent, &y);
    if (!status)
        status = cc_view_scratch(l, x.extent, &size);
    if (!status)
        status = cc_emit_planar(l, &(struct cc_planar){.flags = PR_E5_ABS}, &x, NULL, &size);
    if (!status)
        status = cc_view_scratch(l, y.extent, &power);
    if (!status)
        status = positive_power(l, &size, &exponent, &power);
    return status ? status : give_sign(l, &x, &exponent, &power, &y);
}
