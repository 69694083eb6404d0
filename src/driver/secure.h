/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secure mode, the host's side: a client with raw access injects SECURE_MODE_START and owns the mode until it
 * injects SECURE_MODE_STOP or ends. The driver resumes the transition of each switch, and ends a mode that
 * has lost its owner.
 */
#ifndef DRIVER_SECURE_H
#define DRIVER_SECURE_H

#include "driver/state.h"
#include "protocol/notification.h"

/* Why the client may not send this command now, or NULL. One owner at a time, and no other ends the mode. */
const char *drv_secure_wrong(const struct drv_client *client, uint32_t command);
/* The client is about to send the command, which may make it the owner; the firmware has refused it. */
void drv_secure_claim(struct drv_client *client, uint32_t command);
void drv_secure_refused(const struct drv_client *client, uint32_t command);
/* A step of a switch. */
void drv_secure_step(struct drv *driver, const struct pr_notify_secure *event);
/* The client ends. */
void drv_secure_leave(const struct drv_client *client);
/* A cell of a command is free, and the end of the mode could not be asked for before. */
void drv_secure_retry(struct drv *driver);
/* The firmware was stopped: there is no mode. */
void drv_secure_forget(struct drv *driver);

#endif
