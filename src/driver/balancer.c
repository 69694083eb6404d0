/* SPDX-License-Identifier: Apache-2.0 */
/* A program is in the map exactly while it is placed, and counts for its engine that long. */
#include "driver/balancer.h"

void drv_balancer_init(struct drv_balancer *balancer, uint32_t engines)
{
    *balancer = (struct drv_balancer){.engines = engines};
}

static void enter(struct drv_balancer *balancer, struct drv_residency *program, uint32_t engine,
                  uint64_t bytes)
{
    *program =
        (struct drv_residency){.next = balancer->map, .placed = true, .engine = engine, .bytes = bytes};
    balancer->map = program;
    balancer->resident[engine].programs++;
    balancer->resident[engine].bytes += bytes;
}

void drv_balancer_place(struct drv_balancer *balancer, struct drv_residency *program, uint64_t bytes)
{
    uint32_t chosen = 0;

    for (uint32_t i = 1; i < balancer->engines; i++)
        if (balancer->resident[i].bytes < balancer->resident[chosen].bytes)
            chosen = i;
    enter(balancer, program, chosen, bytes);
}

void drv_balancer_join(struct drv_balancer *balancer, struct drv_residency *program,
                       const struct drv_residency *base)
{
    enter(balancer, program, base->engine, 0);
}

void drv_balancer_remove(struct drv_balancer *balancer, struct drv_residency *program)
{
    struct drv_residency **link = &balancer->map;

    if (!program->placed)
        return;
    while (*link != program)
        link = &(*link)->next;
    *link = program->next;
    program->placed = false;
    balancer->resident[program->engine].programs--;
    balancer->resident[program->engine].bytes -= program->bytes;
}
