/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels_body.h, with its conditions: the planar engine, elementwise. */

/* What a loop is specialised for: constants where it is inlined, except in the loops for all other tasks. */
struct pe_form {
    enum pr_pe_op op;
    bool two, compare;
    bool usual;  /* the rules of m1, without ReLU and slices in the loads */
    bool plain;  /* ... and all factors 1 and no addend: no NaN can come out */
    bool scaled; /* as plain, but for `scale` */
    bool ones;   /* the sources after the first have one element for a row */
    bool raw;    /* a value first comes from loads without rules: */
    bool rows;   /* no source has one value for a whole row ... */
    bool wide;   /* ... and what remains of a row may be few elements */
    bool stream; /* the result goes around the caches */
};

/*
 * Under the usual rules an infinity or NaN counts as 2^16. Loaded as it is, it makes the sum, product or
 * square that it enters infinite or a NaN, and numbers alone never do. So loads need no rules as long as
 * results are finite, and are repeated with them when one is not. The larger of two may hide a NaN.
 */
INLINE bool pe_shows_infinities(enum pr_pe_op op, bool two)
{
    return !(two && (op == PR_PE_MAX || op == PR_PE_MIN));
}

/*
 * A sum of two fp16 values is a multiple of 2^-24, and so is the larger one: fp16 has all of these near 0,
 * and none becomes -0 by rounding. Then -0 + 0 decides the sign before the conversion.
 */
INLINE bool pe_is_exact_near_zero(struct pe_form form)
{
    return form.usual && form.plain && (form.op == PR_PE_ADD || form.op == PR_PE_MAX || form.op == PR_PE_MIN);
}

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
 * row 1. A product with the sign is exact, so that it may be fused with the sum.
 */
INLINE vec pe_combine(vec a, vec b, vec c, struct pe_form form, const struct eng_pe_constants *k)
{
    bool unchanged = form.plain || form.scaled;
    vec v = unchanged ? a : vec_mul(vec_set(k->pre), a), sign = vec_set(k->sign2);

    if (form.two) {
        switch (form.op) {
        case PR_PE_ADD:
        case PR_PE_SQUARE_OF_SUM: v = vec_add_exact(v, b, sign); break;
        case PR_PE_MUL: v = vec_mul(v, vec_mul(sign, b)); break;
        case PR_PE_MAX: v = vec_max(v, vec_mul(sign, b)); break;
        case PR_PE_MIN: v = vec_min(v, vec_mul(sign, b)); break;
        case PR_PE_AFFINE: v = vec_mul(vec_add_exact(v, b, sign), c); break;
        }
    }
    if (form.op == PR_PE_SQUARE_OF_SUM)
        v = vec_mul(v, v);
    if (!unchanged)
        v = vec_and(v, k->abs ? 0x7fffffffu : 0xffffffffu);
    return form.compare ? pe_compare(v, k) : v;
}

/*
 * A copy, so that the compiler knows that no store changes it. The planar engine keeps denormals and has no
 * ceiling under any policy, so these rules are masked out and the loops do not test for them.
 */
INLINE struct eng_pe_constants pe_constants_of(const struct eng_pe_constants *constants, struct pe_form form)
{
    struct eng_pe_constants k = *constants;

    for (unsigned i = 0; i < 2; i++) {
        k.load[i].rules &= ~(unsigned)ENG_RULE_NO_DENORMALS;
        if (form.usual)
            k.load[i] = (struct eng_load){.rules = ENG_RULES_FINITE, .scale = 1};
    }
    k.store &= ~(unsigned)(ENG_RULE_NO_DENORMALS | ENG_RULE_CEILING);
    if (form.usual)
        k.store =
            ENG_RULE_NO_MINUS_ZERO | (form.plain || form.scaled ? ENG_STORE_NUMBER : ENG_RULE_NAN_IS_ZERO);
    if (pe_is_exact_near_zero(form))
        k.store = ENG_STORE_NUMBER;
    return k;
}

INLINE struct eng_pe_constants pe_without_rules(const struct eng_pe_constants *constants)
{
    struct eng_pe_constants k = *constants;

    k.load[0] = k.load[1] = (struct eng_load){.scale = 1};
    return k;
}

