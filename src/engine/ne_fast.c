/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: the fast path of multiply-accumulate tasks.
 *
 * The output is cut into blocks of channels, rows and columns, each a piece of the pool's run. A block keeps
 * its sums in fp32 and takes the input channels in steps: input rows and weights of the step are converted to
 * fp32 once, then every sum's chain continues. Sums are vectors of neighbouring columns. Tasks whose rows do
 * not fill such vectors, or that have channels enough, run in tiles (ne_tile.c).
 */
#include "engine/ne_block.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "engine/ne_panel.h"

/* Sizes of a block, so that what it works on stays in the second-level cache. They change only the speed. */
enum {
    COLUMNS_MAX = 256,        /* of a block */
    PIXELS_MAX = 512,         /* rows times columns */
    CHANNELS_MAX = 64,        /* output channels */
    SUMS_MAX = 65536,         /* of a block */
    INPUT_FLOATS_MAX = 65536, /* input in a step */
    PANEL_TAPS = 4096,        /* kernel taps in a step */
    PIECE_WORK = 12 << 20,    /* products that are worth another piece */
    SPLIT_PIXELS = 256,       /* blocks are not cut below these */
    SPLIT_CHANNELS = 16,
};

static uint32_t power_of_two(uint32_t at_least, uint32_t low, uint32_t high)
{
    while (low < high && low < at_least)
        low *= 2;
    return low;
}

/* The share of lanes that do work, in units of 1/1024. */
static uint32_t share(uint32_t used, uint32_t lanes)
{
    return 1024 * used / (uint32_t)pr_round_up(used, lanes);
}

static uint64_t work_of(const struct eng_mac_plan *m)
{
    return (uint64_t)m->rows * m->columns * m->channels * m->cin * m->ne->task->ne.kw * m->ne->task->ne.kh;
}

/* Blocks as large as the limits allow, then smaller while each is still worth a piece of its own. */
static void plan_blocks(struct eng_mac_plan *m)
{
    m->columns = eng_least(m->wout, COLUMNS_MAX);
    m->rows = eng_least(m->hout, PIXELS_MAX / m->columns);
    m->channels = eng_least(m->cout, CHANNELS_MAX);
    while (m->channels > SPLIT_CHANNELS && m->rows * m->columns * m->channels > SUMS_MAX)
        m->channels /= 2;
    while (m->rows > 1 && m->rows * m->columns > SPLIT_PIXELS && work_of(m) > PIECE_WORK)
        m->rows = (m->rows + 1) / 2;
    while (m->channels > SPLIT_CHANNELS && work_of(m) > PIECE_WORK)
        m->channels /= 2;
}

static void plan(struct eng_mac_plan *m)
{
    const struct pr_ne *n = &m->ne->task->ne;
    uint32_t lanes = m->mac.kernels->lanes, taps = n->kw * n->kh;

    plan_blocks(m);
    m->group = power_of_two(m->channels, 1, m->mac.kernels->panel);
    m->channels = (uint32_t)pr_round_up(m->channels, m->group);
    m->blocks[0] = eng_ne_blocks(m->wout, m->columns);
    m->blocks[1] = eng_ne_blocks(m->hout, m->rows);
    m->blocks[2] = eng_ne_blocks(m->cout, m->channels);

    m->acc_row = pr_round_up(m->columns, lanes);
    m->in_rows = (m->rows - 1) * n->sy + n->kh;
    m->in_columns = ((uint32_t)m->acc_row - 1) * n->sx + n->kw;
    m->step = eng_least(m->cin, INPUT_FLOATS_MAX / ((uint64_t)m->in_rows * m->in_columns));
    m->step = eng_least(m->step, PANEL_TAPS / taps);
    m->step = m->step ? m->step : 1;
    m->acc_floats = pr_round_up((uint64_t)m->channels * m->rows * m->acc_row, 16);
    m->in_floats = pr_round_up((uint64_t)m->step * m->in_rows * m->in_columns, 16);
    m->panel_floats = pr_round_up((uint64_t)m->step * taps * m->group, 16);
    m->worker_floats = m->acc_floats + m->in_floats + m->panel_floats + pr_round_up(m->channels, 16) +
                       pr_round_up(m->panel_floats / 2, 16);
}

