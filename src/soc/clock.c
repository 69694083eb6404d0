/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual clock: slots of events in the order in which they fire, the next one last. `order` is never
 * used twice, so the order of events is total and a stale id cancels nothing. free[count] and all after it
 * are the free slots. An event leaves the queue before its function is called, which may therefore set or
 * cancel any event.
 *
 * The queue is an array and not a heap: a machine has a handful of events, and a new one is mostly among the
 * next to fire, so that few slots move.
 */
#include "soc/clock.h"

#include <errno.h>

#include "base/alloc.h"

struct event {
    uint64_t time;
    uint64_t order; /* also the event's identity; 0 marks a free slot */
    soc_event_fn fn;
    void *context;
    enum soc_event_kind kind;
};

struct soc_clock {
    uint64_t now;
    uint64_t fired;
    uint64_t last_order;
    unsigned count;      /* events set */
    unsigned foreground; /* of them, foreground ones */
    uint16_t queue[SOC_CLOCK_EVENTS];
    uint16_t free[SOC_CLOCK_EVENTS]; /* free slots, the next one at free[count] */
    struct event event[SOC_CLOCK_EVENTS];
};

int soc_clock_create(struct soc_clock **clock, struct base_error *error)
{
    struct soc_clock *c = base_alloc(sizeof(*c));

    if (!c)
        return base_fail(error, ENOMEM, "No memory for the clock's %u event slots.", SOC_CLOCK_EVENTS);
    for (unsigned i = 0; i < SOC_CLOCK_EVENTS; i++)
        c->free[i] = (uint16_t)i;
    *clock = c;
    return 0;
}

void soc_clock_destroy(struct soc_clock *clock)
{
    base_free(clock);
}

uint64_t soc_clock_now(const struct soc_clock *clock)
{
    return clock->now;
}

uint64_t soc_clock_fired(const struct soc_clock *clock)
{
    return clock->fired;
}

bool soc_clock_idle(const struct soc_clock *clock)
{
    return clock->foreground == 0;
}

/* After those that are due earlier or at the same time, which were all set before. */
static void put_slot(struct soc_clock *c, uint16_t slot)
{
    const uint64_t time = c->event[slot].time;
    unsigned place = c->count++;

    while (place > 0 && c->event[c->queue[place - 1]].time <= time) {
        c->queue[place] = c->queue[place - 1];
        place--;
    }
    c->queue[place] = slot;
}

soc_event_id soc_clock_after(struct soc_clock *clock, uint64_t delay, enum soc_event_kind kind,
                             soc_event_fn fn, void *context)
{
    struct event *event;
    uint16_t slot;

    if (clock->count == SOC_CLOCK_EVENTS)
        return 0;
    slot = clock->free[clock->count];
    event = &clock->event[slot];
    event->time = delay > UINT64_MAX - clock->now ? UINT64_MAX : clock->now + delay;
    event->order = ++clock->last_order;
    event->fn = fn;
    event->context = context;
    event->kind = kind;
    clock->foreground += kind == SOC_EVENT_FOREGROUND;
    put_slot(clock, slot);
    /* The slot travels in the identity's low bits. */
    return event->order * SOC_CLOCK_EVENTS + slot;
}

static void free_slot(struct soc_clock *c, uint16_t slot)
{
    c->foreground -= c->event[slot].kind == SOC_EVENT_FOREGROUND;
    c->event[slot].order = 0;
    c->free[--c->count] = slot;
}

bool soc_clock_cancel(struct soc_clock *clock, soc_event_id id)
{
    uint16_t slot = (uint16_t)(id % SOC_CLOCK_EVENTS);
    unsigned place = 0;

    if (id == 0 || clock->event[slot].order != id / SOC_CLOCK_EVENTS)
        return false;
    while (clock->queue[place] != slot)
        place++;
    for (; place + 1 < clock->count; place++)
        clock->queue[place] = clock->queue[place + 1];
    free_slot(clock, slot);
    return true;
}

static const struct event *next_event(const struct soc_clock *c)
{
    return &c->event[c->queue[c->count - 1]];
}

uint64_t soc_clock_next(const struct soc_clock *clock)
{
    return clock->foreground ? next_event(clock)->time : UINT64_MAX;
}

static void fire_next(struct soc_clock *clock)
{
    const struct event *event = next_event(clock);
    soc_event_fn fn = event->fn;
    void *context = event->context;

    clock->now = event->time;
    clock->fired++;
    free_slot(clock, clock->queue[clock->count - 1]);
    fn(context);
}

bool soc_clock_step(struct soc_clock *clock, uint64_t limit)
{
    if (clock->foreground == 0 || next_event(clock)->time > limit)
        return false;
    fire_next(clock);
    return true;
}

void soc_clock_advance(struct soc_clock *clock, uint64_t time)
{
    while (clock->count && next_event(clock)->time <= time)
        fire_next(clock);
    if (clock->now < time)
        clock->now = time;
}

bool soc_clock_run(struct soc_clock *clock, uint64_t span)
{
    uint64_t limit = span > UINT64_MAX - clock->now ? UINT64_MAX : clock->now + span;

    while (soc_clock_step(clock, limit))
        ;
    if (soc_clock_idle(clock))
        return true;
    clock->now = limit;
    return false;
}
