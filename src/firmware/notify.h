/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notifications to the host (protocol/notification.h). Any task posts; the execution loop, whose channel
 * IO_T2H is, sends them in the order of their posts. The event of a call goes after those that were posted
 * before its end, and before those that came later, so that neither keeps the other from the host. What finds
 * no place is lost and counted, and their number is sent to the host once there is room.
 */
#ifndef FIRMWARE_NOTIFY_H
#define FIRMWARE_NOTIFY_H

#include "firmware/state.h"
#include "protocol/notification.h"

/* `message` begins with a struct pr_notification_head, whose sequence is filled in when it is sent. */
void fw_notify_post(struct fw *fw, const void *message, size_t bytes);
/* One that the host waits for: it has places of its own, so that others do not make it lost. */
void fw_notify_post_awaited(struct fw *fw, const void *message, size_t bytes);
/* CH_ERROR_NOTIFICATION: the message of a slot cannot be read, so that no answer can be written either. */
void fw_notify_unreadable(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot);
/* DBG_EVENT, in run mode diagnostic alone: a rule is broken; a control command is refused. */
void fw_notify_broken(struct fw *fw, enum pr_rule rule, uint64_t value);
void fw_notify_refused(struct fw *fw, uint32_t command, enum pr_status status);

/* Whether fw_notify_send has anything to do. */
static inline bool fw_notify_is_due(const struct fw *fw)
{
    return fw->notify.count || fw->notify.lost || fw->signposts.narrow.count || fw->signposts.wide.count;
}
/* The execution loop: sends the oldest, if it fits; whether one was sent. The caller rings. */
bool fw_notify_send(struct fw *fw);
/*
 * A mark of what has been posted up to now, signposts that are kept back included; and whether all is sent.
 */
static inline uint32_t fw_notify_mark(const struct fw *fw)
{
    return fw->notify.posted + (fw->signposts.narrow.count != 0) + (fw->signposts.wide.count != 0);
}
static inline bool fw_notify_is_past(const struct fw *fw, uint32_t mark)
{
    return !fw->notify.count || (int32_t)(fw->notify.sent - mark) >= 0;
}

#endif
