/* SPDX-License-Identifier: Apache-2.0 */
/* How requests come back from the firmware: by events, and by slots of DATA_CHAIN_H2T. */
#ifndef DRIVER_COMPLETION_H
#define DRIVER_COMPLETION_H

#include "driver/state.h"

/* The firmware has let go of a request that it had. One that was aborted keeps that result. */
void drv_completion_end(struct drv *driver, struct drv_request *request, uint32_t status, uint64_t detail);
/*
 * The detail of an event: of what was done well it is the engine's time, which is charged to the client, and
 * nothing is left for the reply.
 */
uint64_t drv_completion_charge(const struct drv_request *request, uint32_t status, uint64_t detail);
/* The event of a call. */
void drv_completion_event(struct drv *driver, const struct pr_program_failure *failure);
/* Slots that came back: their messages were accepted, or refused. */
void drv_completion_slots(struct drv *driver);
/* Requests whose events have come are completed now, and not when their completion stage is over. */
void drv_completion_settle(struct drv *driver);

#endif
