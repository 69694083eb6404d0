/* SPDX-License-Identifier: Apache-2.0 */
/* What the firmware says of itself. Each answer is read from where the machine keeps it. */
#include "firmware/identity.h"

#include "firmware/log.h"
#include "firmware/shared.h"
#include "protocol/control_bodies.h"
#include "protocol/stats.h"
#include "rtkernel/format.h"
#include "rtkernel/irq.h"

#define ENGINES 1u

/* Nothing that cannot be used: there are no wait events. */
enum pr_status fw_identity_resources(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)fw;
    (void)header;
    *(struct pr_body_resources *)body = (struct pr_body_resources){.programs = PR_PROGRAMS_MAX,
                                                                   .processes = PR_PROCESSES_MAX,
                                                                   .wait_events = PR_WAIT_EVENTS_MAX,
                                                                   .calls_per_process = PR_IN_FLIGHT_MAX,
                                                                   .procedures = PR_PROCEDURES_MAX,
                                                                   .cache_requests = PR_CACHE_REQUESTS_MAX,
                                                                   .engines = ENGINES};
    return PR_STATUS_OK;
}

enum pr_status fw_identity_config(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)fw;
    (void)header;
    *(struct pr_body_config *)body = (struct pr_body_config){PR_TIMEBASE_HZ, ENGINES};
    return PR_STATUS_OK;
}

enum pr_status fw_identity_config_ext(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    *(struct pr_body_config_ext *)body = (struct pr_body_config_ext){
        .timebase_hz = PR_TIMEBASE_HZ,
        .engines = ENGINES,
        .protocol_version = PR_PROTOCOL_VERSION,
        .ring_version = PR_RING_VERSION,
        .run_mode = fw->setting.run_mode,
        .dsid = fw->setting.dsid,
        .rpc = (fw->hostrpc.muted ? 0 : PR_RPC_LINES) | (fw->hostrpc.check ? PR_RPC_CHECK : 0) |
               (fw->rpc.debug ? PR_RPC_CALLS : 0),
        .profiling = fw->setting.profiling};
    return PR_STATUS_OK;
}

enum pr_status fw_identity_stats_sizes(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)fw;
    (void)header;
    *(struct pr_body_stats_sizes *)body = (struct pr_body_stats_sizes){
        PR_STATS_HEADER_BYTES, PR_STATS_EVENT_BYTES, PR_STATS_DEBUG_BYTES, PR_STATS_ENGINE_BYTES};
    return PR_STATUS_OK;
}

enum pr_status fw_identity_build(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_build build = {.protocol_version = PR_PROTOCOL_VERSION, .ring_version = PR_RING_VERSION};

    (void)header;
    (void)rt_format(build.text, sizeof(build.text), "Anemone firmware, protocol %x.%x",
                    PR_PROTOCOL_VERSION >> 16, PR_PROTOCOL_VERSION & 0xffff);
    fw_log(fw, RT_LOG_INFO, "%s", build.text);
    rt_memcpy(body, &build, sizeof(build));
    return PR_STATUS_OK;
}

enum pr_status fw_identity_platform(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    *(struct pr_body_platform *)body =
        (struct pr_body_platform){.chip_revision = fw_register_read(fw, PR_CTRL_CHIP_REVISION),
                                  .engines = ENGINES,
                                  .timebase_hz = PR_TIMEBASE_HZ,
                                  .page_bytes = PR_PAGE_BYTES};
    return PR_STATUS_OK;
}

enum pr_status fw_identity_boot(struct fw *fw, struct pr_command_header *header, void *body)
{
    (void)header;
    *(struct pr_body_boot *)body = (struct pr_body_boot){.mode = fw->warm ? PR_BOOT_WARM : PR_BOOT_COLD,
                                                         .restarts = (uint32_t)fw->count[FW_FAULTED]};
    return PR_STATUS_OK;
}

static void count_warning(struct fw *fw)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);

    fw->count[FW_WARNED]++;
    rt_irq_restore(fw->kernel, previous);
}

enum pr_status fw_identity_interface(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_u32 *version = body;
    const uint32_t given = version->value, own = PR_PROGRAM_INTERFACE_VERSION;

    (void)header;
    if (PR_VERSION_MAJOR(given) != PR_VERSION_MAJOR(own)) {
        fw_log(fw, RT_LOG_WARNING,
               "program interface version %x is refused: this is %x, and the high halves differ", given, own);
        return PR_STATUS_BAD_ARGUMENT;
    }
    if (given != own) {
        count_warning(fw);
        fw_log(fw, RT_LOG_WARNING,
               "program interface version %x differs from %x in its minor part: it goes on", given, own);
    }
    version->value = own;
    return PR_STATUS_OK;
}

enum pr_status fw_identity_data_check(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_data_check *check = body;
    uint32_t sum = PR_FNV_BASIS;

    if (check->magic != PR_DATA_CHECK_MAGIC || check->bytes > PR_DATA_CHECK_BYTES_MAX) {
        fw_log(fw, RT_LOG_WARNING, "data check: magic 0x%x must be 0x%x, and 0x%x bytes at most 0x%x",
               check->magic, PR_DATA_CHECK_MAGIC, check->bytes, PR_DATA_CHECK_BYTES_MAX);
        return PR_STATUS_BAD_ARGUMENT;
    }
    if (check->bytes != header->size - sizeof(*check)) {
        fw_log(fw, RT_LOG_WARNING, "data check: 0x%x bytes of data are not the 0x%zx that follow the head",
               check->bytes, header->size - sizeof(*check));
        return PR_STATUS_BAD_SIZE;
    }
    for (uint32_t i = 0; i < check->bytes; i++)
        sum = (sum ^ check->data[i]) * PR_FNV_PRIME;
    check->checksum = sum;
    return PR_STATUS_OK;
}
