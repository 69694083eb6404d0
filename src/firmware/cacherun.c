/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions. A group's executions start in the order of their triggers, each with the oldest available set,
 * when every output that links bring to it is there. Ending one changes only state; what may start after
 * that does so when the loop goes on.
 */
#include "firmware/cacherun.h"

#include "firmware/cache.h"
#include "firmware/cacheset.h"
#include "firmware/call.h"
#include "firmware/exeloop.h"
#include "firmware/log.h"
#include "firmware/notify.h"
#include "firmware/rebase.h"
#include "firmware/retained.h"
#include "firmware/rule.h"
#include "firmware/shared.h"
#include "protocol/log_line.h"

static struct fw_execution *execution_at(struct fw *fw, uint16_t number)
{
    return &fw->cache.execution[number];
}

static struct fw_cache_request *request_of(struct fw *fw, const struct fw_execution *x)
{
    return &fw->cache.request[x->request];
}

static uint16_t number_of(const struct fw *fw, const struct fw_execution *x)
{
    return (uint16_t)(x - fw->cache.execution);
}

/* ---- lists ---- */

static void put(struct fw *fw, struct fw_list *list, uint16_t number)
{
    fw->cache.execution[number].next = FW_NO_EXECUTION;
    if (list->head == FW_NO_EXECUTION)
        list->head = number;
    else
        fw->cache.execution[list->tail].next = number;
    list->tail = number;
}

static uint16_t take(struct fw *fw, struct fw_list *list)
{
    const uint16_t number = list->head;

    if (number != FW_NO_EXECUTION)
        list->head = fw->cache.execution[number].next;
    return number;
}

static void take_out(struct fw *fw, struct fw_list *list, uint16_t number)
{
    uint16_t previous = FW_NO_EXECUTION, at = list->head;

    for (; at != number; at = fw->cache.execution[at].next)
        previous = at;
    if (previous == FW_NO_EXECUTION)
        list->head = fw->cache.execution[at].next;
    else
        fw->cache.execution[previous].next = fw->cache.execution[at].next;
    if (list->tail == number)
        list->tail = previous;
}

void fw_cacherun_init(struct fw *fw)
{
    fw->cache.free = fw->cache.events = (struct fw_list){FW_NO_EXECUTION, FW_NO_EXECUTION};
    for (uint16_t i = 0; i < FW_EXECUTIONS; i++)
        put(fw, &fw->cache.free, i);
}

/* ---- references ---- */

static void release(struct fw *fw, struct fw_execution *x)
{
    put(fw, &fw->cache.free, number_of(fw, x));
}

/* No execution reads its set any more: the firmware recycles it, or it is the host's. */
static void release_set(struct fw *fw, const struct fw_execution *x)
{
    const struct fw_cache_request *request = request_of(fw, x);
    struct fw_cache_request *group = fw_cache_group(fw, request);

    if (x->set == FW_NO_SET)
        return;
    group->set[x->set].execution = FW_NO_EXECUTION;
    if (x->state == FW_EXECUTION_ENDED && request->flags & PR_CACHE_AUTO_RECYCLE && fw_cache_in_use(group))
        fw_cacheset_return(fw, group, x->set);
}

static void drop(struct fw *fw, uint16_t number)
{
    struct fw_execution *x = execution_at(fw, number);
    struct fw_cache_request *request = request_of(fw, x);

    if (--x->references)
        return;
    release_set(fw, x);
    request->busy--;
    if (x->reported)
        release(fw, x);
    fw_cache_settle(fw, request);
}

static void drop_sources(struct fw *fw, struct fw_execution *x)
{
    for (unsigned i = 0; i < PR_CACHE_LINKS_MAX; i++) {
        const uint16_t source = x->source[i];

        x->source[i] = FW_NO_EXECUTION;
        if (source != FW_NO_EXECUTION)
            drop(fw, source);
    }
}

