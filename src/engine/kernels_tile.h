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

INLINE void finish_tile_by(const float *acc, size_t acc_row, const float *bias, unsigned pixels,
                           unsigned vectors, uint16_t *out, struct finish_form form,
                           const struct eng_finish *constants)
{
    uint16_t line[ENG_TILE_ROW][TILE_VECTORS * LANES] __attribute__((aligned(64)));
    const struct eng_finish f = *constants;
    struct table table;

    if (form.table)
        table_open(&table, f.table);
    for (unsigned p = 0; p < pixels; p++)
        for (unsigned v = 0; v < vectors; v++)
            vec_to_fp16((uint8_t *)&line[p][v * LANES],
                        finish_element(vec_load(acc + p * acc_row + v * LANES), vec_load(bias + v * LANES),
                                       form, &f, &table),
                        f.store);
    half_transpose(line[0], TILE_VECTORS * LANES, out, pixels, vectors * LANES);
}

TARGET static void finish_tile(const float *acc, size_t acc_row, const float *bias, unsigned pixels,
                               unsigned vectors, uint16_t *out, const struct eng_finish *constants)
{
    if (!constants->table)
        finish_tile_by(acc, acc_row, bias, pixels, vectors, out, (struct finish_form){0}, constants);
    else if (constants->table->kind == PR_ACTIVATION_PLAIN)
        finish_tile_by(acc, acc_row, bias, pixels, vectors, out,
                       (struct finish_form){true, PR_ACTIVATION_PLAIN}, constants);
    else
        finish_tile_by(acc, acc_row, bias, pixels, vectors, out,
                       (struct finish_form){true, constants->table->kind}, constants);
}
