/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels in the order in which the engines read them. The order itself is in program/kernel.c, which the
 * engine uses too; this file only fills in what its functions ask for, so there is no second copy of the
 * rule. Unused places stay the zeros that the caller provides.
 */
#include "compiler/lower/pack.h"

#include "compiler/half.h"
#include "program/kernel_plane.h"
#include "program/task.h"

#define ENGINES_LOG2_MAX 4u
_Static_assert(1u << ENGINES_LOG2_MAX == PR_ENGINES_MAX, "all engines");

static uint32_t floor_log2(uint32_t value)
{
    uint32_t log2 = 0;

    while (value >> (log2 + 1))
        log2++;
    return log2;
}

uint32_t cc_pack_engines_log2(uint32_t cout)
{
    uint32_t log2 = 0;

    while (log2 < ENGINES_LOG2_MAX && 1u << log2 < cout)
        log2++;
    return log2;
}

uint32_t cc_pack_lanes_log2(uint32_t cout, uint32_t max_log2)
{
    uint32_t per_engine = cout >> ENGINES_LOG2_MAX;
    uint32_t log2 = per_engine ? floor_log2(per_engine) : 0;

    return log2 < max_log2 ? log2 : max_log2;
}

/* As much of the task as the rule looks at. */
static struct pr_task task_of(const struct cc_pack *p)
{
    struct pr_task task = {0};

    task.src[0].extent[PR_AXIS_C] = p->cin;
    task.dst.extent[PR_AXIS_C] = p->cout;
    task.dst.extent[PR_AXIS_G] = p->groups ? p->groups : 1;
    task.ne.mode = PR_NE_MAC;
    task.ne.kw = p->kw;
    task.ne.kh = p->kh;
    task.ne.sx = p->sx ? p->sx : 1;
    task.ne.sy = p->sy ? p->sy : 1;
    task.ne.ox = 1;
    task.ne.unicast = p->unicast;
    task.ne.bias = p->bias != NULL;
    task.ne.table = p->table != NULL;
    task.ne.lanes = 1u << p->lanes_log2;
    task.ne.engines = 1u << p->engines_log2;
    return task;
}

uint64_t cc_pack_plane_bytes(const struct cc_pack *p)
{
    struct cc_pack one = *p;
    struct pr_task task;

    one.cout = 1u << (p->lanes_log2 + p->engines_log2);
    one.groups = 1;
    one.table = NULL;
    task = task_of(&one);
    return pr_kernel_stream_bytes(&task, 0);
}

uint64_t cc_pack_stream_bytes(const struct cc_pack *p)
{
    struct pr_task task = task_of(p);

    return pr_round_up(pr_kernel_stream_bytes(&task, 0),
                       PR_ROW_ALIGN); /* the first engine has the most channels */
}

uint32_t cc_pack_streams(const struct cc_pack *p)
{
    return p->cout < 1u << p->engines_log2 ? p->cout : 1u << p->engines_log2;
}

/*
 * Writes the rows of one input channel, by phase of the stride; zeros beyond the kernel. Returns where the
 * next channel begins.
 */
static uint8_t *put_channel(const struct cc_pack *p, const struct pr_ne *ne, const uint16_t *from,
                            uint8_t *at, uint32_t lanes)
{
    uint32_t width = (uint32_t)pr_round_up(ne->kw, ne->sx), height = (uint32_t)pr_round_up(ne->kh, ne->sy);

    for (uint32_t phase = 0; phase < ne->sx * ne->sy; phase++)
        for (uint32_t y = phase / ne->sx; y < height; y += ne->sy)
            for (uint32_t x = phase % ne->sx; x < width; x += ne->sx, at += 2 * (size_t)lanes)
                if (x < ne->kw && y < ne->kh)
                    cc_put_half(at, from[((size_t)y * ne->kw + x) * p->step[2]]);
    return at;
}

/* Weights that follow each other in the order of the stream: those of a stride of 1. */
static uint8_t *put_taps(const uint16_t *from, size_t step, size_t count, uint8_t *at, uint32_t lanes)
{
    for (size_t i = 0; i < count; i++, at += 2 * (size_t)lanes)
        cc_put_half(at, from[i * step]);
    return at;
}

/* All input channels of one output channel. */
static void put_output(const struct cc_pack *p, const struct pr_ne *ne, uint32_t channels,
                       const uint16_t *from, uint8_t *at, uint32_t lanes)
{
    const size_t taps = (size_t)ne->kw * ne->kh;

    if (ne->sx == 1 && ne->sy == 1 && p->step[1] == taps * p->step[2]) {
        put_taps(from, p->step[2], channels * taps, at, lanes);
        return;
    }
    for (uint32_t i = 0; i < channels; i++, from += p->step[1])
        at = ne->sx == 1 && ne->sy == 1 ? put_taps(from, p->step[2], taps, at, lanes)
                                        : put_channel(p, ne, from, at, lanes);
}

