/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels_body.h, with its conditions: sums of products of a tile, and the tile's end. */

INLINE void mac_tile_of(const struct eng_tile *t, unsigned vectors, unsigned pixels)
{
    vec sum[TILE_PIXELS][TILE_VECTORS], w[TILE_VECTORS], ceiling = vec_set(t->ceiling);
    const size_t group = (size_t)vectors * LANES;
    const float *in = t->in, *second = t->in + t->jump, *weight = t->panel;
    const uint32_t *offset = t->offset, *end = t->offset + t->taps;

    UNROLL
    for (unsigned p = 0; p < pixels; p++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            sum[p][v] = t->begin ? vec_set(0) : vec_load(t->acc + p * group + v * LANES);
    }
    for (; offset < end; offset++, weight += group) {
        const float *a = in + *offset, *b = second + *offset;

        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            w[v] = vec_load(weight + v * LANES);
        UNROLL
        for (unsigned p = 0; p < pixels; p++) {
            vec x = vec_set(p < pixels / 2 ? a[p] : b[p]);

            UNROLL
            for (unsigned v = 0; v < vectors; v++)
                sum[p][v] = vec_mac(sum[p][v], x, w[v], ceiling);
        }
    }
    UNROLL
    for (unsigned p = 0; p < pixels; p++) {
        UNROLL
        for (unsigned v = 0; v < vectors; v++)
            vec_store(t->acc + p * group + v * LANES, sum[p][v]);
    }
}

INLINE void mac_tile_pixels(const struct eng_tile *t, unsigned vectors, unsigned pixels)
{
    switch (pixels) {
    case 1: mac_tile_of(t, vectors, 1); break;
    case 2: mac_tile_of(t, vectors, 2); break;
    case 3: mac_tile_of(t, vectors, 3); break;
    case 4: mac_tile_of(t, vectors, 4); break;
    case 5: mac_tile_of(t, vectors, 5); break;
    case 6: mac_tile_of(t, vectors, 6); break;
#if TILE_PIXELS > 6
    case 7: mac_tile_of(t, vectors, 7); break;
    case 8: mac_tile_of(t, vectors, 8); break;
    case 9: mac_tile_of(t, vectors, 9); break;
    case 10: mac_tile_of(t, vectors, 10); break;
    case 11: mac_tile_of(t, vectors, 11); break;
    case 12: mac_tile_of(t, vectors, 12); break;
    case 13: mac_tile_of(t, vectors, 13); break;
    case 14: mac_tile_of(t, vectors, 14); break;
#endif
    }
}

TARGET static void mac_tile(const struct eng_tile *t, unsigned vectors, unsigned pixels)
{
    switch (vectors) {
    case 1: mac_tile_pixels(t, 1, pixels); break;
    case 2: mac_tile_pixels(t, 2, pixels); break;
#if TILE_VECTORS > 2
    case 3: mac_tile_pixels(t, 3, pixels); break;
    case 4: mac_tile_pixels(t, 4, pixels); break;
#endif
    }
}

#define TILE_CHANNELS (TILE_VECTORS * LANES)
#define TILE_ROW      16 /* pixels, at least those of a tile */

/* What the loops of a tile's end are specialised for: constants where it is inlined. */
struct tile_form {
    bool table;
    bool clamp; /* the table is one, and nothing else than that changes a value */
    bool sum;   /* neither a constant addend nor a factor */
};

INLINE vec tile_element(vec v, vec bias, struct tile_form form, const struct eng_finish *f)
{
    if (!form.sum)
        return finish_element(v, bias, form.table, f);
    v = vec_add_exact(bias, v, vec_set(f->unscale));
    if (form.clamp)
        return finish_by_clamp(v, f->table);
    if (form.table)
        return finish_by_table(v, PR_ACTIVATION_PLAIN, f);
    return f->relu ? vec_relu(v) : v;
}