void fw_cacherun_forget(struct fw *fw, struct fw_cache_request *group)
{
    const uint16_t latest = group->latest;

    group->latest = FW_NO_EXECUTION;
    if (latest != FW_NO_EXECUTION)
        drop(fw, latest);
}

/* ---- ends ---- */

/* The state of the request that an event names: of a handler that is not live, AVAILABLE. */
static enum pr_cache_state state_now(struct fw *fw, uint64_t handler)
{
    const struct fw_cache_request *request = fw_cache_find(fw, handler);

    return request ? fw_cache_state(request) : PR_CACHE_AVAILABLE;
}

static void post(struct fw *fw, const struct fw_execution *x)
{
    const struct pr_notify_chaining message = {.head.id = PR_CMD_DATA_CHAINING_EVENT,
                                               .cache_handler = x->handler,
                                               .timestamp = x->timestamp,
                                               .cookie = x->cookie,
                                               .set = x->set == FW_NO_SET ? PR_NO_ID : x->set,
                                               .status = x->status,
                                               .state = state_now(fw, x->handler),
                                               .detail = x->detail};

    fw_notify_post(fw, &message, sizeof(message));
}

void fw_cacherun_report(struct fw *fw)
{
    struct fw_cache *c = &fw->cache;

    while (c->events.head != FW_NO_EXECUTION && fw->notify.count < FW_NOTIFICATIONS) {
        struct fw_execution *x = execution_at(fw, take(fw, &c->events));

        post(fw, x);
        x->reported = true;
        if (!x->references)
            release(fw, x);
    }
    if (!c->ending || c->events.head != FW_NO_EXECUTION)
        return;
    c->ending = false;
    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++)
        fw_cache_settle(fw, &c->request[i]);
}

/* An execution leaves the queue or the engine: its event, and what it read. Its own reference goes last. */
static void finish(struct fw *fw, struct fw_execution *x, enum pr_status status)
{
    struct fw_cache_request *request = request_of(fw, x), *group = fw_cache_group(fw, request);
    const uint16_t number = number_of(fw, x);

    x->state = status ? FW_EXECUTION_FAILED : FW_EXECUTION_ENDED;
    x->status = (uint8_t)status;
    request->outstanding--;
    request->ended++;
    request->failed += status != PR_STATUS_OK;
    fw->cache.ended++;
    fw->cache.wanted = true;
    x->reported = !status && request->flags & PR_CACHE_QUIET;
    if (!x->reported)
        put(fw, &fw->cache.events, number);
    drop_sources(fw, x);
    if (status && group->latest == number)
        fw_cacherun_forget(fw, group);
    drop(fw, number);
}

/* An execution that has not reached the engine. */
static void cancel(struct fw *fw, struct fw_execution *x, enum pr_status status)
{
    fw_retained_end(fw, x->ticket, status);
    finish(fw, x, status);
}

static bool reads_failed(struct fw *fw, const struct fw_execution *x)
{
    for (unsigned i = 0; i < PR_CACHE_LINKS_MAX; i++)
        if (x->source[i] != FW_NO_EXECUTION && execution_at(fw, x->source[i])->state == FW_EXECUTION_FAILED)
            return true;
    return false;
}

static bool reads_group(struct fw *fw, const struct fw_execution *x, const struct fw_cache_request *group)
{
    for (unsigned i = 0; i < PR_CACHE_LINKS_MAX; i++)
        if (x->source[i] != FW_NO_EXECUTION &&
            fw_cache_group(fw, request_of(fw, execution_at(fw, x->source[i]))) == group)
            return true;
    return false;
}

/* The next execution that must not run: of the request, or reading its group, or reading what has failed. */
static struct fw_execution *find_lost(struct fw *fw, const struct fw_cache_request *request)
{
    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++) {
        const struct fw_cache_request *group = &fw->cache.request[i];

        if (!group->handler || group->first != i)
            continue;
        for (uint16_t n = group->waiting.head; n != FW_NO_EXECUTION; n = execution_at(fw, n)->next) {
            struct fw_execution *x = execution_at(fw, n);

            if (reads_failed(fw, x) || (request && request_of(fw, x) == request) ||
                (request && fw_cache_group(fw, request) == request && reads_group(fw, x, request)))
                return x;
        }
    }
    return NULL;
}

