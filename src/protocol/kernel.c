/* SPDX-License-Identifier: Apache-2.0 */
/* How the streams of a task's engines hold its kernel. */
#include "protocol/kernel.h"

#include <string.h>

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
    return task->ne.reuse ? 1 : task->dst.extent[PR_AXIS_G];
}

bool pr_kernel_is_plain(const struct pr_task *task)
{
    const struct pr_ne *ne = &task->ne;

    return !ne->unicast && !ne->ones && !ne->sparse && !ne->palette && ne->kernel_format == PR_FP16 &&
           ne->sx == 1 && ne->sy == 1 && ne->ox == 1;
}

/* A plane: the weights of up to `lanes` output channels on one engine. */
static uint64_t plane_bytes(const struct pr_task *task, uint32_t lanes)
{
    uint32_t taps = task->src[0].extent[PR_AXIS_C] * task->ne.kw * task->ne.kh;
    uint32_t rows = taps + (task->ne.bias ? 1 : 0);

    return pr_round_up((uint64_t)rows * lanes * 2, 64);
}

/*
 * Passes are dealt out with all lanes while they fill every engine; what is left over goes to passes with the largest power of
 * two of lanes that still fills every engine, the last ones with a single lane. A level is a run of passes of equal lanes.
 */
struct level {
    uint32_t lanes;
    uint32_t channels; /* of this level */
    uint64_t plane;    /* bytes of one plane */
};

/* Channels of one pass over all engines. */
static uint32_t pass_width(const struct pr_task *task, uint32_t lanes)
{
    uint32_t width = lanes * task->ne.engines;

    return width ? width : 1;
}

static struct level next_level(const struct pr_task *task, uint32_t lanes, uint32_t left)
{
    struct level level = {.lanes = lanes ? lanes : 1};
    uint32_t width;

    while (level.lanes > 1 && pass_width(task, level.lanes) > left)
        level.lanes /= 2;
    width = pass_width(task, level.lanes);
    level.channels = level.lanes == 1 ? left : left / width * width;
    level.plane = plane_bytes(task, level.lanes);
    return level;
}

bool pr_kernel_place(const struct pr_task *task, uint32_t group, uint32_t channel,
                     struct pr_kernel_place *place)
{
    uint32_t left = task->dst.extent[PR_AXIS_C], lanes = task->ne.lanes;
    uint64_t offset = 0;

    (void)group;
    if (channel >= left)
        return false;
    for (;;) {
        struct level level = next_level(task, lanes, left);
        uint32_t width = pass_width(task, level.lanes);

        if (channel < level.channels) {
            place->engine = channel % width / level.lanes;
            place->offset = (uint32_t)(offset + channel / width * level.plane);
            place->lane = channel % level.lanes;
            place->lanes = level.lanes;
            return true;
        }
        channel -= level.channels;
        left -= level.channels;
        offset += level.channels / width * level.plane;
        lanes = level.lanes;
    }
}

uint64_t pr_kernel_stream_bytes(const struct pr_task *task, uint32_t engine)
{
    uint32_t left = task->dst.extent[PR_AXIS_C], lanes = task->ne.lanes;
    uint64_t bytes = 0;

    while (left) {
        struct level level = next_level(task, lanes, left);
        uint32_t width = pass_width(task, level.lanes);
        uint32_t passes = level.channels / width + (engine * level.lanes < level.channels % width ? 1 : 0);

        bytes += passes * level.plane;
        left -= level.channels;
        lanes = level.lanes;
    }
    return bytes;
}
