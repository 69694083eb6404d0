/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activation tables: read from their 64 fp16 values, and the reference of the functions they compute.
 * kernels_table.h does the same operations in the same order on vectors, and tests compare the bits: a change
 * here is a change there. Each operation is a separate one in fp32; none may be fused.
 */
#include "engine/table.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/half.h"

#define FP16_ZERO 0x1p-25f /* what is below rounds to 0 */

/* Between these, a power of two and its product with a finite fp16 value are normal numbers of fp32. */
#define POWER_LOW  (-100.0f)
#define POWER_HIGH 100.0f

bool eng_table_read(struct eng_table *table, const uint16_t values[PR_TABLE_VALUES],
                    struct pr_problem *problem)
{
    const struct pr_activation_form *form = pr_activation_form(values[PR_AT_CODE]);
    int shift = (int16_t)values[PR_AT_SHIFT];

    if (!pr_activation_check(values, problem))
        return false;
    *table = (struct eng_table){
        .kind = form->kind,
        .odd = form->odd,
        .positive = form->positive,
        .low = eng_half_to_float(values[PR_AT_LOW]),
        .high = eng_half_to_float(values[PR_AT_HIGH]),
        .below = eng_half_to_float(values[PR_AT_BELOW]),
        .above = eng_half_to_float(values[PR_AT_ABOVE]),
        .first = ldexpf((float)form->first, -shift),
        .scale = ldexpf(1, shift),
        .low_slope = eng_half_to_float(values[PR_AT_LOW_SLOPE]),
        .low_intercept = eng_half_to_float(values[PR_AT_LOW_INTERCEPT]),
        .high_slope = eng_half_to_float(values[PR_AT_HIGH_SLOPE]),
        .high_intercept = eng_half_to_float(values[PR_AT_HIGH_INTERCEPT]),
    };
    eng_half_row_to_float(values + PR_AT_KNOTS, table->knot, ENG_TABLE_KNOTS);
    eng_table_derive(table);
    return true;
}

/*
 * As ReLU6: its knots are all 0 and so near 0 that x itself is 0 there when it is rounded to fp16. Other
 * clamps have none of their knots between `low` and `high`.
 */
static bool is_clamp(const struct eng_table *table)
{
    bool zeros = table->last < FP16_ZERO;

    for (unsigned i = 0; i < ENG_TABLE_KNOTS; i++)
        zeros = zeros && table->knot[i] == 0 && !signbit(table->knot[i]);
    return table->kind == PR_ACTIVATION_PLAIN && !table->odd && !table->positive && table->low >= 0 &&
           !signbit(table->low) && !signbit(table->below) && table->low == table->below &&
           table->low < table->high && table->high == table->above && table->high < ENG_CEILING &&
           table->high_slope == 1 && table->high_intercept == 0 && table->first <= table->low &&
           (zeros || table->last <= table->low);
}

/* The largest magnitude of fp16 below the limit, as bits; the limit is above 0. */
static uint16_t half_below(float limit)
{
    uint16_t half = eng_float_to_half(limit);

    return eng_half_to_float(half) < limit ? half : (uint16_t)(half - 1);
}

/* Where 0 is no inner value, its value has to be that of the first knot. */
static bool zero_is_inner(const struct eng_table *table, float low)
{
    return low < 0 || (low == 0 && table->place == 0 && table->below == table->knot[0]);
}

static void derive_spots(struct eng_table *table)
{
    bool plain = table->kind == PR_ACTIVATION_PLAIN, numbers = true;
    float low = table->inner_low, high = table->inner_high;

    if (table->kind == PR_ACTIVATION_EXP2) {
        low = table->low > POWER_LOW ? table->low : POWER_LOW;
        high = table->high < POWER_HIGH ? table->high : POWER_HIGH;
    }
    table->below_zero = table->odd;
    for (unsigned i = 0; i < ENG_TABLE_KNOTS; i++) {
        numbers = numbers && isfinite(table->knot[i]) && !(table->knot[i] == 0 && signbit(table->knot[i]));
        table->below_zero = table->below_zero || table->knot[i] < 0;
    }
    table->spots = numbers && (plain || table->kind == PR_ACTIVATION_EXP2) && !table->positive && high > 0 &&
                   zero_is_inner(table, low) && (!table->odd || (plain && table->knot[0] == 0));
    if (!table->spots)
        return;
    table->most = (int16_t)half_below(high);
    table->least = (uint16_t)(ENG_HALF_SIGN | (table->odd ? (uint16_t)table->most
                                               : low < 0  ? half_below(-low)
                                                          : 0));
}

