/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: Winograd's F(2x2, 3x3), as ne_winograd.c uses it. Every
 * transform is a fixed sequence of sums and differences (and halvings, which are exact) of the same numbers
 * in every instruction set, and a product is one chain, so the sets agree bit for bit.
 */

TARGET static uint32_t largest(const uint8_t *fp16, size_t stride, size_t rows, size_t n)
{
    uint16_t lane[2 * LANES];
    vec most = vec_set(0);
    uint32_t found = 0;

    for (size_t row = 0; row < rows; row++, fp16 += stride) {
        size_t i = 0;

        for (; i + 2 * LANES <= n; i += 2 * LANES)
            most = vec_largest_fp16(most, fp16 + 2 * i);
        if (i < n)
            most = vec_largest_fp16_part(most, fp16 + 2 * i, n - i);
    }
    vec_store_bits(lane, most);
    for (unsigned k = 0; k < 2 * LANES; k++)
        found = lane[k] > found ? lane[k] : found;
    return found;
}

TARGET static void magnitude_sums(const uint8_t *from, size_t stride, size_t rows, size_t n, float *sums,
                                  const struct eng_load *load)
{
    struct eng_load rules = *load;

    for (size_t i = 0; i < n; i += LANES) {
        size_t left = n - i < LANES ? n - i : LANES;
        vec sum = vec_set(0);

        for (size_t row = 0; row < rows; row++) {
            const uint8_t *at = from + row * stride + 2 * i;
            vec w = left == LANES ? vec_from_fp16(at, &rules) : vec_from_fp16_part(at, left, &rules);

            sum = vec_add(sum, vec_and(w, 0x7fffffff));
        }
        vec_store_part(sums + i, sum, left);
    }
}

/*
 * Three weights of a line become four: g0, g0 + g1 + g2, g0 - g1 + g2, g2. The second and the third are to be
 * halved: the sums of their products are, which is exact too and gives the same bits.
 */
INLINE void winograd_kernel_line(vec out[4], vec g0, vec g1, vec g2)
{
    vec ends = vec_add(g0, g2);

    out[0] = g0;
    out[1] = vec_add(ends, g1);
    out[2] = vec_sub(ends, g1);
    out[3] = g2;
}

/*
 * The weights of an input channel for LANES output channels; its rows are in one run or in several. Unless
 * tile is NULL, sums go on with the channel's products with the 16 elements there.
 */
INLINE void winograd_kernel(const uint8_t *const *run, size_t at, size_t stride, unsigned lanes, float *to,
                            size_t plane, const float *tile, vec sum[16])
{
    const struct eng_load load = {.rules = ENG_RULE_NO_DENORMALS};
    vec g[9], down[3][4], out[4];

    vecs_from_fp16_runs(run, at, stride, lanes, &load, g);
    vecs_from_fp16_runs(run, at + 4 * stride, stride, lanes, &load, g + 4);
    g[8] = vec_from_fp16_runs(run, at + 8 * stride, lanes, &load);
    UNROLL
    for (unsigned x = 0; x < 3; x++)
        winograd_kernel_line(down[x], g[x], g[3 + x], g[6 + x]);
    UNROLL
    for (unsigned y = 0; y < 4; y++) {
        winograd_kernel_line(out, down[0][y], down[1][y], down[2][y]);
        UNROLL
        for (unsigned k = 4 * y; k < 4 * y + 4; k++) {
            vec_store(to + k * plane, out[k % 4]);
            if (tile)
                sum[k] = vec_fma(sum[k], vec_set(tile[k]), out[k % 4]);
        }
    }
}

/* The weights of a group, and the products with the single tile. */
INLINE void winograd_kernels_and_tile(const struct eng_winograd_weights *w, const uint8_t *const *run,
                                      unsigned lanes)
{
    size_t at = 0;
    vec sum[16];

    UNROLL
    for (unsigned k = 0; k < 16; k++)
        sum[k] = vec_load(w->sums + k * ENG_WINOGRAD_GROUP);
    for (uint32_t c = 0; c < w->channels; c++, at += 9 * w->stride)
        winograd_kernel(run, at, w->stride, lanes, w->to + c * ENG_WINOGRAD_GROUP, w->plane, w->tile + c * 16,
                        sum);
    UNROLL
    for (unsigned k = 0; k < 16; k++)
        vec_store(w->sums + k * ENG_WINOGRAD_GROUP, sum[k]);
}

