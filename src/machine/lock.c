/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission to a machine; the invariant is in lock.h. A thread that gives up the mutex calls `release`, which
 * settles first: it ends the waits that may end and wakes a thread to drive if none is on its way. The one
 * exception is a thread that drives and gives way between two events: `driving` stays set. The list of
 * waiters, and what is in it, changes only with the mutex held.
 */
#include "machine/lock.h"

#include <errno.h>
#include <stddef.h>

#define WALL_STEPS  1024u  /* events between two looks at the wall clock by a thread that drives */
#define BRIEF_NS    20000u /* an event that takes less is over before a thread that sleeps has come */
#define PATIENCE_NS 200000u

void mach_lock_init(struct mach_lock *lock, struct soc_clock *clock)
{
    lock->clock = clock;
}

static bool is_stuck(const struct mach_lock *lock)
{
    return lock->stuck && lock->stuck(lock->context);
}

/* An idle machine ends a run; a stuck one only a run that has no limit. */
static bool may_end_run(const struct mach_lock *lock, const struct mach_waiter *waiter)
{
    return soc_clock_idle(lock->clock) && !lock->acting &&
           (waiter->virtual_at == UINT64_MAX || !is_stuck(lock));
}

/*
 * Events due at the deadline's own time come before it. Of injected calls one acts at a time, so that their
 * order is always the same.
 */
static bool may_end(const struct mach_lock *lock, const struct mach_waiter *waiter)
{
    uint64_t now = soc_clock_now(lock->clock);

    if (waiter->injected && lock->acting)
        return false;
    if (*waiter->done)
        return true;
    if (waiter->until_idle && may_end_run(lock, waiter))
        return true;
    return waiter->virtual_at <= now && soc_clock_next(lock->clock) > now;
}

/* It counts as inbound until it has the mutex. */
static void wake(struct mach_lock *lock, struct mach_waiter *waiter)
{
    waiter->asleep = false;
    mach_host_count_add(&lock->inbound, 1);
    mach_host_wake(&waiter->woken);
}

static void end_wait(struct mach_lock *lock, struct mach_waiter *waiter)
{
    waiter->over = true;
    waiter->met = *waiter->done;
    waiter->idle = soc_clock_idle(lock->clock);
    waiter->stuck = waiter->until_idle && is_stuck(lock);
    lock->acting += waiter->injected;
    if (waiter->asleep)
        wake(lock, waiter);
}

/*
 * The order in which waits end. Runs come last, because an injected call whose wait has ended acts again, and
 * then the machine is not idle; and of the runs those of injected calls come first.
 */
enum rank { RANK_WAIT, RANK_INJECTED_RUN, RANK_RUN };

static enum rank rank_of(const struct mach_waiter *waiter)
{
    if (!waiter->until_idle)
        return RANK_WAIT;
    return waiter->injected ? RANK_INJECTED_RUN : RANK_RUN;
}

/* Ends the waits of one rank that may end. Returns the earliest virtual deadline of the rest. */
static uint64_t sweep_rank(struct mach_lock *lock, enum rank rank)
{
    uint64_t earliest = UINT64_MAX;

    for (struct mach_waiter *waiter = lock->waiters; waiter; waiter = waiter->next) {
        if (waiter->over || waiter->held)
            continue;
        if (rank_of(waiter) == rank && may_end(lock, waiter))
            end_wait(lock, waiter);
        else if (waiter->virtual_at < earliest)
            earliest = waiter->virtual_at;
    }
    return earliest;
}

static uint64_t sweep(struct mach_lock *lock)
{
    const struct mach_waiter *only = lock->waiters;
    uint64_t earliest;

    /* The usual case: one thread waits, for a completion that has not come. */
    if (only && !only->next && !only->until_idle && !*only->done && only->virtual_at == UINT64_MAX)
        return UINT64_MAX;
    earliest = sweep_rank(lock, RANK_WAIT);
    if (!lock->runs)
        return earliest;
    sweep_rank(lock, RANK_INJECTED_RUN);
    return sweep_rank(lock, RANK_RUN);
}

/* Of those that may be woken to drive. */
static struct mach_waiter *first_asleep(const struct mach_lock *lock)
{
    struct mach_waiter *waiter = lock->waiters;

    while (waiter && (!waiter->asleep || waiter->quiet))
        waiter = waiter->next;
    return waiter;
}

/* Before every release of the mutex: keeps the invariant. */
static void settle(struct mach_lock *lock)
{
    struct mach_waiter *heir;
    uint64_t earliest;

    if (!lock->waiters)
        return;
    earliest = sweep(lock);
    if (lock->driving || lock->acting || mach_host_count(&lock->inbound))
        return;
    if (earliest == UINT64_MAX && soc_clock_idle(lock->clock))
        return;
    heir = first_asleep(lock);
    if (heir)
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

    if (mach_host_mutex_try(&lock->mutex))
        return true;
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
    lock->runs += waiter->until_idle;
}

static void remove_waiter(struct mach_lock *lock, struct mach_waiter *waiter)
{
    struct mach_waiter **link = &lock->waiters;

    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
    lock->runs -= waiter->until_idle;
}

