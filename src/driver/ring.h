/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: the table the firmware publishes, slots and who owns them, control commands on IO. */
#ifndef DRIVER_RING_H
#define DRIVER_RING_H

#include "driver/state.h"

/* Checks a copy of the table at `table` (device address, `count` records) and sets up the rings. */
int drv_ring_read_table(struct drv *driver, uint64_t table, uint32_t count, struct base_error *error);
/* Owner bit 1 in every slot of the host-to-controller rings. */
void drv_ring_init_slots(struct drv *driver);

/* Writes the next slot and rings. False when the ring is full: its next slot has not come back. */
bool drv_ring_post(struct drv *driver, enum pr_channel channel, uint64_t address, uint64_t length,
                   void *holder, uint32_t *slot);
/* A slot that was posted has come back. */
bool drv_ring_returned(const struct drv *driver, enum pr_channel channel, uint32_t slot);

/* Controller to host: the next slot that the host owns, or NULL. */
struct pr_slot *drv_ring_take(struct drv *driver, enum pr_channel channel);
/* Gives it back with this address word and moves on; the caller rings. */
void drv_ring_give(struct drv *driver, enum pr_channel channel, uint64_t address);

#endif
