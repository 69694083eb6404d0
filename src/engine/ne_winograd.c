/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: convolutions of 3x3 with steps of 1 by Winograd's F(2x2, 3x3), which needs 16 products
 * where the sum of products needs 36.
 *
 * The output is cut into blocks of tiles. A block's input is transformed once for all output channels, whose
 * weights are transformed in groups: all of them before the first block when there are several blocks, else
 * each group just before it is used. That is done in every run, because it costs about as much as comparing
 * the weights with those of a kept transform would: 5 clocks for the 9 weights of a pair of channels, where
 * their products take one clock for each tile.
 */
#include <errno.h>
#include <string.h>

#include "engine/ne_winograd.h"

enum {
    ELEMENTS = 16, /* of a transform */
    GROUP = ENG_WINOGRAD_GROUP,
    TAPS = 9,
    GATHERED = 8,       /* channels whose weights are made contiguous at a time */
    PLANE_GAP = 16,     /* floats between planes, so that they do not share cache sets */
    TILE_FLOATS = 8192, /* tiles of a block times channels; */
    TILES_MIN = 48,     /* but at least and at most so many */
    TILES_MAX = 144,
    WEIGHT_FLOATS = 4 << 20, /* transformed weights that are kept for all blocks */
    APART = 4,               /* so many blocks are pieces of their own; fewer share their pieces */
    PIECE_CHANNELS = 16,
};

struct plan {
    const struct eng_ne *ne;
    const struct eng_kernels *kernels;
    struct eng_load input, weight;
    uint32_t cin, hin, win, cout, hout, wout;
    uint32_t groups;             /* of output channels */
    uint32_t tiles[2], block[2]; /* along W and H: of the output, of a block */
    uint32_t blocks[2];
    uint32_t stride;     /* of rows of tiles, in floats */
    uint32_t row_stride; /* of one row of a block's tiles */
    size_t u_plane, v_plane, m_plane;
    size_t u_floats, v_floats, m_floats, row_floats, worker_floats;
    bool whole; /* the weights are transformed before the blocks */
    bool apart; /* workers have blocks of their own */
    float *u, *v, *workers;
};

/* A block of tiles. */
struct block {
    uint32_t x, y, columns, rows; /* tiles */
    float *v;
};

static void plan_blocks(struct plan *p)
{
    uint32_t most = eng_least(TILES_MAX, TILE_FLOATS / p->cin);

    most = most < TILES_MIN ? TILES_MIN : most;
    p->tiles[0] = eng_ne_blocks(p->wout, 2);
    p->tiles[1] = eng_ne_blocks(p->hout, 2);
    p->blocks[0] = eng_ne_blocks(p->tiles[0], ENG_WINOGRAD_TILES);
    p->block[0] = eng_ne_blocks(p->tiles[0], p->blocks[0]);
    p->block[1] = most / p->block[0] ? most / p->block[0] : 1;
    p->blocks[1] = eng_ne_blocks(p->tiles[1], p->block[1]);
    p->block[1] = eng_ne_blocks(p->tiles[1], p->blocks[1]);
    p->blocks[1] = eng_ne_blocks(p->tiles[1], p->block[1]);
}

/* Rows of tiles are written in whole vectors, so that the last one of a block needs room after it. */
static void plan_memory(struct plan *p)
{
    uint32_t lanes = p->kernels->lanes;

    p->row_stride = (uint32_t)pr_round_up(p->block[0], lanes);
    p->stride = (uint32_t)pr_round_up((p->block[1] - 1) * p->block[0] + p->row_stride, lanes);
    p->u_plane = (size_t)p->cin * GROUP + PLANE_GAP;
    p->v_plane = (size_t)p->cin * p->stride + PLANE_GAP;
    p->m_plane = (size_t)GROUP * p->stride + PLANE_GAP;
    p->u_floats = ELEMENTS * p->u_plane;
    p->v_floats = ELEMENTS * p->v_plane;
    p->m_floats = ELEMENTS * p->m_plane;
    p->row_floats = (size_t)4 * 4 * p->row_stride;
    p->apart = p->blocks[0] * p->blocks[1] >= APART;
    p->whole = p->blocks[0] * p->blocks[1] > 1 && p->groups * p->u_floats <= WEIGHT_FLOATS;
    p->worker_floats =
        p->m_floats + p->row_floats + (p->whole ? 0 : p->u_floats) + (p->apart ? p->v_floats : 0);
}

