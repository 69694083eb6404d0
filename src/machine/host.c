/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's primitives for lock.c, which waits in no other way: the test of lock.c links functions of its
 * own instead and explores schedules with them. The mutex checks errors, so that a thread that enters twice
 * is refused and does not deadlock. A sleeping thread has a futex word of its own; the word is set before the
 * wake-up, so none is lost.
 */
#include "machine/host.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GIVE_WAY_NS 50000u   /* about what a sleeping thread needs to wake up */
#define RUN_NS      2000000u /* and to get a processor that others use */
#define PAUSE_NS    100000u
#define NS_PER_S    1000000000ull

int mach_host_mutex_init(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    int status = pthread_mutexattr_init(&attributes);

    if (status)
        return status;
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    status = pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return status;
}

void mach_host_mutex_destroy(pthread_mutex_t *mutex)
{
    pthread_mutex_destroy(mutex);
}

bool mach_host_mutex_lock(pthread_mutex_t *mutex)
{
    return pthread_mutex_lock(mutex) == 0;
}

void mach_host_mutex_unlock(pthread_mutex_t *mutex)
{
    pthread_mutex_unlock(mutex);
}

void mach_host_count_add(atomic_uint *count, int change)
{
    atomic_fetch_add(count, (unsigned)change);
}

unsigned mach_host_count(atomic_uint *count)
{
    return atomic_load(count);
}

/*
 * A thread that is on its way in gets in before the next event, if it can run at all: its processor may be
 * taken by others, so this one first yields and then sleeps. Giving up early would cost the same time again
 * at every event until it has run.
 */
void mach_host_give_way(pthread_mutex_t *mutex, atomic_uint *admitted)
{
    const struct timespec pause = {0, PAUSE_NS};
    unsigned before = atomic_load(admitted);
    uint64_t begin = mach_host_now(), passed = 0;

    pthread_mutex_unlock(mutex);
    do {
        if (passed < GIVE_WAY_NS)
            sched_yield();
        else
            nanosleep(&pause, NULL);
        passed = mach_host_now() - begin;
    } while (atomic_load(admitted) == before && passed < RUN_NS);
    pthread_mutex_lock(mutex);
}

bool mach_host_sleep(atomic_uint *word, uint64_t until)
{
    struct timespec at = {(time_t)(until / NS_PER_S), (long)(until % NS_PER_S)};

    while (!atomic_load(word)) {
        long status = syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, 0,
                              until == MACH_HOST_FOREVER ? NULL : &at, NULL, FUTEX_BITSET_MATCH_ANY);

        if (status && errno == ETIMEDOUT)
            return atomic_load(word) != 0;
    }
    return true;
}

void mach_host_wake(atomic_uint *word)
{
    atomic_store(word, 1);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static _Thread_local void *slot;

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
