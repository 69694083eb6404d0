/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A panel is filled run by run: the weights of neighbouring output channels are contiguous in the streams.
 * Equal runs that are not too short are converted to fp32 in place. Others are copied beside each other, some
 * rows at a time that stay in the first-level cache, and converted there.
 */
#include "engine/ne_panel.h"

#include <string.h>

/* Loops whose counts are constants where they are inlined. */
#define INLINE static inline __attribute__((always_inline))

enum {
    PART_ROWS = 128, /* that are copied before they are converted */
    TAPS_MAX = 64,   /* of a kernel whose runs are converted in place */
    LEAST_LANES = 4, /* of such a run */
    CACHE_LINE = 64, /* bytes */
};

/* From an input channel to the next, from a kernel row to the next of its phase, and between phases. */
struct distances {
    size_t channel, row, phase_row, phase;
};

static struct distances distances_of(const struct eng_panel *p, size_t stride)
{
    const struct pr_ne *n = &p->ne->task->ne;
    size_t columns = (n->kw - 1) / n->sx + 1, rows = (n->kh - 1) / n->sy + 1;

    if (!eng_weights_are_phased(p->ne->weights, p->ne->task))
        return (struct distances){.channel = n->kw * n->kh * stride, .row = n->kw * stride};
    return (struct distances){.channel = n->sx * n->sy * rows * columns * stride,
                              .row = columns * stride,
                              .phase_row = n->sx * rows * columns * stride,
                              .phase = rows * columns * stride};
}

INLINE void copy_row(const struct eng_panel_runs *r, size_t offset, uint8_t *to, size_t width)
{
    for (uint32_t i = 0; i < r->count; i++, to += 2 * width)
        memcpy(to, r->from[i] + offset, 2 * width);
}

/* The rows of some input channels, in the panel's order. */
INLINE void copy_channels(const struct eng_panel *p, const struct eng_panel_runs *r, uint32_t first,
                          uint32_t count, size_t width)
{
    const struct pr_ne *n = &p->ne->task->ne;
    bool phased = eng_weights_are_phased(p->ne->weights, p->ne->task);
    uint32_t sx = phased ? n->sx : 1, sy = phased ? n->sy : 1;
    struct distances d = distances_of(p, r->stride);
    uint8_t *to = p->fp16 + 2 * (size_t)r->column;

    for (uint32_t c = 0; c < count; c++) {
        size_t channel = (p->cin + first + c) * d.channel;

        for (uint32_t ky = 0, y = 0, down = 0; ky < n->kh; ky++) {
            size_t row = channel + y * d.phase_row + down * d.row;

            for (uint32_t kx = 0, x = 0; kx < n->kw; kx++, to += 2 * (size_t)p->group) {
                copy_row(r, row + x * d.phase, to, width);
                if (++x == sx) {
                    x = 0;
                    row += r->stride;
                }
            }
            if (++y == sy) {
                y = 0;
                down++;
            }
        }
    }
}

/* From the run before it to a run: the same as a pointer difference where both are in one stream. */
static size_t distance(const struct eng_panel_runs *r, uint32_t run)
{
    return (size_t)((uintptr_t)r->from[run] - (uintptr_t)r->from[run - 1]);
}

/* Runs of one column whose rows follow each other, at equal distances: rows of a matrix to transpose. */
static bool is_matrix(const struct eng_panel *p, const struct eng_panel_runs *r)
{
    if (r->width != 1 || r->stride != 2 || r->count < 2 ||
        eng_weights_are_phased(p->ne->weights, p->ne->task))
        return false;
    for (uint32_t i = 2; i < r->count; i++)
        if (distance(r, i) != distance(r, 1))
            return false;
    return (uintptr_t)r->from[1] > (uintptr_t)r->from[0];
}

static void transpose(const struct eng_panel *p, const struct eng_panel_runs *r, uint32_t first,
                      uint32_t count)
{
    const size_t taps = (size_t)p->ne->task->ne.kw * p->ne->task->ne.kh;

    p->mac->kernels->transpose(r->from[0] + 2 * taps * (p->cin + first), distance(r, 1),
                               p->fp16 + 2 * (size_t)r->column, 2 * (size_t)p->group, r->count, count * taps);
}

static void copy(const struct eng_panel *p, const struct eng_panel_runs *r, uint32_t first, uint32_t count)
{
    if (is_matrix(p, r)) {
        transpose(p, r, first, count);
        return;
    }
    switch (r->width) {
    case 1: copy_channels(p, r, first, count, 1); break;
    case 2: copy_channels(p, r, first, count, 2); break;
    case 4: copy_channels(p, r, first, count, 4); break;
    case 8: copy_channels(p, r, first, count, 8); break;
    case 16: copy_channels(p, r, first, count, 16); break;
    default: copy_channels(p, r, first, count, r->width); break;
    }
}

