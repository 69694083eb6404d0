/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels_body.h, with its conditions: the planar engine. */

/*
 * What a loop is specialised for: constants where it is inlined, except in the one loop for all comparisons.
 */
struct pe_form {
    enum pr_pe_op op;
    bool two, compare;
};

/* An indeterminate form would be stored as 0, so it compares as 0 too. */
INLINE vec pe_compare(vec v, const struct eng_pe_constants *k)
{
    if (k->store & ENG_RULE_NAN_IS_ZERO)
        v = vec_number(v);
    switch (k->compare) {
    case PR_PE_COMPARE_NONE: break;
    case PR_PE_EQUAL: v = vec_is_zero(v); break;
    case PR_PE_GREATER: v = vec_is_above_zero(v); break;
    case PR_PE_GREATER_EQUAL: v = vec_add(vec_is_zero(v), vec_is_above_zero(v)); break;
    }
    return v;
}

/*
 * op(pre * a, sign2 * b), with the absolute value and the comparison applied when requested. `c` is AFFINE's
 * row 1.
 */
INLINE vec pe_combine(vec a, vec b, vec c, struct pe_form form, const struct eng_pe_constants *k)
{
    vec v = vec_mul(vec_set(k->pre), a);

    if (form.two) {
        b = vec_mul(vec_set(k->sign2), b);
        switch (form.op) {
        case PR_PE_ADD:
        case PR_PE_SQUARE_OF_SUM: v = vec_add(v, b); break;
        case PR_PE_MUL: v = vec_mul(v, b); break;
        case PR_PE_MAX: v = vec_max(v, b); break;
        case PR_PE_MIN: v = vec_min(v, b); break;
        case PR_PE_AFFINE: v = vec_mul(vec_add(v, b), c); break;
        }
    }
    if (form.op == PR_PE_SQUARE_OF_SUM)
        v = vec_mul(v, v);
    v = vec_and(v, k->abs ? 0x7fffffffu : 0xffffffffu);
    return form.compare ? pe_compare(v, k) : v;
}

INLINE vec pe_load(const uint8_t *fp16, size_t at, size_t n, const struct eng_load *load)
{
    return n == LANES ? vec_from_fp16(fp16 + 2 * at, load) : vec_from_fp16_part(fp16 + 2 * at, n, load);
}

/* The n elements, LANES at most, from `at` on. */
INLINE vec pe_value(const uint8_t *const in[ENG_PE_LINES], size_t at, size_t n, struct pe_form form,
                    const struct eng_pe_constants *k)
{
    vec a = pe_load(in[0], at, n, &k->load[0]), b = vec_set(0), c = b;

    if (form.two)
        b = pe_load(in[1], at, n, &k->load[1]);
    if (form.op == PR_PE_AFFINE)
        c = pe_load(in[2], at, n, &k->load[1]);
    return pe_combine(a, b, c, form, k);
}

/*
 * A copy, so that the compiler knows that no store changes it. The planar engine keeps denormals and has no
 * ceiling under any policy, so these rules are masked out and the loops do not test for them.
 */
INLINE struct eng_pe_constants pe_constants_of(const struct eng_pe_constants *constants)
{
    struct eng_pe_constants k = *constants;

    k.load[0].rules &= ~(unsigned)ENG_RULE_NO_DENORMALS;
    k.load[1].rules &= ~(unsigned)ENG_RULE_NO_DENORMALS;
    k.store &= ~(unsigned)(ENG_RULE_NO_DENORMALS | ENG_RULE_CEILING);
    return k;
}

INLINE vec pe_finish(vec v, const struct eng_pe_constants *k)
{
    v = vec_add(vec_mul(vec_set(k->scale), v), vec_set(k->bias));
    return vec_mul(vec_set(k->final), k->relu ? vec_relu(v) : v);
}

INLINE void pe_line_of(const uint8_t *const in[ENG_PE_LINES], uint8_t *y, size_t n, struct pe_form form,
                       const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = pe_constants_of(constants);
    const uint8_t *const line[ENG_PE_LINES] = {in[0], in[1], in[2]};
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        vec_to_fp16(y + 2 * i, pe_finish(pe_value(line, i, LANES, form, &k), &k), k.store);
    if (i < n)
        vec_to_fp16_part(y + 2 * i, pe_finish(pe_value(line, i, n - i, form, &k), &k), n - i, k.store);
}

