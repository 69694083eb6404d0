/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is inside a machine. One thread at a time; of those that wait, one drives the machine and the others sleep on a word of their own (leader and followers).
 * A thread alone touches no futex: an uncontended lock and a wait that it drives itself make no system call.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine/internal.h"

static _Thread_local struct base_error last_error;

struct base_error *mach_error(void)
{
    return &last_error;
}

const char *ane_machine_error(void)
{
    return last_error.text;
}

/* How many forks lie between this process and the one that loaded the library: asking costs no system call. */
static atomic_ulong fork_generation;
static pthread_once_t fork_watch = PTHREAD_ONCE_INIT;

static void forked(void)
{
    atomic_fetch_add(&fork_generation, 1);
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forked);
}

unsigned long mach_fork_generation(void)
{
    pthread_once(&fork_watch, watch_forks);
    return atomic_load(&fork_generation);
}

int mach_lock_init(struct ane_machine *m)
{
    pthread_mutexattr_t attributes;
    int status = pthread_mutexattr_init(&attributes);

    if (status)
        return -status;
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    status = pthread_mutex_init(&m->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    m->family = mach_fork_generation();
    return -status;
}

bool mach_enter(struct ane_machine *m)
{
    int status;

    last_error.text[0] = '\0';
    if (atomic_load(&fork_generation) != m->family) {
        base_fail(&last_error, EPERM, "A machine cannot be used in a forked child; make a new one there.");
        return false;
    }
    atomic_fetch_add(&m->entering, 1);
    status = pthread_mutex_lock(&m->lock);
    atomic_fetch_sub(&m->entering, 1);
    if (status)
        base_fail(&last_error, EDEADLK, "The trace function must not call the machine it traces.");
    return !status;
}

void mach_leave(struct ane_machine *m)
{
    pthread_mutex_unlock(&m->lock);
}

static void wake(struct mach_waiter *waiter)
{
    atomic_store(&waiter->woken, 1);
    syscall(SYS_futex, &waiter->woken, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Takes those out whose wait is over and wakes them. */
static void wake_finished(struct ane_machine *m)
{
    struct mach_waiter **link = &m->waiters;

    while (*link) {
        struct mach_waiter *waiter = *link;

        if (*waiter->done || waiter->expired) {
            *link = waiter->next;
            wake(waiter);
        } else {
            link = &waiter->next;
        }
    }
}

/* The driver leaves: exactly one of those who sleep takes over. */
static void hand_over(struct ane_machine *m)
{
    struct mach_waiter *heir = m->waiters;

    if (!heir)
        return;
    m->waiters = heir->next;
    wake(heir);
}

static void sleep_outside(struct ane_machine *m, struct mach_waiter *waiter)
{
    struct mach_waiter **link = &m->waiters;

    atomic_store(&waiter->woken, 0);
    waiter->next = NULL;
    while (*link)
        link = &(*link)->next;
    *link = waiter;
    pthread_mutex_unlock(&m->lock);
    while (!atomic_load(&waiter->woken))
        syscall(SYS_futex, &waiter->woken, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    /* On the way in like any caller: time does not pass the one who has been woken by. */
    atomic_fetch_add(&m->entering, 1);
    pthread_mutex_lock(&m->lock);
    atomic_fetch_sub(&m->entering, 1);
}

#define LET_IN_SPINS 200

/* Calls are admitted between events: whoever is on the way in comes in now. */
static void let_others_in(struct ane_machine *m)
{
    unsigned waiting = atomic_load(&m->entering);

    if (!waiting)
        return;
    pthread_mutex_unlock(&m->lock);
    for (unsigned i = 0; i < LET_IN_SPINS && atomic_load(&m->entering) >= waiting; i++)
        sched_yield();
    pthread_mutex_lock(&m->lock);
}

/* Drives until the wait is over. */
static void drive(struct ane_machine *m, const struct mach_waiter *waiter)
{
    m->driving = true;
    while (!*waiter->done && !waiter->expired) {
        soc_clock_step(m->clock, UINT64_MAX);
        if (m->waiters)
            wake_finished(m);
        let_others_in(m);
    }
    m->driving = false;
    hand_over(m);
}

static void expire(void *context)
{
    struct mach_waiter *waiter = context;

    waiter->expired = true;
}

int mach_wait(struct ane_machine *m, const bool *done, uint64_t timeout_ns)
{
    struct mach_waiter waiter = {.done = done};
    soc_event_id deadline;

    if (*done)
        return 0;
    /* The deadline is a foreground event: with nothing else to do the clock jumps to it. */
    deadline = soc_clock_after(m->clock, timeout_ns, SOC_EVENT_FOREGROUND, expire, &waiter);
    if (!deadline)
        return -ENOSPC;
    while (!*done && !waiter.expired) {
        if (m->driving)
            sleep_outside(m, &waiter);
        else
            drive(m, &waiter);
    }
    soc_clock_cancel(m->clock, deadline);
    return *done ? 0 : -ETIMEDOUT;
}
