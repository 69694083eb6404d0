/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: multiply-accumulate with the sums of exact.h, in vectors of output channels. The taps
 * of a pixel that are on the padding are left out before its groups are formed, so the others are collected
 * first: as single elements where all output channels see the same input, and as vectors where each channel
 * has its own. Outputs that the kernels mark, and all of an input or a kernel that is not finite, are made
 * one by one with exact.h.
 */
#include <errno.h>
#include <string.h>

#include "engine/exact.h"
#include "engine/ne.h"

#define UNITS         0x1p17f
#define LANES_MOST    16u
#define CHANNELS_MOST (ENG_EXACT_VECTORS * LANES_MOST)
/* More working memory than this many floats: the reference runs. */
#define FLOATS_MOST (1ull << 26)

struct exact {
    const struct eng_ne *ne;
    const struct eng_kernels *kernels;
    struct eng_load input, weight;
    struct eng_finish finish;
    uint32_t channels, kh, window, hin, win, cout, hout, wout;
    uint64_t taps;        /* of a pixel inside */
    uint64_t taps_padded; /* to whole groups */
    bool own;             /* each output channel has its own input channels */
    uint32_t each;        /* output channels of a block */
    uint32_t blocks;
    float *weights; /* of a block: [tap][channel] */
    float *finite;  /* of a block: 1, or 0 when a weight is not */
    float *memory;  /* of workers */
    size_t block_floats, rows_floats, vector_floats, tap_floats, acc_floats, worker_floats;
};

/* What a worker has for an output row of a block. */
struct row {
    uint32_t block, y, ky0, ky1;
    bool finite;
    float *in; /* [input channel][kernel row][column], and [lane] where channels have their own */
    struct eng_exact_tap *tap; /* of a pixel; or: */
    float *x, *own;            /* its elements and weights: [tap][lane] */
    float *acc;                /* [channel][column] */
    float *line;               /* of the input */
};

static struct row row_of(const struct exact *k, size_t piece, unsigned worker)
{
    struct row row = {.block = (uint32_t)(piece / k->hout), .y = (uint32_t)(piece % k->hout)};

    row.in = k->memory + worker * k->worker_floats;
    row.x = row.in + k->rows_floats;
    row.own = row.x + k->vector_floats;
    row.tap = (struct eng_exact_tap *)(row.own + k->vector_floats);
    row.acc = row.own + k->vector_floats + k->tap_floats;
    row.line = row.acc + k->acc_floats;
    eng_ne_taps_inside(row.y, k->ne->task->ne.sy, k->ne->task->ne.py, k->kh, k->hin, &row.ky0, &row.ky1);
    return row;
}

static void load_line(const struct exact *k, struct eng_line line, float *to)
{
    const struct eng_view *src = &k->ne->operands.src[0];
    uint32_t left = line.n, most = eng_view_is_packed(src, line.axis) ? left : ENG_LINE_MAX;
    uint8_t buffer[ENG_LINE_BYTES];

    for (; left; left -= line.n, to += line.n, line.index[PR_AXIS_W] += line.n) {
        line.n = eng_least(left, most);
        k->kernels->to_float(eng_view_line(src, &line, buffer), to, line.n, &k->input);
    }
}

/* The input's row under a kernel row. */
static void load_row(const struct exact *k, struct row *row, uint32_t channel, uint32_t ky, float *to)
{
    const struct pr_ne *n = &k->ne->task->ne;

    load_line(k,
              (struct eng_line){
                  .index = {0, row->y * n->sy + ky - n->py, 0, channel, 0}, .axis = PR_AXIS_W, .n = k->win},
              to);
    row->finite = row->finite && k->kernels->all_finite(to, k->win);
}

static void load_shared(const struct exact *k, struct row *row)
{
    for (uint32_t c = 0; c < k->channels; c++)
        for (uint32_t ky = row->ky0; ky < row->ky1; ky++)
            load_row(k, row, c, ky, row->in + ((size_t)c * k->kh + ky) * k->win);
}

