/* SPDX-License-Identifier: Apache-2.0 */
/* Bands: which request is in the firmware, and which comes next. */
#ifndef DRIVER_FLOW_H
#define DRIVER_FLOW_H

#include "driver/state.h"

/* The band of a request: 1 is the realtime one. */
unsigned drv_flow_band(const struct drv_request *request);

/* A bound request is sent, or queued until its band is free. */
void drv_flow_submit(struct drv *driver, struct drv_request *request);
/* Out of its queue, unsent; the caller sets the next state. */
void drv_flow_remove(struct drv *driver, struct drv_request *request);
/* The band is free for others, if it was this request's. */
void drv_flow_leave(struct drv *driver, const struct drv_request *request);
/* The firmware has returned a request: its place is free, and what waited for room is sent. */
void drv_flow_returned(struct drv *driver, const struct drv_request *request);
/* A request is queued, in any band. */
bool drv_flow_is_waiting(const struct drv *driver);
/* Slots of the ring have come back. */
void drv_flow_resume(struct drv *driver);
/*
 * The firmware had no room for a request: it is queued again. False when the firmware has no other request,
 * whose return could make room.
 */
bool drv_flow_park(struct drv *driver, struct drv_request *request);
/*
 * The client's requests no longer keep others out of their bands: the firmware has been waited for long
 * enough.
 */
void drv_flow_leave_all(const struct drv_client *client);
/* Requests that the firmware has (pendingRequestsWithFirmwareCount of seeds ch. 29). */
uint32_t drv_flow_with_firmware(const struct drv *driver);

#endif
