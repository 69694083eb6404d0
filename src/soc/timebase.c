/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Early versions of the Linux driver print both words, the second as a counter (drv); here it is the high
 * half.
 */
#include "soc/timebase.h"

#include "protocol/board.h"
#include "protocol/controller.h"
#include "soc/bus.h"
#include "soc/clock.h"

_Static_assert((int)PR_CTRL_TIMEBASE_LO == (int)PR_CTRL_WINDOW_TIME &&
                   PR_CTRL_TIMEBASE_HI == PR_CTRL_TIMEBASE_LO + 4,
               "the words are first in their window");

static uint32_t timebase_read(void *context, enum soc_master master, uint32_t offset)
{
    const uint64_t ticks = pr_timebase_ticks(soc_clock_now(context));

    (void)master;
    return offset == 0 ? (uint32_t)ticks : offset == 4 ? (uint32_t)(ticks >> 32) : 0;
}

static void timebase_write(void *context, enum soc_master master, uint32_t offset, uint32_t value)
{
    (void)context, (void)master, (void)offset, (void)value;
}

int soc_timebase_attach(struct soc_clock *clock, struct soc_bus *bus, uint64_t container,
                        struct base_error *error)
{
    const struct soc_block block = {
        .name = "time-base",
        .base = container + PR_CTRL_WINDOW_TIME,
        .bytes = PR_CTRL_WINDOW_TIME_BYTES,
        .read = timebase_read,
        .write = timebase_write,
        .context = clock,
    };

    return soc_bus_attach(bus, &block, error);
}
