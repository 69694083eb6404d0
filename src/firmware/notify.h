/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notifications to the host (protocol/notification.h). Any task posts; the execution loop, whose channel
 * IO_T2H is, sends them in the order of their posts, before the events of calls. What finds no place is lost
 * and counted, and the host is told how many once there is room.
 */
#ifndef FIRMWARE_NOTIFY_H
#define FIRMWARE_NOTIFY_H

#include "firmware/state.h"
#include "protocol/notification.h"

/* `message` begins with a struct pr_notification_head, whose sequence is filled in when it is sent. */
void fw_notify_post(struct fw *fw, const void *message, size_t bytes);
/* The execution loop: sends what fits; whether anything was sent. The caller rings. */
bool fw_notify_send(struct fw *fw);

#endif
