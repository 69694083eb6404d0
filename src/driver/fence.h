/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fences of a request: the shared events that it waits for and signals. They are retained from the time
 * that the request is made until it has come back from the firmware.
 *
 * A request that waits is sent in its turn like any other, and holds its place in its band only until the
 * firmware has taken it: from then on the firmware holds it, and others go on. Its intermediate and scratch
 * buffers are its own, because others of its process may run meanwhile. When its caller gives it up, the
 * firmware is asked to end it.
 */
#ifndef DRIVER_FENCE_H
#define DRIVER_FENCE_H

#include "driver/state.h"

/* Whether counts and records of a request are sound; what they name is looked up later. */
IOReturn drv_fence_check(struct drv *driver, const struct ane_request *request);
/* One request more that may wait in the firmware; kIOReturnNoResources when there are too many. */
IOReturn drv_fence_admit(const struct drv_client *client);
/* Looks up and retains the events; kIOReturnNotFound, or kIOReturnNoResources when too many requests wait. */
IOReturn drv_fence_retain(struct drv_request *request, const struct ane_request *wanted);
/* Behind the call in the request's cell: what makes it a call with events. */
void drv_fence_write(struct drv_request *request, const struct ane_request *wanted);
/* The request has left the firmware, or never gets there. Callers that wait for its events look again. */
void drv_fence_release(struct drv_request *request);

/* The firmware has taken a request that waits. */
void drv_fence_accepted(struct drv *driver, struct drv_request *request);
/* No caller wants it any more, and the firmware may hold it. */
void drv_fence_give_up(struct drv *driver, struct drv_request *request);
/* A cell of a command is free: what could not be asked of the firmware is. */
void drv_fence_retry(struct drv *driver);

/* The firmware has a request that waits, for which a caller waits. */
bool drv_fence_is_held(const struct drv *driver);
/* What a request in the firmware waits for, as the end of a sentence; "" when it does not wait. */
void drv_fence_describe(const struct drv_request *request, char *text, size_t size);

#endif
