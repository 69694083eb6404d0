/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: strips, whose vectors are neighbouring outputs of one channel.
 * They are stored as they are summed, so no value changes its place.
 */

#define STRIP_WIDTH    (STRIP_VECTORS * LANES)
#define STRIP_PARTS    (STRIP_CHANNELS / STRIP_FEW)
#define STRIP_PREFETCH 128 /* bytes ahead in the destination; it changes only the speed */

/*
 * What becomes of the sums: two common ends take them from the registers; any other one takes them from
 * memory, because its code is too long to be repeated for each.
 */
enum strip_end { STRIP_END_SUM, STRIP_END_CLAMP, STRIP_END_ANY };

/* One vector of outputs. */
INLINE void strip_store(uint8_t *to, vec sum, float bias, enum strip_end end, const struct eng_finish *f)
{
    struct tile_form form = {.clamp = end == STRIP_END_CLAMP, .sum = true};

    vec_to_fp16(to, tile_element(sum, vec_set(bias), form, f),
                end == STRIP_END_CLAMP ? ENG_RULE_NAN_IS_ZERO : STORE_SUMS);
}

/* Vectors of outputs of a channel. Sums go in twos, because the rules then take half the work. */
INLINE void strip_store_all(uint8_t *to, const vec *sum, unsigned vectors, float bias, enum strip_end end,
                            const struct eng_finish *f)
{
    vec addend = vec_set(bias), unscale = vec_set(f->unscale);
    const unsigned twos = end == STRIP_END_SUM ? vectors / 2 : 0;

    UNROLL
    for (unsigned i = 0; i < twos; i++)
        vec_to_fp16_sums(to + 4 * (size_t)i * LANES, vec_add_exact(addend, sum[2 * i], unscale),
                         vec_add_exact(addend, sum[2 * i + 1], unscale), f->relu);
    UNROLL
    for (unsigned v = 2 * twos; v < vectors; v++)
        strip_store(to + 2 * (size_t)v * LANES, sum[v], bias, end, f);
}

/* Some vectors of some channels, from `at` and `first` on; the sums of STRIP_END_ANY go to acc[channel]. */
INLINE void strip_part(const struct eng_strip *s, uint32_t at, uint32_t first,
                       float acc[STRIP_CHANNELS][STRIP_WIDTH], unsigned channels, unsigned vectors,
                       enum strip_end end, const struct eng_finish *f)
{
    vec sum[STRIP_CHANNELS][STRIP_VECTORS], x[STRIP_VECTORS], ceiling = vec_set(s->ceiling);
    const uint32_t *offset = s->offset, *last = s->offset + s->taps;
    const float *in = s->in + at, *weight = s->panel + first;
    uint8_t *to = s->to + first * s->channel + 2 * (size_t)at;
    const size_t row = s->panel_row;

    UNROLL
    for (unsigned c = 0; c < channels; c++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            sum[c][v] = vec_set(0);
    }
    for (; offset < last; offset++, weight += row) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            x[v] = vec_load(in + *offset + v * LANES);
        UNROLL
        for (unsigned c = 0; c < channels; c++) {
            vec w = vec_spread(weight + c);

            UNROLL
            for (unsigned v = 0; v < vectors; v++)
                sum[c][v] = vec_mac(sum[c][v], x[v], w, ceiling);
        }
    }
    __asm__("" : "+r"(f)); /* the end's constants are loaded here: all registers are taken before */
    UNROLL
    for (unsigned c = 0; c < channels; c++, to += s->channel) {
        __builtin_prefetch(to + STRIP_PREFETCH, 1);
        if (end != STRIP_END_ANY) {
            strip_store_all(to, sum[c], vectors, s->bias[first + c], end, f);
            continue;
        }
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            vec_store(acc[c] + v * LANES, sum[c][v]);
    }
}

/*
 * The last vectors of some channels, and the outputs after them, as vectors of channels: alone these would be
 * too few sums to hide the time of a multiply-add.
 */
