/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels_body.h, with its conditions: inputs and weights of tiles and strips become floats. */

/* Bytes: short rows are not fetched ahead by the processor, and another thread may have written them. */
#define PACK_AHEAD 1024

/* Elements [0, n) of a row, n at least 1 and any number; all others are 0. */
INLINE vec pack_load(const uint8_t *from, size_t n, const struct eng_load *load)
{
    return n >= LANES ? vec_from_fp16(from, load) : vec_from_fp16_part(from, n, load);
}

/* Every second element, LANES of them or the n that there are. */
INLINE vec pack_second(const uint8_t *from, size_t n, const struct eng_load *load)
{
    size_t all = n >= LANES ? 2 * LANES - 1 : 2 * n - 1;
    vec a = pack_load(from, all, load);

    return vec_even(a, all > LANES ? vec_from_fp16_part(from + 2 * LANES, all - LANES, load) : a);
}

INLINE void pack_rows_by(const struct eng_packed_rows *given, unsigned step, const struct eng_load *load)
{
    const struct eng_packed_rows p = *given;
    vec scale = vec_set(load->scale);

    for (size_t c = 0; c < p.channels; c++) {
        float *to = p.to + c * p.to_channel;

        for (size_t row = 0; row < p.rows; row++, to += p.n) {
            const uint8_t *from = p.from + c * p.channel + row * p.row;

            for (size_t i = 0; i < p.n; i += LANES) {
                __builtin_prefetch(from + 2 * i + PACK_AHEAD);
                vec v = step == 1 ? pack_load(from + 2 * i, p.n - i, load)
                                  : pack_second(from + 4 * i, p.n - i, load);

                vec_store(to + i, vec_mul(v, scale));
            }
        }
    }
}

TARGET static void pack_rows(const struct eng_packed_rows *rows, const struct eng_load *load)
{
    const struct eng_load mac = {.rules = MAC_RULES, .scale = load->scale};

    if (is_mac_load(load) && rows->step == 1)
        pack_rows_by(rows, 1, &mac);
    else if (is_mac_load(load))
        pack_rows_by(rows, 2, &mac);
    else
        pack_rows_by(rows, rows->step, load);
}

TARGET static void split_rows(const struct eng_split_rows *given)
{
    const struct eng_split_rows s = *given;

    for (size_t c = 0; c < s.channels; c++) {
        const uint8_t *from = s.from + c * s.from_channel;

        for (size_t row = 0; row < s.rows; row++, from += 2 * s.n) {
            uint8_t *to = s.to + c * s.to_channel + row * s.to_row;
            size_t i = 0;
            halves v;

            __builtin_prefetch(to + PACK_AHEAD, 1);
            for (; i + HALVES <= s.n; i += HALVES) {
                __builtin_memcpy(&v, from + 2 * i, sizeof(v));
                __builtin_memcpy(to + 2 * i, &v, sizeof(v));
            }
            if (i < s.n) {
                __builtin_memcpy(&v, from + 2 * i, sizeof(v));
                store_halves(to + 2 * i, v, s.n - i, s.tail);
            } else if (s.tail) {
                zero_tail(to + 2 * i, s.tail);
            }
        }
    }
}

INLINE void unzip_rows_by(const struct eng_unzipped_rows *given, const struct eng_load *load)
{
    const struct eng_unzipped_rows u = *given;
    vec scale = vec_set(load->scale);

    for (size_t row = 0; row < u.rows; row++) {
        const uint8_t *from = u.from + row * u.row;
        float *even = u.even + row * u.to_row, *odd = u.odd + row * u.to_row;

        for (size_t i = 0; i < u.n; i += 2 * LANES) {
            size_t left = u.n - i;
            vec a = vec_mul(pack_load(from + 2 * i, left, load), scale), b = a;

            if (left > LANES)
                b = vec_mul(pack_load(from + 2 * (i + LANES), left - LANES, load), scale);
            if (left >= 2 * LANES) {
                vec_store(even + i / 2, vec_even(a, b));
                vec_store(odd + i / 2, vec_odd(a, b));
                continue;
            }
            vec_store_part(even + i / 2, vec_even(a, b), (left + 1) / 2);
            if (left > 1)
                vec_store_part(odd + i / 2, vec_odd(a, b), left / 2);
        }
    }
}

TARGET static void unzip_rows(const struct eng_unzipped_rows *rows, const struct eng_load *load)
{
    if (is_mac_load(load))
        unzip_rows_by(rows, &(struct eng_load){.rules = MAC_RULES, .scale = load->scale});
    else
        unzip_rows_by(rows, load);
}

/* Four rows of a vector, if they are `stride` bytes apart, or one. */
INLINE void runs_to_float_rows(const struct eng_runs *r, size_t at, unsigned rows, unsigned lanes, float *to,
                               const struct eng_load *load)
{
    vec w[4], scale = vec_set(load->scale);

    for (unsigned v = 0; v < r->vectors; v++, to += LANES) {
        const uint8_t *const *run = r->run + v * (LANES / lanes);

        if (rows == 4)
            vecs_from_fp16_runs(run, at, r->channel, lanes, load, w);
        else
            w[0] = vec_from_fp16_runs(run, at, lanes, load);
        UNROLL
        for (unsigned i = 0; i < rows; i++)
            vec_store(to + (size_t)i * r->vectors * LANES, vec_mul(w[i], scale));
    }
}

INLINE void runs_to_float_by(const struct eng_runs *given, unsigned lanes, const struct eng_load *load)
{
    const struct eng_runs r = *given;
    const size_t row = (size_t)r.vectors * LANES;
    float *to = r.to;
    uint32_t c = 0;

    for (; r.taps == 1 && c + 4 <= r.channels; c += 4, to += 4 * row)
        runs_to_float_rows(&r, r.tap[0] + c * r.channel, 4, lanes, to, load);
    for (; c < r.channels; c++)
        for (uint32_t t = 0; t < r.taps; t++, to += row)
            runs_to_float_rows(&r, r.tap[t] + c * r.channel, 1, lanes, to, load);
}

INLINE void runs_to_float_lanes(const struct eng_runs *r, const struct eng_load *load)
{
    switch (r->lanes) {
    case 4: runs_to_float_by(r, 4, load); break;
#if LANES > 4
    case 8: runs_to_float_by(r, 8, load); break;
#endif
#if LANES > 8
    case 16: runs_to_float_by(r, 16, load); break;
#endif
    }
}

TARGET static void runs_to_float(const struct eng_runs *r, const struct eng_load *load)
{
    if (is_mac_load(load))
        runs_to_float_lanes(r, &(struct eng_load){.rules = MAC_RULES, .scale = load->scale});
    else
        runs_to_float_lanes(r, load);
}
