/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests (selector 2): their life from a free cell to their result. bind.h makes the message, flow.h sends
 * it, completion.h is how it comes back.
 */
#ifndef DRIVER_REQUEST_H
#define DRIVER_REQUEST_H

#include "driver/state.h"

/* The cells begin at `memory`, device address `address`. */
void drv_request_init(struct drv *driver, uint8_t *memory, uint64_t address);

/* The firmware has it, whether anybody waits for it or not. */
bool drv_request_in_firmware(const struct drv_request *request);
/* The one way to another state. */
void drv_request_set_state(struct drv_request *request, enum drv_request_state state);

/*
 * On a private copy of the struct. Without `wake` it returns when the request has ended; with it when the
 * request is queued or sent, and a message follows.
 */
IOReturn drv_request_send(struct drv_client *client, uint64_t doorbell, const struct ane_request *request,
                          const struct drv_wake *wake, struct ane_request_reply *reply);

/*
 * The parts of it, for triggers and messages of chains (chain.h). A request for a process that the caller has
 * pinned; it waits for its turn like any other, and pins the process once more. `caller`, whose close ends
 * the wait too, may be another client than the process's. It is DRV_REQUEST_CALL until its maker says
 * otherwise.
 */
IOReturn drv_request_take(struct drv_process *process, struct drv_client *caller,
                          struct drv_deadline *deadline, struct drv_request **taken);
/* Room for the message of a request with a wake port, before the request is taken; and its way back. */
IOReturn drv_request_reserve(struct drv *driver, const struct drv_wake *wake);
void drv_request_cancel(struct drv *driver, const struct drv_wake *wake);
/*
 * Sends a request that is bound and written, and waits for its end unless there is `wake`. Sequence and token
 * of the reply are those of its message. With `wake` a failure means that no message comes.
 */
IOReturn drv_request_run(struct drv_request *request, const struct drv_wake *wake,
                         struct drv_deadline *deadline, struct ane_request_reply *reply);
/* The caller leaves: the request is free, or the firmware's until it comes back. */
void drv_request_leave(struct drv *driver, struct drv_request *request, bool timed_out);
/* The request in the firmware that a cookie names, or NULL. */
struct drv_request *drv_request_find(struct drv *driver, uint64_t cookie);

/* No caller looks at it and the firmware does not have it: it is free. */
void drv_request_free(struct drv *driver, struct drv_request *request);
/* A request that is DONE and has a wake port ends with its message. */
void drv_request_tell(struct drv *driver, struct drv_request *request);
/* A request in its band's queue ends unsent. */
void drv_request_fail_queued(struct drv *driver, struct drv_request *request, uint32_t status);

/* Queue depths have changed: callers that may have a request now get one. */
void drv_request_depth_changed(struct drv *driver);

/* The client closes: its callers get kIOReturnAborted; what the firmware has stays until its event. */
void drv_request_abort_all(struct drv_client *client);

#endif
