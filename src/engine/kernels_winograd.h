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

/* Four inputs become four: d0 - d2, d1 + d2, d2 - d1, d1 - d3. */
INLINE void winograd_input_line(vec out[4], vec d0, vec d1, vec d2, vec d3)
{
    out[0] = vec_sub(d0, d2);
    out[1] = vec_add(d1, d2);
    out[2] = vec_sub(d2, d1);
    out[3] = vec_sub(d1, d3);
}

/* Rows pass through two rings of four: as floats between zeros, and transformed along W. */
struct winograd_rows {
    float floats[4][2 * ENG_WINOGRAD_TILES + 2 + 2 * ENG_LANES];
    float lines[4][4][ENG_WINOGRAD_TILES];
};

/* The rows of a block are numbered from the first row of its tiles; those of the input begin at in->above. */
INLINE bool winograd_is_inside(const struct eng_winograd_input *in, uint32_t row)
{
    return row >= in->above && row - in->above < in->lines;
}

INLINE void winograd_convert(const struct eng_winograd_input *in, const uint8_t *fp16,
                             struct winograd_rows *rows, uint32_t row, bool relu)
{
    const struct eng_load load = {.rules = ENG_RULE_NO_DENORMALS, .relu = relu, .scale = 1};
    const uint8_t *from = fp16 + (row - in->above) * in->stride;
    float *to = rows->floats[row % 4] + in->before;
    size_t i = 0, n = in->n;

    for (; i + LANES <= n; i += LANES)
        vec_store(to + i, vec_from_fp16(from + 2 * i, &load));
    if (i < n)
        vec_store_part(to + i, vec_from_fp16_part(from + 2 * i, n - i, &load), n - i);
}

INLINE void winograd_line(struct winograd_rows *rows, uint32_t row, size_t columns)
{
    const float *from = rows->floats[row % 4];

    for (size_t t = 0; t < columns; t += LANES) {
        vec d[4], out[4];

        vec_unzip(from + 2 * t, &d[0], &d[1]);
        vec_unzip(from + 2 * t + 2, &d[2], &d[3]);
        winograd_input_line(out, d[0], d[1], d[2], d[3]);
        UNROLL
        for (unsigned x = 0; x < 4; x++)
            vec_store(rows->lines[row % 4][x] + t, out[x]);
    }
}

/*
 * Four planes with the row transformed along W. A row is converted two rows before that, so that the loads
 * here, which do not match the stores there, find these completed.
 */
INLINE const float *winograd_next_row(const struct eng_winograd_input *in, const uint8_t *fp16,
                                      struct winograd_rows *rows, uint32_t row, bool relu)
{
    static const float zeros[4 * ENG_WINOGRAD_TILES];

    if (winograd_is_inside(in, row + 2))
        winograd_convert(in, fp16, rows, row + 2, relu);
    if (!winograd_is_inside(in, row))
        return zeros;
    winograd_line(rows, row, in->columns);
    return rows->lines[row % 4][0];
}

/* n tiles from t on; writes a whole vector if n is that. */
INLINE void winograd_tiles(const float *const lines[4], size_t t, size_t n, float *to, size_t plane)
{
    UNROLL
    for (unsigned x = 0; x < 4; x++) {
        size_t from = x * ENG_WINOGRAD_TILES + t;
        vec out[4];

        winograd_input_line(out, vec_load(lines[0] + from), vec_load(lines[1] + from),
                            vec_load(lines[2] + from), vec_load(lines[3] + from));
        UNROLL
        for (unsigned y = 0; y < 4; y++) {
            float *at = to + (4 * y + x) * plane + t;

            if (n == LANES)
                vec_store(at, out[y]);
            else
                vec_store_part(at, out[y], n);
        }
    }
}

/* Two of the four rows of a row of tiles are those of the one before. */
INLINE void winograd_channel(const struct eng_winograd_input *in, const uint8_t *fp16,
                             struct winograd_rows *rows, float *to, bool relu)
{
    const float *line[4] = {0};

