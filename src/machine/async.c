/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread waits in one of two ways: parked, outside the machine, while nothing is watched, so that it does
 * not drive for others; or inside, as a waiter like any other (lock.h), until nothing is left or the earliest
 * deadline has passed. It blocks every signal, and a forked child does not have it.
 */
#include "machine/async.h"

#include <errno.h>
#include <signal.h>

#include "base/alloc.h"
#include "machine/internal.h"

static uint64_t earliest(const struct mach_async *async)
{
    uint64_t at = UINT64_MAX;

    for (uint32_t i = 0; i < DRV_WATCHES; i++)
        if (async->watch[i].armed && async->watch[i].wall_at < at)
            at = async->watch[i].wall_at;
    return at;
}

static void expire_overdue(struct ane_machine *m)
{
    uint64_t now = mach_host_now();

    for (uint32_t i = 0; i < DRV_WATCHES; i++)
        if (m->async.watch[i].armed && m->async.watch[i].wall_at <= now)
            drv_request_expire(m->driver, i);
}

static void park(struct ane_machine *m)
{
    m->async.parked = true;
    atomic_store(&m->async.woken, 0);
    mach_lock_leave(&m->lock);
    mach_host_sleep(&m->async.woken, MACH_HOST_FOREVER);
    mach_lock_enter(&m->lock);
}

static void unpark(struct mach_async *async)
{
    if (!async->parked)
        return;
    async->parked = false;
    mach_host_wake(&async->woken);
}

static void *serve(void *argument)
{
    struct ane_machine *m = argument;
    struct mach_async *async = &m->async;

    mach_lock_enter(&m->lock);
    while (!async->end) {
        struct mach_deadline deadline = {.wall = true, .at = earliest(async)};

        if (!async->watched) {
            park(m);
            continue;
        }
        async->look = false;
        async->until = deadline.at;
        if (mach_lock_wait(&m->lock, &async->look, &deadline))
            expire_overdue(m);
    }
    mach_lock_leave(&m->lock);
    return NULL;
}

int mach_async_start(struct ane_machine *m, struct base_error *error)
{
    sigset_t all, before;
    int status;

    if (m->closed_clock || m->async.started)
        return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    status = base_alloc_allowed() ? pthread_create(&m->async.thread, NULL, serve, m) : EAGAIN;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (status)
        return base_fail(error, EAGAIN, "No thread could be made for asynchronous requests.");
    m->async.started = true;
    return 0;
}

static void due(void *context)
{
    struct mach_watch *watch = context;

    watch->event = 0;
    drv_request_expire(watch->machine->driver, (uint32_t)(watch - watch->machine->async.watch));
}

/* A deadline that a wait has begun already has its end; any other begins now. */
static uint64_t end_of(const struct drv_deadline *deadline, uint64_t now)
{
    return deadline->at ? deadline->at : now + deadline->ns;
}

int mach_async_watch(struct ane_machine *m, uint32_t request, const struct drv_deadline *deadline)
{
    struct mach_async *async = &m->async;
    struct mach_watch watch = {.machine = m, .armed = true};

    if (m->closed_clock) {
        uint64_t now = soc_clock_now(m->clock), at = end_of(deadline, now);

        watch.event = soc_clock_after(m->clock, at > now ? at - now : 0, SOC_EVENT_FOREGROUND, due,
                                      &async->watch[request]);
        if (!watch.event)
            return -ENOSPC;
    } else {
        watch.wall_at = end_of(deadline, mach_host_now());
        if (watch.wall_at < async->until)
            async->look = true;
    }
    async->watch[request] = watch;
    async->watched++;
    unpark(async);
    return 0;
}

void mach_async_unwatch(struct ane_machine *m, uint32_t request)
{
    struct mach_watch *watch = &m->async.watch[request];

    if (watch->event)
        soc_clock_cancel(m->clock, watch->event);
    *watch = (struct mach_watch){.armed = false};
    if (--m->async.watched == 0)
        m->async.look = true;
}

void mach_async_stop(struct ane_machine *m)
{
    if (!m->async.started)
        return;
    mach_lock_enter(&m->lock);
    m->async.end = m->async.look = true;
    unpark(&m->async);
    mach_lock_leave(&m->lock);
    pthread_join(m->async.thread, NULL);
}