INLINE bool pe_is_usual(const struct eng_pe_constants *k)
{
    return k->load[0].rules == ENG_RULES_FINITE && !k->load[0].relu && !k->compare &&
           (!k->two || (k->load[1].rules == ENG_RULES_FINITE && !k->load[1].relu)) &&
           k->store == (ENG_RULE_NAN_IS_ZERO | ENG_RULE_NO_MINUS_ZERO);
}

INLINE bool pe_is_scaled(const struct eng_pe_constants *k)
{
    return k->pre == 1 && k->final == 1 && k->bias == 0 && !k->abs;
}

INLINE bool pe_is_plain(const struct eng_pe_constants *k)
{
    return k->scale == 1 && pe_is_scaled(k);
}

/* The sources of the planar engine at one vector of a row. */
struct pe_sources {
    const uint8_t *at[ENG_PE_LINES];
    bool one[ENG_PE_LINES];
    vec all[ENG_PE_LINES]; /* of those that have one element */
};

INLINE vec pe_load(const struct pe_sources *s, unsigned i, size_t at, size_t n, struct pe_form form,
                   const struct eng_load *load)
{
    if (!form.rows && s->one[i])
        return s->all[i];
    if (form.wide && n <= LANES / 2)
        return vec_from_fp16_few(s->at[i] + 2 * at, n, load);
    return n == LANES ? vec_from_fp16(s->at[i] + 2 * at, load)
                      : vec_from_fp16_part(s->at[i] + 2 * at, n, load);
}

/* The n elements, LANES at most, from `at` on. */
INLINE vec pe_value(const struct pe_sources *s, size_t at, size_t n, struct pe_form form,
                    const struct eng_pe_constants *k)
{
    vec a = pe_load(s, 0, at, n, form, &k->load[0]), b = vec_set(0), c = b;

    if (form.two)
        b = pe_load(s, 1, at, n, form, &k->load[1]);
    if (form.op == PR_PE_AFFINE)
        c = pe_load(s, 2, at, n, form, &k->load[1]);
    return pe_combine(a, b, c, form, k);
}

INLINE vec pe_finish(vec v, struct pe_form form, const struct eng_pe_constants *k)
{
    if (!form.plain)
        v = vec_mul(vec_set(k->scale), v);
    if (!form.plain && !form.scaled)
        v = vec_add(v, vec_set(k->bias));
    if (k->relu)
        v = vec_relu(v);
    if (pe_is_exact_near_zero(form))
        v = vec_add(v, vec_set(0));
    return form.plain || form.scaled ? v : vec_mul(vec_set(k->final), v);
}

INLINE unsigned pe_lines(struct pe_form form)
{
    return form.op == PR_PE_AFFINE ? 3 : form.two ? 2 : 1;
}

INLINE void pe_source(struct pe_sources *s, const struct eng_band_source *in, size_t row, unsigned i,
                      struct pe_form form, const struct eng_load *load)
{
    s->at[i] = in->at + row * in->row;
    if (form.rows)
        return;
    s->one[i] = (i && form.ones) || in->one;
    s->all[i] = vec_set(0);
    if (s->one[i])
        s->all[i] = vec_from_fp16_one(s->at[i], load);
}

/* The sources of one row of a band. */
INLINE void pe_row(struct pe_sources *s, const struct eng_band *band, size_t row, struct pe_form form,
                   const struct eng_pe_constants *k)
{
    pe_source(s, &band->in[0], row, 0, form, &k->load[0]);
    if (pe_lines(form) > 1)
        pe_source(s, &band->in[1], row, 1, form, &k->load[1]);
    if (pe_lines(form) > 2)
        pe_source(s, &band->in[2], row, 2, form, &k->load[1]);
}

/* The elements before the finish; `raw` has the constants without rules for loads. */
INLINE vec pe_combined(const struct pe_sources *s, size_t at, size_t n, struct pe_form form,
                       const struct eng_pe_constants *k, const struct eng_pe_constants *raw)
{
    vec v;

    if (!form.raw)
        return pe_value(s, at, n, form, k);
    v = pe_value(s, at, n, form, raw);
    return __builtin_expect(vec_all_finite(v), 1) ? v : pe_value(s, at, n, form, k);
}

