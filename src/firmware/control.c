/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control commands. Each works on the server's private copy: arguments are read from the body, replies
 * written over it.
 */
#include "firmware/control.h"

#include "base/array.h"
#include "firmware/exeloop.h"
#include "firmware/log.h"
#include "firmware/process.h"
#include "firmware/program.h"
#include "firmware/shared.h"
#include "protocol/board.h"
#include "protocol/stats.h"
#include "rtkernel/format.h"

#define PROPERTY_CALL_LOG 0x00a1u
#define ANY_SIZE          (PR_MESSAGE_BYTES_MAX - (uint32_t)sizeof(struct pr_command_header))
#define WAIT_EVENTS       32u
#define CACHE_REQUESTS    16u

static enum pr_status do_nothing(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)fw;
    (void)header;
    (void)body;
    return PR_STATUS_OK;
}

static enum pr_status print_enable(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_u32 *arguments = body;

    (void)header;
    fw->terminal.enabled = arguments->value != 0;
    return PR_STATUS_OK;
}

static enum pr_status start(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    (void)body;
    return fw_exeloop_start(fw);
}

static enum pr_status set_pmu_base(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_pmu *arguments = body;

    (void)header;
    fw->server.pmu_base = arguments->base;
    return PR_STATUS_OK;
}

static enum pr_status time_sync(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_time *time = body;

    (void)header;
    time->controller_ns = rt_port_now(fw->port);
    fw->server.host_time_offset = (int64_t)(time->host_ns - time->controller_ns);
    return PR_STATUS_OK;
}

/* An unknown property is logged, and the command succeeds. */
static enum pr_status property_write(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_property *arguments = body;

    (void)header;
    if (arguments->property == PROPERTY_CALL_LOG)
        fw->exeloop.log_level = arguments->value;
    else
        fw_log(fw, RT_LOG_INFO, "property 0x%x = 0x%x is not kept", arguments->property, arguments->value);
    return PR_STATUS_OK;
}

static enum pr_status resource_info(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)fw;
    (void)header;
    *(struct pr_body_resources *)body = (struct pr_body_resources){.programs = PR_PROGRAMS_MAX,
                                                                   .processes = PR_PROCESSES_MAX,
                                                                   .wait_events = WAIT_EVENTS,
                                                                   .calls_per_process = PR_IN_FLIGHT_MAX,
                                                                   .procedures = PR_PROCEDURES_MAX,
                                                                   .cache_requests = CACHE_REQUESTS,
                                                                   .engines = 1};
    return PR_STATUS_OK;
}

static enum pr_status default_setting(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_setting *setting = body;

    if (fw->server.loads)
        return PR_STATUS_WRONG_STATE;
    if (setting->count > BASE_COUNT_OF(setting->row) ||
        header->size != offsetof(struct pr_body_setting, row) + setting->count * sizeof(setting->row[0]))
        return PR_STATUS_BAD_SIZE;
    rt_memset(&fw->server.setting, 0, sizeof(fw->server.setting));
    rt_memcpy(&fw->server.setting, setting, header->size);
    return PR_STATUS_OK;
}

static enum pr_status mcache_size(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)fw;
    (void)header;
    *(struct pr_body_u32 *)body = (struct pr_body_u32){PR_MCACHE_BYTES};
    return PR_STATUS_OK;
}

static enum pr_status config_get(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)fw;
    (void)header;
    *(struct pr_body_config *)body = (struct pr_body_config){PR_TIMEBASE_HZ, 1};
    return PR_STATUS_OK;
}

static enum pr_status stats_sizes(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)fw;
    (void)header;
    *(struct pr_body_stats_sizes *)body = (struct pr_body_stats_sizes){
        PR_STATS_HEADER_BYTES, PR_STATS_EVENT_BYTES, PR_STATS_DEBUG_BYTES, PR_STATS_ENGINE_BYTES};
    return PR_STATUS_OK;
}

static enum pr_status build_info(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_build build = {.protocol_version = PR_PROTOCOL_VERSION, .ring_version = PR_RING_VERSION};

    (void)header;
    (void)rt_format(build.text, sizeof(build.text), "Anemone firmware, protocol %x.%x",
                    PR_PROTOCOL_VERSION >> 16, PR_PROTOCOL_VERSION & 0xffff);
    fw_log(fw, RT_LOG_INFO, "%s", build.text);
    rt_memcpy(body, &build, sizeof(build));
    return PR_STATUS_OK;
}

static enum pr_status load_program(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_load *arguments = body;
    enum pr_status status;
    uint32_t slot = PR_NO_ID;

    if (arguments->working_bytes && arguments->working_bytes < sizeof(struct pr_working_set))
        return PR_STATUS_BAD_ARGUMENT;
    status = fw_program_load(fw, arguments->container, arguments->bytes, &slot);
    if (!status && arguments->working_bytes && !fw_program_show(fw, slot, arguments->working)) {
        fw_program_unload(fw, slot);
        status = PR_STATUS_BAD_ARGUMENT;
    }
    header->program_id = status ? PR_NO_ID : slot;
    fw->server.loads += !status;
    return status;
}

static enum pr_status unload_program(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)body;
    return fw_program_unload(fw, header->program_id);
}

