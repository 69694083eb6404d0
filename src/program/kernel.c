/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the streams of a task's engines hold its kernel: the planes and their places. pr_plane_next,
 * group_bytes and pr_kernel_place walk the same levels in the same order; a change to next_level changes all
 * of them. The compiler packs kernels with pr_kernel_place and the engine reads them with it, so a wrong
 * place here is invisible to a test that uses both.
 */
#include "program/kernel.h"

#include <string.h>

#include "program/kernel_plane.h"

uint32_t pr_kernel_channels(const struct pr_task *task)
{
    return task->ne.unicast ? task->ne.unicast : task->src[0].extent[PR_AXIS_C];
}

uint32_t pr_kernel_window(const struct pr_task *task)
{
    return task->ne.kw + task->ne.ox - 1;
}

uint64_t pr_kernel_weights(const struct pr_task *task)
{
    return (uint64_t)pr_kernel_channels(task) * task->ne.kh * pr_kernel_window(task) *
           task->dst.extent[PR_AXIS_C] * task->ne.ox;
}

uint32_t pr_kernel_groups(const struct pr_task *task)
{
    return task->ne.reuse || task->ne.ones ? 1 : task->dst.extent[PR_AXIS_G];
}

bool pr_kernel_is_plain(const struct pr_task *task)
{
    const struct pr_ne *ne = &task->ne;

    return !ne->unicast && !ne->ones && !ne->sparse && !ne->palette && ne->kernel_format == PR_FP16 &&
           ne->sx == 1 && ne->sy == 1 && ne->ox == 1;
}

/* The streams hold weights, not a table alone. */
static bool has_weights(const struct pr_task *task)
{
    return task->ne.mode == PR_NE_MAC && !task->ne.ones;
}

uint32_t pr_plane_slots(const struct pr_task *task, uint32_t lanes)
{
    const struct pr_ne *ne = &task->ne;
    uint32_t least = ne->small ? 4 : 2;

    if (ne->unicast)
        lanes = ne->ox;
    return ne->sparse && lanes < least ? least : lanes;
}

uint32_t pr_plane_positions(const struct pr_task *task)
{
    const struct pr_ne *ne = &task->ne;

    return (uint32_t)(pr_round_up(pr_kernel_window(task), ne->sx) * pr_round_up(ne->kh, ne->sy));
}

/* Bytes of a dense plane of so many lanes. */
static uint64_t plane_bytes(const struct pr_task *task, uint32_t lanes)
{
    const struct pr_ne *ne = &task->ne;
    uint64_t rows = (uint64_t)pr_kernel_channels(task) * pr_plane_positions(task);
    uint64_t bytes = rows * pr_plane_slots(task, lanes) * pr_format_bytes(ne->kernel_format);

    if (ne->bias)
        bytes += (uint64_t)lanes * ne->ox * 2;
    return bytes;
}

/*
 * Channels are distributed over passes with all lanes while these fill every engine. The remaining channels
 * go to passes with the largest power of two of lanes that still fills every engine, the last ones with a
 * single lane. A level is a run of passes of equal lanes. A unicast kernel has one level of one lane.
 */
struct level {
    uint32_t lanes;
    uint32_t channels; /* of this level */
    uint32_t width;    /* channels of one pass over all engines */
};

/* Channels of one pass over all engines; never 0. */
static uint32_t pass_width(const struct pr_task *task, uint32_t lanes)
{
    uint32_t width = lanes * task->ne.engines;

    return width ? width : 1;
}

static struct level next_level(const struct pr_task *task, uint32_t lanes, uint32_t left)
{
    struct level level = {.lanes = lanes && !task->ne.unicast ? lanes : 1};

    if (pass_width(task, 2) > left)
        level.lanes = 1; /* as the loop would find: a small task asks for each of its channels */
    while (level.lanes > 1 && pass_width(task, level.lanes) > left)
        level.lanes /= 2;
    level.width = pass_width(task, level.lanes);
    level.channels = level.lanes == 1 ? left : left / level.width * level.width;
    return level;
}

/* Passes of the level in which the engine has channels. */
static uint32_t passes_of(const struct level *level, uint32_t engine)
{
    return level->channels / level->width + (engine * level->lanes < level->channels % level->width ? 1 : 0);
}

