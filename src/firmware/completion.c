/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of calls. Only finished calls are reported (state 1), when the last of their requests has ended;
 * the event of the last dispatch (state 0) is never sent.
 */
#include "firmware/completion.h"

#include "firmware/cacherun.h"
#include "firmware/call.h"
#include "firmware/channel.h"
#include "firmware/doorbell.h"
#include "firmware/event.h"
#include "firmware/exeloop.h"
#include "firmware/loadmon.h"
#include "firmware/log.h"
#include "firmware/mover.h"
#include "firmware/notify.h"
#include "firmware/queue.h"
#include "firmware/retained.h"
#include "firmware/shared.h"
#include "firmware/signpost.h"
#include "firmware/stats.h"

/* All requests of the call have ended. */
static void end_call(struct fw *fw, uint16_t number)
{
    struct fw_call *call = &fw->call[number];

    fw->process[call->process].finished++;
    fw_retained_end(fw, call->ticket, call->status);
    fw_loadmon_finished(fw);
    if (call->stats)
        fw_stats_write(fw, number);
    if (call->events && !call->status)
        fw_event_signal(fw, call);
    if (call->origin == FW_ORIGIN_CACHE) {
        fw_cacherun_end(fw, number, (enum pr_status)call->status);
        return;
    }
    call->after = fw_notify_mark(fw);
    fw_call_put(fw, &fw->exeloop.events, number);
}

/*
 * The first failure is the call's. Its requests that were not pushed yet are not run: they wait for their
 * queue, or the call was held and not dispatched.
 */
static void fail_call(struct fw *fw, uint16_t lead, const struct fw_call *request, enum pr_status status)
{
    struct fw_call *call = &fw->call[lead];

    call->status = (uint8_t)status;
    if (request != call) {
        rt_memcpy(call->error, request->error, sizeof(call->error));
        call->tm_status = request->tm_status;
    }
    if (!call->dispatched)
        fw_call_cut(fw, lead);
    else if (call->left > 1)
        fw_queue_cancel(fw, lead);
}

/*
 * The engine runs one request at a time. One that others have interrupted had it since its push, without what
 * those had; one that waited behind another has it from the end of that one on. Both are at most the time
 * that it had, so the longer one is taken.
 */
static void count_engine(struct fw *fw, const struct fw_call *request)
{
    struct fw_exeloop *e = &fw->exeloop;
    const uint64_t now = rt_port_now(fw->port), others = e->charged - request->charged;
    const uint64_t since = now - request->pushed, behind = now - e->ended;
    uint64_t ns = since < behind ? since : behind;

    if (since > others && since - others > ns)
        ns = since - others;
    fw->call[request->lead].engine_ns += ns;
    e->charged += ns;
    e->ended = now;
}

void fw_completion_end(struct fw *fw, uint16_t number, enum pr_status status)
{
    const struct fw_call *request = &fw->call[number];
    const uint16_t lead = request->lead;

    if (request->network)
        count_engine(fw, request);
    if (status && !fw->call[lead].status)
        fail_call(fw, lead, request, status);
    if (number != lead)
        fw_call_put(fw, &fw->exeloop.free, number);
    if (!--fw->call[lead].left)
        end_call(fw, lead);
}

static struct pr_program_failure describe(uint32_t sequence, const struct fw_call *call)
{
    struct pr_program_failure message = {.event = {.sequence = sequence,
                                                   .id = PR_CMD_PROGRAM_EVENT,
                                                   .cookie = call->cookie,
                                                   .program_id = call->program,
                                                   .process_id = call->process,
                                                   .status = call->status,
                                                   .state = PR_EVENT_FINISHED}};

    if (!call->status)
        message.event.detail = call->engine_ns;
    if (call->status) {
        if (call->error[0] != PR_TM_ERROR_FINE)
            message.event.detail = call->error[0] | (uint64_t)call->error[1] << 32;
        rt_memcpy(message.error, call->error, sizeof(message.error));
        message.status = call->tm_status;
    }
    return message;
}

static uint64_t event_cell(const struct fw *fw, uint32_t slot)
{
    return fw->heap + FW_EVENTS_OFFSET + (uint64_t)slot * FW_EVENT_CELL_BYTES;
}

/* The notification goes before the events of what it ends. */
static bool notify_reset(struct fw *fw)
{
    const struct pr_reset_notification message = {.sequence = fw->exeloop.sequence,
                                                  .id = PR_CMD_CH_RESET_NOTIFICATION,
                                                  .first_queue = fw->intmgr.first,
                                                  .last_queue = fw->intmgr.last,
                                                  .reason = fw->exeloop.level[fw->intmgr.first].reason,
                                                  .time = fw_shared_host_time(fw)};
    uint64_t cell;
    uint32_t slot;

    if (!fw_channel_room(fw, PR_CHANNEL_IO_T2H, &slot))
        return false;
    cell = event_cell(fw, slot);
    (void)fw_shared_out(fw, cell, &message, sizeof(message));
    fw_channel_send(fw, PR_CHANNEL_IO_T2H, cell, sizeof(message), 0);
    fw->exeloop.sequence++;
    fw->exeloop.notify_reset = false;
    return true;
}