INLINE void winograd_kernels(const struct eng_winograd_weights *w, unsigned lanes)
{
    const uint8_t *run[ENG_WINOGRAD_GROUP / ENG_WINOGRAD_RUN];
    size_t at = 0;

    for (unsigned k = 0; k * lanes < ENG_WINOGRAD_GROUP; k++)
        run[k] = w->run[k * lanes / w->lanes] + 2 * (k * lanes % w->lanes);
    if (LANES == ENG_WINOGRAD_GROUP && w->tile) {
        winograd_kernels_and_tile(w, run, lanes);
        return;
    }
    for (uint32_t c = 0; c < w->channels; c++, at += 9 * w->stride) {
        UNROLL
        for (unsigned i = 0; i < ENG_WINOGRAD_GROUP; i += LANES)
            winograd_kernel(run + i / lanes, at, w->stride, lanes, w->to + c * ENG_WINOGRAD_GROUP + i,
                            w->plane, NULL, NULL);
    }
}

TARGET static void winograd_weights(const struct eng_winograd_weights *given)
{
    const struct eng_winograd_weights w = *given;

    if (w.lanes >= LANES)
        winograd_kernels(&w, LANES);
    else if (w.lanes == 8)
        winograd_kernels(&w, 8);
    else
        winograd_kernels(&w, 4);
}

/* The sums of `vectors` vectors of tiles for `outputs` output channels. */
INLINE void winograd_panel(const struct eng_winograd_products *w, const float *u, const float *v, float *m,
                           unsigned outputs, unsigned vectors)
{
    vec sum[WINOGRAD_SINGLE][WINOGRAD_COLUMNS], x[WINOGRAD_COLUMNS];
    const size_t v_stride = w->v_stride, m_stride = w->m_stride;

    UNROLL
    for (unsigned c = 0; c < outputs; c++) {
        UNROLL
        for (unsigned i = 0; i < vectors; i++)
            sum[c][i] = vec_set(0);
    }
    for (uint32_t left = w->channels; left; left--, u += ENG_WINOGRAD_GROUP, v += v_stride) {
        UNROLL
        for (unsigned i = 0; i < vectors; i++)
            x[i] = vec_load(v + i * LANES);
        UNROLL
        for (unsigned c = 0; c < outputs; c++) {
            vec weight = vec_set(u[c]);

            UNROLL
            for (unsigned i = 0; i < vectors; i++)
                sum[c][i] = vec_fma(sum[c][i], x[i], weight);
        }
    }
    UNROLL
    for (unsigned c = 0; c < outputs; c++, m += m_stride) {
        UNROLL
        for (unsigned i = 0; i < vectors; i++)
            vec_store(m + i * LANES, sum[c][i]);
    }
}

INLINE void winograd_columns(const struct eng_winograd_products *w, const float *u, const float *v, float *m,
                             unsigned outputs, unsigned vectors)
{
    for (uint32_t c = 0; c < w->outputs; c += outputs)
        winograd_panel(w, u + c, v, m + c * w->m_stride, outputs, vectors);
}

/*
 * The sums of a few tiles for a group of output channels, of as many transform elements at a time as it takes
 * for products not to wait for those before them.
 */
INLINE void winograd_few_tiles(const struct eng_winograd_products *w, const float *u, const float *v,
                               float *m, unsigned tiles)
{
    enum { VECTORS = ENG_WINOGRAD_GROUP / LANES };
    const size_t u_plane = w->u_plane, v_plane = w->v_plane, v_stride = w->v_stride;
    vec sum[WINOGRAD_FEW_PLANES][WINOGRAD_FEW][VECTORS];
    float lane[ENG_WINOGRAD_GROUP];

    UNROLL
    for (unsigned k = 0; k < WINOGRAD_FEW_PLANES; k++) {
        UNROLL
        for (unsigned t = 0; t < tiles; t++) {
            UNROLL
            for (unsigned i = 0; i < VECTORS; i++)
                sum[k][t][i] = vec_set(0);
        }
    }
    for (uint32_t left = w->channels; left; left--, u += ENG_WINOGRAD_GROUP, v += v_stride) {
        UNROLL
        for (unsigned k = 0; k < WINOGRAD_FEW_PLANES; k++) {
            UNROLL
            for (unsigned i = 0; i < VECTORS; i++) {
                vec weight = vec_load(u + k * u_plane + i * LANES);

                UNROLL
                for (unsigned t = 0; t < tiles; t++)
                    sum[k][t][i] = vec_fma(sum[k][t][i], vec_set(v[k * v_plane + t]), weight);
            }
        }
    }
    UNROLL
    for (unsigned k = 0; k < WINOGRAD_FEW_PLANES; k++, m += w->m_plane) {
        UNROLL
        for (unsigned t = 0; t < tiles; t++) {
            UNROLL
            for (unsigned i = 0; i < VECTORS; i++)
                vec_store(lane + i * LANES, sum[k][t][i]);
            for (unsigned c = 0; c < ENG_WINOGRAD_GROUP; c++)
                m[c * w->m_stride + t] = lane[c];
        }
    }
}

