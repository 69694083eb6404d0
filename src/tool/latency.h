/* SPDX-License-Identifier: Apache-2.0 */
/* Wall time of a dispatch: warm, after a pause, and how many there are in a second. */
#ifndef TOOL_LATENCY_H
#define TOOL_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

struct tool_latency {
    double p10, p50, p90, p99; /* microseconds */
};

typedef bool (*tool_dispatch)(void *context);

uint64_t tool_latency_now_ns(void);
/* Of `repeat` dispatches, one after the other; false as soon as one fails, or without memory. */
bool tool_latency_measure(tool_dispatch dispatch, void *context, uint32_t repeat,
                          struct tool_latency *latency);
/* The median of `rounds` first dispatches after a second without any, in microseconds. */
#define TOOL_LATENCY_ROUNDS 3u /* at most */
bool tool_latency_after_idling(tool_dispatch dispatch, void *context, unsigned rounds, double *us);
/* Dispatches per second, over that many milliseconds. */
bool tool_latency_rate(tool_dispatch dispatch, void *context, uint32_t milliseconds, double *per_second);

#endif
