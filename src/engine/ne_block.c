/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input of a block, converted to fp32 in the worker's memory. Columns outside the input are zeros there.
 */
#include "engine/ne_block.h"

#include <string.h>

static void load_line(const struct eng_mac_plan *m, struct eng_line line, float *to)
{
    const struct eng_view *src = &m->ne->operands.src[0];
    uint32_t left = line.n, most = eng_view_is_packed(src, line.axis) ? left : ENG_LINE_MAX;
    uint8_t buffer[ENG_LINE_BYTES];

    for (; left; left -= line.n, to += line.n, line.index[line.axis] += line.n) {
        line.n = eng_least(left, most);
        m->mac.kernels->to_float(eng_view_line(src, &line, buffer), to, line.n, &m->mac.input);
    }
}

/* Rows of no more floats are cleared whole: the margins of each, one by one, would take longer. */
enum { SHORT_ROW = 64 };

static void clear(float *to, size_t count)
{
    memset(to, 0, count * sizeof(*to));
}

/* Zeros before and after the elements of each row: those after one row and before the next are neighbours. */
static void load_margins(const struct eng_mac_plan *m, float *to, uint32_t rows, uint32_t first, uint32_t end)
{
    if (first == 0 && end == m->in_columns)
        return;
    if (m->in_columns <= SHORT_ROW) {
        clear(to, (size_t)rows * m->in_columns);
        return;
    }
    clear(to, first);
    for (to += end; rows > 1; rows--, to += m->in_columns)
        clear(to, m->in_columns - end + first);
    clear(to, m->in_columns - end);
}

/* Which columns of the rows are elements of the input: n from `first` on, the first of them at `at`. */
struct part {
    uint32_t first, n, at;
};

static struct part part_of(const struct eng_mac_plan *m, const struct eng_block *b)
{
    const struct pr_ne *n = &m->ne->task->ne;
    int64_t end = (int64_t)m->win - b->ix, needed = (int64_t)(b->columns - 1) * n->sx + n->kw;
    struct part p = {.first = b->ix < 0 ? eng_least((uint64_t)-b->ix, m->in_columns) : 0};

    end = end < needed ? end : needed;
    p.n = end > p.first ? (uint32_t)end - p.first : 0;
    p.at = p.n ? (uint32_t)(b->ix + p.first) : 0;
    return p;
}

/* The rows of all channels of the step, with zeros where a row ends before the block does. */
static void load_rows(const struct eng_mac_plan *m, const struct eng_block *b)
{
    const struct eng_view *src = &m->ne->operands.src[0];
    const struct part part = part_of(m, b);
    struct eng_line line = {.axis = PR_AXIS_W, .n = part.n};
    bool packed = eng_view_is_packed(src, PR_AXIS_W);
    uint32_t rows = b->iy_end - b->iy;
    const uint8_t *from = NULL;
    float *to = b->in;

    line.index[PR_AXIS_W] = part.at;
    for (uint32_t c = 0; c < b->step; c++, to += (size_t)m->in_rows * m->in_columns) {
        load_margins(m, to, rows, part.first, part.first + part.n);
        if (!part.n)
            continue;
        line.index[PR_AXIS_H] = b->iy;
        line.index[PR_AXIS_C] = b->cin + c;
        if (!packed) {
            for (uint32_t row = 0; row < rows; row++, line.index[PR_AXIS_H]++)
                load_line(m, line, to + row * (size_t)m->in_columns + part.first);
            continue;
        }
        from = c ? from + src->stride[PR_AXIS_C] : eng_view_line(src, &line, NULL);
        m->mac.kernels->rows_to_float(from, src->stride[PR_AXIS_H], to + part.first, m->in_columns, rows,
                                      part.n, &m->mac.input);
    }
}

/*
 * Input that is one column, or one element, of each channel is read along H or C instead of in rows of one.
 */
void eng_block_load_input(const struct eng_mac_plan *m, const struct eng_block *b)
{
    size_t plane = (size_t)m->in_rows * m->in_columns;
    bool column = m->in_columns == 1 && b->ix >= 0 && b->ix < m->win;
    struct eng_line line = {.axis = PR_AXIS_H, .n = b->iy_end - b->iy};

    if (b->iy >= b->iy_end)
        return;
    line.index[PR_AXIS_W] = column ? (uint32_t)b->ix : 0;
    line.index[PR_AXIS_H] = b->iy;
    line.index[PR_AXIS_C] = b->cin;
    if (column && m->in_rows == 1) {
        line.axis = PR_AXIS_C;
        line.n = b->step;
        load_line(m, line, b->in);
        return;
    }
    if (!column) {
        load_rows(m, b);
        return;
    }
    for (uint32_t c = 0; c < b->step; c++) {
        line.index[PR_AXIS_C] = b->cin + c;
        load_line(m, line, b->in + c * plane);
    }
}
