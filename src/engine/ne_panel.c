/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A panel is filled run by run: the weights of neighbouring output channels are contiguous in the streams.
 * Runs that fill vectors are converted to fp32 directly, narrow ones are made contiguous before.
 */
#include "engine/ne_panel.h"

#include <string.h>

/* Rows of the kernel at equal distances, and which rows of the panel they become. */
struct rows {
    const uint8_t *from;
    size_t stride; /* bytes */
    size_t first, step, count;
};

typedef void take_rows(const struct eng_panel *p, const struct rows *rows, uint32_t column, uint32_t run);

static void convert(const struct eng_panel *p, const struct rows *r, uint32_t column, uint32_t run)
{
    float *to = p->to + r->first * p->group + column;

    if (run == p->group && r->stride == 2 * (size_t)run && r->step == 1)
        p->mac->kernels->to_float(r->from, to, r->count * run, &p->mac->weight);
    else
        p->mac->kernels->rows_to_float(r->from, r->stride, to, r->step * p->group, r->count, run,
                                       &p->mac->weight);
}

/* Copies rows beside other rows; `run` is a power of two except in the last run. */
static void copy(const struct eng_panel *p, const struct rows *r, uint32_t column, uint32_t run)
{
    size_t to_stride = r->step * p->group * 2;
    uint8_t *to = p->fp16 + 2 * (r->first * p->group + column);
    const uint8_t *from = r->from;

    for (size_t left = r->count; left; left--, from += r->stride, to += to_stride) {
        switch (run) {
        case 1: memcpy(to, from, 2); break;
        case 2: memcpy(to, from, 4); break;
        case 4: memcpy(to, from, 8); break;
        case 8: memcpy(to, from, 16); break;
        default: memcpy(to, from, 2 * (size_t)run); break;
        }
    }
}

/* Those of one input channel, kernel row and phase at a time, as eng_weights_row has them. */
static void take_phases(const struct eng_panel *p, struct rows *r, uint32_t column, uint32_t run,
                        take_rows *take)
{
    const struct pr_ne *n = &p->ne->task->ne;
    size_t columns = (n->kw - 1) / n->sx + 1, rows = (n->kh - 1) / n->sy + 1, row = 0;
    size_t phase = rows * columns * r->stride; /* bytes */
    const uint8_t *channel = r->from + (size_t)p->cin * n->sx * n->sy * phase;

    r->step = n->sx;
    for (uint32_t c = 0; c < p->channels; c++, channel += (size_t)n->sx * n->sy * phase)
        for (uint32_t ky = 0; ky < n->kh; ky++, row++) {
            r->from = channel + ky % n->sy * n->sx * phase + ky / n->sy * columns * r->stride;
            for (uint32_t x = 0; x < n->sx && x < n->kw; x++, r->from += phase) {
                r->first = row * n->kw + x;
                r->count = (n->kw - 1 - x) / n->sx + 1;
                take(p, r, column, run);
            }
        }
}

/*
 * A run's rows. In a kernel with steps they are in the streams by phase of the step, so those of one kernel
 * row and phase are a piece; a kernel of one tap has one row of use per input channel.
 */
static uint32_t take_run(const struct eng_panel *p, uint32_t column, take_rows *take)
{
    const struct pr_ne *n = &p->ne->task->ne;
    uint32_t taps = n->kw * n->kh, run, channels = p->channels;
    bool phased = eng_weights_are_phased(p->ne->weights, p->ne->task);
    uint64_t cin = p->cin;
    struct rows r = {.step = 1, .count = (size_t)channels * taps};
    const uint8_t *first;

    run = eng_weights_run(p->ne->weights, p->ne->task, p->ne->group, p->first + column, p->count - column,
                          phased ? 0 : cin * taps, &r.from, &r.stride);
    if (!phased) {
        take(p, &r, column, run);
        return run;
    }
    first = r.from;
    if (taps == 1) {
        r.from = first + eng_weights_row(p->ne->task, cin) * r.stride;
        r.stride *= (size_t)n->sx * n->sy;
        take(p, &r, column, run);
        return run;
    }
    take_phases(p, &r, column, run, take);
    return run;
}

/* Runs that make whole vectors, or halves of long ones. */
static bool is_direct(const struct eng_panel *p)
{
    uint32_t lanes = p->mac->kernels->lanes, least = lanes < 8 ? lanes : 8, run;
    const uint8_t *from;
    size_t stride;

    for (uint32_t c = 0; c < p->count; c += run) {
        run = eng_weights_run(p->ne->weights, p->ne->task, p->ne->group, p->first + c, p->count - c, 0, &from,
                              &stride);
        if (run % least)
            return false;
    }
    return p->count == p->group;
}

void eng_panel_load(const struct eng_panel *p)
{
    size_t rows = (size_t)p->channels * p->ne->task->ne.kw * p->ne->task->ne.kh;

    if (is_direct(p)) {
        for (uint32_t c = 0; c < p->count;)
            c += take_run(p, c, convert);
        return;
    }
    if (p->count < p->group)
        memset(p->fp16, 0, rows * p->group * 2);
    for (uint32_t c = 0; c < p->count;)
        c += take_run(p, c, copy);
    p->mac->kernels->to_float(p->fp16, p->to, rows * p->group, &p->mac->weight);
}

void eng_panel_load_bias(const struct eng_ne *ne, const struct eng_mac_setup *mac, uint32_t first,
                         uint32_t count, float *to)
{
    struct eng_load load = mac->weight;
    const uint8_t *from;
    uint32_t run;

    load.scale = 1;
    for (uint32_t c = 0; c < count; c += run) {
        run = 1;
        if (ne->task->ne.bias) {
            run = eng_weights_bias_run(ne->weights, ne->task, ne->group, first + c, count - c, &from);
            mac->kernels->to_float(from, to + c, run, &load);
        } else {
            to[c] = -0.0f;
        }
    }
}
