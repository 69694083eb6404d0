/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DART faults: the capture routine, the consumers that are handed its descriptor, the driver's own consumer
 * (latch, dump, park, recovery), and to whom a fault belongs.
 */
#ifndef DRIVER_FAULT_H
#define DRIVER_FAULT_H

#include "driver/state.h"

/* A page for the snapshots, from the first boot to the end. */
int drv_fault_start(struct drv *driver);
void drv_fault_stop(struct drv *driver);

/*
 * The request failed with that status: what its event says of the engine. If an address was refused, it takes
 * the capture that belongs to it, and the report is completed.
 */
void drv_fault_attribute(struct drv *driver, struct drv_request *request, uint32_t status);

/*
 * A phrase for a sentence about the request: the transfer, the tensor and the capture that was attributed to
 * it; "" when no address was refused.
 */
void drv_fault_describe(const struct drv_request *request, char *text, size_t size);
/* The same for a request that has not come back: captures of its client that no request has taken. */
void drv_fault_describe_client(struct drv *driver, const struct drv_client *client, char *text, size_t size);

#endif
