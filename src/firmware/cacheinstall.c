/* SPDX-License-Identifier: Apache-2.0 */
/* Installing a cache request. Nothing is changed before every check has passed. */
#include "firmware/cacheinstall.h"

#include "firmware/bars.h"
#include "firmware/cache.h"
#include "firmware/cacheset.h"
#include "firmware/call.h"
#include "firmware/event.h"
#include "firmware/log.h"
#include "firmware/order.h"
#include "firmware/rule.h"
#include "rtkernel/heap.h"
#include "rtkernel/memory.h"

/* A command whose size has been checked. */
struct install {
    const struct pr_command_header *header;
    const struct pr_body_cache_install *body;
    const struct pr_custom_bar *bar;
    const struct pr_event *event;
    struct fw_cache_request *request, *group; /* group: of another's */
};

/* The counts of a form and the bytes they need. */
static enum pr_status check_counts(struct fw *fw, const struct pr_command_header *header,
                                   const struct pr_body_cache_install *body)
{
    const uint64_t events = (uint64_t)body->wait_events + body->signal_events;
    enum pr_status status = fw_rule(fw, PR_RULE_CACHE_LINK, body->links <= PR_CACHE_LINKS_MAX, body->links);

    if (!status)
        status = fw_rule(
            fw, PR_RULE_CUSTOM_BARS,
            body->custom_bars <=
                (header->id == PR_CMD_PROCEDURE_CALL_CACHE_REQUEST_WITH_CUSTOM_BARS ? PR_CUSTOM_BARS_MAX : 0),
            body->custom_bars);
    if (status)
        return status;
    if (header->id == PR_CMD_PROCEDURE_CALL_CACHE_REQUEST_WITH_SHARED_EVENTS) {
        status = fw_rule(fw, PR_RULE_WAIT_EVENTS, body->wait_events <= PR_WAIT_EVENTS_MAX, body->wait_events);
        if (!status)
            status = fw_rule(fw, PR_RULE_SIGNAL_EVENTS, body->signal_events <= PR_SIGNAL_EVENTS_MAX,
                             body->signal_events);
        if (!status)
            status = fw_rule(fw, PR_RULE_EVENTS, events, events);
    } else {
        status = fw_rule(fw, PR_RULE_WAIT_EVENTS, !events, events);
    }
    if (status)
        return status;
    return fw_rule(fw, PR_RULE_CALL_SIZE,
                   header->size == PR_CACHE_INSTALL_BYTES(body->links, body->custom_bars, events),
                   header->size);
}

static enum pr_status check_shape(struct fw *fw, const struct pr_body_cache_install *body)
{
    enum pr_status status = fw_rule(fw, PR_RULE_CACHE_DISABLED, !fw->cache.disabled, 1);

    if (!status)
        status = fw_rule(fw, PR_RULE_CACHE_SETS, body->output_sets && body->output_sets <= PR_CACHE_SETS_MAX,
                         body->output_sets);
    if (!status)
        status = fw_rule(fw, PR_RULE_CACHE_PARTITIONS, body->partitions == 1, body->partitions);
    if (!status)
        status = fw_rule(fw, PR_RULE_CACHE_REQUESTS, body->requests == 1, body->requests);
    return status ? status
                  : fw_rule(fw, PR_RULE_CACHE_FLAGS, !(body->flags & ~PR_CACHE_FLAGS) && !body->zero,
                            body->flags | body->zero);
}

static enum pr_status check_target(struct fw *fw, const struct pr_command_header *header)
{
    enum pr_status status = fw_call_target(fw, header->program_id, header->process_id, header->procedure_id);
    uint32_t content;

    if (status)
        return status;
    content = fw->program[header->program_id]->container.procedure[header->procedure_id].content;
    return fw_rule(fw, PR_RULE_CONTENT_TYPE_CACHE, content == 0 || content == 3, content);
}

/* A request in use of the same process, or NULL. */
static struct fw_cache_request *find_own(struct fw *fw, uint64_t handler, uint32_t process)
{
    struct fw_cache_request *request = fw_cache_find(fw, handler);

    return request && fw_cache_in_use(request) && request->process == process ? request : NULL;
}

/* ---- inputs and outputs ---- */

static bool has(const uint16_t *list, unsigned count, uint32_t index)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i] == index)
            return true;
    return false;
}

