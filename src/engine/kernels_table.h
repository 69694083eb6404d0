/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: activation tables. The same operations in the same order as
 * table.c, on all lanes; a lane also computes the branches that it does not need, and does not select them.
 */

/* A NaN takes either end, and the caller does not select it. */
INLINE vec table_between(const struct eng_table *t, vec x)
{
    const vec_knots knots = vec_knots_of(t->knot), steps = vec_knots_of(t->step);
    vec at = vec_mul(x, vec_set(t->scale)), whole = vec_floor(at);
    vec knot = vec_clamp(vec_sub(whole, vec_set(t->place)), vec_set(0), vec_set(ENG_TABLE_KNOTS - 1));

    return vec_add(vec_knot(&knots, knot), vec_mul(vec_sub(at, whole), vec_knot(&steps, knot)));
}

/* Of knots that all have a next one. */
INLINE vec table_inside(const struct eng_table *t, vec x)
{
    const vec_knots knots = vec_knots_of(t->knot), steps = vec_knots_of(t->step);
    vec at = vec_mul(x, vec_set(t->scale)), whole = vec_floor(at), knot = vec_sub(whole, vec_set(t->place));

    return vec_add(vec_inner_knot(&knots, knot), vec_mul(vec_sub(at, whole), vec_inner_knot(&steps, knot)));
}

/* What all spots of a table need. */
struct spots {
    vec_knots knots, steps;
    vec scale, base;
};

INLINE struct spots spots_of(const struct eng_table *t, enum pr_activation_kind kind)
{
    return (struct spots){vec_knots_of(t->knot), vec_knots_of(t->step), vec_set(t->scale),
                          vec_spot_base(kind == PR_ACTIVATION_EXP2 ? 0 : t->place)};
}

/*
 * A value in the table's range of spots. The knot and the part of the way to the next one are exact, so that
 * it does not matter how they are found. `kind` and `odd` are constants where this is inlined.
 */
INLINE vec table_spot(const struct spots *s, enum pr_activation_kind kind, bool odd, vec given)
{
    bool exp2 = kind == PR_ACTIVATION_EXP2;
    vec x = odd ? vec_and(given, 0x7fffffff) : given, spot = vec_spot(x, s->scale, s->base);
    vec way = vec_spot_way(x, s->scale, s->base, spot), y;

    if (exp2)
        spot = vec_spot_wrap(spot);
    y = vec_add(vec_spot_knot(&s->knots, spot), vec_mul(way, vec_spot_knot(&s->steps, spot)));
    if (exp2)
        y = vec_times_power(y, x);
    return odd ? vec_sign_of(y, given) : y;
}

INLINE vec table_tails(const struct eng_table *t, vec x, vec inside)
{
    vec low = vec_add(vec_mul(vec_set(t->low_slope), x), vec_set(t->low_intercept));
    vec high = vec_add(vec_mul(vec_set(t->high_slope), x), vec_set(t->high_intercept));

    return vec_if_less(x, vec_set(t->first), low, vec_if_less(vec_set(t->last), x, high, inside));
}

/* A clamp is a table with all its knots near one place, where hardly a value is. */
INLINE vec table_plain(const struct eng_table *t, vec x)
{
    if (vec_none_within(x, vec_set(t->first), vec_set(t->last)))
        return table_tails(t, x, x);
    return table_tails(t, x, table_between(t, x));
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

INLINE vec table_curve(const struct eng_table *t, enum pr_activation_kind kind, vec x)
{
    vec whole = vec_floor(x), half = vec_mul(vec_significand(x), vec_set(0.5f));
    vec e = vec_add(vec_exponent(x), vec_set(1));

    switch (kind) {
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

INLINE vec table_ends(const struct eng_table *t, enum pr_activation_kind kind, vec x)
{
    vec y = vec_if_at_most(vec_set(t->high), x, vec_set(t->above), table_curve(t, kind, x));

    return vec_if_at_most(x, vec_set(t->low), vec_set(t->below), y);
}

/* What is known of the values: a number is no NaN; a clean one is no fp32 denormal either. */
enum table_input { TABLE_ANY, TABLE_NUMBER, TABLE_CLEAN };

/* `kind` is the table's, and a constant where this is inlined for a common one. */
INLINE vec table_element(const struct eng_table *t, enum pr_activation_kind kind, enum table_input input,
                         vec x)
{
    vec zero = vec_set(0), given = x, negative = vec_set(TABLE_NEGATIVE), y;

    if (input == TABLE_CLEAN)
        x = vec_add(x, zero); /* -0 becomes 0 */
    else
        x = vec_if_less(vec_and(x, 0x7fffffff), vec_set(-TABLE_NEGATIVE), zero, x);
    if (t->odd)
        x = vec_and(x, 0x7fffffff);
    if (kind != PR_ACTIVATION_PLAIN)
        y = table_ends(t, kind, x);
    else if (vec_all_between(x, vec_set(t->inner_low), vec_set(t->inner_high)))
        y = table_inside(t, x);
    else
        y = table_ends(t, PR_ACTIVATION_PLAIN, x);
    if (t->odd)
        y = vec_if_at_most(given, negative, vec_mul(y, vec_set(-1)), y);
    if (t->positive)
        y = vec_if_at_most(given, negative, zero, y);
    if (input == TABLE_ANY)
        y = vec_if_at_most(given, vec_set(__builtin_inff()), y, given); /* but for a NaN */
    return y;
}
