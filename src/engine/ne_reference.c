/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: the reference of everything with a window.
 *
 * A sum is one chain of fused multiply-adds from +0 over input channel, kernel row and window column, in this
 * order. A tap on the padding is left out, whatever its weight. Every column of the window is a tap, also one
 * that the kernel of this output column does not reach and that therefore has the weight 0: only an infinite
 * element shows the difference.
 */
#include "engine/ne.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "engine/exact.h"
#include "engine/finish.h"

/* The state of one output. */
struct sum {
    float value;
    struct eng_exact exact;
};

struct reference {
    const struct eng_ne *ne;
    struct sum *memory; /* for each worker the sums of a row, and then room for a row of the input */
    size_t worker_sums;
};

static void sum_begin(const struct eng_ne *ne, struct sum *sum)
{
    sum->value = 0;
    if (ne->exact)
        eng_exact_begin(&sum->exact);
}

static void sum_add(const struct eng_ne *ne, struct sum *sum, float x, float weight)
{
    if (ne->exact)
        eng_exact_add(&sum->exact, x, weight);
    else
        sum->value = eng_mac_value(sum->value, x, weight, ne->rules->mac);
}

static float sum_end(const struct eng_ne *ne, struct sum *sum)
{
    return ne->exact ? eng_exact_end(&sum->exact) : sum->value;
}

/* The input channels that an output channel sees begin here. */
static uint32_t first_channel(const struct eng_ne *ne, uint32_t channel)
{
    return channel * ne->task->ne.unicast;
}

/* The kernel's row for output row y, as a row of the input; false when it is outside. */
static bool input_row(const struct eng_ne *ne, uint32_t y, uint32_t ky, uint32_t *row)
{
    int64_t iy = (int64_t)y * ne->task->ne.sy + ky - ne->task->ne.py;

    *row = (uint32_t)iy;
    return iy >= 0 && iy < ne->operands.src[0].extent[PR_AXIS_H];
}

static bool input_column(const struct eng_ne *ne, uint32_t x, uint32_t p, uint32_t *column)
{
    int64_t ix = (int64_t)(x / ne->task->ne.ox) * ne->task->ne.sx + p - ne->task->ne.px;

    *column = (uint32_t)ix;
    return ix >= 0 && ix < ne->operands.src[0].extent[PR_AXIS_W];
}

static void load_row(const struct eng_ne *ne, uint32_t channel, uint32_t row, float *in)
{
    const struct eng_view *src = &ne->operands.src[0];
    uint32_t index[PR_AXES] = {[PR_AXIS_H] = row, [PR_AXIS_C] = channel};

    eng_view_load_row(src, index, in, src->extent[PR_AXIS_W], ne->rules->load | ne->rules->mac);
}

/* Window column p, whose weights are in kernel row `tap`: the chain of every output goes on by one. */
static void mac_column(const struct eng_ne *ne, uint32_t channel, uint32_t p, uint32_t tap, const float *in,
                       struct sum *sum)
{
    uint32_t ox = ne->task->ne.ox, wout = ne->operands.dst.extent[PR_AXIS_W], ix;
    float weight[ENG_NE_OX_MAX];

    for (uint32_t j = 0; j < ox; j++)
        weight[j] = eng_load_value(eng_weights_half(ne->weights, ne->task, ne->group, channel * ox + j, tap),
                                   ne->rules->load | ne->rules->mac);
    for (uint32_t x = 0; x < wout; x++)
        if (input_column(ne, x, p, &ix))
            sum_add(ne, &sum[x], in[ix], weight[x % ox]);
}

/* The value that is added to a channel's sums; -0, which changes no sum, when the kernel has no bias. */
static float bias_of(const struct eng_ne *ne, uint32_t channel)
{
    const uint8_t *from;
    uint16_t half;

    if (!ne->task->ne.bias)
        return -0.0f;
    eng_weights_bias_run(ne->weights, ne->task, ne->group, channel, 1, &from);
    memcpy(&half, from, sizeof(half));
    return eng_load_value(half, ne->rules->load | ne->rules->mac);
}

