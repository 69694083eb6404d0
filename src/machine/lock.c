/* SPDX-License-Identifier: Apache-2.0 */
/* Admission: whoever releases the mutex first settles who drives next (see the invariant in lock.h). */
#include "machine/lock.h"

#include <errno.h>
#include <stddef.h>

#define WALL_STEPS 1024u /* events between two looks at the wall clock by a thread that drives */

int mach_lock_init(struct mach_lock *lock, struct soc_clock *clock)
{
    lock->clock = clock;
    return -mach_host_mutex_init(&lock->mutex);
}

void mach_lock_destroy(struct mach_lock *lock)
{
    mach_host_mutex_destroy(&lock->mutex);
}

/* Events due at the deadline's own time come before it. */
static bool finished(const struct mach_lock *lock, const struct mach_waiter *waiter)
{
    uint64_t now = soc_clock_now(lock->clock);

    if (waiter->over || *waiter->done)
        return true;
    if (waiter->until_idle && soc_clock_idle(lock->clock))
        return true;
    return waiter->virtual_at <= now && soc_clock_next(lock->clock) > now;
}

/* The waiter is no longer in the list. It counts as inbound until it has the mutex. */
static void wake(struct mach_lock *lock, struct mach_waiter *waiter)
{
    waiter->asleep = false;
    mach_host_count_add(&lock->inbound, 1);
    mach_host_wake(&waiter->woken);
}

/* Wakes those whose wait is over. Returns the earliest virtual deadline of the others. */
static uint64_t sweep(struct mach_lock *lock)
{
    struct mach_waiter **link = &lock->waiters;
    uint64_t earliest = UINT64_MAX;

    while (*link) {
        struct mach_waiter *waiter = *link;

        if (!finished(lock, waiter)) {
            if (waiter->virtual_at < earliest)
                earliest = waiter->virtual_at;
            link = &waiter->next;
            continue;
        }
        *link = waiter->next;
        waiter->over = true;
        waiter->idle = soc_clock_idle(lock->clock);
        if (waiter->injected) {
            waiter->counted = true;
            lock->acting++;
        }
        wake(lock, waiter);
    }
    return earliest;
}

/* Before every release of the mutex: keeps the invariant. */
static void settle(struct mach_lock *lock)
{
    struct mach_waiter *heir;
    uint64_t earliest;

    if (!lock->waiters)
        return;
    earliest = sweep(lock);
    heir = lock->waiters;
    if (!heir || lock->driving || lock->acting || mach_host_count(&lock->inbound))
        return;
    if (earliest == UINT64_MAX && soc_clock_idle(lock->clock))
        return;
    lock->waiters = heir->next;
    wake(lock, heir);
}

static void release(struct mach_lock *lock)
{
    settle(lock);
    mach_host_mutex_unlock(&lock->mutex);
}

bool mach_lock_enter(struct mach_lock *lock)
{
    bool entered;

    mach_host_count_add(&lock->inbound, 1);
    entered = mach_host_mutex_lock(&lock->mutex);
    mach_host_count_add(&lock->inbound, -1);
    return entered;
}

void mach_lock_leave(struct mach_lock *lock)
{
    release(lock);
}

static uint64_t wall_end(struct mach_deadline *deadline)
{
    if (!deadline)
        return MACH_HOST_FOREVER;
    if (!deadline->at) {
        uint64_t now = mach_host_now();

        deadline->at = deadline->ns > MACH_HOST_FOREVER - now ? MACH_HOST_FOREVER : now + deadline->ns;
    }
    return deadline->at;
}

static void append(struct mach_lock *lock, struct mach_waiter *waiter)
{
    struct mach_waiter **link = &lock->waiters;

    while (*link)
        link = &(*link)->next;
    *link = waiter;
    waiter->next = NULL;
    waiter->asleep = true;
}

static void remove_waiter(struct mach_lock *lock, struct mach_waiter *waiter)
{
    struct mach_waiter **link = &lock->waiters;

    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
    waiter->asleep = false;
}

