/* SPDX-License-Identifier: Apache-2.0 */
/* User clients: the life of a handle. */
#ifndef DRIVER_CLIENT_H
#define DRIVER_CLIENT_H

#include "driver/state.h"

/* No further call gets in. */
bool drv_client_is_closed(const struct drv_client *client);
/* The handle was given back. */
bool drv_client_is_released(const struct drv_client *client);

/* Device open has been done; and its session ends, with everything the client holds. */
void drv_client_opened(struct drv_client *client);
void drv_client_end_session(struct drv_client *client);

/* Something begins that needs the client's domain to stay; and it is over. */
void drv_client_busy(struct drv_client *client);
void drv_client_idle(struct drv_client *client);
/*
 * One call: counted, under the gate, refused when the client is closed. Unless `plain`, a device that sleeps
 * is woken for it first.
 */
typedef IOReturn (*drv_dispatcher)(struct drv_client *client, uint32_t number,
                                   struct IOExternalMethodArguments *args);
IOReturn drv_client_run(struct drv_client *client, drv_dispatcher dispatch, uint32_t number, bool plain,
                        struct IOExternalMethodArguments *arguments, struct base_error *error);
/* Open clients that keep the device resident. */
uint32_t drv_client_count_persistent(const struct drv *driver);
/* A call leaves the handle; the last one out of a handle that was given back frees it. */
void drv_client_leave(struct drv_client *client);
/* After the controller has stopped. */
void drv_client_drop_all(struct drv *driver);

#endif
