/* SPDX-License-Identifier: Apache-2.0 */
/* Control commands: the 24-byte header of Table 30.1 and a body on IO, answered in place. */
#ifndef DRIVER_COMMAND_H
#define DRIVER_COMMAND_H

#include "driver/state.h"

struct drv_command_args {
    uint32_t id, program, process;
    void *body; /* in and, up to its size, out */
    uint32_t bytes;
    drv_reply reply; /* runs when the answer is there, before the caller does; may be NULL */
    void *context;
    /* Runs instead when the caller has given up: its context outlives the caller; may be NULL. */
    drv_reply late;
    void *late_context;
};

/* How far a command got. An IOReturn does not say: both timeouts are kIOReturnTimeout. */
enum drv_command_end {
    DRV_COMMAND_NOT_SENT,   /* no cell or slot became free in time; `reply` and `late` are never called */
    DRV_COMMAND_UNANSWERED, /* the firmware has it and did not answer in time; `late` gets the answer */
    DRV_COMMAND_ANSWERED,   /* `reply` has been called, even when no interrupt announced the answer */
};

/*
 * Sends a command and waits for its answer, without the gate. With every cell or slot under way it first
 * waits for its turn, as long as a caller would. kIOReturnSuccess when the firmware says so; `end` says
 * how far the command got, and may be NULL. A refusal sets the driver's last error and is translated.
 */
IOReturn drv_command_run(struct drv *driver, const struct drv_command_args *args, enum drv_command_end *end);
/* The same while interrupts are off: looks at the rings between short waits. */
int drv_command_run_polled(struct drv *driver, const struct drv_command_args *args, struct base_error *error);

/* Slots of IO have come back. */
void drv_command_returns(struct drv *driver);

/* The firmware's status as an IOReturn. */
IOReturn drv_status_return(uint32_t status);

#endif