INLINE void strip_with_more(const struct eng_strip *s, uint32_t at, uint32_t first,
                            float acc[STRIP_CHANNELS][STRIP_WIDTH], unsigned vectors, unsigned more)
{
    vec sum[STRIP_CHANNELS][STRIP_VECTORS], x[STRIP_VECTORS], ceiling = vec_set(s->ceiling);
    vec_few rest[ENG_STRIP_MORE][STRIP_PARTS];
    const uint32_t *offset = s->offset, *last = s->offset + s->taps;
    const float *in = s->in + at, *weight = s->panel + first;

    UNROLL
    for (unsigned c = 0; c < STRIP_CHANNELS; c++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            sum[c][v] = vec_set(0);
    }
    UNROLL
    for (unsigned i = 0; i < more * STRIP_PARTS; i++)
        rest[i / STRIP_PARTS][i % STRIP_PARTS] = few_zero();
    for (; offset < last; offset++, weight += s->panel_row) {
        const float *one = in + *offset + vectors * LANES;

        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            x[v] = vec_load(in + *offset + v * LANES);
        UNROLL
        for (unsigned c = 0; c < STRIP_CHANNELS; c++) {
            vec w = vec_spread(weight + c);

            UNROLL
            for (unsigned v = 0; v < vectors; v++)
                sum[c][v] = vec_mac(sum[c][v], x[v], w, ceiling);
        }
        UNROLL
        for (unsigned i = 0; i < more * STRIP_PARTS; i++)
            rest[i / STRIP_PARTS][i % STRIP_PARTS] =
                few_mac(rest[i / STRIP_PARTS][i % STRIP_PARTS], one + i / STRIP_PARTS,
                        weight + i % STRIP_PARTS * STRIP_FEW, s->ceiling);
    }
    UNROLL
    for (unsigned c = 0; c < STRIP_CHANNELS; c++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            vec_store(acc[c] + v * LANES, sum[c][v]);
    }
    UNROLL
    for (unsigned i = 0; i < more * STRIP_PARTS; i++)
        few_store(s->sums + i / STRIP_PARTS * s->panel_row + first + i % STRIP_PARTS * STRIP_FEW,
                  rest[i / STRIP_PARTS][i % STRIP_PARTS]);
}

/* A function of its own: all registers are sums, and none is left for what the end of a strip needs. */
TARGET static __attribute__((noinline)) void strip_more(const struct eng_strip *s, uint32_t at,
                                                        uint32_t first,
                                                        float acc[STRIP_CHANNELS][STRIP_WIDTH],
                                                        unsigned vectors)
{
    switch (vectors * ENG_STRIP_MORE + s->more) {
    case 1 * ENG_STRIP_MORE + 1: strip_with_more(s, at, first, acc, 1, 1); break;
    case 1 * ENG_STRIP_MORE + 2: strip_with_more(s, at, first, acc, 1, 2); break;
    case 2 * ENG_STRIP_MORE + 1: strip_with_more(s, at, first, acc, 2, 1); break;
    case 2 * ENG_STRIP_MORE + 2: strip_with_more(s, at, first, acc, 2, 2); break;
#if STRIP_VECTORS > 2
    case 3 * ENG_STRIP_MORE + 1: strip_with_more(s, at, first, acc, 3, 1); break;
    case 3 * ENG_STRIP_MORE + 2: strip_with_more(s, at, first, acc, 3, 2); break;
#endif
    }
}

/* The end of sums in memory. More of them than there are channels may be made, with weights of zero. */
INLINE void strip_finish(const struct eng_strip *s, uint32_t at, uint32_t first,
                         float acc[STRIP_CHANNELS][STRIP_WIDTH], unsigned channels, unsigned vectors,
                         enum strip_end end, bool table, const struct eng_finish *f)
{
    uint8_t *to = s->to + first * s->channel + 2 * (size_t)at;
    vec v[STRIP_VECTORS];

