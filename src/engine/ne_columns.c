/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: the fast path of the tasks that ne_fast.c does not run, one output channel at a time.
 *
 * The rows of an output channel are cut into blocks. For each input channel that it sees, the rows of the
 * input are converted to fp32 once, laid out so that the elements of one tap are contiguous, also where steps
 * are wider than one; then the chain of every output continues, in vectors of neighbouring columns.
 */
#include "engine/ne.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* They change only the speed. */
enum {
    WIDTH_MAX = 256,     /* columns of a block, in steps */
    PIXELS_MAX = 2048,   /* of a block */
    PIECE_WORK = 1 << 17 /* taps that are worth handing to another thread */
};

struct columns {
    const struct eng_ne *ne;
    struct eng_mac_setup mac;
    float outside, start;
    struct eng_view dst[ENG_NE_OX_MAX]; /* as each column of a step sees it */
    uint32_t channels, window, steps, hin, win, cout, hout;
    uint32_t width, rows;        /* of a block */
    uint32_t blocks_x, blocks_y; /* in a channel */
    uint64_t blocks, per_piece;
    uint32_t group;        /* columns of a step, or more: a power of two */
    uint32_t acc_row;      /* floats */
    size_t in_tap, in_row; /* floats from tap to tap and row to row */
    size_t acc_floats, in_floats, panel_floats;
    size_t line_floats, worker_floats;
    float *memory;
};

struct block {
    uint32_t channel, x0, width, y0, rows;
    int64_t ix, iy; /* of the window's first column and row */
    float *acc, *in, *line, *panel;
    uint8_t *panel_fp16;
};

static void plan(struct columns *k)
{
    const struct pr_ne *n = &k->ne->task->ne;
    uint32_t in_rows;
    uint64_t work;

    k->width = eng_least(k->steps, WIDTH_MAX);
    k->acc_row = (uint32_t)pr_round_up(k->width, k->mac.kernels->lanes);
    k->rows = eng_least(k->hout, PIXELS_MAX / k->acc_row);
    k->blocks_x = eng_ne_blocks(k->steps, k->width);
    k->blocks_y = eng_ne_blocks(k->hout, k->rows);
    k->blocks = (uint64_t)k->blocks_x * k->blocks_y * k->cout;
    work = (uint64_t)k->width * k->rows * n->ox * k->channels * k->window * n->kh;
    k->per_piece = work < PIECE_WORK ? PIECE_WORK / work : 1;
    k->group = n->ox > 2 ? 4 : n->ox;

    in_rows = (k->rows - 1) * n->sy + n->kh;
    k->in_tap = n->sx == 1 ? 1 : k->acc_row;
    k->in_row = n->sx == 1 ? k->acc_row + k->window - 1 : (size_t)k->window * k->acc_row;
    k->acc_floats = pr_round_up((uint64_t)k->group * k->rows * k->acc_row, 16);
    k->in_floats = pr_round_up(in_rows * k->in_row, 16);
    k->line_floats = pr_round_up((k->acc_row - 1) * n->sx + k->window, 16);
    k->panel_floats = pr_round_up((uint64_t)k->window * n->kh * k->group, 16);
    k->worker_floats = k->acc_floats + k->in_floats + k->line_floats + 2 * k->panel_floats;
}

static void block_begin(const struct columns *k, struct block *b, uint64_t number, unsigned worker)
{
    const struct pr_ne *n = &k->ne->task->ne;

    b->x0 = (uint32_t)(number % k->blocks_x) * k->width;
    b->y0 = (uint32_t)(number / k->blocks_x % k->blocks_y) * k->rows;
    b->channel = (uint32_t)(number / k->blocks_x / k->blocks_y);
    b->width = eng_least(k->width, k->steps - b->x0);
    b->rows = eng_least(k->rows, k->hout - b->y0);
    b->ix = (int64_t)b->x0 * n->sx - n->px;
    b->iy = (int64_t)b->y0 * n->sy - n->py;
    b->acc = k->memory + worker * k->worker_floats;
    b->in = b->acc + k->acc_floats;
    b->line = b->in + k->in_floats;
    b->panel = b->line + k->line_floats;
    b->panel_fp16 = (uint8_t *)(b->panel + k->panel_floats);
    for (size_t i = 0; i < k->acc_floats; i++)
        b->acc[i] = k->start;
}

