/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When Winograd's algorithm is used. The edges of the m1 policy depend on partial sums, which this algorithm
 * does not have: it is used only where no partial sum of the chain can meet an edge. A partial sum is at
 * most the largest input times the sum of a channel's weights, in magnitude.
 */
#include <math.h>

#include "engine/half.h"
#include "engine/ne_winograd.h"

enum {
    TAPS = 9,
    CHANNELS_MAX = 2048,      /* of the input: they are transformed all at once */
    SHARED_WEIGHTS = 1 << 16, /* so many are read by all threads */
};

/*
 * What the steps cost, in products: measured with AVX-512 on a Zen 4 core, against sums of products at its
 * peak. Other processors use the same figures, because results must not depend on the processor.
 */
enum {
    ELEMENTS = 16,     /* products of a tile and a pair of channels */
    VECTOR = 16,       /* tiles that cost as much as one; of fewer each one costs as two */
    COST_TILE = 180,   /* of a channel, input or output: the transform */
    COST_WEIGHTS = 90, /* of a pair of channels: the transform */
    COST_START = 300000,
};

/* Below the ceiling by more than what rounding adds to a sum of at most 9 * CHANNELS_MAX numbers. */
#define LIMIT 0x1p14

static bool has_form(const struct eng_ne *ne)
{
    const struct pr_ne *n = &ne->task->ne;

    return n->mode == PR_NE_MAC && !n->unicast && n->ox == 1 && n->kw == 3 && n->kh == 3 && n->sx == 1 &&
           n->sy == 1 && !ne->operands.src[0].slice && ne->operands.src[0].extent[PR_AXIS_C] <= CHANNELS_MAX;
}

