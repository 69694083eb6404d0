/* SPDX-License-Identifier: Apache-2.0 */
/* The memory cache's contents. `bytes` and `programs` are the sums over all programs' `cached`. */
#include "firmware/prefetch.h"

#include "firmware/log.h"
#include "firmware/notify.h"
#include "firmware/program.h"
#include "firmware/shared.h"

/* What a program only reads: its kernel, and constants, which are inputs of a fixed address. */
static uint64_t data_set(const struct pr_container *container)
{
    const struct pr_container_section *kernel = container->section[PR_SECTION_KERNEL];
    uint64_t bytes = kernel ? kernel->address_bytes : 0;

    for (uint32_t i = 0; i < container->generic->buffers; i++)
        if (fw_program_fixed(&container->buffer[i]) && container->buffer[i].type == PR_BUFFER_IN)
            bytes += container->buffer[i].bytes;
    return bytes;
}

static void report(struct fw *fw, uint32_t event, uint32_t slot, uint64_t bytes)
{
    const struct pr_notify_prefetch message = {.head.id = PR_CMD_PREFETCH_DSID_EVENT,
                                               .dsid = fw->setting.dsid,
                                               .event = event,
                                               .program_id = slot,
                                               .bytes = bytes,
                                               .time = fw_shared_host_time(fw)};

    fw_log(fw, RT_LOG_INFO, PR_LINE_PREFETCH, (int)fw->setting.dsid, event);
    fw_notify_post(fw, &message, sizeof(message));
}

void fw_prefetch_load(struct fw *fw, uint32_t slot)
{
    struct fw_prefetch *p = &fw->prefetch;
    struct fw_program *program = fw->program[slot];
    uint64_t bytes;

    if (fw->setting.dsid == PR_NO_ID)
        return;
    bytes = data_set(&program->container);
    if (!(fw->power.on >> PR_POWER_MCACHE & 1) || bytes > PR_MCACHE_BYTES - p->bytes) {
        report(fw, PR_PREFETCH_DROPPED, slot, bytes);
        return;
    }
    program->cached = bytes;
    p->bytes += bytes;
    p->programs += bytes != 0;
    report(fw, PR_PREFETCH_DONE, slot, bytes);
}

void fw_prefetch_unload(struct fw *fw, struct fw_program *program)
{
    fw->prefetch.bytes -= program->cached;
    fw->prefetch.programs -= program->cached != 0;
    program->cached = 0;
}

void fw_prefetch_lose(struct fw *fw)
{
    const uint64_t bytes = fw->prefetch.bytes;

    for (uint32_t i = 0; i < PR_PROGRAMS_MAX; i++)
        if (fw->program[i])
            fw_prefetch_unload(fw, fw->program[i]);
    if (bytes)
        report(fw, PR_PREFETCH_DROPPED, PR_NO_ID, bytes);
}
