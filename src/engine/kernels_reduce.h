/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels_body.h, with its conditions: the planar engine's reductions. */

#define PARTS (ENG_LANES / LANES)
#define CHAINS \
    (PARTS < 4 ? 4 / PARTS : 1) /* planes that are taken side by side, as sums wait for each other */

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

/* n elements of a row into the lanes, the first into lane 0. */
INLINE void reduce_row(vec sum[PARTS], const struct pe_sources *s, size_t n, struct pe_form form,
                       enum pr_pe_reduce reduce, const struct eng_pe_constants *k)
{
    size_t i = 0;

    for (; i + ENG_LANES <= n; i += ENG_LANES) {
        UNROLL
        for (unsigned part = 0; part < PARTS; part++)
            sum[part] = reduce_step(sum[part], pe_value(s, i + part * LANES, LANES, form, k), reduce);
    }
    UNROLL
    for (unsigned part = 0; part < PARTS; part++) {
        size_t at = i + part * LANES, left = at >= n ? 0 : n - at < LANES ? n - at : LANES;

        if (left)
            sum[part] = reduce_step(
                sum[part], vec_first(pe_value(s, at, left, form, k), left, reduce_nothing(reduce)), reduce);
    }
}

/* A line of any task, its sources packed. */
TARGET static void pe_reduce(float lanes[ENG_LANES], const uint8_t *const in[ENG_PE_LINES], size_t n,
                             const struct eng_pe_constants *constants)
{
    const struct pe_form form = pe_form_of(constants);
    const struct eng_pe_constants k = pe_constants_of(constants, form);
    const struct pe_sources s = {.at = {in[0], in[1], in[2]}};
    vec sum[PARTS];

    UNROLL
    for (unsigned part = 0; part < PARTS; part++)
        sum[part] = vec_load(lanes + part * LANES);
    reduce_row(sum, &s, n, form, k.reduce, &k);
    UNROLL
    for (unsigned part = 0; part < PARTS; part++)
        vec_store(lanes + part * LANES, sum[part]);
}

INLINE float reduce_two(float a, float b, enum pr_pe_reduce reduce)
{
    if (reduce == PR_PE_REDUCE_MAX)
        return a > b || b != b ? a : b;
    if (reduce == PR_PE_REDUCE_MIN)
        return a < b || b != b ? a : b;
    return a + b;
}

INLINE float reduce_tree(const vec sum[PARTS], enum pr_pe_reduce reduce)
{
    float lanes[ENG_LANES];

    UNROLL
    for (unsigned part = 0; part < PARTS; part++)
        vec_store(lanes + part * LANES, sum[part]);
    for (unsigned half = ENG_LANES / 2; half > 0; half /= 2) {
        UNROLL
        for (unsigned lane = 0; lane < half; lane++)
            lanes[lane] = reduce_two(lanes[lane], lanes[lane + half], reduce);
    }
    return lanes[0];
}

/* `chains` planes from channel c on; a constant where this is inlined. */
INLINE void planes_of(const struct eng_planes *p, uint32_t c, unsigned chains, float *y, struct pe_form form,
                      enum pr_pe_reduce reduce, const struct eng_pe_constants *k)
{
    struct pe_sources s[CHAINS];
    vec sum[CHAINS][PARTS];

    UNROLL
    for (unsigned q = 0; q < chains; q++) {
        UNROLL
        for (unsigned part = 0; part < PARTS; part++)
            sum[q][part] = reduce_nothing(reduce);
        s[q] = (struct pe_sources){.one = {false}};
        if (form.two && p->column[1] == 0) {
            s[q].one[1] = true;
            s[q].all[1] = vec_from_fp16_one(p->at[1] + (c + q) * p->channel[1], &k->load[1]);
        }
    }
    for (size_t row = 0; row < (size_t)p->rows * p->depths; row++) {
        size_t h = p->depths == 1 ? row : row % p->rows, d = p->depths == 1 ? 0 : row / p->rows;
        size_t i = 0, n = p->columns;

        UNROLL
        for (unsigned q = 0; q < chains; q++)
            for (unsigned source = 0; source < (form.two ? 2 : 1); source++)
                s[q].at[source] =
                    p->at[source] + (c + q) * p->channel[source] + h * p->row[source] + d * p->depth[source];
        for (; i + ENG_LANES <= n; i += ENG_LANES) {
            UNROLL
            for (unsigned q = 0; q < chains; q++) {
                UNROLL
                for (unsigned part = 0; part < PARTS; part++)
                    sum[q][part] =
                        reduce_step(sum[q][part], pe_value(&s[q], i + part * LANES, LANES, form, k), reduce);
            }
        }
        UNROLL
        for (unsigned q = 0; q < chains && i < n; q++) {
            for (unsigned source = 0; source < (form.two ? 2 : 1); source++)
                s[q].at[source] += 2 * i;
            reduce_row(sum[q], &s[q], n - i, form, reduce, k);
        }
    }
    UNROLL
    for (unsigned q = 0; q < chains; q++)
        y[q] = reduce_tree(sum[q], reduce);
}

/* As pe_combined: sums of numbers alone are finite. */
INLINE void planes_from(const struct eng_planes *p, uint32_t c, unsigned chains, float *y,
                        struct pe_form form, enum pr_pe_reduce reduce, const struct eng_pe_constants *k)
{
    const struct eng_pe_constants raw = pe_without_rules(k);
    float all = 0;

    if (form.raw) {
        planes_of(p, c, chains, y, form, reduce, &raw);
        UNROLL
        for (unsigned q = 0; q < chains; q++)
            all += y[q] * 0;
        if (__builtin_expect(all == 0, 1))
            return;
    }
    planes_of(p, c, chains, y, form, reduce, k);
}

