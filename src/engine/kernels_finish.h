/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels_body.h, with its conditions: the end of a neural-engine task. */

/*
 * As eng_finish_enter, which changes no magnitude below 2^15. A number of 2^15 and above times infinity is
 * the infinity of its sign.
 */
INLINE vec finish_enter(vec v, unsigned rules)
{
    vec magnitude = vec_and(v, 0x7fffffff), zero = vec_set(0), infinity = vec_set(__builtin_inff());

    if (rules & ENG_RULE_NAN_IS_ZERO)
        v = vec_if_at_most(magnitude, infinity, v, zero);
    if (rules & ENG_RULE_CEILING)
        v = vec_if_at_most(vec_set(ENG_CEILING), magnitude, vec_mul(v, infinity), v);
    return v;
}

/* A NaN enters as 0, which is at most `low`; what enters as infinite is beyond the ends as it is. */
INLINE bool is_clamp(const struct eng_finish *f)
{
    return f->table->clamp && f->enter & ENG_RULE_NAN_IS_ZERO;
}

INLINE vec finish_by_clamp(vec v, const struct eng_table *t)
{
    return vec_clamp(v, vec_set(t->low), vec_set(t->high));
}

/* `kind` may be a constant where this is inlined. */
INLINE vec finish_by_table(vec v, enum pr_activation_kind kind, const struct eng_finish *f)
{
    if (is_clamp(f))
        return finish_by_clamp(v, f->table);
    if (vec_all_between(v, vec_set(-ENG_CEILING), vec_set(ENG_CEILING)))
        return table_element(f->table, kind, TABLE_NUMBER, v);
    return table_element(f->table, kind, TABLE_ANY, finish_enter(v, f->enter));
}

/* `table` says whether there is one, and is a constant where this is inlined. */
INLINE vec finish_element(vec v, vec bias, bool table, const struct eng_finish *f)
{
    v = vec_add(vec_mul(v, vec_set(f->unscale)), bias);
    v = vec_mul(vec_add(v, vec_set(f->acc_bias)), vec_set(f->post_scale));
    if (table)
        return finish_by_table(v, f->table->kind, f);
    return f->relu ? vec_relu(v) : v;
}

INLINE void finish_line(const float *acc, const float *bias, uint8_t *y, size_t n, bool table,
                        const struct eng_finish *constants)
{
    const struct eng_finish f = *constants;
    vec b = vec_set(f.bias);
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        if (bias)
            b = vec_load(bias + i);
        vec_to_fp16(y + 2 * i, finish_element(vec_load(acc + i), b, table, &f), f.store);
    }
    if (i < n) {
        if (bias)
            b = vec_load_part(bias + i, n - i);
        vec_to_fp16_part(y + 2 * i, finish_element(vec_load_part(acc + i, n - i), b, table, &f), n - i,
                         f.store);
    }
}

TARGET static void finish(const float *acc, const float *bias, uint8_t *y, size_t n,
                          const struct eng_finish *constants)
{
    if (constants->table)
        finish_line(acc, bias, y, n, true, constants);
    else
        finish_line(acc, bias, y, n, false, constants);
}

/* How the rows of a task end: constants where this is inlined. */
struct rows_form {
    bool table;
    bool sum; /* neither table nor constant addend nor factor, and the rules of sums */
};

#define STORE_RULES (ENG_RULE_NAN_IS_ZERO | ENG_RULE_NO_MINUS_ZERO)
#define STORE_SUMS  (STORE_RULES | ENG_RULE_NO_DENORMALS | ENG_RULE_CEILING)

INLINE vec rows_element(vec v, vec bias, struct rows_form form, const struct eng_finish *f)
{
    if (!form.sum)
        return finish_element(v, bias, form.table, f);
    v = vec_add_exact(bias, v, vec_set(f->unscale));
    return f->relu ? vec_relu(v) : v;
}

INLINE void finish_rows_of(const struct eng_rows *given, struct rows_form form,
                           const struct eng_finish *constants)
{
    const struct eng_finish f = *constants;
    const struct eng_rows r = *given;
    const unsigned store = form.sum ? STORE_SUMS : f.store;
    vec bias = vec_set(f.bias);

    for (size_t row = 0; row < r.rows; row++) {
        const float *acc = r.acc + row * r.acc_row;
        uint8_t *to = r.to + row * r.to_row;
        size_t i = 0;

        for (; i + LANES <= r.n; i += LANES)
            vec_to_fp16(to + 2 * i, rows_element(vec_load(acc + i), bias, form, &f), store);
        if (i < r.n)
            store_last(to + 2 * i, rows_element(vec_load_part(acc + i, r.n - i), bias, form, &f), r.n - i,
                       r.tail, store);
        else
            zero_tail(to + 2 * i, r.tail);
    }
}

