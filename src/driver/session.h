/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: the methods that belong to a client as a whole (control selectors 0, 1, 7, 10 and 16). */
#ifndef DRIVER_SESSION_H
#define DRIVER_SESSION_H

#include "driver/state.h"

IOReturn drv_session_open(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_session_close(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_session_status(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_session_version(struct drv_client *client, struct IOExternalMethodArguments *args);
IOReturn drv_session_load_firmware(struct drv_client *client, struct IOExternalMethodArguments *args);

/* Every later call carries the session's token; 0 is the session of the connection (anemone/abi.h). */
IOReturn drv_session_check(const struct drv_client *client, uint64_t session);

#endif