static int reserve(struct plan *p)
{
    size_t u = p->whole ? p->groups * p->u_floats : 0, v = p->apart ? 0 : p->v_floats;
    size_t floats = u + v + p->worker_floats * eng_pool_workers(p->ne->pool);

    p->u = eng_scratch_reserve(p->ne->scratch, floats * sizeof(float));
    if (!p->u)
        return -ENOMEM;
    p->v = p->u + u;
    p->workers = p->v + v;
    return 0;
}

/* Weights of a few input channels for a group: in place where they are contiguous, else gathered. */
static const uint8_t *weights_at(const struct plan *p, uint32_t group, uint32_t channel, uint32_t channels,
                                 uint16_t *gathered, size_t *stride)
{
    const struct eng_ne *ne = p->ne;
    uint32_t first = group * GROUP, count = eng_least(GROUP, p->cout - first), run;
    const uint8_t *from;

    run = eng_weights_run(ne->weights, ne->task, ne->group, first, count, (uint64_t)channel * TAPS, &from,
                          stride);
    if (run == GROUP)
        return from;
    if (count < GROUP)
        memset(gathered, 0, (size_t)channels * TAPS * GROUP * sizeof(*gathered));
    for (uint32_t c = 0; c < count; c += run) {
        run = eng_weights_run(ne->weights, ne->task, ne->group, first + c, count - c,
                              (uint64_t)channel * TAPS, &from, stride);
        for (size_t row = 0; row < (size_t)channels * TAPS; row++, from += *stride) {
            if (run == 4)
                memcpy(gathered + row * GROUP + c, from, 4 * sizeof(*gathered));
            else
                memcpy(gathered + row * GROUP + c, from, run * sizeof(*gathered));
        }
    }
    *stride = GROUP * sizeof(*gathered);
    return (const uint8_t *)gathered;
}

static void transform_weights(const struct plan *p, uint32_t group, float *u)
{
    uint16_t gathered[GATHERED * TAPS * GROUP];

    for (uint32_t c = 0; c < p->cin; c += GATHERED) {
        uint32_t channels = eng_least(GATHERED, p->cin - c);
        size_t stride;
        const uint8_t *from = weights_at(p, group, c, channels, gathered, &stride);

        p->kernels->winograd_weights(from, stride, u + (size_t)c * GROUP, p->u_plane, channels, &p->weight);
    }
}

static void weights_piece(void *context, size_t piece, unsigned worker)
{
    const struct plan *p = context;

    (void)worker;
    transform_weights(p, (uint32_t)piece, p->u + piece * p->u_floats);
}

/* One input row of a block, transformed along W. */
static void transform_row(const struct plan *p, const struct block *b, uint32_t channel, int64_t y, float *to)
{
    int64_t x = (int64_t)b->x * 2 - p->ne->task->ne.px, columns = (int64_t)b->columns * 2 + 2;
    int64_t first = x < 0 ? (-x < columns ? -x : columns) : 0;
    int64_t end = p->win - x < columns ? p->win - x : columns;
    struct eng_line line = {.axis = PR_AXIS_W};
    uint8_t buffer[ENG_LINE_BYTES];
    const uint8_t *from = buffer;

    if (y >= 0 && y < p->hin && end > first) {
        line.n = (uint32_t)(end - first);
        line.index[PR_AXIS_W] = (uint32_t)(x + first);
        line.index[PR_AXIS_H] = (uint32_t)y;
        line.index[PR_AXIS_C] = channel;
        from = eng_view_line(&p->ne->operands.src[0], &line, buffer);
    }
    p->kernels->winograd_row(from, (size_t)first, line.n, b->columns, to, p->row_stride, &p->input);
}

