/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where weights are read. When a dense kernel of fp16 values is opened, its streams are checked to be long
 * enough, unless they were granted so; any other kernel is expanded then, within its limit.
 */
#include "engine/weights.h"

#include <errno.h>
#include <string.h>

/* Every output channel sees all input channels, and every weight is there as it is. */
static bool is_dense(const struct pr_task *task)
{
    const struct pr_ne *n = &task->ne;

    return !n->unicast && !n->ones && !n->sparse && !n->palette && n->kernel_format == PR_FP16 && n->ox == 1;
}

static int check_dense(const struct pr_task *task, const struct pr_kernel_bytes *streams,
                       struct pr_problem *problem)
{
    for (uint32_t engine = 0; engine < task->ne.engines; engine++) {
        uint64_t need = pr_kernel_stream_bytes(task, engine);

        if (need <= streams[engine].size)
            continue;
        pr_problem_set(problem, PR_PROBLEM_TRUNCATED,
                       "The kernel of engine %u has %ju bytes, but the task needs %ju.", engine,
                       streams[engine].size, need);
        return -EINVAL;
    }
    return 0;
}

/*
 * Output channels with their own input channels, every weight there as it is: a channel's weights follow each
 * other, and the channels of an engine do, so that they need not be looked up one at a time.
 */
static bool is_plain_unicast(const struct pr_task *task)
{
    const struct pr_ne *n = &task->ne;

    return n->unicast && !n->ones && !n->sparse && !n->palette && n->kernel_format == PR_FP16 && n->ox == 1;
}

static void expand_engine(const struct pr_task *task, const uint8_t *from, size_t plane, uint32_t engine,
                          uint16_t *values, uint16_t *bias)
{
    uint32_t cout = task->dst.extent[PR_AXIS_C];
    uint64_t taps = pr_kernel_weights(task) / cout;

    for (uint64_t tap = 0; tap < taps; tap++) {
        const uint8_t *at = from + 2 * (eng_weights_row(task, tap) + (task->ne.bias ? 1 : 0));

        for (uint32_t c = engine; c < cout; c += task->ne.engines, at += plane)
            memcpy(values + tap * cout + c, at, 2);
    }
    for (uint32_t c = engine; task->ne.bias && c < cout; c += task->ne.engines, from += plane)
        memcpy(bias + c, from, 2);
}

static void expand_unicast(const struct pr_task *task, const struct pr_kernel_bytes *streams,
                           uint16_t *values, uint16_t *bias)
{
    uint32_t cout = task->dst.extent[PR_AXIS_C];
    struct pr_kernel_place place, next;

    for (uint32_t group = 0; group < pr_kernel_groups(task); group++) {
        for (uint32_t engine = 0; engine < task->ne.engines && engine < cout; engine++) {
            pr_kernel_place(task, group, engine, &place);
            next = place;
            if (engine + task->ne.engines < cout)
                pr_kernel_place(task, group, engine + task->ne.engines, &next);
            expand_engine(task, streams[place.engine].bytes + place.offset, next.offset - place.offset,
                          engine, values + group * pr_kernel_weights(task), bias + (size_t)group * cout);
        }
    }
}

static int expand(struct eng_weights *weights, const struct pr_task *task,
                  const struct pr_kernel_bytes *streams, struct eng_scratch *memory,
                  struct pr_problem *problem)
{
    uint64_t groups = pr_kernel_groups(task), each = pr_kernel_weights(task), bias;
    uint16_t *values;

