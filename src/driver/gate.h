/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of callers that wait for their turn, and the command gate: a lock of the model, not of the host. One
 * owner, then first come, first served; its owner gives it up while it waits for the machine.
 */
#ifndef DRIVER_GATE_H
#define DRIVER_GATE_H

#include <stdbool.h>

struct drv_client;
struct drv_deadline;
struct drv_platform;
struct drv_process;
struct drv_request;

/* A caller in a line, on its stack. `done` is what the platform's wait looks at. */
struct drv_waiter {
    struct drv_waiter *next;
    struct drv_client *client;   /* for whom it waits; NULL where the line does not ask */
    struct drv_client *caller;   /* whose call it is, where that may be another client */
    struct drv_process *process; /* for which it waits; NULL where the line does not ask */
    struct drv_request *request; /* what it waited for, handed over with `done` */
    bool done;
    bool impatient; /* for a domain: turns of clients that have one count no longer */
    bool cancelled; /* by a restart of the firmware: it leaves the line with nothing */
};
void drv_waiter_append(struct drv_waiter **line, struct drv_waiter *waiter);
/* Nothing when it is not in the line any more. */
void drv_waiter_remove(struct drv_waiter **line, struct drv_waiter *waiter);
/* The first in the line looks again; it keeps its place. */
void drv_waiter_wake_first(struct drv_waiter **line);
/* So do all of one client. */
void drv_waiter_wake_client(struct drv_waiter **line, const struct drv_client *client);

struct drv_gate {
    bool held;
    bool closed; /* the device's own: no caller gets it */
    struct drv_waiter *line;
};

/* False, without the gate, when the deadline passed first; NULL is none. */
bool drv_gate_enter(struct drv_gate *gate, const struct drv_platform *platform,
                    struct drv_deadline *deadline);
void drv_gate_leave(struct drv_gate *gate);
/*
 * Recovery, wake and sleep have the gate to themselves: closed, it is passed on to no caller, and once its
 * last owner has left it is free of them until it is opened.
 */
void drv_gate_close(struct drv_gate *gate);
void drv_gate_open(struct drv_gate *gate);

#endif
