/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dispatches cost: wall time here by stage, and virtual time beside the budget of Table 2.3
 * (protocol/timing.h).
 */
#ifndef TOOL_STAGES_H
#define TOOL_STAGES_H

#include <anemone/machine.h>

#include "tool/json.h"

#define TOOL_REPEAT_MAX 10000000u

/* The runtime's own part (binding, casts), then the machine's stages. */
#define TOOL_STAGES (1 + ANE_STAGES)

struct tool_stages {
    double p10, p50, p90;        /* of one whole call, microseconds of wall time */
    double wall_us[TOOL_STAGES]; /* averages */
    double virtual_us[TOOL_STAGES];
    double host_us;          /* wall time of host segments, which the model's clock does not count */
    double whole_virtual_us; /* of one whole call */
    double m1_estimate_us;   /* the same with timing m1 */
    bool timed;              /* timing m1 */
};

const char *tool_stage_name(unsigned stage);
/*
 * Runs `dispatch` `repeat` times for the percentiles, then a tenth of that with the machine's profile on,
 * because reading the clock at every wall costs time itself; a single dispatch is profiled at once. False as
 * soon as one fails, or without memory. `adds_ns` is what timing m1 would add to a dispatch; 0: the machine
 * has it.
 */
bool tool_stages_measure(struct ane_machine *machine, uint64_t adds_ns, bool (*dispatch)(void *context),
                         void *context, uint32_t repeat, struct tool_stages *stages);
/* The whole call alone. */
void tool_stages_latency_json(struct json *json, const struct tool_stages *stages);
void tool_stages_json(struct json *json, const struct tool_stages *stages);
void tool_stages_print(const struct tool_stages *stages);

#endif
