/* SPDX-License-Identifier: Apache-2.0 */
/* The command gate. */
#include "driver/gate.h"

#include "driver/driver.h"

#define ROUND_NS \
    1000000000ull /* an owner that waits has given the gate up, so that no round ever ends by itself */

void drv_waiter_append(struct drv_waiter **line, struct drv_waiter *waiter)
{
    waiter->next = NULL;
    waiter->done = false;
    while (*line)
        line = &(*line)->next;
    *line = waiter;
}

void drv_waiter_remove(struct drv_waiter **line, struct drv_waiter *waiter)
{
    for (; *line; line = &(*line)->next)
        if (*line == waiter) {
            *line = waiter->next;
            return;
        }
}

void drv_waiter_wake(struct drv_waiter **line)
{
    struct drv_waiter *first = *line;

    if (!first)
        return;
    *line = first->next;
    first->done = true;
}

void drv_gate_enter(struct drv_gate *gate, const struct drv_platform *platform)
{
    struct drv_waiter waiter;

    if (!gate->held) {
        gate->held = true;
        return;
    }
    drv_waiter_append(&gate->line, &waiter);
    while (!waiter.done)
        platform->wait(platform->context, &waiter.done, ROUND_NS);
}

void drv_gate_leave(struct drv_gate *gate)
{
    /* With somebody in the line the gate stays held: it is theirs now. */
    if (gate->line)
        drv_waiter_wake(&gate->line);
    else
        gate->held = false;
}