static void block_begin(const struct eng_mac_plan *m, struct eng_block *b, size_t piece, unsigned worker)
{
    const struct pr_ne *n = &m->ne->task->ne;
    int64_t iy, iy_end;

    b->x0 = (uint32_t)(piece % m->blocks[0]) * m->columns;
    b->y0 = (uint32_t)(piece / m->blocks[0] % m->blocks[1]) * m->rows;
    b->c0 = (uint32_t)(piece / m->blocks[0] / m->blocks[1]) * m->channels;
    b->columns = eng_least(m->columns, m->wout - b->x0);
    b->rows = eng_least(m->rows, m->hout - b->y0);
    b->channels = eng_least(m->channels, m->cout - b->c0);
    b->ix = (int64_t)b->x0 * n->sx - n->px;
    iy = (int64_t)b->y0 * n->sy - n->py;
    iy_end = iy + (int64_t)(b->rows - 1) * n->sy + n->kh;
    b->iy = iy < 0 ? 0 : (uint32_t)iy;
    b->iy_end = iy_end < 0 ? 0 : eng_least((uint64_t)iy_end, m->hin);

    b->acc = m->memory + worker * m->worker_floats;
    b->in = b->acc + m->acc_floats;
    b->panel = b->in + m->in_floats;
    b->bias = b->panel + m->panel_floats;
    b->panel_fp16 = (uint8_t *)(b->bias + pr_round_up(m->channels, 16));
}

/*
 * The call of a kernel for output row y of the block, except for columns and sums. False when no tap of the
 * row is inside the input.
 */
static bool row_begin(const struct eng_mac_plan *m, const struct eng_block *b, uint32_t y,
                      struct eng_mac *call)
{
    const struct pr_ne *n = &m->ne->task->ne;

    *call = (struct eng_mac){
        .in_channel = (size_t)m->in_rows * m->in_columns,
        .in_row = m->in_columns,
        .in_tap = 1,
        .panel = b->panel,
        .channels = b->step,
        .kh = n->kh,
        .kw = n->kw,
        .kx1 = n->kw,
        .begin = b->cin == 0,
        .ceiling = m->mac.ceiling,
    };
    eng_ne_taps_inside(y, n->sy, n->py, n->kh, m->hin, &call->ky0, &call->ky1);
    if (call->ky0 == call->ky1)
        return false;
    call->in = b->in + ((size_t)y * n->sy + call->ky0 - n->py - b->iy) * m->in_columns;
    return true;
}

/*
 * For a kernel of one tap the loop over channels is the inner one: it is called as one channel with a row of
 * taps.
 */
static void flatten(struct eng_mac *call)
{
    if (call->kh != 1 || call->kw != 1)
        return;
    call->in_tap = call->in_channel;
    call->kw = call->kx1 = call->channels;
    call->channels = 1;
}

/*
 * Padding is zeros in memory, and zero times a weight adds 0 unless the weight is infinite or a NaN. For a
 * panel that has such a weight, sums are made one at a time, without the taps on the padding.
 */
static void mac_without_padding(const struct eng_mac_plan *m, const struct eng_block *b,
                                const struct eng_mac *call)
{
    const struct pr_ne *n = &m->ne->task->ne;
    uint32_t kx0, kx1;

    for (uint32_t x = 0; x < b->columns; x++) {
        eng_ne_taps_inside(b->x0 + x, n->sx, n->px, n->kw, m->win, &kx0, &kx1);
        for (uint32_t c = 0; c < m->group; c++) {
            float *sum = call->acc + c * call->acc_channel + x;

            for (uint32_t i = 0; i < call->channels; i++)
                for (uint32_t ky = call->ky0; ky < call->ky1; ky++)
                    for (uint32_t kx = kx0; kx < kx1; kx++) {
                        const float *row = call->in + i * call->in_channel + (ky - call->ky0) * call->in_row;
                        size_t tap = ((size_t)i * n->kh + ky) * n->kw + kx;

                        *sum = fmaf(row[x + kx], call->panel[tap * m->group + c], *sum);
                        if (fabsf(*sum) >= m->mac.ceiling)
                            *sum = copysignf(INFINITY, *sum);
                    }
        }
    }
}

