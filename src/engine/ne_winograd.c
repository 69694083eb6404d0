/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: convolutions of 3x3 with steps of 1 by Winograd's F(2x2, 3x3), which needs 16 products
 * where the sum of products needs 36.
 *
 * The output is cut into blocks of tiles. A block's input is transformed once for all output channels, whose
 * weights are transformed in groups: all of them before the first block when a thread has several blocks,
 * else each group just before it is used. That is done in every run, because it costs about as much as
 * comparing the weights with those of a kept transform would: 5 clocks for the 9 weights of a pair of
 * channels, where their products take one clock for each tile.
 */
#include <errno.h>
#include <string.h>

#include "engine/ne_winograd.h"

enum {
    ELEMENTS = 16, /* of a transform */
    GROUP = ENG_WINOGRAD_GROUP,
    TAPS = 9,
    GATHERED = 8,        /* channels whose weights are made contiguous at a time */
    PLANE_GAP = 16,      /* floats between planes, so that they do not share cache sets */
    TILE_FLOATS = 16384, /* tiles of a block times channels; */
    TILES_MIN = 48,      /* but at least and at most so many */
    TILES_MAX = 144,
    WEIGHT_FLOATS = 4 << 20, /* transformed weights that are kept for all blocks */
    APART = 4,               /* so many blocks are pieces of their own; fewer may share their pieces */
    CHANNELS_MIN = 16,       /* that are transformed in one piece */
};

struct plan {
    const struct eng_ne *ne;
    const struct eng_kernels *kernels;
    struct eng_load weight;
    uint32_t cin, hin, win, cout, hout, wout;
    uint32_t groups;             /* of output channels */
    uint32_t channels;           /* of the input that are transformed in one piece */
    uint32_t tiles[2], block[2]; /* along W and H: of the output, of a block */
    uint32_t blocks[2];
    uint32_t v_stride, m_stride; /* of rows of tiles, in floats */
    size_t u_plane, v_plane, m_plane;
    size_t u_floats, v_floats, m_floats, row_floats, worker_floats;
    bool whole; /* the weights are transformed before the blocks */
    bool apart; /* workers have blocks of their own */
    bool odd;   /* the last tile of the only block would take a vector of its own: it is computed apart */
    float *u, *v, *tile, *workers;
};

/* A block of tiles. */
struct block {
    uint32_t x, y, columns, rows; /* tiles */
    float *v;
};

/* How long the products of a block take, in lanes; a few tiles take about two each. */
static uint64_t cost_of(const struct plan *p, uint32_t tiles)
{
    uint32_t lanes = p->kernels->lanes, rest = tiles % lanes;

    return tiles - rest + eng_least(2 * rest, lanes);
}

/* Whether blocks are pieces of their own: threads then have the same number of them, or many. */
static bool are_apart(const struct plan *p, uint64_t blocks)
{
    uint32_t threads = eng_pool_workers(p->ne->pool);

    return blocks >= APART || (threads > 1 && blocks % threads == 0);
}

/* Of the thread that has most to do; the last row of blocks may be lower. */
static uint64_t cost_of_rows(const struct plan *p, uint32_t rows)
{
    uint32_t threads = eng_pool_workers(p->ne->pool), whole = p->tiles[1] / rows, rest = p->tiles[1] % rows;
    uint64_t each = cost_of(p, rows * p->block[0]), last = cost_of(p, rest * p->block[0]);
    uint64_t blocks = (uint64_t)p->blocks[0] * (whole + (rest ? 1 : 0));

    if (threads == 1 || !are_apart(p, blocks))
        return ((uint64_t)p->blocks[0] * (whole * each + last) - 1) / threads + 1;
    return (whole ? each : last) * ((blocks - 1) / threads + 1);
}

/* As many rows of tiles as there is room for, or fewer where that leaves fewer lanes without work. */
static uint32_t best_rows(const struct plan *p, uint32_t most)
{
    uint64_t least = UINT64_MAX;
    uint32_t best = 1;

    for (uint32_t rows = most > 8 ? most / 2 : 1; rows <= most; rows++) {
        uint64_t cost = cost_of_rows(p, rows);

        if (cost <= least) {
            least = cost;
            best = rows;
        }
    }
    return best;
}

