/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Performance counters of a request: armed when it is bound, drained into its statistics surface at its end.
 */
#ifndef DRIVER_COUNTERS_H
#define DRIVER_COUNTERS_H

#include "driver/state.h"

/* The bytes at the end of a statistics surface that are the driver's; 0 when it has no room for them. */
uint64_t drv_counters_room(const struct drv_mapping *mapping);
/* Arms the counters of a request with such a surface. */
void drv_counters_arm(struct drv_request *request, const struct drv_mapping *mapping, uint64_t sequence);
/* What a request passes. Nothing while its counters are not armed. */
void drv_counters_sent(const struct drv *driver, struct drv_request *request);
void drv_counters_accepted(const struct drv *driver, struct drv_request *request);
/* The end: written to the surface, which the request still binds. */
void drv_counters_drain(const struct drv *driver, struct drv_request *request, uint32_t status);

#endif
