/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: multiply-accumulate tasks in tiles, each some pixels of some vectors of output
 * channels.
 *
 * A tile's sums are in registers from the first tap of a step to the last. Input is converted to fp32 once
 * for a block, weights once for a block and group of channels. Where one step has all input channels, a
 * tile's sums are finished and stored at once; otherwise they are kept between the steps.
 *
 * Where the destination's rows are packed and one step has all input channels, outputs that fill vectors are
 * computed as strips instead (kernels_strip.h), whose vectors are pixels, so that nothing is transposed.
 * Tiles are then what is left at the end of a line.
 */
#include "engine/ne_tile.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "engine/ne_panel.h"

/* Sizes of a block, so that what it works on stays in the second-level cache. They change only the speed. */
enum {
    COLUMNS_MAX = 1024,
    PIXELS_MIN = 96,        /* fewer pixels of a block would convert weights too often */
    PIXELS_MAX = 4096,      /* of a block, */
    FLAT_PIXELS_MAX = 1024, /* and of a flat one, which is stored at once */
    INPUT_FLOATS = 1 << 17, /* of a chunk */
    SUMS_MAX = 1 << 16,     /* of a block with several chunks */
    PANEL_TAPS = 768,       /* of a step, */
    STRIP_TAPS = 2304,      /* and of one with strips, which is the only one */
    STRIP_LEAST = 3,        /* vectors of a row */
    STRIP_PIXELS = 384,     /* between prefetches, a multiple of every vector */
    PIECE_WORK = 1 << 19,   /* products that are worth another thread */
    TILE_BYTES = 32,        /* of a row of a tile and the zeros that fill it up, as finish_tile has it */
};

static uint64_t taps_of(const struct eng_tile_plan *m)
{
    return (uint64_t)m->ne->task->ne.kw * m->ne->task->ne.kh;
}

/* Parts of equal size, none larger than `most`. */
static uint32_t balance(uint32_t all, uint32_t most)
{
    return eng_ne_blocks(all, eng_ne_blocks(all, most ? most : 1));
}

/* Floats of the input of one channel, for a block of so many rows. */
static uint64_t input_of(const struct eng_tile_plan *m, uint32_t rows)
{
    const struct pr_ne *n = &m->ne->task->ne;

    return m->flat ? (uint64_t)rows * m->columns : ((uint64_t)(rows - 1) * n->sy + n->kh) * m->in_row;
}

static void set_columns(struct eng_tile_plan *m, uint32_t columns)
{
    const struct pr_ne *n = &m->ne->task->ne;

    m->columns = columns;
    m->in_phase = columns + (n->kw - 1) / n->sx;
    m->in_row = eng_least(n->sx, n->kw) * m->in_phase;
}

/* As many pixels as all their input channels have room for, but not fewer than pay. */
static void plan_pixels(struct eng_tile_plan *m)
{
    const struct pr_ne *n = &m->ne->task->ne;
    uint32_t rows;

    set_columns(m, balance(m->wout, COLUMNS_MAX));
    while (m->columns > PIXELS_MIN && input_of(m, 1) * m->cin > INPUT_FLOATS)
        set_columns(m, balance(m->wout, m->columns / 2 > PIXELS_MIN ? m->columns / 2 : PIXELS_MIN));
    rows = eng_least(m->hout, (m->flat ? FLAT_PIXELS_MAX : PIXELS_MAX) / m->columns);
    while (rows > 1 && (uint64_t)(rows - 1) * m->columns >= PIXELS_MIN &&
           input_of(m, rows) * m->cin > INPUT_FLOATS)
        rows--;
    m->rows = balance(m->hout, rows);
    m->in_rows = (m->rows - 1) * n->sy + n->kh;
    m->in_channel = input_of(m, m->rows);
}

/*
 * Strips need a line of outputs that is a vector at least, and all input channels at once. Lines of less than
 * STRIP_LEAST vectors are mostly ends, which tiles make faster.
 */
