/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops, for one instruction set. The including file has defined the vector type and its functions,
 * TARGET, INLINE, KERNELS, LANES, PANEL, COLUMNS, WIDE_VECTORS, PIXELS and SCALED; this file ends with the
 * table of the set. It is included once per instruction set and so has no guard.
 */

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

INLINE void line_to_float(const uint8_t *halfs, float *floats, size_t n, const struct eng_load *load)
{
    vec scale = vec_set(load->scale);
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        vec_store(floats + i, vec_mul(vec_from_halfs(halfs + 2 * i, load), scale));
    if (i < n)
        vec_store_part(floats + i, vec_mul(vec_from_halfs_part(halfs + 2 * i, n - i, load), scale), n - i);
}

TARGET static void to_float(const uint8_t *halfs, float *floats, size_t n, const struct eng_load *load)
{
    const struct eng_load rules = *load; /* a copy, which no store through `floats` can seem to change */

    line_to_float(halfs, floats, n, &rules);
}

TARGET static void rows_to_float(const uint8_t *from, size_t from_stride, float *to, size_t to_stride,
                                 size_t rows, size_t n, const struct eng_load *load)
{
    const struct eng_load rules = *load;
    vec scale = vec_set(rules.scale);

    for (size_t row = 0; row < rows; row++, from += from_stride, to += to_stride)
        for (size_t i = 0; i < n; i += LANES)
            vec_store(to + i, vec_mul(vec_from_halfs(from + 2 * i, &rules), scale));
}

TARGET static void to_half(const float *floats, uint8_t *halfs, size_t n, unsigned rules)
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        vec_to_halfs(halfs + 2 * i, vec_load(floats + i), rules);
    if (i < n)
        vec_to_halfs_part(halfs + 2 * i, vec_load_part(floats + i, n - i), n - i, rules);
}

/* x * 0 is 0 for every finite x and a NaN for every other. */
TARGET static bool all_finite(const float *floats, size_t n)
{
    vec zeros = vec_set(0);
    float lane[LANES], sum = 0;
    size_t i = 0;

    for (; i + LANES <= n; i += LANES)
        zeros = vec_add(zeros, vec_mul(vec_load(floats + i), vec_set(0)));
    if (i < n)
        zeros = vec_add(zeros, vec_mul(vec_load_part(floats + i, n - i), vec_set(0)));
    vec_store(lane, zeros);
    for (unsigned k = 0; k < LANES; k++)
        sum += lane[k];
    return sum == 0;
}

/*
 * op(pre * a, sign2 * b), with the sign cut off when asked. `op` and `two` are constants where this is
 * inlined.
 */
INLINE vec pe_combine(vec a, vec b, enum pr_pe_op op, bool two, const struct eng_pe_constants *k)
{
    vec v = vec_mul(vec_set(k->pre), a);

    if (two) {
        b = vec_mul(vec_set(k->sign2), b);
        switch (op) {
        case PR_PE_ADD:
        case PR_PE_SQUARE_OF_SUM: v = vec_add(v, b); break;
        case PR_PE_MUL: v = vec_mul(v, b); break;
        case PR_PE_MAX: v = vec_max(v, b); break;
        case PR_PE_MIN: v = vec_min(v, b); break;
        }
    }
    if (op == PR_PE_SQUARE_OF_SUM)
        v = vec_mul(v, v);
    return vec_and(v, k->abs ? 0x7fffffffu : 0xffffffffu);
}

INLINE vec pe_element(vec a, vec b, enum pr_pe_op op, bool two, const struct eng_pe_constants *k)
{
    vec v = pe_combine(a, b, op, two, k);

    v = vec_add(vec_mul(vec_set(k->scale), v), vec_set(k->bias));
    return vec_mul(vec_set(k->final), k->relu ? vec_relu(v) : v);
}

INLINE void pe_line_of(const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n, enum pr_pe_op op, bool two,
                       const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = *constants;
    vec v, w = vec_set(0);
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        v = vec_from_halfs(a + 2 * i, &k.load[0]);
        if (two)
            w = vec_from_halfs(b + 2 * i, &k.load[1]);
        vec_to_halfs(y + 2 * i, pe_element(v, w, op, two, &k), k.store);
    }
    if (i < n) {
        v = vec_from_halfs_part(a + 2 * i, n - i, &k.load[0]);
        if (two)
            w = vec_from_halfs_part(b + 2 * i, n - i, &k.load[1]);
        vec_to_halfs_part(y + 2 * i, pe_element(v, w, op, two, &k), n - i, k.store);
    }
}