static void fill(float *to, uint64_t n, float value)
{
    for (uint64_t i = 0; i < n; i++)
        to[i] = value;
}

static void load_line(const struct columns *k, struct eng_line line, float *to)
{
    const struct eng_view *src = &k->ne->operands.src[0];
    uint32_t left = line.n, most = eng_view_is_packed(src, line.axis) ? left : ENG_LINE_MAX;
    uint8_t buffer[ENG_LINE_BYTES];

    for (; left; left -= line.n, to += line.n, line.index[PR_AXIS_W] += line.n) {
        line.n = eng_least(left, most);
        k->mac.kernels->to_float(eng_view_line(src, &line, buffer), to, line.n, &k->mac.input);
    }
}

/* `n` elements of an input row from the block's first column on, padding included. */
static void load_row(const struct columns *k, const struct block *b, uint32_t channel, int64_t iy, float *to,
                     uint32_t n)
{
    uint32_t first = b->ix < 0 ? eng_least((uint64_t)-b->ix, n) : 0;
    int64_t end = (int64_t)k->win - b->ix;
    struct eng_line line = {.axis = PR_AXIS_W};

    if (iy < 0 || iy >= k->hin) {
        fill(to, n, k->outside);
        return;
    }
    end = end < n ? end : n;
    line.n = end > first ? (uint32_t)end - first : 0;
    line.index[PR_AXIS_W] = line.n ? (uint32_t)(b->ix + first) : 0;
    line.index[PR_AXIS_H] = (uint32_t)iy;
    line.index[PR_AXIS_C] = channel;
    fill(to, first, k->outside);
    load_line(k, line, to + first);
    fill(to + first + line.n, n - first - line.n, k->outside);
}

/*
 * Makes the elements of each tap contiguous. The tap that is one step further has the same elements, except
 * for the first.
 */
static void spread(const struct columns *k, const float *line, float *to)
{
    uint32_t step = k->ne->task->ne.sx, n = k->acc_row;

    for (uint32_t p = 0; p < k->window; p++, to += k->in_tap) {
        if (p >= step) {
            memcpy(to, to - step * k->in_tap + 1, (n - 1) * sizeof(float));
            to[n - 1] = line[(size_t)(n - 1) * step + p];
            continue;
        }
        for (uint32_t x = 0; x < n; x++)
            to[x] = line[(size_t)x * step + p];
    }
}

/* The input rows that the block needs. */
static void load_input(const struct columns *k, const struct block *b, uint32_t channel)
{
    const struct pr_ne *n = &k->ne->task->ne;
    uint32_t rows = (b->rows - 1) * n->sy + n->kh, length = (k->acc_row - 1) * n->sx + k->window;

    for (uint32_t row = 0; row < rows; row++) {
        float *to = b->in + row * k->in_row;

        load_row(k, b, channel, b->iy + row, n->sx == 1 ? to : b->line, length);
        if (n->sx != 1)
            spread(k, b->line, to);
    }
}

/* The weights of one output channel for its c-th input channel: for each tap the columns of a step. */
static void load_panel(const struct columns *k, const struct block *b, uint32_t c)
{
    const struct eng_ne *ne = k->ne;
    uint32_t taps = k->window * ne->task->ne.kh, ox = ne->task->ne.ox;
    const uint8_t *from;
    size_t stride;

    eng_weights_run(ne->weights, ne->task, ne->group, b->channel * ox, ox, (uint64_t)c * taps, &from,
                    &stride);
    memset(b->panel_fp16, 0, (size_t)taps * k->group * 2);
    for (uint32_t tap = 0; tap < taps; tap++)
        memcpy(b->panel_fp16 + (size_t)tap * k->group * 2, from + tap * stride, (size_t)ox * 2);
    k->mac.kernels->to_float(b->panel_fp16, b->panel, (size_t)taps * k->group, &k->mac.weight);
}

