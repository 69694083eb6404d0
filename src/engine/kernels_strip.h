/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: strips, whose vectors are neighbouring outputs of one channel.
 * They are stored as they are summed, so no value changes its place.
 */

#define STRIP_WIDTH (STRIP_VECTORS * LANES)

/* The sums of some channels, to acc[channel]. */
INLINE void strip_sums_of(const struct eng_strip *s, const float *in, const float *weight,
                          float acc[STRIP_CHANNELS][STRIP_WIDTH], unsigned channels, unsigned vectors)
{
    vec sum[STRIP_CHANNELS][STRIP_VECTORS], x[STRIP_VECTORS], ceiling = vec_set(s->ceiling);
    const uint32_t *offset = s->offset, *end = s->offset + s->taps;
    const size_t row = s->panel_row;

    UNROLL
    for (unsigned c = 0; c < channels; c++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            sum[c][v] = vec_set(0);
    }
    for (; offset < end; offset++, weight += row) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            x[v] = vec_load(in + *offset + v * LANES);
        UNROLL
        for (unsigned c = 0; c < channels; c++) {
            vec w = vec_set(weight[c]);

            UNROLL
            for (unsigned v = 0; v < vectors; v++)
                sum[c][v] = vec_mac(sum[c][v], x[v], w, ceiling);
        }
    }
    UNROLL
    for (unsigned c = 0; c < channels; c++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            vec_store(acc[c] + v * LANES, sum[c][v]);
    }
}

/* Not inlined, because every form of the end has a loop of its own. */
TARGET __attribute__((noinline)) static void strip_sums(const struct eng_strip *s, const float *in,
                                                        const float *weight,
                                                        float acc[STRIP_CHANNELS][STRIP_WIDTH],
                                                        unsigned channels, unsigned vectors)
{
    if (vectors == STRIP_VECTORS && channels == STRIP_CHANNELS)
        strip_sums_of(s, in, weight, acc, STRIP_CHANNELS, STRIP_VECTORS);
    else if (channels == STRIP_CHANNELS)
        strip_sums_of(s, in, weight, acc, STRIP_CHANNELS, 1);
    else if (vectors == STRIP_VECTORS)
        strip_sums_of(s, in, weight, acc, STRIP_FEW, STRIP_VECTORS);
    else
        strip_sums_of(s, in, weight, acc, STRIP_FEW, 1);
}

INLINE void strip_end(const float *acc, float bias, uint8_t *to, unsigned vectors, struct tile_form form,
                      const struct eng_finish *f)
{
    UNROLL
    for (unsigned v = 0; v < vectors; v++)
        vec_to_fp16(to + 2 * (size_t)v * LANES,
                    tile_element(vec_load(acc + v * LANES), vec_set(bias), form, f), f->store);
}

/* Some vectors of all channels; more sums than there are channels are made, with weights of zero. */
INLINE void strip_channels(const struct eng_strip *s, uint32_t at, unsigned vectors, struct tile_form form,
                           const struct eng_finish *f)
{
    float acc[STRIP_CHANNELS][STRIP_WIDTH] __attribute__((aligned(64)));
    uint32_t channels, c;

    for (uint32_t first = 0; first < s->channels; first += channels) {
        const float *bias = s->bias + first;
        uint8_t *to = s->to + first * s->channel + 2 * (size_t)at;

        channels = s->channels - first > STRIP_FEW ? STRIP_CHANNELS : STRIP_FEW;
        strip_sums(s, s->in + at, s->panel + first, acc, channels, vectors);
        for (c = 0; c + 4 <= channels && first + c + 4 <= s->channels; c += 4)
            UNROLL
        for (unsigned i = 0; i < 4; i++, to += s->channel)
            strip_end(acc[c + i], bias[c + i], to, vectors, form, f);
        for (; c < channels && first + c < s->channels; c++, to += s->channel)
            strip_end(acc[c], bias[c], to, vectors, form, f);
    }
}

INLINE void strip_by(const struct eng_strip *given, struct tile_form form, const struct eng_finish *constants,
                     unsigned store)
{
    const struct eng_strip s = *given;
    struct eng_finish f = *constants;
    uint32_t at = 0;

    f.store = store;
    for (; at + STRIP_WIDTH <= s.n; at += STRIP_WIDTH)
        strip_channels(&s, at, STRIP_VECTORS, form, &f);
    for (; at + LANES <= s.n; at += LANES)
        strip_channels(&s, at, 1, form, &f);
}

TARGET static void strip(const struct eng_strip *s, const struct eng_finish *f)
{
    bool sum = is_no_addend(f->acc_bias) && f->post_scale == 1;

    if (sum && !f->table && f->store == STORE_SUMS)
        strip_by(s, (struct tile_form){.sum = true}, f, STORE_SUMS);
    else if (sum && f->table && f->store == STORE_RULES && is_clamp(f))
        strip_by(s, (struct tile_form){.clamp = true, .sum = true}, f, ENG_RULE_NAN_IS_ZERO);
    else if (!f->table)
        strip_by(s, (struct tile_form){0}, f, f->store);
    else
        strip_by(s, (struct tile_form){.table = true}, f, f->store);
}
