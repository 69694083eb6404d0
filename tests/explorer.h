/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Explores every schedule of a few threads over src/machine/lock.c. It implements machine/host.h: each of
 * those calls is a point where any other thread that can run may run next. Threads are coroutines of one host
 * thread, so that a schedule is a list of choices and can be repeated.
 *
 * States that were seen before are not explored again. A state is the lock, the clock, the flags of the
 * scenario, and per thread what it does next and a hash of everything it has seen.
 */
#ifndef TESTS_EXPLORER_H
#define TESTS_EXPLORER_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/lock.h"

#define EXPLORER_THREADS 4u
#define EXPLORER_FLAGS   4u

struct explorer_run {
    struct mach_lock lock;
    struct soc_clock *clock;
    bool flag[EXPLORER_FLAGS]; /* what waits wait for; all false at the beginning */
};

struct explorer_scenario {
    const char *name;
    void (*setup)(struct explorer_run *run); /* may be NULL */
    unsigned threads;
    void (*thread[EXPLORER_THREADS])(struct explorer_run *run);
    bool timeouts; /* wall deadlines may pass at any moment */
};

struct explorer_result {
    uint64_t schedules, states;
    unsigned longest;
};

/*
 * Fails the test, with the schedule that leads there, when threads are left asleep, the lock's invariant is
 * broken or the lock is not clean at the end.
 */
struct explorer_result explorer_explore(const struct explorer_scenario *scenario);

/* For a scenario: fails with the schedule. */
void explorer_expect(bool condition, const char *what);
/* A thread that begins only when another has set the flag. */
void explorer_await_flag(const bool *flag);

#endif
