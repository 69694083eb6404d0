/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: multiply-accumulate with the sums of exact.h, in vectors of output channels. The taps
 * of a pixel that are on the padding are left out before its groups are formed, so the others are collected
 * first: as single elements where all output channels see the same input, and as vectors where each channel
 * has its own. Outputs that leave the range of the kernels, and all of an input or a kernel that is not
 * finite, are made one by one with exact.h.
 *
 * Single elements are sorted by groups: a tap whose element is 0 changes nothing, and groups are added
 * exactly, so their order matters for the ceiling alone. So many groups are sorted at a time that no order of
 * them can reach it from a sum in the range of the kernels.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "engine/exact.h"
#include "engine/ne.h"

#define UNITS         0x1p17f
#define LANES_MOST    16u
#define CHANNELS_MOST (ENG_EXACT_VECTORS * LANES_MOST)
#define ROWS_MOST     32u /* of weights, whose sizes are looked up together */
/* Blocks whose channels see the same taps, which are then collected and sorted once. */
#define BUNCH 4u
/* What the magnitudes of a group's products, and a sum, have to be less than in the kernels. */
#define RANGE (1 << 23)
/* Groups that are sorted together. */
#define SORTED 256u
_Static_assert((SORTED + 1ull) * RANGE < 1ull << 32, "no order reaches the ceiling, which is 2^32 units");
_Static_assert(sizeof(struct eng_exact_tap) == 2 * sizeof(float), "taps are counted in floats");
#define KIND_TAPS(count) (SORTED * (count) + ENG_EXACT_GROUP)
#define KINDS_TAPS       (KIND_TAPS(1) + KIND_TAPS(2) + KIND_TAPS(3) + KIND_TAPS(4))
_Static_assert(ENG_EXACT_GROUP == 4, "kinds of groups are counted");

/* More working memory than this many floats: the reference runs. */
#define FLOATS_MOST (1ull << 26)

struct exact {
    const struct eng_ne *ne;
    const struct eng_kernels *kernels;
    struct eng_load input, weight;
    struct eng_finish finish;
    uint32_t channels, kh, window, hin, win, cout, hout, wout;
    uint64_t taps;        /* of a pixel inside */
    uint64_t taps_padded; /* to whole groups and vectors */
    bool own;             /* each output channel has its own input channels */
    uint32_t each;        /* output channels of a block */
    uint32_t blocks, bunch, bunches;
    float *weights;      /* of a block: [tap][channel] */
    float *finite;       /* of a block: 1, or 0 when a weight is not */
    float *bias;         /* of a channel */
    float *least, *most; /* [bunch][tap], weights by magnitude: the least that is not 0, and the largest */
    float *memory;       /* of workers */
    size_t block_floats, rows_floats, vector_floats, tap_floats, sorted_floats, acc_floats, worker_floats;
};

/* What a worker has for an output row of a bunch. */
struct row {
    uint32_t bunch, block, blocks; /* the bunch's */
    uint32_t y, ky0, ky1;
    bool finite; /* the input is */
    float *in;   /* [input channel][kernel row][column], and [lane] where channels have their own */
    struct eng_exact_tap *tap; /* of a pixel, */
    float *element;            /* their elements again, */
    uint32_t *at;              /* where they are, from the pixel's first, */
    float *least, *most;       /* and sizes of their weights, in the bunch */
    uint32_t kx0, kx1, taps;   /* what these are for */
    struct eng_exact_taps sorted;
    float *x, *own; /* or its elements and weights: [tap][lane] */
    float *acc;     /* [channel][column] */
    float *line;    /* of the input */
};

static void row_kinds(struct row *row, struct eng_exact_tap *at)
{
    for (unsigned lossy = 0; lossy < 2; lossy++)
        for (unsigned i = 0; i < ENG_EXACT_GROUP; at += KIND_TAPS(i + 1), i++)
            row->sorted.tap[lossy][i] = at;
}

static struct row row_of(const struct exact *k, size_t piece, unsigned worker)
{
    struct row row = {.bunch = (uint32_t)(piece / k->hout), .y = (uint32_t)(piece % k->hout), .finite = true};

