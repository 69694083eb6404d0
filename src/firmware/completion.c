/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of calls. Only finished calls are reported (state 1); the event of the last dispatch (state 0) is
 * never sent.
 */
#include "firmware/completion.h"

#include "firmware/call.h"
#include "firmware/channel.h"
#include "firmware/doorbell.h"
#include "firmware/exeloop.h"
#include "firmware/log.h"
#include "firmware/queue.h"
#include "firmware/shared.h"
#include "protocol/stats.h"
#include "rtkernel/timer.h"

/*
 * No descriptors follow the header yet, so their area has no bytes. A buffer that is not mapped any more is
 * not written.
 */
static void write_stats(struct fw *fw, const struct fw_call *call)
{
    const struct pr_stats_header header = {.magic = PR_STATS_MAGIC,
                                           .time = rt_port_now(fw->port) - call->accepted,
                                           .program = call->program,
                                           .procedure = call->procedure,
                                           .counter = fw->process[call->process].finished};

    if (call->stats)
        (void)fw_shared_out(fw, call->stats, &header, sizeof(header));
}

static void end(struct fw *fw, uint16_t number, enum pr_status status)
{
    struct fw_call *call = &fw->call[number];

    call->status = (uint8_t)status;
    fw->process[call->process].finished++;
    write_stats(fw, call);
    fw_call_put(fw, &fw->exeloop.events, number);
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

    if (call->status) {
        if (call->error[0] != PR_TM_ERROR_FINE)
            message.event.detail = call->error[0] | (uint64_t)call->error[1] << 32;
        rt_memcpy(message.error, call->error, sizeof(message.error));
        message.status = call->tm_status;
    }
    return message;
}

void fw_completion_notify(struct fw *fw)
{
    struct fw_exeloop *e = &fw->exeloop;
    bool sent = false;
    uint32_t slot;

    while (e->events.head != FW_NO_CALL && fw_channel_room(fw, PR_CHANNEL_IO_T2H, &slot)) {
        const uint16_t number = fw_call_take(fw, &e->events);
        const struct fw_call *call = &fw->call[number];
        const uint64_t cell = fw->heap + (uint64_t)slot * FW_EVENT_CELL_BYTES;
        const struct pr_program_failure message = describe(e->sequence++, call);
        const uint32_t bytes = call->status ? sizeof(message) : sizeof(message.event);

        (void)fw_shared_out(fw, cell, &message, bytes);
        fw_channel_send(fw, PR_CHANNEL_IO_T2H, cell, bytes, 0);
        fw_call_release(fw, number);
        sent = true;
    }
    if (sent)
        fw_doorbell_complete(fw, PR_CHANNEL_IO_T2H);
}

/*
 * What the engine says of a request that did not end well. The error registers keep the first error of all
 * queues: words of another queue are left for that one's call.
 */
static void take_error(struct fw *fw, unsigned queue, struct fw_call *call)
{
    const uint32_t first = fw_register_read(fw, PR_ENGINE_TM + PR_TM_ERROR1);
    const bool own = first != PR_TM_ERROR_FINE &&
                     pr_bits_get(first, PR_TM_ERROR1_QUEUE_LO, PR_TM_ERROR1_QUEUE_WIDTH) == queue;

    for (unsigned i = 0; i < PR_TM_ERRORS; i++)
        call->error[i] = own ? fw_register_read(fw, PR_ENGINE_TM + PR_TM_ERROR1 + 4 * i) : PR_TM_ERROR_FINE;
    call->tm_status = fw_register_read(fw, PR_ENGINE_TM + PR_TM_STATUS);
    if (own)
        fw_register_write(fw, PR_ENGINE_TM + PR_TM_ERROR1, PR_TM_ERROR_FINE);
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
    if (kind == PR_TM_EVENT_FAILED) {
        const uint32_t code = pr_bits_get(detail, PR_TM_EVENT_CODE_LO, PR_TM_EVENT_CODE_WIDTH);

        take_error(fw, fw->call[number].level, &fw->call[number]);
        status = code == PR_TM_CODE_TRANSLATION ? PR_STATUS_TRANSLATION : PR_STATUS_ABORTED;
    }
    end(fw, number, status);
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
static void go_on(struct fw *fw)
{
    for (unsigned i = 0; i < PR_PRIORITIES; i++)
        if (fw->exeloop.level[i].waiting.head != FW_NO_CALL)
            fw_queue_pump(fw, i);
    fw_completion_notify(fw);
    if (!fw->exeloop.active)
        rt_fsm_post(&fw->exeloop.machine, FW_EVENT_DRAIN, 0);
}

void fw_completion_drain(struct fw *fw)
{
    drain_lines(fw);
    go_on(fw);
}

/*
 * Why a queue is overdue: an event without an interrupt, an idle task manager, or a queue that stopped.
 */
static enum pr_status overdue_reason(struct fw *fw)
{
    if (fw_register_read(fw, PR_ENGINE_TM + PR_TM_IRQ0_COUNT))
        return PR_STATUS_LOST_INTERRUPT;
    if (fw_register_read(fw, PR_ENGINE_TM + PR_TM_STATUS) & PR_TM_STATUS_IDLE)
        return PR_STATUS_NOT_STARTED;
    return PR_STATUS_STUCK;
}

static void abort_queue(struct fw *fw, unsigned level)
{
    const enum pr_status reason = overdue_reason(fw);
    uint32_t error = PR_TM_ERROR_FINE;
    uint16_t number;

    /* The oldest call is the one that the queue stopped on; taking its words clears them for the next. */
    while ((number = fw_queue_retire(fw, level)) != FW_NO_CALL) {
        take_error(fw, level, &fw->call[number]);
        if (fw->call[number].error[0] != PR_TM_ERROR_FINE)
            error = fw->call[number].error[0];
        end(fw, number, reason);
    }
    fw_queue_abort(fw, level);
    fw_log(fw, RT_LOG_ERROR, "queue %u did not retire its request within %u seconds: aborted, error 0x%x",
           level, PR_DEADLINE_MS / 1000, error);
}

/*
 * After an abort the event lines are read, so that no event of what was aborted is taken for a later call's.
 */
void fw_completion_deadline(struct fw *fw)
{
    const uint64_t now = rt_port_now(fw->port);
    bool aborted = false;
    uint64_t due;

    for (unsigned i = 0; i < PR_PRIORITIES; i++) {
        if (!fw_queue_overdue(fw, i, now))
            continue;
        abort_queue(fw, i);
        aborted = true;
    }
    if (aborted)
        fw_completion_drain(fw);
    if (fw_queue_deadline(fw, &due))
        rt_timer_start(fw->exeloop.deadline, due > now ? due - now : 1, 0);
}
