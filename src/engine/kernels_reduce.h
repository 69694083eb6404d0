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

#if LANES == ENG_LANES
/* Four trees at once: lane 4 * i becomes that of the i-th. */
INLINE vec reduce_four(vec s[4][PARTS], enum pr_pe_reduce reduce)
{
#define HALVES_OF(a, b, n)                                                                            \
    __builtin_shufflevector(a, b, n, n + 1, n + 2, n + 3, n + 4, n + 5, n + 6, n + 7, n + 16, n + 17, \
                            n + 18, n + 19, n + 20, n + 21, n + 22, n + 23)
#define QUARTERS_OF(a, b, n)                                                                            \
    __builtin_shufflevector(a, b, n, n + 1, n + 2, n + 3, n + 8, n + 9, n + 10, n + 11, n + 16, n + 17, \
                            n + 18, n + 19, n + 24, n + 25, n + 26, n + 27)
    vec a = reduce_step(HALVES_OF(s[0][0], s[1][0], 0), HALVES_OF(s[0][0], s[1][0], 8), reduce);
    vec b = reduce_step(HALVES_OF(s[2][0], s[3][0], 0), HALVES_OF(s[2][0], s[3][0], 8), reduce);
    vec c = reduce_step(QUARTERS_OF(a, b, 0), QUARTERS_OF(a, b, 4), reduce);
    vec d = reduce_step(
        c, __builtin_shufflevector(c, c, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13), reduce);

    return reduce_step(d, __builtin_shufflevector(d, d, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14),
                       reduce);
#undef HALVES_OF
#undef QUARTERS_OF
}
#endif

INLINE void reduce_trees(vec sum[CHAINS][PARTS], unsigned chains, float *y, enum pr_pe_reduce reduce)
{
#if LANES == ENG_LANES
    if (chains == 4) {
        vec v = reduce_four(sum, reduce);

        UNROLL
        for (unsigned q = 0; q < 4; q++)
            y[q] = v[4 * q];
        return;
    }
#endif
    UNROLL
    for (unsigned q = 0; q < chains; q++)
        y[q] = reduce_tree(sum[q], reduce);
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
        if (form.two && (form.ones || p->column[1] == 0)) {
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
    reduce_trees(sum, chains, y, reduce);
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

/*
 * Rows from here on are read one after the other: a mean is the first to read a tensor, and where that comes
 * from DRAM, several rows side by side get less than half the bandwidth of one.
 */
#define ALONE 1024

INLINE void pe_planes_of(const struct eng_planes *planes, float *y, struct pe_form form,
                         enum pr_pe_reduce reduce, const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = pe_constants_of(constants, form);
    const struct eng_planes p = *planes;
    bool alone = !form.two && p.columns >= ALONE;
    uint32_t c = 0;

    for (; c + CHAINS <= p.channels && !alone; c += CHAINS)
        planes_from(&p, c, CHAINS, y + c, form, reduce, &k);
    for (; c < p.channels; c++)
        planes_from(&p, c, 1, y + c, form, reduce, &k);
    reduce_end(y, p.channels, &k);
}

/* Of bits as signed numbers and as unsigned ones. */
struct largest {
    halves top, least, most;
};

INLINE void largest_row(struct largest *l, const uint8_t *from, size_t n)
{
    uint16_t first;
    halves v;

    __builtin_memcpy(&first, from, sizeof(first));
    for (size_t i = 0; i < n; i += HALVES) {
        if (i + HALVES <= n)
            __builtin_memcpy(&v, from + 2 * i, sizeof(v));
        else
            v = halves_load_first(from + 2 * i, n - i, halves_set(first));
        l->top = halves_signed_max(l->top, v);
        l->least = halves_min(l->least, v);
        l->most = halves_max(l->most, v);
    }
}

/*
 * The largest element of a plane with packed columns, as fp16 bits. As signed numbers, the bits of positive
 * elements are in order and above all others; as unsigned ones, those of negative elements are in falling
 * order. A NaN counts as the positive infinity, so that one is enough. Which zero is taken does not matter,
 * where -0 is not stored.
 */
INLINE uint16_t largest_half(const struct eng_planes *p, const uint8_t *plane)
{
    struct largest l = {.top = halves_set(0x8000), .least = halves_set(0xffff), .most = halves_set(0)};
    uint16_t positive;

    for (uint32_t d = 0; d < p->depths; d++)
        for (uint32_t h = 0; h < p->rows; h++)
            largest_row(&l, plane + h * p->row[0] + d * p->depth[0], p->columns);
    if (!halves_within(l.most, 0x7fff, 0xfc00))
        return 0x7e00;
    positive = halves_least(l.top ^ 0x7fff) ^ 0x7fff;
    return positive < 0x8000 ? positive : halves_least(l.least);
}

INLINE void pe_largest(const struct eng_planes *planes, float *y, const struct eng_pe_constants *constants)
{
    const struct eng_planes p = *planes;
    uint16_t bits[ENG_PLANES_MAX] = {0};

    for (uint32_t c = 0; c < p.channels; c++)
        bits[c] = largest_half(&p, p.at[0] + c * p.channel[0]);
    to_float((const uint8_t *)bits, y, p.channels, &constants->load[0]);
    reduce_end(y, p.channels, constants);
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

/* (b - a)^2 is (a - b)^2, bit for bit. */
INLINE struct eng_pe_constants turned_square(const struct eng_pe_constants *given)
{
    struct eng_pe_constants k = *given;

    if (k.op == PR_PE_SQUARE_OF_SUM && k.two && k.pre == -1) {
        k.pre = 1;
        k.sign2 = -k.sign2;
    }
    return k;
}

/* The loops that norms, means and softmax are made of, and one for all others. */
TARGET static void pe_planes(const struct eng_planes *planes, float *y, const struct eng_pe_constants *given)
{
    const struct pe_form sum = {.op = PR_PE_ADD, .usual = true, .plain = true, .raw = true};
    struct pe_form square = {
        .op = PR_PE_SQUARE_OF_SUM, .two = true, .usual = true, .plain = true, .raw = true};
    const struct eng_pe_constants turned = turned_square(given), *k = &turned;

    if (reduces(k, false, PR_PE_ADD, PR_PE_REDUCE_SUM)) {
        pe_planes_of(planes, y, sum, PR_PE_REDUCE_SUM, k);
    } else if (reduces(k, false, PR_PE_ADD, PR_PE_REDUCE_MAX)) {
        pe_largest(planes, y, k);
    } else if (reduces(k, true, PR_PE_SQUARE_OF_SUM, PR_PE_REDUCE_SUM) && planes->column[1] == 0) {
        square.ones = true;
        pe_planes_of(planes, y, square, PR_PE_REDUCE_SUM, k);
    } else if (reduces(k, true, PR_PE_SQUARE_OF_SUM, PR_PE_REDUCE_SUM)) {
        pe_planes_of(planes, y, square, PR_PE_REDUCE_SUM, k);
    } else {
        pe_planes_of(planes, y, pe_form_of(k), k->reduce, k);
    }
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
