/* SPDX-License-Identifier: Apache-2.0 */
/* The mailbox: doorbell stores to the controller, its interrupt, and the messages that come with it. */
#ifndef DRIVER_MAILBOX_H
#define DRIVER_MAILBOX_H

#include "driver/state.h"

uint32_t drv_mailbox_read(struct drv *driver, uint32_t reg);
void drv_mailbox_write(struct drv *driver, uint32_t reg, uint32_t value);
/* doorBellRing: 1 << index into the main aperture; an index of 32 or more rings nothing. */
void drv_mailbox_ring(struct drv *driver, uint32_t index);
/* The handler of the RTBuddy endpoint: what the controller rang for. */
void drv_mailbox_inbound(struct drv *driver, uint32_t rang);
/* Looks at every ring, as if each had rung. */
void drv_mailbox_poll(struct drv *driver);
/*
 * The same after a timeout. Returns a phrase that says why the interrupt was missed, and acknowledges pending
 * bits, so that the line can rise again.
 */
const char *drv_mailbox_recover(struct drv *driver, enum pr_channel channel);

#endif
