/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/notification.h"

#include "base/array.h"
#include "driver/command.h"
#include "driver/recovery.h"

static void take_reset(struct drv *d, const union drv_notification *message)
{
    drv_recovery_reset(d, message->reset.first_queue, message->reset.last_queue);
}

static const char *step_name(uint32_t phase)
{
    static const char *const names[] = {[PR_SECURE_QUIESCED] = "quiesced",
                                        [PR_SECURE_PAUSED] = "paused",
                                        [PR_SECURE_ENTERED] = "entered",
                                        [PR_SECURE_LEFT] = "left"};

    return phase < BASE_COUNT_OF(names) && names[phase] ? names[phase] : "unknown step";
}

/* A transition that waits is resumed. With no cell free for that, the firmware's deadline ends it. */
static void take_secure(struct drv *d, const union drv_notification *message)
{
    const struct drv_command_args resume = {
        .id = PR_CMD_SECURE_MODE_RESUME_TRANSITION, .program = PR_NO_ID, .process = PR_NO_ID};

    SOC_TRACE(d->platform.trace, DRV_SECURE, step_name(message->secure.phase), message->secure.waiting,
              message->secure.dropped);
    if (message->secure.phase == PR_SECURE_PAUSED && d->ready)
        (void)drv_command_post(d, &resume, NULL);
}

static const struct {
    uint32_t id;
    void (*take)(struct drv *d, const union drv_notification *message);
} rows[] = {
    {PR_CMD_CH_RESET_NOTIFICATION, take_reset},
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
