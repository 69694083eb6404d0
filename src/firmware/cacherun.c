/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions. A group's executions start in the order of their triggers, each with the oldest available set,
 * when every output that links bring to it is there. Ending one changes only state; what may start after
 * that does so when the loop goes on.
 */
#include "firmware/cacherun.h"

#include "firmware/bars.h"
#include "firmware/cache.h"
#include "firmware/cacheset.h"
#include "firmware/cachetrigger.h"
#include "firmware/call.h"
#include "firmware/event.h"
#include "firmware/exeloop.h"
#include "firmware/notify.h"
#include "firmware/order.h"
#include "firmware/retained.h"
#include "rtkernel/heap.h"
#include "rtkernel/memory.h"

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
    put(fw, &fw->cache.free, fw_cacherun_number(fw, x));
}

/* No execution reads its set any more: the firmware recycles it, or it is the host's. */
static void release_set(struct fw *fw, const struct fw_execution *x)
{
    const struct fw_cache_request *request = fw_cacherun_request(fw, x);
    struct fw_cache_request *group = fw_cache_group(fw, request);

    if (x->set == FW_NO_SET)
        return;
    group->set[x->set].execution = FW_NO_EXECUTION;
    if (x->state == FW_EXECUTION_ENDED && request->flags & PR_CACHE_AUTO_RECYCLE && fw_cache_in_use(group))
        fw_cacheset_return(fw, group, x->set);
}

static void drop(struct fw *fw, uint16_t number)
{
    struct fw_execution *x = fw_cacherun_at(fw, number);
    struct fw_cache_request *request = fw_cacherun_request(fw, x);

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
                                               .following = x->following,
                                               .detail = x->detail};

    fw_notify_post_awaited(fw, &message, sizeof(message));
}

void fw_cacherun_report(struct fw *fw)
{
    struct fw_cache *c = &fw->cache;

    while (c->events.head != FW_NO_EXECUTION && fw->notify.count < FW_NOTIFICATIONS) {
        struct fw_execution *x = fw_cacherun_at(fw, take(fw, &c->events));

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
    struct fw_cache_request *request = fw_cacherun_request(fw, x), *group = fw_cache_group(fw, request);
    const uint16_t number = fw_cacherun_number(fw, x);

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
        if (x->source[i] != FW_NO_EXECUTION && fw_cacherun_at(fw, x->source[i])->state == FW_EXECUTION_FAILED)
            return true;
    return false;
}

static bool reads_group(struct fw *fw, const struct fw_execution *x, const struct fw_cache_request *group)
{
    for (unsigned i = 0; i < PR_CACHE_LINKS_MAX; i++)
        if (x->source[i] != FW_NO_EXECUTION &&
            fw_cache_group(fw, fw_cacherun_request(fw, fw_cacherun_at(fw, x->source[i]))) == group)
            return true;
    return false;
}

/* Whether an execution must not run: of the request, or reading its group, or reading what has failed. */
static bool is_lost(struct fw *fw, const struct fw_execution *x, const struct fw_cache_request *request)
{
    return reads_failed(fw, x) || (request && fw_cacherun_request(fw, x) == request) ||
           (request && fw_cache_group(fw, request) == request && reads_group(fw, x, request));
}

bool fw_cacherun_loses(struct fw *fw, uint16_t execution, uint64_t handler)
{
    return is_lost(fw, fw_cacherun_at(fw, execution), fw_cache_find(fw, handler));
}

/* The next one among those that wait for a set or an output. */
static struct fw_execution *find_lost(struct fw *fw, const struct fw_cache_request *request)
{
    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++) {
        const struct fw_cache_request *group = &fw->cache.request[i];

        if (!group->handler || group->first != i)
            continue;
        for (uint16_t n = group->waiting.head; n != FW_NO_EXECUTION; n = fw_cacherun_at(fw, n)->next)
            if (is_lost(fw, fw_cacherun_at(fw, n), request))
                return fw_cacherun_at(fw, n);
    }
    return NULL;
}

/* One execution at a time, because each may be what others read. */
static void cancel_lost(struct fw *fw, const struct fw_cache_request *request)
{
    struct fw_execution *x;

    while ((x = find_lost(fw, request)) != NULL) {
        take_out(fw, &fw_cache_group(fw, fw_cacherun_request(fw, x))->waiting, fw_cacherun_number(fw, x));
        cancel(fw, x, PR_STATUS_ABORTED);
    }
}

/* Those with a call that is held have taken a set, and have not begun either. */
void fw_cacherun_abort(struct fw *fw, struct fw_cache_request *request)
{
    struct fw_event_match held = FW_EVENT_MATCH_ALL;

    cancel_lost(fw, request);
    held.handler = request->handler;
    (void)fw_event_end(fw, &held);
    if (fw_cache_group(fw, request) == request)
        fw_cacherun_forget(fw, request);
}

/* ---- the life of an execution ---- */

struct fw_execution *fw_cacherun_next(struct fw *fw)
{
    return fw->cache.free.head == FW_NO_EXECUTION ? NULL : fw_cacherun_at(fw, fw->cache.free.head);
}