INLINE void pe_band_of(const struct eng_band *given, struct pe_form form,
                       const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = pe_constants_of(constants, form), raw = pe_without_rules(&k);
    const struct eng_band band = *given;
    struct pe_sources s = {.one = {false}};

    for (size_t row = 0; row < band.rows; row++) {
        uint8_t *y = band.out + row * band.out_row;
        size_t i = 0;

        pe_row(&s, &band, row, form, &k);
        for (; i + LANES <= band.n; i += LANES)
            vec_to_fp16(y + 2 * i, pe_finish(pe_combined(&s, i, LANES, form, &k, &raw), form, &k), k.store);
        if (i < band.n)
            store_last(y + 2 * i, pe_finish(pe_combined(&s, i, band.n - i, form, &k, &raw), form, &k),
                       band.n - i, band.tail, k.store);
        else
            zero_tail(y + 2 * i, band.tail);
    }
}

INLINE void pe_store_pair(uint8_t *y, vec a, vec b, struct pe_form form, const struct eng_pe_constants *k)
{
    if (form.stream) {
        halves_stream(y, halves_of_numbers(a, b, k->store));
        return;
    }
    vec_to_fp16_number(y, a, k->store);
    vec_to_fp16_number(y + 2 * LANES, b, k->store);
}

/* A source with one element was loaded by its rules, so that it is finite. */
INLINE size_t pe_pairs(uint8_t *y, const struct pe_sources *s, size_t n, struct pe_form form,
                       const struct eng_pe_constants *k, const struct eng_pe_constants *raw)
{
    size_t i = 0;

    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        vec a = pe_value(s, i, LANES, form, raw), b = pe_value(s, i + LANES, LANES, form, raw);

        if (__builtin_expect(!vec_both_finite(a, b), 0)) {
            a = pe_value(s, i, LANES, form, k);
            b = pe_value(s, i + LANES, LANES, form, k);
        }
        pe_store_pair(y + 2 * i, pe_finish(a, form, k), pe_finish(b, form, k), form, k);
    }
    return i;
}

/* Two vectors at a time, for forms that are plain or scaled: every result is a number. */
INLINE void pe_pairs_of(const struct eng_band *given, struct pe_form form,
                        const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = pe_constants_of(constants, form), raw = pe_without_rules(&k);
    const struct eng_band band = *given;
    struct pe_sources s = {.one = {false}};

    for (size_t row = 0; row < band.rows; row++) {
        uint8_t *y = band.out + row * band.out_row;
        size_t i;

        pe_row(&s, &band, row, form, &k);
        s.one[0] = false;
        i = pe_pairs(y, &s, band.n, form, &k, &raw);
        if (i + LANES <= band.n) {
            vec_to_fp16(y + 2 * i, pe_finish(pe_combined(&s, i, LANES, form, &k, &raw), form, &k), k.store);
            i += LANES;
        }
        if (i < band.n)
            store_last(y + 2 * i, pe_finish(pe_combined(&s, i, band.n - i, form, &k, &raw), form, &k),
                       band.n - i, band.tail, k.store);
        else
            zero_tail(y + 2 * i, band.tail);
    }
    if (form.stream)
        halves_stream_end();
}

/* Rows of less than a vector, with zeros after them that fill it up: stored whole. */
INLINE void pe_narrow_of(const struct eng_band *given, struct pe_form form,
                         const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = pe_constants_of(constants, form), raw = pe_without_rules(&k);
    const struct eng_band band = *given;
    const size_t rest = 2 * band.n + band.tail - 2 * LANES;
    struct pe_sources s = {.one = {false}};

    for (size_t row = 0; row < band.rows; row++) {
        uint8_t *y = band.out + row * band.out_row;
        vec v;

        pe_row(&s, &band, row, form, &k);
        v = pe_finish(pe_combined(&s, 0, band.n, form, &k, &raw), form, &k);
        vec_to_fp16(y, vec_first(v, band.n, vec_set(0)), k.store);
        zero_tail(y + 2 * LANES, rest);
    }
}

/* What the rows that pe_short_sums takes at once come to, by the rules of `k`. */
INLINE void pe_short_values(const struct eng_band *band, size_t row, unsigned vectors, unsigned rows,
                            vec v[4], struct pe_form form, const struct eng_pe_constants *k)
{
    const size_t last = band->n - (vectors - 1) * LANES;
    struct pe_sources s = {.one = {false}};

    UNROLL
    for (unsigned i = 0; i < rows * vectors; i++) {
        const unsigned at = i % vectors;

        if (at == 0)
            pe_row(&s, band, row + i / vectors, form, k);
        v[i] = pe_value(&s, at * LANES, at + 1 < vectors ? LANES : last, form, k);
    }
}