    for (unsigned c = 0; c < channels && first + c < s->channels; c++, to += s->channel) {
        vec bias = vec_set(s->bias[first + c]);

        UNROLL
        for (unsigned i = 0; i < vectors; i++)
            v[i] = vec_load(acc[c] + i * LANES);
        if (end != STRIP_END_ANY) {
            strip_store_all(to, v, vectors, s->bias[first + c], end, f);
            continue;
        }
        for (unsigned i = 0; i < vectors; i++)
            vec_to_fp16(to + 2 * (size_t)i * LANES, finish_element(v[i], bias, table, f), f->store);
    }
}

INLINE void strip_any(const struct eng_strip *s, uint32_t at, uint32_t first, unsigned channels,
                      unsigned vectors, bool table, const struct eng_finish *f)
{
    float acc[STRIP_CHANNELS][STRIP_WIDTH] __attribute__((aligned(64)));

    strip_part(s, at, first, acc, channels, vectors, STRIP_END_ANY, f);
    strip_finish(s, at, first, acc, channels, vectors, STRIP_END_ANY, table, f);
}

INLINE void strip_last(const struct eng_strip *s, uint32_t at, uint32_t first, unsigned vectors,
                       enum strip_end end, bool table, const struct eng_finish *f)
{
    float acc[STRIP_CHANNELS][STRIP_WIDTH] __attribute__((aligned(64)));

    strip_more(s, at, first, acc, vectors);
    strip_finish(s, at, first, acc, STRIP_CHANNELS, vectors, end, table, f);
}

/* All channels. */
INLINE void strip_channels(const struct eng_strip *s, uint32_t at, unsigned vectors, enum strip_end end,
                           const struct eng_finish *f)
{
    bool last = s->more && at + vectors * LANES == s->n;
    uint32_t c = 0, all = s->channels;

    for (; last && c < all; c += STRIP_CHANNELS)
        if (f->table)
            strip_last(s, at, c, vectors, end, true, f);
        else
            strip_last(s, at, c, vectors, end, false, f);
    for (; end != STRIP_END_ANY && c + STRIP_CHANNELS <= all; c += STRIP_CHANNELS)
        strip_part(s, at, c, NULL, STRIP_CHANNELS, vectors, end, f);
    for (; end != STRIP_END_ANY && c + STRIP_FEW <= all; c += STRIP_FEW)
        strip_part(s, at, c, NULL, STRIP_FEW, vectors, end, f);
    for (; c < all; c += STRIP_FEW)
        if (f->table)
            strip_any(s, at, c, STRIP_FEW, vectors, true, f);
        else
            strip_any(s, at, c, STRIP_FEW, vectors, false, f);
}

INLINE void strip_by(const struct eng_strip *given, enum strip_end end, const struct eng_finish *constants)
{
    const struct eng_strip s = *given;
    const struct eng_finish f = *constants;
    uint32_t at = 0;

#if STRIP_VECTORS > 2
    /* Four vectors are two times two: one alone has too few sums at a time. */
    for (; at + STRIP_WIDTH <= s.n && (s.n - at) / LANES != 4; at += STRIP_WIDTH)
        strip_channels(&s, at, STRIP_VECTORS, end, &f);
    for (; at + 2 * LANES <= s.n; at += 2 * LANES)
        strip_channels(&s, at, 2, end, &f);
#else
    for (; at + STRIP_WIDTH <= s.n; at += STRIP_WIDTH)
        strip_channels(&s, at, STRIP_VECTORS, end, &f);
#endif
#if STRIP_VECTORS > 1
    for (; at + LANES <= s.n; at += LANES)
        strip_channels(&s, at, 1, end, &f);
#endif
}

TARGET static void strip(const struct eng_strip *s, const struct eng_finish *f)
{
    bool sum = eng_is_no_addend(f->acc_bias) && f->post_scale == 1;

    if (sum && !f->table && f->store == STORE_SUMS)
        strip_by(s, STRIP_END_SUM, f);
    else if (sum && f->table && f->store == STORE_RULES && is_clamp(f))
        strip_by(s, STRIP_END_CLAMP, f);
    else
        strip_by(s, STRIP_END_ANY, f);
}
