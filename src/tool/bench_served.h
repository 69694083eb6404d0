/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a dispatch costs from another process: on a direct-path connection, through the broker, beside the
 * same request on a machine of the process's own.
 */
#ifndef TOOL_BENCH_SERVED_H
#define TOOL_BENCH_SERVED_H

#include "tool/json.h"
#include "tool/latency.h"

#define TOOL_SERVED_RATES 5u /* numbers of client processes */

struct tool_served_way {
    struct tool_latency warm;
    double idle_us; /* first dispatch after a second without any */
};

struct tool_served {
    uint32_t count;
    struct tool_served_way embedded, direct, broker;
    double embedded_rate;                /* dispatches per second of one client */
    double rate[TOOL_SERVED_RATES];      /* of 1, 2, 4, 8 and 16 processes together */
    double work_rate[TOOL_SERVED_RATES]; /* of the same with about a millisecond of work each time */
};

/* Starts a service and its clients, and ends them; false after a message. */
bool tool_served_measure(uint32_t count, struct tool_served *served);
void tool_served_print(const struct tool_served *served);
/* Into the open object. */
void tool_served_json(struct json *json, const struct tool_served *served);

#endif
