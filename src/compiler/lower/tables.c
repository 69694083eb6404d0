/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The knots of sigmoid, tanh, gelu, silu, exp2, sqrt, rsqrt, reciprocal, log2, sign, frac and trunc are those
 * of public programs. Those of erf, elu, sine and arc are ours, in the form of public tables.
 */
#include "compiler/lower/tables.h"

#include <math.h>
#include <string.h>

#include "compiler/half.h"
#include "program/activation.h"

enum { KNOTS = (int)PR_ACTIVATION_KNOTS };
enum { NO_SPACING = 0x40, CODE_PLAIN = 1, CODE_BELOW_ZERO = 2, CODE_ODD = 0x60 };

struct curve {
    uint16_t ends[4];
    uint16_t knots[KNOTS];
    uint16_t tails[4];
    uint16_t spacing, code;
};

static const struct curve curves[CC_CURVES] = {
    [CC_CURVE_SIGMOID] = {{0xc8f8, 0x4829, 0x0000, 0x3c00},
                          {0x0d7f, 0x1087, 0x1377, 0x1626, 0x1910, 0x1c2b, 0x1eda, 0x21a0, 0x249b,
                           0x2781, 0x2a12, 0x2cdb, 0x2fa1, 0x31d6, 0x344e, 0x360a, 0x3800, 0x38fb,
                           0x39d9, 0x3a8a, 0x3b0c, 0x3b65, 0x3b9f, 0x3bc4, 0x3bdb, 0x3be9, 0x3bf2,
                           0x3bf8, 0x3bfb, 0x3bfd, 0x3bfe, 0x3bff, 0x3bff},
                          {0x09ac, 0x170c, 0x163e, 0x3be6},
                          1,
                          0x01},
    [CC_CURVE_TANH] = {{0x0000, 0x4400, 0x0000, 0x3c00},
                       {0x0000, 0x2ff5, 0x33d6, 0x35bc, 0x3765, 0x3870, 0x3915, 0x39a2, 0x3a18,
                        0x3a79, 0x3ac9, 0x3b0a, 0x3b3e, 0x3b67, 0x3b88, 0x3ba2, 0x3bb6, 0x3bc6,
                        0x3bd3, 0x3bdd, 0x3be5, 0x3beb, 0x3bef, 0x3bf3, 0x3bf6, 0x3bf8, 0x3bfa,
                        0x3bfb, 0x3bfc, 0x3bfd, 0x3bfe, 0x3bfe, 0x3bff},
                       {0x0000, 0x0000, 0x0000, 0x3c00},
                       3,
                       0x60},
    [CC_CURVE_ERF] = {{0x0000, 0x4400, 0x0000, 0x3c00},
                      {0x0000, 0x307d, 0x346c, 0x3677, 0x382a, 0x38fc, 0x39b0, 0x3a46, 0x3abe,
                       0x3b1b, 0x3b62, 0x3b96, 0x3bbb, 0x3bd4, 0x3be5, 0x3bf0, 0x3bf6, 0x3bfb,
                       0x3bfd, 0x3bfe, 0x3bff, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00,
                       0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00},
                      {0x0000, 0x0000, 0x0000, 0x3c00},
                      3,
                      0x60},
    [CC_CURVE_GELU] = {{0xc466, 0x7c00, 0x0000, 0x7c00},
                       {0x0000, 0x8e8a, 0x9230, 0x9757, 0x9bf0, 0xa011, 0xa3bf, 0xa6ec, 0xa9bf,
                        0xac75, 0xae67, 0xb03d, 0xb11e, 0xb184, 0xb104, 0xaecf, 0x922d, 0x3098,
                        0x357e, 0x389f, 0x3ab8, 0x3c78, 0x3d9a, 0x3eb9, 0x3fd2, 0x4072, 0x40f8,
                        0x417c, 0x41fe, 0x427f, 0x4300, 0x4380, 0x4400},
                       {0x0000, 0x0000, 0x3c00, 0x0000},
                       2,
                       0x01},
    [CC_CURVE_SILU] = {{0xc91a, 0x7c00, 0x0000, 0x7c00},
                       {0x98cd, 0x9c5e, 0x9e65, 0xa0ef, 0xa37b, 0xa5a9, 0xa83b, 0xaa45, 0xac8e,
                        0xae85, 0xb088, 0xb210, 0xb3a9, 0xb470, 0xb460, 0xb284, 0x96fb, 0x34be,
                        0x39d0, 0x3ce4, 0x3f0b, 0x409f, 0x41b7, 0x42cc, 0x43dc, 0x4473, 0x44f8,
                        0x457a, 0x45fc, 0x467e, 0x46fe, 0x477f, 0x47ff},
                       {0x945d, 0xa191, 0x3c00, 0x9c00},
                       1,
                       0x01},
    [CC_CURVE_EXP2] = {{0xce40, 0x4c00, 0x0000, 0x7c00},
                       {0x3c00, 0x3c16, 0x3c2d, 0x3c45, 0x3c5d, 0x3c75, 0x3c8e, 0x3ca8, 0x3cc2,
                        0x3cdc, 0x3cf8, 0x3d14, 0x3d30, 0x3d4d, 0x3d6b, 0x3d89, 0x3da8, 0x3dc8,
                        0x3de8, 0x3e09, 0x3e2b, 0x3e4e, 0x3e71, 0x3e95, 0x3eba, 0x3ee0, 0x3f06,
                        0x3f2e, 0x3f56, 0x3f7f, 0x3fa9, 0x3fd4, 0x4000},
                       {0},
                       5,
                       0x0a},
    [CC_CURVE_LOG2] = {{0x0000, 0x7c00, 0xfc00, 0x0000},
                       {0xbc00, 0xbba5, 0xbb4d, 0xbaf7, 0xbaa4, 0xba53, 0xba04, 0xb9b7, 0xb96d,
                        0xb924, 0xb8dd, 0xb897, 0xb853, 0xb811, 0xb79f, 0xb720, 0xb6a4, 0xb62a,
                        0xb5b3, 0xb53e, 0xb4cb, 0xb45a, 0xb3d8, 0xb2ff, 0xb22a, 0xb159, 0xb08b,
                        0xaf83, 0xadf6, 0xac6f, 0xa9dd, 0xa5d1, 0x0000},
                       {0},
                       6,
                       0xc9},
    [CC_CURVE_SQRT] = {{0x0000, 0x7c00, 0x0000, 0x7c00},
                       {0,      0,      0,      0,      0,      0,      0,      0,      0x39a8,
                        0x3a00, 0x3a53, 0x3aa2, 0x3aee, 0x3b36, 0x3b7c, 0x3bbf, 0x3c00, 0x3c20,
                        0x3c3e, 0x3c5c, 0x3c79, 0x3c95, 0x3cb1, 0x3ccc, 0x3ce6, 0x3d00, 0x3d19,
                        0x3d32, 0x3d4b, 0x3d63, 0x3d7a, 0x3d91, 0x3da8},
                       {0},
                       4,
                       0xc5},
    [CC_CURVE_RSQRT] = {{0x0000, 0x7c00, 0x7c00, 0x0000},
                        {0,      0,      0,      0,      0,      0,      0,      0,      0x3da8,
                         0x3d55, 0x3d0f, 0x3cd3, 0x3c9e, 0x3c70, 0x3c47, 0x3c22, 0x3c00, 0x3bc3,
                         0x3b8b, 0x3b57, 0x3b28, 0x3afc, 0x3ad3, 0x3aac, 0x3a88, 0x3a66, 0x3a47,
                         0x3a29, 0x3a0c, 0x39f1, 0x39d8, 0x39bf, 0x39a8},
                        {0},
                        4,
                        0xc6},
    [CC_CURVE_RECIPROCAL] = {{0x0000, 0x7c00, 0x7c00, 0x0000},
                             {0x4000, 0x3fc2, 0x3f88, 0x3f50, 0x3f1c, 0x3eeb, 0x3ebd, 0x3e90, 0x3e66,
                              0x3e3e, 0x3e18, 0x3df4, 0x3dd1, 0x3db0, 0x3d91, 0x3d72, 0x3d55, 0x3d39,
                              0x3d1f, 0x3d05, 0x3cec, 0x3cd5, 0x3cbe, 0x3ca8, 0x3c92, 0x3c7e, 0x3c6a,
                              0x3c57, 0x3c44, 0x3c32, 0x3c21, 0x3c10, 0x3c00},
                             {0},
                             6,
                             0x67},
    [CC_CURVE_FRACTION] = {{0xfc00, 0x7c00, 0x0000, 0x0000}, {0}, {0}, 0, 0x63},
    [CC_CURVE_TRUNCATE] = {{0xfc00, 0x7c00, 0xfc00, 0x7c00}, {0}, {0}, 5, 0x64},
    [CC_CURVE_SIGN] = {{0x0000, 0x3c00, 0x0000, 0x3c00}, {0}, {0, 0, 0, 0x3c00}, NO_SPACING, CODE_ODD},
};

