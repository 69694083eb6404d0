/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache requests. A handler has the index, the process and how often the index was used before, so that one
 * of an earlier request is never good for a later one.
 */
#include "firmware/cache.h"

#include "base/array.h"
#include "firmware/cacherun.h"
#include "firmware/cacheset.h"
#include "firmware/log.h"
#include "firmware/notify.h"
#include "firmware/rule.h"
#include "protocol/log_line.h"
#include "rtkernel/format.h"
#include "rtkernel/heap.h"

enum cache_event { EVENT_INSTALL, EVENT_INVALIDATE, EVENT_END, EVENTS };
static const char *const state_names[] = {
#define X(id, number, name) [number] = name,
    PR_CACHE_STATES(X)
#undef X
};
static const char *const event_names[] = {"install", "invalidate", "end"};
static const struct rt_fsm_row rows[] = {
    {PR_CACHE_AVAILABLE, EVENT_INSTALL, PR_CACHE_IN_USE, NULL},
    {PR_CACHE_IN_USE, EVENT_INVALIDATE, PR_CACHE_INVALIDATING, NULL},
    {PR_CACHE_INVALIDATING, EVENT_END, PR_CACHE_AVAILABLE, NULL},
};
static const struct rt_fsm_table table = {
    .name = "cache request",
    .state_names = state_names,
    .event_names = event_names,
    .states = PR_CACHE_STATE_COUNT,
    .events = EVENTS,
    .first = PR_CACHE_AVAILABLE,
    .strict = RT_FSM_STRICT,
    .rows = rows,
    .row_count = BASE_COUNT_OF(rows),
};

#define INDEX_BITS 8u
_Static_assert(PR_CACHE_REQUESTS_MAX < 1u << INDEX_BITS && PR_PROCESSES_MAX < 1u << 16, "a handler has both");

void fw_cache_init(struct fw *fw)
{
    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++)
        rt_fsm_init(&fw->cache.request[i].machine, fw->kernel, &table, &fw->cache.request[i]);
    fw_cacherun_init(fw);
}

struct fw_cache_request *fw_cache_find(struct fw *fw, uint64_t handler)
{
    const uint64_t index = (handler & ((1u << INDEX_BITS) - 1)) - 1;

    if (index >= PR_CACHE_REQUESTS_MAX || fw->cache.request[index].handler != handler)
        return NULL;
    return &fw->cache.request[index];
}

/* The source of a link, while it lives. */
static const struct fw_cache_request *source_of(struct fw *fw, const struct fw_cache_request *request,
                                                const struct pr_cache_link *link)
{
    return link->source ? fw_cache_find(fw, link->source) : request;
}

void fw_cache_begin(struct fw *fw, struct fw_cache_request *request)
{
    struct fw_cache_request *group = fw_cache_group(fw, request);
    const unsigned index = fw_cache_index(fw, request);

    request->generation++;
    request->handler =
        (uint64_t)request->generation << 32 | (uint64_t)request->process << INDEX_BITS | (index + 1);
    rt_fsm_post(&request->machine, EVENT_INSTALL, 0);
    group->members += group != request;
    for (unsigned i = 0; i < request->links; i++)
        fw_cache_group(fw, source_of(fw, request, &request->link[i]))->linked++;
    fw->process[request->process].requests++;
    fw_log(fw, RT_LOG_INFO, PR_LINE_CACHE_HANDLER, (unsigned long long)request->handler);
}

static void post_end(struct fw *fw, const struct fw_cache_request *request)
{
    const struct pr_notify_chaining message = {.head.id = PR_CMD_DATA_CHAINING_EVENT,
                                               .cache_handler = request->handler,
                                               .timestamp = request->timestamp,
                                               .set = PR_NO_ID,
                                               .state = PR_CACHE_AVAILABLE};

    fw_notify_post_awaited(fw, &message, sizeof(message));
}

/* One link less reads the group: without any, it lets go of its latest output. */
static void drop_link(struct fw *fw, struct fw_cache_request *group)
{
    if (!--group->linked)
        fw_cacherun_forget(fw, group);
}

/* Links of others that name a member: they bring nothing any more. */
static void drop_readers(struct fw *fw, const struct fw_cache_request *member)
{
    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++) {
        const struct fw_cache_request *reader = &fw->cache.request[i];

        for (unsigned k = 0; reader != member && reader->handler && k < reader->links; k++)
            if (reader->link[k].source == member->handler)
                drop_link(fw, fw_cache_group(fw, member));
    }
}

/* What it has of others, and others of it, goes first. */
static void end(struct fw *fw, struct fw_cache_request *request)
{
    struct fw_cache_request *group = fw_cache_group(fw, request);

    for (unsigned i = 0; i < request->links; i++) {
        const struct fw_cache_request *source = source_of(fw, request, &request->link[i]);

        if (source)
            drop_link(fw, fw_cache_group(fw, source));
    }
    if (group != request)
        drop_readers(fw, request);
    rt_heap_free(fw->kernel, request->bar);
    request->handler = 0;
    fw->process[request->process].requests--;
    rt_fsm_post(&request->machine, EVENT_END, 0);
    if (group == request)
        return;
    group->members--;
    fw_cache_settle(fw, group);
}

void fw_cache_settle(struct fw *fw, struct fw_cache_request *request)
{
    if (fw_cache_state(request) != PR_CACHE_INVALIDATING || request->busy || request->members)
        return;
    if (request->announce) {
        /* after the events of its executions, and never lost */
        if (fw->cache.events.head != FW_NO_EXECUTION || fw->notify.count >= FW_NOTIFICATIONS) {
            fw->cache.ending = true;
            return;
        }
        post_end(fw, request);
    }
    end(fw, request);
}