TARGET static void pe_line(const uint8_t *a, const uint8_t *b, uint8_t *y, size_t n,
                           const struct eng_pe_constants *k)
{
    if (!k->two) {
        if (k->op == PR_PE_SQUARE_OF_SUM)
            pe_line_of(a, b, y, n, PR_PE_SQUARE_OF_SUM, false, k);
        else
            pe_line_of(a, b, y, n, PR_PE_ADD, false, k);
        return;
    }
    switch (k->op) {
    case PR_PE_ADD: pe_line_of(a, b, y, n, PR_PE_ADD, true, k); break;
    case PR_PE_MUL: pe_line_of(a, b, y, n, PR_PE_MUL, true, k); break;
    case PR_PE_MAX: pe_line_of(a, b, y, n, PR_PE_MAX, true, k); break;
    case PR_PE_MIN: pe_line_of(a, b, y, n, PR_PE_MIN, true, k); break;
    case PR_PE_SQUARE_OF_SUM: pe_line_of(a, b, y, n, PR_PE_SQUARE_OF_SUM, true, k); break;
    }
}

#define PARTS (ENG_LANES / LANES)

INLINE vec reduce_step(vec sum, vec v, bool max)
{
    return max ? vec_max(sum, v) : vec_add(sum, v);
}

/* Lanes without an element take what changes nothing: a sum that began with +0 is never -0. */
INLINE void pe_reduce_of(float *lanes, const uint8_t *a, size_t n, enum pr_pe_op op, bool max,
                         const struct eng_pe_constants *constants)
{
    const struct eng_pe_constants k = *constants;
    vec nothing = vec_set(max ? -__builtin_inff() : 0.0f);
    vec sum[PARTS], v;
    size_t i = 0;

    UNROLL
    for (unsigned part = 0; part < PARTS; part++)
        sum[part] = vec_load(lanes + part * LANES);
    for (; i + ENG_LANES <= n; i += ENG_LANES) {
        UNROLL
        for (unsigned part = 0; part < PARTS; part++) {
            v = vec_from_halfs(a + 2 * (i + part * LANES), &k.load[0]);
            sum[part] = reduce_step(sum[part], pe_combine(v, v, op, false, &k), max);
        }
    }
    UNROLL
    for (unsigned part = 0; part < PARTS; part++) {
        size_t at = i + part * LANES, left = at >= n ? 0 : n - at < LANES ? n - at : LANES;

        if (left == LANES) {
            v = vec_from_halfs(a + 2 * at, &k.load[0]);
            sum[part] = reduce_step(sum[part], pe_combine(v, v, op, false, &k), max);
        } else if (left) {
            v = vec_from_halfs_part(a + 2 * at, left, &k.load[0]);
            v = vec_first(pe_combine(v, v, op, false, &k), left, nothing);
            sum[part] = reduce_step(sum[part], v, max);
        }
    }
    UNROLL
    for (unsigned part = 0; part < PARTS; part++)
        vec_store(lanes + part * LANES, sum[part]);
}

TARGET static void pe_reduce(float lanes[ENG_LANES], const uint8_t *a, size_t n,
                             const struct eng_pe_constants *k)
{
    if (k->op == PR_PE_SQUARE_OF_SUM) {
        if (k->max)
            pe_reduce_of(lanes, a, n, PR_PE_SQUARE_OF_SUM, true, k);
        else
            pe_reduce_of(lanes, a, n, PR_PE_SQUARE_OF_SUM, false, k);
    } else {
        if (k->max)
            pe_reduce_of(lanes, a, n, PR_PE_ADD, true, k);
        else
            pe_reduce_of(lanes, a, n, PR_PE_ADD, false, k);
    }
}

INLINE vec finish_element(vec v, vec bias, const struct eng_finish *f)
{
    v = vec_add(vec_mul(v, vec_set(f->unscale)), bias);
    v = vec_mul(vec_add(v, vec_set(f->acc_bias)), vec_set(f->post_scale));
    return f->relu ? vec_relu(v) : v;
}

TARGET static void finish(const float *acc, const float *bias, uint8_t *y, size_t n,
                          const struct eng_finish *constants)
{
    const struct eng_finish f = *constants;
    vec b = vec_set(f.bias);
    size_t i = 0;

    for (; i + LANES <= n; i += LANES) {
        if (bias)
            b = vec_load(bias + i);
        vec_to_halfs(y + 2 * i, finish_element(vec_load(acc + i), b, &f), f.store);
    }
    if (i < n) {
        if (bias)
            b = vec_load_part(bias + i, n - i);
        vec_to_halfs_part(y + 2 * i, finish_element(vec_load_part(acc + i, n - i), b, &f), n - i, f.store);
    }
}

