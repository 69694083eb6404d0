/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operands of a block: input, weights and bias are converted to fp32 in the worker's memory. Input
 * columns outside the input are zeros there.
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

/* The rows of one input channel, with zeros where a row ends before the block does. */
static void load_channel(const struct eng_mac_plan *m, const struct eng_block *b, uint32_t channel, float *to)
{
    const struct pr_ne *n = &m->ne->task->ne;
    int64_t end = (int64_t)m->win - b->ix, needed = (int64_t)(b->columns - 1) * n->sx + n->kw;
    uint32_t first = b->ix < 0 ? eng_least((uint64_t)-b->ix, m->in_columns) : 0;
    struct eng_line line = {.axis = PR_AXIS_W};

    end = end < needed ? end : needed;
    line.n = end > first ? (uint32_t)end - first : 0;
    line.index[PR_AXIS_W] = line.n ? (uint32_t)(b->ix + first) : 0;
    line.index[PR_AXIS_C] = channel;
    for (uint32_t iy = b->iy; iy < b->iy_end; iy++, to += m->in_columns) {
        memset(to, 0, first * sizeof(float));
        line.index[PR_AXIS_H] = iy;
        load_line(m, line, to + first);
        memset(to + first + line.n, 0, (m->in_columns - first - line.n) * sizeof(float));
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
    for (uint32_t c = 0; c < b->step; c++) {
        line.index[PR_AXIS_C] = b->cin + c;
        if (column)
            load_line(m, line, b->in + c * plane);
        else
            load_channel(m, b, b->cin + c, b->in + c * plane);
    }
}

/* Copies rows of n fp16 values beside other rows; n is a power of two except in the last run. */
static void interleave(const uint8_t *from, size_t from_stride, uint8_t *to, size_t to_stride, size_t rows,
                       uint32_t n)
{
    for (; rows; rows--, from += from_stride, to += to_stride) {
        switch (n) {
        case 1: memcpy(to, from, 2); break;
        case 2: memcpy(to, from, 4); break;
        case 4: memcpy(to, from, 8); break;
        case 8: memcpy(to, from, 16); break;
        default: memcpy(to, from, 2 * (size_t)n); break;
        }
    }
}

/*
 * A run of output channels whose weights are contiguous. Returns how many there are, and where those of this
 * step begin.
 */
static uint32_t run_at(const struct eng_mac_plan *m, const struct eng_block *b, uint32_t channel,
                       uint32_t most, const uint8_t **from, size_t *stride)
{
    const struct pr_ne *n = &m->ne->task->ne;
    uint64_t row = (uint64_t)b->cin * n->kw * n->kh;

    return eng_weights_run(m->ne->weights, m->ne->task, m->ne->group, channel, most, row, from, stride);
}

void eng_block_load_bias(const struct eng_mac_plan *m, const struct eng_block *b)
{
    const struct eng_ne *ne = m->ne;
    struct eng_load load = m->mac.weight;
    const uint8_t *from;
    uint32_t run;

    load.scale = 1;
    for (uint32_t c = 0; c < b->channels; c += run) {
        run = 1;
        if (ne->task->ne.bias) {
            run = eng_weights_bias_run(ne->weights, ne->task, ne->group, b->c0 + c, b->channels - c, &from);
            m->mac.kernels->to_float(from, b->bias + c, run, &load);
        } else {
            b->bias[c] = -0.0f;
        }
    }
}

/* Runs that fill vectors are converted to fp32 directly, without a copy; false when there are others. */
static bool load_wide_runs(const struct eng_mac_plan *m, const struct eng_block *b, uint32_t first,
                           size_t rows)
{
    const uint8_t *from;
    size_t stride;
    uint32_t run;

    for (uint32_t c = 0; c < m->group; c += run) {
        run = run_at(m, b, first + c, m->group - c, &from, &stride);
        if (run == m->group && stride == 2 * (size_t)run)
            m->mac.kernels->to_float(from, b->panel, rows * run, &m->mac.weight);
        else if (run % m->mac.kernels->lanes == 0)
            m->mac.kernels->rows_to_float(from, stride, b->panel + c, m->group, rows, run, &m->mac.weight);
        else
            return false;
    }
    return true;
}

/*
 * The weights of one panel's output channels for this step. Narrow runs are made contiguous before they are
 * converted to fp32.
 */
void eng_block_load_panel(const struct eng_mac_plan *m, const struct eng_block *b, uint32_t first,
                          uint32_t count)
{
    size_t rows = (size_t)b->step * m->ne->task->ne.kw * m->ne->task->ne.kh, stride;
    const uint8_t *from;
    uint32_t run;

    if (count == m->group && load_wide_runs(m, b, first, rows))
        return;
    if (count < m->group)
        memset(b->panel_fp16, 0, rows * m->group * 2);
    for (uint32_t c = 0; c < count; c += run) {
        run = run_at(m, b, first + c, count - c, &from, &stride);
        interleave(from, stride, b->panel_fp16 + 2 * (size_t)c, (size_t)m->group * 2, rows, run);
    }
    m->mac.kernels->to_float(b->panel_fp16, b->panel, rows * m->group, &m->mac.weight);
}