/* A row, by as few stores as there can be. */
INLINE void pe_store_short(uint8_t *y, const vec *v, unsigned vectors, const struct eng_band *band,
                           struct pe_form form, const struct eng_pe_constants *k)
{
    UNROLL
    for (unsigned at = 0; at < vectors; at += 2) {
        vec second = at + 1 < vectors ? pe_finish(v[at + 1], form, k) : vec_set(0);
        halves h = halves_of_numbers(pe_finish(v[at], form, k), second, k->store);

        if (at + 2 < vectors)
            store_whole(y + 2 * at * LANES, h, false);
        else
            halves_store_part(y + 2 * at * LANES, h, band->n - at * LANES);
    }
    zero_tail(y + 2 * band->n, band->tail);
}

/*
 * Sums of rows of so many vectors, the last of which may be short: some rows at once, so that one branch
 * decides whether any of their elements needs a rule. Returns how many rows are done.
 */
INLINE size_t pe_short_sums(const struct eng_band *given, unsigned vectors, unsigned rows,
                            const struct eng_pe_constants *constants)
{
    const struct pe_form form = {
        .op = PR_PE_ADD, .two = true, .usual = true, .plain = true, .raw = true, .rows = true};
    const struct eng_pe_constants k = pe_constants_of(constants, form), raw = pe_without_rules(&k);
    const struct eng_band band = *given;
    size_t row = 0;

    for (; row + rows <= band.rows; row += rows) {
        vec v[4] = {vec_set(0), vec_set(0), vec_set(0), vec_set(0)};

        pe_short_values(&band, row, vectors, rows, v, form, &raw);
        if (__builtin_expect(!(vec_both_finite(v[0], v[1]) && vec_both_finite(v[2], v[3])), 0))
            pe_short_values(&band, row, vectors, rows, v, form, &k);
        UNROLL
        for (unsigned i = 0; i < rows; i++)
            pe_store_short(band.out + (row + i) * band.out_row, v + i * vectors, vectors, &band, form, &k);
    }
    return row;
}

/* Rows of up to four vectors, parts of which are loaded and stored by masks: how many are done. */
INLINE size_t pe_short_rows(const struct eng_band *band, const struct eng_pe_constants *k)
{
    if (LANES != ENG_LANES)
        return 0;
    switch ((band->n + LANES - 1) / LANES) {
    case 1: return pe_short_sums(band, 1, 4, k);
    case 2: return pe_short_sums(band, 2, 2, k);
    case 3: return pe_short_sums(band, 3, 1, k);
    case 4: return pe_short_sums(band, 4, 1, k);
    default: return 0;
    }
}

/* Sums of rows, the most frequent task. */
INLINE void pe_sum_of(const struct eng_band *given, const struct eng_pe_constants *k)
{
    struct eng_band rest = *given;
    const struct eng_band *band = &rest;
    const size_t done = pe_short_rows(given, k);
    const struct pe_form form = {
        .op = PR_PE_ADD, .two = true, .usual = true, .plain = true, .raw = true, .rows = true};
    const struct pe_form wide = {
        .op = PR_PE_ADD, .two = true, .usual = true, .plain = true, .raw = true, .rows = true, .wide = true};

    rest.in[0].at += done * rest.in[0].row;
    rest.in[1].at += done * rest.in[1].row;
    rest.out += done * rest.out_row;
    rest.rows -= done;
    if (rest.rows == 0)
        return;
    if (band->n < LANES && 2 * band->n + band->tail >= 2 * LANES)
        pe_narrow_of(band, form, k);
    else
        pe_band_of(band, wide, k);
}

/* Rows of one element: a vector takes that of LANES rows. */
INLINE void pe_column_of(const struct eng_band *given, struct pe_form form,
                         const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = pe_constants_of(constants, form);
    const struct eng_band band = *given;

    for (size_t row = 0; row < band.rows; row += LANES) {
        size_t n = band.rows - row < LANES ? band.rows - row : LANES;
        vec v[ENG_PE_LINES] = {vec_set(0), vec_set(0), vec_set(0)};

        for (unsigned i = 0; i < pe_lines(form); i++)
            v[i] = load_steps(band.in[i].at + row * band.in[i].row, band.in[i].row, n, &k.load[i > 0]);
        store_steps(band.out + row * band.out_row, band.out_row,
                    pe_finish(pe_combine(v[0], v[1], v[2], form, &k), form, &k), n, band.tail, k.store);
    }
}

