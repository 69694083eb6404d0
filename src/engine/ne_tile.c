/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: multiply-accumulate tasks in tiles, each some pixels of some vectors of output
 * channels.
 *
 * A tile's sums are in registers from the first tap of a step to the last. Input is converted to fp32 once
 * for a block, weights once for a block and group of channels. Where one step has all input channels, a
 * tile's sums are finished and stored at once; otherwise they are kept between the steps.
 */
#include "engine/ne_tile.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "engine/ne_panel.h"

/* Sizes of a block, so that what it works on stays in the second-level cache. They change only the speed. */
enum {
    COLUMNS_MAX = 1024,
    PIXELS_MIN = 128,       /* fewer pixels of a block would convert weights too often */
    PIXELS_MAX = 4096,      /* of a block */
    INPUT_FLOATS = 1 << 17, /* of a chunk */
    SUMS_MAX = 1 << 16,     /* of a block with several chunks */
    PANEL_TAPS = 768,       /* of a step */
    PIECE_WORK = 1 << 19,   /* products that are worth another thread */
    TILE_CHANNELS_MAX = 32, /* of any instruction set */
    CACHE_LINE = 64,        /* bytes */
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
    rows = eng_least(m->hout, PIXELS_MAX / m->columns);
    while (rows > 1 && (uint64_t)(rows - 1) * m->columns >= PIXELS_MIN &&
           input_of(m, rows) * m->cin > INPUT_FLOATS)
        rows--;
    m->rows = balance(m->hout, rows);
    m->in_rows = (m->rows - 1) * n->sy + n->kh;
    m->in_channel = input_of(m, m->rows);
}

static void plan_channels(struct eng_tile_plan *m)
{
    uint64_t sums = (uint64_t)m->rows * m->columns;

    m->chunk = balance(m->cin, eng_least(m->cin, INPUT_FLOATS / m->in_channel));
    m->step = balance(m->chunk, eng_least(m->chunk, PANEL_TAPS / taps_of(m)));
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
 * More blocks, where there are more threads than blocks: of channels while the input is less than the
 * weights, else of rows. A result does not depend on how the task is cut.
 */
static void plan_pieces(struct eng_tile_plan *m)
{
    uint32_t workers = eng_pool_workers(m->ne->pool), rows = eng_ne_blocks(m->hout, m->rows);
    uint32_t blocks = rows * eng_ne_blocks(m->wout, m->columns) * eng_ne_blocks(m->cout, m->channels);
    uint64_t work = taps_of(m) * m->cin * m->cout * m->hout * m->wout;
    uint32_t pieces = eng_least(workers, work / PIECE_WORK);

    if (blocks >= pieces)
        return;
    pieces = eng_ne_blocks(pieces, blocks);
    if (m->channels >= pieces * m->group &&
        (m->rows < pieces || (uint64_t)m->cout * taps_of(m) >= m->in_channel))
        m->channels =
            (uint32_t)pr_round_up(balance(m->channels, eng_ne_blocks(m->channels, pieces)), m->group);
    else
        m->rows = balance(m->rows, eng_ne_blocks(m->rows, pieces));
}

/* An odd number of cache lines, so that the rows of all channels are not in the same places of a cache. */
static void plan_stage(struct eng_tile_plan *m)
{
    if (m->columns > m->mac.kernels->tile_pixels && eng_view_is_packed(&m->ne->operands.dst, PR_AXIS_W))
        m->stage_row = ((2 * (size_t)m->columns + TILE_BYTES) / 64 | 1) * 64 + 128;
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

/* A group's step, and the tile that is being computed. */
struct step {
    const struct eng_tile_plan *m;
    const struct eng_tile_block *b;
    uint32_t channel, count; /* the group, from the block's first channel on */
    unsigned vectors;
    uint32_t cin, channels;       /* input channels, from the chunk's first on */
    bool begin, end;              /* of the sums */
    bool careful;                 /* a weight is not finite, and taps may be on the padding */
    uint32_t x, y, columns, rows; /* the tile, in the block */
    float *acc;
    uint8_t *row; /* destination of the group's first channel, for a row of several tiles */
};

/*
 * Padding is zeros in memory, and zero times a weight adds 0 unless the weight is infinite or a NaN. For a
 * panel that has such a weight, sums are made one at a time, without the taps on the padding.
 */
static void mac_pixel_carefully(const struct step *s, const struct eng_tile *tile, uint32_t x, uint32_t y,
                                float *acc)
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

static void mac(const struct step *s)
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

/* Where channels or columns are packed: the whole tile at once. */
static void store_tile(const struct step *s)
{
    const struct eng_view *dst = &s->m->ne->operands.dst;
    struct eng_line line = {.index = {s->b->x0 + s->x, s->b->y0 + s->y, 0, s->b->c0 + s->channel, 0},
                            .axis = eng_view_is_packed(dst, PR_AXIS_W) ? PR_AXIS_W : PR_AXIS_C,
                            .n = 1};
    bool ends = s->b->x0 + s->x + s->columns == s->m->wout;
    struct eng_tile_end end = {
        .acc = s->acc,
        .acc_next = (size_t)s->vectors * s->m->mac.kernels->lanes,
        .bias = s->b->bias + s->channel,
        .rows = s->rows,
        .columns = s->columns,
        .channels = s->count,
        .to = eng_view_line_target(dst, &line, NULL),
        .row = dst->stride[PR_AXIS_H],
        .column = dst->stride[PR_AXIS_W],
        .channel = dst->stride[PR_AXIS_C],
        .tail = ends ? dst->tail - dst->tail_begin : 0,
    };

    s->m->mac.kernels->finish_tile(&end, &s->m->mac.finish);
}

/*
 * Several tiles make a row: it is put together, and then each channel's row is stored as a whole. A tile's
 * zeros are overwritten by the next tile.
 */
static void stage_tile(const struct step *s)
{
    struct eng_tile_end end = {
        .acc = s->acc,
        .acc_next = (size_t)s->vectors * s->m->mac.kernels->lanes,
        .bias = s->b->bias + s->channel,
        .rows = 1,
        .columns = s->columns,
        .channels = s->count,
        .to = s->b->stage + 2 * (size_t)s->x,
        .column = 2,
        .channel = s->m->stage_row,
        .tail = TILE_BYTES - 2 * s->columns,
    };

    s->m->mac.kernels->finish_tile(&end, &s->m->mac.finish);
}

static uint8_t *row_target(const struct step *s)
{
    struct eng_line line = {.index = {s->b->x0, s->b->y0 + s->y, 0, s->b->c0 + s->channel, 0},
                            .axis = PR_AXIS_W,
                            .n = s->b->columns};

    return eng_view_line_target(&s->m->ne->operands.dst, &line, NULL);
}

/* The cache lines of the destination arrive while sums are made: each with the first tile that reaches it. */
static void prefetch_tile(const struct step *s)
{
    size_t begin = 2 * (size_t)s->x, last = begin + 2 * (size_t)s->columns - 1;
    const uint8_t *at = s->row + last;

    if (begin && (begin - 1) / CACHE_LINE == last / CACHE_LINE)
        return;
    for (uint32_t c = 0; c < s->count; c++, at += s->m->ne->operands.dst.stride[PR_AXIS_C])
        __builtin_prefetch(at, 1);
}

static void store_row(const struct step *s)
{
    const struct eng_view *dst = &s->m->ne->operands.dst;
    uint8_t *to = s->row;
    const uint8_t *from = s->b->stage;
    size_t bytes = 2 * (size_t)s->b->columns;
    size_t tail = s->b->x0 + s->b->columns == s->m->wout ? dst->tail - dst->tail_begin : 0;

    for (uint32_t c = 0; c < s->count; c++, to += dst->stride[PR_AXIS_C], from += s->m->stage_row) {
        memcpy(to, from, bytes);
        if (tail)
            memset(to + bytes, 0, tail);
    }
}

/* Any destination, pixel by pixel. */
static void store_pixels(const struct step *s)
{
    const struct eng_view *dst = &s->m->ne->operands.dst;
    uint8_t buffer[2 * TILE_CHANNELS_MAX];

    for (uint32_t p = 0; p < s->rows * s->columns; p++) {
        uint32_t x = s->x + p % s->columns, y = s->y + p / s->columns;
        struct eng_line line = {.index = {s->b->x0 + x, s->b->y0 + y, 0, s->b->c0 + s->channel, 0},
                                .axis = PR_AXIS_C,
                                .n = s->count};
        uint8_t *to = eng_view_line_target(dst, &line, buffer);

        s->m->mac.kernels->finish(s->acc + (size_t)p * s->vectors * s->m->mac.kernels->lanes,
                                  s->b->bias + s->channel, to, line.n, &s->m->mac.finish);
        eng_view_line_put(dst, &line, to);
    }
}

/*
 * The tiles of a block: parts of a row, or whole rows where a tile has room for more than one. Rows that are
 * not adjacent in the input are two at most.
 */
static void step_run(struct step *s)
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
            s->row = row_target(s);
        for (s->x = 0; s->x < s->b->columns; s->x += s->columns) {
            s->columns = eng_least(columns, s->b->columns - s->x);
            if (s->end && staged)
                prefetch_tile(s);
            mac(s);
            if (s->end && staged)
                stage_tile(s);
            else if (s->end && packed)
                store_tile(s);
            else if (s->end)
                store_pixels(s);
            if (kept)
                s->acc += (size_t)s->rows * s->columns * s->vectors * m->mac.kernels->lanes;
        }
        if (s->end && staged)
            store_row(s);
    }
}