static void plan_strips(struct eng_tile_plan *m)
{
    uint32_t line = m->flat ? m->rows * m->columns : m->columns, lanes = m->mac.kernels->lanes;

    m->strips = eng_view_is_packed(&m->ne->operands.dst, PR_AXIS_W) &&
                line >= (m->flat ? lanes : STRIP_LEAST * lanes) && m->cin * taps_of(m) <= STRIP_TAPS &&
                m->cin * m->in_channel <= INPUT_FLOATS;
}

static void plan_channels(struct eng_tile_plan *m)
{
    uint64_t sums = (uint64_t)m->rows * m->columns;

    m->chunk = balance(m->cin, eng_least(m->cin, INPUT_FLOATS / m->in_channel));
    m->step = balance(m->chunk, eng_least(m->chunk, PANEL_TAPS / taps_of(m)));
    if (m->strips)
        m->step = m->cin;
    m->channels = (uint32_t)pr_round_up(m->cout, m->group);
    if (m->chunk < m->cin && m->channels > SUMS_MAX / sums)
        m->channels = (uint32_t)pr_round_up(SUMS_MAX / sums + 1, m->group);
    /* What is kept: the sums of all channels, of a group, or of a tile. */
    if (m->chunk < m->cin)
        m->acc_floats = sums * m->channels;
    else
        m->acc_floats = (m->step < m->cin ? sums : m->mac.kernels->tile_pixels) * m->group;
}

/*
 * Blocks for all threads: equal parts of rows where there are blocks enough. Where there are fewer, more of
 * channels while the input is less than the weights, else of rows. A result does not depend on how the task
 * is cut.
 */
static void plan_pieces(struct eng_tile_plan *m)
{
    uint32_t workers = eng_pool_workers(m->ne->pool), rows = eng_ne_blocks(m->hout, m->rows);
    uint32_t others = eng_ne_blocks(m->wout, m->columns) * eng_ne_blocks(m->cout, m->channels);
    uint64_t work = taps_of(m) * m->cin * m->cout * m->hout * m->wout;
    uint32_t pieces = eng_least(workers, work / PIECE_WORK), lanes = m->mac.kernels->lanes;

    if (pieces < 2 || rows * others % pieces == 0)
        return;
    if (rows * others > pieces) {
        m->rows = eng_ne_blocks(m->hout, (uint32_t)pr_round_up(rows, pieces));
        return;
    }
    pieces = eng_ne_blocks(pieces, rows * others);
    if (m->channels >= pieces * m->group &&
        (m->rows < pieces || (uint64_t)m->cout * taps_of(m) >= m->in_channel))
        m->channels = (uint32_t)pr_round_up(eng_ne_blocks(m->channels, pieces), lanes);
    else
        m->rows = balance(m->rows, eng_ne_blocks(m->rows, pieces));
}

/* An odd number of cache lines, so that the rows of all channels are not in the same places of a cache. */
static void plan_stage(struct eng_tile_plan *m)
{
    const struct eng_view *dst = &m->ne->operands.dst;
    bool apart =
        m->columns % m->mac.kernels->lanes && (m->columns < m->wout || dst->stride[PR_AXIS_H] != 2 * m->wout);
    size_t line = m->columns;

    if (!eng_view_is_packed(dst, PR_AXIS_W))
        return;
    if (m->strips ? !m->flat || !apart : m->columns <= m->mac.kernels->tile_pixels)
        return;
    if (m->strips)
        line *= m->rows;
    m->stage_row = ((2 * line + TILE_BYTES) / 64 | 1) * 64 + 128;
}

