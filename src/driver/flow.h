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
/*
 * The client's requests no longer keep others out of their bands: the firmware has been waited for long
 * enough.
 */
void drv_flow_leave_all(const struct drv_client *client);

#endif
