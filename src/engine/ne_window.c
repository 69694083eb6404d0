/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: windows over one channel (depthwise convolutions, the largest of a window) by kernels
 * that keep sums in registers from the first input row to the store. A piece of the pool's run is some
 * channels.
 *
 * Padding is zeros there, and zero times a weight adds 0 unless the weight is infinite: a kernel with such a
 * weight is left to ne_columns.c. So are surfaces that are not packed fp16 in host memory, and rules other
 * than those of m1.
 */
#include "engine/ne.h"

#include <errno.h>

#include "engine/half.h"

/* These change only the speed. */
enum {
    PIECE_WORK = 1 << 16, /* taps that are worth handing to another thread */
    TOGETHER = 16,        /* a multiple of the channels that kernels take at once where rows are short */
};

struct windows {
    const struct eng_ne *ne;
    struct eng_window window; /* of channel 0 */
    const struct eng_kernels *kernels;
    uint32_t channels, per_piece, taps;
    float *panel, *bias; /* [tap][channel]; without a bias -0 */
};

/* Whether the end of a maximum changes no element but those below zero. */
static bool has_plain_end(const struct eng_finish *finish)
{
    return !finish->table && finish->post_scale == 1 && finish->acc_bias == 0;
}

static enum eng_window_form form_of(const struct eng_ne *ne)
{
    const struct pr_ne *n = &ne->task->ne;

    if (n->kw != n->kh || n->sx != n->sy || n->ox != 1 || n->unicast != 1 || n->sx > 2)
        return ENG_WINDOW_NONE;
    if (n->mode == PR_NE_MAC && n->kw == 3)
        return n->sx == 1 ? ENG_WINDOW_3 : ENG_WINDOW_3_STEP_2;
    if (n->mode == PR_NE_MAX && (n->kw == 2 || n->kw == 3) && n->sx == 2 && has_plain_end(&ne->finish))
        return ENG_WINDOW_MAX;
    return ENG_WINDOW_NONE;
}

static bool fits(const struct eng_ne *ne)
{
    const struct eng_view *src = &ne->operands.src[0];

    return ne->rules->load == ENG_RULE_NAN_IS_INFINITY && !src->relu && !src->slice &&
           eng_view_is_packed(src, PR_AXIS_W) && eng_view_is_packed(&ne->operands.dst, PR_AXIS_W);
}

/* Channels of a piece. */
static uint32_t channels_of(const struct eng_ne *ne)
{
    const struct pr_ne *n = &ne->task->ne;
    const uint32_t *out = ne->operands.dst.extent;
    const uint64_t work = (uint64_t)out[PR_AXIS_W] * out[PR_AXIS_H] * n->kw * n->kh;
    const uint32_t count = work < PIECE_WORK ? (uint32_t)(PIECE_WORK / work) : 1;

    return count < TOGETHER ? count : count / TOGETHER * TOGETHER;
}

static struct windows windows_of(const struct eng_ne *ne, enum eng_window_form form)
{
    const struct eng_view *src = &ne->operands.src[0], *dst = &ne->operands.dst;
    const struct eng_mac_setup setup = eng_mac_setup(ne);
    const struct pr_ne *n = &ne->task->ne;

    return (struct windows){
        .ne = ne,
        .window = {.form = form,
                   .in = src->host,
                   .in_channel = src->stride[PR_AXIS_C],
                   .in_row = src->stride[PR_AXIS_H],
                   .hin = src->extent[PR_AXIS_H],
                   .win = src->extent[PR_AXIS_W],
                   .px = n->px,
                   .py = n->py,
                   .out = dst->host,
                   .out_channel = dst->stride[PR_AXIS_C],
                   .out_row = dst->stride[PR_AXIS_H],
                   .hout = dst->extent[PR_AXIS_H],
                   .wout = dst->extent[PR_AXIS_W],
                   .tail = dst->tail / 2,
                   .ceiling = setup.ceiling,
                   .high = ne->finish.table ? eng_float_to_half(ne->finish.table->high) : 0,
                   .side = n->kw,
                   .lowest = n->pad_lowest,
                   .finish = setup.finish},
        .kernels = setup.kernels,
        .channels = dst->extent[PR_AXIS_C],
        .per_piece = channels_of(ne),
        .taps = n->mode == PR_NE_MAC ? n->kw * n->kh : 0,
    };
}

/*
 * All weights as fp32, scaled for the inputs too, which the kernels then do not scale. False when one is not
 * finite then: infinite, or at least 2^15.
 */
static bool load_panel(struct windows *k)
{
    const struct eng_ne *ne = k->ne;
    const struct eng_mac_setup setup = eng_mac_setup(ne);
    struct eng_load load = {.rules = setup.weight.rules, .scale = setup.weight.scale * setup.input.scale};
    const uint8_t *from;
    size_t stride;
    uint32_t run;

    for (uint32_t c = 0; c < k->channels; c += run) {
        run = eng_weights_run(ne->weights, ne->task, ne->group, c, k->channels - c, 0, &from, &stride);
        for (uint32_t tap = 0; tap < k->taps; tap++)
            k->kernels->to_float(from + tap * stride, k->panel + (size_t)tap * k->channels + c, run, &load);
    }
    load.scale = 1;
    for (uint32_t c = 0; c < k->channels; c += run) {
        run = 1;
        k->bias[c] = -0.0f;
        if (ne->task->ne.bias) {
            run = eng_weights_bias_run(ne->weights, ne->task, ne->group, c, k->channels - c, &from);
            k->kernels->to_float(from, k->bias + c, run, &load);
        }
    }
    return k->kernels->all_finite(k->panel, (size_t)k->taps * k->channels);
}

static void window_piece(void *context, size_t piece, unsigned worker)
{
    const struct windows *k = context;
    uint32_t first = (uint32_t)piece * k->per_piece,
             end = eng_least((uint64_t)first + k->per_piece, k->channels);
    struct eng_window window = k->window;

    (void)worker;
    window.channels = end - first;
    window.in += first * window.in_channel;
    window.out += first * window.out_channel;
    if (window.form == ENG_WINDOW_MAX) {
        k->kernels->pool(&window);
        return;
    }
    window.weight = k->panel + first;
    window.weight_tap = k->channels;
    window.bias = k->bias + first;
    k->kernels->window(&window);
}

int eng_ne_window(const struct eng_ne *ne)
{
    enum eng_window_form form = form_of(ne);
    struct windows k;

    if (form == ENG_WINDOW_NONE || !fits(ne))
        return -ENOTSUP;
    k = windows_of(ne, form);
    if (k.taps) {
        k.panel = eng_scratch_reserve(ne->scratch, (size_t)(k.taps + 1) * k.channels * sizeof(float));
        if (!k.panel)
            return -ENOMEM;
        k.bias = k.panel + (size_t)k.taps * k.channels;
        if (!load_panel(&k))
            return -ENOTSUP;
    }
    eng_pool_run(ne->pool, eng_ne_blocks(k.channels, k.per_piece), window_piece, &k);
    return 0;
}
