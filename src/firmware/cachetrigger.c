/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers. Nothing is changed before a trigger has passed every check: the next free execution is filled in
 * its place and entered at the end.
 */
#include "firmware/cachetrigger.h"

#include "firmware/cache.h"
#include "firmware/cacherun.h"
#include "firmware/log.h"
#include "firmware/notify.h"
#include "firmware/rebase.h"
#include "firmware/retained.h"
#include "firmware/rule.h"
#include "firmware/secure.h"
#include "protocol/log_line.h"
#include "rtkernel/memory.h"
#include "rtkernel/port.h"

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
    if (before && fw_cache_group(fw, fw_cacherun_request(fw, before)) == group)
        return fw_cacherun_number(fw, before);
    return group->latest;
}

/* The place of an input among those of the request; `inputs` when it has none. */
static unsigned input_place(const struct fw_cache_request *request, uint32_t index)
{
    unsigned i = 0;

    while (i < request->inputs && request->input[i] != index)
        i++;
    return i;
}

/* A buffer of the trigger; `seen` gets a bit per input. */
static enum pr_status take_input(struct fw *fw, const struct fw_cache_request *request,
                                 const struct pr_buffer *buffer, struct fw_chained *input, uint32_t *seen)
{
    const unsigned place = input_place(request, buffer->index);
    const char *wrong;
    enum pr_status status =
        fw_rule(fw, PR_RULE_TRIGGER_BUFFERS, place < request->inputs && !(*seen >> place & 1), buffer->index);

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
        const unsigned place = input_place(request, request->link[i].input);

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

/* What an execution has before its inputs are known. It stays the next free one. */
static void begin(const struct fw *fw, struct fw_execution *x, const struct fw_cache_request *request,
                  const struct trigger *what)
{
    *x = (struct fw_execution){.handler = request->handler,
                               .timestamp = what->timestamp,
                               .cookie = what->cookie,
                               .ticket = what->ticket,
                               .next = x->next,
                               .request = (uint8_t)fw_cache_index(fw, request),
                               .state = FW_EXECUTION_WAITING,
                               .set = FW_NO_SET};
    rt_memset(x->source, 0xff, sizeof(x->source));
}

/* A trigger of a request that is in use; `before` is what it follows, or NULL. */
static enum pr_status accept(struct fw *fw, struct fw_cache_request *request, const struct trigger *what,
                             const struct pr_buffer *buffer, uint32_t buffers,
                             const struct fw_execution *before)
{
    struct fw_execution *x = fw_cacherun_next(fw);
    enum pr_status status;
    uint32_t seen = 0;

    status = fw_rule(fw, PR_RULE_TRIGGER_TIME, request->timestamp < what->timestamp, what->timestamp);
    if (!status)
        status = fw_rule(fw, PR_RULE_IN_FLIGHT, request->outstanding < PR_IN_FLIGHT_MAX && x,
                         request->outstanding);
    if (status)
        return status;
    begin(fw, x, request, what);
    x->inputs = (uint8_t)buffers;
    for (uint32_t i = 0; !status && i < buffers; i++)
        status = take_input(fw, request, &buffer[i], &x->input[i], &seen);
    if (!status)
        status = take_links(fw, request, x, before, seen);
    if (status)
        return status;
    fw_cacherun_enter(fw, request, x);
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

enum pr_status fw_cachetrigger_run(struct fw *fw, uint64_t length)
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
        status = request && !fw_secure_drops(fw, &fw->process[request->process]) ? PR_STATUS_OK
                                                                                 : PR_STATUS_WRONG_STATE;
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

/*
 * The host waits for what it knows to follow: a follower that is dropped is reported as one that has ended.
 */
static void report_dropped(struct fw *fw, const struct fw_cache_request *request, const struct trigger *what,
                           enum pr_status status)
{
    struct fw_execution *x = fw_cacherun_next(fw);
    const struct pr_notify_chaining message = {.head.id = PR_CMD_DATA_CHAINING_EVENT,
                                               .cache_handler = request->handler,
                                               .timestamp = what->timestamp,
                                               .cookie = what->cookie,
                                               .set = PR_NO_ID,
                                               .status = status,
                                               .state = PR_CACHE_IN_USE};

    if (!x) {
        fw_notify_post_awaited(fw, &message, sizeof(message));
        return;
    }
    begin(fw, x, request, what);
    fw_cacherun_refuse(fw, x, status);
}

/* A request that follows an execution: its time is the execution's, or just after its own last. */
static void follow(struct fw *fw, struct fw_cache_request *request, const struct fw_execution *before)
{
    const uint64_t after = request->timestamp + 1;
    const struct trigger what = {.timestamp = before->timestamp > after ? before->timestamp : after,
                                 .cookie = before->cookie,
                                 .ticket = take_ticket(fw, request)};
    const enum pr_status status = accept(fw, request, &what, NULL, 0, before);

    if (!status)
        return;
    fw_retained_end(fw, what.ticket, status);
    request->dropped++;
    fw->cache.dropped++;
    fw->count[FW_DROPPED]++;
    report_dropped(fw, request, &what, status);
}

uint8_t fw_cachetrigger_follow(struct fw *fw, const struct fw_execution *before)
{
    const uint64_t handler = before->handler,
                   group = fw_cache_group(fw, fw_cacherun_request(fw, before))->handler;
    uint8_t count = 0;

    for (unsigned i = 0; i < PR_CACHE_REQUESTS_MAX; i++) {
        struct fw_cache_request *request = &fw->cache.request[i];

        if (fw_cache_in_use(request) && request->follow &&
            (request->follow == handler || request->follow == group) &&
            fw_cache_group(fw, request)->active == i) {
            follow(fw, request, before);
            count++; /* one that is dropped has its event too */
        }
    }
    return count;
}
