/* SPDX-License-Identifier: Apache-2.0 */
/* Packing by the rule of protocol/task.h. */
#include "compiler/pack.h"

#include "protocol/kernel.h"
#include "protocol/task.h"

#define ENGINES_LOG2_MAX 4u

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

uint32_t cc_pack_lanes_log2(uint32_t cout, uint32_t most)
{
    uint32_t per_engine = cout >> ENGINES_LOG2_MAX;
    uint32_t log2 = per_engine ? floor_log2(per_engine) : 0;

    return log2 < most ? log2 : most;
}

/* As much of the task as the rule looks at. */
static struct pr_task task_of(const struct cc_pack *p)
{
    struct pr_task task = {0};

    task.src[0].extent[PR_AXIS_C] = p->cin;
    task.dst.extent[PR_AXIS_C] = p->cout;
    task.dst.extent[PR_AXIS_G] = 1;
    task.ne.mode = PR_NE_MAC;
    task.ne.kw = p->taps;
    task.ne.kh = task.ne.sx = task.ne.sy = task.ne.ox = 1;
    task.ne.bias = p->bias != NULL;
    task.ne.lanes = 1u << p->lanes_log2;
    task.ne.engines = 1u << p->engines_log2;
    return task;
}

uint64_t cc_pack_plane_bytes(const struct cc_pack *p)
{
    uint64_t rows = (uint64_t)p->cin * p->taps + (p->bias ? 1 : 0);

    return pr_round_up(rows * 2 << p->lanes_log2, PR_ROW_ALIGN);
}

uint64_t cc_pack_stream_bytes(const struct cc_pack *p)
{
    struct pr_task task = task_of(p);

    return pr_kernel_stream_bytes(&task, 0); /* the first engine has the most channels */
}

uint32_t cc_pack_streams(const struct cc_pack *p)
{
    return p->cout < 1u << p->engines_log2 ? p->cout : 1u << p->engines_log2;
}

static void put_half(uint8_t *at, uint16_t half)
{
    at[0] = (uint8_t)half;
    at[1] = (uint8_t)(half >> 8);
}

void cc_pack_kernel(const struct cc_pack *p, uint64_t stream, uint8_t *bytes)
{
    struct pr_task task = task_of(p);
    struct pr_kernel_place place;

    for (uint32_t o = 0; pr_kernel_place(&task, 0, o, &place); o++) {
        uint8_t *at = bytes + place.engine * stream + place.offset + 2 * place.lane;
        const uint16_t *from = p->weight + (size_t)o * p->step[0];

        if (p->bias) {
            put_half(at, p->bias[o]);
            at += 2 * (size_t)place.lanes;
        }
        for (uint32_t i = 0; i < p->cin; i++)
            for (uint32_t t = 0; t < p->taps; t++, at += 2 * (size_t)place.lanes)
                put_half(at, from[(size_t)i * p->step[1] + (size_t)t * p->step[2]]);
    }
}
