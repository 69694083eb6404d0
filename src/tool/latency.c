/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/latency.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tool/tool.h"

#define IDLE_SECONDS 1
#define NS_PER_MS    1000000u

uint64_t tool_latency_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static bool time_one(tool_dispatch dispatch, void *context, uint64_t *ns)
{
    uint64_t before = tool_latency_now_ns();
    bool good = dispatch(context);

    *ns = tool_latency_now_ns() - before;
    return good;
}

bool tool_latency_measure(tool_dispatch dispatch, void *context, uint32_t repeat,
                          struct tool_latency *latency)
{
    const uint32_t tenth = repeat / 10, half = repeat / 2, hundredth = repeat / 100;
    uint64_t *times = base_alloc_array(repeat, sizeof(*times));
    bool good = true;

    if (!times) {
        tool_say("no memory for %u times.", repeat);
        return false;
    }
    for (uint32_t i = 0; i < repeat && good; i++)
        good = time_one(dispatch, context, &times[i]);
    if (good) {
        qsort(times, repeat, sizeof(*times), by_size);
        latency->p10 = (double)times[tenth] / 1e3;
        latency->p50 = (double)times[half] / 1e3;
        latency->p90 = (double)times[repeat - 1 - tenth] / 1e3;
        latency->p99 = (double)times[repeat - 1 - hundredth] / 1e3;
    }
    base_free(times);
    return good;
}

bool tool_latency_after_idling(tool_dispatch dispatch, void *context, unsigned rounds, double *us)
{
    uint64_t times[TOOL_LATENCY_ROUNDS] = {0};
    const unsigned half = rounds / 2;

    for (unsigned i = 0; i < rounds; i++) {
        sleep(IDLE_SECONDS);
        if (!time_one(dispatch, context, &times[i]))
            return false;
    }
    qsort(times, rounds, sizeof(*times), by_size);
    *us = (double)times[half] / 1e3;
    return true;
}

bool tool_latency_rate(tool_dispatch dispatch, void *context, uint32_t milliseconds, double *per_second)
{
    const uint64_t begin = tool_latency_now_ns(), end = begin + (uint64_t)milliseconds * NS_PER_MS;
    uint64_t count = 0, now;

    do {
        if (!dispatch(context))
            return false;
        count++;
        now = tool_latency_now_ns();
    } while (now < end);
    *per_second = (double)count * 1e9 / (double)(now - begin);
    return true;
}