/* The buffers of the procedure that a call binds, each once; not those of BARs that the request sets. */
static void list_buffers(struct fw *fw, struct fw_cache_request *request)
{
    const struct fw_process *process = &fw->process[request->process];
    const struct fw_program *program = fw->program[process->program];
    const struct pr_container *container = &program->container;
    const struct pr_operation *operation =
        &container->operation[container->procedure[request->procedure].operation];

    request->inputs = request->outputs = 0;
    for (uint32_t i = 0; i < operation->bars; i++) {
        const uint32_t index = operation->bar[i].buffer;
        const uint16_t place = program->place[index];
        const bool output = container->buffer[place].type == PR_BUFFER_OUT;

        if (fw->exeloop.custom >> operation->bar[i].bar & 1 || process->rebase->own[place] ||
            has(request->input, request->inputs, index) || has(request->output, request->outputs, index))
            continue;
        if (output)
            request->output[request->outputs++] = (uint16_t)index;
        else
            request->input[request->inputs++] = (uint16_t)index;
    }
}

static uint64_t bytes_of(const struct fw_program *program, uint32_t index)
{
    return program->container.buffer[program->place[index]].bytes;
}

static bool same_outputs(const struct fw_cache_request *a, const struct fw_cache_request *b)
{
    for (unsigned i = 0; i < a->outputs; i++)
        if (!has(b->output, b->outputs, a->output[i]))
            return false;
    return a->outputs == b->outputs;
}

static bool alike_outputs(const struct fw_program *program, const struct fw_cache_request *a,
                          const struct fw_cache_request *b)
{
    for (unsigned i = 0; a->outputs == b->outputs && i < a->outputs; i++)
        if (bytes_of(program, a->output[i]) != bytes_of(program, b->output[i]))
            return false;
    return a->outputs == b->outputs;
}

static enum pr_status check_group(struct fw *fw, struct install *install)
{
    const uint64_t handler = install->body->group;
    struct fw_cache_request *group;

    install->group = NULL;
    install->request->own_outputs = false;
    if (!handler)
        return PR_STATUS_OK;
    group = find_own(fw, handler, install->header->process_id);
    install->group = group;
    if (group)
        install->request->own_outputs = !same_outputs(group, install->request);
    return fw_rule(fw, PR_RULE_CACHE_GROUP,
                   group && fw_cache_group(fw, group) == group && group->sets == install->body->output_sets &&
                       (!install->request->own_outputs ||
                        alike_outputs(fw->program[install->header->program_id], group, install->request)),
                   handler);
}

/* The buffer of the group's sets that a link of the source names, by either name; PR_NO_ID: there is none. */
static uint32_t set_buffer(const struct fw_cache_request *group, const struct fw_cache_request *source,
                           uint32_t output)
{
    if (has(group->output, group->outputs, output))
        return output;
    for (unsigned i = 0; i < group->outputs; i++)
        if (fw_cache_output(group, source, i) == output)
            return group->output[i];
    return PR_NO_ID;
}

/* A link of a new request, which is kept; `i` of them came before it. */
static bool take_link(struct fw *fw, const struct install *install, uint32_t i)
{
    const struct pr_cache_link *link = &install->body->link[i];
    const struct fw_program *program = fw->program[install->header->program_id];
    const struct fw_cache_request *source = install->request, *group = install->group;
    uint32_t output;

    if (link->source) {
        source = find_own(fw, link->source, install->header->process_id);
        if (!source)
            return false;
        group = fw_cache_group(fw, source);
    }
    output = set_buffer(group ? group : source, source, link->output);
    for (uint32_t j = 0; j < i; j++)
        if (install->body->link[j].input == link->input)
            return false;
    install->request->link[i] = (struct pr_cache_link){link->source, output, link->input};
    return output != PR_NO_ID && has(install->request->input, install->request->inputs, link->input) &&
           bytes_of(program, output) >= bytes_of(program, link->input);
}

static enum pr_status check_links(struct fw *fw, const struct install *install)
{
    const struct pr_body_cache_install *body = install->body;
    enum pr_status status = PR_STATUS_OK;

    for (uint32_t i = 0; !status && i < body->links; i++)
        status = fw_rule(fw, PR_RULE_CACHE_LINK, take_link(fw, install, i), i);
    if (!status && body->follow)
        status = fw_rule(fw, PR_RULE_CACHE_FOLLOW,
                         find_own(fw, body->follow, install->header->process_id) != NULL, body->follow);
    return status;
}

static enum pr_status check_events(struct fw *fw, const struct install *install)
{
    const uint32_t waits = install->body->wait_events, count = waits + install->body->signal_events;
    enum pr_status status = fw_event_check_shared(fw, install->event, count);

    for (uint32_t i = 0; !status && i < count; i++)
        status = fw_event_check(fw, &install->event[i], i >= waits);
    return status;
}

