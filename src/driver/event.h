/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared events of clients. Each is a row of the table that the firmware was given with
 * INIT_SHARED_EVENT_INFO; a client knows it by a number that no other event has. The row is in use until the
 * event has been released and no request uses it.
 */
#ifndef DRIVER_EVENT_H
#define DRIVER_EVENT_H

#include "driver/state.h"

/* The event of that number, if the client may name it; else NULL. */
struct drv_event *drv_event_find(const struct drv_client *client, uint64_t number);
/* Its row in the table. */
uint32_t drv_event_row(const struct drv *driver, const struct drv_event *event);

/* A request begins to use an event, and has ended. */
void drv_event_retain(struct drv_event *event);
void drv_event_unuse(struct drv_event *event);

/* Values may have risen: callers whose wait holds go on. */
void drv_event_changed(struct drv *driver);
/* The client ends: its calls that wait return, and its events are released. */
void drv_event_close(struct drv_client *client);

#endif
