/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command gate: a lock of the model, not of the host. One owner, then first come, first served; its owner gives it up while it waits for the
 * machine.
 */
#ifndef DRIVER_GATE_H
#define DRIVER_GATE_H

#include <stdbool.h>

struct drv_platform;

/* Somebody in a line; `done` is what the platform's wait looks at. */
struct drv_waiter {
    struct drv_waiter *next;
    bool done;
};
void drv_waiter_append(struct drv_waiter **line, struct drv_waiter *waiter);
void drv_waiter_remove(struct drv_waiter **line, struct drv_waiter *waiter);
/* Takes out the first and tells it. */
void drv_waiter_wake(struct drv_waiter **line);

struct drv_gate {
    bool held;
    struct drv_waiter *line;
};

void drv_gate_enter(struct drv_gate *gate, const struct drv_platform *platform);
void drv_gate_leave(struct drv_gate *gate);

#endif