/* Vectors of 16 lanes hold two fp16 values each, which are all columns of so many tiles. */
static uint32_t row_tiles(const struct plan *p)
{
    return p->kernels->lanes == 16 ? 15 : ENG_WINOGRAD_TILES;
}

static void plan_blocks(struct plan *p)
{
    uint32_t most = eng_least(TILES_MAX, TILE_FLOATS / p->cin);

    most = most < TILES_MIN ? TILES_MIN : most;
    p->tiles[0] = eng_ne_blocks(p->wout, 2);
    p->tiles[1] = eng_ne_blocks(p->hout, 2);
    p->blocks[0] = eng_ne_blocks(p->tiles[0], row_tiles(p));
    p->block[0] = eng_ne_blocks(p->tiles[0], p->blocks[0]);
    p->block[1] = best_rows(p, eng_least(p->tiles[1], most / p->block[0] ? most / p->block[0] : 1));
    p->blocks[1] = eng_ne_blocks(p->tiles[1], p->block[1]);
}

/* A few pieces for each thread; the first step of each one takes as long as some channels. */
static uint32_t channels_each(const struct plan *p)
{
    uint32_t threads = eng_pool_workers(p->ne->pool), each = eng_ne_blocks(p->cin, 4 * threads);

    if (threads == 1)
        return p->cin;
    return each > CHANNELS_MIN ? each : CHANNELS_MIN;
}

static void plan_memory(struct plan *p)
{
    uint32_t tiles = p->block[0] * p->block[1], blocks = p->blocks[0] * p->blocks[1];

    p->channels = channels_each(p);
    p->v_stride = (uint32_t)pr_round_up(tiles, 4);
    p->m_stride = (uint32_t)pr_round_up(tiles, ENG_LANES);
    p->u_plane = (size_t)p->cin * GROUP + PLANE_GAP;
    p->v_plane = pr_round_up((size_t)p->cin * p->v_stride, 16) + PLANE_GAP;
    p->m_plane = (size_t)GROUP * p->m_stride + PLANE_GAP;
    p->u_floats = ELEMENTS * p->u_plane;
    p->v_floats = ELEMENTS * p->v_plane;
    p->m_floats = ELEMENTS * p->m_plane;
    p->row_floats = pr_round_up((size_t)(2 * p->block[0] + 2) * (2 * p->block[1] + 2) / 2, PLANE_GAP);
    p->apart = are_apart(p, blocks);
    p->whole =
        blocks > (p->apart ? eng_pool_workers(p->ne->pool) : 1) && p->groups * p->u_floats <= WEIGHT_FLOATS;
    p->worker_floats =
        p->m_floats + p->row_floats + (p->whole ? 0 : p->u_floats) + (p->apart ? p->v_floats : 0);
    p->odd = blocks == 1 && p->kernels->lanes == GROUP && tiles % GROUP == 1;
}

static int reserve(struct plan *p)
{
    size_t u = p->whole ? p->groups * p->u_floats : 0, v = p->apart ? 0 : p->v_floats;
    size_t tile = p->odd ? (size_t)p->cin * ELEMENTS : 0;
    size_t floats = u + v + tile + p->worker_floats * eng_pool_workers(p->ne->pool);

    p->u = eng_scratch_reserve(p->ne->scratch, floats * sizeof(float));
    if (!p->u)
        return -ENOMEM;
    p->v = p->u + u;
    p->tile = p->v + v;
    p->workers = p->tile + tile;
    return 0;
}

/* Rows of n fp16 values, into rows of a group's. */
static void gather(const uint8_t *from, size_t stride, uint16_t *to, size_t rows, uint32_t n)
{
    for (; rows; rows--, from += stride, to += GROUP) {
        switch (n) {
        case 1: memcpy(to, from, 2); break;
        case 2: memcpy(to, from, 4); break;
        case 4: memcpy(to, from, 8); break;
        case 8: memcpy(to, from, 16); break;
        default: memcpy(to, from, 2 * (size_t)n); break;
        }
    }
}