void cc_pack_kernel(const struct cc_pack *p, uint64_t stream, uint8_t *bytes)
{
    struct pr_task task = task_of(p);
    uint32_t channels = pr_kernel_channels(&task);
    struct pr_kernel_place place;

    for (uint32_t e = 0; p->table && e < cc_pack_streams(p); e++)
        for (uint32_t i = 0; i < PR_TABLE_VALUES; i++)
            cc_put_half(bytes + e * stream + 2 * (size_t)i, p->table->half[i]);
    for (uint32_t g = 0; g < task.dst.extent[PR_AXIS_G]; g++)
        for (uint32_t o = 0; pr_kernel_place(&task, g, o, &place); o++) {
            uint8_t *at = bytes + place.engine * stream + place.offset + 2 * place.lane;
            size_t output = (size_t)g * p->group_step + o;

            if (p->bias) {
                cc_put_half(at, p->bias[output]);
                at += 2 * (size_t)place.lanes;
            }
            put_output(p, &task.ne, channels, p->weight + output * p->step[0], at, place.lanes);
        }
}

enum { MASK_SLOTS = 8, RECORD_HEAD = 3, RECORD_MAX = 0xffff };

/* A stream that is being written: for every eight slots a mask, then the weights of its set bits. */
struct writer {
    uint8_t *bytes;
    uint64_t size, at, mask; /* where the last mask is */
    unsigned slots;          /* that it has */
};

static void put_slot(struct writer *w, uint16_t half)
{
    if (w->slots % MASK_SLOTS == 0) {
        w->mask = w->at++;
        if (w->mask < w->size)
            w->bytes[w->mask] = 0;
    }
    if (half) {
        if (w->at + 2 <= w->size) {
            w->bytes[w->mask] |= (uint8_t)(1u << w->slots % MASK_SLOTS);
            cc_put_half(w->bytes + w->at, half);
        }
        w->at += 2;
    }
    w->slots++;
}

/* The slots of one input channel, in the order of put_channel. */
static void put_channel_slots(struct writer *w, const struct cc_pack *p, const struct pr_ne *ne,
                              const struct pr_plane *plane, uint32_t slots, const uint16_t *from)
{
    uint32_t width = (uint32_t)pr_round_up(ne->kw, ne->sx), height = (uint32_t)pr_round_up(ne->kh, ne->sy);

    for (uint32_t phase = 0; phase < ne->sx * ne->sy; phase++)
        for (uint32_t y = phase / ne->sx; y < height; y += ne->sy)
            for (uint32_t x = phase % ne->sx; x < width; x += ne->sx)
                for (uint32_t slot = 0; slot < slots; slot++) {
                    bool used = x < ne->kw && y < ne->kh && slot < plane->lanes;
                    size_t tap = ((size_t)y * ne->kw + x) * p->step[2];

                    put_slot(w, used ? from[(size_t)slot * p->step[0] + tap] : 0);
                }
}

/* False: the plane does not fit the stream, or its record. */
static bool put_plane(struct writer *w, const struct cc_pack *p, const struct pr_task *task,
                      const struct pr_plane *plane, size_t output)
{
    uint32_t slots = pr_plane_slots(task, plane->lanes);
    uint64_t head, length;

    if (w->at + (p->bias ? 2 * (uint64_t)plane->lanes : 0) + RECORD_HEAD > w->size)
        return false;
    for (uint32_t lane = 0; p->bias && lane < plane->lanes; lane++, w->at += 2)
        cc_put_half(w->bytes + w->at, p->bias[output + lane]);
    head = w->at;
    w->at += RECORD_HEAD;
    w->slots = 0;
    for (uint32_t i = 0; i < pr_kernel_channels(task); i++)
        put_channel_slots(w, p, &task->ne, plane, slots,
                          p->weight + output * p->step[0] + (size_t)i * p->step[1]);
    length = w->at - head - RECORD_HEAD;
    if (w->at > w->size || length > RECORD_MAX)
        return false;
    cc_put_half(w->bytes + head, (uint16_t)length);
    w->at = pr_round_up(w->at, PR_ROW_ALIGN);
    return w->at <= w->size;
}

uint64_t cc_pack_sparse(const struct cc_pack *p, uint64_t stream, uint8_t *bytes)
{
    struct pr_task task = task_of(p);
    uint64_t longest = 0;

    task.ne.sparse = task.ne.small = true;
    for (uint32_t e = 0; e < cc_pack_streams(p); e++) {
        struct writer w = {.bytes = bytes + e * stream, .size = stream};

        for (uint32_t i = 0; p->table && i < PR_TABLE_VALUES; i++, w.at += 2)
            cc_put_half(w.bytes + w.at, p->table->half[i]);
        for (uint32_t g = 0; g < task.dst.extent[PR_AXIS_G]; g++) {
            struct pr_plane plane = {.engine = e};

            while (pr_plane_next(&task, &plane))
                if (!put_plane(&w, p, &task, &plane, (size_t)g * p->group_step + plane.channel))
                    return 0;
        }
        longest = w.at > longest ? w.at : longest;
    }
    return longest < stream ? longest : 0;
}
