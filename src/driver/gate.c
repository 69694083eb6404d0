/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines and the command gate. While callers are in the line of an open gate it is held: it is passed on to
 * the first of them and never free in between. A waiter is in one line at most, and on the stack of its call.
 */
#include "driver/gate.h"

#include <stddef.h>

#include "driver/driver.h"

void drv_waiter_append(struct drv_waiter **line, struct drv_waiter *waiter)
{
    waiter->next = NULL;
    waiter->done = waiter->cancelled = false;
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

bool drv_gate_enter(struct drv_gate *gate, const struct drv_platform *platform, struct drv_deadline *deadline)
{
    struct drv_waiter waiter;

    if (!gate->held && !gate->closed) {
        gate->held = true;
        return true;
    }
    drv_waiter_append(&gate->line, &waiter);
    /* NULL: every owner gives the gate up before it waits for anything, and a closed gate is opened. */
    platform->wait(platform->context, &waiter.done, deadline);
    drv_waiter_remove(&gate->line, &waiter);
    return waiter.done || !deadline;
}

void drv_gate_leave(struct drv_gate *gate)
{
    struct drv_waiter *first = gate->closed ? NULL : gate->line;

    if (!first) {
        gate->held = false;
        return;
    }
    gate->line = first->next;
    first->done = true;
}

void drv_gate_close(struct drv_gate *gate)
{
    gate->closed = true;
}

void drv_gate_open(struct drv_gate *gate)
{
    struct drv_waiter *first = gate->held ? NULL : gate->line;

    gate->closed = false;
    if (!first)
        return;
    gate->held = true;
    gate->line = first->next;
    first->done = true;
}
