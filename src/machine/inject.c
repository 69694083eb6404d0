/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls injected at a virtual time. Each has a thread of its own, made when the call is announced and
 * released by an event of the clock. The clock does not move while that thread runs, and moves while it waits
 * inside the machine; so the order of everything is a function of the announced times alone.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "machine/internal.h"

struct mach_injection {
    struct mach_injection *next; /* of the machine's list, under its lock */
    struct ane_machine *machine;
    void (*fn)(void *context);
    void *context;
    soc_event_id event;
    pthread_t thread;
    atomic_uint released;
    bool cancelled; /* written before `released` */
    atomic_bool ended;
};

static void *run(void *argument)
{
    struct mach_injection *injection = argument;
    struct mach_act act;

    mach_host_sleep(&injection->released, MACH_HOST_FOREVER);
    if (!injection->cancelled) {
        mach_lock_act_adopt(&injection->machine->lock, &act);
        injection->fn(injection->context);
        mach_lock_act_end(&act);
    }
    atomic_store(&injection->ended, true);
    return NULL;
}

static void due(void *context)
{
    struct mach_injection *injection = context;

    injection->event = 0;
    mach_lock_act_begin(&injection->machine->lock);
    mach_host_wake(&injection->released);
}

/* Inside. Those that have ended are joined; the others stay. */
static void reap(struct ane_machine *m)
{
    struct mach_injection **link = &m->injections;

    while (*link) {
        struct mach_injection *injection = *link;

        if (!atomic_load(&injection->ended)) {
            link = &injection->next;
            continue;
        }
        *link = injection->next;
        pthread_join(injection->thread, NULL);
        base_free(injection);
    }
}

/* Inside. */
static int announce(struct ane_machine *m, uint64_t when, struct mach_injection *injection)
{
    uint64_t now = soc_clock_now(m->clock);

    if (when < now)
        return base_fail(mach_error(), EINVAL,
                         "A call at %" PRIu64 " ns of virtual time: it is %" PRIu64 " ns already.", when,
                         now);
    injection->event = soc_clock_after(m->clock, when - now, SOC_EVENT_FOREGROUND, due, injection);
    if (!injection->event)
        return base_fail(mach_error(), ENOSPC, "The clock's %u events are all in use.", SOC_CLOCK_EVENTS);
    if (!base_alloc_allowed() || pthread_create(&injection->thread, NULL, run, injection)) {
        soc_clock_cancel(m->clock, injection->event);
        return base_fail(mach_error(), EAGAIN, "No thread could be made for an injected call.");
    }
    injection->next = m->injections;
    m->injections = injection;
    return 0;
}

int ane_machine_call_at(struct ane_machine *machine, uint64_t when, void (*fn)(void *context), void *context)
{
    struct mach_injection *injection;
    int status;

    if (!mach_enter(machine))
        return -EPERM;
    injection = fn ? base_alloc(sizeof(*injection)) : NULL;
    if (!injection) {
        status = fn ? base_fail(mach_error(), ENOMEM, "No memory for an injected call.")
                    : base_fail(mach_error(), EINVAL, "The function of an injected call is NULL.");
    } else {
        *injection = (struct mach_injection){.machine = machine, .fn = fn, .context = context};
        reap(machine);
        status = announce(machine, when, injection);
        if (status)
            base_free(injection);
    }
    mach_leave(machine);
    return status;
}

void mach_injections_cancel(struct ane_machine *m)
{
    for (struct mach_injection *injection = m->injections; injection; injection = injection->next) {
        if (!injection->event || !soc_clock_cancel(m->clock, injection->event))
            continue;
        injection->cancelled = true;
        mach_host_wake(&injection->released);
    }
}

void mach_injections_join(struct ane_machine *m)
{
    while (m->injections) {
        struct mach_injection *injection = m->injections;

        m->injections = injection->next;
        pthread_join(injection->thread, NULL);
        base_free(injection);
    }
}