/* Lanes behind the last channel repeat the last one's elements; their weights are 0. */
static void load_own(const struct exact *k, struct row *row)
{
    for (uint32_t lane = 0; lane < k->each; lane++) {
        uint32_t channel = eng_least(row->block * k->each + lane, k->cout - 1) * k->channels;

        for (uint32_t c = 0; c < k->channels; c++)
            for (uint32_t ky = row->ky0; ky < row->ky1; ky++) {
                float *to = row->in + ((size_t)c * k->kh + ky) * k->win * k->each + lane;

                load_row(k, row, channel + c, ky, row->line);
                for (uint32_t x = 0; x < k->win; x++)
                    to[(size_t)x * k->each] = row->line[x];
            }
    }
}

static float least_weight(float x)
{
    uint32_t bits;
    float least;

    memcpy(&bits, &x, sizeof(bits));
    /* 2 divided by the power of two in x; infinite for 0. */
    bits = 0x7f800000u - (bits & 0x7f800000u);
    memcpy(&least, &bits, sizeof(least));
    return least;
}
_Static_assert(ENG_EXACT_LEAST == 2, "the biased exponents of x and of the least weight have the sum 255");

static inline struct eng_exact_tap tap_of(float x, uint32_t weight)
{
    return (struct eng_exact_tap){x, least_weight(x), weight};
}

/* The taps of a pixel that are inside the input; returns how many there are. */
static uint32_t collect_shared(const struct exact *k, const struct row *row, uint32_t column)
{
    const struct pr_ne *n = &k->ne->task->ne;
    const uint32_t channels = k->channels, window = k->window, kh = k->kh, ky0 = row->ky0, ky1 = row->ky1;
    const size_t win = k->win;
    struct eng_exact_tap *tap = row->tap;
    const float *in;
    uint32_t kx0, kx1;

    eng_ne_taps_inside(column, n->sx, n->px, window, k->win, &kx0, &kx1);
    in = row->in + ((int64_t)column * n->sx - n->px + kx0);
    if (kh == 1 && kx1 == kx0 + 1 && ky1 == ky0 + 1)
        for (uint32_t c = 0; c < channels; c++)
            *tap++ = tap_of(in[c * win], c * window + kx0);
    else
        for (uint32_t c = 0; c < channels; c++)
            for (uint32_t ky = ky0; ky < ky1; ky++)
                for (uint32_t p = kx0; p < kx1; p++)
                    *tap++ = tap_of(in[((size_t)c * kh + ky) * win + (p - kx0)], (c * kh + ky) * window + p);
    return (uint32_t)(tap - row->tap);
}

static uint32_t collect_own(const struct exact *k, const struct row *row, uint32_t column,
                            const float *weights)
{
    const struct pr_ne *n = &k->ne->task->ne;
    const int64_t begin = (int64_t)column * n->sx - n->px;
    const size_t lanes = k->each;
    uint32_t kx0, kx1, taps = 0;

    eng_ne_taps_inside(column, n->sx, n->px, k->window, k->win, &kx0, &kx1);
    for (uint32_t c = 0; c < k->channels; c++)
        for (uint32_t ky = row->ky0; ky < row->ky1 && kx0 < kx1; ky++) {
            const size_t at = (size_t)c * k->kh + ky, count = kx1 - kx0;

            memcpy(row->x + taps * lanes, row->in + (at * k->win + (size_t)(begin + kx0)) * lanes,
                   count * lanes * sizeof(float));
            memcpy(row->own + taps * lanes, weights + (at * k->window + kx0) * lanes,
                   count * lanes * sizeof(float));
            taps += (uint32_t)count;
        }
    return taps;
}

/* One output with exact.h. */
static float one_shared(const struct eng_exact_tap *tap, uint32_t taps, const float *weights, size_t each)
{
    struct eng_exact exact;

    eng_exact_begin(&exact);
    for (uint32_t i = 0; i < taps; i++)
        eng_exact_add(&exact, tap[i].x, weights[tap[i].row * each] / UNITS);
    return eng_exact_end(&exact) * UNITS;
}

static float one_own(const float *x, const float *weights, uint32_t taps, size_t lanes)
{
    struct eng_exact exact;

    eng_exact_begin(&exact);
    for (uint32_t i = 0; i < taps; i++)
        eng_exact_add(&exact, x[i * lanes], weights[i * lanes] / UNITS);
    return eng_exact_end(&exact) * UNITS;
}

