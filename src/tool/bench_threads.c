/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `anemone bench threads`: what a second thread gains when the driver keeps one request in the firmware. The
 * threads are injected into the machine, so that the result is a function of the model alone.
 */
#include <stdio.h>

#include "protocol/timing.h"
#include "tool/bench.h"
#include "tool/json.h"
#include "tool/spec/facts.h"
#include "tool/tool.h"

#define THREADS_MAX 2u
#define ROUNDS      200u
#define LONG_NS     60000000000ull

struct worker {
    struct tool_bench_client client; /* machine and connection are shared */
    uint64_t ended;                  /* virtual */
    bool good;
};

/* An application's loop: user-space work, then selector 2. */
static void work(void *context)
{
    struct worker *worker = context;

    worker->good = true;
    for (unsigned i = 0; i < ROUNDS && worker->good; i++) {
        ane_machine_spend(worker->client.machine, PR_TIMING_USER_NS);
        worker->good = tool_bench_send(&worker->client);
    }
    worker->ended = ane_machine_now(worker->client.machine);
}

/* Virtual time of ROUNDS calls in each of `threads`, for one call of all. */
static bool measure(const struct tool_bench_client *client, unsigned threads, double *call_us)
{
    struct worker workers[THREADS_MAX] = {0};
    uint64_t before = ane_machine_now(client->machine), ended = before;
    bool good = true;

    for (unsigned i = 0; i < threads && good; i++) {
        workers[i].client = *client;
        good = !ane_machine_call_at(client->machine, before, work, &workers[i]);
    }
    good = !ane_machine_run(client->machine, LONG_NS) && good;
    if (!good)
        tool_say("%s", ane_machine_error());
    for (unsigned i = 0; i < threads; i++) {
        good = good && workers[i].good;
        ended = workers[i].ended > ended ? workers[i].ended : ended;
    }
    *call_us = (double)(ended - before) / 1e3 / ROUNDS / threads;
    return good;
}

static void print(double one_us, double two_us)
{
    printf("virtual time of a call, one request in the firmware at a time, timing m1\n\n"
           "  one thread    %8.1f us\n"
           "  two threads   %8.1f us, %.2f times the throughput of one\n"
           "  an M1                     %.2f times, as measured (ch. 2)\n\n"
           "The model lets user-space work and the building of a request go on while another request is in\n"
           "the firmware; docs/protocol.md explains the difference.\n",
           one_us, two_us, one_us / two_us, FACT_DISPATCH_TWO_THREADS_PERCENT / 100.0);
}

static void print_json(double one_us, double two_us)
{
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "timing", "m1");
    json_real(&json, "one_thread_virtual_us", one_us);
    json_real(&json, "two_threads_virtual_us", two_us);
    json_real(&json, "gain", one_us / two_us);
    json_real(&json, "m1_measured_gain", FACT_DISPATCH_TWO_THREADS_PERCENT / 100.0);
    json_end(&json);
}

bool tool_bench_threads(bool as_json)
{
    const struct ane_machine_config config = {
        .size = sizeof(config), .firmware = 1, .timing = ANE_TIMING_M1, .in_flight = ANE_IN_FLIGHT_ONE};
    struct tool_bench_client client = {0};
    double one = 0, two = 0;
    /* The first call maps the buffers. */
    bool good = tool_bench_open(&client, &config) && tool_bench_send(&client) && measure(&client, 1, &one) &&
                measure(&client, THREADS_MAX, &two);

    ane_machine_destroy(client.machine);
    if (!good)
        return false;
    if (as_json)
        print_json(one, two);
    else
        print(one, two);
    return true;
}