/* One input channel of a block. Two rows of four are those of the row of tiles before. */
static void transform_channel(const struct plan *p, const struct block *b, uint32_t channel, float *rows)
{
    int64_t y = (int64_t)b->y * 2 - p->ne->task->ne.py;
    float *to = b->v + (size_t)channel * p->stride;

    for (uint32_t row = 0; row < b->rows; row++, to += b->columns) {
        const float *four[4];

        for (uint32_t i = 0; i < 4; i++) {
            uint32_t at = 2 * row + i;
            float *line = rows + (size_t)(at % 4) * 4 * p->row_stride;

            if (row == 0 || i >= 2)
                transform_row(p, b, channel, y + at, line);
            four[i] = line;
        }
        p->kernels->winograd_tiles(four, p->row_stride, b->columns, to, p->v_plane);
    }
}

/* The bias of a group's output channels; -0 where there is none. */
static void load_bias(const struct plan *p, uint32_t first, uint32_t count, float bias[GROUP])
{
    const struct eng_ne *ne = p->ne;
    const uint8_t *from;
    uint32_t run;

    for (uint32_t c = 0; c < count; c += run) {
        run = 1;
        if (ne->task->ne.bias) {
            run = eng_weights_bias_run(ne->weights, ne->task, ne->group, first + c, count - c, &from);
            p->kernels->to_float(from, bias + c, run, &p->weight);
        } else {
            bias[c] = -0.0f;
        }
    }
}

/* One row of tiles of one output channel. */
static void store_rows(const struct plan *p, const struct block *b, uint32_t channel, uint32_t row,
                       const float *m, const struct eng_finish *finish)
{
    const struct eng_view *dst = &p->ne->operands.dst;
    struct eng_line line[2] = {0};
    uint8_t buffer[2][2 * 2 * ENG_WINOGRAD_TILES], *y[2] = {0};
    uint32_t columns = eng_least(b->columns * 2, p->wout - b->x * 2);

    for (uint32_t i = 0; i < eng_least(2, p->hout - (b->y + row) * 2); i++) {
        line[i] = (struct eng_line){.index = {b->x * 2, (b->y + row) * 2 + i, 0, channel, 0}, .n = columns};
        y[i] = eng_view_line_target(dst, &line[i], buffer[i]);
    }
    p->kernels->winograd_outputs(m, p->m_plane, columns, y, finish);
    for (uint32_t i = 0; i < 2 && y[i]; i++)
        eng_view_line_put(dst, &line[i], y[i]);
}

static void compute_group(const struct plan *p, const struct block *b, uint32_t group, const float *u,
                          float *m)
{
    uint32_t first = group * GROUP, count = eng_least(GROUP, p->cout - first);
    struct eng_finish finish = p->ne->finish;
    float bias[GROUP];

    for (size_t k = 0; k < ELEMENTS; k++) {
        struct eng_winograd call = {
            .u = u + k * p->u_plane,
            .v = b->v + k * p->v_plane,
            .m = m + k * p->m_plane,
            .stride = p->stride,
            .vectors = eng_ne_blocks(b->rows * b->columns, p->kernels->lanes),
            .channels = p->cin,
            .outputs = count,
        };

        p->kernels->winograd_products(&call);
    }
    load_bias(p, first, count, bias);
    for (uint32_t c = 0; c < count; c++) {
        finish.bias = bias[c];
        for (uint32_t row = 0; row < b->rows; row++)
            store_rows(p, b, first + c, row, m + (size_t)c * p->stride + (size_t)row * b->columns, &finish);
    }
}

