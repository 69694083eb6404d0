/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of lowering and of MIL text: one machine and one client for a whole group, and random shapes. */
#ifndef TESTS_LOWER_MACHINE_H
#define TESTS_LOWER_MACHINE_H

#include "graphrig.h"
#include "support.h"

static struct ane_machine *machine;
static struct iorig_client client;

static inline int open_machine(void **state)
{
    (void)state;
    machine = iorig_machine((struct ane_machine_config){.trace = 0});
    return iorig_open(ane_machine_service(machine), 0, ANE_CLIENT_CONTROL, &client) != kIOReturnSuccess;
}

static inline int close_machine(void **state)
{
    (void)state;
    IOServiceClose(client.connect);
    ane_machine_destroy(machine);
    return 0;
}

static inline uint32_t pick(struct gr *g, uint32_t lo, uint32_t hi)
{
    return (uint32_t)test_rng_range(&g->rng, lo, hi);
}

/* Rank 1 to 4, odd sizes, batches. */
static inline struct gr_shape random_shape(struct gr *g)
{
    struct gr_shape s = {.rank = pick(g, 1, 4)};

    for (uint32_t i = 0; i < s.rank; i++)
        s.dim[i] = i + 1 == s.rank ? pick(g, 1, 70) : pick(g, 1, 5);
    return s;
}

#endif