void eng_table_derive(struct eng_table *table)
{
    float last = ENG_TABLE_KNOTS - 1, before = nextafterf(table->first, -INFINITY);

    for (unsigned i = 0; i < ENG_TABLE_KNOTS; i++)
        table->step[i] = table->knot[i + 1 < ENG_TABLE_KNOTS ? i + 1 : i] - table->knot[i];
    table->place = table->first * table->scale;
    table->last = table->first + last / table->scale;
    table->inner_low = table->low > before ? table->low : before;
    table->inner_high = table->high < table->last ? table->high : table->last;
    table->clamp = is_clamp(table);
    derive_spots(table);
}

/*
 * Between two knots: y0 + t * (y1 - y0), each operation in fp32. Samples show the knots' values alone; the
 * precision between them is chosen. Taking t from the floor of x, before the first knot's place is
 * subtracted, keeps it exact for every fp16 value.
 */
static float between_knots(const struct eng_table *table, float x)
{
    float at = x * table->scale, whole = floorf(at), last = ENG_TABLE_KNOTS - 1;
    float knot = eng_min(eng_max(whole - table->first * table->scale, 0), last);
    float y0 = table->knot[(unsigned)knot], y1 = table->knot[(unsigned)eng_min(knot + 1, last)];

    return y0 + (at - whole) * (y1 - y0);
}

static float plain_value(const struct eng_table *table, float x)
{
    if (x < table->first)
        return table->low_slope * x + table->low_intercept;
    if (x > table->first + (ENG_TABLE_KNOTS - 1) / table->scale)
        return table->high_slope * x + table->high_intercept;
    return between_knots(table, x);
}

/* x = significand * 2^exponent, the significand in [1, 2). */
static float exponent_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return (float)((int)(bits >> 23 & 0xff) - 127);
}

static float significand_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    bits = (bits & 0x7fffff) | 0x3f800000;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* Clamped to the normal numbers of fp32, because anything beyond them is infinite or zero in fp16 anyway. */
static float power_of_two(float exponent)
{
    return ldexpf(1, (int)eng_min(eng_max(exponent, -126), 127));
}

/* m * 4^e with m in [0.5, 2). */
static float root_value(const struct eng_table *table, float x)
{
    float exponent = exponent_of(x), e = floorf((exponent + 1) * 0.5f);
    float f = between_knots(table, significand_of(x) * power_of_two(exponent - 2 * e));

    return f * power_of_two(table->kind == PR_ACTIVATION_SQRT ? e : -e);
}

/* x is between the clamps. */
static float curve_value(const struct eng_table *table, float x)
{
    switch (table->kind) {
    case PR_ACTIVATION_PLAIN: return plain_value(table, x);
    case PR_ACTIVATION_SQRT:
    case PR_ACTIVATION_RSQRT: return root_value(table, x);
    case PR_ACTIVATION_RECIPROCAL:
        return between_knots(table, significand_of(x) * 0.5f) * power_of_two(-(exponent_of(x) + 1));
    case PR_ACTIVATION_LOG2: return between_knots(table, significand_of(x) * 0.5f) + (exponent_of(x) + 1);
    case PR_ACTIVATION_EXP2: return between_knots(table, x - floorf(x)) * power_of_two(floorf(x));
    case PR_ACTIVATION_FRACTION: return x - floorf(x);
    case PR_ACTIVATION_TRUNCATE: return floorf(x);
    }
    return x;
}

/*
 * A NaN goes through; the engine's rules leave none that could come here. -0 counts as +0, as 1/-0 = +inf
 * shows, and so does an fp32 denormal (chosen: no product of three fp16 values is so small).
 */
float eng_table_value(const struct eng_table *table, float x)
{
    bool negative = x <= -FLT_MIN;
    float y;

    if (isnan(x))
        return x;
    if (fabsf(x) < FLT_MIN)
        x = 0;
    if (table->positive && negative)
        return 0;
    if (table->odd)
        x = fabsf(x);
    if (x <= table->low)
        y = table->below;
    else if (x >= table->high)
        y = table->above;
    else
        y = curve_value(table, x);
    return table->odd && negative ? -y : y;
}
