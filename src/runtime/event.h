/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Async events: values that only rise. Handles and operations have references to an event; its values, and
 * what waits for them, are under the lock of async.h.
 */
#ifndef RUNTIME_EVENT_H
#define RUNTIME_EVENT_H

#include <stdbool.h>

#include "runtime/handle.h"

#define E5_EVENT_NAME_MAX   127u
#define E5_DEPENDENT_EVENTS E5RT_DEPENDENT_EVENTS_MAX

/* Values, one after the other, that were to be signalled by work which has failed. */
struct e5_loss {
    uint64_t first, last;
};
#define E5_LOSSES 8u

struct e5_event {
    atomic_uint count; /* of references */
    char name[E5_EVENT_NAME_MAX + 1];
    /* Under the lock: */
    uint64_t last;   /* signalled */
    uint64_t future; /* what the work submitted last will signal */
    unsigned losses;
    struct e5_loss loss[E5_LOSSES]; /* above `last`, in any order */
};

struct e5rt_async_event {
    struct e5_handle handle;
    struct e5_event *event;
};

/* Returns the event. */
struct e5_event *e5_event_keep(struct e5_event *event);
/* NULL is allowed. */
void e5_event_drop(struct e5_event *event);
/* Another handle; NULL without memory. */
e5rt_async_event_t e5_event_handle(struct e5_event *event);

/* With the lock. */
bool e5_event_reached(const struct e5_event *event, uint64_t value);
/* Work that was to signal this value has failed. */
void e5_event_lose(struct e5_event *event, uint64_t value);
/* The smallest lost value that is not below this one, which has not been reached; 0: none. */
uint64_t e5_event_next_loss(const struct e5_event *event, uint64_t value);
/* A value below the last one changes nothing. */
void e5_event_raise(struct e5_event *event, uint64_t value);

#endif