/* One execution at a time, because each may be what others read. */
static void cancel_lost(struct fw *fw, const struct fw_cache_request *request)
{
    struct fw_execution *x;

    while ((x = find_lost(fw, request)) != NULL) {
        take_out(fw, &fw_cache_group(fw, request_of(fw, x))->waiting, number_of(fw, x));
        cancel(fw, x, PR_STATUS_ABORTED);
    }
}

void fw_cacherun_abort(struct fw *fw, struct fw_cache_request *request)
{
    cancel_lost(fw, request);
    if (fw_cache_group(fw, request) == request)
        fw_cacherun_forget(fw, request);
}

/* ---- triggers ---- */

struct trigger {
    uint64_t timestamp, cookie;
    uint32_t ticket;
};

/* The execution whose output a link brings: that which has just ended, for what follows it. */
static uint16_t source_of(struct fw *fw, const struct fw_cache_request *request,
                          const struct pr_cache_link *link, const struct fw_execution *before)
{
    const struct fw_cache_request *source = link->source ? fw_cache_find(fw, link->source) : request, *group;

    if (!source || !fw_cache_in_use(source))
        return FW_NO_EXECUTION;
    group = fw_cache_group(fw, source);
    if (before && fw_cache_group(fw, request_of(fw, before)) == group)
        return number_of(fw, before);
    return group->latest;
}

static int input_place(const struct fw_cache_request *request, uint32_t index)
{
    for (int i = 0; i < request->inputs; i++)
        if (request->input[i] == index)
            return i;
    return -1;
}

/* A buffer of the trigger; `seen` gets a bit per input. */
static enum pr_status take_input(struct fw *fw, const struct fw_cache_request *request,
                                 const struct pr_buffer *buffer, struct fw_chained *input, uint32_t *seen)
{
    const int place = input_place(request, buffer->index);
    const char *wrong;
    enum pr_status status =
        fw_rule(fw, PR_RULE_TRIGGER_BUFFERS, place >= 0 && !(*seen >> place & 1), buffer->index);

    if (!status)
        status = fw_rule(fw, PR_RULE_BUFFER_HIGH, !(buffer->address >> 32), buffer->address);
    if (status)
        return status;
    wrong = fw_rebase_wrong(fw->program[fw->process[request->process].program], buffer);
    if (wrong) {
        fw_log(fw, RT_LOG_WARNING, "input %u of a trigger, 0x%llx bytes at 0x%llx, %s", buffer->index,
               (unsigned long long)buffer->bytes, (unsigned long long)buffer->address, wrong);
        return PR_STATUS_BAD_ARGUMENT;
    }
    *seen |= 1u << place;
    *input = (struct fw_chained){buffer->index, buffer->valid, buffer->address, buffer->bytes};
    return PR_STATUS_OK;
}

/* The inputs that the trigger has not, by links. */
static enum pr_status take_links(struct fw *fw, const struct fw_cache_request *request,
                                 struct fw_execution *x, const struct fw_execution *before, uint32_t seen)
{
    for (unsigned i = 0; i < request->links; i++) {
        const int place = input_place(request, request->link[i].input);

        if (seen >> place & 1)
            continue;
        x->source[i] = source_of(fw, request, &request->link[i], before);
        if (x->source[i] != FW_NO_EXECUTION)
            seen |= 1u << place;
    }
    for (unsigned i = 0; i < request->inputs; i++) {
        enum pr_status status = fw_rule(fw, PR_RULE_TRIGGER_BUFFERS, seen >> i & 1, request->input[i]);

        if (status)
            return status;
    }
    return PR_STATUS_OK;
}