static void sleep_outside(struct mach_lock *lock, struct mach_waiter *waiter)
{
    uint64_t until = wall_end(waiter->wall);
    bool woken;

    atomic_store(&waiter->woken, 0);
    append(lock, waiter);
    release(lock);
    woken = mach_host_sleep(&waiter->woken, until);
    /* A waker has counted this thread in already. */
    if (!woken)
        mach_host_count_add(&lock->inbound, 1);
    mach_host_mutex_lock(&lock->mutex);
    mach_host_count_add(&lock->inbound, -1);
    if (woken)
        return;
    if (waiter->asleep)
        remove_waiter(lock, waiter);
    else
        mach_host_count_add(&lock->inbound, -1); /* woken after its time was over */
    waiter->over = true;
}

/* One event, or a move of the clock to the next virtual deadline. False when only other threads can bring anything about. */
static bool advance(struct mach_lock *lock, const struct mach_waiter *waiter)
{
    uint64_t limit = lock->waiters ? sweep(lock) : UINT64_MAX;

    if (waiter->virtual_at < limit)
        limit = waiter->virtual_at;
    if (lock->acting)
        return false;
    if (soc_clock_step(lock->clock, limit))
        return true;
    /* Time does not pass a thread that is about to act. */
    if (limit == UINT64_MAX || mach_host_count(&lock->inbound))
        return false;
    soc_clock_advance(lock->clock, limit);
    return true;
}

/* True when the wait is over. */
static bool drive(struct mach_lock *lock, struct mach_waiter *waiter)
{
    unsigned steps = 0;

    lock->driving = true;
    while (!finished(lock, waiter) && advance(lock, waiter)) {
        /* Calls are admitted between events. */
        if (mach_host_count(&lock->inbound))
            mach_host_give_way(&lock->mutex, &lock->inbound);
        if (++steps % WALL_STEPS == 0 && waiter->wall && mach_host_now() >= wall_end(waiter->wall))
            waiter->over = true;
    }
    lock->driving = false;
    return finished(lock, waiter);
}

static void wait_on(struct mach_lock *lock, struct mach_waiter *waiter)
{
    waiter->injected = mach_host_slot() == lock;
    lock->acting -= waiter->injected;
    while (!finished(lock, waiter))
        if (lock->driving || !drive(lock, waiter))
            sleep_outside(lock, waiter);
    lock->acting += waiter->injected && !waiter->counted;
}

static uint64_t virtual_end(const struct mach_lock *lock, uint64_t span)
{
    uint64_t now = soc_clock_now(lock->clock);

    return span > UINT64_MAX - now ? UINT64_MAX : now + span;
}

int mach_lock_wait(struct mach_lock *lock, const bool *done, struct mach_deadline *deadline)
{
    struct mach_waiter waiter = {.done = done, .virtual_at = UINT64_MAX};

    if (*done)
        return 0;
    if (deadline->wall) {
        waiter.wall = deadline->ns == MACH_HOST_FOREVER ? NULL : deadline;
    } else {
        if (!deadline->at)
            deadline->at = virtual_end(lock, deadline->ns);
        waiter.virtual_at = deadline->at;
    }
    wait_on(lock, &waiter);
    return *done ? 0 : -ETIMEDOUT;
}

bool mach_lock_run(struct mach_lock *lock, uint64_t span_ns)
{
    const bool never = false;
    struct mach_waiter waiter = {
        .done = &never, .until_idle = true, .virtual_at = virtual_end(lock, span_ns)};

    wait_on(lock, &waiter);
    return waiter.idle || soc_clock_idle(lock->clock);
}

void mach_lock_act_begin(struct mach_lock *lock)
{
    lock->acting++;
}

void mach_lock_act_adopt(struct mach_lock *lock)
{
    mach_host_slot_set(lock);
}

void mach_lock_act_end(struct mach_lock *lock)
{
    mach_host_slot_set(NULL);
    if (!mach_lock_enter(lock))
        return;
    lock->acting--;
    mach_lock_leave(lock);
}
