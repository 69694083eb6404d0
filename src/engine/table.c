/* SPDX-License-Identifier: Apache-2.0 */
/* Activation tables: read from their 64 halfs, and the reference of what they compute. */
#include "engine/table.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "engine/half.h"

/* Where the halfs are: four clamps, the knots, four numbers of the tails, an exponent and a code; then zeros. */
enum {
    AT_LOW,
    AT_HIGH,
    AT_BELOW,
    AT_ABOVE,
    AT_KNOTS,
    AT_LOW_SLOPE = AT_KNOTS + ENG_TABLE_KNOTS,
    AT_LOW_INTERCEPT,
    AT_HIGH_SLOPE,
    AT_HIGH_INTERCEPT,
    AT_EXPONENT,
    AT_CODE,
    AT_ZEROS,
};

/* Every exponent in samples is among these; the range between them is chosen. */
enum { EXPONENT_MIN = -16, EXPONENT_MAX = 64, ANY_EXPONENT = 0x7fff };

/*
 * The codes of all known tables. Other combinations of their bits (0x60 odd, 0xc0 positive only, the function
 * below) are in no sample. The range reductions are known with the one exponent that fits their domain.
 */
static const struct code {
    uint16_t code;
    enum eng_table_form form;
    bool odd, positive;
    int first;    /* the first knot, counted in knots from x = 0 */
    int exponent; /* the only one known, or any */
} codes[] = {
    {0x01, ENG_TABLE_PLAIN, false, false, -16, ANY_EXPONENT},
    {0x02, ENG_TABLE_PLAIN, false, false, -32, ANY_EXPONENT},
    {0x60, ENG_TABLE_PLAIN, true, false, 0, ANY_EXPONENT},
    {0x63, ENG_TABLE_FRACTION, true, false, 0, ANY_EXPONENT},
    {0x64, ENG_TABLE_TRUNCATE, true, false, 0, ANY_EXPONENT},
    {0xc5, ENG_TABLE_SQRT, false, true, 0, 4},
    {0xc6, ENG_TABLE_RSQRT, false, true, 0, 4},
    {0x67, ENG_TABLE_RECIPROCAL, true, false, 32, 6},
    {0xc9, ENG_TABLE_LOG2, false, true, 32, 6},
    {0x0a, ENG_TABLE_EXP2, false, false, 0, 5},
};

static const struct code *code_find(uint16_t code)
{
    for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
        if (codes[i].code == code)
            return &codes[i];
    return NULL;
}

static bool check(const uint16_t halfs[PR_TABLE_HALFS], const struct code *code, int exponent,
                  struct pr_problem *problem)
{
    if (!code)
        return pr_problem_set(problem, PR_PROBLEM_UNSUPPORTED,
                              "The activation table's code (half 42) is %x, which is in no known table.",
                              (unsigned)halfs[AT_CODE]);
    if (exponent < EXPONENT_MIN || exponent > EXPONENT_MAX)
        return pr_problem_set(problem, PR_PROBLEM_UNSUPPORTED,
                              "The activation table's knots are 2^-s apart with s = %d (half 41); from %d to "
                              "%d is supported.",
                              exponent, EXPONENT_MIN, EXPONENT_MAX);
    if (code->exponent != ANY_EXPONENT && code->exponent != exponent)
        return pr_problem_set(problem, PR_PROBLEM_UNSUPPORTED,
                              "The activation table's code %x is known with exponent %d (half 41) alone, "
                              "not with %d.",
                              (unsigned)halfs[AT_CODE], code->exponent, exponent);
    for (unsigned i = AT_ZEROS; i < PR_TABLE_HALFS; i++)
        if (halfs[i])
            return pr_problem_set(problem, PR_PROBLEM_UNEXPLAINED_BITS,
                                  "Half %u of the activation table is %x; after the code (half 42) all "
                                  "known tables have zeros.",
                                  i, (unsigned)halfs[i]);
    return true;
}

bool eng_table_read(struct eng_table *table, const uint16_t halfs[PR_TABLE_HALFS], struct pr_problem *problem)
{
    const struct code *code = code_find(halfs[AT_CODE]);
    int exponent = (int16_t)halfs[AT_EXPONENT];

    if (!check(halfs, code, exponent, problem))
        return false;
    *table = (struct eng_table){
        .form = code->form,
        .odd = code->odd,
        .positive = code->positive,
        .low = eng_half_to_float(halfs[AT_LOW]),
        .high = eng_half_to_float(halfs[AT_HIGH]),
        .below = eng_half_to_float(halfs[AT_BELOW]),
        .above = eng_half_to_float(halfs[AT_ABOVE]),
        .first = ldexpf((float)code->first, -exponent),
        .scale = ldexpf(1, exponent),
        .low_slope = eng_half_to_float(halfs[AT_LOW_SLOPE]),
        .low_intercept = eng_half_to_float(halfs[AT_LOW_INTERCEPT]),
        .high_slope = eng_half_to_float(halfs[AT_HIGH_SLOPE]),
        .high_intercept = eng_half_to_float(halfs[AT_HIGH_INTERCEPT]),
    };
    for (unsigned i = 0; i < ENG_TABLE_KNOTS; i++)
        table->knot[i] = eng_half_to_float(halfs[AT_KNOTS + i]);
    return true;
}

/*
 * Between two knots: y0 + t * (y1 - y0), each operation in fp32. Samples show the knots' values alone; the
 * precision between them is chosen. Taking t from the floor of x, before the first knot's place is
 * subtracted, keeps it exact for every half.
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

/* Held inside the normal numbers of fp32: what is beyond them is infinite or zero as a half anyway. */
static float power_of_two(float exponent)
{
    return ldexpf(1, (int)eng_min(eng_max(exponent, -126), 127));
}

/* m * 4^e with m in [0.5, 2). */
static float root_value(const struct eng_table *table, float x)
{
    float exponent = exponent_of(x), e = floorf((exponent + 1) * 0.5f);
    float f = between_knots(table, significand_of(x) * power_of_two(exponent - 2 * e));

    return f * power_of_two(table->form == ENG_TABLE_SQRT ? e : -e);
}

/* x is between the clamps. */
static float curve_value(const struct eng_table *table, float x)
{
    switch (table->form) {
    case ENG_TABLE_PLAIN: return plain_value(table, x);
    case ENG_TABLE_SQRT:
    case ENG_TABLE_RSQRT: return root_value(table, x);
    case ENG_TABLE_RECIPROCAL:
        return between_knots(table, significand_of(x) * 0.5f) * power_of_two(-(exponent_of(x) + 1));
    case ENG_TABLE_LOG2: return between_knots(table, significand_of(x) * 0.5f) + (exponent_of(x) + 1);
    case ENG_TABLE_EXP2: return between_knots(table, x - floorf(x)) * power_of_two(floorf(x));
    case ENG_TABLE_FRACTION: return x - floorf(x);
    case ENG_TABLE_TRUNCATE: return floorf(x);
    }
    return x;
}

/*
 * A NaN goes through; the engine's rules leave none that could come here. -0 counts as +0, as 1/-0 = +inf
 * shows, and so does what fp32 cannot hold as a normal number (chosen: no product of three halfs is so small).
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