/* The sources get their references, and links find this execution from here on. */
static void enter(struct fw *fw, struct fw_cache_request *request, struct fw_execution *x)
{
    struct fw_cache_request *group = fw_cache_group(fw, request);

    for (unsigned i = 0; i < PR_CACHE_LINKS_MAX; i++)
        if (x->source[i] != FW_NO_EXECUTION)
            execution_at(fw, x->source[i])->references++;
    x->references = 1;
    request->timestamp = x->timestamp;
    request->outstanding++;
    request->busy++;
    if (group->linked) {
        fw_cacherun_forget(fw, group);
        group->latest = number_of(fw, x);
        x->references++;
    }
    put(fw, &group->waiting, number_of(fw, x));
    fw->cache.wanted = true;
}

/* A trigger of a request that is in use; `before` is what it follows, or NULL. */
static enum pr_status accept(struct fw *fw, struct fw_cache_request *request, const struct trigger *what,
                             const struct pr_buffer *buffer, uint32_t buffers,
                             const struct fw_execution *before)
{
    struct fw_execution *x;
    enum pr_status status;
    uint32_t seen = 0;

    status = fw_rule(fw, PR_RULE_TRIGGER_TIME, request->timestamp < what->timestamp, what->timestamp);
    if (!status)
        status = fw_rule(fw, PR_RULE_IN_FLIGHT,
                         request->outstanding < PR_IN_FLIGHT_MAX && fw->cache.free.head != FW_NO_EXECUTION,
                         request->outstanding);
    if (status)
        return status;
    x = execution_at(fw, fw->cache.free.head);
    *x = (struct fw_execution){.handler = request->handler,
                               .timestamp = what->timestamp,
                               .cookie = what->cookie,
                               .ticket = what->ticket,
                               .next = x->next,
                               .request = (uint8_t)fw_cache_index(fw, request),
                               .state = FW_EXECUTION_WAITING,
                               .set = FW_NO_SET,
                               .inputs = (uint8_t)buffers};
    rt_memset(x->source, 0xff, sizeof(x->source));
    for (uint32_t i = 0; !status && i < buffers; i++)
        status = take_input(fw, request, &buffer[i], &x->input[i], &seen);
    if (!status)
        status = take_links(fw, request, x, before, seen);
    if (status)
        return status;
    (void)take(fw, &fw->cache.free);
    enter(fw, request, x);
    return PR_STATUS_OK;
}

static enum pr_status check_head(struct fw *fw, const struct pr_cache_trigger *message, uint64_t length)
{
    enum pr_status status =
        fw_rule(fw, PR_RULE_CALL_SIZE, length >= offsetof(struct pr_cache_trigger, buffer), length);

    if (!status)
        status =
            fw_rule(fw, PR_RULE_TRIGGER_INPUTS, message->buffers <= PR_TRIGGER_INPUTS_MAX, message->buffers);
    return status
               ? status
               : fw_rule(fw, PR_RULE_CALL_SIZE, length == PR_CACHE_TRIGGER_BYTES(message->buffers), length);
}

/*
 * The request that a trigger of the handler runs; NULL, with the line that the seeds quote, when there is
 * none: the trigger is dropped.
 */
static struct fw_cache_request *find_target(struct fw *fw, uint64_t handler)
{
    struct fw_cache_request *request = fw_cache_find(fw, handler), *group;

    if (request && fw_cache_in_use(request)) {
        group = fw_cache_group(fw, request);
        if (group == request || group->active == fw_cache_index(fw, request))
            return &fw->cache.request[group->active];
        request->dropped++;
    }
    fw->cache.dropped++;
    fw->count[FW_DROPPED]++;
    fw->broken[PR_RULE_CACHE_STATE]++;
    fw_log(fw, RT_LOG_WARNING, PR_LINE_TRIGGER_DROPPED, (unsigned long long)handler,
           request ? (int)fw_cache_state(request) : (int)PR_CACHE_AVAILABLE);
    return NULL;
}

