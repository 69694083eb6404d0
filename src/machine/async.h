/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that no caller waits for: their deadlines, and the thread that drives the machine for them. With
 * an open clock a deadline is wall time, and the machine's own thread drives while such requests are under
 * way and no other thread does. With a closed clock a deadline is an event of the clock, and no thread is
 * made: time passes only while a call waits, so that the trace is a function of the calls alone.
 */
#ifndef MACHINE_ASYNC_H
#define MACHINE_ASYNC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "driver/driver.h"
#include "soc/clock.h"

struct ane_machine;

struct mach_watch {
    struct ane_machine *machine;
    bool armed;
    uint64_t wall_at;   /* open clock */
    soc_event_id event; /* closed clock */
};

/* Under the machine's lock. */
struct mach_async {
    bool started; /* there is a thread */
    bool parked;  /* it sleeps on `woken` until there is something to do */
    bool end;
    bool look;      /* what it waits for inside: nothing is left, or an earlier deadline */
    uint64_t until; /* the deadline it waits for */
    pthread_t thread;
    atomic_uint woken;
    unsigned watched;
    struct mach_watch watch[DRV_WATCHES];
};

/* Inside. -EAGAIN, with a sentence, when a thread is needed and cannot be made. */
int mach_async_start(struct ane_machine *m, struct base_error *error);
/* Inside: a request has a deadline from here to `unwatch`. -ENOSPC when the clock's events are all in use. */
int mach_async_watch(struct ane_machine *m, uint32_t request, const struct drv_deadline *deadline);
void mach_async_unwatch(struct ane_machine *m, uint32_t request);
/* Outside, with nothing watched any more: the thread ends. */
void mach_async_stop(struct ane_machine *m);

#endif
