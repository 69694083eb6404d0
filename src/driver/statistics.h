/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics buffers: mapped in the firmware ahead of a process's first request with one, read at its end. */
#ifndef DRIVER_STATISTICS_H
#define DRIVER_STATISTICS_H

#include "driver/state.h"

/*
 * The firmware has mapped the buffer for the process of a request, which is pinned and live. Sends
 * PREMAP_BUFFER when it has not yet, and waits; the process may have lost its slot meanwhile.
 */
IOReturn drv_statistics_map(struct drv_process *process, const struct pr_buffer *buffer);
/* The process has a new slot in the firmware, which has mapped nothing for it and counts from 0. */
void drv_statistics_forget(struct drv_process *process);
/* At the event of a request that has one: adds what its process has counted since to the driver's totals. */
void drv_statistics_collect(struct drv *driver, struct drv_request *request);

#endif