TARGET static void finish_rows(const struct eng_rows *rows, const struct eng_finish *f)
{
    if (f->table)
        finish_rows_of(rows, (struct rows_form){.table = true}, f);
    else if (eng_is_no_addend(f->acc_bias) && f->post_scale == 1 && f->store == STORE_SUMS)
        finish_rows_of(rows, (struct rows_form){.sum = true}, f);
    else
        finish_rows_of(rows, (struct rows_form){0}, f);
}

/* What a loop is specialised for: constants where it is inlined. */
struct finish_form {
    bool table;
    bool clean; /* fp16 values go into the table as they are, and none is a NaN */
    enum pr_activation_kind kind;
    bool odd, below_zero; /* of the table, where a loop takes spots */
    bool stream;          /* whole vectors go around the caches; not a constant */
};

INLINE vec finish_fp16(vec v, struct finish_form form, const struct eng_finish *f)
{
    if (form.clean)
        return table_element(f->table, form.kind, TABLE_CLEAN, v);
    return finish_element(v, vec_set(f->bias), form.table, f);
}

/* Each element of a band; rows of one element are taken as vectors of LANES rows. */
INLINE void finish_band_of(const struct eng_band *given, const struct eng_load *given_load,
                           struct finish_form form, const struct eng_finish *constants)
{
    struct eng_finish f = *constants;
    const struct eng_load load = *given_load;
    const struct eng_band band = *given;
    size_t step = band.in[0].row, column = band.n == 1 ? LANES : 1;
    struct eng_table table;

    if (form.table) {
        table = *f.table; /* a copy, which no store changes */
        f.table = &table;
    }
    for (size_t row = 0; row < band.rows; row += column) {
        const uint8_t *x = band.in[0].at + row * step;
        uint8_t *y = band.out + row * band.out_row;
        size_t i = 0, rows = band.rows - row < column ? band.rows - row : column;

        if (column > 1) {
            store_steps(y, band.out_row, finish_fp16(load_steps(x, step, rows, &load), form, &f), rows,
                        band.tail, f.store);
            continue;
        }
        if (band.in[0].one) {
            vec all = finish_fp16(vec_from_fp16_one(x, &load), form, &f);

            for (; i + LANES <= band.n; i += LANES)
                vec_to_fp16(y + 2 * i, all, f.store);
            store_last(y + 2 * i, all, band.n - i, band.tail, f.store);
            continue;
        }
        for (; i + LANES <= band.n; i += LANES)
            vec_to_fp16(y + 2 * i, finish_fp16(vec_from_fp16(x + 2 * i, &load), form, &f), f.store);
        if (i < band.n)
            store_last(y + 2 * i, finish_fp16(vec_from_fp16_part(x + 2 * i, band.n - i, &load), form, &f),
                       band.n - i, band.tail, f.store);
        else
            zero_tail(y + 2 * i, band.tail);
    }
}

/* HALVES fp16 values, some of which are outside the range of spots; in place or not. */
INLINE void spots_outside(const uint8_t *x, uint8_t *y, const struct eng_load *load, struct finish_form form,
                          const struct eng_finish *f)
{
    vec a = finish_fp16(vec_from_fp16(x, load), form, f);
    vec b = finish_fp16(vec_from_fp16(x + 2 * LANES, load), form, f);

    vec_to_fp16(y, a, f->store);
    vec_to_fp16(y + 2 * LANES, b, f->store);
}

INLINE unsigned spots_rules(struct finish_form form)
{
    return form.below_zero ? ENG_RULE_NO_MINUS_ZERO : 0;
}

/* The last n elements of a row, fewer than HALVES, and the zeros after it. */
INLINE void spots_last(const uint8_t *x, uint8_t *y, size_t n, size_t tail, const struct spots *s,
                       const struct eng_load *load, struct finish_form form, const struct eng_finish *f)
{
    const struct eng_table *t = f->table;
    halves h = halves_load_part(x, n);
    uint8_t all[2 * HALVES];

    if (__builtin_expect(halves_within(h, t->most, t->least), 1)) {
        h = halves_of_numbers(table_spot(s, form.kind, form.odd, vec_of_lower(h)),
                              table_spot(s, form.kind, form.odd, vec_of_upper(h)), spots_rules(form));
    } else {
        __builtin_memcpy(all, &h, sizeof(h));
        spots_outside(all, all, load, form, f);
        __builtin_memcpy(&h, all, sizeof(h));
    }
    store_halves(y, h, n, tail);
}