    row.block = row.bunch * k->bunch;
    row.blocks = eng_least(k->bunch, k->blocks - row.block);
    row.in = k->memory + worker * k->worker_floats;
    row.x = row.in + k->rows_floats;
    row.own = row.x + k->vector_floats;
    row.tap = (struct eng_exact_tap *)(row.own + k->vector_floats);
    row.element = (float *)row.tap + 2 * k->tap_floats;
    row.at = (void *)(row.element + k->tap_floats);
    row.least = row.element + 2 * k->tap_floats;
    row.most = row.least + k->tap_floats;
    row_kinds(&row, (struct eng_exact_tap *)(row.most + k->tap_floats));
    row.acc = row.most + k->tap_floats + k->sorted_floats;
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
static void load_row(const struct exact *k, const struct row *row, uint32_t channel, uint32_t ky, float *to)
{
    const struct pr_ne *n = &k->ne->task->ne;

    load_line(k,
              (struct eng_line){
                  .index = {0, row->y * n->sy + ky - n->py, 0, channel, 0}, .axis = PR_AXIS_W, .n = k->win},
              to);
}

static void load_shared(const struct exact *k, struct row *row)
{
    for (uint32_t c = 0; c < k->channels && row->ky0 < row->ky1; c++) {
        float *first = row->in + ((size_t)c * k->kh + row->ky0) * k->win;

        for (uint32_t ky = row->ky0; ky < row->ky1; ky++)
            load_row(k, row, c, ky, first + (size_t)(ky - row->ky0) * k->win);
        row->finite = row->finite && k->kernels->all_finite(first, (size_t)(row->ky1 - row->ky0) * k->win);
    }
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
                row->finite = row->finite && k->kernels->all_finite(row->line, k->win);
                for (uint32_t x = 0; x < k->win; x++)
                    to[(size_t)x * k->each] = row->line[x];
            }
    }
}

/* Taps for columns that see these columns of the window. What fills up the last vector has no weight. */
static void set_taps(const struct exact *k, struct row *row, uint32_t kx0, uint32_t kx1)
{
    const float *least = k->least + row->bunch * k->taps, *most = k->most + row->bunch * k->taps;
    uint32_t taps = 0;

    for (uint32_t c = 0; c < k->channels; c++)
        for (uint32_t ky = row->ky0; ky < row->ky1; ky++)
            for (uint32_t p = kx0; p < kx1; p++, taps++) {
                const uint32_t weight = (c * k->kh + ky) * k->window + p;

                row->tap[taps].row = weight;
                row->at[taps] = (uint32_t)((c * k->kh + ky) * k->win + (p - kx0));
                row->least[taps] = least[weight];
                row->most[taps] = most[weight];
            }
    row->kx0 = kx0;
    row->kx1 = kx1;
    row->taps = taps;
    for (; taps % LANES_MOST; taps++) {
        row->tap[taps] = (struct eng_exact_tap){0, 0};
        row->element[taps] = row->least[taps] = row->most[taps] = 0;
    }
}

