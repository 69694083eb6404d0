/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time base's two words in the engine's container, low and high: ticks since reset. A store has no
 * effect.
 */
#ifndef SOC_TIMEBASE_H
#define SOC_TIMEBASE_H

#include <stdint.h>

#include "base/error.h"

struct soc_bus;
struct soc_clock;

/* Attaches the window to the bus; the clock outlives it. */
int soc_timebase_attach(struct soc_clock *clock, struct soc_bus *bus, uint64_t container,
                        struct base_error *error);

#endif
