/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests (selector 2): bound, put into a cell, sent when their band is free, and brought back by an event.
 */
#ifndef DRIVER_REQUEST_H
#define DRIVER_REQUEST_H

#include "driver/state.h"

/* The cells begin at `memory`, device address `address`. */
void drv_request_init(struct drv *driver, uint8_t *memory, uint64_t address);

/* On a private copy of the struct. */
IOReturn drv_request_send(struct drv_client *client, uint64_t doorbell, const struct ane_request *request,
                          struct ane_request_reply *reply);

/*
 * Sends a message of the execution loop's for a process that the caller has pinned, and waits until its slot
 * comes back with the firmware's status; the message is then what the firmware left of it. It waits for its
 * turn like any other request.
 */
IOReturn drv_request_message(struct drv_process *process, void *message, uint32_t bytes,
                             struct drv_deadline *deadline, uint32_t *status);

/* The controller's side: an event, or slots of DATA_CHAIN_H2T that came back with a refusal. */
void drv_request_event(struct drv *driver, const struct pr_program_failure *failure);
void drv_request_returns(struct drv *driver);

/* The driver is not parked any more: what waits is sent. */
void drv_request_resume(struct drv *driver);
/* Queue depths have changed: callers that may have a request now get one. */
void drv_request_depth_changed(struct drv *driver);

/* The client closes: its callers get kIOReturnAborted; what the firmware has stays until its event. */
void drv_request_abort_all(struct drv_client *client);
/*
 * The client's requests no longer keep others out of their bands: the firmware has been waited for long
 * enough.
 */
void drv_request_leave_bands(struct drv_client *client);

#endif
