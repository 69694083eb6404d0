/* SPDX-License-Identifier: Apache-2.0 */
/* Hints: what a session, or a privileged hints client for others, asks of the scheduler. */
#ifndef DRIVER_HINT_H
#define DRIVER_HINT_H

#include "driver/state.h"

/* A new client, not in the list yet: no hint but those that open hints clients have set for it. */
void drv_hint_init(struct drv_client *client);

/* Direct-path selector 7, for the caller's own session. */
IOReturn drv_hint_session(struct drv_client *client, struct IOExternalMethodArguments *args);
/* setClientHint of the hints client. */
IOReturn drv_hint_clients(struct drv_client *client, struct IOExternalMethodArguments *args);

#endif
