/* SPDX-License-Identifier: Apache-2.0 */
/* The firmware's notifications: what the driver does with each message of IO_T2H. */
#ifndef DRIVER_NOTIFICATION_H
#define DRIVER_NOTIFICATION_H

#include "driver/state.h"
#include "protocol/notification.h"

/*
 * A copy of the message, zeros behind its end. Events of calls are not among them (mailbox.c): they are the
 * warm path.
 */
union drv_notification {
    struct pr_notification_head head;
    struct pr_reset_notification reset;
    struct pr_notify_error error;
    struct pr_notify_signpost signpost;
    struct pr_notify_signpost64 signpost64;
    struct pr_notify_signposts signposts;
    struct pr_notify_signposts64 signposts64;
    struct pr_notify_load load;
    struct pr_notify_sync sync;
    struct pr_notify_user user;
    struct pr_notify_debug debug;
    struct pr_notify_chaining chaining;
    struct pr_notify_prefetch prefetch;
    struct pr_notify_secure secure;
    struct pr_notify_rpc rpc;
    uint8_t bytes[PR_NOTIFICATION_BYTES_MAX];
};
void drv_notification_take(struct drv *d, const union drv_notification *message);

#endif
