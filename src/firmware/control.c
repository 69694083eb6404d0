/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control commands: the table, and those that are about no other part. Each works on the server's private
 * copy: arguments are read from the body, replies written over it. A command that belongs to another task is
 * run there, while the server waits.
 */
#include "firmware/control.h"

#include "base/array.h"
#include "firmware/cache.h"
#include "firmware/cacheinstall.h"
#include "firmware/callmgr.h"
#include "firmware/dartmgr.h"
#include "firmware/endpoint.h"
#include "firmware/event.h"
#include "firmware/identity.h"
#include "firmware/inference.h"
#include "firmware/life.h"
#include "firmware/loadmon.h"
#include "firmware/loadpool.h"
#include "firmware/log.h"
#include "firmware/power.h"
#include "firmware/program.h"
#include "firmware/property.h"
#include "firmware/pump.h"
#include "firmware/report.h"
#include "firmware/reservation.h"
#include "firmware/rpc.h"
#include "firmware/rule.h"
#include "firmware/secure.h"
#include "firmware/setting.h"
#include "firmware/shared.h"
#include "firmware/tunables.h"
#include "protocol/command_class.h"
#include "protocol/control_bodies.h"
#include "protocol/log_line.h"

#define ANY_SIZE (PR_MESSAGE_BYTES_MAX - 1 - (uint32_t)sizeof(struct pr_command_header))

static enum pr_status do_nothing(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)fw;
    (void)header;
    (void)body;
    return PR_STATUS_OK;
}

static enum pr_status print_enable(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_u32 *arguments = body;

    (void)header;
    fw->terminal.enabled = arguments->value != 0;
    arguments->value = fw->terminal.enabled && fw->terminal.buffer;
    return PR_STATUS_OK;
}

/*
 * The host has read both clocks when it sent the command. A host that gives its own alone gets an offset with
 * the way of the message in it.
 */
static enum pr_status time_sync(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_time *time = body;

    if (header->size != sizeof(*time))
        return fw_setting_profile_show(fw, header, body);
    fw->server.host_time_offset =
        (int64_t)(time->host_ns - (time->controller_ns ? time->controller_ns : rt_port_now(fw->port)));
    time->controller_ns = rt_port_now(fw->port);
    return PR_STATUS_OK;
}

static enum pr_status default_setting(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_setting *setting = body;

    if (setting->count > BASE_COUNT_OF(setting->row) ||
        header->size != offsetof(struct pr_body_setting, row) + setting->count * sizeof(setting->row[0])) {
        fw_log(fw, RT_LOG_WARNING, "%llu default settings do not have 0x%x bytes",
               (unsigned long long)setting->count, header->size);
        return PR_STATUS_BAD_SIZE;
    }
    if (fw->server.loads) {
        fw_log(fw, RT_LOG_WARNING, "default settings are refused: %llu programs were loaded before",
               (unsigned long long)fw->server.loads);
        return PR_STATUS_WRONG_STATE;
    }
    return fw_tunables_set(fw, header, body);
}

static enum pr_status channel_power(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_channel_power *arguments = body;

    (void)header;
    if (arguments->channel >= PR_CHANNEL_COUNT || arguments->on > 1 ||
        (arguments->channel == PR_CHANNEL_IO && !arguments->on)) {
        fw_log(fw, RT_LOG_WARNING, "channel %u is not switched to %u: it must be one of %u, and not IO",
               arguments->channel, arguments->on, PR_CHANNEL_COUNT);
        return PR_STATUS_BAD_ARGUMENT;
    }
    fw->channel[arguments->channel].ready = arguments->on;
    if (arguments->on && arguments->channel == PR_CHANNEL_IO_T2H) /* events may wait for it */
        fw_pump_want(fw, FW_TASK_EXELOOP, 1u << pr_channel_table[PR_CHANNEL_IO_T2H].bit);
    return PR_STATUS_OK;
}

/*
 * Bodies are `least` to `most` bytes long. A reply that the host left no room for is BAD_SIZE, unless it is
 * only for display.
 */
