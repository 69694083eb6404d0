/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lock.c needs of the host: a mutex, a word to sleep on, a count, a clock. host.c implements it with
 * pthreads and futexes. A test that explores schedules links its own implementation instead, in which every
 * one of these calls is a point where another thread may run.
 */
#ifndef MACHINE_HOST_H
#define MACHINE_HOST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MACH_HOST_FOREVER UINT64_MAX

/* All zero: free. For host.c alone. */
struct mach_host_mutex {
    atomic_uint state;
    atomic_uint looking;  /* threads that wait for it and are awake */
    atomic_uint admitted; /* how often a thread has taken it; changed with the mutex held */
    atomic_bool awaited;  /* a thread that gives way sleeps until that changes */
    void *_Atomic owner;
};

/* Takes it if it is free; false otherwise, also when the calling thread holds it. */
bool mach_host_mutex_try(struct mach_host_mutex *mutex);
/* Waits for it. False when the calling thread holds it already. */
bool mach_host_mutex_lock(struct mach_host_mutex *mutex);
void mach_host_mutex_unlock(struct mach_host_mutex *mutex);

/* Adds to a count that other threads read without the mutex. */
void mach_host_count_add(atomic_uint *count, int change);
unsigned mach_host_count(atomic_uint *count);
/*
 * Releases the mutex so that the threads that wait for it, as many as `inbound` counts, can take it, and
 * takes it again when they have. Bounded: a thread that does not get to run is not waited for. With `brief`
 * only those that are awake and at the mutex are, because to wait for others would take longer than what is
 * done between two such calls.
 */
void mach_host_give_way(struct mach_host_mutex *mutex, atomic_uint *inbound, bool brief);

/*
 * Waits, awake for a short while and then asleep, until the word is 1, or until `until` on mach_host_now's
 * clock: false then.
 */
bool mach_host_sleep(atomic_uint *word, uint64_t until);
/* Sets the word to 1 and wakes the thread that sleeps on it. The word may be gone as soon as it is set. */
void mach_host_wake(atomic_uint *word);

/* One pointer of the calling thread's own; NULL at first. */
void mach_host_slot_set(void *pointer);
void *mach_host_slot(void);

/* Wall time in nanoseconds; monotonic. */
uint64_t mach_host_now(void);

#endif
