/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_body.h, with its conditions: the largest element of 2x2 or 3x3, with steps of 2.
 *
 * Elements are compared as whole numbers, and never become fp32. The rank of an element counts from -inf,
 * which has 0: ranks grow with the values, +inf has POOL_INFINITY, and every NaN, of either sign, has more.
 * A NaN reads as +inf, so that the smaller of a rank and POOL_INFINITY is the result's.
 */
#define POOL_LOWEST   0x83ff /* -inf in an order of signed 16-bit numbers, in which -0 is before 0 */
#define POOL_INFINITY (uint16_t)(0x7c00 - POOL_LOWEST)
#define POOL_ZERO     (uint16_t)(0 - POOL_LOWEST)
#define POOL_OUTPUTS  1024u /* columns of a strip, a multiple of LANES */
#define POOL_AHEAD    6 /* input rows from the first one of a window to those that are fetched meanwhile */
#define POOL_LINE     (2 * POOL_OUTPUTS + 2 + 2 * HALVES)

typedef int16_t pool_signed __attribute__((vector_size(2 * HALVES)));
typedef uint32_t pool_pairs __attribute__((vector_size(2 * HALVES)));
typedef uint16_t pool_results __attribute__((vector_size(2 * LANES)));

/*
 * A strip of outputs, and the columns under it: the largest ranks of a window's rows, between those of
 * padding. A line is made before the one that is read, because these loads do not match the stores of a
 * line, which are to be completed then.
 */
struct pool {
    const struct eng_window *window;
    unsigned side;
    uint32_t x0, outputs;
    uint32_t before, n; /* columns of padding, then of the input */
    const uint8_t *in;
    halves floor; /* of the results' ranks: that of 0 is a ReLU */
    halves outside;
    halves last;               /* which columns of the input's last vector there are */
    pool_results outputs_left; /* and which of the outputs' */
    _Alignas(64) uint16_t line[2][POOL_LINE];
};

/* The bits of a number below zero are inverted, but for the sign. */
INLINE halves pool_order(halves x)
{
    return x ^ ((halves)((pool_signed)x >> 15) & 0x7fff);
}

INLINE halves pool_rank(halves x)
{
    return pool_order(x) - POOL_LOWEST;
}

INLINE halves pool_load(const uint8_t *from, uint32_t n)
{
    halves x;

    if (n < HALVES)
        return pool_rank(halves_load_part(from, n));
    __builtin_memcpy(&x, from, sizeof(x));
    return pool_rank(x);
}

/* Up to `side` rows of the input, HALVES columns. */
INLINE halves pool_rows(const uint8_t *from, size_t row, unsigned rows, uint32_t n, halves most)
{
    most = halves_max(most, pool_load(from, n));
    if (rows > 1)
        most = halves_max(most, pool_load(from + row, n));
    if (rows > 2)
        most = halves_max(most, pool_load(from + 2 * row, n));
    return most;
}

/* The line of output row y: of the window's rows those that are inside, and padding where one is not. */
INLINE void pool_down(struct pool *p, uint32_t y)
{
    const struct eng_window *w = p->window;
    int64_t top = (int64_t)y * 2 - w->py, end = top + p->side;
    int64_t first = top < 0 ? 0 : top, stop = end < w->hin ? end : w->hin;
    unsigned rows = stop > first ? (unsigned)(stop - first) : 0;
    const uint8_t *from = p->in + (rows ? (size_t)first * w->in_row : 0);
    const uint8_t *next = first + POOL_AHEAD + 1 < w->hin ? from + POOL_AHEAD * w->in_row : from;
    const halves begin = rows < p->side ? p->outside : halves_set(0);
    uint16_t *to = p->line[y % 2] + p->before;
    uint32_t i = 0;

    /* Rows are too short for processors to notice that they follow each other. */
    for (; rows == 3 && i + HALVES <= p->n; i += HALVES) {
        halves most = pool_rows(from + 2 * i, w->in_row, 3, HALVES, begin);

        __builtin_prefetch(next + 2 * i);
        __builtin_prefetch(next + w->in_row + 2 * i);
        __builtin_memcpy(to + i, &most, sizeof(most));
    }
    for (; rows && i < p->n; i += HALVES) {
        uint32_t left = p->n - i;
        halves most = pool_rows(from + 2 * i, w->in_row, rows, left < HALVES ? left : HALVES, begin);

        if (left < HALVES)
            most = halves_choose(p->last, most, p->outside);
        __builtin_memcpy(to + i, &most, sizeof(most));
    }
    for (; !rows && i < p->n; i++)
        to[i] = p->outside[0];
}