/*
 * A row whose fp16 values go into the table as they are. Where all values of a few vectors are in the range
 * of spots, nothing else has to be decided for each of them.
 */
INLINE void spots_row(const uint8_t *x, uint8_t *y, size_t n, size_t tail, const struct spots *s,
                      const struct eng_load *load, struct finish_form form, const struct eng_finish *f)
{
    const struct eng_load bits = {.scale = 1};
    const struct eng_table *t = f->table;
    unsigned rules = spots_rules(form);
    size_t i = 0;

    for (; i + HALVES <= n; i += HALVES) {
        const uint8_t *from = x + 2 * i;
        uint8_t *to = y + 2 * i;
        halves h;

        __builtin_memcpy(&h, from, sizeof(h));
        if (__builtin_expect(halves_within(h, t->most, t->least), 1)) {
            vec a = table_spot(s, form.kind, form.odd, vec_from_fp16(from, &bits));
            vec b = table_spot(s, form.kind, form.odd, vec_from_fp16(from + 2 * LANES, &bits));

            if (form.stream) {
                halves_stream(to, halves_of_numbers(a, b, rules));
            } else {
                vec_to_fp16_number(to, a, rules);
                vec_to_fp16_number(to + 2 * LANES, b, rules);
            }
        } else {
            spots_outside(from, to, load, form, f);
        }
    }
    if (i < n)
        spots_last(x + 2 * i, y + 2 * i, n - i, tail, s, load, form, f);
    else
        zero_tail(y + 2 * i, tail);
}

INLINE void spots_band(const struct eng_band *given, const struct eng_load *given_load,
                       struct finish_form form, const struct eng_finish *constants)
{
    struct eng_finish f = *constants;
    const struct eng_load load = *given_load;
    const struct eng_band band = *given;
    const struct eng_table table = *f.table; /* a copy, which no store changes */
    const struct spots s = spots_of(&table, form.kind);

    f.table = &table;
    form.stream = streams(given);
    for (size_t row = 0; row < band.rows; row++)
        spots_row(band.in[0].at + row * band.in[0].row, band.out + row * band.out_row, band.n, band.tail, &s,
                  &load, form, &f);
    if (form.stream)
        halves_stream_end();
}

/*
 * Where all constants are those of absent steps, an element is its own bits but for the rules, and never
 * becomes fp32. A second application changes nothing, so that vectors may overlap.
 */
struct copy_rules {
    halves nan;     /* what a NaN becomes */
    halves ceiling; /* magnitudes from this on are infinite */
    halves least;   /* bits from this on, unsigned, become zero: negative numbers, or -0, or none */
    halves zero;    /* these bits become +0 */
    bool usual;     /* all of them are as halves_usual has it: no other is looked at */
};

INLINE halves halves_choose(halves choice, halves yes, halves no)
{
    return (choice & yes) | (~choice & no);
}

INLINE struct copy_rules copy_rules_of(const struct eng_load *load, const struct eng_finish *f)
{
    bool relu = load->relu || f->relu;

    return (struct copy_rules){
        .usual = !relu && load->rules == ENG_RULE_NAN_IS_INFINITY && f->store & ENG_RULE_NO_MINUS_ZERO,
        .nan = halves_set(load->rules & ENG_RULE_NAN_IS_INFINITY ? 0x7c00
                          : f->store & ENG_RULE_NAN_IS_ZERO      ? 0
                                                                 : 0x7e00),
        .ceiling = halves_set(load->rules & ENG_RULE_SLICE ? 0x6c00 : 0x7c00),
        .least = halves_set(relu ? 0x8001 : 0xffff),
        .zero = halves_set(f->store & ENG_RULE_NO_MINUS_ZERO ? 0x8000 : 0),
    };
}

INLINE halves copy_element(halves x, const struct copy_rules *rules)
{
    halves magnitude = x & 0x7fff, nan = (halves)(magnitude > 0x7c00), y;

    if (rules->usual)
        return halves_usual(x);
    y = halves_choose((halves)(magnitude >= rules->ceiling), (x & 0x8000) | 0x7c00, x);
    y &= ~((halves)(y >= rules->least) | (halves)(y == rules->zero));
    return halves_choose(nan, rules->nan, y);
}