struct fw_command {
    uint32_t id;
    uint32_t channels; /* a bit per enum pr_channel */
    uint32_t least, most, reply;
    enum fw_task task; /* which runs it */
    enum pr_status (*run)(struct fw *fw, struct pr_command_header *header, void *body);
};

#define ON(channel)   (1u << PR_CHANNEL_##channel)
#define EXACT(type)   sizeof(struct type), sizeof(struct type), 0
#define INOUT(type)   sizeof(struct type), sizeof(struct type), sizeof(struct type)
#define QUERY(type)   0, ANY_SIZE, sizeof(struct type)
#define UP_TO(type)   0, sizeof(struct type), 0
#define ANY           0, ANY_SIZE, 0
#define NO_BODY       0, 0, 0
#define TASK(id)      FW_TASK_##id
#define BOTH          (ON(IO) | ON(DEBUG))
#define SETTING_LEAST offsetof(struct pr_body_setting, row)
#define REPORT_HEAD   offsetof(struct pr_body_report, text)
#define CHECK_HEAD    sizeof(struct pr_body_data_check)
#define FILE_LEAST    offsetof(struct pr_body_reg_file, row)
#define INSTALL                                                                              \
    ON(IO), sizeof(struct pr_body_cache_install), ANY_SIZE, sizeof(uint64_t), TASK(EXELOOP), \
        fw_cacheinstall_run
#define POOL_SET offsetof(struct pr_body_pool, bytes)