static void sleep_outside(struct mach_lock *lock, struct mach_waiter *waiter)
{
    uint64_t until = wall_end(waiter->wall);
    bool woken;

    atomic_store(&waiter->woken, 0);
    waiter->asleep = true;
    release(lock);
    woken = mach_host_sleep(&waiter->woken, until);
    /* A waker has counted this thread in already. */
    if (!woken)
        mach_host_count_add(&lock->inbound, 1);
    mach_host_mutex_lock(&lock->mutex);
    mach_host_count_add(&lock->inbound, -1);
    if (woken)
        return;
    if (!waiter->asleep)
        mach_host_count_add(&lock->inbound, -1); /* woken after its time had passed */
    waiter->asleep = false;
    if (!waiter->over)
        end_wait(lock, waiter);
}

/*
 * One event, or a move of the clock to the next virtual deadline. False when only other threads can bring
 * anything about.
 */
static bool advance(struct mach_lock *lock, uint64_t limit)
{
    if (lock->acting)
        return false;
    if (soc_clock_step(lock->clock, limit))
        return true;
    /* The clock does not advance while a thread is on its way in. */
    if (limit == UINT64_MAX || mach_host_count(&lock->inbound))
        return false;
    soc_clock_advance(lock->clock, limit);
    return true;
}

/*
 * The last step changed something that is reported outside, by this thread, which does not wait meanwhile:
 * it neither drives nor is its wait ended. False when another thread drives afterwards.
 */
static bool report(struct mach_lock *lock, struct mach_waiter *waiter)
{
    waiter->held = true;
    lock->driving = false;
    lock->acting += waiter->injected;
    lock->report(lock->context);
    lock->acting -= waiter->injected;
    waiter->held = false;
    if (lock->driving)
        return false;
    lock->driving = true;
    return true;
}

/*
 * Calls are admitted between events. `began` is when the last event did, or 0. With brief events and several
 * threads that wait, those that are not awake yet come in later: when this one leaves, or when any has waited
 * for PATIENCE_NS. `since` is when that time began, or 0.
 */
static void admit_others(struct mach_lock *lock, uint64_t began, uint64_t *since)
{
    uint64_t now = began ? mach_host_now() : 0;
    bool brief = began && now - began < BRIEF_NS && (!*since || now - *since < PATIENCE_NS);

    mach_host_give_way(&lock->mutex, &lock->inbound, brief);
    if (!brief)
        *since = 0;
    else if (!*since)
        *since = now;
}

/*
 * Steps the clock until the wait is over or no step is possible. Waits that have ended come first: their
 * threads may go on before anything else happens.
 */
static void drive(struct mach_lock *lock, struct mach_waiter *waiter)
{
    unsigned steps = 0;
    uint64_t since = 0;

    lock->driving = true;
    for (;;) {
        uint64_t limit = sweep(lock), began = lock->waiters->next ? mach_host_now() : 0;

        if (waiter->over || !advance(lock, limit))
            break;
        if (lock->due && !report(lock, waiter))
            return;
        if (mach_host_count(&lock->inbound))
            admit_others(lock, began, &since);
        else
            since = 0;
        if (++steps % WALL_STEPS == 0 && waiter->wall && mach_host_now() >= wall_end(waiter->wall) &&
            !waiter->over)
            end_wait(lock, waiter);
    }
    lock->driving = false;
}

/* The calling thread is counted in `acting` while it is not inside a wait. */
static bool acts_for(const struct mach_lock *lock)
{
    const struct mach_act *act = mach_host_slot();

    while (act && act->lock != lock)
        act = act->outer;
    return act;
}

static void wait_on(struct mach_lock *lock, struct mach_waiter *waiter)
{
    waiter->injected = acts_for(lock);
    lock->acting -= waiter->injected;
    append(lock, waiter);
    while (!waiter->over) {
        if (!lock->driving && !waiter->quiet)
            drive(lock, waiter);
        if (!waiter->over)
            sleep_outside(lock, waiter);
    }
    remove_waiter(lock, waiter);
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
        waiter.quiet = deadline->quiet;
    } else {
        if (!deadline->at)
            deadline->at = virtual_end(lock, deadline->ns);
        waiter.virtual_at = deadline->at;
    }
    wait_on(lock, &waiter);
    return waiter.met || *done ? 0 : -ETIMEDOUT;
}

enum mach_ran mach_lock_run(struct mach_lock *lock, uint64_t span_ns)
{
    const bool never = false;
    struct mach_waiter waiter = {
        .done = &never, .until_idle = true, .virtual_at = virtual_end(lock, span_ns)};

    wait_on(lock, &waiter);
    if (!waiter.idle)
        return MACH_RAN_LIMIT;
    return waiter.stuck ? MACH_RAN_STUCK : MACH_RAN_IDLE;
}

void mach_lock_act_begin(struct mach_lock *lock)
{
    lock->acting++;
}

void mach_lock_act_adopt(struct mach_lock *lock, struct mach_act *act)
{
    *act = (struct mach_act){.lock = lock, .outer = mach_host_slot(), .counted = true};
    mach_host_slot_set(act);
}

void mach_lock_act_end(struct mach_act *act)
{
    mach_host_slot_set(act->outer);
    if (!mach_lock_enter(act->lock))
        return;
    act->lock->acting -= act->counted;
    mach_lock_leave(act->lock);
}

void mach_lock_step_out(struct mach_lock *lock, struct mach_act *act)
{
    bool acts = acts_for(lock);

    mach_lock_act_adopt(lock, act);
    act->counted = !acts;
    lock->acting += act->counted;
    release(lock);
}

void mach_lock_step_in(struct mach_act *act)
{
    mach_host_slot_set(act->outer);
    mach_lock_enter(act->lock);
    act->lock->acting -= act->counted;
}
