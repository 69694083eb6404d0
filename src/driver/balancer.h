/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load balancer (AppleANELoadBalancer): which engine holds which program. A program is placed before
 * it is loaded and removed when the firmware does not have it any more. With one engine every program goes
 * there.
 */
#ifndef DRIVER_BALANCER_H
#define DRIVER_BALANCER_H

#include <stdbool.h>
#include <stdint.h>

#define DRV_ENGINES_MAX 2u

/* A program's row of the residency map. The program has it, the balancer links and changes it. */
struct drv_residency {
    struct drv_residency *next;
    bool placed;
    uint32_t engine;
    uint64_t bytes;
};

struct drv_balancer {
    uint32_t engines;
    struct drv_residency *map;
    struct {
        uint32_t programs;
        uint64_t bytes;
    } resident[DRV_ENGINES_MAX];
};

/* 1 to DRV_ENGINES_MAX engines, with nothing resident. */
void drv_balancer_init(struct drv_balancer *balancer, uint32_t engines);
/* Chooses the engine with the fewest resident bytes; of equals the lowest number. */
void drv_balancer_place(struct drv_balancer *balancer, struct drv_residency *program, uint64_t bytes);
/* On the engine of its base, without bytes of its own: an instance that the firmware does not load. */
void drv_balancer_join(struct drv_balancer *balancer, struct drv_residency *program,
                       const struct drv_residency *base);
/* A program that was never placed, or is removed already, is ignored. */
void drv_balancer_remove(struct drv_balancer *balancer, struct drv_residency *program);

#endif