static const struct fw_command commands[] = {
    {PR_CMD_PRINT_ENABLE, ON(IO), INOUT(pr_body_u32), TASK(SERVER), print_enable},
    {PR_CMD_START, ON(IO), INOUT(pr_body_u32), TASK(SERVER), fw_life_start},
    {PR_CMD_SET_SNE_PMU_BASE2, ON(IO), INOUT(pr_body_pmu), TASK(SERVER), fw_power_set_base},
    {PR_CMD_TIMEPROFILE_SHOW, ON(IO), sizeof(struct pr_body_time), sizeof(struct pr_body_profile_show),
     sizeof(struct pr_body_time), TASK(SERVER), time_sync},
    {PR_CMD_CH_PROPERTY_WRITE, ON(IO), INOUT(pr_body_property), TASK(SERVER), fw_property_write},
    {PR_CMD_RESOURCE_INFO_GET, ON(IO), QUERY(pr_body_resources), TASK(SERVER), fw_identity_resources},
    {PR_CMD_ANE_DEFAULT_SETTING_SET, ON(IO), SETTING_LEAST, sizeof(struct pr_body_setting), SETTING_LEAST,
     TASK(TUNABLES), default_setting},
    {PR_CMD_MCACHE_SIZE_GET, ON(IO), QUERY(pr_body_u32), TASK(EXELOOP), fw_power_cache_size},
    {PR_CMD_INIT_SHARED_EVENT_INFO, ON(IO), UP_TO(pr_body_shared_events), TASK(SERVER), fw_event_table},
    {PR_CMD_PING, BOTH, ANY, TASK(SERVER), do_nothing},
    {PR_CMD_BUILDINFO, BOTH, QUERY(pr_body_build), TASK(SERVER), fw_identity_build},
    {PR_CMD_CONFIG_GET, ON(IO), QUERY(pr_body_config), TASK(SERVER), fw_identity_config},
    {PR_CMD_STATS_BUFFER_SIZE_GET, ON(IO), QUERY(pr_body_stats_sizes), TASK(SERVER), fw_identity_stats_sizes},
    {PR_CMD_CH_INFO_GET, ON(DEBUG), sizeof(uint32_t), sizeof(struct pr_body_report), REPORT_HEAD,
     TASK(SERVER), fw_report_get},
    {PR_CMD_CPU_LOAD_GET, BOTH, QUERY(pr_load_report), TASK(LOADMON), fw_loadmon_get},
    {PR_CMD_LOAD_PROGRAM, ON(IO), EXACT(pr_body_load), TASK(CALLMGR), fw_callmgr_load},
    {PR_CMD_UNLOAD_PROGRAM, ON(IO), ANY, TASK(CALLMGR), fw_callmgr_unload},
    {PR_CMD_CREATE_PROCESS, ON(IO), sizeof(struct pr_body_process), ANY_SIZE, 0, TASK(CALLMGR),
     fw_callmgr_create},
    {PR_CMD_TERMINATE_PROCESS, ON(IO), ANY, TASK(CALLMGR), fw_callmgr_terminate},
    {PR_CMD_PREMAP_BUFFER, ON(IO), EXACT(pr_body_premap), TASK(DARTMGR), fw_dartmgr_premap},
    {PR_CMD_PROCEDURE_CALL_CACHE_REQUEST, INSTALL},
    {PR_CMD_PROCEDURE_CALL_CACHE_REQUEST_WITH_CUSTOM_BARS, INSTALL},
    {PR_CMD_PROCEDURE_CALL_CACHE_REQUEST_WITH_SHARED_EVENTS, INSTALL},
    {PR_CMD_PROCEDURE_CALL_INVALIDATE_CACHE_REQUEST, ON(IO), INOUT(pr_body_cache_invalidate), TASK(EXELOOP),
     fw_cache_invalidate},
    {PR_CMD_FORCE_DISABLE_CACHE_REQUESTS, ON(IO), EXACT(pr_body_u32), TASK(EXELOOP), fw_cache_force_disable},
    {PR_CMD_INFERENCE_CALL, ON(IO), sizeof(struct pr_body_inference), ANY_SIZE, 0, TASK(SERVER),
     fw_inference_call},
    {PR_CMD_STOP, ON(IO), INOUT(pr_body_u32), TASK(SERVER), fw_life_stop},
    {PR_CMD_QUIESCE_STATE, ON(IO), QUERY(pr_body_quiesce), TASK(SERVER), fw_life_quiesce},
    {PR_CMD_SUSPEND, ON(IO), NO_BODY, TASK(SERVER), fw_life_suspend},
    {PR_CMD_POWER_DOWN, ON(IO), NO_BODY, TASK(SERVER), fw_life_power_down},
    {PR_CMD_SECURE_MODE_START, ON(IO), EXACT(pr_body_u32), TASK(EXELOOP), fw_secure_start},
    {PR_CMD_SECURE_MODE_STOP, ON(IO), EXACT(pr_body_u32), TASK(EXELOOP), fw_secure_stop},
    {PR_CMD_SECURE_MODE_RESUME_TRANSITION, ON(IO), NO_BODY, TASK(EXELOOP), fw_secure_resume},
    {PR_CMD_RESET, ON(IO), EXACT(pr_body_reset), TASK(SERVER), fw_life_reset},
    {PR_CMD_SET_SNE_PMU_BASE, ON(IO), INOUT(pr_body_pmu), TASK(SERVER), fw_power_set_base},
    {PR_CMD_POWER_DEVICE_ON, ON(IO), EXACT(pr_body_u32), TASK(EXELOOP), fw_power_device_on},
    {PR_CMD_POWER_DEVICE_OFF, ON(IO), EXACT(pr_body_u32), TASK(EXELOOP), fw_power_device_off},
    {PR_CMD_SET_DYNAMIC_POWERGATE, ON(IO), EXACT(pr_body_u32), TASK(EXELOOP), fw_power_dynamic},
    {PR_CMD_IPC_ENDPOINT_SET, ON(IO), EXACT(pr_body_endpoint), TASK(SERVER), fw_endpoint_set},
    {PR_CMD_IPC_ENDPOINT_UNSET, ON(IO), EXACT(pr_body_u32), TASK(SERVER), fw_endpoint_unset},
    {PR_CMD_IPC_ENDPOINT_SET2, ON(IO), EXACT(pr_body_endpoint2), TASK(SERVER), fw_endpoint_set2},
    {PR_CMD_IPC_ENDPOINT_UNSET2, ON(IO), EXACT(pr_body_u32), TASK(SERVER), fw_endpoint_unset2},
    {PR_CMD_CH_POWER_CONTROL, ON(IO), EXACT(pr_body_channel_power), TASK(SERVER), channel_power},
    {PR_CMD_PLATFORM_INFO, BOTH, QUERY(pr_body_platform), TASK(SERVER), fw_identity_platform},
    {PR_CMD_CONFIG_GET_EXT, BOTH, QUERY(pr_body_config_ext), TASK(SERVER), fw_identity_config_ext},
    {PR_CMD_BOOT, BOTH, QUERY(pr_body_boot), TASK(SERVER), fw_identity_boot},
    {PR_CMD_PROGRAM_INTERFACE_VERSION_CHECK, ON(IO), INOUT(pr_body_u32), TASK(SERVER), fw_identity_interface},
    {PR_CMD_DEBUG_COMMAND_DATA_CHECK, BOTH, CHECK_HEAD, ANY_SIZE, CHECK_HEAD, TASK(SERVER),
     fw_identity_data_check},
    {PR_CMD_CH_PROPERTY_READ, ON(IO), INOUT(pr_body_property), TASK(SERVER), fw_property_read},
    {PR_CMD_TRACE_ENABLE, ON(IO), EXACT(pr_body_u32), TASK(SERVER), fw_property_trace},
    {PR_CMD_FW_RUN_MODE, ON(IO), EXACT(pr_body_u32), TASK(SERVER), fw_setting_run_mode},
    {PR_CMD_RPC_ENABLE, ON(IO), EXACT(pr_body_u32), TASK(SERVER), fw_setting_rpc},
    {PR_CMD_SET_SNE_RPC_CHECK_CMD, ON(IO), EXACT(pr_body_u32), TASK(SERVER), fw_setting_rpc_check},
    {PR_CMD_DSID_SET, ON(IO), EXACT(pr_body_u32), TASK(SERVER), fw_setting_dsid},
    {PR_CMD_TIMEPROFILE_START, ON(IO), NO_BODY, TASK(SERVER), fw_setting_profile_start},
    {PR_CMD_TIMEPROFILE_STOP, ON(IO), QUERY(pr_body_profile), TASK(SERVER), fw_setting_profile_stop},
    {PR_CMD_REG_FILE_LOAD, ON(IO), FILE_LEAST, sizeof(struct pr_body_reg_file), 0, TASK(TUNABLES),
     fw_tunables_load},
    {PR_CMD_CH_BUFFER_POOL_CONFIG_GET, ON(IO), INOUT(pr_body_pool), TASK(LOADMON), fw_loadpool_get},
    {PR_CMD_CH_BUFFER_POOL_CONFIG_SET, ON(IO), POOL_SET, POOL_SET, 0, TASK(LOADMON), fw_loadpool_set},
    {PR_CMD_CH_BUFFER_RECYCLE_MODE_SET, ON(IO), EXACT(pr_body_recycle_mode), TASK(LOADMON), fw_loadpool_mode},
    {PR_CMD_CH_BUFFER_RECYCLE_START, ON(IO), NO_BODY, TASK(LOADMON), fw_loadpool_start},
    {PR_CMD_CH_BUFFER_RECYCLE_STOP, ON(IO), NO_BODY, TASK(LOADMON), fw_loadpool_stop},
    {PR_CMD_BACK_CHANNEL_RPC, ON(IO), INOUT(pr_body_rpc), TASK(SERVER), fw_rpc_command},
    {PR_CMD_REQUEST_PROGRAM_ID, ON(IO), NO_BODY, TASK(CALLMGR), fw_reservation_request_program},
    {PR_CMD_RETURN_PROGRAM_ID, ON(IO), NO_BODY, TASK(CALLMGR), fw_reservation_return_program},
    {PR_CMD_REQUEST_PROCESS_ID, ON(IO), NO_BODY, TASK(CALLMGR), fw_reservation_request_process},
    {PR_CMD_RETURN_PROCESS_ID, ON(IO), NO_BODY, TASK(CALLMGR), fw_reservation_return_process},
};