/* The runs of a group's weights where they lie; false when they are short or not alike. */
static bool find_runs(const struct plan *p, uint32_t first, struct eng_winograd_weights *to)
{
    const struct eng_ne *ne = p->ne;
    uint32_t run = 0, each = 0;
    size_t stride;

    if (p->cout - first < GROUP)
        return false;
    for (uint32_t c = 0, i = 0; c < GROUP; c += run, i++) {
        run =
            eng_weights_run(ne->weights, ne->task, ne->group, first + c, GROUP - c, 0, &to->run[i], &stride);
        each = i ? each : run;
        to->stride = i ? to->stride : stride;
        if (run != each || run < ENG_WINOGRAD_RUN || GROUP % run || stride != to->stride)
            return false;
    }
    to->lanes = each;
    return true;
}

/* Weights of a few input channels for a group, made contiguous; absent output channels have zeros. */
static void gather_weights(const struct plan *p, uint32_t first, uint32_t channel, uint32_t channels,
                           uint16_t *gathered)
{
    const struct eng_ne *ne = p->ne;
    uint32_t count = eng_least(GROUP, p->cout - first), run;
    const uint8_t *from;
    size_t stride;

    if (count < GROUP)
        memset(gathered, 0, (size_t)channels * TAPS * GROUP * sizeof(*gathered));
    for (uint32_t c = 0; c < count; c += run) {
        run = eng_weights_run(ne->weights, ne->task, ne->group, first + c, count - c,
                              (uint64_t)channel * TAPS, &from, &stride);
        gather(from, stride, gathered + c, (size_t)channels * TAPS, run);
    }
}

/* `sums` are those of the odd tile, if there is one. */
static void transform_weights(const struct plan *p, uint32_t group, float *u, float *sums)
{
    struct eng_winograd_weights weights = {.channels = p->cin, .to = u, .plane = p->u_plane, .sums = sums};
    uint16_t gathered[GATHERED * TAPS * GROUP];

    if (p->odd) {
        weights.tile = p->tile;
        memset(sums, 0, ELEMENTS * GROUP * sizeof(*sums));
    }
    if (find_runs(p, group * GROUP, &weights)) {
        p->kernels->winograd_weights(&weights);
        return;
    }
    weights.run[0] = (const uint8_t *)gathered;
    weights.lanes = GROUP;
    weights.stride = GROUP * sizeof(*gathered);
    for (uint32_t c = 0; c < p->cin; c += GATHERED) {
        weights.channels = eng_least(GATHERED, p->cin - c);
        weights.to = u + (size_t)c * GROUP;
        weights.tile = p->odd ? p->tile + (size_t)c * ELEMENTS : NULL;
        gather_weights(p, group * GROUP, c, weights.channels, gathered);
        p->kernels->winograd_weights(&weights);
    }
}

static void weights_piece(void *context, size_t piece, unsigned worker)
{
    const struct plan *p = context;

    (void)worker;
    transform_weights(p, (uint32_t)piece, p->u + piece * p->u_floats, NULL);
}

/* Rows or columns of zeros before those of the input that `count` from `at` on have, and the latter. */
static void part_inside(int64_t at, uint32_t count, uint32_t extent, uint32_t *before, uint32_t *inside)
{
    int64_t end = extent - at < count ? extent - at : count;

    *before = at < 0 ? eng_least((uint64_t)-at, count) : 0;
    *inside = end > *before ? (uint32_t)end - *before : 0;
}

