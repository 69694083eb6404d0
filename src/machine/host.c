/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's primitives for lock.c, which waits in no other way: the test of lock.c links functions of its
 * own instead and explores schedules with them. A sleeping thread has a futex word of its own; the word is
 * set before the wake-up, so none is lost.
 *
 * To put a thread to sleep and wake it takes longer than most turns inside a machine. So a thread that waits
 * looks for a while first, and gives its processor away at each look; how many look at once in the process
 * is bounded, so that they take no processor from those that have work.
 */
#include "machine/host.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/pause.h"
#include "base/processor.h"

#define LOOK_NS         50000u   /* about what a sleeping thread needs to wake up */
#define PAUSE_NS        1000u    /* a thread that looks keeps its processor for so long */
#define RUN_NS          2000000u /* what a thread needs to get a processor that others use */
#define SLEEP_NS        100000u
#define HAND_OVER_LOOKS 64u
#define NS_PER_S        1000000000ull

/* States of a mutex. */
enum { FREE, HELD, WANTED /* held, and threads sleep on it */ };

static _Thread_local void *slot; /* its address names the thread */

static long futex(atomic_uint *word, int operation, unsigned value, const struct timespec *until)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, until, NULL,
                   FUTEX_BITSET_MATCH_ANY);
}

/* ---- Looking ---- */

static atomic_uint lookers;

/* At most half of the processors look. */
static bool begin_to_look(void)
{
    static atomic_uint most; /* plus one; 0: not known */
    unsigned limit = atomic_load_explicit(&most, memory_order_relaxed);

    if (!limit) {
        limit = base_processor_count() / 2 + 1;
        atomic_store_explicit(&most, limit, memory_order_relaxed);
    }
    if (atomic_fetch_add_explicit(&lookers, 1, memory_order_relaxed) < limit - 1)
        return true;
    atomic_fetch_sub_explicit(&lookers, 1, memory_order_relaxed);
    return false;
}

static void end_looking(void)
{
    atomic_fetch_sub_explicit(&lookers, 1, memory_order_relaxed);
}

/* One turn of a thread that looks since `begin`. False when that has been long. */
static bool look_again(uint64_t begin)
{
    uint64_t spent = mach_host_now() - begin;

    if (spent >= PAUSE_NS)
        sched_yield();
    else
        base_pause();
    return spent < LOOK_NS;
}

/* ---- The mutex ---- */

/* The holder's own note. */
static void admit(struct mach_host_mutex *mutex)
{
    unsigned count = atomic_load_explicit(&mutex->admitted, memory_order_relaxed);

    atomic_store_explicit(&mutex->owner, &slot, memory_order_relaxed);
    atomic_store_explicit(&mutex->admitted, count + 1, memory_order_relaxed);
    /* A thread that begins to sleep just now is not seen, and wakes up by itself. */
    if (atomic_load_explicit(&mutex->awaited, memory_order_relaxed))
        futex(&mutex->admitted, FUTEX_WAKE, 1, NULL);
}

static bool take_free(struct mach_host_mutex *mutex, unsigned state)
{
    unsigned expected = FREE;

    return atomic_load_explicit(&mutex->state, memory_order_relaxed) == FREE &&
           atomic_compare_exchange_strong_explicit(&mutex->state, &expected, state, memory_order_acquire,
                                                   memory_order_relaxed);
}

bool mach_host_mutex_try(struct mach_host_mutex *mutex)
{
    if (!take_free(mutex, HELD))
        return false;
    admit(mutex);
    return true;
}

static bool look_for_mutex(struct mach_host_mutex *mutex, unsigned state)
{
    uint64_t begin = mach_host_now();
    bool taken;

    atomic_fetch_add_explicit(&mutex->looking, 1, memory_order_relaxed);
    do
        taken = take_free(mutex, state);
    while (!taken && look_again(begin));
    atomic_fetch_sub_explicit(&mutex->looking, 1, memory_order_relaxed);
    return taken;
}

/* One that was woken looks before it sleeps again: others were woken with it and are in before. */
static void take(struct mach_host_mutex *mutex)
{
    if (take_free(mutex, HELD))
        return;
    if (begin_to_look()) {
        bool taken = look_for_mutex(mutex, HELD);

        end_looking();
        if (taken)
            return;
    }
    while (atomic_exchange_explicit(&mutex->state, WANTED, memory_order_acquire) != FREE) {
        futex(&mutex->state, FUTEX_WAIT, WANTED, NULL);
        if (look_for_mutex(mutex, WANTED))
            return;
    }
}

