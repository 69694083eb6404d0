/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of a block of tiles is converted to fp32 once. What is outside the input is zeros, and with steps
 * wider than one the columns are sorted by phase, so that neighbouring outputs have neighbouring inputs.
 */
#include "engine/ne_tile.h"

#include <string.h>

/* Part of the input along one axis: the first of `count` positions, and those that are inside. */
struct span {
    int64_t at;
    uint32_t count, first, end;
};

static struct span span_of(int64_t at, uint32_t count, uint32_t extent)
{
    struct span s = {.at = at, .count = count, .first = at < 0 ? eng_least((uint64_t)-at, count) : 0};
    int64_t end = (int64_t)extent - at;

    s.end = end < count ? (end > s.first ? (uint32_t)end : s.first) : count;
    return s;
}

static const uint8_t *element(const struct eng_tile_plan *m, uint32_t x, uint32_t y, uint32_t c)
{
    struct eng_line line = {.index = {x, y, 0, c, 0}, .n = 1};

    return eng_view_line(&m->ne->operands.src[0], &line, NULL);
}

static void load_line(const struct eng_tile_plan *m, struct eng_line line, float *to)
{
    const struct eng_view *src = &m->ne->operands.src[0];
    uint32_t left = line.n, most = eng_view_is_packed(src, line.axis) ? left : ENG_LINE_MAX;
    uint8_t buffer[ENG_LINE_BYTES];

    for (; left; left -= line.n, to += line.n, line.index[line.axis] += line.n) {
        line.n = eng_least(left, most);
        m->mac.kernels->to_float(eng_view_line(src, &line, buffer), to, line.n, &m->mac.input);
    }
}

/* `rows` rows of n elements, `down` rows of the input apart. */
static void load_rows(const struct eng_tile_plan *m, uint32_t x, uint32_t y, uint32_t down, uint32_t c,
                      uint32_t rows, uint32_t n, float *to, size_t to_row)
{
    const struct eng_view *src = &m->ne->operands.src[0];
    struct eng_line line = {.index = {x, y, 0, c, 0}, .axis = PR_AXIS_W, .n = n};

    if (!rows || !n)
        return;
    if (eng_view_is_packed(src, PR_AXIS_W)) {
        m->mac.kernels->rows_to_float(element(m, x, y, c), (size_t)down * src->stride[PR_AXIS_H], to, to_row,
                                      rows, n, &m->mac.input);
        return;
    }
    for (; rows; rows--, to += to_row, line.index[PR_AXIS_H] += down)
        load_line(m, line, to);
}

static void zero(float *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = 0;
}

/* Rows with padding, in steps of one. */
static void load_whole(const struct eng_tile_plan *m, const struct span *x, const struct span *y, uint32_t c,
                       float *to)
{
    load_rows(m, (uint32_t)(x->at + x->first), (uint32_t)(y->at + y->first), 1, c, y->end - y->first,
              x->end - x->first, to + y->first * m->in_row + x->first, m->in_row);
    for (uint32_t row = 0; row < y->count; row++, to += m->in_row) {
        if (row < y->first || row >= y->end) {
            zero(to, x->count);
            continue;
        }
        zero(to, x->first);
        zero(to + x->end, x->count - x->end);
    }
}

typedef float four __attribute__((vector_size(16)));

/*
 * Every second float, from the first or the second one on. Reads up to 7 floats more and writes up to 3 more
 * than needed: what follows in `to` is written later.
 */
static void take_second(const float *from, uint32_t n, float *to)
{
    for (uint32_t x = 0; x < n; x += 4) {
        four a, b;

        memcpy(&a, from + 2 * (size_t)x, sizeof(a));
        memcpy(&b, from + 2 * (size_t)x + 4, sizeof(b));
        a = __builtin_shufflevector(a, b, 0, 2, 4, 6);
        memcpy(to + x, &a, sizeof(a));
    }
}

/* The columns of each phase, out of a line that has them all. */
static void sort_phases(const struct eng_tile_plan *m, const float *line, uint32_t columns, float *to)
{
    const struct pr_ne *n = &m->ne->task->ne;

    for (uint32_t phase = 0; phase < n->sx && phase < n->kw; phase++, to += m->in_phase) {
        uint32_t count = (columns - 1 - phase) / n->sx + 1;

        if (n->sx == 2)
            take_second(line + phase, count, to);
        else
            for (uint32_t x = 0; x < count; x++)
                to[x] = line[(size_t)x * n->sx + phase];
    }
}

/* In steps of two, where rows are packed: row by row into both phases. */
static void unzip_channel(const struct eng_tile_plan *m, const struct span *x, const struct span *y,
                          const uint8_t *from, float *to)
{
    float *phase[2] = {to + y->first * m->in_row, to + y->first * m->in_row + m->in_phase};
    const struct eng_unzipped_rows rows = {
        .from = from,
        .row = m->ne->operands.src[0].stride[PR_AXIS_H],
        .rows = y->end - y->first,
        .n = x->end - x->first,
        .even = phase[x->first % 2] + x->first / 2,
        .odd = phase[1 - x->first % 2] + (x->first + 1) / 2,
        .to_row = m->in_row,
    };

    /* By one call: the margins of a row are too short for calls of their own. */
    if (x->first || x->end < x->count || y->first || y->end < y->count)
        memset(to, 0, y->count * m->in_row * sizeof(*to));
    m->mac.kernels->unzip_rows(&rows, &m->mac.input);
}