/* The runs from `column` on that have the first one's width and stride. */
static void find_runs(const struct eng_panel *p, uint32_t column, struct eng_panel_runs *r)
{
    uint32_t width;
    size_t stride;

    r->column = column;
    for (r->count = 0; column < p->count && r->count < ENG_PANEL_RUNS; r->count++, column += width) {
        width = eng_weights_run(p->ne->weights, p->ne->task, p->ne->group, p->first + column,
                                p->count - column, 0, &r->from[r->count], &stride);
        if (r->count && (width != r->width || stride != r->stride))
            return;
        r->width = width;
        r->stride = stride;
    }
}

/* Where the rows of an input channel are in the streams, in the panel's order. */
static void find_taps(const struct eng_panel *p, const struct distances *d, size_t stride, uint32_t *tap)
{
    const struct pr_ne *n = &p->ne->task->ne;
    bool phased = eng_weights_are_phased(p->ne->weights, p->ne->task);
    uint32_t sx = phased ? n->sx : 1, sy = phased ? n->sy : 1;

    for (uint32_t ky = 0; ky < n->kh; ky++)
        for (uint32_t kx = 0; kx < n->kw; kx++)
            *tap++ =
                (uint32_t)(ky % sy * d->phase_row + ky / sy * d->row + kx % sx * d->phase + kx / sx * stride);
}

/* Equal runs that are all of the panel, parts of whole vectors or whole vectors each. */
static bool convert(const struct eng_panel *p, const struct eng_panel_runs *r)
{
    uint32_t lanes = p->mac->kernels->lanes, taps = p->ne->task->ne.kw * p->ne->task->ne.kh;
    struct distances d = distances_of(p, r->stride);
    const uint8_t *run[ENG_PANEL_RUNS];
    uint32_t tap[TAPS_MAX], width = eng_least(r->width, lanes), count = 0;
    struct eng_runs runs = {
        .run = run,
        .lanes = width,
        .vectors = p->group / lanes,
        .tap = tap,
        .taps = taps,
        .channels = p->channels,
        .channel = d.channel,
        .to = p->to,
    };

    if (width < LEAST_LANES || lanes % width || r->width % width || p->group % lanes || taps > TAPS_MAX ||
        r->count * r->width != p->group || p->group / width > ENG_PANEL_RUNS)
        return false;
    for (uint32_t i = 0; i < r->count; i++)
        for (uint32_t at = 0; at < r->width; at += width)
            run[count++] = r->from[i] + p->cin * d.channel + 2 * (size_t)at;
    find_taps(p, &d, r->stride, tap);
    p->mac->kernels->runs_to_float(&runs, &p->mac->weight);
    return true;
}

void eng_panel_find(struct eng_panel *p)
{
    find_runs(p, 0, &p->runs);
}

void eng_panel_prefetch(const struct eng_panel *p, uint32_t part, uint32_t parts)
{
    size_t channel = distances_of(p, p->runs.stride).channel, all = p->channels * channel;
    size_t begin = all / parts * part, end = part + 1 == parts ? all : begin + all / parts;

    for (uint32_t i = 0; i < p->runs.count; i++)
        for (size_t at = begin; at < end; at += CACHE_LINE)
            __builtin_prefetch(p->runs.from[i] + p->cin * channel + at);
}

void eng_panel_load(const struct eng_panel *p)
{
    const struct pr_ne *n = &p->ne->task->ne;
    size_t taps = (size_t)n->kw * n->kh;
    uint32_t part = eng_least(p->channels, taps < PART_ROWS ? PART_ROWS / taps : 1), count;
    struct eng_panel_runs others;

    if (convert(p, &p->runs))
        return;
    if (p->count < p->group)
        memset(p->fp16, 0, part * taps * p->group * 2);
    for (uint32_t c = 0; c < p->channels; c += count) {
        count = eng_least(part, p->channels - c);
        copy(p, &p->runs, c, count);
        for (uint32_t column = p->runs.count * p->runs.width; column < p->count;
             column += others.count * others.width) {
            find_runs(p, column, &others);
            copy(p, &others, c, count);
        }
        p->mac->kernels->to_float(p->fp16, p->to + c * taps * p->group, count * taps * p->group,
                                  &p->mac->weight);
    }
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
