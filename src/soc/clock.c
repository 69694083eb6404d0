/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual clock: a binary heap of event slots, ordered by time and then by the order they were set.
 * `order` is never used twice, so the order of events is total and a stale id cancels nothing. free[count]
 * and all after it are the free slots. An event leaves the heap before its function is called, which may
 * therefore set or cancel any event.
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
    uint16_t place; /* index in the heap */
};

struct soc_clock {
    uint64_t now;
    uint64_t fired;
    uint64_t last_order;
    unsigned count;      /* events set */
    unsigned foreground; /* of them, foreground ones */
    uint16_t heap[SOC_CLOCK_EVENTS];
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

static bool before(const struct soc_clock *c, uint16_t a, uint16_t b)
{
    const struct event *x = &c->event[a], *y = &c->event[b];

    return x->time != y->time ? x->time < y->time : x->order < y->order;
}

static void put_slot(struct soc_clock *c, unsigned place, uint16_t slot)
{
    c->heap[place] = slot;
    c->event[slot].place = (uint16_t)place;
}

static void sift_up(struct soc_clock *c, unsigned place, uint16_t slot)
{
    while (place > 0) {
        unsigned parent = (place - 1) / 2;

        if (!before(c, slot, c->heap[parent]))
            break;
        put_slot(c, place, c->heap[parent]);
        place = parent;
    }
    put_slot(c, place, slot);
}

static void sift_down(struct soc_clock *c, unsigned place, uint16_t slot)
{
    for (;;) {
        unsigned child = 2 * place + 1;

        if (child >= c->count)
            break;
        if (child + 1 < c->count && before(c, c->heap[child + 1], c->heap[child]))
            child++;
        if (!before(c, c->heap[child], slot))
            break;
        put_slot(c, place, c->heap[child]);
        place = child;
    }
    put_slot(c, place, slot);
}

soc_event_id soc_clock_after(struct soc_clock *clock, uint64_t delay, enum soc_event_kind kind,
                             soc_event_fn fn, void *context)
{
    uint16_t slot;

    if (clock->count == SOC_CLOCK_EVENTS)
        return 0;
    slot = clock->free[clock->count];
    clock->event[slot] = (struct event){
        .time = delay > UINT64_MAX - clock->now ? UINT64_MAX : clock->now + delay,
        .order = ++clock->last_order,
        .fn = fn,
        .context = context,
        .kind = kind,
    };
    clock->foreground += kind == SOC_EVENT_FOREGROUND;
    clock->count++;
    sift_up(clock, clock->count - 1, slot);
    /* The slot travels in the identity's low bits so that cancel needs no search. */
    return clock->event[slot].order * SOC_CLOCK_EVENTS + slot;
}

static void take_out(struct soc_clock *c, uint16_t slot)
{
    unsigned place = c->event[slot].place;
    uint16_t last;

    c->foreground -= c->event[slot].kind == SOC_EVENT_FOREGROUND;
    c->event[slot].order = 0;
    c->count--;
    c->free[c->count] = slot;
    if (place == c->count)
        return;
    last = c->heap[c->count];
    if (place > 0 && before(c, last, c->heap[(place - 1) / 2]))
        sift_up(c, place, last);
    else
        sift_down(c, place, last);
}

bool soc_clock_cancel(struct soc_clock *clock, soc_event_id id)
{
    uint16_t slot = (uint16_t)(id % SOC_CLOCK_EVENTS);

    if (id == 0 || clock->event[slot].order != id / SOC_CLOCK_EVENTS)
        return false;
    take_out(clock, slot);
    return true;
}

uint64_t soc_clock_next(const struct soc_clock *clock)
{
    return clock->foreground ? clock->event[clock->heap[0]].time : UINT64_MAX;
}

static void fire_first(struct soc_clock *clock)
{
    struct event event = clock->event[clock->heap[0]];

    take_out(clock, clock->heap[0]);
    clock->now = event.time;
    clock->fired++;
    event.fn(event.context);
}

bool soc_clock_step(struct soc_clock *clock, uint64_t limit)
{
    if (soc_clock_next(clock) > limit || clock->foreground == 0)
        return false;
    fire_first(clock);
    return true;
}

void soc_clock_advance(struct soc_clock *clock, uint64_t time)
{
    while (clock->count && clock->event[clock->heap[0]].time <= time)
        fire_first(clock);
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