/* The results of LANES windows, whose first columns are at even places of the line. */
INLINE pool_results pool_across(const struct pool *p, const uint16_t *line)
{
    halves v, next;

    __builtin_memcpy(&v, line, sizeof(v));
    v = halves_max(v, (halves)((pool_pairs)v >> 16));
    if (p->side == 3) {
        __builtin_memcpy(&next, line + 2, sizeof(next));
        v = halves_max(v, next);
    }
    v = halves_min(halves_max(v, p->floor), halves_set(POOL_INFINITY));
    v = pool_order(v + POOL_LOWEST);
    v &= (halves)(v != 0x8000); /* of -0: 0 */
    return __builtin_convertvector((pool_pairs)v, pool_results);
}

/* Less than LANES of them. */
INLINE void pool_store_part(uint8_t *to, pool_results v, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint16_t half = v[i];

        __builtin_memcpy(to + 2 * i, &half, sizeof(half));
    }
}

INLINE void pool_put(const struct pool *p, const uint16_t *line, uint8_t *out)
{
    const struct eng_window *w = p->window;
    pool_results results;
    uint32_t x = 0;

    for (; x + LANES <= p->outputs; x += LANES) {
        results = pool_across(p, line + 2 * x);
        __builtin_memcpy(out + 2 * x, &results, sizeof(results));
    }
    if (x < p->outputs) {
        results = pool_across(p, line + 2 * x);
        if (p->x0 + x + LANES <= w->tail) {
            results &= p->outputs_left;
            __builtin_memcpy(out + 2 * x, &results, sizeof(results));
            x += LANES;
        } else {
            pool_store_part(out + 2 * x, results, p->outputs - x);
            x = p->outputs;
        }
    }
    if (p->x0 + x < w->tail && p->x0 + p->outputs == w->wout)
        zero_tail(out + 2 * (size_t)x, 2 * (size_t)(w->tail - p->x0 - x));
}

/* The padding on either side of a line, which no row changes. */
INLINE void pool_pad(struct pool *p)
{
    uint32_t end = 2 * p->outputs + 2 + HALVES;
    uint16_t bits[HALVES];

    for (unsigned i = 0; i < HALVES; i++)
        bits[i] = i < p->n % HALVES ? 0xffff : 0;
    __builtin_memcpy(&p->last, bits, sizeof(p->last));
    for (unsigned i = 0; i < LANES; i++)
        bits[i] = i < p->outputs % LANES ? 0xffff : 0;
    __builtin_memcpy(&p->outputs_left, bits, sizeof(p->outputs_left));
    for (unsigned k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < p->before; i++)
            p->line[k][i] = p->outside[0];
        for (uint32_t i = p->before + p->n; i < end; i++)
            p->line[k][i] = p->outside[0];
    }
}

INLINE void pool_strip(struct pool *p, uint8_t *out)
{
    const struct eng_window *w = p->window;

    pool_pad(p);
    pool_down(p, 0);
    for (uint32_t y = 0; y < w->hout; y++, out += w->out_row) {
        if (y + 1 < w->hout)
            pool_down(p, y + 1);
        pool_put(p, p->line[y % 2], out);
    }
}

INLINE void pool_of(const struct eng_window *w, unsigned side)
{
    struct pool p = {
        .window = w,
        .side = side,
        .floor = halves_set(w->finish.relu ? POOL_ZERO : 0),
        .outside = halves_set(w->lowest ? 0 : POOL_ZERO),
    };

    for (uint32_t c = 0; c < w->channels; c++) {
        for (p.x0 = 0; p.x0 < w->wout; p.x0 += POOL_OUTPUTS) {
            int64_t column = (int64_t)p.x0 * 2 - w->px, end;

            p.outputs = w->wout - p.x0 < POOL_OUTPUTS ? w->wout - p.x0 : POOL_OUTPUTS;
            end = column + 2 * (int64_t)p.outputs + 1;
            end = end < w->win ? end : w->win;
            p.before = column < 0 ? (uint32_t)-column : 0;
            p.n = end > column + p.before ? (uint32_t)(end - column - p.before) : 0;
            p.in = w->in + c * w->in_channel + 2 * (p.n ? (size_t)(column + p.before) : 0);
            pool_strip(&p, w->out + c * w->out_channel + 2 * (size_t)p.x0);
        }
    }
}

/*
 * Rows of few vectors stay in registers: those of the window's last row are the first ones of the next output
 * row. What is outside the input is loaded as a value of its rank.
 */
#define POOL_VECTORS 4u /* of LANES outputs */

struct pool_columns {
    unsigned side, vectors; /* constants where this is inlined */
    bool ahead;             /* the vector after the last is needed too */
    struct halves_lanes lanes[POOL_VECTORS + 1];
    halves outside, floor;
};