/* The oldest event of a call, if it fits. */
static bool send_event(struct fw *fw)
{
    struct fw_exeloop *e = &fw->exeloop;
    const uint16_t number = e->events.head;
    const struct fw_call *call = &fw->call[number];
    struct pr_program_failure message;
    uint32_t slot, bytes;
    uint64_t cell;

    if (!fw_channel_room(fw, PR_CHANNEL_IO_T2H, &slot))
        return false;
    (void)fw_call_take(fw, &e->events);
    cell = event_cell(fw, slot);
    message = describe(e->sequence++, call);
    bytes = call->status ? sizeof(message) : sizeof(message.event);
    (void)fw_shared_out(fw, cell, &message, bytes);
    fw_channel_send(fw, PR_CHANNEL_IO_T2H, cell, bytes, 0);
    fw_signpost(fw, PR_SIGNPOST_REPORTED, call->status, (uint32_t)call->cookie);
    fw_call_release(fw, number);
    return true;
}

/* Events of calls and notifications, in the order of their ends and posts. */
static bool send_oldest(struct fw *fw)
{
    const uint16_t number = fw->exeloop.events.head;

    if (number != FW_NO_CALL && fw_notify_is_past(fw, fw->call[number].after))
        return send_event(fw);
    return fw_notify_send(fw);
}

void fw_completion_notify(struct fw *fw)
{
    bool sent = fw->exeloop.notify_reset && notify_reset(fw);

    if (fw_cacherun_reports(fw))
        fw_cacherun_report(fw);
    if (fw_notify_is_due(fw))
        fw_signpost_flush(fw);
    while (send_oldest(fw))
        sent = true;
    if (sent)
        fw_doorbell_complete(fw, PR_CHANNEL_IO_T2H);
}

/* What the engine says of a request that did not end well: words of another queue are left for its call. */
void fw_completion_take_error(struct fw *fw, unsigned queue, struct fw_call *call)
{
    fw_exeloop_check(fw, "a look at the error registers");
    fw_mover_take_error(fw, queue, call->error);
    call->tm_status = fw_register_read(fw, PR_ENGINE_TM + PR_TM_STATUS);
    fw_mover_report(fw, call);
}

/*
 * The call of a completion, by its network id. A queue retires its requests in the order they were pushed, so
 * that its oldest call has to have that id.
 */
static uint16_t retire_network(struct fw *fw, uint32_t info)
{
    const uint32_t network = pr_bits_get(info, PR_TM_EVENT_NID_LO, PR_TM_EVENT_NID_WIDTH);
    const unsigned level = fw->exeloop.network_level[network];
    const uint16_t oldest = fw->exeloop.level[level].running.head;

    if (oldest == FW_NO_CALL || fw->call[oldest].network != network)
        return FW_NO_CALL;
    return fw_queue_retire(fw, level);
}

static void on_event(struct fw *fw, uint32_t kind, uint32_t info, uint32_t detail)
{
    const bool known = kind == PR_TM_EVENT_COMPLETED || kind == PR_TM_EVENT_FAILED;
    const uint16_t number = known ? retire_network(fw, info) : FW_NO_CALL;
    enum pr_status status = PR_STATUS_OK;

    if (number == FW_NO_CALL) {
        fw->exeloop.stale++;
        fw_log(fw, RT_LOG_WARNING, "engine event 0x%x belongs to no call", info);
        return;
    }
    fw_signpost_retired(fw, &fw->call[number]);
    if (kind == PR_TM_EVENT_FAILED) {
        const uint32_t code = pr_bits_get(detail, PR_TM_EVENT_CODE_LO, PR_TM_EVENT_CODE_WIDTH);

        fw_completion_take_error(fw, fw->call[number].level, &fw->call[number]);
        status = code == PR_TM_CODE_TRANSLATION ? PR_STATUS_TRANSLATION : PR_STATUS_ABORTED;
    }
    fw_completion_end(fw, number, status);
}

/* The second line repeats the first. Reading the last word of an event removes it. */
static void drain_lines(struct fw *fw)
{
    uint32_t count = fw_register_read(fw, PR_ENGINE_TM + PR_TM_IRQ0_COUNT);

    for (; count; count--) {
        const uint32_t info = fw_register_read(fw, PR_ENGINE_TM + PR_TM_IRQ0_INFO);
        const uint32_t kind = pr_bits_get(info, PR_TM_EVENT_KIND_LO, PR_TM_EVENT_KIND_WIDTH);
        /* the second word is of use only when the request has failed */
        const uint32_t detail =
            kind == PR_TM_EVENT_FAILED ? fw_register_read(fw, PR_ENGINE_TM + PR_TM_IRQ0_UNK1) : 0;

        (void)fw_register_read(fw, PR_ENGINE_TM + PR_TM_IRQ0_UNK2);
        on_event(fw, kind, info, detail);
    }
    for (count = fw_register_read(fw, PR_ENGINE_TM + PR_TM_IRQ1_COUNT); count; count--)
        (void)fw_register_read(fw, PR_ENGINE_TM + PR_TM_IRQ1_UNK2);
}

/* The engine first, then the host. */
void fw_completion_go_on(struct fw *fw)
{
    for (unsigned i = 0; i < PR_PRIORITIES; i++)
        if (fw->exeloop.level[i].waiting.head != FW_NO_CALL)
            fw_queue_pump(fw, i);
    fw_cacherun_start(fw);
    fw_completion_notify(fw);
    /* busy_now: from the first dispatch on. An abort that has not cleared its queue looks at it again. */
    if (!fw->exeloop.active && !fw->exeloop.aborting && fw->loadmon.busy_now)
        rt_fsm_post(&fw->exeloop.machine, FW_EVENT_DRAIN, 0);
}

void fw_completion_drain(struct fw *fw)
{
    drain_lines(fw);
    fw_completion_go_on(fw);
}