INLINE void winograd_few(const struct eng_winograd_products *w, const float *v, float *m, unsigned tiles)
{
    for (unsigned k = 0; k < 16; k += WINOGRAD_FEW_PLANES)
        winograd_few_tiles(w, w->u + k * w->u_plane, v + k * w->v_plane, m + k * w->m_plane, tiles);
}

INLINE void winograd_element(const struct eng_winograd_products *w, const float *u, const float *v, float *m,
                             uint32_t vectors)
{
    uint32_t calls = (vectors + WINOGRAD_COLUMNS - 1) / WINOGRAD_COLUMNS, some;

    for (; calls; calls--, v += some * LANES, m += some * LANES, vectors -= some) {
        some = (vectors + calls - 1) / calls;
        switch (some) {
        case 1: winograd_columns(w, u, v, m, WINOGRAD_SINGLE, 1); break;
        case 2: winograd_columns(w, u, v, m, WINOGRAD_PANEL, 2); break;
#if WINOGRAD_COLUMNS > 2
        case 3: winograd_columns(w, u, v, m, WINOGRAD_PANEL, 3); break;
#endif
        }
    }
}

/* Tiles are taken in vectors. Where the last vector would have few, these are taken in another way. */
TARGET static void winograd_products(const struct eng_winograd_products *given)
{
    const struct eng_winograd_products w = *given;
    uint32_t few = w.tiles % LANES <= WINOGRAD_FEW ? w.tiles % LANES : 0, done = w.tiles - few;

    for (size_t k = 0; k < 16; k++)
        winograd_element(&w, w.u + k * w.u_plane, w.v + k * w.v_plane, w.m + k * w.m_plane,
                         (done + LANES - 1) / LANES);
    switch (few) {
    case 1: winograd_few(&w, w.v + done, w.m + done, 1); break;
    case 2: winograd_few(&w, w.v + done, w.m + done, 2); break;
#if WINOGRAD_FEW > 2
    case 3: winograd_few(&w, w.v + done, w.m + done, 3); break;
    case 4: winograd_few(&w, w.v + done, w.m + done, 4); break;
#endif
    }
}

/* Four sums become two outputs: m0 + (m1 + m2) / 2, (m1 - m2) / 2 - m3. */
INLINE void winograd_output_line(vec out[2], vec m0, vec m1, vec m2, vec m3)
{
    const vec half = vec_set(0.5f);

    out[0] = vec_add_exact(m0, vec_add(m1, m2), half);
    out[1] = vec_sub(vec_mul(vec_sub(m1, m2), half), m3);
}

/* A vector of tiles: the columns of two output rows. */
INLINE void winograd_output_down(const float *m, size_t plane, vec down[4][2])
{
    UNROLL
    for (unsigned k = 0; k < 4; k++, m += plane)
        winograd_output_line(down[k], vec_load(m), vec_load(m + 4 * plane), vec_load(m + 8 * plane),
                             vec_load(m + 12 * plane));
}

/* `tail` bytes of zeros follow the last element. */
INLINE void winograd_store(uint8_t *y, vec v, size_t left, size_t tail, bool table,
                           const struct eng_finish *f)
{
    if (!left)
        return;
    v = finish_element(v, vec_set(f->bias), table, f);
    if (left > LANES)
        vec_to_fp16(y, v, f->store);
    else
        store_last(y, v, left, tail, f->store);
}

