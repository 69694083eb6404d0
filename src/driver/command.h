/* SPDX-License-Identifier: Apache-2.0 */
/* Control commands: the 24-byte header of Table 30.1 and a body on IO, answered in place. */
#ifndef DRIVER_COMMAND_H
#define DRIVER_COMMAND_H

#include "driver/state.h"

/* The host-to-controller rings that carry control commands. */
enum drv_command_channel { DRV_COMMAND_IO, DRV_COMMAND_DEBUG, DRV_COMMAND_BUFFERS, DRV_COMMAND_CHANNELS };

struct drv_command_args {
    enum drv_command_channel channel;
    uint32_t id, program, process;
    uint32_t procedure, priority; /* of a cache request; 0 for all others */
    void *body;                   /* in and, up to its size, out */
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
/*
 * Sends it and does not wait: the answer, and `reply`, come by interrupt. `answer` and the body outlive the
 * call; without an `answer` the reply is not looked at. False when every cell or slot is under way.
 */
bool drv_command_post(struct drv *driver, const struct drv_command_args *args, struct drv_answer *answer);
/* The caller's record ends: an answer that comes later has no caller. */
void drv_command_abandon(struct drv *driver, const struct drv_answer *answer);

/*
 * The firmware was stopped: commands are answered with PR_STATUS_ABORTED in the order they were posted, those
 * that wait to be sent are not sent. How many the firmware had.
 */
unsigned drv_command_cancel_all(struct drv *driver);
/* Slots of a channel have come back. */
void drv_command_returns(struct drv *driver, enum drv_command_channel channel);

/* The firmware's status as an IOReturn. */
IOReturn drv_status_return(uint32_t status);

#endif