/*
 * Whatever waits ends here. `busy` is raised meanwhile, so that the request ends at one place: here, or,
 * when something of it is on the engine, later and with an event.
 */
static void invalidate(struct fw *fw, struct fw_cache_request *request)
{
    const unsigned index = fw_cache_index(fw, request);

    if (!fw_cache_in_use(request))
        return;
    request->busy++;
    request->announce = false;
    rt_fsm_post(&request->machine, EVENT_INVALIDATE, 0);
    if (fw_cache_group(fw, request)->active == index)
        fw_cache_group(fw, request)->active = request->first;
    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++)
        if (i != index && fw->cache.request[i].handler && fw->cache.request[i].first == index)
            invalidate(fw, &fw->cache.request[i]);
    fw_cacherun_abort(fw, request);
    request->busy--;
    fw_cache_settle(fw, request);
    request->announce = true;
}

void fw_cache_invalidate_all(struct fw *fw, uint32_t process)
{
    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++)
        if (process == PR_NO_ID || fw->cache.request[i].process == process)
            invalidate(fw, &fw->cache.request[i]);
}

bool fw_cache_has_events(const struct fw *fw)
{
    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++)
        if (fw->cache.request[i].handler && fw->cache.request[i].waits + fw->cache.request[i].signals)
            return true;
    return false;
}

enum pr_status fw_cache_invalidate(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_cache_invalidate *arguments = body;
    struct fw_cache_request *request = fw_cache_find(fw, arguments->cache_handler);
    enum pr_status status =
        fw_rule(fw, PR_RULE_CACHE_STATE,
                request && fw_cache_in_use(request) && request->process == header->process_id,
                arguments->cache_handler);

    if (!status)
        status = fw_rule(fw, PR_RULE_CACHE_FLAGS, !arguments->zero, arguments->zero);
    if (status)
        return status;
    invalidate(fw, request);
    arguments->in_flight = 0;
    if (fw_cache_state(request) != PR_CACHE_AVAILABLE)
        arguments->in_flight = request->outstanding ? request->outstanding : 1;
    return PR_STATUS_OK;
}

enum pr_status fw_cache_force_disable(struct fw *fw, struct pr_command_header *header, void *body)
{
    const uint32_t value = ((const struct pr_body_u32 *)body)->value;
    const enum pr_status status = fw_rule(fw, PR_RULE_CACHE_DISABLE_TRUE, value == 1, value);

    (void)header;
    if (status)
        return status;
    fw->cache.disabled = true;
    fw_cache_invalidate_all(fw, PR_NO_ID);
    return PR_STATUS_OK;
}

enum pr_status fw_cache_select(struct fw *fw, uint64_t length)
{
    const struct pr_cache_active *message = (const void *)fw->exeloop.message;
    struct fw_cache_request *group, *active;
    enum pr_status status = fw_rule(fw, PR_RULE_CALL_SIZE, length == sizeof(*message), length);

    if (status)
        return status;
    group = fw_cache_find(fw, message->group);
    active = fw_cache_find(fw, message->active);
    status = fw_rule(fw, PR_RULE_CACHE_STATE, group && fw_cache_in_use(group), message->group);
    if (!status)
        status = fw_rule(fw, PR_RULE_CACHE_STATE, active && fw_cache_in_use(active), message->active);
    if (!status)
        status = fw_rule(fw, PR_RULE_CACHE_GROUP,
                         fw_cache_group(fw, group) == group && fw_cache_group(fw, active) == group,
                         message->active);
    if (!status)
        group->active = (uint8_t)fw_cache_index(fw, active);
    return status;
}

/* ---- report ---- */

/* Buffers of a pool that a process has rebased. */
static unsigned count_pool(const struct fw *fw, uint32_t process, uint32_t pool)
{
    const struct fw_rebase *rebase = fw->process[process].rebase;
    unsigned count = 0;

    for (unsigned i = 0; i < FW_REBASE_SETS; i++)
        for (unsigned j = 0; j < FW_REBASE_WAYS; j++)
            count += rebase->cache[i][j].bytes && rebase->cache[i][j].pool == pool;
    return count;
}

static unsigned count_waiting(const struct fw *fw, const struct fw_cache_request *group)
{
    unsigned count = 0;

    for (uint16_t n = group->waiting.head; n != FW_NO_EXECUTION && count < FW_EXECUTIONS;
         n = fw->cache.execution[n].next)
        count++;
    return count;
}

static void group_text(const struct fw *fw, struct rt_lines *lines, const struct fw_cache_request *group)
{
    rt_format_line(lines, "  group: %u members, active 0x%llx, %u sets, %u available, %u triggers wait",
                   group->members + 1u, (unsigned long long)fw->cache.request[group->active].handler,
                   group->sets, group->available, count_waiting(fw, group));
    rt_format_line(lines, "  pool %u: %u buffers", group->pool, count_pool(fw, group->process, group->pool));
}

size_t fw_cache_text(struct fw *fw, char *text, size_t bytes)
{
    struct rt_lines lines = {.text = text, .bytes = bytes};

    rt_format_line(&lines, "cache requests %s; %llu executions, %llu triggers dropped",
                   fw->cache.disabled ? "disabled" : "enabled", (unsigned long long)fw->cache.ended,
                   (unsigned long long)fw->cache.dropped);
    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++) {
        const struct fw_cache_request *r = &fw->cache.request[i];

        if (!r->handler)
            continue;
        rt_format_line(
            &lines, "request %u 0x%llx %s: process %u procedure %u priority %u, %llu ended, %llu failed", i,
            (unsigned long long)r->handler, rt_fsm_state_name(&r->machine), r->process, r->procedure,
            r->priority, (unsigned long long)r->ended, (unsigned long long)r->failed);
        if (r->first == i)
            group_text(fw, &lines, r);
    }
    return lines.length;
}