static const struct fw_command *find_command(enum pr_channel channel, uint32_t id)
{
    for (size_t i = 0; i < BASE_COUNT_OF(commands); i++)
        if (commands[i].id == id && commands[i].channels >> channel & 1)
            return &commands[i];
    return NULL;
}

enum pr_status fw_control_execute(struct fw *fw)
{
    struct pr_command_header *header = (void *)fw->server.message;

    return fw->server.command->run(fw, header, header + 1);
}

/* The rule about sizes that the command breaks, or NULL. */
static const char *size_wrong(const struct fw_command *command, const struct pr_command_header *header,
                              size_t capacity)
{
    if (header->size < command->least || header->size > command->most)
        return "the body has the wrong size";
    if (header->id != PR_CMD_BUILDINFO && capacity < command->reply)
        return "the reply has no room";
    return NULL;
}

static enum pr_status execute(struct fw *fw, const struct fw_command *command)
{
    fw->server.command = command;
    fw->server.reply = fw->server.capacity >= command->reply ? command->reply : 0;
    if (command->task == FW_TASK_SERVER)
        return fw_control_execute(fw);
    return fw_pump_ask(fw, FW_TASK_SERVER, command->task, FW_RECORD_COMMAND);
}

/* A command that this channel has not: the reason, where the table of classes has one. */
static enum pr_status refuse_unknown(struct fw *fw, enum pr_channel channel, uint32_t id)
{
    const char *name = pr_command_name(id), *why = pr_command_refusal(id);