/* The same input rows of several channels: in place, or a channel at a time gathered. */
static void transform_rows(const struct plan *p, struct eng_winograd_input in, struct eng_line line,
                           uint8_t *gathered)
{
    const struct eng_view *src = &p->ne->operands.src[0];
    uint32_t channels = in.channels, first_row = line.index[PR_AXIS_H];

    if (!in.lines || eng_view_is_packed(src, PR_AXIS_W)) {
        in.fp16 = in.lines ? eng_view_line(src, &line, NULL) : gathered;
        in.stride = src->stride[PR_AXIS_H];
        in.channel_stride = in.lines ? src->stride[PR_AXIS_C] : 0;
        p->kernels->winograd_input(&in);
        return;
    }
    in.fp16 = gathered;
    in.stride = (size_t)in.n * 2;
    in.channels = 1;
    for (uint32_t c = 0; c < channels; c++, line.index[PR_AXIS_C]++, in.to += in.to_stride) {
        line.index[PR_AXIS_H] = first_row;
        for (uint32_t i = 0; i < in.lines; i++, line.index[PR_AXIS_H]++)
            eng_view_line(src, &line, gathered + i * in.stride);
        p->kernels->winograd_input(&in);
    }
}

static void transform_input(const struct plan *p, const struct block *b, uint32_t first, uint32_t end,
                            uint8_t *gathered)
{
    int64_t x = (int64_t)b->x * 2 - p->ne->task->ne.px, y = (int64_t)b->y * 2 - p->ne->task->ne.py;
    struct eng_line line = {.axis = PR_AXIS_W};
    struct eng_winograd_input in = {
        .channels = end - first,
        .relu = p->ne->operands.src[0].relu,
        .columns = b->columns,
        .rows = b->rows,
        .to = b->v + (size_t)first * p->v_stride,
        .to_stride = p->v_stride,
        .plane = p->v_plane,
    };

    part_inside(x, b->columns * 2 + 2, p->win, &in.before, &in.n);
    part_inside(y, b->rows * 2 + 2, p->hin, &in.above, &in.lines);
    if (!in.n)
        in.lines = 0;
    line.n = in.n;
    line.index[PR_AXIS_W] = in.n ? (uint32_t)(x + in.before) : 0;
    line.index[PR_AXIS_H] = in.lines ? (uint32_t)(y + in.above) : 0;
    line.index[PR_AXIS_C] = first;
    transform_rows(p, in, line, gathered);
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

/* The bytes of packed rows that follow those which end with this block. */
static size_t tail_of(const struct eng_view *dst, const struct block *b,
                      const struct eng_winograd_output *out)
{
    return b->x * 2 + out->columns < dst->extent[PR_AXIS_W] ? 0 : dst->tail - dst->tail_begin;
}

/* One output channel: in place, or by way of the gathered rows. */
static void store_channel(const struct plan *p, const struct block *b, struct eng_winograd_output *out,
                          uint32_t channel, uint8_t *gathered)
{
    const struct eng_view *dst = &p->ne->operands.dst;
    struct eng_line line = {.index = {b->x * 2, b->y * 2, 0, channel, 0}, .n = out->columns};

    if (eng_view_is_packed(dst, PR_AXIS_W)) {
        out->fp16 = eng_view_line_target(dst, &line, NULL);
        out->stride = dst->stride[PR_AXIS_H];
        out->tail = tail_of(dst, b, out);
        p->kernels->winograd_output(out);
        return;
    }
    out->fp16 = gathered;
    out->stride = (size_t)out->columns * 2;
    p->kernels->winograd_output(out);
    for (uint32_t i = 0; i < out->rows; i++, line.index[PR_AXIS_H]++)
        eng_view_line_put(dst, &line, out->fp16 + i * out->stride);
}

/* The odd tile's sums, where those of the others are. */
static void put_tile(const struct plan *p, const struct block *b, const float *sums, float *m)
{
    m += b->rows * b->columns - 1;
    for (size_t k = 0; k < ELEMENTS; k++)
        for (size_t c = 0; c < GROUP; c++)
            m[k * p->m_plane + c * p->m_stride] = sums[k * GROUP + c];
}

static void compute_group(const struct plan *p, const struct block *b, uint32_t group, const float *u,
                          const float *sums, float *m, uint8_t *gathered)
{
    uint32_t first = group * GROUP, count = eng_least(GROUP, p->cout - first);
    struct eng_finish finish = p->ne->finish;
    struct eng_winograd_products call = {
        .u = u,
        .v = b->v,
        .m = m,
        .u_plane = p->u_plane,
        .v_plane = p->v_plane,
        .m_plane = p->m_plane,
        .v_stride = p->v_stride,
        .m_stride = p->m_stride,
        .tiles = b->rows * b->columns - (p->odd ? 1 : 0),
        .channels = p->cin,
        .outputs = count,
    };
    struct eng_winograd_output out = {
        .plane = p->m_plane,
        .columns = eng_least(b->columns * 2, p->wout - b->x * 2),
        .rows = eng_least(b->rows * 2, p->hout - b->y * 2),
        .finish = &finish,
    };
    float bias[GROUP];

    p->kernels->winograd_products(&call);
    if (p->odd)
        put_tile(p, b, sums, m);
    load_bias(p, first, count, bias);
    for (uint32_t c = 0; c < count; c++) {
        finish.bias = bias[c];
        out.m = m + (size_t)c * p->m_stride;
        store_channel(p, b, &out, first + c, gathered);
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

/* A worker's memory: sums, gathered rows, weights and inputs, the last two where they are not shared. */
static float *worker_memory(const struct plan *p, unsigned worker)
{
    return p->workers + worker * p->worker_floats;
}

static uint8_t *worker_rows(const struct plan *p, unsigned worker)
{
    return (uint8_t *)(worker_memory(p, worker) + p->m_floats);
}

static float *worker_weights(const struct plan *p, unsigned worker)
{
    return worker_memory(p, worker) + p->m_floats + p->row_floats;
}

static void compute_groups(const struct plan *p, const struct block *b, uint32_t first, uint32_t end,
                           unsigned worker)
{
    for (uint32_t group = first; group < end; group++) {
        float *u = p->whole ? p->u + group * p->u_floats : worker_weights(p, worker);
        float sums[ELEMENTS * GROUP];

        if (!p->whole)
            transform_weights(p, group, u, sums);
        compute_group(p, b, group, u, sums, worker_memory(p, worker), worker_rows(p, worker));
    }
}

static void block_piece(void *context, size_t piece, unsigned worker)
{
    const struct plan *p = context;
    struct block b = block_of(p, piece, worker_weights(p, worker) + (p->whole ? 0 : p->u_floats));

    transform_input(p, &b, 0, p->cin, worker_rows(p, worker));
    compute_groups(p, &b, 0, p->groups, worker);
}

/* Pieces of a block that all workers share. */
struct shared {
    const struct plan *plan;
    struct block block;
};

/* The odd tile of some channels, whose elements follow each other there. */
static void gather_tile(const struct plan *p, const struct block *b, uint32_t first, uint32_t end)
{
    const float *v = b->v + b->rows * b->columns - 1;

    for (size_t c = first; c < end; c++)
        for (size_t k = 0; k < ELEMENTS; k++)
            p->tile[c * ELEMENTS + k] = v[k * p->v_plane + c * p->v_stride];
}

static void channels_piece(void *context, size_t piece, unsigned worker)
{
    const struct shared *s = context;
    uint32_t first = (uint32_t)piece * s->plan->channels;
    uint32_t end = eng_least(first + s->plan->channels, s->plan->cin);

    transform_input(s->plan, &s->block, first, end, worker_rows(s->plan, worker));
    if (s->plan->odd)
        gather_tile(s->plan, &s->block, first, end);
}

static void group_piece(void *context, size_t piece, unsigned worker)
{
    const struct shared *s = context;

    compute_groups(s->plan, &s->block, (uint32_t)piece, (uint32_t)piece + 1, worker);
}

static void run_shared(const struct plan *p, size_t index)
{
    struct shared s = {p, block_of(p, index, p->v)};

    eng_pool_run(p->ne->pool, eng_ne_blocks(p->cin, p->channels), channels_piece, &s);
    eng_pool_run(p->ne->pool, p->groups, group_piece, &s);
}

int eng_ne_winograd(const struct eng_ne *ne)
{
    const uint32_t *in = ne->operands.src[0].extent, *out = ne->operands.dst.extent;
    unsigned rules = ne->rules->load | ne->rules->mac;
    struct plan p = {
        .ne = ne,
        .kernels = eng_kernels_get(),
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
