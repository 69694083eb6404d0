/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: the inputs of Winograd's F(2x2, 3x3). kernels_winograd.h has
 * the rest.
 */

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
 * A vector of tiles. With `narrow`, these are four rows of four tiles, and all input rows are in the first
 * two lines: the other lines have the same rows, one row of tiles further up.
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