static void plan_memory(struct eng_tile_plan *m)
{
    const struct pr_ne *n = &m->ne->task->ne;

    m->blocks[0] = eng_ne_blocks(m->wout, m->columns);
    m->blocks[1] = eng_ne_blocks(m->hout, m->rows);
    m->blocks[2] = eng_ne_blocks(m->cout, m->channels);
    m->acc_floats = pr_round_up(m->acc_floats, 16);
    m->in_floats = pr_round_up(m->chunk * m->in_channel + m->mac.kernels->lanes, 16);
    m->line_row = n->sx > 1 ? pr_round_up((m->columns - 1) * n->sx + n->kw + 8, 16) : 0;
    m->line_floats = ENG_TILE_LINES * m->line_row;
    m->panel_floats = m->step * taps_of(m) * m->group;
    m->bias_floats = pr_round_up(m->channels, 16);
    m->stage_floats = m->stage_row / sizeof(float) * m->group;
    m->worker_floats = m->acc_floats + m->in_floats + m->line_floats + m->panel_floats + m->bias_floats +
                       pr_round_up(m->panel_floats / 2, 16) + m->stage_floats;
}

static void plan(struct eng_tile_plan *m)
{
    const struct pr_ne *n = &m->ne->task->ne;
    int64_t right = (int64_t)(m->wout - 1) * n->sx + n->kw - n->px;
    int64_t below = (int64_t)(m->hout - 1) * n->sy + n->kh - n->py;

    m->padded = n->px || n->py || right > m->win || below > m->hin;
    m->flat = n->kw == 1 && n->kh == 1 && !m->padded;
    m->group = eng_least(m->mac.kernels->tile_vectors, eng_ne_blocks(m->cout, m->mac.kernels->lanes)) *
               m->mac.kernels->lanes;
    plan_pixels(m);
    plan_strips(m);
    plan_channels(m);
    plan_pieces(m);
    plan_stage(m);
    plan_memory(m);
}

static void fill_offsets(const struct eng_tile_plan *m)
{
    const struct pr_ne *n = &m->ne->task->ne;
    uint32_t *to = m->offset;

    for (uint32_t c = 0; c < m->step; c++)
        for (uint32_t ky = 0; ky < n->kh; ky++)
            for (uint32_t kx = 0; kx < n->kw; kx++)
                *to++ =
                    (uint32_t)(c * m->in_channel + ky * m->in_row + kx % n->sx * m->in_phase + kx / n->sx);
}

static void block_begin(const struct eng_tile_plan *m, struct eng_tile_block *b, size_t piece,
                        unsigned worker)
{
    b->x0 = (uint32_t)(piece % m->blocks[0]) * m->columns;
    b->y0 = (uint32_t)(piece / m->blocks[0] % m->blocks[1]) * m->rows;
    b->c0 = (uint32_t)(piece / m->blocks[0] / m->blocks[1]) * m->channels;
    b->columns = eng_least(m->columns, m->wout - b->x0);
    b->rows = eng_least(m->rows, m->hout - b->y0);
    b->channels = eng_least(m->channels, m->cout - b->c0);
    b->acc = m->memory + worker * m->worker_floats;
    b->in = b->acc + m->acc_floats;
    b->line = b->in + m->in_floats;
    b->panel = b->line + m->line_floats;
    b->bias = b->panel + m->panel_floats;
    b->panel_fp16 = (uint8_t *)(b->bias + m->bias_floats);
    b->stage = b->panel_fp16 + pr_round_up(m->panel_floats / 2, 16) * sizeof(float);
    eng_panel_load_bias(m->ne, &m->mac, b->c0, b->channels, b->bias);
    for (uint32_t c = b->channels; c < m->bias_floats; c++)
        b->bias[c] = 0;
}

/*
 * Padding is zeros in memory, and zero times a weight adds 0 unless the weight is infinite or a NaN. For a
 * panel that has such a weight, sums are made one at a time, without the taps on the padding.
 */