static void sum_shared(const struct exact *k, const struct row *row, uint32_t column, float *sums)
{
    const float *weights = k->weights + row->block * k->block_floats;
    uint32_t taps = collect_shared(k, row, column), all = taps;
    float marks[CHANNELS_MOST];

    while (all % ENG_EXACT_GROUP)
        row->tap[all++] = (struct eng_exact_tap){0, 0, 0};
    if (row->finite)
        k->kernels->exact_channels(row->tap, all, weights, k->each / k->kernels->lanes, sums, marks);
    for (uint32_t c = 0; c < k->each; c++)
        if (!row->finite || marks[c] != 0)
            sums[c] = one_shared(row->tap, taps, weights + c, k->each);
}

static void sum_own(const struct exact *k, const struct row *row, uint32_t column, float *sums)
{
    const float *weights = k->weights + row->block * k->block_floats;
    uint32_t taps = collect_own(k, row, column, weights), all = taps;
    float marks[CHANNELS_MOST];

    for (; all % ENG_EXACT_GROUP; all++)
        memset(row->x + (size_t)all * k->each, 0, k->each * sizeof(float));
    if (row->finite)
        k->kernels->exact_own(row->x, row->own, all, sums, marks);
    for (uint32_t c = 0; c < k->each; c++)
        if (!row->finite || marks[c] != 0)
            sums[c] = one_own(row->x + c, row->own + c, taps, k->each);
}

static float bias_of(const struct exact *k, uint32_t channel)
{
    const struct eng_ne *ne = k->ne;
    struct eng_load load = k->weight;
    const uint8_t *from;
    float bias = -0.0f;

    if (!ne->task->ne.bias)
        return bias;
    load.scale = 1;
    eng_weights_bias_run(ne->weights, ne->task, ne->group, channel, 1, &from);
    k->kernels->to_float(from, &bias, 1, &load);
    return bias;
}

static void finish_row(const struct exact *k, const struct row *row, uint32_t c)
{
    const struct eng_view *dst = &k->ne->operands.dst;
    struct eng_finish finish = k->finish;
    uint8_t buffer[ENG_LINE_BYTES];
    struct eng_line line = {.index = {0, row->y, 0, row->block * k->each + c, 0}, .axis = PR_AXIS_W};

    finish.bias = bias_of(k, line.index[PR_AXIS_C]);
    for (uint32_t x = 0; x < k->wout; x += line.n) {
        uint8_t *to;

        line.index[PR_AXIS_W] = x;
        line.n = eng_least(k->wout - x, ENG_LINE_MAX);
        to = eng_view_line_target(dst, &line, buffer);
        k->kernels->finish(row->acc + (size_t)c * k->wout + x, NULL, to, line.n, &finish);
        eng_view_line_put(dst, &line, to);
    }
}

static void run_piece(void *context, size_t piece, unsigned worker)
{
    const struct exact *k = context;
    struct row row = row_of(k, piece, worker);
    float sums[CHANNELS_MOST];

    row.finite = k->finite[row.block] != 0;
    if (k->own)
        load_own(k, &row);
    else
        load_shared(k, &row);
    for (uint32_t column = 0; column < k->wout; column++) {
        if (k->own)
            sum_own(k, &row, column, sums);
        else
            sum_shared(k, &row, column, sums);
        for (uint32_t c = 0; c < k->each; c++)
            row.acc[(size_t)c * k->wout + column] = sums[c];
    }
    for (uint32_t c = 0; c < k->each && row.block * k->each + c < k->cout; c++)
        finish_row(k, &row, c);
}

/* Channels behind the last have weights of 0. */
static void pack_piece(void *context, size_t block, unsigned worker)
{
    const struct exact *k = context;
    const struct eng_ne *ne = k->ne;
    float *to = k->weights + block * k->block_floats;
    uint32_t first = (uint32_t)block * k->each, count = eng_least(k->each, k->cout - first), run;
    bool phased = eng_weights_are_phased(ne->weights, ne->task);
    const uint8_t *from;
    size_t stride;

    (void)worker;
    memset(to, 0, k->block_floats * sizeof(float));
    for (uint32_t c = 0; c < count; c += run) {
        run = eng_weights_run(ne->weights, ne->task, ne->group, first + c, count - c, 0, &from, &stride);
        for (uint64_t tap = 0; tap < k->taps; tap++) {
            uint64_t row = phased ? eng_weights_row(ne->task, tap) : tap;

            k->kernels->to_float(from + row * stride, to + tap * k->each + c, run, &k->weight);
        }
    }
    k->finite[block] = k->kernels->all_finite(to, k->block_floats);
}

