/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output sets. A set that is in execution is with an execution, with executions that read it, or with the
 * host; only the host's can be recycled by the host.
 */
#include "firmware/cacheset.h"

#include "base/array.h"
#include "firmware/cache.h"
#include "firmware/cacherun.h"
#include "firmware/log.h"
#include "firmware/rebase.h"
#include "firmware/rule.h"

enum set_event { EVENT_RECYCLE, EVENT_TAKE, EVENTS };
static const char *const state_names[] = {
#define X(id, number, name) [number] = name,
    PR_OUTPUT_SET_STATES(X)
#undef X
};
static const char *const event_names[] = {"recycle", "take"};
static const struct rt_fsm_row rows[] = {
    {PR_OUTPUT_SET_IN_EXECUTION, EVENT_RECYCLE, PR_OUTPUT_SET_AVAILABLE, NULL},
    {PR_OUTPUT_SET_AVAILABLE, EVENT_TAKE, PR_OUTPUT_SET_IN_EXECUTION, NULL},
};
static const struct rt_fsm_table table = {
    .name = "output set",
    .state_names = state_names,
    .event_names = event_names,
    .states = PR_OUTPUT_SET_STATE_COUNT,
    .events = EVENTS,
    .first = PR_OUTPUT_SET_IN_EXECUTION,
    .strict = RT_FSM_STRICT,
    .rows = rows,
    .row_count = BASE_COUNT_OF(rows),
};

void fw_cacheset_init(struct fw *fw, struct fw_cache_request *group)
{
    group->available = group->oldest = 0;
    for (unsigned i = 0; i < PR_CACHE_SETS_MAX; i++) {
        group->set[i].execution = FW_NO_EXECUTION;
        group->set[i].filled = false;
        rt_fsm_init(&group->set[i].machine, fw->kernel, &table, &group->set[i]);
    }
}

void fw_cacheset_return(struct fw *fw, struct fw_cache_request *group, unsigned set)
{
    rt_fsm_post(&group->set[set].machine, EVENT_RECYCLE, 0);
    group->order[(group->oldest + group->available++) % PR_CACHE_SETS_MAX] = (uint8_t)set;
    fw->cache.wanted = true;
}

unsigned fw_cacheset_take(struct fw *fw, struct fw_cache_request *group, uint16_t execution)
{
    const unsigned set = group->order[group->oldest];

    (void)fw;
    group->oldest = (uint8_t)((group->oldest + 1) % PR_CACHE_SETS_MAX);
    group->available--;
    rt_fsm_post(&group->set[set].machine, EVENT_TAKE, 0);
    group->set[set].execution = execution;
    return set;
}

/* The place of an output among those of the group; `outputs` when it has none. */
static unsigned place_of(const struct fw_cache_request *group, uint32_t index)
{
    unsigned i = 0;

    while (i < group->outputs && group->output[i] != index)
        i++;
    return i;
}

/* Each output once; `seen` gets a bit per place. */
static enum pr_status check_buffer(struct fw *fw, const struct fw_cache_request *group,
                                   const struct pr_buffer *buffer, uint32_t *seen)
{
    const struct fw_program *program = fw->program[fw->process[group->process].program];
    const unsigned place = place_of(group, buffer->index);
    const char *wrong;
    enum pr_status status = fw_rule(fw, PR_RULE_SET_TYPE, buffer->type == PR_BUFFER_OUT, buffer->type);

    if (!status)
        status = fw_rule(fw, PR_RULE_BUFFER_HIGH, !(buffer->address >> 32), buffer->address);
    if (!status)
        status =
            fw_rule(fw, PR_RULE_SET_BUFFERS, place < group->outputs && !(*seen >> place & 1), buffer->index);
    if (status)
        return status;
    *seen |= 1u << place;
    wrong = fw_rebase_wrong(program, buffer);
    if (!wrong)
        return PR_STATUS_OK;
    fw_log(fw, RT_LOG_WARNING, "buffer %u of an output set, 0x%llx bytes at 0x%llx, %s", buffer->index,
           (unsigned long long)buffer->bytes, (unsigned long long)buffer->address, wrong);
    return PR_STATUS_BAD_ARGUMENT;
}