    for (uint32_t row = 0; row < 2; row++)
        if (winograd_is_inside(in, row))
            winograd_convert(in, fp16, rows, row, relu);
    for (uint32_t row = 0; row < 2; row++)
        line[2 + row] = winograd_next_row(in, fp16, rows, row, relu);
    for (uint32_t y = 0; y < in->rows; y++, to += in->columns) {
        size_t t = 0, columns = in->columns, left = (in->rows - y) * columns;

        line[0] = line[2];
        line[1] = line[3];
        line[2] = winograd_next_row(in, fp16, rows, 2 * y + 2, relu);
        line[3] = winograd_next_row(in, fp16, rows, 2 * y + 3, relu);
        for (; t + LANES <= columns; t += LANES)
            winograd_tiles(line, t, LANES, to, in->plane);
        /* The next rows overwrite what a vector has too many. Another worker may have the next channel. */
        if (t < columns)
            winograd_tiles(line, t, left - t < LANES ? left - t : LANES, to, in->plane);
    }
}

#if LANES == 16
/*
 * Inputs of at most 32 columns: a vector of tiles has several rows of them, whose elements are picked out of
 * fp16 vectors with as many input rows, two rows apart. They are transformed in the same order as above.
 */
struct winograd_picks {
    unsigned rows;      /* of tiles in a vector: 1, 2 or 4 */
    halves_picks of[4]; /* for each column of a tile */
};

INLINE struct winograd_picks winograd_picks_of(const struct eng_winograd_input *in)
{
    struct winograd_picks p = {.rows = in->n > 16 ? 1 : in->n > 8 ? 2 : 4};
    unsigned step = 2 * LANES / p.rows;

    for (unsigned x = 0; x < 4; x++) {
        uint16_t from[LANES];
        uint32_t inside = 0;

        for (unsigned lane = 0; lane < LANES; lane++) {
            uint32_t row = lane / in->columns, column = 2 * (lane % in->columns) + x;
            bool there = row < p.rows && column >= in->before && column - in->before < in->n;

            from[lane] = there ? (uint16_t)(row * step + column - in->before) : 0;
            inside |= (uint32_t)there << lane;
        }
        p.of[x] = halves_picks_of(from, inside);
    }
    return p;
}

/* Row `row` of the block and those that are two rows apart, as many as a vector of tiles has. */
struct winograd_line_rows {
    size_t offset[4], n[4];
};

INLINE struct winograd_line_rows winograd_rows_of(const struct eng_winograd_input *in, uint32_t row,
                                                  unsigned rows)
{
    struct winograd_line_rows r;

    UNROLL
    for (unsigned k = 0; k < rows; k++) {
        bool inside = winograd_is_inside(in, row + 2 * k);

        r.offset[k] = inside ? (row + 2 * k - in->above) * in->stride : 0;
        r.n[k] = inside ? in->n : 0;
    }
    return r;
}

/* One of the four lines of a vector of tiles, transformed along W. */
INLINE void winograd_small_line(vec line[4], const uint8_t *fp16, const struct winograd_line_rows *r,
                                const struct winograd_picks *picks, unsigned rows, bool relu)
{
    const uint8_t *from[4];
    halves v;

    UNROLL
    for (unsigned k = 0; k < rows; k++)
        from[k] = fp16 + r->offset[k];
    v = halves_as_operands(halves_of_rows(from, r->n, rows), relu);
    winograd_input_line(line, vec_from_picks(v, &picks->of[0]), vec_from_picks(v, &picks->of[1]),
                        vec_from_picks(v, &picks->of[2]), vec_from_picks(v, &picks->of[3]));
}

INLINE void winograd_small_store(vec line[4][4], size_t left, float *to, size_t plane)
{
    vec out[4];

    UNROLL
    for (unsigned x = 0; x < 4; x++) {
        winograd_input_line(out, line[0][x], line[1][x], line[2][x], line[3][x]);
        UNROLL
        for (unsigned k = 0; k < 4; k++) {
            if (left >= LANES)
                vec_store(to + (4 * k + x) * plane, out[k]);
            else
                vec_store_part(to + (4 * k + x) * plane, out[k], left);
        }
    }
}

INLINE void winograd_small_lines(struct winograd_line_rows r[4], const struct eng_winograd_input *in,
                                 uint32_t row, unsigned rows)
{
    UNROLL
    for (unsigned i = 0; i < 4; i++)
        r[i] = winograd_rows_of(in, row + i, rows);
}

