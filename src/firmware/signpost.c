/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signposts. What is kept back is of one time: a signpost of another time, or one more than a group has room
 * for, sends it first, and so does the next look of the execution loop.
 */
#include "firmware/signpost.h"

#include "firmware/notify.h"
#include "firmware/pump.h"
#include "firmware/shared.h"

static void flush_narrow(struct fw *fw)
{
    struct pr_notify_signposts *group = &fw->signposts.narrow;
    const struct pr_notify_signpost single = {
        .head.id = PR_CMD_CH_SIGNPOST_NOTIFICATION,
        .code = group->post[0].code,
        .argument = {group->post[0].argument[0], group->post[0].argument[1]},
        .time = group->time};

    if (group->count == 1)
        fw_notify_post(fw, &single, sizeof(single));
    group->head.id = PR_CMD_CH_SIGNPOST_NOTIFICATION_GROUP;
    if (group->count > 1)
        fw_notify_post(fw, group, sizeof(*group));
    *group = (struct pr_notify_signposts){.count = 0};
}

static void flush_wide(struct fw *fw)
{
    struct pr_notify_signposts64 *group = &fw->signposts.wide;
    const struct pr_notify_signpost64 single = {.head.id = PR_CMD_CH_SIGNPOST64_NOTIFICATION,
                                                .code = group->code[0],
                                                .argument = {group->argument[0][0], group->argument[0][1]},
                                                .time = group->time};

    if (group->count == 1)
        fw_notify_post(fw, &single, sizeof(single));
    group->head.id = PR_CMD_CH_SIGNPOST64_NOTIFICATION_GROUP;
    if (group->count > 1)
        fw_notify_post(fw, group, sizeof(*group));
    *group = (struct pr_notify_signposts64){.count = 0};
}

void fw_signpost_flush(struct fw *fw)
{
    flush_narrow(fw);
    flush_wide(fw);
}

void fw_signpost_add(struct fw *fw, enum pr_signpost code, uint32_t first, uint32_t second)
{
    struct pr_notify_signposts *group = &fw->signposts.narrow;
    const uint64_t now = fw_shared_host_time(fw);

    if (group->count == PR_SIGNPOST_GROUP || (group->count && group->time != now))
        flush_narrow(fw);
    group->time = now;
    group->post[group->count].code = code;
    group->post[group->count].argument[0] = first;
    group->post[group->count].argument[1] = second;
    group->count++;
    fw_pump_want(fw, FW_TASK_EXELOOP, FW_REASON_NOTIFY);
}

void fw_signpost_add64(struct fw *fw, enum pr_signpost code, uint64_t first, uint64_t second)
{
    struct pr_notify_signposts64 *group = &fw->signposts.wide;
    const uint64_t now = fw_shared_host_time(fw);

    if (group->count == PR_SIGNPOST64_GROUP || (group->count && group->time != now))
        flush_wide(fw);
    group->time = now;
    group->code[group->count] = code;
    group->argument[group->count][0] = first;
    group->argument[group->count][1] = second;
    group->count++;
    fw_pump_want(fw, FW_TASK_EXELOOP, FW_REASON_NOTIFY);
}

void fw_signpost_retired(struct fw *fw, const struct fw_call *call)
{
    if (!fw->signposts.on)
        return;
    fw_signpost_add(fw, PR_SIGNPOST_RETIRED, call->level, call->network);
    fw_signpost_add64(fw, PR_SIGNPOST_SPAN, call->pushed - call->accepted,
                      rt_port_now(fw->port) - call->pushed);
}