/* A group of output channels over the present chunk. */
static void group_run(const struct eng_tile_plan *m, const struct eng_tile_block *b, uint32_t channel)
{
    uint32_t lanes = m->mac.kernels->lanes, count = eng_least(m->group, b->channels - channel);
    float *acc = b->acc + (m->chunk < m->cin ? (size_t)channel * m->rows * m->columns : 0);
    struct eng_panel panel = {.ne = m->ne,
                              .mac = &m->mac,
                              .first = b->c0 + channel,
                              .count = count,
                              .group = (uint32_t)pr_round_up(count, lanes),
                              .to = b->panel,
                              .fp16 = b->panel_fp16};
    struct step s = {.m = m, .b = b, .channel = channel, .count = count, .vectors = panel.group / lanes};

    for (s.cin = 0; s.cin < b->chunk; s.cin += s.channels) {
        s.channels = eng_least(m->step, b->chunk - s.cin);
        s.begin = b->cin + s.cin == 0;
        s.end = b->cin + s.cin + s.channels == m->cin;
        s.acc = acc;
        panel.cin = b->cin + s.cin;
        panel.channels = s.channels;
        eng_panel_load(&panel);
        s.careful = m->padded && !m->mac.kernels->all_finite(b->panel, s.channels * taps_of(m) * panel.group);
        step_run(&s);
    }
}

static void tile_piece(void *context, size_t piece, unsigned worker)
{
    const struct eng_tile_plan *m = context;
    struct eng_tile_block b;

    block_begin(m, &b, piece, worker);
    for (b.cin = 0; b.cin < m->cin; b.cin += b.chunk) {
        b.chunk = eng_least(m->chunk, m->cin - b.cin);
        eng_tile_load_input(m, &b);
        for (uint32_t c = 0; c < b.channels; c += m->group)
            group_run(m, &b, c);
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