static struct block block_of(const struct plan *p, size_t index, float *v)
{
    struct block b = {.x = (uint32_t)(index % p->blocks[0]) * p->block[0],
                      .y = (uint32_t)(index / p->blocks[0]) * p->block[1],
                      .v = v};

    b.columns = eng_least(p->block[0], p->tiles[0] - b.x);
    b.rows = eng_least(p->block[1], p->tiles[1] - b.y);
    return b;
}

/* A worker's memory: sums, rows, weights, inputs, the last two where they are not shared. */
static float *worker_memory(const struct plan *p, unsigned worker)
{
    return p->workers + worker * p->worker_floats;
}

static void compute_groups(const struct plan *p, const struct block *b, uint32_t first, uint32_t end,
                           unsigned worker)
{
    float *m = worker_memory(p, worker), *own = m + p->m_floats + p->row_floats;

    for (uint32_t group = first; group < end; group++) {
        if (!p->whole)
            transform_weights(p, group, own);
        compute_group(p, b, group, p->whole ? p->u + group * p->u_floats : own, m);
    }
}

static void block_piece(void *context, size_t piece, unsigned worker)
{
    const struct plan *p = context;
    float *rows = worker_memory(p, worker) + p->m_floats;
    struct block b = block_of(p, piece, rows + p->row_floats + (p->whole ? 0 : p->u_floats));

    for (uint32_t c = 0; c < p->cin; c++)
        transform_channel(p, &b, c, rows);
    compute_groups(p, &b, 0, p->groups, worker);
}

/* Pieces of a block that all workers share. */
struct shared {
    const struct plan *plan;
    struct block block;
};

static void channels_piece(void *context, size_t piece, unsigned worker)
{
    const struct shared *s = context;
    uint32_t first = (uint32_t)piece * PIECE_CHANNELS;

    for (uint32_t c = first; c < eng_least(first + PIECE_CHANNELS, s->plan->cin); c++)
        transform_channel(s->plan, &s->block, c, worker_memory(s->plan, worker) + s->plan->m_floats);
}

static void group_piece(void *context, size_t piece, unsigned worker)
{
    const struct shared *s = context;

    compute_groups(s->plan, &s->block, (uint32_t)piece, (uint32_t)piece + 1, worker);
}

static void run_shared(const struct plan *p, size_t index)
{
    struct shared s = {p, block_of(p, index, p->v)};

    eng_pool_run(p->ne->pool, eng_ne_blocks(p->cin, PIECE_CHANNELS), channels_piece, &s);
    eng_pool_run(p->ne->pool, p->groups, group_piece, &s);
}

int eng_ne_winograd(const struct eng_ne *ne)
{
    const uint32_t *in = ne->operands.src[0].extent, *out = ne->operands.dst.extent;
    unsigned rules = ne->rules->load | ne->rules->mac;
    struct plan p = {
        .ne = ne,
        .kernels = eng_kernels_get(),
        .input = {.rules = rules, .relu = ne->operands.src[0].relu, .scale = 1},
        .weight = {.rules = rules, .scale = 1},
        .cin = in[PR_AXIS_C],
        .hin = in[PR_AXIS_H],
        .win = in[PR_AXIS_W],
        .cout = out[PR_AXIS_C],
        .hout = out[PR_AXIS_H],
        .wout = out[PR_AXIS_W],
        .groups = eng_ne_blocks(out[PR_AXIS_C], GROUP),
    };
    size_t blocks;

    plan_blocks(&p);
    plan_memory(&p);
    if (reserve(&p))
        return -ENOMEM;
    blocks = (size_t)p.blocks[0] * p.blocks[1];
    if (p.whole)
        eng_pool_run(ne->pool, p.groups, weights_piece, &p);
    if (p.apart)
        eng_pool_run(ne->pool, blocks, block_piece, &p);
    for (size_t i = 0; !p.apart && i < blocks; i++)
        run_shared(&p, i);
    return 0;
}