/*
 * Padding is zeros in memory, and zero times a weight adds 0 unless the weight is infinite or a NaN. With
 * such a weight, sums are made one at a time, without the taps on the padding.
 */
static void mac_without_padding(const struct columns *k, const struct block *b, const struct eng_mac *call)
{
    const struct pr_ne *n = &k->ne->task->ne;
    uint32_t kx0, kx1;

    for (uint32_t x = 0; x < b->width; x++) {
        eng_ne_taps_inside(b->x0 + x, n->sx, n->px, k->window, k->win, &kx0, &kx1);
        for (uint32_t j = 0; j < k->group; j++) {
            float *sum = call->acc + j * call->acc_channel + x;

            for (uint32_t ky = call->ky0; ky < call->ky1; ky++)
                for (uint32_t kx = kx0; kx < kx1; kx++) {
                    const float *at = call->in + (ky - call->ky0) * call->in_row + kx * call->in_tap;

                    *sum = fmaf(at[x], call->panel[((size_t)ky * k->window + kx) * k->group + j], *sum);
                    if (fabsf(*sum) >= k->mac.ceiling)
                        *sum = copysignf(INFINITY, *sum);
                }
        }
    }
}

static void mac_row(const struct columns *k, const struct block *b, uint32_t row, bool careful)
{
    const struct pr_ne *n = &k->ne->task->ne;
    uint32_t lanes = k->mac.kernels->lanes, vectors = k->acc_row / lanes;
    uint32_t each = eng_ne_blocks(vectors, eng_ne_blocks(vectors, k->mac.kernels->columns));
    struct eng_mac call = {
        .in_row = k->in_row,
        .in_tap = k->in_tap,
        .in_next = lanes,
        .panel = b->panel,
        .channels = 1,
        .kh = n->kh,
        .kw = k->window,
        .kx1 = k->window,
        .acc = b->acc + (size_t)row * k->acc_row,
        .acc_channel = (size_t)k->rows * k->acc_row,
        .acc_next = lanes,
        .ceiling = k->mac.ceiling,
    };

    eng_ne_taps_inside(b->y0 + row, n->sy, n->py, n->kh, k->hin, &call.ky0, &call.ky1);
    call.in = b->in + ((size_t)row * n->sy + call.ky0) * k->in_row;
    if (careful) {
        mac_without_padding(k, b, &call);
        return;
    }
    for (uint32_t v = 0; v < vectors; v += each, call.in += each * lanes, call.acc += each * lanes)
        k->mac.kernels->mac_columns(&call, k->group, eng_least(each, vectors - v));
}

static void mac_block(const struct columns *k, const struct block *b)
{
    const struct pr_ne *n = &k->ne->task->ne;
    bool padded = b->ix < 0 || b->ix + (int64_t)(b->width - 1) * n->sx + k->window > k->win, careful;

    for (uint32_t c = 0; c < k->channels; c++) {
        load_input(k, b, b->channel * n->unicast + c);
        load_panel(k, b, c);
        careful = padded && !k->mac.kernels->all_finite(b->panel, (size_t)k->window * n->kh * k->group);
        for (uint32_t row = 0; row < b->rows; row++)
            mac_row(k, b, row, careful);
    }
}

static void fold_block(const struct columns *k, const struct block *b)
{
    const struct pr_ne *n = &k->ne->task->ne;

    for (uint32_t c = 0; c < k->channels; c++) {
        load_input(k, b, b->channel * n->unicast + c);
        for (uint32_t row = 0; row < b->rows; row++)
            for (uint32_t ky = 0; ky < n->kh; ky++)
                k->mac.kernels->fold_columns(b->acc + (size_t)row * k->acc_row,
                                             b->in + ((size_t)row * n->sy + ky) * k->in_row, k->in_tap,
                                             k->window, k->acc_row, n->mode == PR_NE_PRODUCT);
    }
}

