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
    enum pr_activation_kind kind;
    bool sum; /* neither a constant addend nor a factor */
};

INLINE vec tile_element(vec v, vec bias, struct tile_form form, const struct eng_finish *f)
{
    if (!form.sum)
        return finish_element(v, bias, form.table, f);
    v = vec_add_exact(bias, v, vec_set(f->unscale));
    if (form.table)
        return finish_by_table(v, form.kind, f);
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
 * row's are zeros where zeros follow. Pixels were stored by 8, and are loaded again soonest by parts of these.
 */
INLINE void store_tile_row(const struct eng_tile_end *end, uint8_t *to, const uint8_t *from, size_t slots)
{
    const size_t bytes = 2 * (size_t)end->columns, next = end->channel, tail = end->tail;
    const size_t copied = tail && bytes + tail >= 2 * slots ? 2 * slots : bytes, rest = bytes + tail - copied;

    for (uint32_t c = 0; c < end->channels; c++, to += next, from += 2 * TILE_ROW) {
        if (copied == 2 * TILE_ROW) {
            __builtin_memcpy(to, from, 16);
            __builtin_memcpy(to + 16, from + 16, 16);
        } else if (copied > 16) {
            __builtin_memcpy(to, from, 16);
            copy_some(to + 16, from + 16, copied - 16);
        } else {
            copy_some(to, from, copied);
        }
        if (rest)
            zero_tail(to + copied, rest);
    }
}

/* Columns are packed: the tile is transposed first. Two rows begin at pixels 0 and 8. */
INLINE void tile_to_columns(const struct eng_tile_end *end, struct tile_form form, const struct eng_finish *f)
{
    uint8_t line[TILE_ROW][2 * TILE_CHANNELS] __attribute__((aligned(64)));
    uint8_t out[TILE_CHANNELS][2 * TILE_ROW] __attribute__((aligned(64)));
    uint32_t slots = end->rows == 1 ? TILE_ROW : end->rows == 2 && end->columns <= 8 ? 8 : end->columns;
    const float *acc = end->acc;

    for (uint32_t row = 0; row < end->rows; row++) {
        for (uint32_t x = 0; x < end->columns; x++, acc += end->acc_next)
            for (uint32_t c = 0; c < end->channels; c += LANES)
                vec_to_fp16(&line[row * slots + x][2 * c],
                            tile_element(vec_load(acc + c), vec_load(end->bias + c), form, f), f->store);
        for (uint32_t x = end->columns; x < slots; x++)
            __builtin_memset(line[row * slots + x], 0, sizeof(line[0]));
    }
    for (uint32_t c = 0; c < end->channels; c += 8)
        for (uint32_t p = 0; p < end->rows * slots; p += 8)
            transpose_block(&line[p][2 * c], sizeof(line[0]), &out[c][2 * p], sizeof(out[0]));
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

#define STORE_RULES (ENG_RULE_NAN_IS_ZERO | ENG_RULE_NO_MINUS_ZERO)
#define STORE_SUMS  (STORE_RULES | ENG_RULE_NO_DENORMALS | ENG_RULE_CEILING)

TARGET static void finish_tile(const struct eng_tile_end *end, const struct eng_finish *f)
{
    bool sum = is_no_addend(f->acc_bias) && f->post_scale == 1;

    if (sum && !f->table && f->store == STORE_SUMS)
        finish_tile_by(end, (struct tile_form){.sum = true}, f, STORE_SUMS);
    else if (sum && f->table && f->table->kind == PR_ACTIVATION_PLAIN && f->store == STORE_RULES)
        finish_tile_by(end, (struct tile_form){true, PR_ACTIVATION_PLAIN, true}, f, STORE_RULES);
    else if (!f->table)
        finish_tile_by(end, (struct tile_form){0}, f, f->store);
    else
        finish_tile_by(end, (struct tile_form){.table = true}, f, f->store);
}