static uint32_t take_ticket(struct fw *fw, const struct fw_cache_request *request)
{
    return fw_retained_take(fw, PR_CHANNEL_DATA_CHAIN_H2T, PR_EXE_CACHE_REQUEST_TRIGGER,
                            request ? fw->process[request->process].program : PR_NO_ID,
                            request ? request->process : PR_NO_ID, request ? request->procedure : 0);
}

enum pr_status fw_cacherun_trigger(struct fw *fw, uint64_t length)
{
    const struct pr_cache_trigger *message = (const void *)fw->exeloop.message;
    struct fw_cache_request *request = NULL;
    struct trigger what = {0};
    enum pr_status status = check_head(fw, message, length);

    if (!status) {
        if (fw->exeloop.log_level)
            fw_log(fw, RT_LOG_INFO, PR_LINE_TRIGGER, message->head.id, (long long)rt_port_now(fw->port),
                   (unsigned long long)message->cache_handler);
        request = find_target(fw, message->cache_handler);
        what.timestamp = message->timestamp;
        what.cookie = message->cookie;
        status = request ? PR_STATUS_OK : PR_STATUS_WRONG_STATE;
    }
    what.ticket = take_ticket(fw, request);
    if (!status)
        status = accept(fw, request, &what, message->buffer, message->buffers, NULL);
    if (status)
        fw_retained_end(fw, what.ticket, status);
    else
        fw_cacherun_start(fw);
    return status;
}

/* A request that follows an execution which has ended well. Its time is the execution's, or just after its last. */
static void follow(struct fw *fw, struct fw_cache_request *request, const struct fw_execution *before)
{
    const uint64_t after = request->timestamp + 1;
    const struct trigger what = {.timestamp = before->timestamp > after ? before->timestamp : after,
                                 .cookie = before->cookie,
                                 .ticket = take_ticket(fw, request)};
    struct pr_notify_chaining message = {.head.id = PR_CMD_DATA_CHAINING_EVENT,
                                         .cache_handler = request->handler,
                                         .timestamp = what.timestamp,
                                         .cookie = what.cookie,
                                         .set = PR_NO_ID,
                                         .state = PR_CACHE_IN_USE};
    enum pr_status status;

    status = accept(fw, request, &what, NULL, 0, before);
    if (!status)
        return;
    fw_retained_end(fw, what.ticket, status);
    request->dropped++;
    fw->cache.dropped++;
    fw->count[FW_DROPPED]++;
    message.status = status;
    fw_notify_post(fw, &message, sizeof(message));
}

static void follow_all(struct fw *fw, const struct fw_execution *before)
{
    const uint64_t handler = before->handler, group = fw_cache_group(fw, request_of(fw, before))->handler;

    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++) {
        struct fw_cache_request *request = &fw->cache.request[i];

        if (fw_cache_in_use(request) && request->follow &&
            (request->follow == handler || request->follow == group) &&
            fw_cache_group(fw, request)->active == i)
            follow(fw, request, before);
    }
}

void fw_cacherun_end(struct fw *fw, uint16_t call, enum pr_status status)
{
    const struct fw_call *c = &fw->call[call];
    struct fw_execution *x = execution_at(fw, c->execution);

    if (status && c->error[0] != PR_TM_ERROR_FINE)
        x->detail = c->error[0] | (uint64_t)c->error[1] << 32;
    fw_call_release(fw, call);
    if (!status && fw_cache_in_use(request_of(fw, x)))
        follow_all(fw, x);
    finish(fw, x, status);
    if (status)
        cancel_lost(fw, NULL);
}

/* ---- starts ---- */

static bool sources_ended(struct fw *fw, const struct fw_execution *x)
{
    for (unsigned i = 0; i < PR_CACHE_LINKS_MAX; i++)
        if (x->source[i] != FW_NO_EXECUTION && execution_at(fw, x->source[i])->state != FW_EXECUTION_ENDED)
            return false;
    return true;
}

