/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics. A record is made in private memory and copied out once: one lookup of a window for a call. A
 * buffer that is not mapped any more is not written. Nothing here reads a register.
 */
#include "firmware/stats.h"

#include "firmware/shared.h"

#define NS_PER_US 1000u
#define ENGINE    0u /* the one that runs calls */

void fw_stats_init(struct fw *fw)
{
    fw->stats.engine[ENGINE].type = PR_STATS_ENGINE_NEURAL;
}

/*
 * The engine runs one call at a time, so calls that were on its queues together are busy only from the end of
 * the one before.
 */
static void count_engine(struct fw_engine *engine, const struct fw_call *call, uint64_t now, uint32_t events)
{
    if (call->network)
        engine->busy_ns += now - (call->pushed > engine->ended ? call->pushed : engine->ended);
    engine->ended = now;
    engine->latency_ns += now - call->accepted;
    engine->quad.calls++;
    engine->quad.events += events;
    engine->quad.busy_us = (uint32_t)(engine->busy_ns / NS_PER_US);
    engine->quad.latency_us = (uint32_t)(engine->latency_ns / NS_PER_US);
}

/* The stages that the call has passed; how many. */
static uint32_t list_events(const struct fw_call *call, uint64_t now,
                            struct pr_stats_event event[PR_STATS_EVENT_KINDS])
{
    uint32_t count = 0;

    event[count++] = (struct pr_stats_event){PR_STATS_KIND_ACCEPTED, ENGINE, call->accepted, call->level};
    if (call->network)
        event[count++] = (struct pr_stats_event){PR_STATS_KIND_PUSHED, ENGINE, call->pushed, call->network};
    event[count++] = (struct pr_stats_event){PR_STATS_KIND_ENDED, ENGINE, now, call->status};
    return count;
}

static uint32_t list_logs(const struct fw *fw, const struct fw_call *call, uint64_t now,
                          struct pr_stats_debug log[PR_STATS_LOG_KINDS])
{
    const uint64_t waited = call->network ? call->pushed - call->accepted : 0;
    uint32_t count = 0;

    log[count++] = (struct pr_stats_debug){PR_STATS_KIND_DEPTH, ENGINE, fw->exeloop.active, now};
    if (fw->tunables.switch_ns && waited > fw->tunables.switch_ns)
        log[count++] =
            (struct pr_stats_debug){PR_STATS_KIND_LATE, ENGINE, (uint32_t)(waited / NS_PER_US), call->pushed};
    if (call->status)
        log[count++] = (struct pr_stats_debug){PR_STATS_KIND_FAILED, ENGINE, call->error[0], now};
    return count;
}

/* Adds a part to the record, unless it or one before it does not fit. */
static bool add(struct fw_stats *s, const void *part, uint32_t bytes)
{
    s->full = s->full || bytes > s->room - s->bytes;
    if (s->full)
        return false;
    rt_memcpy(s->record + s->bytes, part, bytes);
    s->bytes += bytes;
    return true;
}

static void add_engines(struct fw_stats *s, uint16_t number)
{
    for (uint32_t i = 0; i < PR_STATS_ENGINES_MAX; i++) {
        const struct fw_engine *engine = &s->engine[i];
        const struct pr_stats_engine descriptor = {
            .id = engine->id, .type = engine->type, .call = number, .index = i, .quad = engine->quad};

        if (engine->type != PR_STATS_ENGINE_ABSENT)
            s->valid += add(s, &descriptor, sizeof(descriptor));
    }
}

/* What the record has room for of one kind of descriptor. */
static void add_all(struct fw_stats *s, const void *parts, uint32_t count, uint32_t bytes)
{
    for (uint32_t i = 0; i < count; i++)
        s->valid += add(s, (const uint8_t *)parts + (size_t)i * bytes, bytes);
}

/* What follows the header, which is made last because it has the length. */
static void add_parts(struct fw *fw, uint16_t number, struct pr_stats_totals *totals)
{
    const struct fw_call *call = &fw->call[number];
    const uint64_t now = rt_port_now(fw->port);
    struct pr_stats_event event[PR_STATS_EVENT_KINDS];
    struct pr_stats_debug log[PR_STATS_LOG_KINDS];
    const uint32_t events = list_events(call, now, event), logs = list_logs(fw, call, now, log);
    struct fw_stats *s = &fw->stats;
    uint8_t *at;

    count_engine(&s->engine[ENGINE], call, now, events);
    totals->log_events += logs;
    totals->stat_events += events;
    add_engines(s, number);
    at = s->record + s->bytes;
    (void)add(s, totals, sizeof(*totals));
    if (fw->exeloop.log_level >= PR_STATS_PROFILE_LEVEL) {
        add_all(s, event, events, sizeof(event[0]));
        add_all(s, log, logs, sizeof(log[0]));
    }
    /* The descriptors behind the totals are counted in them. Without room the word is not copied out. */
    totals->valid += s->valid;
    rt_memcpy(at + offsetof(struct pr_stats_totals, valid), &totals->valid, sizeof(totals->valid));
}

static void add_header(struct fw *fw, const struct fw_call *call)
{
    const struct pr_stats_header header = {.magic = PR_STATS_MAGIC,
                                           .time = rt_port_now(fw->port) - call->accepted,
                                           .program = call->program,
                                           .procedure = call->procedure,
                                           .counter = fw->process[call->process].finished,
                                           .descriptor_bytes = fw->stats.bytes - PR_STATS_HEADER_BYTES};

    rt_memcpy(fw->stats.record, &header, sizeof(header));
}

void fw_stats_write(struct fw *fw, uint16_t number)
{
    const struct fw_call *call = &fw->call[number];
    struct pr_stats_totals *totals = &fw->process[call->process].rebase->statistics.totals;
    struct fw_stats *s = &fw->stats;

    s->room = call->stats_bytes;
    s->bytes = PR_STATS_HEADER_BYTES;
    s->valid = 0;
    s->full = false;
    add_parts(fw, number, totals);
    add_header(fw, call);
    if (!fw_shared_out(fw, call->stats, s->record, s->bytes))
        totals->valid -= s->valid;
}