INLINE void copy_vector(const uint8_t *x, uint8_t *y, const struct copy_rules *rules)
{
    halves v;

    __builtin_memcpy(&v, x, sizeof(v));
    v = copy_element(v, rules);
    __builtin_memcpy(y, &v, sizeof(v));
}

/* Less than a vector, and zeros after it. */
INLINE void copy_short(const uint8_t *x, uint8_t *y, size_t n, size_t tail, const struct copy_rules *rules)
{
    store_halves(y, copy_element(halves_load_part(x, n), rules), n, tail);
}

/* A vector at least. */
INLINE void copy_row(const uint8_t *x, uint8_t *y, size_t bytes, bool stream, const struct copy_rules *rules)
{
    for (size_t i = 0; i + sizeof(halves) <= bytes; i += sizeof(halves)) {
        halves v;

        __builtin_memcpy(&v, x + i, sizeof(v));
        store_whole(y + i, copy_element(v, rules), stream);
    }
    if (bytes % sizeof(halves))
        copy_vector(x + bytes - sizeof(halves), y + bytes - sizeof(halves), rules);
}

INLINE void copy_band_of(const struct eng_band *given, const struct copy_rules *rules)
{
    const struct eng_band band = *given;
    const bool stream = streams(given);

    for (size_t row = 0; row < band.rows; row++) {
        const uint8_t *x = band.in[0].at + row * band.in[0].row;
        uint8_t *y = band.out + row * band.out_row;

        if (band.n < HALVES) {
            copy_short(x, y, band.n, band.tail, rules);
            continue;
        }
        copy_row(x, y, 2 * band.n, stream, rules);
        zero_tail(y + 2 * band.n, band.tail);
    }
    if (stream)
        halves_stream_end();
}

INLINE void copy_band(const struct eng_band *band, const struct eng_load *load, const struct eng_finish *f)
{
    const struct copy_rules rules = copy_rules_of(load, f);

    if (rules.usual)
        copy_band_of(band, &(struct copy_rules){.usual = true});
    else
        copy_band_of(band, &rules);
}

INLINE struct finish_form clean_form(enum pr_activation_kind kind)
{
    return (struct finish_form){.table = true, .clean = true, .kind = kind};
}

/* `clean`, and values that are in the range by their bits are in it. */
INLINE bool takes_spots(const struct eng_band *band, const struct eng_load *load, const struct eng_finish *f)
{
    return f->table->spots && band->n > 1 && !band->in[0].one && !load->relu &&
           !(load->rules & ENG_RULE_SLICE) && f->store & ENG_RULE_NO_MINUS_ZERO;
}

INLINE void finish_spots(const struct eng_band *band, const struct eng_load *load, const struct eng_finish *f)
{
    struct finish_form form = clean_form(PR_ACTIVATION_PLAIN);

    if (f->table->kind == PR_ACTIVATION_EXP2) {
        form = clean_form(PR_ACTIVATION_EXP2);
        form.below_zero = f->table->below_zero;
        spots_band(band, load, form, f);
    } else if (f->table->odd) {
        form.odd = form.below_zero = true;
        spots_band(band, load, form, f);
    } else {
        form.below_zero = f->table->below_zero;
        spots_band(band, load, form, f);
    }
}

TARGET static void finish_band(const struct eng_band *band, const struct eng_load *load,
                               const struct eng_finish *f)
{
    bool same = eng_finish_is_identity(load, f);
    bool clean = same && load->rules & ENG_RULE_NAN_IS_INFINITY && !(f->enter & ENG_RULE_CEILING);

    if (same && !f->table && band->n > 1 && !band->in[0].one)
        copy_band(band, load, f);
    else if (!f->table)
        finish_band_of(band, load, (struct finish_form){0}, f);
    else if (!clean)
        finish_band_of(band, load, (struct finish_form){.table = true, .kind = f->table->kind}, f);
    else if (takes_spots(band, load, f))
        finish_spots(band, load, f);
    else if (f->table->kind == PR_ACTIVATION_PLAIN)
        finish_band_of(band, load, clean_form(PR_ACTIVATION_PLAIN), f);
    else
        finish_band_of(band, load, clean_form(f->table->kind), f);
}