/* What the tree gives, times the last factor, plus epsilon. */
INLINE void reduce_end(float *y, size_t n, const struct eng_pe_constants *k)
{
    vec factor = vec_set(k->final), epsilon = vec_set(k->epsilon);
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        vec_store(y + i, vec_add(vec_mul(factor, vec_load(y + i)), epsilon));
    if (i < n)
        vec_store_part(y + i, vec_add(vec_mul(factor, vec_load_part(y + i, n - i)), epsilon), n - i);
}

INLINE void pe_planes_of(const struct eng_planes *planes, float *y, struct pe_form form,
                         enum pr_pe_reduce reduce, const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = pe_constants_of(constants, form);
    const struct eng_planes p = *planes;
    uint32_t c = 0;

    for (; c + CHAINS <= p.channels; c += CHAINS)
        planes_from(&p, c, CHAINS, y + c, form, reduce, &k);
    for (; c < p.channels; c++)
        planes_from(&p, c, 1, y + c, form, reduce, &k);
    reduce_end(y, p.channels, &k);
}

/*
 * Vectors of channels: lane w mod ENG_LANES of each channel is in row w of the sums. Lanes that no column
 * belongs to would change nothing, and are left out.
 */
INLINE void pe_across_of(const struct eng_planes *planes, float *y, struct pe_form form,
                         enum pr_pe_reduce reduce, const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = pe_constants_of(constants, form);
    const struct eng_planes p = *planes;
    float sum[ENG_LANES][ENG_PLANES_MAX];
    unsigned used = p.columns < ENG_LANES ? p.columns : ENG_LANES;

    for (unsigned lane = 0; lane < used; lane++)
        for (size_t i = 0; i < p.channels; i += LANES)
            vec_store(sum[lane] + i, reduce_nothing(reduce));
    for (uint32_t d = 0; d < p.depths; d++) {
        for (uint32_t h = 0; h < p.rows; h++) {
            for (uint32_t w = 0; w < p.columns; w++) {
                const uint8_t *at[2] = {p.at[0] + d * p.depth[0] + h * p.row[0] + w * p.column[0],
                                        p.at[1] + d * p.depth[1] + h * p.row[1] + w * p.column[1]};
                float *lane = sum[w % ENG_LANES];

                for (size_t i = 0; i < p.channels; i += LANES) {
                    size_t n = p.channels - i < LANES ? p.channels - i : LANES;
                    vec a = load_steps(at[0] + i * p.channel[0], p.channel[0], n, &k.load[0]), b = vec_set(0);

                    if (form.two)
                        b = load_steps(at[1] + i * p.channel[1], p.channel[1], n, &k.load[1]);
                    a = pe_combine(a, b, b, form, &k);
                    vec_store(lane + i, reduce_step(vec_load(lane + i), a, reduce));
                }
            }
        }
    }
    for (unsigned half = ENG_LANES / 2; half > 0; half /= 2)
        for (unsigned lane = 0; lane < half && lane + half < used; lane++)
            for (size_t i = 0; i < p.channels; i += LANES)
                vec_store(sum[lane] + i,
                          reduce_step(vec_load(sum[lane] + i), vec_load(sum[lane + half] + i), reduce));
    __builtin_memcpy(y, sum[0], p.channels * sizeof(float));
    reduce_end(y, p.channels, &k);
}

INLINE bool reduces(const struct eng_pe_constants *k, bool two, enum pr_pe_op op, enum pr_pe_reduce reduce)
{
    return k->two == two && k->op == op && k->reduce == reduce && k->pre == 1 && !k->abs && pe_is_usual(k);
}

/* The loops that norms, means and softmax are made of, and one for all others. */
TARGET static void pe_planes(const struct eng_planes *planes, float *y, const struct eng_pe_constants *k)
{
    const struct pe_form sum = {.op = PR_PE_ADD, .usual = true, .plain = true, .raw = true};
    const struct pe_form square = {
        .op = PR_PE_SQUARE_OF_SUM, .two = true, .usual = true, .plain = true, .raw = true};
    const struct pe_form largest = {.op = PR_PE_ADD, .usual = true, .plain = true};

    if (reduces(k, false, PR_PE_ADD, PR_PE_REDUCE_SUM))
        pe_planes_of(planes, y, sum, PR_PE_REDUCE_SUM, k);
    else if (reduces(k, false, PR_PE_ADD, PR_PE_REDUCE_MAX))
        pe_planes_of(planes, y, largest, PR_PE_REDUCE_MAX, k);
    else if (reduces(k, true, PR_PE_SQUARE_OF_SUM, PR_PE_REDUCE_SUM))
        pe_planes_of(planes, y, square, PR_PE_REDUCE_SUM, k);
    else
        pe_planes_of(planes, y, pe_form_of(k), k->reduce, k);
}

TARGET static void pe_across(const struct eng_planes *planes, float *y, const struct eng_pe_constants *k)
{
    const struct pe_form sum = {.op = PR_PE_ADD, .usual = true, .plain = true};
    const struct pe_form square = {.op = PR_PE_SQUARE_OF_SUM, .two = true, .usual = true, .plain = true};

    if (reduces(k, false, PR_PE_ADD, PR_PE_REDUCE_SUM))
        pe_across_of(planes, y, sum, PR_PE_REDUCE_SUM, k);
    else if (reduces(k, false, PR_PE_ADD, PR_PE_REDUCE_MAX))
        pe_across_of(planes, y, sum, PR_PE_REDUCE_MAX, k);
    else if (reduces(k, true, PR_PE_SQUARE_OF_SUM, PR_PE_REDUCE_SUM))
        pe_across_of(planes, y, square, PR_PE_REDUCE_SUM, k);
    else
        pe_across_of(planes, y, pe_form_of(k), k->reduce, k);
}