/* The sums of some rows, of the channels of a panel. */
static void clear_rows(const struct eng_mac_plan *m, const struct eng_mac *call, uint32_t rows)
{
    for (uint32_t c = 0; c < m->group; c++)
        memset(call->acc + c * call->acc_channel, 0, rows * m->acc_row * sizeof(float));
}

/* How many rows from this one on, up to a limit, use the same rows of the kernel. */
static uint32_t rows_alike(const struct eng_mac_plan *m, const struct eng_block *b, uint32_t row,
                           uint32_t limit)
{
    const struct pr_ne *n = &m->ne->task->ne;
    uint32_t ky0, ky1, first, end, count = 1;

    eng_ne_taps_inside(b->y0 + row, n->sy, n->py, n->kh, m->hin, &ky0, &ky1);
    for (; count < eng_least(limit, b->rows - row); count++) {
        eng_ne_taps_inside(b->y0 + row + count, n->sy, n->py, n->kh, m->hin, &first, &end);
        if (first != ky0 || end != ky1)
            break;
    }
    return count;
}

/* Adjacent column vectors of a row; where a row is one vector, several rows are taken at a time. */
static void mac_in_columns(const struct eng_mac_plan *m, const struct eng_block *b, uint32_t first)
{
    const struct pr_ne *n = &m->ne->task->ne;
    uint32_t lanes = m->mac.kernels->lanes, all = eng_ne_blocks(b->columns, lanes), rows;
    uint32_t tiles = eng_ne_blocks(all, m->mac.kernels->columns), each = eng_ne_blocks(all, tiles);
    bool padded = b->ix < 0 || b->ix + b->columns - 1 + n->kw > m->win;
    bool exact = padded && !m->mac.kernels->all_finite(b->panel, (size_t)b->step * n->kw * n->kh * m->group);
    struct eng_mac call;
    bool any;

    for (uint32_t row = 0; row < b->rows; row += rows) {
        rows = all == 1 && !exact ? rows_alike(m, b, row, m->mac.kernels->columns) : 1;
        any = row_begin(m, b, b->y0 + row, &call);
        call.acc_channel = m->rows * m->acc_row;
        call.acc = b->acc + first * call.acc_channel + row * m->acc_row;
        /* Rows that no product is added to, or whose products are added one by one. */
        if (call.begin && (!any || exact))
            clear_rows(m, &call, rows);
        if (!any)
            continue;
        call.in_next = all == 1 ? (size_t)n->sy * m->in_columns : lanes;
        call.acc_next = all == 1 ? m->acc_row : lanes;
        if (exact) {
            mac_without_padding(m, b, &call);
            continue;
        }
        flatten(&call);
        for (uint32_t v = 0; v < all; v += each, call.in += each * lanes, call.acc += each * lanes)
            m->mac.kernels->mac_columns(&call, m->group, all == 1 ? rows : eng_least(each, all - v));
    }
}

/* All rows of all channels, where they are packed in host memory; as one where they follow each other. */
static void finish_rows(const struct eng_mac_plan *m, const struct eng_block *b, struct eng_finish *finish)
{
    const struct eng_view *dst = &m->ne->operands.dst;
    struct eng_line line = {.index = {b->x0, b->y0, 0, b->c0, 0}, .n = b->columns};
    struct eng_rows rows = {
        .acc = b->acc,
        .acc_row = m->acc_row,
        .to = eng_view_line_target(dst, &line, NULL),
        .to_row = dst->stride[PR_AXIS_H],
        .rows = b->rows,
        .n = b->columns,
        .tail = b->x0 + b->columns == m->wout ? dst->tail - dst->tail_begin : 0,
    };

    if (rows.acc_row == rows.n && rows.to_row == 2 * rows.n && !rows.tail) {
        rows.n *= rows.rows;
        rows.rows = 1;
    }
    for (uint32_t c = 0; c < b->channels; c++) {
        finish->bias = b->bias[c];
        m->mac.kernels->finish_rows(&rows, finish);
        rows.acc += m->rows * m->acc_row;
        rows.to += dst->stride[PR_AXIS_C];
    }
}

