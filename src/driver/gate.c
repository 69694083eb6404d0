/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and the command gate. While callers are in the gate's line the gate is held: it is passed on to the
 * first of them and never free in between. A waiter is in one line at most, and on the stack of its call.
 */
#include "driver/gate.h"

#include <stddef.h>

#include "driver/driver.h"

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

void drv_waiter_wake_first(struct drv_waiter **line)
{
    if (*line)
        (*line)->done = true;
}

void drv_waiter_wake_client(struct drv_waiter **line, const struct drv_client *client)
{
    for (struct drv_waiter *waiter = *line; waiter; waiter = waiter->next)
        if (waiter->client == client)
            waiter->done = true;
}

void drv_gate_enter(struct drv_gate *gate, const struct drv_platform *platform)
{
    struct drv_waiter waiter;

    if (!gate->held) {
        gate->held = true;
        return;
    }
    drv_waiter_append(&gate->line, &waiter);
    /* Without a deadline: every owner gives the gate up before it waits for anything. */
    platform->wait(platform->context, &waiter.done, NULL);
}

void drv_gate_leave(struct drv_gate *gate)
{
    struct drv_waiter *first = gate->line;

    if (!first) {
        gate->held = false;
        return;
    }
    gate->line = first->next;
    first->done = true;
}