struct cc_table cc_table_curve(enum cc_curve curve)
{
    const struct curve *c = &curves[curve];
    struct cc_table table = {{0}};

    memcpy(table.half, c->ends, sizeof(c->ends));
    memcpy(table.half + PR_AT_KNOTS, c->knots, sizeof(c->knots));
    memcpy(table.half + PR_AT_LOW_SLOPE, c->tails, sizeof(c->tails));
    table.half[PR_AT_SHIFT] = c->spacing;
    table.half[PR_AT_CODE] = c->code;
    return table;
}

struct cc_table cc_table_pieces(const struct cc_pieces *p)
{
    struct cc_table table = {{p->below, p->above, p->y_below, p->y_above}};

    for (unsigned i = 0; i < KNOTS; i++)
        table.half[PR_AT_KNOTS + i] = p->offset;
    table.half[PR_AT_LOW_SLOPE] = p->negative;
    table.half[PR_AT_LOW_SLOPE + 1] = p->offset;
    table.half[PR_AT_LOW_SLOPE + 2] = p->positive;
    table.half[PR_AT_LOW_SLOPE + 3] = p->offset;
    table.half[PR_AT_SHIFT] = NO_SPACING;
    table.half[PR_AT_CODE] = CODE_PLAIN;
    return table;
}

