/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual clock and its one ordered queue of events. Time is nanoseconds since reset and moves only when
 * an event fires. Events at the same time fire in the order they were set. Foreground events are work;
 * background events (monitors) fire only when time passes for another reason.
 */
#ifndef SOC_CLOCK_H
#define SOC_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct soc_clock;

typedef void (*soc_event_fn)(void *context);
typedef uint64_t soc_event_id; /* 0 is none */

enum soc_event_kind { SOC_EVENT_FOREGROUND, SOC_EVENT_BACKGROUND };

int soc_clock_create(struct soc_clock **clock, struct base_error *error);
void soc_clock_destroy(struct soc_clock *clock);

uint64_t soc_clock_now(const struct soc_clock *clock);
/* Events fired since reset: the index that an arrival log refers to. */
uint64_t soc_clock_fired(const struct soc_clock *clock);

/* Sets an event `delay` from now. 0 when there are too many events (SOC_CLOCK_EVENTS). Never allocates. */
#define SOC_CLOCK_EVENTS 1024
soc_event_id soc_clock_after(struct soc_clock *clock, uint64_t delay, enum soc_event_kind kind,
                             soc_event_fn fn, void *context);
/* True when the event was still set. */
bool soc_clock_cancel(struct soc_clock *clock, soc_event_id id);

/* The time of the next event; UINT64_MAX when no foreground event is set. */
uint64_t soc_clock_next(const struct soc_clock *clock);
/* No foreground event is set. */
bool soc_clock_idle(const struct soc_clock *clock);
/*
 * Fires the next event if it is due at or before `limit`; moves time to it. False when there is none, or only
 * background ones.
 */
bool soc_clock_step(struct soc_clock *clock, uint64_t limit);
/*
 * Moves time to `time`, for a wait in virtual time that ends there. No foreground event may be due before it;
 * background events that are due before it fire.
 */
void soc_clock_advance(struct soc_clock *clock, uint64_t time);
/* Steps until idle or until `span` has passed; then, if not idle, time is at the limit. True when idle. */
bool soc_clock_run(struct soc_clock *clock, uint64_t span);

#endif
