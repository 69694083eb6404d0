/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: activation tables. The same operations in the same order as
 * table.c, on all lanes; a lane also computes the branches that it does not need, and does not select them.
 */

INLINE vec table_between(const struct eng_table *t, vec x)
{
    vec last = vec_set(ENG_TABLE_KNOTS - 1);
    vec at = vec_mul(x, vec_set(t->scale)), whole = vec_floor(at);
    vec knot = vec_min(vec_max(vec_sub(whole, vec_set(t->first * t->scale)), vec_set(0)), last);
    vec y0 = vec_gather(t->knot, knot);
    vec y1 = vec_gather(t->knot, vec_min(vec_add(knot, vec_set(1)), last));

    return vec_add(y0, vec_mul(vec_sub(at, whole), vec_sub(y1, y0)));
}

INLINE vec table_plain(const struct eng_table *t, vec x)
{
    vec first = vec_set(t->first), last = vec_set(t->first + (ENG_TABLE_KNOTS - 1) / t->scale);
    vec low = vec_add(vec_mul(vec_set(t->low_slope), x), vec_set(t->low_intercept));
    vec high = vec_add(vec_mul(vec_set(t->high_slope), x), vec_set(t->high_intercept));

    return vec_if_less(x, first, low, vec_if_less(last, x, high, table_between(t, x)));
}

INLINE vec table_power(vec exponent)
{
    return vec_power_of_two(vec_min(vec_max(exponent, vec_set(-126)), vec_set(127)));
}

INLINE vec table_root(const struct eng_table *t, vec x)
{
    vec exponent = vec_exponent(x);
    vec e = vec_floor(vec_mul(vec_add(exponent, vec_set(1)), vec_set(0.5f)));
    vec m = vec_mul(vec_significand(x), table_power(vec_sub(exponent, vec_add(e, e))));

    return vec_mul(table_between(t, m),
                   table_power(t->kind == PR_ACTIVATION_SQRT ? e : vec_mul(e, vec_set(-1))));
}

INLINE vec table_curve(const struct eng_table *t, vec x)
{
    vec whole = vec_floor(x), half = vec_mul(vec_significand(x), vec_set(0.5f));
    vec e = vec_add(vec_exponent(x), vec_set(1));

    switch (t->kind) {
    case PR_ACTIVATION_PLAIN: return table_plain(t, x);
    case PR_ACTIVATION_SQRT:
    case PR_ACTIVATION_RSQRT: return table_root(t, x);
    case PR_ACTIVATION_RECIPROCAL:
        return vec_mul(table_between(t, half), table_power(vec_mul(e, vec_set(-1))));
    case PR_ACTIVATION_LOG2: return vec_add(table_between(t, half), e);
    case PR_ACTIVATION_EXP2: return vec_mul(table_between(t, vec_sub(x, whole)), table_power(whole));
    case PR_ACTIVATION_FRACTION: return vec_sub(x, whole);
    case PR_ACTIVATION_TRUNCATE: return whole;
    }
    return x;
}

#define TABLE_NEGATIVE (-0x1p-126f) /* the largest number that is below zero for a table */

INLINE vec table_element(const struct eng_table *t, vec x)
{
    vec zero = vec_set(0), given = x, negative = vec_set(TABLE_NEGATIVE), y;

    x = vec_if_less(vec_and(x, 0x7fffffff), vec_set(-TABLE_NEGATIVE), zero, x);
    if (t->odd)
        x = vec_and(x, 0x7fffffff);
    y = vec_if_at_most(vec_set(t->high), x, vec_set(t->above), table_curve(t, x));
    y = vec_if_at_most(x, vec_set(t->low), vec_set(t->below), y);
    if (t->odd)
        y = vec_if_at_most(given, negative, vec_mul(y, vec_set(-1)), y);
    if (t->positive)
        y = vec_if_at_most(given, negative, zero, y);
    return vec_if_at_most(given, vec_set(__builtin_inff()), y, given); /* but for a NaN */
}