    if (id == PR_COMMAND_INVALID)
        fw_log(fw, RT_LOG_WARNING, "CMD = %#04x is the mark of no command, on channel %s", id,
               pr_channel_table[channel].name);
    else
        fw_log(fw, RT_LOG_WARNING, PR_LINE_COMMAND " is not supported on channel %s%s%s", id,
               name ? name : "unknown", pr_channel_table[channel].name, why ? ": " : "", why ? why : "");
    return PR_STATUS_UNKNOWN_COMMAND;
}

/*
 * The fields of Table 30.1 that any command has. A procedure is an index into the table of the program that
 * the header names; without a program it means nothing. A command that needs a program or process looks for
 * it itself.
 */
static bool header_wrong(struct fw *fw, const struct pr_command_header *header, const char *name)
{
    const struct fw_program *program = fw_program_get(fw, header->program_id);

    if (fw_rule(fw, PR_RULE_FW_PRIORITY, header->priority < PR_PRIORITIES, header->priority))
        fw_log(fw, RT_LOG_WARNING, PR_LINE_COMMAND ": priority %u; it must be below %u", header->id, name,
               header->priority, PR_PRIORITIES);
    else if (program && header->procedure_id >= program->container.procedures)
        fw_log(fw, RT_LOG_WARNING, PR_LINE_COMMAND ": procedure %u; program %u has %u", header->id, name,
               header->procedure_id, header->program_id, program->container.procedures);
    else
        return false;
    return true;
}

enum pr_status fw_control_run(struct fw *fw, enum pr_channel channel, size_t capacity, size_t *reply)
{
    struct pr_command_header *header = (void *)fw->server.message;
    const struct fw_command *command = find_command(channel, header->id);
    const char *name = pr_command_name(header->id);
    enum pr_status status;
    const char *wrong;

    *reply = 0;
    if (!command)
        return refuse_unknown(fw, channel, header->id);
    rt_log(fw->kernel, RT_LOG_DEBUG, PR_LINE_COMMAND, header->id, name);
    fw->server.capacity = capacity - sizeof(*header);
    wrong = size_wrong(command, header, fw->server.capacity);
    if (wrong) {
        fw_log(fw, RT_LOG_WARNING, PR_LINE_COMMAND ": %s (0x%x bytes, room for 0x%zx)", header->id, name,
               wrong, header->size, fw->server.capacity);
        return PR_STATUS_BAD_SIZE;
    }
    if (header_wrong(fw, header, name))
        return PR_STATUS_BAD_ARGUMENT;
    status = execute(fw, command);
    if (!status)
        *reply = fw->server.reply;
    return status;
}
