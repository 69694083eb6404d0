/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `anemone bench`. */
#ifndef TOOL_BENCH_H
#define TOOL_BENCH_H

#include <stdbool.h>

#include <anemone/iokit.h>

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

/* What a second thread gains. */
bool tool_bench_threads(bool as_json);
/* The cost model beside published latencies. */
void tool_bench_m1(bool as_json);

#endif
