/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secure mode. The owner is there before the command is sent, because events may come before its answer, and
 * until the firmware has left the mode. `entered` follows the events alone: a mode that has lost its owner on
 * the way is ended when it has been entered. A transition that cannot be resumed is not resumed later: it
 * ends at the firmware's deadline, outside of the mode. The end of a mode without an owner is asked for again
 * as soon as a command is free (`stop_owed`): no other client may end it.
 */
#include "driver/secure.h"

#include "base/array.h"
#include "driver/command.h"

static bool post(struct drv *d, uint32_t id, void *body, uint32_t bytes)
{
    const struct drv_command_args args = {
        .id = id, .program = PR_NO_ID, .process = PR_NO_ID, .body = body, .bytes = bytes};

    return d->ready && drv_command_post(d, &args, NULL);
}

static void end_mode(struct drv *d)
{
    d->secure.stop_owed =
        !post(d, PR_CMD_SECURE_MODE_STOP, &(struct pr_body_u32){0}, sizeof(struct pr_body_u32));
}

const char *drv_secure_wrong(const struct drv_client *client, uint32_t command)
{
    const struct drv_client *owner = client->driver->secure.owner;

    if (command == PR_CMD_SECURE_MODE_START && client->driver->secure.begun)
        return "the secure mode has an owner, or is being left";
    if (command == PR_CMD_SECURE_MODE_STOP && owner != client)
        return "the client does not own the secure mode";
    return NULL;
}

void drv_secure_claim(struct drv_client *client, uint32_t command)
{
    if (command == PR_CMD_SECURE_MODE_START)
        client->driver->secure = (struct drv_secure){.owner = client, .begun = true};
}

void drv_secure_refused(const struct drv_client *client, uint32_t command)
{
    if (command == PR_CMD_SECURE_MODE_START && client->driver->secure.owner == client)
        drv_secure_forget(client->driver);
}

static const char *step_name(uint32_t phase)
{
    static const char *const names[] = {[PR_SECURE_QUIESCED] = "quiesced",
                                        [PR_SECURE_PAUSED] = "paused",
                                        [PR_SECURE_ENTERED] = "entered",
                                        [PR_SECURE_LEFT] = "left"};

    return phase < BASE_COUNT_OF(names) && names[phase] ? names[phase] : "unknown step";
}

void drv_secure_step(struct drv *d, const struct pr_notify_secure *event)
{
    SOC_TRACE(d->platform.trace, DRV_SECURE, step_name(event->phase), event->waiting, event->dropped);
    if (event->phase == PR_SECURE_PAUSED)
        (void)post(d, PR_CMD_SECURE_MODE_RESUME_TRANSITION, NULL, 0);
    d->secure.entered = event->phase == PR_SECURE_ENTERED;
    if (event->phase == PR_SECURE_LEFT)
        drv_secure_forget(d);
    if (event->phase == PR_SECURE_ENTERED && !d->secure.owner)
        end_mode(d);
}

void drv_secure_leave(const struct drv_client *client)
{
    struct drv *d = client->driver;

    if (d->secure.owner != client)
        return;
    d->secure.owner = NULL;
    if (d->secure.entered)
        end_mode(d);
}

void drv_secure_retry(struct drv *d)
{
    end_mode(d);
}

void drv_secure_forget(struct drv *d)
{
    d->secure = (struct drv_secure){0};
}