static float bias_of(const struct columns *k, uint32_t channel)
{
    const struct eng_ne *ne = k->ne;
    struct eng_load load = k->mac.weight;
    const uint8_t *from;
    float bias = -0.0f;

    if (!ne->task->ne.bias)
        return bias;
    load.scale = 1;
    eng_weights_bias_run(ne->weights, ne->task, ne->group, channel, 1, &from);
    k->mac.kernels->to_float(from, &bias, 1, &load);
    return bias;
}

static void finish_block(const struct columns *k, const struct block *b)
{
    struct eng_finish finish = k->mac.finish;
    uint8_t buffer[2 * WIDTH_MAX];

    finish.bias = bias_of(k, b->channel);
    for (uint32_t j = 0; j < k->ne->task->ne.ox; j++) {
        const struct eng_view *dst = &k->dst[j];

        /* The last step of a row may make fewer columns than the others. */
        if (dst->extent[PR_AXIS_W] <= b->x0)
            continue;
        for (uint32_t row = 0; row < b->rows; row++) {
            struct eng_line line = {.index = {b->x0, b->y0 + row, 0, b->channel, 0},
                                    .n = eng_least(b->width, dst->extent[PR_AXIS_W] - b->x0)};
            uint8_t *to = eng_view_line_target(dst, &line, buffer);

            k->mac.kernels->finish(b->acc + ((size_t)j * k->rows + row) * k->acc_row, NULL, to, line.n,
                                   &finish);
            eng_view_line_put(dst, &line, to);
        }
    }
}

static void columns_piece(void *context, size_t piece, unsigned worker)
{
    const struct columns *k = context;
    uint64_t number = (uint64_t)piece * k->per_piece, end = number + k->per_piece;
    struct block b;

    for (; number < end && number < k->blocks; number++) {
        block_begin(k, &b, number, worker);
        if (k->ne->task->ne.mode == PR_NE_MAC)
            mac_block(k, &b);
        else
            fold_block(k, &b);
        finish_block(k, &b);
    }
}

/* The start value of a maximum or a product, and its value for elements outside the input. */
static void set_fold(struct columns *k)
{
    if (k->ne->task->ne.mode == PR_NE_PRODUCT) {
        k->start = 1;
        return;
    }
    k->start = -INFINITY;
    if (k->ne->task->ne.pad_lowest)
        k->outside = -INFINITY;
}

int eng_ne_columns(const struct eng_ne *ne)
{
    const uint32_t *in = ne->operands.src[0].extent, *out = ne->operands.dst.extent;
    struct columns k = {
        .ne = ne,
        .mac = eng_mac_setup(ne),
        .channels = pr_kernel_channels(ne->task),
        .window = pr_kernel_window(ne->task),
        .steps = eng_ne_blocks(out[PR_AXIS_W], ne->task->ne.ox),
        .hin = in[PR_AXIS_H],
        .win = in[PR_AXIS_W],
        .cout = out[PR_AXIS_C],
        .hout = out[PR_AXIS_H],
    };

    if (ne->task->ne.mode != PR_NE_MAC)
        set_fold(&k);
    for (uint32_t j = 0; j < ne->task->ne.ox; j++)
        k.dst[j] = eng_view_columns(&ne->operands.dst, j, ne->task->ne.ox);
    plan(&k);
    k.memory = eng_scratch_reserve(ne->scratch, k.worker_floats * eng_pool_workers(ne->pool) * sizeof(float));
    if (!k.memory)
        return -ENOMEM;
    eng_pool_run(ne->pool, (size_t)((k.blocks + k.per_piece - 1) / k.per_piece), columns_piece, &k);
    return 0;
}