/* A row of tiles: two output rows, or one. */
INLINE void winograd_output_row(const float *m, const struct eng_winograd_output *o, uint8_t *y0, uint8_t *y1,
                                bool table, const struct eng_finish *f)
{
    uint8_t *const y[2] = {y0, y1};

    for (size_t x = 0; x < o->columns; x += 2 * LANES, m += LANES) {
        size_t left = o->columns - x, right = left > LANES ? left - LANES : 0;
        vec down[4][2], out[2], first_half, second_half;

        winograd_output_down(m, o->plane, down);
        UNROLL
        for (unsigned row = 0; row < 2; row++) {
            if (!y[row])
                continue;
            winograd_output_line(out, down[0][row], down[1][row], down[2][row], down[3][row]);
            vec_zip(out[0], out[1], &first_half, &second_half);
            winograd_store(y[row] + 2 * x, first_half, left, o->tail, table, f);
            winograd_store(y[row] + 2 * x + 2 * LANES, second_half, right, o->tail, table, f);
        }
    }
}

INLINE void winograd_output_by(const struct eng_winograd_output *given, bool table)
{
    const struct eng_winograd_output out = *given;
    const struct eng_finish f = *out.finish;
    const float *m = out.m;
    uint8_t *y = out.fp16;

    for (uint32_t row = 0; row < out.rows; row += 2, m += (out.columns + 1) / 2, y += 2 * out.stride)
        winograd_output_row(m, &out, y, row + 1 < out.rows ? y + out.stride : NULL, table, &f);
}

#if LANES == 16
/*
 * Without a table, by the rules of sums: results are numbers below the ceiling (winograd_guard.c). fp16
 * values of both columns of the tiles become one vector.
 */
INLINE bool winograd_output_is_plain(const struct eng_finish *f)
{
    return !f->table && (f->store & SUM_RULES) == SUM_RULES;
}

/* A row of tiles, of which a row is stored in `rows` places. */
INLINE void winograd_plain_row(const float *m, const struct eng_winograd_output *o, uint8_t *y, unsigned rows,
                               const struct eng_finish *f, bool relu)
{
    for (size_t x = 0; x < o->columns; x += HALVES, m += LANES) {
        size_t left = o->columns - x, n = left < HALVES ? left : HALVES;
        size_t room = left > HALVES ? HALVES : n + o->tail / 2;
        vec down[4][2], out[2];

        winograd_output_down(m, o->plane, down);
        UNROLL
        for (unsigned row = 0; row < rows; row++) {
            uint8_t *to = y + row * o->stride + 2 * x;

            winograd_output_line(out, down[0][row], down[1][row], down[2][row], down[3][row]);
            UNROLL
            for (unsigned i = 0; i < 2; i++)
                out[i] = vec_mul(vec_add(vec_add(out[i], vec_set(f->bias)), vec_set(f->acc_bias)),
                                 vec_set(f->post_scale));
            halves_store_part(to, halves_of_sums(out[0], out[1], n, relu), room < HALVES ? room : HALVES);
            if (room > HALVES)
                zero_tail(to + 2 * HALVES, 2 * (room - HALVES));
        }
    }
}

INLINE void winograd_output_plain(const struct eng_winograd_output *given, bool relu)
{
    const struct eng_winograd_output out = *given;
    const struct eng_finish f = *out.finish;
    const float *m = out.m;
    uint8_t *y = out.fp16;
    uint32_t row = 0;

    for (; row + 1 < out.rows; row += 2, m += (out.columns + 1) / 2, y += 2 * out.stride)
        winograd_plain_row(m, &out, y, 2, &f, relu);
    if (row < out.rows)
        winograd_plain_row(m, &out, y, 1, &f, relu);
}
#else
INLINE bool winograd_output_is_plain(const struct eng_finish *f)
{
    (void)f;
    return false;
}

INLINE void winograd_output_plain(const struct eng_winograd_output *given, bool relu)
{
    (void)given;
    (void)relu;
}
#endif

TARGET static void winograd_output(const struct eng_winograd_output *out)
{
    if (winograd_output_is_plain(out->finish) && out->finish->relu)
        winograd_output_plain(out, true);
    else if (winograd_output_is_plain(out->finish))
        winograd_output_plain(out, false);
    else if (out->finish->table)
        winograd_output_by(out, true);
    else
        winograd_output_by(out, false);
}
