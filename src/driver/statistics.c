/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics buffers. A process remembers what the firmware has mapped for it: both sides have room for
 * PR_STATS_MAPS buffers and replace the oldest. The record is in the client's memory: its words are copied
 * once, and are only added up.
 */
#include "driver/statistics.h"

#include <string.h>

#include "driver/command.h"

/* A request that is bound and waits in its band still finds its buffer mapped. */
_Static_assert(PR_STATS_MAPS >= DRV_REQUESTS_PER_CLIENT, "a statistics buffer for each request of a client");

static bool is_mapped(const struct drv_process *process, const struct pr_buffer *buffer)
{
    const struct drv_statistics *s = &process->statistics;

    for (uint32_t i = 0; i < PR_STATS_MAPS && i < s->count; i++)
        if (s->map[i].address == buffer->address && s->map[i].bytes == buffer->bytes)
            return true;
    return false;
}

static void note_mapped(struct drv_process *process, const struct pr_buffer *buffer)
{
    struct drv_statistics *s = &process->statistics;
    const uint32_t i = s->count++ % PR_STATS_MAPS;

    s->map[i].address = buffer->address;
    s->map[i].bytes = buffer->bytes;
}

IOReturn drv_statistics_map(struct drv_process *process, const struct pr_buffer *buffer)
{
    struct drv *d = process->client->driver;
    IOReturn result = kIOReturnSuccess;

    while (!result && process->state == DRV_PROCESS_LIVE && !is_mapped(process, buffer)) {
        struct pr_body_premap body = {
            .operations = 1, .buffers = 1, .pool = PR_POOL_STATS, .buffer = *buffer};
        const struct drv_command_args args = {.id = PR_CMD_PREMAP_BUFFER,
                                              .program = process->program->id,
                                              .process = process->id,
                                              .body = &body,
                                              .bytes = sizeof(body)};
        const uint64_t slots = process->statistics.slots;

        result = drv_command_run(d, &args, NULL);
        /* Another request may have mapped it meanwhile, or the slot that has it mapped is gone. */
        if (!result && process->statistics.slots == slots && !is_mapped(process, buffer))
            note_mapped(process, buffer);
    }
    return result;
}

void drv_statistics_forget(struct drv_process *process)
{
    process->statistics = (struct drv_statistics){.slots = process->statistics.slots + 1};
}

/* Smaller than the last one: counted from 0 again. */
static uint32_t added(uint32_t now, uint32_t before)
{
    return now >= before ? now - before : now;
}

/* A request that was queued when the firmware was restarted has no record: the new slot has no map. */
static bool has_record(const struct drv_request *r)
{
    struct pr_buffer buffer;

    memcpy(&buffer, r->message + offsetof(struct pr_call, stats), sizeof(buffer));
    return is_mapped(r->process, &buffer);
}

void drv_statistics_collect(struct drv *d, struct drv_request *r)
{
    struct pr_stats_totals now, *seen;

    if (!r->totals_at || !has_record(r))
        return;
    memcpy(&now, r->totals_at, sizeof(now));
    seen = &r->process->statistics.seen;
    d->stats.stats_valid += added(now.valid, seen->valid);
    d->stats.stats_log += added(now.log_events, seen->log_events);
    d->stats.stats_events += added(now.stat_events, seen->stat_events);
    *seen = now;
    r->totals_at = NULL;
}