TARGET static void pe_line(const uint8_t *const in[ENG_PE_LINES], uint8_t *y, size_t n,
                           const struct eng_pe_constants *k)
{
    if (k->compare) {
        pe_line_of(in, y, n, (struct pe_form){k->op, k->two, true}, k);
        return;
    }
    if (!k->two) {
        if (k->op == PR_PE_SQUARE_OF_SUM)
            pe_line_of(in, y, n, (struct pe_form){PR_PE_SQUARE_OF_SUM, false, false}, k);
        else
            pe_line_of(in, y, n, (struct pe_form){PR_PE_ADD, false, false}, k);
        return;
    }
    switch (k->op) {
    case PR_PE_ADD: pe_line_of(in, y, n, (struct pe_form){PR_PE_ADD, true, false}, k); break;
    case PR_PE_MUL: pe_line_of(in, y, n, (struct pe_form){PR_PE_MUL, true, false}, k); break;
    case PR_PE_MAX: pe_line_of(in, y, n, (struct pe_form){PR_PE_MAX, true, false}, k); break;
    case PR_PE_MIN: pe_line_of(in, y, n, (struct pe_form){PR_PE_MIN, true, false}, k); break;
    case PR_PE_SQUARE_OF_SUM:
        pe_line_of(in, y, n, (struct pe_form){PR_PE_SQUARE_OF_SUM, true, false}, k);
        break;
    case PR_PE_AFFINE: pe_line_of(in, y, n, (struct pe_form){PR_PE_AFFINE, true, false}, k); break;
    }
}

#define PARTS (ENG_LANES / LANES)

INLINE vec reduce_step(vec sum, vec v, enum pr_pe_reduce reduce)
{
    return reduce == PR_PE_REDUCE_MAX   ? vec_max(sum, v)
           : reduce == PR_PE_REDUCE_MIN ? vec_min(sum, v)
                                        : vec_add(sum, v);
}

/* The identity, which changes no lane: a sum that began with +0 is never -0. */
INLINE vec reduce_nothing(enum pr_pe_reduce reduce)
{
    return vec_set(reduce == PR_PE_REDUCE_MAX   ? -__builtin_inff()
                   : reduce == PR_PE_REDUCE_MIN ? __builtin_inff()
                                                : 0.0f);
}

INLINE void pe_reduce_of(float *lanes, const uint8_t *const in[ENG_PE_LINES], size_t n, struct pe_form form,
                         enum pr_pe_reduce reduce, const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = pe_constants_of(constants);
    const uint8_t *const line[ENG_PE_LINES] = {in[0], in[1], in[2]};
    vec sum[PARTS], v;
    size_t i = 0;

    UNROLL
    for (unsigned part = 0; part < PARTS; part++)
        sum[part] = vec_load(lanes + part * LANES);
    for (; i + ENG_LANES <= n; i += ENG_LANES) {
        UNROLL
        for (unsigned part = 0; part < PARTS; part++)
            sum[part] = reduce_step(sum[part], pe_value(line, i + part * LANES, LANES, form, &k), reduce);
    }
    UNROLL
    for (unsigned part = 0; part < PARTS; part++) {
        size_t at = i + part * LANES, left = at >= n ? 0 : n - at < LANES ? n - at : LANES;

        if (left) {
            v = vec_first(pe_value(line, at, left, form, &k), left, reduce_nothing(reduce));
            sum[part] = reduce_step(sum[part], v, reduce);
        }
    }
    UNROLL
    for (unsigned part = 0; part < PARTS; part++)
        vec_store(lanes + part * LANES, sum[part]);
}

INLINE void pe_reduce_form(float *lanes, const uint8_t *const in[ENG_PE_LINES], size_t n, struct pe_form form,
                           const struct eng_pe_constants *k)
{
    if (k->reduce == PR_PE_REDUCE_MAX)
        pe_reduce_of(lanes, in, n, form, PR_PE_REDUCE_MAX, k);
    else if (k->reduce == PR_PE_REDUCE_MIN)
        pe_reduce_of(lanes, in, n, form, PR_PE_REDUCE_MIN, k);
    else
        pe_reduce_of(lanes, in, n, form, PR_PE_REDUCE_SUM, k);
}

/* The loops that norms and softmax are made of, and one for all others. */
TARGET static void pe_reduce(float lanes[ENG_LANES], const uint8_t *const in[ENG_PE_LINES], size_t n,
                             const struct eng_pe_constants *k)
{
    bool square = k->op == PR_PE_SQUARE_OF_SUM;

    if (!k->compare && !k->two && square)
        pe_reduce_form(lanes, in, n, (struct pe_form){PR_PE_SQUARE_OF_SUM, false, false}, k);
    else if (!k->compare && !k->two)
        pe_reduce_form(lanes, in, n, (struct pe_form){PR_PE_ADD, false, false}, k);
    else if (!k->compare && square)
        pe_reduce_form(lanes, in, n, (struct pe_form){PR_PE_SQUARE_OF_SUM, true, false}, k);
    else
        pe_reduce_of(lanes, in, n, (struct pe_form){k->op, k->two, k->compare != PR_PE_COMPARE_NONE},
                     k->reduce, k);
}
