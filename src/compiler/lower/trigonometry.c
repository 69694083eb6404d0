/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public tables of the M1 have no sine. Here k pi is subtracted from x, where k is the integer nearest to
 * x / pi, a table of the sine from 0 to 2 is applied, and the sign is that of the parity of k.
 *
 * k is kept as k + 1536, the fp16 value that the sum with 1536 is rounded to: fp16 values are 1 apart there.
 * pi is the sum of two fp16 numbers. The first has 8 bits, so that x - HIGH k is an fp16 value: no bit of x
 * is lost. 1536 times either is an fp16 value too, so that it fits a bias register.
 *
 * k need not be the nearest integer: the table reaches to 2, which is more than pi / 2. So 1 / pi may be
 * rounded to fp16.
 */
#include "compiler/lower/trigonometry.h"

#include "compiler/half.h"
#include "compiler/lower/neural.h"
#include "compiler/lower/planar.h"
#include "program/activation.h"

enum { MIDDLE = 1536 };
static const float PI = 3.14159265f, HIGH = 201.0f / 64, LOW = 507.0f / (1 << 19);

/* sin(x - shift), where `shift` is 0 or pi / 2; `sign` 1, or -1 for its negative. */
static int sine_of(struct cc_lowering *l, const struct cc_view *x, float shift, float sign,
                   const struct cc_view *y)
{
    const struct cc_planar nearest = {.scale = cc_half_of_float(1 / PI), .bias = cc_half_of_float(MIDDLE)},
                           high = {.pre_scale = cc_half_of_float(-HIGH),
                                   .bias = cc_half_of_float(MIDDLE * HIGH)},
                           low = {.pre_scale = cc_half_of_float(-LOW),
                                  .bias = cc_half_of_float(MIDDLE * LOW - shift)},
                           parity = {.scale = cc_half_of_float(-4 * sign), .bias = cc_half_of_float(sign)};
    struct cc_table sine = cc_table_sine(), fraction = cc_table_curve(CC_CURVE_FRACTION);
    struct cc_view k, a, b, start = {0}, *from = shift > 0 ? &start : NULL;
    int status = cc_view_scratch(l, y->extent, &k);

    if (!status)
        status = cc_view_scratch(l, y->extent, &a);
    if (!status)
        status = cc_view_scratch(l, y->extent, &b);
    if (!status && from)
        status = cc_view_scalar(l, cc_half_of_float(-shift), from);
    if (!status)
        status = cc_emit_planar(l, &nearest, x, from, &k);
    if (!status)
        status = cc_emit_planar(l, &high, &k, x, &a);
    if (!status)
        status = cc_emit_planar(l, &low, &k, &a, &b);
    if (!status)
        status = cc_emit_move(l, &b, &a, &(struct cc_neural){.table = &sine});
    /* 0 for an even k, 0.5 for an odd one. */
    if (!status)
        status = cc_emit_move(l, &k, &b, &(struct cc_neural){.table = &fraction, .scale = PR_HALF_ONE_HALF});
    if (!status)
        status = cc_emit_planar(l, &parity, &b, NULL, &k);
    return status ? status : cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MUL}, &a, &k, y);
}

int cc_emit_sine(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y)
{
    return sine_of(l, x, 0, 1, y);
}

/* -sin(x - pi / 2). */
int cc_emit_cosine(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y)
{
    return sine_of(l, x, PI / 2, -1, y);
}

/*
 * atan(x) = atan(min(|x|, 1)) + (pi / 4 - atan(min(1 / |x|, 1))) for positive x, and odd. Both terms are odd
 * tables that end at 1. The reciprocal of an infinity would lose its sign, so it is the smallest number.
 */
int cc_emit_arc(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y)
{
    struct cc_table near = cc_table_arc(), far = cc_table_arc_rest(),
                    reciprocal = cc_table_curve(CC_CURVE_RECIPROCAL);
    struct cc_view a, b;
    int status = cc_view_scratch(l, y->extent, &a);

    reciprocal.half[PR_AT_ABOVE] = PR_HALF_SMALLEST;
    if (!status)
        status = cc_view_scratch(l, y->extent, &b);
    if (!status)
        status = cc_emit_move(l, x, &a, &(struct cc_neural){.table = &reciprocal});
    if (!status)
        status = cc_emit_move(l, &a, &b, &(struct cc_neural){.table = &far});
    if (!status)
        status = cc_emit_move(l, x, &a, &(struct cc_neural){.table = &near});
    return status ? status : cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_ADD}, &a, &b, y);
}
