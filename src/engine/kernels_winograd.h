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

/* Three weights of a line become four: g0, (g0 + g1 + g2) / 2, (g0 - g1 + g2) / 2, g2. */
INLINE void winograd_kernel_line(vec out[4], vec g0, vec g1, vec g2)
{
    vec ends = vec_add(g0, g2), half = vec_set(0.5f);

    out[0] = g0;
    out[1] = vec_mul(vec_add(ends, g1), half);
    out[2] = vec_mul(vec_sub(ends, g1), half);
    out[3] = g2;
}

TARGET static void winograd_weights(const uint8_t *from, size_t stride, float *to, size_t plane,
                                    size_t channels)
{
    const struct eng_load load = {.rules = ENG_RULE_NO_DENORMALS};

    for (size_t c = 0; c < channels; c++, from += 9 * stride, to += ENG_WINOGRAD_GROUP) {
        for (size_t i = 0; i < ENG_WINOGRAD_GROUP; i += LANES) {
            vec g[9], down[3][4], out[4];

            UNROLL
            for (unsigned tap = 0; tap < 9; tap++)
                g[tap] = vec_from_fp16(from + tap * stride + 2 * i, &load);
            UNROLL
            for (unsigned x = 0; x < 3; x++)
                winograd_kernel_line(down[x], g[x], g[3 + x], g[6 + x]);
            UNROLL
            for (unsigned y = 0; y < 4; y++) {
                winograd_kernel_line(out, down[0][y], down[1][y], down[2][y]);
                UNROLL
                for (unsigned x = 0; x < 4; x++)
                    vec_store(to + (4 * y + x) * plane + i, out[x]);
            }
        }
    }
}

/* Four inputs become four: d0 - d2, d1 + d2, d2 - d1, d1 - d3. */
INLINE void winograd_input_line(vec out[4], vec d0, vec d1, vec d2, vec d3)
{
    out[0] = vec_sub(d0, d2);
    out[1] = vec_add(d1, d2);
    out[2] = vec_sub(d2, d1);
    out[3] = vec_sub(d1, d3);
}

enum { WINOGRAD_ROW = 4 * ENG_WINOGRAD_TILES };

/* An input row that is zeros except for n values, transformed along W into four rows of tiles. */
INLINE void winograd_row(const struct eng_winograd_input *in, const uint8_t *fp16, float *row, float *to,
                         bool relu)
{
    const struct eng_load load = {.rules = ENG_RULE_NO_DENORMALS, .relu = relu, .scale = 1};
    float *at = row + in->before;
    size_t i = 0;

    for (; i + LANES <= in->n; i += LANES)
        vec_store(at + i, vec_from_fp16(fp16 + 2 * i, &load));
    if (i < in->n)
        vec_store_part(at + i, vec_from_fp16_part(fp16 + 2 * i, in->n - i, &load), in->n - i);
    for (size_t t = 0; t < in->columns; t += LANES) {
        vec d[4], out[4];

        vec_unzip(row + 2 * t, &d[0], &d[1]);
        vec_unzip(row + 2 * t + 2, &d[2], &d[3]);
        winograd_input_line(out, d[0], d[1], d[2], d[3]);
        UNROLL
        for (unsigned x = 0; x < 4; x++)
            vec_store(to + x * ENG_WINOGRAD_TILES + t, out[x]);
    }
}

INLINE void winograd_tiles(const struct eng_winograd_input *in, float *const rows[4], float *to)
{
    for (size_t t = 0; t < in->columns; t += LANES) {
        UNROLL
        for (unsigned x = 0; x < 4; x++) {
            size_t at = x * ENG_WINOGRAD_TILES + t;
            vec out[4];

            winograd_input_line(out, vec_load(rows[0] + at), vec_load(rows[1] + at), vec_load(rows[2] + at),
                                vec_load(rows[3] + at));
            UNROLL
            for (unsigned y = 0; y < 4; y++)
                vec_store(to + (4 * y + x) * in->plane + t, out[y]);
        }
    }
}