static void finish_columns(const struct eng_mac_plan *m, const struct eng_block *b)
{
    const struct eng_view *dst = &m->ne->operands.dst;
    bool packed = eng_view_is_plain(dst) && eng_view_is_packed(dst, PR_AXIS_W);
    struct eng_finish finish = m->mac.finish;
    uint8_t buffer[2 * COLUMNS_MAX];

    if (packed) {
        finish_rows(m, b, &finish);
        return;
    }
    for (uint32_t c = 0; c < b->channels; c++) {
        finish.bias = b->bias[c];
        for (uint32_t row = 0; row < b->rows; row++) {
            struct eng_line line = {.index = {b->x0, b->y0 + row, 0, b->c0 + c, 0}, .n = b->columns};
            uint8_t *to = eng_view_line_target(dst, &line, buffer);

            m->mac.kernels->finish(b->acc + ((size_t)c * m->rows + row) * m->acc_row, NULL, to, line.n,
                                   &finish);
            eng_view_line_put(dst, &line, to);
        }
    }
}

static void mac_piece(void *context, size_t piece, unsigned worker)
{
    const struct eng_mac_plan *m = context;
    struct eng_panel panel = {.ne = m->ne, .mac = &m->mac, .group = m->group};
    struct eng_block b;

    block_begin(m, &b, piece, worker);
    panel.to = b.panel;
    panel.fp16 = b.panel_fp16;
    eng_panel_load_bias(m->ne, &m->mac, b.c0, b.channels, b.bias);
    for (b.cin = 0; b.cin < m->cin; b.cin += b.step) {
        b.step = eng_least(m->step, m->cin - b.cin);
        eng_block_load_input(m, &b);
        for (uint32_t c = 0; c < b.channels; c += m->group) {
            panel.first = b.c0 + c;
            panel.count = eng_least(m->group, b.channels - c);
            panel.cin = b.cin;
            panel.channels = b.step;
            eng_panel_find(&panel);
            eng_panel_load(&panel);
            mac_in_columns(m, &b, c);
        }
    }
    finish_columns(m, &b);
}

/*
 * Column vectors need neighbouring columns to be neighbouring inputs, and pay where channels are few: tiles
 * are the faster ones, but for lanes without work.
 */
static bool is_for_tiles(const struct eng_mac_plan *m)
{
    uint32_t lanes = m->mac.kernels->lanes;

    return m->ne->task->ne.sx != 1 || 3 * share(m->wout, lanes) <= 4 * share(m->cout, lanes);
}

int eng_ne_mac_fast(const struct eng_ne *ne)
{
    const uint32_t *in = ne->operands.src[0].extent, *out = ne->operands.dst.extent;
    struct eng_mac_plan m = {
        .ne = ne,
        .mac = eng_mac_setup(ne),
        .cin = in[PR_AXIS_C],
        .hin = in[PR_AXIS_H],
        .win = in[PR_AXIS_W],
        .cout = out[PR_AXIS_C],
        .hout = out[PR_AXIS_H],
        .wout = out[PR_AXIS_W],
    };

    if (is_for_tiles(&m))
        return eng_ne_tiles(ne);
    plan(&m);
    m.memory = eng_scratch_reserve(ne->scratch, m.worker_floats * eng_pool_workers(ne->pool) * sizeof(float));
    if (!m.memory)
        return -ENOMEM;
    eng_pool_run(ne->pool, (size_t)m.blocks[0] * m.blocks[1] * m.blocks[2], mac_piece, &m);
    return 0;
}