/* The taps of a pixel that are inside the input; returns how many there are. */
static uint32_t collect_shared(const struct exact *k, struct row *row, uint32_t column)
{
    const struct pr_ne *n = &k->ne->task->ne;
    const float *in;
    uint32_t kx0, kx1;

    eng_ne_taps_inside(column, n->sx, n->px, k->window, k->win, &kx0, &kx1);
    if (!column || kx0 != row->kx0 || kx1 != row->kx1)
        set_taps(k, row, kx0, kx1);
    in = row->in + ((int64_t)column * n->sx - n->px + kx0);
    for (uint32_t t = 0; t < row->taps; t++)
        row->tap[t].x = row->element[t] = in[row->at[t]];
    return row->taps;
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

/*
 * The products of each group, whatever the channel, have magnitudes that are below RANGE together. `largest`
 * is the largest product.
 */
static bool inside(const struct row *row, uint32_t tap, uint32_t groups, float largest)
{
    bool all = true;

    if (largest < (float)RANGE / ENG_EXACT_GROUP)
        return true;
    for (; groups; groups--, tap += ENG_EXACT_GROUP) {
        float sum = 0;

        for (unsigned i = 0; i < ENG_EXACT_GROUP; i++)
            sum += fabsf(row->element[tap + i]) * row->most[tap + i];
        all = all && sum < RANGE;
    }
    return all;
}

/*
 * Sorts groups from a tap on. False when their products could leave the range of the kernels. All taps of a
 * group are written, and those behind the last one that counts are overwritten.
 */
static bool sort_groups(const struct exact *k, struct row *row, uint32_t first, uint32_t groups)
{
    struct eng_exact_tap zeros[ENG_EXACT_GROUP], *next[2][ENG_EXACT_GROUP + 1] = {{zeros}, {zeros}};
    uint32_t found[2][ENG_EXACT_GROUP + 1] = {{0}};
    const struct eng_exact_tap *tap = row->tap + first;
    const uint32_t taps = groups * ENG_EXACT_GROUP;
    float kinds[SORTED * ENG_EXACT_GROUP], *kind = kinds, largest;

    largest = k->kernels->exact_kinds(row->element + first, row->least + first, row->most + first,
                                      pr_round_up(taps, LANES_MOST), kinds);
    if (!inside(row, first, groups, largest))
        return false;
    for (unsigned lossy = 0; lossy < 2; lossy++)
        memcpy(next[lossy] + 1, row->sorted.tap[lossy], sizeof(row->sorted.tap[lossy]));
    for (uint32_t g = 0; g < groups; g++, tap += ENG_EXACT_GROUP, kind += ENG_EXACT_GROUP) {
        const unsigned all = (unsigned)(kind[0] + kind[1] + (kind[2] + kind[3]));
        const unsigned lossy = all >= ENG_EXACT_LOSSY, count = all % ENG_EXACT_LOSSY;
        struct eng_exact_tap *to = next[lossy][count];

        next[lossy][count] = to + count;
        found[lossy][count]++;
        for (unsigned i = 0; i < ENG_EXACT_GROUP; i++) {
            *to = tap[i];
            to += tap[i].x != 0;
        }
    }
    for (unsigned lossy = 0; lossy < 2; lossy++)
        memcpy(row->sorted.groups[lossy], found[lossy] + 1, sizeof(row->sorted.groups[lossy]));
    return true;
}

static const float *block_weights(const struct exact *k, const struct row *row, uint32_t block)
{
    return k->weights + (row->block + block) * k->block_floats;
}

/* The kernels' sums of all blocks: [block][channel]. False when they may be wrong. */
static bool sum_groups(const struct exact *k, struct row *row, uint32_t groups, float *sums, float *peaks)
{
    const size_t all = (size_t)row->blocks * k->each;

    memset(sums, 0, all * sizeof(*sums));
    memset(peaks, 0, all * sizeof(*peaks));
    for (uint32_t g = 0; g < groups; g += SORTED) {
        if (!sort_groups(k, row, g * ENG_EXACT_GROUP, eng_least(SORTED, groups - g)))
            return false;
        for (uint32_t b = 0; b < row->blocks; b++)
            k->kernels->exact_channels(&row->sorted, block_weights(k, row, b), k->each / k->kernels->lanes,
                                       sums + b * k->each, peaks + b * k->each);
    }
    return true;
}

static void sum_shared(const struct exact *k, struct row *row, uint32_t column, float *sums)
{
    uint32_t taps = collect_shared(k, row, column);
    float peaks[BUNCH * CHANNELS_MOST];
    bool right = row->finite && taps;

    for (uint32_t b = 0; b < row->blocks; b++)
        right = right && k->finite[row->block + b] != 0;
    right = right && sum_groups(k, row, eng_ne_blocks(taps, ENG_EXACT_GROUP), sums, peaks);
    for (uint32_t c = 0; c < row->blocks * k->each; c++)
        if (!right || !(fabsf(peaks[c]) < RANGE))
            sums[c] = one_shared(row->tap, taps, block_weights(k, row, c / k->each) + c % k->each, k->each);
}

static void sum_own(const struct exact *k, const struct row *row, uint32_t column, float *sums)
{
    const float *weights = k->weights + row->block * k->block_floats;
    uint32_t taps = collect_own(k, row, column, weights), all = taps;
    const bool finite = row->finite && k->finite[row->block] != 0;
    float marks[CHANNELS_MOST];

    for (; all % ENG_EXACT_GROUP; all++)
        memset(row->x + (size_t)all * k->each, 0, k->each * sizeof(float));
    if (finite)
        k->kernels->exact_own(row->x, row->own, all, sums, marks);
    for (uint32_t c = 0; c < k->each; c++)
        if (!finite || marks[c] != 0)
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

    finish.bias = k->bias[line.index[PR_AXIS_C]];
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
    const uint32_t all = row.blocks * k->each;
    float sums[BUNCH * CHANNELS_MOST];

    if (k->own)
        load_own(k, &row);
    else
        load_shared(k, &row);
    for (uint32_t column = 0; column < k->wout; column++) {
        if (k->own)
            sum_own(k, &row, column, sums);
        else
            sum_shared(k, &row, column, sums);
        for (uint32_t c = 0; c < all; c++)
            row.acc[(size_t)c * k->wout + column] = sums[c];
    }
    for (uint32_t c = 0; c < all && row.block * k->each + c < k->cout; c++)
        finish_row(k, &row, c);
}

/* Sizes of the weights of `rows` rows from `row` on, in blocks [block, end). */
static void measure_rows(const struct exact *k, uint32_t block, uint32_t end, uint64_t row, uint32_t rows,
                         float *least, float *most)
{
    const uint32_t lanes = k->kernels->lanes;
    float low[ROWS_MOST * LANES_MOST], high[ROWS_MOST * LANES_MOST];

    for (uint32_t i = 0; i < ROWS_MOST * LANES_MOST; i++) {
        low[i] = INFINITY;
        high[i] = 0;
    }
    for (; block < end; block++)
        k->kernels->exact_weights(k->weights + block * k->block_floats + row * k->each, rows, k->each / lanes,
                                  low, high);
    for (uint32_t r = 0; r < rows; r++) {
        least[r] = low[r * lanes];
        most[r] = high[r * lanes];
        for (uint32_t i = 1; i < lanes; i++) {
            least[r] = low[r * lanes + i] < least[r] ? low[r * lanes + i] : least[r];
            most[r] = high[r * lanes + i] > most[r] ? high[r * lanes + i] : most[r];
        }
    }
}

static void measure_piece(void *context, size_t bunch, unsigned worker)
{
    const struct exact *k = context;
    const uint32_t block = (uint32_t)bunch * k->bunch, end = eng_least(block + (uint64_t)k->bunch, k->blocks);
    uint32_t rows;

    (void)worker;
    for (uint64_t row = 0; row < k->taps; row += rows) {
        rows = eng_least(ROWS_MOST, k->taps - row);
        measure_rows(k, block, end, row, rows, k->least + bunch * k->taps + row,
                     k->most + bunch * k->taps + row);
    }
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
    for (uint32_t c = 0; c < count; c++)
        k->bias[first + c] = bias_of(k, first + c);
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

    k->taps_padded = pr_round_up(k->taps, LANES_MOST);
    k->each = (k->own ? 1 : block_vectors(k)) * k->kernels->lanes;
    k->blocks = eng_ne_blocks(k->cout, k->each);
    k->bunch = k->own ? 1 : BUNCH;
    k->bunches = eng_ne_blocks(k->blocks, k->bunch);
    k->block_floats = pr_round_up(k->taps * k->each, LANES_MOST);
    weights = k->blocks * k->block_floats;
    k->rows_floats = pr_round_up(rows, LANES_MOST);
    k->vector_floats = k->own ? pr_round_up(k->taps_padded * k->kernels->lanes, LANES_MOST) : 0;
    k->tap_floats = k->own ? 0 : k->taps_padded;
    k->sorted_floats = k->own ? 0 : pr_round_up(2 * 2 * KINDS_TAPS, LANES_MOST);
    k->acc_floats = pr_round_up((uint64_t)k->bunch * k->each * k->wout, LANES_MOST);
    k->worker_floats = k->rows_floats + 2 * k->vector_floats + 6 * k->tap_floats + k->sorted_floats +
                       k->acc_floats + pr_round_up(k->win, LANES_MOST);
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
    size_t packed, rows, finite, bias;

    k.taps = (uint64_t)k.channels * k.kh * k.window;
    k.finish.unscale = 1 / UNITS;
    if (!plan(&k))
        return eng_ne_reference(ne, ne->pool);
    packed = k.blocks * k.block_floats;
    rows = k.own ? 0 : pr_round_up(k.bunches * k.taps, LANES_MOST);
    finite = pr_round_up(k.blocks, LANES_MOST);
    bias = pr_round_up((uint64_t)k.blocks * k.each, LANES_MOST);
    k.weights = eng_scratch_reserve(
        ne->scratch,
        (packed + finite + bias + 2 * rows + k.worker_floats * eng_pool_workers(ne->pool)) * sizeof(float));
    if (!k.weights)
        return -ENOMEM;
    k.finite = k.weights + packed;
    k.bias = k.finite + finite;
    k.least = k.bias + bias;
    k.most = k.least + rows;
    k.memory = k.most + rows;
    eng_pool_run(ne->pool, k.blocks, pack_piece, &k);
    if (!k.own)
        eng_pool_run(ne->pool, k.bunches, measure_piece, &k);
    eng_pool_run(ne->pool, (size_t)k.bunches * k.hout, run_piece, &k);
    return 0;
}