/* Two of the four rows of a row of tiles are those of the one before. */
INLINE void winograd_input_by(const struct eng_winograd_input *in, bool relu)
{
    float row[2 * ENG_WINOGRAD_TILES + 2 + 2 * ENG_LANES], lines[4][WINOGRAD_ROW];
    float *to = in->to;

    __builtin_memset(row, 0, sizeof(row));
    for (uint32_t y = 0; y < in->rows; y++, to += in->columns) {
        float *four[4];

        for (uint32_t i = 0; i < 4; i++) {
            uint32_t line = 2 * y + i;

            four[i] = lines[line % 4];
            if (y > 0 && i < 2)
                continue;
            if (line < in->above || line - in->above >= in->lines)
                __builtin_memset(four[i], 0, sizeof(lines[0]));
            else
                winograd_row(in, in->fp16 + (line - in->above) * in->stride, row, four[i], relu);
        }
        winograd_tiles(in, four, to);
    }
}

TARGET static void winograd_input(const struct eng_winograd_input *in)
{
    if (in->relu)
        winograd_input_by(in, true);
    else
        winograd_input_by(in, false);
}

/* The sums of `vectors` vectors of tiles for a panel of output channels. */
INLINE void winograd_panel(const struct eng_winograd *w, const float *u, const float *v, float *m,
                           unsigned vectors)
{
    vec sum[WINOGRAD_PANEL][WINOGRAD_COLUMNS], x[WINOGRAD_COLUMNS];

    UNROLL
    for (unsigned c = 0; c < WINOGRAD_PANEL; c++) {
        UNROLL
        for (unsigned i = 0; i < vectors; i++)
            sum[c][i] = vec_set(0);
    }
    for (uint32_t channel = 0; channel < w->channels; channel++, u += ENG_WINOGRAD_GROUP, v += w->stride) {
        UNROLL
        for (unsigned i = 0; i < vectors; i++)
            x[i] = vec_load(v + i * LANES);
        UNROLL
        for (unsigned c = 0; c < WINOGRAD_PANEL; c++) {
            vec weight = vec_set(u[c]);

            UNROLL
            for (unsigned i = 0; i < vectors; i++)
                sum[c][i] = vec_fma(sum[c][i], x[i], weight);
        }
    }
    UNROLL
    for (unsigned c = 0; c < WINOGRAD_PANEL; c++) {
        UNROLL
        for (unsigned i = 0; i < vectors; i++)
            vec_store(m + c * w->stride + i * LANES, sum[c][i]);
    }
}

INLINE void winograd_columns(const struct eng_winograd *w, const float *u, const float *v, float *m,
                             unsigned vectors)
{
    for (uint32_t c = 0; c < w->outputs; c += WINOGRAD_PANEL)
        winograd_panel(w, u + c, v, m + c * w->stride, vectors);
}

/* The sums of one tile for all output channels, of two transform elements at a time. */
INLINE void winograd_tile(const struct eng_winograd *w, const float *u, const float *v, float *m)
{
    enum { VECTORS = ENG_WINOGRAD_GROUP / LANES, TWO = 2 };
    vec sum[TWO][VECTORS];
    float lane[ENG_WINOGRAD_GROUP];

    UNROLL
    for (unsigned k = 0; k < TWO; k++) {
        UNROLL
        for (unsigned i = 0; i < VECTORS; i++)
            sum[k][i] = vec_set(0);
    }
    for (uint32_t channel = 0; channel < w->channels; channel++, u += ENG_WINOGRAD_GROUP, v += w->stride) {
        UNROLL
        for (unsigned k = 0; k < TWO; k++) {
            vec x = vec_set(v[k * w->v_plane]);

            UNROLL
            for (unsigned i = 0; i < VECTORS; i++)
                sum[k][i] = vec_fma(sum[k][i], x, vec_load(u + k * w->u_plane + i * LANES));
        }
    }
    for (unsigned k = 0; k < TWO; k++, m += w->m_plane) {
        UNROLL
        for (unsigned i = 0; i < VECTORS; i++)
            vec_store(lane + i * LANES, sum[k][i]);
        for (unsigned c = 0; c < ENG_WINOGRAD_GROUP; c++)
            m[c * w->stride] = lane[c];
    }
}