static enum pr_status bind_inputs(struct fw *fw, const struct fw_cache_request *request,
                                  const struct fw_execution *x)
{
    enum pr_status status = PR_STATUS_OK;

    for (unsigned i = 0; !status && i < x->inputs; i++) {
        const struct pr_buffer buffer = {.valid = x->input[i].valid,
                                         .index = x->input[i].index,
                                         .address = x->input[i].address,
                                         .bytes = x->input[i].bytes};

        status = fw_call_bind(fw, request->process, &buffer, 1);
    }
    return status;
}

/* The buffer of an output, as an input: the address goes from one BAR to another, and nothing is copied. */
static enum pr_status bind_link(struct fw *fw, const struct fw_cache_request *request,
                                const struct pr_cache_link *link, const struct fw_execution *source)
{
    const struct fw_cache_request *group = fw_cache_group(fw, request_of(fw, source));
    struct pr_buffer buffer;
    unsigned place = 0;

    while (group->output[place] != link->output)
        place++;
    buffer = fw_cacheset_buffers(group, source->set)[place];
    buffer.index = link->input;
    return fw_call_bind(fw, request->process, &buffer, 1);
}

static enum pr_status bind(struct fw *fw, const struct fw_cache_request *request,
                           const struct fw_execution *x)
{
    const struct fw_cache_request *group = fw_cache_group(fw, request);
    enum pr_status status;

    fw_call_unbind(fw);
    status = bind_inputs(fw, request, x);
    for (unsigned i = 0; !status && i < request->links; i++)
        if (x->source[i] != FW_NO_EXECUTION)
            status = bind_link(fw, request, &request->link[i], execution_at(fw, x->source[i]));
    for (unsigned i = 0; !status && i < group->outputs; i++) {
        struct pr_buffer buffer = fw_cacheset_buffers(group, x->set)[i];

        buffer.index = fw_cache_output(group, request, i);
        status = fw_call_bind(fw, request->process, &buffer, 1);
    }
    return status;
}

static enum pr_status make_call(struct fw *fw, const struct fw_cache_request *request, struct fw_execution *x,
                                uint16_t *number)
{
    enum pr_status status = bind(fw, request, x);
    struct fw_call *draft = &fw->exeloop.draft;

    if (!status)
        status = fw_call_draft(fw, request->process, request->procedure, request->priority);
    if (status)
        return status;
    draft->origin = FW_ORIGIN_CACHE;
    draft->execution = number_of(fw, x);
    draft->cookie = x->cookie;
    draft->ticket = x->ticket;
    return fw_call_enter(fw, number);
}

/* Whether the group's oldest trigger could be dealt with. */
static bool start_oldest(struct fw *fw, struct fw_cache_request *group)
{
    struct fw_execution *x = execution_at(fw, group->waiting.head);
    struct fw_cache_request *request = request_of(fw, x);
    enum pr_status status;
    uint16_t number;

    if (!group->available || !sources_ended(fw, x))
        return false;
    if (fw->exeloop.free.head == FW_NO_CALL || fw->process[request->process].calls >= PR_IN_FLIGHT_MAX) {
        fw->cache.wanted = true; /* again when a call is free */
        return false;
    }
    (void)take(fw, &group->waiting);
    x->set = (uint8_t)fw_cacheset_take(fw, group, number_of(fw, x));
    x->state = FW_EXECUTION_RUNNING;
    status = make_call(fw, request, x, &number);
    if (status) {
        cancel(fw, x, status);
        cancel_lost(fw, NULL);
    } else {
        fw_exeloop_dispatch(fw, number);
    }
    return true;
}

void fw_cacherun_start(struct fw *fw)
{
    if (!fw->cache.wanted || fw->closed)
        return;
    fw->cache.wanted = false;
    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++) {
        struct fw_cache_request *group = &fw->cache.request[i];

        while (group->handler && group->first == i && group->waiting.head != FW_NO_EXECUTION &&
               start_oldest(fw, group))
            ;
    }
}
