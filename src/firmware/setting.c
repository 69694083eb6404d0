/* SPDX-License-Identifier: Apache-2.0 */
/* Settings. A value outside its bounds leaves the setting as it was. */
#include "firmware/setting.h"

#include "firmware/log.h"
#include "firmware/shared.h"
#include "protocol/control_bodies.h"

void fw_setting_init(struct fw *fw)
{
    fw->setting.dsid = PR_NO_ID;
}

/* Whether the word is below its limit; a sentence when it is not. */
static bool below(struct fw *fw, const char *what, uint32_t value, uint32_t limit)
{
    if (value < limit)
        return true;
    fw_log(fw, RT_LOG_WARNING, "%s %u is refused: it must be below %u", what, value, limit);
    return false;
}

enum pr_status fw_setting_run_mode(struct fw *fw, struct pr_command_header *header, void *body)
{
    const uint32_t mode = ((const struct pr_body_u32 *)body)->value;

    (void)header;
    if (!below(fw, "run mode", mode, PR_RUN_MODES))
        return PR_STATUS_BAD_ARGUMENT;
    fw->setting.run_mode = mode;
    return PR_STATUS_OK;
}

enum pr_status fw_setting_rpc(struct fw *fw, struct pr_command_header *header, void *body)
{
    const uint32_t on = ((const struct pr_body_u32 *)body)->value;

    (void)header;
    if (on & ~(PR_RPC_LINES | PR_RPC_CALLS)) {
        fw_log(fw, RT_LOG_WARNING, "RPC enable 0x%x is refused: bits 0x%x are known", on,
               PR_RPC_LINES | PR_RPC_CALLS);
        return PR_STATUS_BAD_ARGUMENT;
    }
    fw->hostrpc.muted = !(on & PR_RPC_LINES);
    fw->rpc.debug = on & PR_RPC_CALLS;
    return PR_STATUS_OK;
}

enum pr_status fw_setting_rpc_check(struct fw *fw, struct pr_command_header *header, void *body)
{
    const uint32_t on = ((const struct pr_body_u32 *)body)->value;

    (void)header;
    if (!below(fw, "RPC check", on, 2))
        return PR_STATUS_BAD_ARGUMENT;
    fw->hostrpc.check = on;
    return PR_STATUS_OK;
}

enum pr_status fw_setting_dsid(struct fw *fw, struct pr_command_header *header, void *body)
{
    const uint32_t dsid = ((const struct pr_body_u32 *)body)->value;

    (void)header;
    if (fw->server.loads) {
        fw_log(fw, RT_LOG_WARNING, "DSID %u is refused: %llu programs were loaded before", dsid,
               (unsigned long long)fw->server.loads);
        return PR_STATUS_WRONG_STATE;
    }
    if (dsid == PR_NO_ID) {
        fw_log(fw, RT_LOG_WARNING, "DSID 0x%x is refused: it is the mark of none", dsid);
        return PR_STATUS_BAD_ARGUMENT;
    }
    fw->setting.dsid = dsid;
    return PR_STATUS_OK;
}

enum pr_status fw_setting_profile_start(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct fw_setting *setting = &fw->setting;

    (void)header;
    (void)body;
    if (setting->profiling) {
        fw_log(fw, RT_LOG_WARNING, "a time profile is not started: one is under way; stop it first");
        return PR_STATUS_WRONG_STATE;
    }
    setting->profiling = true;
    setting->profile_begin = rt_port_now(fw->port);
    setting->profile_calls = fw->loadmon.finished;
    return PR_STATUS_OK;
}

/* Since the start, when a profile is under way. */
static struct pr_body_profile profile(struct fw *fw)
{
    return (struct pr_body_profile){.span_ns = rt_port_now(fw->port) - fw->setting.profile_begin,
                                    .calls = fw->loadmon.finished - fw->setting.profile_calls};
}

enum pr_status fw_setting_profile_show(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_profile_show *show = body;
    const struct pr_body_profile so_far = profile(fw);

    if (header->size != sizeof(*show)) {
        fw_log(fw, RT_LOG_WARNING, "a time profile is not shown: the body has 0x%x bytes, not 0x%zx",
               header->size, sizeof(*show));
        return PR_STATUS_BAD_SIZE;
    }
    if (show->one != 1) {
        fw_log(fw, RT_LOG_WARNING, "a time profile is not shown: the body begins with %u, not 1", show->one);
        return PR_STATUS_BAD_ARGUMENT;
    }
    if (!fw->setting.profiling) {
        fw_log(fw, RT_LOG_WARNING, "a time profile is not shown: none was started");
        return PR_STATUS_WRONG_STATE;
    }
    *show = (struct pr_body_profile_show){.one = 1, .span_ns = so_far.span_ns, .calls = so_far.calls};
    fw->server.reply = sizeof(*show);
    fw_log(fw, RT_LOG_INFO, "time profile: %llu calls in %llu ns", (unsigned long long)show->calls,
           (unsigned long long)show->span_ns);
    return PR_STATUS_OK;
}

enum pr_status fw_setting_profile_stop(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct fw_setting *setting = &fw->setting;

    (void)header;
    if (!setting->profiling) {
        fw_log(fw, RT_LOG_WARNING, "a time profile is not stopped: none was started");
        return PR_STATUS_WRONG_STATE;
    }
    setting->profiling = false;
    *(struct pr_body_profile *)body = profile(fw);
    return PR_STATUS_OK;
}
