/* SPDX-License-Identifier: Apache-2.0 */
/* Programs (loaded once, by their owner) and processes (a program prepared by one client). */
#ifndef DRIVER_PROGRAM_H
#define DRIVER_PROGRAM_H

#include "driver/state.h"

/* Selectors 3 to 6, on private copies of their structs. */
IOReturn drv_program_create(struct drv_client *client, const struct ane_program_create *create);
IOReturn drv_program_prepare(struct drv_client *client, struct ane_program_prepare *prepare);
IOReturn drv_program_unprepare(struct drv_client *client, const struct ane_program_prepare *prepare);
IOReturn drv_program_destroy(struct drv_client *client, const struct ane_program_destroy *destroy);

/*
 * The client's process of a program, pinned, running in the client's domain. A direct-path client, which has no selector to prepare with, is attached to a
 * program of the same identity at its first request.
 */
IOReturn drv_process_get(struct drv_client *client, uint64_t token, struct drv_process **process);
void drv_process_unpin(struct drv_process *process);

/* Eviction: processes lose their slots. The first marks them, the second tells the firmware and waits. */
void drv_program_park_all(struct drv_client *client);
void drv_program_terminate_parked(struct drv_client *client);

/* The client goes: processes end, programs are unloaded or left to those that still use them. */
void drv_program_leave_all(struct drv_client *client);
/* After the controller has stopped: without telling it. */
void drv_program_forget_all(struct drv_client *client);
void drv_program_drop_all(struct drv *driver);

#endif
