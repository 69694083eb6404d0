/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission to a machine. One thread at a time is inside. A thread that waits drives the machine's clock
 * itself; while another thread drives, it sleeps on a word of its own (leader and followers). A thread that
 * is alone makes no system call.
 *
 * Invariant, whenever the mutex is free: if a sleeper's wait is over, or there is a sleeper that is not quiet
 * and something left to drive (an event of the clock, or a deadline in virtual time), then some thread
 * drives, is on its way in, or is an injected call that runs. Each of these settles the rest when it releases
 * the mutex: it wakes the sleepers whose wait is over, and one more to drive when no other thread will.
 * tests/test_lock.c explores all schedules of three threads over this file.
 */
#ifndef MACHINE_LOCK_H
#define MACHINE_LOCK_H

#include "machine/host.h"
#include "soc/clock.h"

/*
 * How long a wait may last. Virtual: the clock moves on to the end of the wait when no other event is
 * due. Wall: the clock never moves because of it. It begins with the first wait that uses it, so that one
 * deadline can cover several waits of a call.
 */
struct mach_deadline {
    bool wall;
    bool quiet;  /* wall alone: only other callers can end the wait, so its thread does not drive */
    uint64_t ns; /* MACH_HOST_FOREVER: none */
    uint64_t at; /* its end; 0 until it begins */
};

/*
 * A thread that waits: on its stack, and in the list from the beginning of the wait to its end. For lock.c
 * and its test.
 */
struct mach_waiter {
    struct mach_waiter *next;
    const bool *done;
    bool quiet;                 /* it is not woken to drive */
    bool until_idle;            /* mach_lock_run: an idle machine ends the wait */
    uint64_t virtual_at;        /* UINT64_MAX: no deadline in virtual time */
    struct mach_deadline *wall; /* NULL: no deadline in wall time */
    bool injected;              /* an injected call: counted in `acting` again when its wait is over */
    bool held;                  /* its thread reports a change: the wait does not end meanwhile */
    bool over;                  /* the wait has ended */
    bool met;    /* *done was true when it ended; it may be false again when the thread looks */
    bool idle;   /* the clock was, when it ended */
    bool stuck;  /* the machine was, when it ended */
    bool asleep; /* on its word; whoever clears this wakes it */
    atomic_uint woken;
};

struct mach_lock {
    struct mach_host_mutex mutex;
    atomic_uint inbound; /* threads that will take the mutex next: callers, and sleepers that were woken */
    struct soc_clock *clock;
    /* Protected by the mutex: */
    bool driving;    /* a thread steps the clock; it may have released the mutex between two events */
    unsigned acting; /* injected calls that run: the clock does not move until each waits or ends */
    unsigned runs;   /* of the waiters, those of mach_lock_run */
    struct mach_waiter *waiters; /* oldest first */
    /*
     * Something is to be reported outside. A thread that drives calls `report`, inside, before the next step;
     * a thread that leaves sees to it itself.
     */
    bool due;
    /* Set once, before the first thread enters; both may be NULL. */
    void (*report)(void *context);
    bool (*stuck)(void *context); /* the clock is idle: work is left that no event will end */
    void *context;
};

/* The lock is all zero but for its functions. The clock stays the caller's. */
void mach_lock_init(struct mach_lock *lock, struct soc_clock *clock);

/* False when the calling thread is inside already. */
bool mach_lock_enter(struct mach_lock *lock);
void mach_lock_leave(struct mach_lock *lock);

/* Inside: until *done, or -ETIMEDOUT. Other threads are admitted meanwhile. */
int mach_lock_wait(struct mach_lock *lock, const bool *done, struct mach_deadline *deadline);
/*
 * Inside: drives until no foreground event is left and no injected call runs (idle), or `span_ns` of virtual
 * time have passed (limit). A machine that is stuck is not idle: time passes to the limit, and without a
 * limit the call ends at once (stuck).
 */
enum mach_ran { MACH_RAN_IDLE, MACH_RAN_LIMIT, MACH_RAN_STUCK };
enum mach_ran mach_lock_run(struct mach_lock *lock, uint64_t span_ns);

/*
 * A thread that acts for a machine while it is outside: an injected call, or a function of the machine's
 * owner that reports a change. On its stack until it ends. It may act for several machines, one inside the
 * other.
 */
struct mach_act {
    struct mach_lock *lock;
    struct mach_act *outer;
    bool counted; /* in `acting`; otherwise an outer one of the same machine is */
};

/*
 * Injected calls run one at a time, in the order in which their waits began. `begin` is called inside, by an
 * event of the clock, for a thread that it is about to release: the clock does not move from here on. That
 * thread calls `adopt` first and `end` last; between them it may enter, wait and leave as it likes, and the
 * clock moves only while it waits.
 */
void mach_lock_act_begin(struct mach_lock *lock);
void mach_lock_act_adopt(struct mach_lock *lock, struct mach_act *act);
void mach_lock_act_end(struct mach_act *act);

/*
 * Inside: the calling thread steps out to call a function of the machine's owner, and in again. The clock
 * does not move between the two, except while that function waits inside, as for an injected call.
 */
void mach_lock_step_out(struct mach_lock *lock, struct mach_act *act);
void mach_lock_step_in(struct mach_act *act);

#endif