/* Channels are packed: pixel by pixel. */
INLINE void tile_to_channels(const struct eng_tile_end *end, struct tile_form form,
                             const struct eng_finish *f)
{
    const float *acc = end->acc;

    for (uint32_t row = 0; row < end->rows; row++)
        for (uint32_t x = 0; x < end->columns; x++, acc += end->acc_next) {
            uint8_t *to = end->to + row * end->row + x * end->column;

            for (uint32_t c = 0; c < end->channels; c += LANES) {
                vec v = tile_element(vec_load(acc + c), vec_load(end->bias + c), form, f);

                if (c + LANES <= end->channels)
                    vec_to_fp16(to + 2 * c, v, f->store);
                else
                    vec_to_fp16_part(to + 2 * c, v, end->channels - c, f->store);
            }
        }
}

/* At most 16 bytes, by moves of fixed sizes that may overlap. */
INLINE void copy_some(uint8_t *to, const uint8_t *from, size_t bytes)
{
    if (bytes == 16) {
        __builtin_memcpy(to, from, 16);
    } else if (bytes >= 8) {
        __builtin_memcpy(to, from, 8);
        __builtin_memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else if (bytes >= 4) {
        __builtin_memcpy(to, from, 4);
        __builtin_memcpy(to + bytes - 4, from + bytes - 4, 4);
    } else if (bytes) {
        __builtin_memcpy(to, from, 2);
    }
}

/*
 * One row of each channel, and zeros after it; `slots` pixels in `from` belong to it, and those after the
 * row's are zeros where zeros follow. Pixels were stored by 8, and are loaded again soonest by parts of
 * these.
 */
INLINE void store_tile_row(const struct eng_tile_end *end, uint8_t *to, const uint8_t *from, size_t slots)
{
    const size_t bytes = 2 * (size_t)end->columns, next = end->channel, tail = end->tail;
    const size_t copied = tail && bytes + tail >= 2 * slots ? 2 * slots : bytes, rest = bytes + tail - copied;

    for (uint32_t c = 0; c < end->channels; c++, to += next, from += 2 * TILE_ROW) {
        if (copied > 16) {
            __builtin_memcpy(to, from, 16);
            copy_some(to + 16, from + 16, copied - 16);
        } else {
            copy_some(to, from, copied);
        }
        if (rest == 32)
            __builtin_memset(to + copied, 0, 32);
        else if (rest)
            zero_tail(to + copied, rest);
    }
}

#if LANES >= 8
/*
 * 16 by 16 values. Registers that are half of the eight apart are interleaved three times, which transposes
 * 8 by 8 values in each 128-bit lane.
 */
INLINE void transpose_sixteen(const uint8_t *from, size_t from_row, uint8_t *to, size_t to_row)
{
    __m256i a[16], b[16];

    /*
     * a[i] has columns 0 to 7 of row i, and of row i + 8 in its upper lane; a[i + 8] has the other
     * columns.
     */
    UNROLL
    for (unsigned i = 0; i < 8; i++) {
        __m256i low = _mm256_loadu_si256((const void *)(from + i * from_row));
        __m256i high = _mm256_loadu_si256((const void *)(from + (i + 8) * from_row));

        a[i] = _mm256_permute2x128_si256(low, high, 0x20);
        a[i + 8] = _mm256_permute2x128_si256(low, high, 0x31);
    }
    UNROLL
    for (unsigned h = 0; h < 16; h += 8) {
        UNROLL
        for (unsigned i = 0; i < 4; i++) {
            b[h + 2 * i] = _mm256_unpacklo_epi16(a[h + i], a[h + i + 4]);
            b[h + 2 * i + 1] = _mm256_unpackhi_epi16(a[h + i], a[h + i + 4]);
        }
        UNROLL
        for (unsigned i = 0; i < 4; i++) {
            a[h + 2 * i] = _mm256_unpacklo_epi16(b[h + i], b[h + i + 4]);
            a[h + 2 * i + 1] = _mm256_unpackhi_epi16(b[h + i], b[h + i + 4]);
        }
        UNROLL
        for (unsigned i = 0; i < 4; i++) {
            b[h + 2 * i] = _mm256_unpacklo_epi16(a[h + i], a[h + i + 4]);
            b[h + 2 * i + 1] = _mm256_unpackhi_epi16(a[h + i], a[h + i + 4]);
        }
    }
    UNROLL
    for (unsigned i = 0; i < 16; i++)
        _mm256_storeu_si256((void *)(to + i * to_row), b[i]);
}
#endif

/* The first `channels` channels, rounded up to 8, and `pixels` pixels, rounded up to 8 or 16. */
INLINE void transpose_tile(uint8_t line[TILE_ROW][2 * TILE_CHANNELS], uint8_t *to, size_t to_row,
                           uint32_t channels, uint32_t pixels)
{
    uint32_t c = 0;

#if LANES >= 8
    for (; c + 8 < channels; c += 16)
        transpose_sixteen(&line[0][2 * c], 2 * TILE_CHANNELS, to + c * to_row, to_row);
#endif
    for (; c < channels; c += 8)
        for (uint32_t p = 0; p < pixels; p += 8)
            transpose_block(&line[p][2 * c], 2 * TILE_CHANNELS, to + c * to_row + 2 * p, to_row);
}

/*
 * Columns are packed: the tile is transposed, and directly into the destination where a row and its zeros
 * are as wide as a transposed row or wider. Two rows begin at pixels 0 and 8.
 */
INLINE void tile_to_columns(const struct eng_tile_end *end, struct tile_form form, const struct eng_finish *f)
{
    uint8_t line[TILE_ROW][2 * TILE_CHANNELS] __attribute__((aligned(64)));
    uint8_t out[TILE_CHANNELS][2 * TILE_ROW] __attribute__((aligned(64)));
    uint32_t slots = end->rows == 1 ? TILE_ROW : end->rows == 2 && end->columns <= 8 ? 8 : end->columns;
    size_t bytes = 2 * (size_t)end->columns + end->tail;
    const float *acc = end->acc;

    for (uint32_t row = 0; row < end->rows; row++) {
        for (uint32_t x = 0; x < end->columns; x++, acc += end->acc_next)
            for (uint32_t c = 0; c < end->channels; c += LANES)
                vec_to_fp16(&line[row * slots + x][2 * c],
                            tile_element(vec_load(acc + c), vec_load(end->bias + c), form, f), f->store);
        for (uint32_t x = end->columns; x < slots; x++)
            __builtin_memset(line[row * slots + x], 0, sizeof(line[0]));
    }
    if (end->rows == 1 && bytes >= 2 * TILE_ROW && end->channels % 8 == 0) {
        transpose_tile(line, end->to, end->channel, end->channels, TILE_ROW);
        for (uint32_t c = 0; bytes > 2 * TILE_ROW && c < end->channels; c++)
            zero_tail(end->to + c * end->channel + 2 * TILE_ROW, bytes - 2 * TILE_ROW);
        return;
    }
    transpose_tile(line, out[0], sizeof(out[0]), end->channels, end->rows * slots);
    for (uint32_t row = 0; row < end->rows; row++)
        store_tile_row(end, end->to + row * end->row, &out[0][2 * row * slots], slots);
}

INLINE void finish_tile_by(const struct eng_tile_end *given, struct tile_form form,
                           const struct eng_finish *constants, unsigned store)
{
    const struct eng_tile_end end = *given;
    struct eng_finish f = *constants;

    f.store = store;
    if (end.column == 2)
        tile_to_columns(&end, form, &f);
    else
        tile_to_channels(&end, form, &f);
}

TARGET static void finish_tile(const struct eng_tile_end *end, const struct eng_finish *f)
{
    bool sum = eng_is_no_addend(f->acc_bias) && f->post_scale == 1;

    if (sum && !f->table && f->store == STORE_SUMS)
        finish_tile_by(end, (struct tile_form){.sum = true}, f, STORE_SUMS);
    else if (sum && f->table && f->store == STORE_RULES && is_clamp(f))
        finish_tile_by(end, (struct tile_form){.clamp = true, .sum = true}, f, ENG_RULE_NAN_IS_ZERO);
    else if (sum && f->table && f->table->kind == PR_ACTIVATION_PLAIN && f->store == STORE_RULES)
        finish_tile_by(end, (struct tile_form){.table = true, .sum = true}, f, STORE_RULES);
    else if (!f->table)
        finish_tile_by(end, (struct tile_form){0}, f, f->store);
    else
        finish_tile_by(end, (struct tile_form){.table = true}, f, f->store);
}