static void mac_row(const struct eng_ne *ne, uint32_t channel, uint32_t y, float *in, struct sum *sum)
{
    uint32_t kh = ne->task->ne.kh, window = pr_kernel_window(ne->task), row;
    float bias = bias_of(ne, channel);

    for (uint32_t x = 0; x < ne->operands.dst.extent[PR_AXIS_W]; x++)
        sum_begin(ne, &sum[x]);
    for (uint32_t c = 0; c < pr_kernel_channels(ne->task); c++) {
        for (uint32_t ky = 0; ky < kh; ky++) {
            if (!input_row(ne, y, ky, &row))
                continue;
            load_row(ne, first_channel(ne, channel) + c, row, in);
            for (uint32_t p = 0; p < window; p++)
                mac_column(ne, channel, p, (c * kh + ky) * window + p, in, sum);
        }
    }
    for (uint32_t x = 0; x < ne->operands.dst.extent[PR_AXIS_W]; x++)
        sum[x].value = eng_finish_value(&ne->finish, sum_end(ne, &sum[x]), bias);
}

/*
 * An element outside the input is zero, or, for a maximum, may be left out. The product begins with the first
 * factor.
 */
static void fold_column(const struct eng_ne *ne, uint32_t p, bool inside, bool first, const float *in,
                        struct sum *sum)
{
    const struct pr_ne *n = &ne->task->ne;
    uint32_t ix;

    for (uint32_t x = 0; x < ne->operands.dst.extent[PR_AXIS_W]; x++) {
        bool there = input_column(ne, x, p, &ix) && inside;
        float value = there ? in[ix] : 0;

        if (n->mode == PR_NE_PRODUCT)
            sum[x].value = first ? value : sum[x].value * value;
        else if (there || !n->pad_lowest)
            sum[x].value = eng_max(sum[x].value, value);
    }
}

static void fold_row(const struct eng_ne *ne, uint32_t channel, uint32_t y, float *in, struct sum *sum)
{
    const struct pr_ne *n = &ne->task->ne;
    uint32_t row;

    for (uint32_t x = 0; x < ne->operands.dst.extent[PR_AXIS_W]; x++)
        sum[x].value = -INFINITY;
    for (uint32_t c = 0; c < pr_kernel_channels(ne->task); c++) {
        for (uint32_t ky = 0; ky < n->kh; ky++) {
            bool inside = input_row(ne, y, ky, &row);

            if (inside)
                load_row(ne, first_channel(ne, channel) + c, row, in);
            for (uint32_t p = 0; p < n->kw; p++)
                fold_column(ne, p, inside, !c && !ky && !p, in, sum);
        }
    }
    for (uint32_t x = 0; x < ne->operands.dst.extent[PR_AXIS_W]; x++)
        sum[x].value = eng_finish_value(&ne->finish, sum[x].value, -0.0f);
}

static void reference_piece(void *context, size_t piece, unsigned worker)
{
    const struct reference *r = context;
    const struct eng_ne *ne = r->ne;
    const struct eng_view *dst = &ne->operands.dst;
    uint32_t channel = (uint32_t)(piece / dst->extent[PR_AXIS_H]),
             y = (uint32_t)(piece % dst->extent[PR_AXIS_H]);
    struct sum *sum = r->memory + worker * r->worker_sums;
    float *in = (float *)(sum + dst->extent[PR_AXIS_W]);
    uint32_t index[PR_AXES] = {[PR_AXIS_H] = y, [PR_AXIS_C] = channel};

    if (ne->task->ne.mode == PR_NE_MAC)
        mac_row(ne, channel, y, in, sum);
    else
        fold_row(ne, channel, y, in, sum);
    for (uint32_t x = 0; x < dst->extent[PR_AXIS_W]; x++)
        in[x] = sum[x].value;
    eng_view_store_row(dst, index, in, dst->extent[PR_AXIS_W], ne->finish.store);
}

int eng_ne_reference(const struct eng_ne *ne, struct eng_pool *pool)
{
    const uint32_t *in = ne->operands.src[0].extent, *out = ne->operands.dst.extent;
    uint32_t row = in[PR_AXIS_W] > out[PR_AXIS_W] ? in[PR_AXIS_W] : out[PR_AXIS_W];
    struct reference r = {.ne = ne};

    r.worker_sums = out[PR_AXIS_W] + (row * sizeof(float) + sizeof(struct sum) - 1) / sizeof(struct sum);
    r.memory = eng_scratch_reserve(ne->scratch, r.worker_sums * eng_pool_workers(pool) * sizeof(struct sum));
    if (!r.memory)
        return -ENOMEM;
    eng_pool_run(pool, (size_t)out[PR_AXIS_C] * out[PR_AXIS_H], reference_piece, &r);
    return 0;
}