void fw_cacherun_enter(struct fw *fw, struct fw_cache_request *request, struct fw_execution *x)
{
    struct fw_cache_request *group = fw_cache_group(fw, request);

    (void)take(fw, &fw->cache.free);
    for (unsigned i = 0; i < PR_CACHE_LINKS_MAX; i++)
        if (x->source[i] != FW_NO_EXECUTION)
            fw_cacherun_at(fw, x->source[i])->references++;
    x->references = 1;
    x->following = 0;
    request->timestamp = x->timestamp;
    request->outstanding++;
    request->busy++;
    if (group->linked) {
        fw_cacherun_forget(fw, group);
        group->latest = fw_cacherun_number(fw, x);
        x->references++;
    }
    put(fw, &group->waiting, fw_cacherun_number(fw, x));
    fw->cache.wanted = true;
}

void fw_cacherun_refuse(struct fw *fw, struct fw_execution *x, enum pr_status status)
{
    (void)take(fw, &fw->cache.free);
    x->state = FW_EXECUTION_FAILED;
    x->status = (uint8_t)status;
    put(fw, &fw->cache.events, fw_cacherun_number(fw, x));
}

void fw_cacherun_end(struct fw *fw, uint16_t call, enum pr_status status)
{
    const struct fw_call *c = &fw->call[call];
    struct fw_execution *x = fw_cacherun_at(fw, c->execution);

    if (!status)
        x->detail = c->engine_ns;
    else if (c->error[0] != PR_TM_ERROR_FINE)
        x->detail = c->error[0] | (uint64_t)c->error[1] << 32;
    fw_call_release(fw, call);
    if (!status && fw_cache_in_use(fw_cacherun_request(fw, x)))
        x->following = fw_cachetrigger_follow(fw, x);
    finish(fw, x, status);
    if (status)
        cancel_lost(fw, NULL);
}

/* ---- starts ---- */

static bool sources_ended(struct fw *fw, const struct fw_execution *x)
{
    for (unsigned i = 0; i < PR_CACHE_LINKS_MAX; i++)
        if (x->source[i] != FW_NO_EXECUTION && fw_cacherun_at(fw, x->source[i])->state != FW_EXECUTION_ENDED)
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
    const struct fw_cache_request *group = fw_cache_group(fw, fw_cacherun_request(fw, source));
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
            status = bind_link(fw, request, &request->link[i], fw_cacherun_at(fw, x->source[i]));
    for (unsigned i = 0; !status && i < group->outputs; i++) {
        struct pr_buffer buffer = fw_cacheset_buffers(group, x->set)[i];

        buffer.index = fw_cache_output(group, request, i);
        status = fw_call_bind(fw, request->process, &buffer, 1);
    }
    fw_order_own(fw, request->procedure, 1);
    return status ? status
                  : fw_bars_bind(fw, fw->program[fw->process[request->process].program], request->bar,
                                 request->bars);
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
    draft->execution = fw_cacherun_number(fw, x);
    draft->cookie = x->cookie;
    draft->ticket = x->ticket;
    return fw_call_enter(fw, number);
}

/*
 * The events of the execution: those of the request, whose values rise by 1 each time. Kept with the call.
 * False when the arena has no room.
 */
static bool take_events(struct fw *fw, struct fw_cache_request *request, struct fw_call *call)
{
    const uint32_t count = request->waits + request->signals;

    if (!count)
        return true;
    call->events =
        rt_heap_alloc(fw->kernel, RT_ARENA_SYSTEM, sizeof(*call->events) + count * sizeof(request->event[0]));
    if (!call->events)
        return false;
    call->events->waits = request->waits;
    call->events->signals = request->signals;
    rt_memcpy(call->events->event, request->event, count * sizeof(request->event[0]));
    for (uint32_t i = 0; i < count; i++)
        request->event[i].value++;
    return true;
}

static void dispatch(struct fw *fw, uint16_t number)
{
    if (!fw->call[number].events || !fw_event_hold(fw, number))
        fw_exeloop_dispatch(fw, number);
}

/* Whether the group's oldest trigger could be dealt with. */
static bool start_oldest(struct fw *fw, struct fw_cache_request *group)
{
    struct fw_execution *x = fw_cacherun_at(fw, group->waiting.head);
    struct fw_cache_request *request = fw_cacherun_request(fw, x);
    enum pr_status status;
    uint16_t number;

    if (!group->available || !sources_ended(fw, x))
        return false;
    if (fw->exeloop.free.head == FW_NO_CALL || fw->process[request->process].calls >= PR_IN_FLIGHT_MAX) {
        fw->cache.wanted = true; /* again when a call is free */
        return false;
    }
    (void)take(fw, &group->waiting);
    x->set = (uint8_t)fw_cacheset_take(fw, group, fw_cacherun_number(fw, x));
    x->state = FW_EXECUTION_RUNNING;
    status = make_call(fw, request, x, &number);
    if (!status && !take_events(fw, request, &fw->call[number])) {
        fw_call_release(fw, number);
        status = PR_STATUS_NO_RESOURCES;
    }
    if (status) {
        cancel(fw, x, status);
        cancel_lost(fw, NULL);
    } else {
        dispatch(fw, number);
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