static void load_phases(const struct eng_tile_plan *m, const struct eng_tile_block *b, const struct span *x,
                        const struct span *y, uint32_t c, float *to)
{
    float *line = b->line;

    for (uint32_t row = 0; row < y->count; row++, to += m->in_row, line += m->line_row) {
        if (row < y->first || row >= y->end) {
            zero(to, m->in_row);
            continue;
        }
        if (row == y->first || line == b->line + ENG_TILE_LINES * m->line_row) {
            line = b->line;
            load_rows(m, (uint32_t)(x->at + x->first), (uint32_t)(y->at + row), 1, c,
                      eng_least(y->end - row, ENG_TILE_LINES), x->end - x->first, line + x->first,
                      m->line_row);
        }
        zero(line, x->first);
        zero(line + x->end, x->count - x->end);
        sort_phases(m, line, x->count, to);
    }
}

static void load_flat(const struct eng_tile_plan *m, const struct eng_tile_block *b, uint32_t c, float *to)
{
    const struct pr_ne *n = &m->ne->task->ne;
    uint32_t columns = (b->columns - 1) * n->sx + 1;

    if (n->sx == 1) {
        load_rows(m, b->x0, b->y0 * n->sy, n->sy, c, b->rows, b->columns, to, b->columns);
        return;
    }
    for (uint32_t row = 0; row < b->rows; row++, to += b->columns) {
        if (row % ENG_TILE_LINES == 0)
            load_rows(m, b->x0 * n->sx, (b->y0 + row) * n->sy, n->sy, c,
                      eng_least(b->rows - row, ENG_TILE_LINES), columns, b->line, m->line_row);
        sort_phases(m, b->line + row % ENG_TILE_LINES * m->line_row, columns, to);
    }
}

/* The whole chunk of a flat block whose rows are packed. Rows without gaps are one. */
static bool pack_flat(const struct eng_tile_plan *m, const struct eng_tile_block *b)
{
    const struct eng_view *src = &m->ne->operands.src[0];
    const struct pr_ne *n = &m->ne->task->ne;
    struct eng_packed_rows rows = {
        .row = (size_t)n->sy * src->stride[PR_AXIS_H],
        .channel = src->stride[PR_AXIS_C],
        .rows = b->rows,
        .channels = b->chunk,
        .n = b->columns,
        .step = n->sx,
        .to = b->in,
        .to_channel = m->in_channel,
    };

    if (!m->flat || n->sx > 2 || !eng_view_is_packed(src, PR_AXIS_W))
        return false;
    rows.from = element(m, b->x0 * n->sx, b->y0 * n->sy, b->cin);
    if (n->sx == 1 && rows.row == 2 * (size_t)rows.n) {
        rows.n *= rows.rows;
        rows.rows = 1;
    }
    m->mac.kernels->pack_rows(&rows, &m->mac.input);
    return true;
}

/* Blocks of one pixel, whose channels are a line. */
static bool load_channels(const struct eng_tile_plan *m, const struct eng_tile_block *b)
{
    const struct pr_ne *n = &m->ne->task->ne;
    struct eng_line line = {
        .index = {b->x0 * n->sx, b->y0 * n->sy, 0, b->cin, 0}, .axis = PR_AXIS_C, .n = b->chunk};

    if (!m->flat || b->rows > 1 || m->in_channel > 1)
        return false;
    load_line(m, line, b->in);
    return true;
}

void eng_tile_load_input(const struct eng_tile_plan *m, const struct eng_tile_block *b)
{
    const struct eng_view *src = &m->ne->operands.src[0];
    const struct pr_ne *n = &m->ne->task->ne;
    struct span x = span_of((int64_t)b->x0 * n->sx - n->px, (b->columns - 1) * n->sx + n->kw, m->win);
    struct span y = span_of((int64_t)b->y0 * n->sy - n->py, (b->rows - 1) * n->sy + n->kh, m->hin);
    const uint8_t *from = NULL;
    bool unzip;

    if (pack_flat(m, b) || load_channels(m, b))
        return;
    unzip =
        n->sx == 2 && n->kw > 1 && y.end > y.first && x.end > x.first && eng_view_is_packed(src, PR_AXIS_W);
    if (unzip)
        from = element(m, (uint32_t)(x.at + x.first), (uint32_t)(y.at + y.first), b->cin);
    for (uint32_t c = 0; c < b->chunk; c++) {
        float *to = b->in + c * m->in_channel;

        if (unzip)
            unzip_channel(m, &x, &y, from + (size_t)c * src->stride[PR_AXIS_C], to);
        else if (m->flat)
            load_flat(m, b, b->cin + c, to);
        else if (n->sx == 1)
            load_whole(m, &x, &y, b->cin + c, to);
        else
            load_phases(m, b, &x, &y, b->cin + c, to);
    }
}