/*
 * As the public tables of x < 0, x == 0 and x != 0: clamps at the smallest numbers, and tails of the same
 * values.
 */
static struct cc_table levels(uint16_t low, uint16_t high)
{
    struct cc_table table = {{PR_HALF_SIGN | PR_HALF_SMALLEST, PR_HALF_SMALLEST, low, high}};

    table.half[PR_AT_LOW_SLOPE + 1] = low;
    table.half[PR_AT_LOW_SLOPE + 3] = high;
    table.half[PR_AT_SHIFT] = NO_SPACING;
    table.half[PR_AT_CODE] = CODE_PLAIN;
    return table;
}

struct cc_table cc_table_step(enum cc_step_kind kind)
{
    return kind == CC_STEP_NEGATIVE ? levels(PR_HALF_ONE, 0) : levels(0, PR_HALF_ONE);
}

struct cc_table cc_table_not_zero(uint16_t value)
{
    return levels(value, value);
}

struct cc_table cc_table_elu(float alpha, float slope)
{
    enum { SPACING_LOG2 = 2, LOWEST = 8 };
    const uint16_t infinite = slope < 0 ? PR_HALF_MINUS_INFINITE : PR_HALF_INFINITE;
    struct cc_table table = {
        {cc_half_of_float(-LOWEST), PR_HALF_INFINITE, cc_half_of_float(-alpha), infinite}};

    for (int i = 0; i < KNOTS; i++)
        table.half[PR_AT_KNOTS + i] =
            cc_half_of_float(alpha * expm1f((float)i / (1 << SPACING_LOG2) - (float)LOWEST));
    table.half[PR_AT_LOW_SLOPE + 1] = cc_half_of_float(-alpha);
    table.half[PR_AT_LOW_SLOPE + 2] = cc_half_of_float(slope);
    table.half[PR_AT_SHIFT] = SPACING_LOG2;
    table.half[PR_AT_CODE] = CODE_BELOW_ZERO;
    return table;
}

/* An odd table of f at the places i / 2^spacing, with its value at the last one beyond it. */
static struct cc_table odd_table(double (*f)(double), int spacing)
{
    struct cc_table table = {{0, cc_half_of_float(ldexpf(KNOTS - 1, -spacing))}};

    for (int i = 0; i < KNOTS; i++)
        table.half[PR_AT_KNOTS + i] = cc_half_of_float((float)f(ldexp(i, -spacing)));
    table.half[PR_AT_BELOW] = table.half[PR_AT_KNOTS];
    table.half[PR_AT_ABOVE] = table.half[PR_AT_KNOTS + KNOTS - 1];
    table.half[PR_AT_SHIFT] = (uint16_t)spacing;
    table.half[PR_AT_CODE] = CODE_ODD;
    return table;
}

struct cc_table cc_table_sine(void)
{
    return odd_table(sin, 4);
}

struct cc_table cc_table_arc(void)
{
    return odd_table(atan, 5);
}

static double rest_of_arc(double x)
{
    return atan(1) - atan(x);
}

struct cc_table cc_table_arc_rest(void)
{
    return odd_table(rest_of_arc, 5);
}