static void mac_pixel_carefully(const struct eng_tile_step *s, const struct eng_tile *tile, uint32_t x,
                                uint32_t y, float *acc)
{
    const struct eng_tile_plan *m = s->m;
    const struct pr_ne *n = &m->ne->task->ne;
    uint32_t kx0, kx1, ky0, ky1, group = s->vectors * m->mac.kernels->lanes;
    const float *in = s->b->in + s->cin * m->in_channel + (size_t)y * n->sy * m->in_row + x;

    eng_ne_taps_inside(s->b->x0 + x, n->sx, n->px, n->kw, m->win, &kx0, &kx1);
    eng_ne_taps_inside(s->b->y0 + y, n->sy, n->py, n->kh, m->hin, &ky0, &ky1);
    for (uint32_t c = 0; c < group; c++) {
        float sum = tile->begin ? 0 : acc[c];

        for (uint32_t tap = 0; tap < tile->taps; tap++) {
            uint32_t kx = tap % n->kw, ky = tap / n->kw % n->kh;

            if (kx < kx0 || kx >= kx1 || ky < ky0 || ky >= ky1)
                continue;
            sum = fmaf(in[tile->offset[tap]], tile->panel[(size_t)tap * group + c], sum);
            if (fabsf(sum) >= m->mac.ceiling)
                sum = copysignf(INFINITY, sum);
        }
        acc[c] = sum;
    }
}

static void mac(const struct eng_tile_step *s)
{
    const struct eng_tile_plan *m = s->m;
    const struct pr_ne *n = &m->ne->task->ne;
    uint32_t pixels = s->rows * s->columns;
    size_t at = m->flat ? (size_t)s->y * s->b->columns + s->x : (size_t)s->y * n->sy * m->in_row + s->x;
    struct eng_tile tile = {
        .in = s->b->in + s->cin * m->in_channel + at,
        .jump = m->flat || s->rows == 1 ? 0 : n->sy * m->in_row - s->columns,
        .offset = m->offset,
        .taps = (uint32_t)(s->channels * taps_of(m)),
        .begin = s->begin,
        .panel = s->b->panel,
        .acc = s->acc,
        .ceiling = m->mac.ceiling,
    };

    if (!s->careful) {
        m->mac.kernels->mac_tile(&tile, s->vectors, pixels);
        return;
    }
    for (uint32_t p = 0; p < pixels; p++)
        mac_pixel_carefully(s, &tile, s->x + p % s->columns, s->y + p / s->columns,
                            s->acc + (size_t)p * s->vectors * m->mac.kernels->lanes);
}

/*
 * The tiles of a block: parts of a row, or whole rows where a tile has room for more than one. Rows that are
 * not adjacent in the input are two at most.
 */
static void run_tiles(struct eng_tile_step *s)
{
    const struct eng_tile_plan *m = s->m;
    uint32_t most = m->mac.kernels->tile_pixels, columns = balance(s->b->columns, most), rows = 1;
    const struct eng_view *dst = &m->ne->operands.dst;
    bool packed = eng_view_is_packed(dst, PR_AXIS_W) || (eng_view_is_packed(dst, PR_AXIS_C) && !dst->tail);
    bool kept = m->step < m->cin, staged = m->stage_row && columns < s->b->columns;

    if (columns == s->b->columns && most >= 2 * columns)
        rows = m->flat ? most / columns : 2;
    for (s->y = 0; s->y < s->b->rows; s->y += s->rows) {
        s->rows = eng_least(rows, s->b->rows - s->y);
        if (s->end && staged)
            s->row = eng_tile_row(s);
        for (s->x = 0; s->x < s->b->columns; s->x += s->columns) {
            s->columns = eng_least(columns, s->b->columns - s->x);
            if (s->end && staged)
                eng_tile_prefetch(s);
            mac(s);
            /* A tile's zeros are overwritten by the next tile. */
            if (s->end && staged)
                eng_tile_store_to(s, s->b->stage + 2 * (size_t)s->x, m->stage_row,
                                  TILE_BYTES - 2 * s->columns);
            else if (s->end && packed)
                eng_tile_store(s);
            else if (s->end)
                eng_tile_store_pixels(s);
            if (kept)
                s->acc += (size_t)s->rows * s->columns * s->vectors * m->mac.kernels->lanes;
        }
        if (s->end && staged)
            eng_tile_store_rows(s, 1);
    }
}