/* Faster by a twentieth at least. Extents are below 2^16, so that no product here overflows. */
static bool is_faster(const struct eng_ne *ne)
{
    const uint32_t *in = ne->operands.src[0].extent, *out = ne->operands.dst.extent;
    uint64_t tiles = (uint64_t)eng_ne_blocks(out[PR_AXIS_W], 2) * eng_ne_blocks(out[PR_AXIS_H], 2);
    uint64_t pairs = (uint64_t)in[PR_AXIS_C] * out[PR_AXIS_C], rest = tiles % VECTOR;
    uint64_t chain = (uint64_t)out[PR_AXIS_W] * out[PR_AXIS_H] * TAPS * pairs;
    uint64_t cost = COST_START + pairs * COST_WEIGHTS +
                    tiles * COST_TILE * (in[PR_AXIS_C] + (uint64_t)out[PR_AXIS_C]) +
                    pairs * ELEMENTS * (tiles - rest + eng_least(2 * rest, VECTOR));

    return cost + cost / 20 < chain;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* What bits of a magnitude are; infinite when that is not finite. */
static double magnitude_of(uint32_t bits)
{
    return bits >= ENG_HALF_INFINITY ? INFINITY : (double)eng_half_to_float((uint16_t)bits);
}

static uint32_t largest_in_lines(const struct eng_view *src, struct eng_line line)
{
    uint32_t most = 0, width = src->extent[PR_AXIS_W];
    uint8_t buffer[ENG_LINE_BYTES];

    for (uint32_t x = 0; x < width; x += ENG_LINE_MAX) {
        line.index[PR_AXIS_W] = x;
        line.n = eng_least(ENG_LINE_MAX, width - x);
        most = larger(most, eng_kernels_get()->largest(eng_view_line(src, &line, buffer), 0, 1, line.n));
    }
    return most;
}

static double largest_input(const struct eng_ne *ne)
{
    const struct eng_kernels *kernels = eng_kernels_get();
    const struct eng_view *src = &ne->operands.src[0];
    uint32_t most = 0, height = src->extent[PR_AXIS_H];
    bool packed = eng_view_is_packed(src, PR_AXIS_W);

    if (packed && src->stride[PR_AXIS_C] == height * src->stride[PR_AXIS_H])
        return magnitude_of(kernels->largest(src->host, src->stride[PR_AXIS_H],
                                             (size_t)height * src->extent[PR_AXIS_C],
                                             src->extent[PR_AXIS_W]));
    for (uint32_t c = 0; c < src->extent[PR_AXIS_C]; c++) {
        struct eng_line line = {.index = {0, 0, 0, c, 0}};

        if (packed)
            most = larger(most, kernels->largest(eng_view_line(src, &line, NULL), src->stride[PR_AXIS_H],
                                                 height, src->extent[PR_AXIS_W]));
        for (; !packed && line.index[PR_AXIS_H] < height; line.index[PR_AXIS_H]++)
            most = larger(most, largest_in_lines(src, line));
    }
    return magnitude_of(most);
}

/* Output channels whose weights a thread reads: those that it will use, if threads share them out so. */
struct weights_scan {
    const struct eng_ne *ne;
    uint32_t each;
    uint32_t most[ENG_POOL_THREADS_MAX]; /* of a thread */
};

static void scan_piece(void *context, size_t piece, unsigned worker)
{
    struct weights_scan *scan = context;
    const struct eng_ne *ne = scan->ne;
    uint32_t most = 0, c = (uint32_t)piece * scan->each, run;
    uint32_t end = eng_least((uint64_t)c + scan->each, ne->operands.dst.extent[PR_AXIS_C]);
    size_t rows = (size_t)ne->operands.src[0].extent[PR_AXIS_C] * TAPS, stride;
    const uint8_t *from;

    for (; c < end; c += run) {
        run = eng_weights_run(ne->weights, ne->task, ne->group, c, end - c, 0, &from, &stride);
        most = larger(most, stride == 2 * (size_t)run ? eng_kernels_get()->largest(from, 0, 1, rows * run)
                                                      : eng_kernels_get()->largest(from, stride, rows, run));
    }
    scan->most[worker] = larger(scan->most[worker], most);
}

static double largest_weight(const struct eng_ne *ne)
{
    uint32_t cout = ne->operands.dst.extent[PR_AXIS_C], most = 0, threads = eng_pool_workers(ne->pool);
    uint64_t weights = (uint64_t)cout * ne->operands.src[0].extent[PR_AXIS_C] * TAPS;
    struct weights_scan scan = {.ne = ne, .each = cout};

    if (threads > 1 && weights >= SHARED_WEIGHTS)
        scan.each = larger(ENG_WINOGRAD_GROUP, ne->task->ne.lanes);
    eng_pool_run(ne->pool, eng_ne_blocks(cout, scan.each), scan_piece, &scan);
    for (uint32_t i = 0; i < threads; i++)
        most = larger(most, scan.most[i]);
    return magnitude_of(most);
}

/* The largest sum of an output channel's weights, in magnitude. */
static double largest_sum(const struct eng_ne *ne)
{
    const struct eng_kernels *kernels = eng_kernels_get();
    struct eng_load load = {.rules = ne->rules->load | ne->rules->mac, .scale = 1};
    uint32_t cout = ne->operands.dst.extent[PR_AXIS_C], run;
    size_t rows = (size_t)ne->operands.src[0].extent[PR_AXIS_C] * TAPS, stride;
    float sums[ENG_WINOGRAD_GROUP], most = 0;
    const uint8_t *from;

    for (uint32_t c = 0; c < cout; c += run) {
        run = eng_weights_run(ne->weights, ne->task, ne->group, c, eng_least(cout - c, ENG_WINOGRAD_GROUP), 0,
                              &from, &stride);
        kernels->magnitude_sums(from, stride, rows, run, sums, &load);
        for (uint32_t i = 0; i < run; i++)
            most = sums[i] > most ? sums[i] : most;
    }
    return most;
}

static double largest_bias(const struct eng_ne *ne)
{
    uint32_t most = 0, cout = ne->operands.dst.extent[PR_AXIS_C], run;
    const uint8_t *from;

    if (!ne->task->ne.bias)
        return 0;
    for (uint32_t c = 0; c < cout; c += run) {
        run = eng_weights_bias_run(ne->weights, ne->task, ne->group, c, cout - c, &from);
        most = larger(most, eng_kernels_get()->largest(from, 0, 1, run));
    }
    return magnitude_of(most);
}

/* Whether sums up to this one, and the results made from them, stay below the ceiling. */
static bool is_below(const struct eng_ne *ne, double sum)
{
    double entered = sum + largest_bias(ne) + fabs((double)ne->finish.acc_bias);

    return sum < LIMIT && entered < LIMIT && entered * fabs((double)ne->finish.post_scale) < LIMIT;
}

bool eng_winograd_fits(const struct eng_ne *ne)
{
    double input, weight;

    if (!has_form(ne) || (ne->winograd == ENG_WINOGRAD_ON && !is_faster(ne)))
        return false;
    input = largest_input(ne);
    weight = largest_weight(ne);
    if (!isfinite(input) || !isfinite(weight))
        return false;
    /* Where every weight could be the largest one, the sums need not be made. */
    return is_below(ne, input * weight * TAPS * ne->operands.src[0].extent[PR_AXIS_C]) ||
           is_below(ne, input * largest_sum(ne));
}
