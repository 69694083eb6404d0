/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `anemone bench`. */
#ifndef TOOL_BENCH_H
#define TOOL_BENCH_H

#include <stdbool.h>

#include <anemone/iokit.h>

#include "tool/latency.h"

/* A client of selectors alone, with a program that adds two small tensors. */
struct tool_bench_client {
    struct ane_machine *machine;
    io_connect_t connect;
    struct ane_request request;
};

/* On a machine of its own, which the caller destroys; false, after a message, when anything fails. */
bool tool_bench_open(struct tool_bench_client *client, const struct ane_machine_config *config);
/* One request; `client` is a struct tool_bench_client. */
bool tool_bench_send(void *client);

#define TOOL_BENCH_COUNT_MIN 10u
#define TOOL_BENCH_WARM_UP   1000u
#define TOOL_BENCH_MS_MAX    60000u
/* Fewer dispatches than this are a trial: one pause and a short while take the place of several. */
#define TOOL_BENCH_TRIAL 1000u
static inline unsigned tool_bench_rounds(uint32_t count)
{
    return count < TOOL_BENCH_TRIAL ? 1 : TOOL_LATENCY_ROUNDS;
}
/* --way of `anemone bench client`. */
#define TOOL_BENCH_DIRECT "direct"
#define TOOL_BENCH_BROKER "broker"

/*
 * A client process of the service: the latency of `count` dispatches, or with `milliseconds` their rate. An
 * exit status.
 */
int tool_bench_client(const char *image, const char *way, uint32_t count, uint32_t milliseconds);

/* --way of `anemone bench submit`. */
#define TOOL_BENCH_NODE  "node"
#define TOOL_BENCH_PLAIN "plain"
/* A program that uses the Linux driver's node, or only files that are no node. An exit status. */
int tool_bench_submit(const char *way, uint32_t count);
/* What a request costs a program of the Linux driver's. */
bool tool_bench_accel(uint32_t count, bool as_json);

/* What a second thread gains. */
bool tool_bench_threads(bool as_json);
/* A model on this host: warm runs, and the time of each descriptor. An exit status. */
struct tool_bench_network {
    const char *model;
    uint32_t count; /* of timed runs, at most */
    uint32_t threads;
    uint32_t numerics;
    bool descriptors, as_json;
};
int tool_bench_network(const struct tool_bench_network *asked);
/* The cost model beside published latencies. */
void tool_bench_m1(bool as_json);

#endif