bool mach_host_mutex_lock(struct mach_host_mutex *mutex)
{
    if (atomic_load_explicit(&mutex->owner, memory_order_relaxed) == &slot)
        return false;
    take(mutex);
    admit(mutex);
    return true;
}

static void unlock(struct mach_host_mutex *mutex, unsigned wake)
{
    atomic_store_explicit(&mutex->owner, NULL, memory_order_relaxed);
    if (atomic_exchange_explicit(&mutex->state, FREE, memory_order_release) == WANTED)
        futex(&mutex->state, FUTEX_WAKE, wake, NULL);
}

void mach_host_mutex_unlock(struct mach_host_mutex *mutex)
{
    unlock(mutex, 1);
}

void mach_host_count_add(atomic_uint *count, int change)
{
    atomic_fetch_add(count, (unsigned)change);
}

unsigned mach_host_count(atomic_uint *count)
{
    return atomic_load(count);
}

/* Sleeps for a moment, unless a thread is admitted. */
static void sleep_until_admission(struct mach_host_mutex *mutex, unsigned admitted)
{
    const struct timespec moment = {0, SLEEP_NS};

    atomic_store(&mutex->awaited, true);
    if (atomic_load(&mutex->admitted) == admitted)
        futex(&mutex->admitted, FUTEX_WAIT, admitted, &moment);
    atomic_store(&mutex->awaited, false);
}

/* Whoever has been admitted leaves soon, so this thread looks in any case. */
static void take_again(struct mach_host_mutex *mutex)
{
    if (!look_for_mutex(mutex, HELD))
        take(mutex);
    atomic_store_explicit(&mutex->owner, &slot, memory_order_relaxed);
}

/* To a thread that is awake, which takes no longer than to see that the mutex is free. */
static void hand_over(struct mach_host_mutex *mutex)
{
    const unsigned before = atomic_load_explicit(&mutex->admitted, memory_order_relaxed);

    unlock(mutex, 1);
    for (unsigned i = 0; i < HAND_OVER_LOOKS; i++) {
        if (atomic_load_explicit(&mutex->admitted, memory_order_relaxed) != before)
            break;
        base_pause();
    }
    take_again(mutex);
}

/*
 * Threads that are on their way in get in before the next event, if they can run at all: their processor may
 * be taken by others, so this one first yields and then sleeps. Giving up early would cost the same time
 * again at every event until they have run. All are woken at once: one after the other, each would take as
 * long.
 */
static void await_all(struct mach_host_mutex *mutex, unsigned all)
{
    const unsigned before = atomic_load_explicit(&mutex->admitted, memory_order_relaxed);
    uint64_t begin = mach_host_now(), passed = 0;
    unsigned admitted;

    unlock(mutex, INT_MAX);
    do {
        admitted = atomic_load(&mutex->admitted);
        if (passed < LOOK_NS)
            sched_yield();
        else
            sleep_until_admission(mutex, admitted);
        passed = mach_host_now() - begin;
    } while (atomic_load(&mutex->admitted) - before < all && passed < RUN_NS);
    take_again(mutex);
}

void mach_host_give_way(struct mach_host_mutex *mutex, atomic_uint *inbound, bool brief)
{
    if (!brief)
        await_all(mutex, atomic_load(inbound));
    else if (atomic_load_explicit(&mutex->looking, memory_order_relaxed))
        hand_over(mutex);
}

static bool look_at_word(atomic_uint *word)
{
    uint64_t begin = mach_host_now();
    bool found;

    if (!begin_to_look())
        return false;
    do
        found = atomic_load_explicit(word, memory_order_acquire);
    while (!found && look_again(begin));
    end_looking();
    return found;
}

bool mach_host_sleep(atomic_uint *word, uint64_t until)
{
    struct timespec at = {(time_t)(until / NS_PER_S), (long)(until % NS_PER_S)};

    if (look_at_word(word))
        return true;
    while (!atomic_load(word)) {
        long status = futex(word, FUTEX_WAIT_BITSET, 0, until == MACH_HOST_FOREVER ? NULL : &at);

        if (status && errno == ETIMEDOUT)
            return atomic_load(word) != 0;
    }
    return true;
}

void mach_host_wake(atomic_uint *word)
{
    atomic_store(word, 1);
    futex(word, FUTEX_WAKE, 1, NULL);
}

void mach_host_slot_set(void *pointer)
{
    slot = pointer;
}

void *mach_host_slot(void)
{
    return slot;
}

uint64_t mach_host_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}
