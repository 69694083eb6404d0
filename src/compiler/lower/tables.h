/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activation tables: 64 fp16 entries that a neural task maps its results through. 0, 1: where the clamps
 * begin; 2, 3: the values beyond them; 4 to 36: 33 knots; 37 to 40: slope and intercept below the knots and
 * above them; 41: the knots are 2^-this apart; 42: the form of the curve.
 */
#ifndef COMPILER_LOWER_TABLES_H
#define COMPILER_LOWER_TABLES_H

#include <stdint.h>

#include "program/kernel.h"

struct cc_table {
    uint16_t half[PR_TABLE_VALUES];
};

/* Tables with knots, as public programs have them. */
enum cc_curve {
    CC_CURVE_SIGMOID,
    CC_CURVE_TANH,
    CC_CURVE_ERF,
    CC_CURVE_GELU,
    CC_CURVE_SILU,
    CC_CURVE_EXP2,
    CC_CURVE_LOG2,
    CC_CURVE_SQRT,
    CC_CURVE_RSQRT,
    CC_CURVE_RECIPROCAL,
    CC_CURVE_FRACTION, /* x - CC_CURVE_TRUNCATE(x) */
    CC_CURVE_TRUNCATE, /* towards zero */
    CC_CURVE_SIGN,
    CC_CURVES
};
struct cc_table cc_table_curve(enum cc_curve curve);

/*
 * Two linear pieces that meet at zero, clamped at both ends. All fp16; -inf and +inf where nothing is
 * clamped.
 */
struct cc_pieces {
    uint16_t below, above;       /* x below and above these give ... */
    uint16_t y_below, y_above;   /* ... these */
    uint16_t negative, positive; /* slopes of x < 0 and x > 0 */
    uint16_t offset;             /* added; also the value at 0 */
};
struct cc_table cc_table_pieces(const struct cc_pieces *pieces);

/* 1 where x < 0, where x > 0; 0 elsewhere. */
enum cc_step_kind { CC_STEP_NEGATIVE, CC_STEP_POSITIVE };
struct cc_table cc_table_step(enum cc_step_kind kind);
/* 0 at 0; this fp16 value everywhere else. */
struct cc_table cc_table_not_zero(uint16_t value);

/*
 * alpha (e^x - 1) below zero, slope x above. The knots are ours: a public program has this form, with the
 * constants of selu.
 */
struct cc_table cc_table_elu(float alpha, float slope);
/* Odd ones with our knots: sin(x) up to 2, atan(x) up to 1, and pi / 4 - atan(x) up to 1. */
struct cc_table cc_table_sine(void);
struct cc_table cc_table_arc(void);
struct cc_table cc_table_arc_rest(void);

#endif