/* ---- the request ---- */

/* The lowest index that is available, or NULL: `0 <= cacheReqIdx < maxCacheRequest`. */
static struct fw_cache_request *find_free(struct fw *fw)
{
    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++)
        if (fw_cache_state(&fw->cache.request[i]) == PR_CACHE_AVAILABLE)
            return &fw->cache.request[i];
    return NULL;
}

/* What is known before the checks of links and groups; the rest of an available request has no meaning. */
static void describe(struct fw *fw, const struct install *install)
{
    struct fw_cache_request *request = install->request;

    request->process = (uint16_t)install->header->process_id;
    request->procedure = install->header->procedure_id;
    request->priority = install->header->priority;
    list_buffers(fw, request);
}

/* Leaves the bars in exeloop, where the checks that follow see which BARs the request sets. */
static enum pr_status check_bars(struct fw *fw, const struct install *install)
{
    fw_call_unbind(fw);
    fw_order_own(fw, install->header->procedure_id, 1);
    return fw_bars_bind(fw, fw->program[install->header->program_id], install->bar,
                        install->body->custom_bars);
}

static enum pr_status check(struct fw *fw, struct install *install)
{
    enum pr_status status = check_shape(fw, install->body);

    if (!status)
        status = check_target(fw, install->header);
    if (!status)
        status = check_bars(fw, install);
    if (status)
        return status;
    install->request = find_free(fw);
    if (!install->request)
        return fw_rule_broken(fw, PR_RULE_CACHE_INDEX, PR_CACHE_REQUESTS_MAX);
    describe(fw, install);
    status = check_group(fw, install);
    if (!status)
        status = check_links(fw, install);
    return status ? status : check_events(fw, install);
}

/* Bars, events and, of a first member, the buffers of the sets, in one block. */
static bool make_block(struct fw *fw, const struct install *install)
{
    const struct pr_body_cache_install *body = install->body;
    const uint32_t events = body->wait_events + body->signal_events;
    const size_t bars = body->custom_bars * sizeof(struct pr_custom_bar),
                 event_bytes = events * sizeof(struct pr_event),
                 buffers = install->group
                               ? 0
                               : body->output_sets * install->request->outputs * sizeof(struct pr_buffer);
    struct fw_cache_request *request = install->request;

    request->bar = rt_heap_alloc(fw->kernel, RT_ARENA_SYSTEM, bars + event_bytes + buffers + 1);
    if (!request->bar)
        return false;
    request->event = (void *)((uint8_t *)request->bar + bars);
    request->buffer = (void *)((uint8_t *)request->event + event_bytes);
    rt_memcpy(request->bar, install->bar, bars);
    rt_memcpy(request->event, install->event, event_bytes);
    return true;
}

static void fill(struct fw *fw, const struct install *install)
{
    const struct pr_body_cache_install *body = install->body;
    struct fw_cache_request *request = install->request;
    const uint8_t index = (uint8_t)fw_cache_index(fw, request);

    request->follow = body->follow;
    request->timestamp = 0;
    request->flags = body->flags;
    request->outstanding = request->busy = 0;
    request->ended = request->failed = request->dropped = 0;
    request->links = (uint8_t)body->links;
    request->bars = body->custom_bars;
    request->waits = body->wait_events;
    request->signals = body->signal_events;
    request->first = install->group ? install->group->first : index;
    request->active = index;
    request->members = 0;
    request->sets = (uint8_t)body->output_sets;
    request->pool = body->pool;
    request->linked = 0;
    request->latest = FW_NO_EXECUTION;
    request->waiting = (struct fw_list){FW_NO_EXECUTION, FW_NO_EXECUTION};
    fw_cacheset_init(fw, request);
}

enum pr_status fw_cacheinstall_run(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_cache_install *command = body;
    struct install install = {.header = header, .body = command};
    enum pr_status status = check_counts(fw, header, command);

    if (status)
        return status;
    /* one of them is there, at most */
    install.bar = (const void *)&command->link[command->links];
    install.event = (const void *)&command->link[command->links];
    status = check(fw, &install);
    if (status)
        return status;
    if (!make_block(fw, &install)) {
        fw_log(fw, RT_LOG_WARNING, "a cache request is refused: the system arena has no room for its %u sets",
               command->output_sets);
        return PR_STATUS_NO_RESOURCES;
    }
    fill(fw, &install);
    fw_cache_begin(fw, install.request);
    command->cache_handler = install.request->handler;
    return PR_STATUS_OK;
}