bool pr_plane_next(const struct pr_task *task, struct pr_plane *plane)
{
    uint32_t begin = 0, index = plane->next, left = task->dst.extent[PR_AXIS_C], lanes = task->ne.lanes;

    while (left) {
        struct level level = next_level(task, lanes, left);
        uint32_t passes = passes_of(&level, plane->engine);

        if (index < passes) {
            plane->channel = begin + index * level.width + plane->engine * level.lanes;
            plane->lanes = level.lanes;
            plane->next++;
            return true;
        }
        index -= passes;
        begin += level.channels;
        left -= level.channels;
        lanes = level.lanes;
    }
    return false;
}

/* Bytes of one group's dense planes in an engine's stream. */
static uint64_t group_bytes(const struct pr_task *task, uint32_t engine)
{
    uint32_t left = task->dst.extent[PR_AXIS_C], lanes = task->ne.lanes;
    uint64_t bytes = 0;

    while (left) {
        struct level level = next_level(task, lanes, left);

        bytes += passes_of(&level, engine) * plane_bytes(task, level.lanes);
        left -= level.channels;
        lanes = level.lanes;
    }
    return task->ne.unicast ? bytes : pr_round_up(bytes, PR_ROW_ALIGN);
}

static uint32_t head_bytes(const struct pr_task *task)
{
    return (task->ne.table ? PR_TABLE_BYTES : 0) + (task->ne.palette ? PR_PALETTE_BYTES : 0);
}

bool pr_kernel_place(const struct pr_task *task, uint32_t group, uint32_t channel,
                     struct pr_kernel_place *place)
{
    uint32_t left = task->dst.extent[PR_AXIS_C], lanes = task->ne.lanes;
    uint64_t offset = head_bytes(task);

    if (channel >= left)
        return false;
    for (;;) {
        struct level level = next_level(task, lanes, left);

        if (channel < level.channels) {
            place->engine = channel % level.width / level.lanes;
            if (channel >= level.width)
                offset += channel / level.width * plane_bytes(task, level.lanes);
            if (group && !task->ne.reuse)
                offset += group * group_bytes(task, place->engine);
            place->offset = (uint32_t)offset;
            place->lane = channel % level.lanes;
            place->lanes = level.lanes;
            return true;
        }
        channel -= level.channels;
        left -= level.channels;
        offset += level.channels / level.width * plane_bytes(task, level.lanes);
        lanes = level.lanes;
    }
}

bool pr_kernel_engine_works(const struct pr_task *task, uint32_t engine)
{
    struct pr_plane plane = {.engine = engine};

    return engine < task->ne.engines && pr_plane_next(task, &plane);
}

uint64_t pr_kernel_stream_bytes(const struct pr_task *task, uint32_t engine)
{
    const struct pr_kernel_stream *stream = &task->ne.stream[engine];

    if (engine >= task->ne.engines)
        return 0;
    /* A table alone may come by one stream for all engines. */
    if (!has_weights(task))
        return task->ne.table && stream->enabled ? PR_TABLE_BYTES : 0;
    if (!pr_kernel_engine_works(task, engine))
        return 0;
    if (task->ne.sparse)
        return stream->bytes;
    return pr_round_up(head_bytes(task) + group_bytes(task, engine) * pr_kernel_groups(task), PR_ROW_ALIGN);
}

bool pr_kernel_table(const struct pr_task *task, const struct pr_kernel_bytes streams[PR_ENGINES_MAX],
                     uint16_t table[PR_TABLE_VALUES], struct pr_problem *problem)
{
    const uint8_t *first = NULL;

    for (uint32_t i = 0; i < task->ne.engines && i < PR_ENGINES_MAX; i++) {
        if (streams[i].size < PR_TABLE_BYTES)
            continue;
        if (!first)
            first = streams[i].bytes;
        else if (memcmp(first, streams[i].bytes, PR_TABLE_BYTES) != 0)
            return pr_problem_set(problem, PR_PROBLEM_UNSUPPORTED,
                                  "The activation table of engine %u is not that of the first engine; which "
                                  "one a channel then uses is not decoded.",
                                  i);
    }
    if (!first)
        return pr_problem_set(problem, PR_PROBLEM_INCONSISTENT,
                              "MACCfg.NonlinearMode asks for a table, and no kernel stream holds one.");
    memcpy(table, first, PR_TABLE_BYTES);
    return true;
}