INLINE void pool_row(const struct pool_columns *p, const struct eng_window *w, uintptr_t in, int64_t row,
                     halves to[POOL_VECTORS + 1])
{
    const bool inside = row >= 0 && row < w->hin;
    const uintptr_t at = in + (uintptr_t)row * w->in_row;

    UNROLL_STRIP
    for (unsigned v = 0; v <= p->vectors; v++) {
        const uint8_t *from = (const uint8_t *)(at + 2 * v * HALVES);
        halves x = p->outside;

        if (inside && (v < p->vectors || p->ahead))
            x = halves_load_lanes(from, p->lanes[v], x);
        /* Rows are too short for processors to notice that they follow each other. */
        if (v < p->vectors)
            __builtin_prefetch(from + POOL_AHEAD * w->in_row);
        to[v] = pool_rank(x);
    }
}

/* The results of 2 * LANES windows. */
INLINE halves pool_end(const struct pool_columns *p, halves v)
{
    v = halves_min(halves_max(v, p->floor), halves_set(POOL_INFINITY));
    v = pool_order(v + POOL_LOWEST);
    return v & (halves)(v != 0x8000); /* of -0: 0 */
}

/* An output row, of the largest ranks of its columns. */
INLINE void pool_put_row(const struct pool_columns *p, const struct eng_window *w,
                         halves most[POOL_VECTORS + 1], uint8_t *out)
{
    UNROLL_STRIP
    for (unsigned v = 0; v < p->vectors; v++) {
        halves pair = halves_max(most[v], (halves)((pool_pairs)most[v] >> 16));

        if (p->side == 3)
            pair = halves_max(pair, (halves)vec_shift((vec)most[v], (vec)most[v + 1], 1));
        most[v] = pair;
    }
    UNROLL_STRIP
    for (unsigned v = 0; v < p->vectors; v += 2) {
        const unsigned second = v + 1 < p->vectors ? v + 1 : v;
        const uint32_t x = v * LANES, left = w->wout > x ? w->wout - x : 0;
        halves results = pool_end(p, halves_even(most[v], most[second]));

        if (left > HALVES)
            __builtin_memcpy(out + 2 * x, &results, sizeof(results));
        else if (left)
            store_halves(out + 2 * x, results, left, w->tail > w->wout ? 2 * (size_t)(w->tail - w->wout) : 0);
    }
}

INLINE void pool_channel(const struct pool_columns *p, const struct eng_window *w, uint32_t channel)
{
    const uintptr_t in = (uintptr_t)(w->in + channel * w->in_channel) - 2 * (uintptr_t)w->px;
    uint8_t *out = w->out + channel * w->out_channel;
    halves most[POOL_VECTORS + 1], row[POOL_VECTORS + 1], last[POOL_VECTORS + 1];
    int64_t at = -(int64_t)w->py;

    pool_row(p, w, in, at, last);
    for (uint32_t y = 0; y < w->hout; y++, at += 2, out += w->out_row) {
        pool_row(p, w, in, at + 1, row);
        UNROLL
        for (unsigned v = 0; v <= p->vectors; v++)
            most[v] = halves_max(last[v], row[v]);
        pool_row(p, w, in, at + 2, last);
        UNROLL
        for (unsigned v = 0; v <= p->vectors; v++)
            most[v] = p->side == 3 ? halves_max(most[v], last[v]) : most[v];
        pool_put_row(p, w, most, out);
    }
}

INLINE void pool_columns_of(const struct eng_window *w, unsigned side, unsigned vectors)
{
    struct pool_columns p = {
        .side = side,
        .vectors = vectors,
        .ahead = side == 3 && w->wout >= vectors * LANES,
        .outside = halves_set(w->lowest ? 0xfc00 : 0),
        .floor = halves_set(w->finish.relu ? POOL_ZERO : 0),
    };

    UNROLL
    for (unsigned v = 0; v <= vectors; v++)
        p.lanes[v] = halves_lanes_between((int64_t)w->px - v * HALVES, (int64_t)w->win + w->px - v * HALVES);
    for (uint32_t c = 0; c < w->channels; c++)
        pool_channel(&p, w, c);
}

#define POOL_COLUMNS(name, side, vectors)                                         \
    TARGET __attribute__((noinline)) static void name(const struct eng_window *w) \
    {                                                                             \
        pool_columns_of(w, side, vectors);                                        \
    }
POOL_COLUMNS(pool_2_one, 2, 1)
POOL_COLUMNS(pool_2_two, 2, 2)
POOL_COLUMNS(pool_2_four, 2, 4)
POOL_COLUMNS(pool_3_one, 3, 1)
POOL_COLUMNS(pool_3_two, 3, 2)
POOL_COLUMNS(pool_3_four, 3, 4)

TARGET static void pool(const struct eng_window *w)
{
    const bool three = w->side == 3;

    if (w->wout <= LANES)
        (three ? pool_3_one : pool_2_one)(w);
    else if (w->wout <= 2 * LANES)
        (three ? pool_3_two : pool_2_two)(w);
    else if (w->wout <= POOL_VECTORS * LANES)
        (three ? pool_3_four : pool_2_four)(w);
    else if (three)
        pool_of(w, 3);
    else
        pool_of(w, 2);
}
