/* SPDX-License-Identifier: Apache-2.0 */
/* User clients: dispatch tables, the life of a handle. */
#ifndef DRIVER_CLIENT_H
#define DRIVER_CLIENT_H

#include "driver/state.h"

/* No further call gets in. */
bool drv_client_is_closed(const struct drv_client *client);
/* The handle was given back. */
bool drv_client_is_released(const struct drv_client *client);

/* Every later call carries the session's token; 0 is the session of the connection (anemone/abi.h). */
IOReturn drv_client_check_session(const struct drv_client *client, uint64_t session);

/* Something begins that needs the client's domain to stay; and it is over. */
void drv_client_busy(struct drv_client *client);
void drv_client_idle(struct drv_client *client);
/* A call leaves the handle; the last one out of a handle that was given back frees it. */
void drv_client_leave(struct drv_client *client);
/* After the controller has stopped. */
void drv_client_drop_all(struct drv *driver);

#endif