/* Tiles are taken in vectors. The last few are taken one by one where that needs fewer products. */
TARGET static void winograd_products(const struct eng_winograd *w)
{
    uint32_t rest = w->tiles % LANES, single = rest <= LANES / 2 ? rest : 0;
    uint32_t vectors = (w->tiles - single + LANES - 1) / LANES;
    uint32_t calls = (vectors + WINOGRAD_COLUMNS - 1) / WINOGRAD_COLUMNS;

    for (size_t k = 0; k < 16; k++) {
        const float *u = w->u + k * w->u_plane, *v = w->v + k * w->v_plane;
        float *m = w->m + k * w->m_plane;

        for (uint32_t call = 0, left = vectors; call < calls; call++) {
            uint32_t some = (left + calls - call - 1) / (calls - call);

            switch (some) {
            case 1: winograd_columns(w, u, v, m, 1); break;
            case 2: winograd_columns(w, u, v, m, 2); break;
#if WINOGRAD_COLUMNS > 2
            case 3: winograd_columns(w, u, v, m, 3); break;
#endif
            }
            v += some * LANES;
            m += some * LANES;
            left -= some;
        }
    }
    for (size_t k = 0; k < 16 && single; k += 2)
        for (uint32_t t = w->tiles - single; t < w->tiles; t++)
            winograd_tile(w, w->u + k * w->u_plane, w->v + k * w->v_plane + t, w->m + k * w->m_plane + t);
}

/* Four sums become two outputs: m0 + m1 + m2, m1 - m2 - m3. */
INLINE void winograd_output_line(vec out[2], vec m0, vec m1, vec m2, vec m3)
{
    out[0] = vec_add(vec_add(m1, m2), m0);
    out[1] = vec_sub(vec_sub(m1, m2), m3);
}

INLINE void winograd_store(uint8_t *y, vec v, size_t left, bool table, const struct eng_finish *f)
{
    v = finish_element(v, vec_set(f->bias), table, f);
    if (left >= LANES)
        vec_to_fp16(y, v, f->store);
    else if (left)
        vec_to_fp16_part(y, v, left, f->store);
}

/* A row of tiles: two output rows, or one. */
INLINE void winograd_output_row(const float *m, size_t plane, size_t columns, uint8_t *y0, uint8_t *y1,
                                bool table, const struct eng_finish *f)
{
    uint8_t *const y[2] = {y0, y1};

    for (size_t x = 0; x < columns; x += 2 * LANES, m += LANES) {
        size_t left = columns - x, right = left > LANES ? left - LANES : 0;
        vec down[4][2], out[2], first_half, second_half;

        UNROLL
        for (unsigned k = 0; k < 4; k++)
            winograd_output_line(down[k], vec_load(m + k * plane), vec_load(m + (4 + k) * plane),
                                 vec_load(m + (8 + k) * plane), vec_load(m + (12 + k) * plane));
        UNROLL
        for (unsigned row = 0; row < 2; row++) {
            if (!y[row])
                continue;
            winograd_output_line(out, down[0][row], down[1][row], down[2][row], down[3][row]);
            vec_zip(out[0], out[1], &first_half, &second_half);
            winograd_store(y[row] + 2 * x, first_half, left, table, f);
            winograd_store(y[row] + 2 * x + 2 * LANES, second_half, right, table, f);
        }
    }
}

INLINE void winograd_output_by(const struct eng_winograd_output *out, bool table)
{
    const struct eng_finish f = *out->finish;
    const float *m = out->m;
    uint8_t *y = out->fp16;

    for (uint32_t row = 0; row < out->rows; row += 2, m += (out->columns + 1) / 2, y += 2 * out->stride)
        winograd_output_row(m, out->plane, out->columns, y, row + 1 < out->rows ? y + out->stride : NULL,
                            table, &f);
}

TARGET static void winograd_output(const struct eng_winograd_output *out)
{
    if (out->finish->table)
        winograd_output_by(out, true);
    else
        winograd_output_by(out, false);
}