INLINE void mac_columns_of(const struct eng_mac *m, unsigned group, unsigned vectors)
{
    vec sum[PANEL][COLUMNS], x[COLUMNS], ceiling = vec_set(m->ceiling);
    const size_t next = m->in_next, tap = m->in_tap;

    UNROLL
    for (unsigned c = 0; c < group; c++)
        UNROLL
    for (unsigned v = 0; v < vectors; v++)
        sum[c][v] = vec_load(m->acc + c * m->acc_channel + v * m->acc_next);
    for (uint32_t channel = 0; channel < m->channels; channel++) {
        const float *weight = m->panel + ((size_t)channel * m->kh + m->ky0) * m->kw * group;
        const float *row = m->in + channel * m->in_channel;

        for (uint32_t ky = m->ky0; ky < m->ky1; ky++, row += m->in_row) {
            const float *at = row;

            for (uint32_t kx = 0; kx < m->kw; kx++, weight += group, at += tap) {
                UNROLL
                for (unsigned v = 0; v < vectors; v++)
                    x[v] = vec_load(at + v * next);
                UNROLL
                for (unsigned c = 0; c < group; c++) {
                    vec w = vec_set(weight[c]);

                    UNROLL
                    for (unsigned v = 0; v < vectors; v++)
                        sum[c][v] = vec_mac(sum[c][v], x[v], w, ceiling);
                }
            }
        }
    }
    UNROLL
    for (unsigned c = 0; c < group; c++)
        UNROLL
    for (unsigned v = 0; v < vectors; v++)
        vec_store(m->acc + c * m->acc_channel + v * m->acc_next, sum[c][v]);
}

INLINE void mac_columns_group(const struct eng_mac *m, unsigned group, unsigned vectors)
{
    if (vectors == 1)
        mac_columns_of(m, group, 1);
    else if (vectors == 2)
        mac_columns_of(m, group, 2);
#if COLUMNS > 2
    else
        mac_columns_of(m, group, 3);
#endif
}

TARGET static void mac_columns(const struct eng_mac *m, unsigned group, unsigned vectors)
{
    switch (group) {
    case 1: mac_columns_group(m, 1, vectors); break;
    case 2: mac_columns_group(m, 2, vectors); break;
    case 4: mac_columns_group(m, 4, vectors); break;
#if PANEL > 4
    case 8: mac_columns_group(m, 8, vectors); break;
#endif
    }
}

INLINE void mac_channels_of(const struct eng_mac *m, unsigned vectors, unsigned pixels)
{
    vec sum[PIXELS][WIDE_VECTORS], x[PIXELS], ceiling = vec_set(m->ceiling);
    const size_t group = (size_t)vectors * LANES, next = m->in_next, tap = m->in_tap;

    UNROLL
    for (unsigned p = 0; p < pixels; p++)
        UNROLL
    for (unsigned v = 0; v < vectors; v++)
        sum[p][v] = vec_load(m->acc + p * m->acc_next + v * LANES);
    for (uint32_t channel = 0; channel < m->channels; channel++) {
        const float *row = m->in + channel * m->in_channel + m->kx0 * tap;

        for (uint32_t ky = m->ky0; ky < m->ky1; ky++, row += m->in_row) {
            const float *weight = m->panel + (((size_t)channel * m->kh + ky) * m->kw + m->kx0) * group;
            const float *at = row;

            for (uint32_t kx = m->kx0; kx < m->kx1; kx++, weight += group, at += tap) {
                UNROLL
                for (unsigned p = 0; p < pixels; p++)
                    x[p] = vec_set(at[p * next]);
                UNROLL
                for (unsigned v = 0; v < vectors; v++) {
                    vec w = vec_load(weight + v * LANES);

                    UNROLL
                    for (unsigned p = 0; p < pixels; p++)
                        sum[p][v] = vec_mac(sum[p][v], x[p], w, ceiling);
                }
            }
        }
    }
    UNROLL
    for (unsigned p = 0; p < pixels; p++)
        UNROLL
    for (unsigned v = 0; v < vectors; v++)
        vec_store(m->acc + p * m->acc_next + v * LANES, sum[p][v]);
}

INLINE void mac_channels_group(const struct eng_mac *m, unsigned vectors, unsigned pixels)
{
    if (pixels == 1)
        mac_channels_of(m, vectors, 1);
    else if (pixels == 2)
        mac_channels_of(m, vectors, 2);
#if PIXELS > 2
    else
        mac_channels_of(m, vectors, 4);
#endif
}

TARGET static void mac_channels(const struct eng_mac *m, unsigned group, unsigned pixels)
{
    switch (group / LANES) {
    case 1: mac_channels_group(m, 1, pixels); break;
    case 2: mac_channels_group(m, 2, pixels); break;
    case 4: mac_channels_group(m, 4, pixels); break;
    }
}

const struct eng_kernels KERNELS = {
    .lanes = LANES,
    .panel = PANEL,
    .columns = COLUMNS,
    .wide_panel = WIDE_VECTORS * LANES,
    .pixels = PIXELS,
    .scaled = SCALED,
    .to_float = to_float,
    .to_half = to_half,
    .rows_to_float = rows_to_float,
    .all_finite = all_finite,
    .pe_line = pe_line,
    .pe_reduce = pe_reduce,
    .finish = finish,
    .mac_columns = mac_columns,
    .mac_channels = mac_channels,
};