static enum pr_status check_buffers(struct fw *fw, const struct fw_cache_request *group,
                                    const struct pr_cache_recycle *message)
{
    const bool keep = !message->buffers && group->set[message->set].filled;
    uint32_t seen = 0;
    enum pr_status status =
        fw_rule(fw, PR_RULE_SET_BUFFERS, keep || message->buffers == group->outputs, message->buffers);

    for (uint32_t i = 0; !status && i < message->buffers; i++)
        status = check_buffer(fw, group, &message->buffer[i], &seen);
    return status;
}

/* Whether the set is the host's: an execution that only links would read again gives it up. */
static bool with_host(struct fw *fw, const struct fw_cache_request *group, const struct fw_output_set *set)
{
    const struct fw_execution *execution;

    if (rt_fsm_state(&set->machine) == PR_OUTPUT_SET_AVAILABLE)
        return false;
    if (set->execution == FW_NO_EXECUTION)
        return true;
    execution = &fw->cache.execution[set->execution];
    return execution->state == FW_EXECUTION_ENDED && group->latest == set->execution &&
           execution->references == 1;
}

static enum pr_status check_head(struct fw *fw, const struct pr_cache_recycle *message, uint64_t length)
{
    enum pr_status status =
        fw_rule(fw, PR_RULE_CALL_SIZE, length >= offsetof(struct pr_cache_recycle, buffer), length);

    if (!status)
        status = fw_rule(fw, PR_RULE_BUFFER_COUNT, message->buffers <= PR_CALL_BUFFERS_MAX, message->buffers);
    return status
               ? status
               : fw_rule(fw, PR_RULE_CALL_SIZE, length == PR_CACHE_RECYCLE_BYTES(message->buffers), length);
}

static enum pr_status check_set(struct fw *fw, const struct fw_cache_request *group,
                                const struct pr_cache_recycle *message)
{
    enum pr_status status = fw_rule(fw, PR_RULE_SET_ID, message->set < group->sets, message->set);

    if (!status)
        status =
            fw_rule(fw, PR_RULE_SET_STATE, with_host(fw, group, &group->set[message->set]), message->set);
    return status ? status : check_buffers(fw, group, message);
}

/* The buffers are rebased now, so that no execution has to do it. */
static enum pr_status fill(struct fw *fw, struct fw_cache_request *group,
                           const struct pr_cache_recycle *message)
{
    struct fw_rebase *rebase = fw->process[group->process].rebase;
    struct pr_buffer *buffer = fw_cacheset_buffers(group, message->set);

    for (uint32_t i = 0; i < message->buffers; i++)
        if (!fw_rebase_tag(fw, rebase, &message->buffer[i], group->pool)) {
            fw_log(fw, RT_LOG_WARNING, "buffer %u of output set %u ends above 0x%x", message->buffer[i].index,
                   message->set, PR_SECTION_LIMIT);
            return PR_STATUS_BAD_ARGUMENT;
        }
    for (uint32_t i = 0; i < message->buffers; i++)
        buffer[place_of(group, message->buffer[i].index)] = message->buffer[i];
    group->set[message->set].filled = true;
    return PR_STATUS_OK;
}

enum pr_status fw_cacheset_recycle(struct fw *fw, uint64_t length)
{
    const struct pr_cache_recycle *message = (const void *)fw->exeloop.message;
    enum pr_status status = check_head(fw, message, length);
    struct fw_cache_request *request, *group;

    if (status)
        return status;
    request = fw_cache_find(fw, message->cache_handler);
    if (!request || !fw_cache_in_use(request))
        return fw_rule_broken(fw, PR_RULE_CACHE_STATE, message->cache_handler);
    group = fw_cache_group(fw, request);
    status = check_set(fw, group, message);
    if (!status)
        status = fill(fw, group, message);
    if (status)
        return status;
    if (group->set[message->set].execution != FW_NO_EXECUTION)
        fw_cacherun_forget(fw, group);
    /* an automatic recycle has returned it by now */
    if (rt_fsm_state(&group->set[message->set].machine) != PR_OUTPUT_SET_AVAILABLE)
        fw_cacheset_return(fw, group, message->set);
    return PR_STATUS_OK;
}