static enum pr_status create_process(struct fw *fw, struct pr_command_header *header, void *body)
{
    const struct pr_body_process *arguments = body;
    enum pr_status status = PR_STATUS_BAD_SIZE;
    uint32_t slot = PR_NO_ID;

    if (arguments->buffers <= PR_PROCESS_BUFFERS_MAX && header->size == PR_PROCESS_BYTES(arguments->buffers))
        status = fw_process_create(fw, header->program_id, arguments, &slot);
    header->process_id = status ? PR_NO_ID : slot;
    return status;
}

static enum pr_status premap_buffer(struct fw *fw, struct pr_command_header *header, void *body)
{
    return fw_process_premap(fw, header->program_id, header->process_id, body);
}

static enum pr_status terminate_process(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)body;
    return fw_process_terminate(fw, header->program_id, header->process_id);
}

/*
 * Bodies are `least` to `most` bytes long. A reply that the host left no room for is BAD_SIZE, unless it is
 * only for display.
 */
struct command {
    uint32_t id;
    uint32_t channels; /* a bit per enum pr_channel */
    uint32_t least, most, reply;
    enum pr_status (*run)(struct fw *fw, struct pr_command_header *header, void *body);
};

#define ON(channel) (1u << PR_CHANNEL_##channel)
#define EXACT(type) sizeof(struct type), sizeof(struct type), 0
#define INOUT(type) sizeof(struct type), sizeof(struct type), sizeof(struct type)
#define QUERY(type) 0, ANY_SIZE, sizeof(struct type)
#define ANY         0, ANY_SIZE, 0

static const struct command commands[] = {
    {PR_CMD_PRINT_ENABLE, ON(IO), EXACT(pr_body_u32), print_enable},
    {PR_CMD_START, ON(IO), EXACT(pr_body_u32), start},
    {PR_CMD_SET_SNE_PMU_BASE2, ON(IO), EXACT(pr_body_pmu), set_pmu_base},
    {PR_CMD_TIMEPROFILE_SHOW, ON(IO), INOUT(pr_body_time), time_sync},
    {PR_CMD_CH_PROPERTY_WRITE, ON(IO), EXACT(pr_body_property), property_write},
    {PR_CMD_RESOURCE_INFO_GET, ON(IO), QUERY(pr_body_resources), resource_info},
    {PR_CMD_ANE_DEFAULT_SETTING_SET, ON(IO), offsetof(struct pr_body_setting, row),
     sizeof(struct pr_body_setting), 0, default_setting},
    {PR_CMD_MCACHE_SIZE_GET, ON(IO), QUERY(pr_body_u32), mcache_size},
    {PR_CMD_INIT_SHARED_EVENT_INFO, ON(IO), ANY, do_nothing},
    {PR_CMD_PING, ON(IO) | ON(DEBUG), ANY, do_nothing},
    {PR_CMD_BUILDINFO, ON(IO) | ON(DEBUG), QUERY(pr_body_build), build_info},
    {PR_CMD_CONFIG_GET, ON(IO), QUERY(pr_body_config), config_get},
    {PR_CMD_STATS_BUFFER_SIZE_GET, ON(IO), QUERY(pr_body_stats_sizes), stats_sizes},
    {PR_CMD_LOAD_PROGRAM, ON(IO), EXACT(pr_body_load), load_program},
    {PR_CMD_UNLOAD_PROGRAM, ON(IO), ANY, unload_program},
    {PR_CMD_CREATE_PROCESS, ON(IO), sizeof(struct pr_body_process), ANY_SIZE, 0, create_process},
    {PR_CMD_PREMAP_BUFFER, ON(IO), EXACT(pr_body_premap), premap_buffer},
    {PR_CMD_TERMINATE_PROCESS, ON(IO), ANY, terminate_process},
    {PR_CMD_CH_BUFFER_RETURN, ON(BUF_H2T), ANY, do_nothing},
};

static const struct command *find_command(enum pr_channel channel, uint32_t id)
{
    for (size_t i = 0; i < BASE_COUNT_OF(commands); i++)
        if (commands[i].id == id && commands[i].channels >> channel & 1)
            return &commands[i];
    return NULL;
}

enum pr_status fw_control_run(struct fw *fw, enum pr_channel channel, size_t capacity, size_t *reply)
{
    struct pr_command_header *header = (void *)fw->server.message;
    const struct command *command = find_command(channel, header->id);
    const char *name = pr_command_name(header->id);
    const bool for_people = header->id == PR_CMD_BUILDINFO;
    enum pr_status status;

    *reply = 0;
    if (!command) {
        fw_log(fw, RT_LOG_WARNING, "CMD = 0x%02x [%s] is not supported on channel %s", header->id,
               name ? name : "unknown", pr_channel_table[channel].name);
        return PR_STATUS_UNKNOWN_COMMAND;
    }
    rt_log(fw->kernel, RT_LOG_DEBUG, "CMD = 0x%02x [%s]", header->id, name);
    if (header->size < command->least || header->size > command->most)
        return PR_STATUS_BAD_SIZE;
    if (!for_people && command->reply && capacity < sizeof(*header) + command->reply)
        return PR_STATUS_BAD_SIZE;
    status = command->run(fw, header, header + 1);
    if (!status && capacity >= sizeof(*header) + command->reply)
        *reply = command->reply;
    return status;
}