/*
 * A line of n outputs whose inputs follow each other: whole vectors are a strip, and the rest are tiles. A
 * rest that is most of a vector is a strip with the outputs before it, some of which are then made twice.
 * `to` has packed columns, channels `channel` bytes apart.
 */
static void run_line(struct eng_tile_step *s, uint32_t n, uint8_t *to, size_t channel)
{
    const struct eng_tile_plan *m = s->m;
    uint32_t most = m->mac.kernels->tile_pixels, lanes = m->mac.kernels->lanes, rest = n % lanes, columns;
    struct eng_strip strip = {
        .in = s->b->in + (m->flat ? s->y * s->b->columns : (size_t)s->y * m->ne->task->ne.sy * m->in_row),
        .offset = m->offset,
        .taps = (uint32_t)(s->channels * taps_of(m)),
        .panel = s->b->panel,
        .panel_row = (size_t)s->vectors * m->mac.kernels->lanes,
        .bias = s->b->bias + s->channel,
        .channels = s->count,
        .to = to,
        .channel = channel,
        .ceiling = m->mac.ceiling,
        .sums = s->acc,
    };
    bool few = rest <= ENG_STRIP_MORE && strip.panel_row % m->mac.kernels->strip_channels == 0;
    bool twice = 4 * rest >= 3 * lanes && n >= 2 * lanes;
    const float *in = strip.in;

    s->rows = 1;
    s->x = twice ? n - rest - lanes : n - rest;
    for (uint32_t at = 0; at < s->x; at += strip.n, strip.in += strip.n, strip.to += 2 * (size_t)strip.n) {
        strip.n = eng_least(STRIP_PIXELS, s->x - at);
        strip.more = few && at + strip.n == s->x ? rest : 0;
        if (s->next)
            eng_panel_prefetch(s->next, at / STRIP_PIXELS, eng_ne_blocks(s->x, STRIP_PIXELS));
        m->mac.kernels->strip(&strip, &m->mac.finish);
    }
    if (twice) {
        strip.n = 2 * lanes;
        strip.in = in + n - strip.n;
        strip.to = to + 2 * (size_t)(n - strip.n);
        m->mac.kernels->strip(&strip, &m->mac.finish);
        return;
    }
    columns = s->x < n ? balance(n - s->x, most) : 0;
    for (; s->x < n; s->x += s->columns) {
        s->columns = eng_least(columns, n - s->x);
        if (!strip.more)
            mac(s);
        eng_tile_store_to(s, to + 2 * (size_t)s->x, channel, 0);
    }
}

/*
 * Lines are rows of the output, or the whole of a flat block: in the destination, if rows follow each other
 * there, or in the stage. Rows of whole vectors need neither.
 */
static void run_strips(struct eng_tile_step *s)
{
    const struct eng_tile_plan *m = s->m;
    const struct eng_view *dst = &m->ne->operands.dst;
    uint32_t rows = s->b->rows, columns = s->b->columns;

    s->y = 0;
    s->row = eng_tile_row(s);
    if (m->stage_row) {
        run_line(s, rows * columns, s->b->stage, m->stage_row);
        eng_tile_store_rows(s, rows);
        return;
    }
    /* The only row of a channel may have a tail even so. */
    if (m->flat && columns == m->wout && dst->stride[PR_AXIS_H] == 2 * m->wout &&
        dst->tail == dst->tail_begin) {
        run_line(s, rows * columns, s->row, dst->stride[PR_AXIS_C]);
        return;
    }
    for (; s->y < rows; s->y++) {
        s->row = eng_tile_row(s);
        run_line(s, columns, s->row, dst->stride[PR_AXIS_C]);
        eng_tile_zero_tails(s);
    }
}

