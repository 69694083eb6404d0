/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/notification.h"

#include "base/array.h"
#include "driver/chain.h"
#include "driver/recovery.h"
#include "driver/secure.h"

static void take_reset(struct drv *d, const union drv_notification *message)
{
    drv_recovery_reset(d, message->reset.first_queue, message->reset.last_queue);
}

static void take_chaining(struct drv *d, const union drv_notification *message)
{
    drv_chain_event(d, &message->chaining);
}

static void take_secure(struct drv *d, const union drv_notification *message)
{
    drv_secure_step(d, &message->secure);
}

static const struct {
    uint32_t id;
    void (*take)(struct drv *d, const union drv_notification *message);
} rows[] = {
    {PR_CMD_CH_RESET_NOTIFICATION, take_reset},
    {PR_CMD_DATA_CHAINING_EVENT, take_chaining},
    {PR_CMD_SECURE_MODE_EVENT, take_secure},
};

void drv_notification_take(struct drv *d, const union drv_notification *message)
{
    const char *name = pr_command_name(message->head.id);

    SOC_TRACE(d->platform.trace, DRV_NOTIFICATION, message->head.id, name ? name : "of an unknown kind");
    for (size_t i = 0; i < BASE_COUNT_OF(rows); i++)
        if (rows[i].id == message->head.id)
            rows[i].take(d, message);
}
