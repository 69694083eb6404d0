/* SPDX-License-Identifier: Apache-2.0 */
/* Signposts. A group may say that it has more than its message has room for: those are not there. */
#include "driver/signpost.h"

#include "base/array.h"

static void show(struct drv *d, uint32_t code, uint64_t time, uint64_t first, uint64_t second)
{
    static const char *const names[] = {
        [PR_SIGNPOST_ACCEPTED] = "accepted", [PR_SIGNPOST_PUSHED] = "pushed",
        [PR_SIGNPOST_RETIRED] = "retired",   [PR_SIGNPOST_REPORTED] = "reported",
        [PR_SIGNPOST_SPAN] = "span",
    };
    const char *name = code < BASE_COUNT_OF(names) ? names[code] : NULL;

    SOC_TRACE(d->platform.trace, DRV_SIGNPOST, name ? name : "unknown", time, first, second);
}

void drv_signpost_take(struct drv *d, const union drv_notification *message)
{
    const struct pr_notify_signpost *post = &message->signpost;

    show(d, post->code, post->time, post->argument[0], post->argument[1]);
}

void drv_signpost_take_group(struct drv *d, const union drv_notification *message)
{
    const struct pr_notify_signposts *group = &message->signposts;

    for (uint32_t i = 0; i < group->count && i < PR_SIGNPOST_GROUP; i++)
        show(d, group->post[i].code, group->time, group->post[i].argument[0], group->post[i].argument[1]);
}

void drv_signpost_take64(struct drv *d, const union drv_notification *message)
{
    const struct pr_notify_signpost64 *post = &message->signpost64;

    show(d, post->code, post->time, post->argument[0], post->argument[1]);
}

void drv_signpost_take_group64(struct drv *d, const union drv_notification *message)
{
    const struct pr_notify_signposts64 *group = &message->signposts64;

    for (uint32_t i = 0; i < group->count && i < PR_SIGNPOST64_GROUP; i++)
        show(d, group->code[i], group->time, group->argument[i][0], group->argument[i][1]);
}