/* The weights of a group of output channels; the input channels are those of a step. */
static struct eng_panel panel_of(const struct eng_tile_plan *m, const struct eng_tile_block *b,
                                 uint32_t channel)
{
    uint32_t count = eng_least(m->group, b->channels - channel);
    struct eng_panel panel = {.ne = m->ne,
                              .mac = &m->mac,
                              .first = b->c0 + channel,
                              .count = count,
                              .group = (uint32_t)pr_round_up(count, m->mac.kernels->lanes),
                              .cin = b->cin,
                              .channels = eng_least(m->step, b->chunk),
                              .to = b->panel,
                              .fp16 = b->panel_fp16};

    eng_panel_find(&panel);
    return panel;
}

/* A group of output channels over the present chunk. */
static void group_run(const struct eng_tile_plan *m, const struct eng_tile_block *b, struct eng_panel *panel,
                      const struct eng_panel *next)
{
    uint32_t channel = panel->first - b->c0;
    float *acc = b->acc + (m->chunk < m->cin ? (size_t)channel * m->rows * m->columns : 0);
    struct eng_tile_step s = {.m = m,
                              .b = b,
                              .channel = channel,
                              .count = panel->count,
                              .vectors = panel->group / m->mac.kernels->lanes,
                              .next = next};

    for (s.cin = 0; s.cin < b->chunk; s.cin += s.channels) {
        s.channels = eng_least(m->step, b->chunk - s.cin);
        s.begin = b->cin + s.cin == 0;
        s.end = b->cin + s.cin + s.channels == m->cin;
        s.acc = acc;
        panel->cin = b->cin + s.cin;
        panel->channels = s.channels;
        eng_panel_load(panel);
        s.careful =
            m->padded && !m->mac.kernels->all_finite(b->panel, s.channels * taps_of(m) * panel->group);
        if (m->strips && !s.careful)
            run_strips(&s);
        else
            run_tiles(&s);
    }
}

static void tile_piece(void *context, size_t piece, unsigned worker)
{
    const struct eng_tile_plan *m = context;
    struct eng_panel panel[2];
    struct eng_tile_block b;

    block_begin(m, &b, piece, worker);
    for (b.cin = 0; b.cin < m->cin; b.cin += b.chunk) {
        b.chunk = eng_least(m->chunk, m->cin - b.cin);
        eng_tile_load_input(m, &b);
        panel[0] = panel_of(m, &b, 0);
        for (uint32_t c = 0; c < b.channels; c += m->group, panel[0] = panel[1]) {
            bool more = c + m->group < b.channels;

            if (more)
                panel[1] = panel_of(m, &b, c + m->group);
            group_run(m, &b, &panel[0], more ? &panel[1] : NULL);
        }
    }
}

int eng_ne_tiles(const struct eng_ne *ne)
{
    const uint32_t *in = ne->operands.src[0].extent, *out = ne->operands.dst.extent;
    struct eng_tile_plan m = {
        .ne = ne,
        .mac = eng_mac_setup(ne),
        .cin = in[PR_AXIS_C],
        .hin = in[PR_AXIS_H],
        .win = in[PR_AXIS_W],
        .cout = out[PR_AXIS_C],
        .hout = out[PR_AXIS_H],
        .wout = out[PR_AXIS_W],
    };
    size_t offsets;

    plan(&m);
    offsets = pr_round_up(m.step * taps_of(&m), 16) * sizeof(*m.offset);
    m.offset = eng_scratch_reserve(ne->scratch, offsets + m.worker_floats * eng_pool_workers(ne->pool) *
                                                              sizeof(*m.memory));
    if (!m.offset)
        return -ENOMEM;
    m.memory = (void *)((uint8_t *)m.offset + offsets);
    fill_offsets(&m);
    eng_pool_run(ne->pool, (size_t)m.blocks[0] * m.blocks[1] * m.blocks[2], tile_piece, &m);
    return 0;
}
