/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An activation table: 33 knots over a domain, with straight lines between them, tails beyond them and clamps
 * beyond those; and the range reductions of square root, reciprocal, logarithm and exponential around it.
 */
#ifndef ENGINE_TABLE_H
#define ENGINE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/numerics.h"
#include "program/activation.h"

#define ENG_TABLE_KNOTS PR_ACTIVATION_KNOTS

/* Ready for arithmetic. */
struct eng_table {
    enum pr_activation_kind kind;
    bool odd;        /* f(-x) = -f(x): the knots are for |x| */
    bool positive;   /* no result below zero: +0 there */
    float low, high; /* x <= low gives below, x >= high gives above */
    float below, above;
    float knot[ENG_TABLE_KNOTS];
    float first, scale; /* the first knot's x, and 1 / distance of knots; a power of two */
    float low_slope, low_intercept, high_slope, high_intercept;
    /* What the vector loops need beside that, by eng_table_derive: */
    float step[ENG_TABLE_KNOTS]; /* from each knot to the next; the last one has itself as the next */
    float place, last;           /* the first knot's x times scale, and the last knot's x */
    float inner_low, inner_high; /* between these, without them, a plain table has neither tail nor clamp */
    /*
     * Of fp16 values in [0, most] and [-0, least], as bits, the value is between knots: y0 + t * step, and
     * for exp2 that times a power of two. No knot is -0, infinite or a NaN.
     */
    bool spots;
    bool below_zero; /* some knot is, or the table is odd: such a value may be stored as -0 */
    int16_t most;
    uint16_t least;
    /* In fp16 the value is x, but at least `low` (0 or more) and at most `high`; a NaN is not considered. */
    bool clamp;
};

/* False with a problem when the table's code or exponent is not supported. */
bool eng_table_read(struct eng_table *table, const uint16_t values[PR_TABLE_VALUES],
                    struct pr_problem *problem);
void eng_table_derive(struct eng_table *table);
/* The reference: one value, in fp32. */
float eng_table_value(const struct eng_table *table, float x);

#endif
