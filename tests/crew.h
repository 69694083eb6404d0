/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of a load test: workers with a seeded generator each, a limit of time, a watchdog, and one way to
 * fail. Knows nothing of the library under test.
 */
#ifndef TESTS_CREW_H
#define TESTS_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct crew_worker {
    unsigned number;
    uint64_t random; /* the generator's state */
    void *shared;
    void (*run)(struct crew_worker *worker);
    atomic_bool patient; /* the watchdog leaves it alone: it may wait as long as others work */

    pthread_t thread;
    _Atomic(const char *) at; /* the call it is in, for the watchdog's message */
    atomic_ulong steps;
    unsigned long seen; /* the watchdog's */
    unsigned quiet;     /* seconds without a step; the watchdog's */
    atomic_bool ended;
};

/*
 * Starts the watchdog and makes the calling thread a worker: crew_main(). `name` and seed appear in messages.
 */
void crew_begin(const char *name, uint64_t seed);
struct crew_worker *crew_main(void);

/* The line of TAP for success. Then the program returns 0. */
void crew_pass(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From any thread: the line of TAP for failure, and the process ends with status 1. */
_Noreturn void crew_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number below `limit`, from the worker's generator. */
uint64_t crew_random(struct crew_worker *worker, uint64_t limit);
/* Says which call comes next, and counts a step. */
void crew_at(struct crew_worker *worker, const char *call);

/* The time that workers run: crew_more() is true until it is over. */
void crew_time(double seconds);
bool crew_more(void);
/* Sleeps until it is over. */
void crew_wait(void);
/* Sleeps up to so many microseconds. */
void crew_pause(struct crew_worker *worker, unsigned most);

/* `workers` has `count` zeroed rows; what the caller set beforehand stays. */
void crew_start(struct crew_worker *workers, unsigned count, void (*run)(struct crew_worker *), void *shared);
void crew_join(struct crew_worker *workers, unsigned count);
/* How often they said crew_at. */
unsigned long crew_steps(const struct crew_worker *workers, unsigned count);

/* fork; a child that hangs is ended by the system when nobody waits for it any more. */
pid_t crew_fork(void);
/* Waits for a child; fails when it does not end within 30 seconds or with another status than 0. */
void crew_child(struct crew_worker *worker, pid_t child, const char *what);

#endif