/* A block costs its vectors, used or not, and about half of one for the collection of taps. */
static uint32_t block_cost(uint32_t all, uint32_t vectors)
{
    return eng_ne_blocks(all, vectors) * (2 * vectors + 1);
}

static uint32_t block_vectors(const struct exact *k)
{
    uint32_t all = eng_ne_blocks(k->cout, k->kernels->lanes), best = 1;

    for (uint32_t v = 2; v <= ENG_EXACT_VECTORS; v++)
        if (block_cost(all, v) < block_cost(all, best))
            best = v;
    return best;
}

/* False when it would take too much memory. */
static bool plan(struct exact *k)
{
    uint64_t rows = (uint64_t)k->channels * k->kh * k->win * (k->own ? k->kernels->lanes : 1), weights;

    k->taps_padded = pr_round_up(k->taps, ENG_EXACT_GROUP);
    k->each = (k->own ? 1 : block_vectors(k)) * k->kernels->lanes;
    k->blocks = eng_ne_blocks(k->cout, k->each);
    k->block_floats = pr_round_up(k->taps * k->each, LANES_MOST);
    weights = k->blocks * k->block_floats;
    k->rows_floats = pr_round_up(rows, LANES_MOST);
    k->vector_floats = k->own ? pr_round_up(k->taps_padded * k->kernels->lanes, LANES_MOST) : 0;
    k->tap_floats = pr_round_up(k->taps_padded * (sizeof(struct eng_exact_tap) / sizeof(float)), LANES_MOST);
    k->acc_floats = pr_round_up((uint64_t)k->each * k->wout, LANES_MOST);
    k->worker_floats = k->rows_floats + 2 * k->vector_floats + k->tap_floats + k->acc_floats +
                       pr_round_up(k->win, LANES_MOST);
    return k->taps < FLOATS_MOST && rows < FLOATS_MOST && weights < FLOATS_MOST &&
           k->worker_floats < FLOATS_MOST / eng_pool_workers(k->ne->pool);
}

int eng_ne_exact(const struct eng_ne *ne)
{
    const uint32_t *in = ne->operands.src[0].extent, *out = ne->operands.dst.extent;
    const unsigned rules = ne->rules->load | ne->rules->mac;
    struct exact k = {
        .ne = ne,
        .kernels = eng_kernels_get(),
        .input = {.rules = eng_view_rules(&ne->operands.src[0], rules),
                  .relu = ne->operands.src[0].relu,
                  .scale = 1},
        .weight = {.rules = rules, .scale = UNITS},
        .finish = ne->finish,
        .channels = pr_kernel_channels(ne->task),
        .kh = ne->task->ne.kh,
        .window = pr_kernel_window(ne->task),
        .hin = in[PR_AXIS_H],
        .win = in[PR_AXIS_W],
        .cout = out[PR_AXIS_C],
        .hout = out[PR_AXIS_H],
        .wout = out[PR_AXIS_W],
        .own = ne->task->ne.unicast,
    };
    size_t packed, finite;

    k.taps = (uint64_t)k.channels * k.kh * k.window;
    k.finish.unscale = 1 / UNITS;
    if (!plan(&k))
        return eng_ne_reference(ne, ne->pool);
    packed = k.blocks * k.block_floats;
    finite = pr_round_up(k.blocks, LANES_MOST);
    k.weights = eng_scratch_reserve(
        ne->scratch, (packed + finite + k.worker_floats * eng_pool_workers(ne->pool)) * sizeof(float));
    if (!k.weights)
        return -ENOMEM;
    k.finite = k.weights + packed;
    k.memory = k.finite + finite;
    eng_pool_run(ne->pool, k.blocks, pack_piece, &k);
    eng_pool_run(ne->pool, (size_t)k.blocks * k.hout, run_piece, &k);
    return 0;
}
