/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: Winograd's F(2x2, 3x3), as ne_winograd.c uses it. Every
 * transform is a fixed sequence of sums and differences (and halvings, which are exact) of the same numbers
 * in every instruction set, and a product is one chain, so the sets agree bit for bit.
 */

/* The largest magnitude, as the bits of fp16 values have it; a NaN is above infinity. */
TARGET static uint32_t largest(const uint8_t *fp16, size_t n)
{
    uint16_t lane[2 * LANES], half;
    vec most = vec_set(0);
    uint32_t found = 0;
    size_t i = 0;

    for (; i + 2 * LANES <= n; i += 2 * LANES)
        most = vec_largest_fp16(most, fp16 + 2 * i);
    vec_store_bits(lane, most);
    for (unsigned k = 0; k < 2 * LANES; k++)
        found = lane[k] > found ? lane[k] : found;
    for (; i < n; i++) {
        __builtin_memcpy(&half, fp16 + 2 * i, sizeof(half));
        half &= 0x7fff;
        found = half > found ? half : found;
    }
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
                                    size_t channels, const struct eng_load *load)
{
    struct eng_load rules = *load;

    for (size_t c = 0; c < channels; c++, from += 9 * stride, to += ENG_WINOGRAD_GROUP) {
        for (size_t i = 0; i < ENG_WINOGRAD_GROUP; i += LANES) {
            vec g[9], down[3][4], out[4];

            UNROLL
            for (unsigned tap = 0; tap < 9; tap++)
                g[tap] = vec_from_fp16(from + tap * stride + 2 * i, &rules);
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

TARGET static void winograd_row(const uint8_t *fp16, size_t before, size_t n, size_t tiles, float *to,
                                size_t plane, const struct eng_load *load)
{
    float row[2 * ENG_WINOGRAD_TILES + 2 + 2 * ENG_LANES];
    size_t needed = (tiles + LANES - 1) / LANES * LANES * 2 + 2;

    for (size_t i = 0; i < before; i++)
        row[i] = 0;
    to_float(fp16, row + before, n, load);
    for (size_t i = before + n; i < needed; i++)
        row[i] = 0;
    for (size_t t = 0; t < tiles; t += LANES) {
        vec d[4], out[4];

        vec_unzip(row + 2 * t, &d[0], &d[1]);
        vec_unzip(row + 2 * t + 2, &d[2], &d[3]);
        winograd_input_line(out, d[0], d[1], d[2], d[3]);
        UNROLL
        for (unsigned x = 0; x < 4; x++)
            vec_store(to + x * plane + t, out[x]);
    }
}

TARGET static void winograd_tiles(const float *const rows[4], size_t plane, size_t tiles, float *to,
                                  size_t to_plane)
{
    for (size_t t = 0; t < tiles; t += LANES) {
        UNROLL
        for (unsigned x = 0; x < 4; x++) {
            size_t at = x * plane + t;
            vec out[4];

            winograd_input_line(out, vec_load(rows[0] + at), vec_load(rows[1] + at), vec_load(rows[2] + at),
                                vec_load(rows[3] + at));
            UNROLL
            for (unsigned y = 0; y < 4; y++)
                vec_store(to + (4 * y + x) * to_plane + t, out[y]);
        }
    }
}

INLINE void winograd_products_of(const struct eng_winograd *w, const float *u, const float *v, float *m,
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

TARGET static void winograd_products(const struct eng_winograd *w)
{
    uint32_t calls = (w->vectors + WINOGRAD_COLUMNS - 1) / WINOGRAD_COLUMNS;
    uint32_t each = (w->vectors + calls - 1) / calls;

    for (unsigned c = 0; c < w->outputs; c += WINOGRAD_PANEL) {
        float *m = w->m + c * w->stride;

        for (size_t i = 0; i < w->vectors; i += each) {
            const float *v = w->v + i * LANES;

            switch (w->vectors - i < each ? w->vectors - i : each) {
            case 1: winograd_products_of(w, w->u + c, v, m + i * LANES, 1); break;
            case 2: winograd_products_of(w, w->u + c, v, m + i * LANES, 2); break;
#if WINOGRAD_COLUMNS > 2
            case 3: winograd_products_of(w, w->u + c, v, m + i * LANES, 3); break;
#endif
            }
        }
    }
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

INLINE void winograd_outputs_by(const float *m, size_t plane, size_t columns, uint8_t *const y[2], bool table,
                                const struct eng_finish *constants)
{
    const struct eng_finish f = *constants;

    for (size_t x = 0; x < columns; x += 2 * LANES, m += LANES) {
        size_t left = columns - x, right = left > LANES ? left - LANES : 0;
        vec down[4][2], out[2], first, second;

        UNROLL
        for (unsigned k = 0; k < 4; k++)
            winograd_output_line(down[k], vec_load(m + k * plane), vec_load(m + (4 + k) * plane),
                                 vec_load(m + (8 + k) * plane), vec_load(m + (12 + k) * plane));
        UNROLL
        for (unsigned row = 0; row < 2; row++) {
            if (!y[row])
                continue;
            winograd_output_line(out, down[0][row], down[1][row], down[2][row], down[3][row]);
            vec_zip(out[0], out[1], &first, &second);
            winograd_store(y[row] + 2 * x, first, left, table, &f);
            winograd_store(y[row] + 2 * x + 2 * LANES, second, right, table, &f);
        }
    }
}

TARGET static void winograd_outputs(const float *m, size_t plane, size_t columns, uint8_t *const y[2],
                                    const struct eng_finish *constants)
{
    if (constants->table)
        winograd_outputs_by(m, plane, columns, y, true, constants);
    else
        winograd_outputs_by(m, plane, columns, y, false, constants);
}