INLINE struct pe_form pe_form_of(const struct eng_pe_constants *k)
{
    return (struct pe_form){.op = k->op, .two = k->two, .compare = k->compare != PR_PE_COMPARE_NONE};
}

INLINE void pe_band_usual(const struct eng_band *band, enum pr_pe_op op, bool two, bool plain,
                          const struct eng_pe_constants *k)
{
    const struct pe_form form = {
        .op = op, .two = two, .usual = true, .plain = plain, .raw = pe_shows_infinities(op, two)};

    if (band->n == 1)
        pe_column_of(band, form, k);
    else if (op == PR_PE_ADD && two && plain && !band->in[0].one && !band->in[1].one)
        pe_sum_of(band, k);
    else
        pe_band_of(band, form, k);
}

/* Sums or products of two tensors, row by row. */
INLINE void pe_rows_of(const struct eng_band *band, enum pr_pe_op op, const struct eng_pe_constants *k)
{
    struct pe_form form = {.op = op, .two = true, .usual = true, .plain = true, .raw = true, .rows = true};

    if (streams(band)) {
        form.stream = true;
        pe_pairs_of(band, form, k);
        return;
    }
    pe_pairs_of(band, form, k);
}

/* The bands of norms and softmax, and sums and products of tensors: false for others. */
INLINE bool pe_band_common(const struct eng_band *band, const struct eng_pe_constants *k)
{
    struct pe_form form = {.op = PR_PE_ADD, .two = true, .usual = true, .raw = true};
    bool ones = k->two && band->in[1].one, plain = pe_is_plain(k);

    if (!pe_is_scaled(k) || !k->two || band->n < 2 * LANES || band->in[0].one)
        return false;
    if (k->op == PR_PE_ADD && plain && !ones && LANES == ENG_LANES && band->n <= 4 * LANES)
        return false;
    if (k->op == PR_PE_ADD && plain && !ones) {
        pe_rows_of(band, PR_PE_ADD, k);
    } else if (k->op == PR_PE_ADD && ones) {
        form.scaled = form.ones = true;
        pe_pairs_of(band, form, k);
    } else if (k->op == PR_PE_MUL && plain && ones) {
        form.op = PR_PE_MUL;
        form.plain = form.ones = true;
        pe_pairs_of(band, form, k);
    } else if (k->op == PR_PE_MUL && plain) {
        pe_rows_of(band, PR_PE_MUL, k);
    } else if (k->op == PR_PE_AFFINE && plain && ones && band->in[2].one) {
        form.op = PR_PE_AFFINE;
        form.plain = form.ones = true;
        pe_pairs_of(band, form, k);
    } else {
        return false;
    }
    return true;
}

INLINE void pe_band_two(const struct eng_band *band, bool plain, const struct eng_pe_constants *k)
{
    switch (k->op) {
    case PR_PE_ADD: pe_band_usual(band, PR_PE_ADD, true, plain, k); break;
    case PR_PE_MUL: pe_band_usual(band, PR_PE_MUL, true, plain, k); break;
    case PR_PE_MAX: pe_band_usual(band, PR_PE_MAX, true, plain, k); break;
    case PR_PE_MIN: pe_band_usual(band, PR_PE_MIN, true, plain, k); break;
    case PR_PE_SQUARE_OF_SUM: pe_band_usual(band, PR_PE_SQUARE_OF_SUM, true, plain, k); break;
    case PR_PE_AFFINE: pe_band_usual(band, PR_PE_AFFINE, true, plain, k); break;
    }
}

TARGET static void pe_band(const struct eng_band *band, const struct eng_pe_constants *k)
{
    if (!pe_is_usual(k) && band->n == 1)
        pe_column_of(band, pe_form_of(k), k);
    else if (!pe_is_usual(k))
        pe_band_of(band, pe_form_of(k), k);
    else if (pe_band_common(band, k))
        return;
    else if (k->two && pe_is_plain(k))
        pe_band_two(band, true, k);
    else if (k->two)
        pe_band_two(band, false, k);
    else if (k->op == PR_PE_SQUARE_OF_SUM)
        pe_band_usual(band, PR_PE_SQUARE_OF_SUM, false, false, k);
    else
        pe_band_usual(band, PR_PE_ADD, false, false, k);
}