    if (each > PR_KERNEL_HALF_MAX / groups) {
        pr_problem_set(problem, PR_PROBLEM_LIMIT,
                       "The kernel has %ju weights in each of %ju groups; the limit is %u in all.", each,
                       groups, PR_KERNEL_HALF_MAX);
        return -EINVAL;
    }
    bias = groups * task->dst.extent[PR_AXIS_C];
    values = eng_scratch_reserve(memory, (size_t)(groups * each + bias) * sizeof(*values));
    if (!values)
        return -ENOMEM;
    weights->values = values;
    weights->bias = values + groups * each;
    if (is_plain_unicast(task) && !check_dense(task, streams, NULL)) {
        expand_unicast(task, streams, values, values + groups * each);
        return 0;
    }
    return pr_kernel_expand(task, streams, values, values + groups * each, problem) ? 0 : -EINVAL;
}

int eng_weights_open(struct eng_weights *weights, const struct pr_task *task,
                     const struct pr_kernel_bytes *streams, bool whole, struct eng_scratch *memory,
                     struct pr_problem *problem)
{
    memset(weights, 0, sizeof(*weights));
    if (!is_dense(task))
        return expand(weights, task, streams, memory, problem);
    weights->streams = streams;
    return whole ? 0 : check_dense(task, streams, problem);
}

bool eng_weights_are_phased(const struct eng_weights *weights, const struct pr_task *task)
{
    return weights->streams && (task->ne.sx > 1 || task->ne.sy > 1);
}

/*
 * Which row of the plane is that of a tap: for each input channel, rows by phase along H, phase along W, and
 * step along H and W. Every phase has the positions of the longest one.
 */
uint64_t eng_weights_row(const struct pr_task *task, uint64_t tap)
{
    const struct pr_ne *n = &task->ne;
    uint32_t x = (uint32_t)(tap % n->kw), y = (uint32_t)(tap / n->kw % n->kh);
    uint64_t columns = (n->kw - 1) / n->sx + 1, rows = (n->kh - 1) / n->sy + 1;
    uint64_t phase = (uint64_t)(y % n->sy) * n->sx + x % n->sx;

    return ((tap / n->kw / n->kh * n->sx * n->sy + phase) * rows + y / n->sy) * columns + x / n->sx;
}

uint32_t eng_weights_run(const struct eng_weights *weights, const struct pr_task *task, uint32_t group,
                         uint32_t column, uint32_t most, uint64_t row, const uint8_t **from, size_t *stride)
{
    uint64_t columns = (uint64_t)task->dst.extent[PR_AXIS_C] * task->ne.ox;
    struct pr_kernel_place place;

    if (!weights->streams) {
        *stride = (size_t)columns * 2;
        *from = (const uint8_t *)(weights->values + group * pr_kernel_weights(task) + row * columns + column);
        return most;
    }
    pr_kernel_place(task, group, column, &place);
    *stride = (size_t)place.lanes * 2;
    if (eng_weights_are_phased(weights, task))
        row = eng_weights_row(task, row);
    row += task->ne.bias ? 1 : 0;
    *from = weights->streams[place.engine].bytes + place.offset + row * *stride + (uint64_t)place.lane * 2;
    return place.lanes - place.lane < most ? place.lanes - place.lane : most;
}

uint16_t eng_weights_half(const struct eng_weights *weights, const struct pr_task *task, uint32_t group,
                          uint32_t column, uint64_t row)
{
    const uint8_t *from;
    size_t stride;
    uint16_t half;

    eng_weights_run(weights, task, group, column, 1, row, &from, &stride);
    memcpy(&half, from, sizeof(half));
    return half;
}

uint32_t eng_weights_bias_run(const struct eng_weights *weights, const struct pr_task *task, uint32_t group,
                              uint32_t channel, uint32_t most, const uint8_t **from)
{
    struct pr_kernel_place place;

    if (!weights->streams) {
        *from = (const uint8_t *)(weights->bias + (uint64_t)group * task->dst.extent[PR_AXIS_C] + channel);
        return most;
    }
    pr_kernel_place(task, group, channel, &place);
    *from = weights->streams[place.engine].bytes + place.offset + (uint64_t)place.lane * 2;
    return place.lanes - place.lane < most ? place.lanes - place.lane : most;
}