/*
 * A vector of tiles. With `narrow`, these are four rows of four tiles, and all input rows are in the first two
 * lines: the other lines have the same rows, one row of tiles further up.
 */
INLINE void winograd_small_tiles(const uint8_t *fp16, const struct winograd_line_rows r[4],
                                 const struct winograd_picks *picks, unsigned rows, size_t left, float *to,
                                 size_t plane, bool narrow, bool relu)
{
    vec line[4][4];

    winograd_small_line(line[0], fp16, &r[0], picks, rows, relu);
    winograd_small_line(line[1], fp16, &r[1], picks, rows, relu);
    if (narrow) {
        UNROLL
        for (unsigned x = 0; x < 4; x++) {
            line[2][x] = vec_shift(line[0][x], vec_set(0), 4);
            line[3][x] = vec_shift(line[1][x], vec_set(0), 4);
        }
    } else {
        winograd_small_line(line[2], fp16, &r[2], picks, rows, relu);
        winograd_small_line(line[3], fp16, &r[3], picks, rows, relu);
    }
    winograd_small_store(line, left, to, plane);
}

/* Channels whose tiles are one vector. */
INLINE void winograd_smallest(const struct eng_winograd_input *in, unsigned rows, bool narrow, bool relu)
{
    const struct winograd_picks picks = winograd_picks_of(in);
    struct winograd_line_rows r[4];

    winograd_small_lines(r, in, 0, rows);
    for (uint32_t c = 0; c < in->channels; c++)
        winograd_small_tiles(in->fp16 + c * in->channel_stride, r, &picks, rows,
                             (size_t)in->rows * in->columns, in->to + c * in->to_stride, in->plane, narrow,
                             relu);
}

INLINE void winograd_small(const struct eng_winograd_input *in, unsigned rows, bool relu)
{
    const struct winograd_picks picks = winograd_picks_of(in);
    struct winograd_line_rows r[4];

    for (uint32_t c = 0; c < in->channels; c++) {
        const uint8_t *fp16 = in->fp16 + c * in->channel_stride;
        float *to = in->to + c * in->to_stride;

        for (uint32_t y = 0; y < in->rows; y += rows, to += (size_t)rows * in->columns) {
            winograd_small_lines(r, in, 2 * y, rows);
            winograd_small_tiles(fp16, r, &picks, rows, (size_t)(in->rows - y) * in->columns, to, in->plane,
                                 false, relu);
        }
    }
}

INLINE bool winograd_input_is_small(const struct eng_winograd_input *in)
{
    return in->n <= 2 * LANES && in->columns <= (in->n > 16 ? 16 : in->n > 8 ? 8 : 4);
}

INLINE void winograd_input_small(const struct eng_winograd_input *in, bool relu)
{
    if (in->n > 16)
        winograd_small(in, 1, relu);
    else if (in->n > 8)
        winograd_small(in, 2, relu);
    else if (in->rows > 4)
        winograd_small(in, 4, relu);
    else if (in->columns == 4 && in->above + in->lines <= 8)
        winograd_smallest(in, 4, true, relu);
    else
        winograd_smallest(in, 4, false, relu);
}
#else
INLINE bool winograd_input_is_small(const struct eng_winograd_input *in)
{
    (void)in;
    return false;
}

INLINE void winograd_input_small(const struct eng_winograd_input *in, bool relu)
{
    (void)in;
    (void)relu;
}
#endif

INLINE void winograd_input_by(const struct eng_winograd_input *given, bool relu)
{
    const struct eng_winograd_input in = *given;
    struct winograd_rows rows;

    if (winograd_input_is_small(&in)) {
        winograd_input_small(&in, relu);
        return;
    }
    __builtin_memset(rows.floats, 0, sizeof(rows.floats));
    for (uint32_t c = 0; c < in.channels; c++)
        winograd_channel(&in, in.fp16 + c * in.channel_stride, &rows, in.to + c * in.to_stride, relu);
}

TARGET static void winograd_input(const struct eng_winograd_input *in)
{
    if (in->relu)
        winograd_input_by(in, true);
    else
        winograd_input_by(in, false);
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
 * Without a table, by the rules of sums: results are numbers below the ceiling (winograd_guard.c). fp16 values
 * of both columns of the tiles become one vector.
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
