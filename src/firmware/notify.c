/* SPDX-License-Identifier: Apache-2.0 */
/* Notifications wait in a ring of their own until IO_T2H has room. */
#include "firmware/notify.h"

#include "firmware/channel.h"
#include "firmware/pump.h"
#include "firmware/shared.h"
#include "rtkernel/irq.h"

_Static_assert(PR_NOTIFICATION_BYTES_MAX <= FW_EVENT_CELL_BYTES, "a notification fits into its cell");

#define PLACES (FW_NOTIFICATIONS + FW_NOTIFICATIONS_AWAITED)

static void post(struct fw *fw, const void *message, size_t bytes, uint32_t places)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    struct fw_notify *n = &fw->notify;

    if (n->count >= places) {
        n->lost++;
        n->lost_ever++;
    } else {
        struct fw_notification *place = &n->ring[(n->first + n->count++) % PLACES];

        rt_memcpy(place->message, message, bytes);
        place->bytes = (uint8_t)bytes;
        n->posted++;
    }
    rt_irq_restore(fw->kernel, previous);
    fw_pump_want(fw, FW_TASK_EXELOOP, FW_REASON_NOTIFY);
}

void fw_notify_post(struct fw *fw, const void *message, size_t bytes)
{
    post(fw, message, bytes, FW_NOTIFICATIONS);
}

void fw_notify_post_awaited(struct fw *fw, const void *message, size_t bytes)
{
    post(fw, message, bytes, PLACES);
}

void fw_notify_unreadable(struct fw *fw, enum pr_channel channel, const struct pr_slot *slot)
{
    const struct pr_notify_error message = {.head.id = PR_CMD_CH_ERROR_NOTIFICATION,
                                            .error = PR_CHANNEL_ERROR_UNREADABLE,
                                            .channel = channel,
                                            .address = slot->address,
                                            .length = slot->length,
                                            .time = fw_shared_host_time(fw)};

    fw_notify_post(fw, &message, sizeof(message));
}

static void post_debug(struct fw *fw, uint32_t rule, uint32_t count, uint64_t value)
{
    const struct pr_notify_debug message = {.head.id = PR_CMD_DBG_EVENT,
                                            .rule = rule,
                                            .count = count,
                                            .value = value,
                                            .time = fw_shared_host_time(fw)};

    if (fw->setting.run_mode == PR_RUN_DIAGNOSTIC)
        fw_notify_post(fw, &message, sizeof(message));
}

void fw_notify_broken(struct fw *fw, enum pr_rule rule, uint64_t value)
{
    post_debug(fw, rule, fw->broken[rule], value);
}

void fw_notify_refused(struct fw *fw, uint32_t command, enum pr_status status)
{
    if (status)
        post_debug(fw, PR_NO_ID, status, command);
}

static void send(struct fw *fw, uint32_t slot, void *message, size_t bytes)
{
    const uint64_t cell = fw->heap + FW_EVENTS_OFFSET + (uint64_t)slot * FW_EVENT_CELL_BYTES;
    struct pr_notification_head *head = message;

    head->sequence = fw->exeloop.sequence++;
    (void)fw_shared_out(fw, cell, message, bytes);
    fw_channel_send(fw, PR_CHANNEL_IO_T2H, cell, bytes, 0);
}

/* The oldest, if there is one. */
static bool take(struct fw *fw, struct fw_notification *taken)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    struct fw_notify *n = &fw->notify;
    const bool any = n->count;

    if (any) {
        *taken = n->ring[n->first];
        n->first = (n->first + 1) % PLACES;
        n->count--;
        n->sent++;
    }
    rt_irq_restore(fw->kernel, previous);
    return any;
}

/* Another may be lost meanwhile. */
static uint32_t take_lost(struct fw *fw)
{
    const uint32_t previous = rt_irq_mask(fw->kernel), lost = fw->notify.lost;

    fw->notify.lost = 0;
    rt_irq_restore(fw->kernel, previous);
    return lost;
}

static void report_lost(struct fw *fw, uint32_t slot)
{
    struct pr_notify_error message = {.head.id = PR_CMD_CH_ERROR_NOTIFICATION,
                                      .error = PR_CHANNEL_ERROR_LOST,
                                      .channel = PR_CHANNEL_IO_T2H,
                                      .length = take_lost(fw),
                                      .time = fw_shared_host_time(fw)};

    send(fw, slot, &message, sizeof(message));
}

bool fw_notify_send(struct fw *fw)
{
    struct fw_notification notification;
    uint32_t slot;

    if ((!fw->notify.count && !fw->notify.lost) || !fw_channel_room(fw, PR_CHANNEL_IO_T2H, &slot))
        return false;
    if (take(fw, &notification))
        send(fw, slot, notification.message, notification.bytes);
    else
        report_lost(fw, slot);
    return true;
}
