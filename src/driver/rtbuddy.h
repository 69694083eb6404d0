/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The RTBuddy client: how the device reaches its coprocessor. The client is made when the device attaches;
 * the endpoint comes up in ANE_Init, at every boot and wake, and takes what the controller rings.
 */
#ifndef DRIVER_RTBUDDY_H
#define DRIVER_RTBUDDY_H

#include "driver/state.h"

/* Attach: the name object from the ANE property, and the mailbox object. -ENOENT without that property. */
int drv_rtbuddy_attach(struct drv *driver, struct base_error *error);
/*
 * EnableRTBuddyEndpoints: looks the endpoint up under each name of PR_RTBUDDY_ENDPOINTS and registers the
 * inbound handler at the first that is there. -ENOENT when none is.
 */
int drv_rtbuddy_enable(struct drv *driver, void (*inbound)(struct drv *driver, uint32_t rang),
                       struct base_error *error);
/* Nothing is inbound any more. */
void drv_rtbuddy_disable(struct drv *driver);

/* The controller rang these doorbells: the handler of the endpoint takes them. */
void drv_rtbuddy_inbound(struct drv *driver, uint32_t rang);

#endif
