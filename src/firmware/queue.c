/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor driver. A level's credit and its running calls add up to FW_CREDIT. Calls are retired in the
 * order of their pushes.
 */
#include "firmware/queue.h"

#include "firmware/call.h"
#include "firmware/exeloop.h"
#include "firmware/log.h"
#include "firmware/shared.h"
#include "firmware/signpost.h"
#include "protocol/log_line.h"
#include "rtkernel/fault.h"

static uint32_t queue_reg(unsigned queue, uint32_t reg)
{
    return PR_ENGINE_TQ + queue * PR_TQ_STRIDE + reg;
}

void fw_queue_start(struct fw *fw)
{
    fw_register_write(fw, PR_ENGINE_TM + PR_TM_TQ_EN, PR_TM_TQ_EN_ON);
    for (unsigned i = 0; i < PR_TQ_COUNT; i++) {
        fw_register_write(fw, queue_reg(i, PR_TQ_STATUS), PR_TQ_STATUS_IN_USE);
        fw_register_write(fw, queue_reg(i, PR_TQ_PRTY), fw->tunables.weight[i]);
    }
    fw_register_write(fw, PR_ENGINE_TM + PR_TM_IRQ_EN1, PR_TM_IRQ_EN1_ON);
    fw_register_write(fw, PR_ENGINE_TM + PR_TM_IRQ_EN2, PR_TM_IRQ_EN2_ON);
}

void fw_queue_stop(struct fw *fw)
{
    fw_register_write(fw, PR_ENGINE_TM + PR_TM_TQ_EN, 0);
    for (unsigned i = 0; i < PR_TQ_COUNT; i++)
        fw_register_write(fw, queue_reg(i, PR_TQ_STATUS), 0);
}

/* Each id is in use once. Sixteen requests at most are on the queues, so there is always one. */
static uint8_t take_network(struct fw_exeloop *e)
{
    do
        e->network = e->network == PR_NETWORK_ID_MAX ? PR_NETWORK_ID_MIN : e->network + 1;
    while (e->networks[e->network / 32] >> (e->network % 32) & 1);
    e->networks[e->network / 32] |= 1u << (e->network % 32);
    return (uint8_t)e->network;
}

void fw_queue_key(const struct fw *fw, const struct fw_call *call, uint64_t key[PR_KEY_PARTS])
{
    key[PR_KEY_USER] = fw->process[call->process].user;
    key[PR_KEY_JOB] = call->ticket;
    key[PR_KEY_PRIORITY] = key[PR_KEY_HWQ] = key[PR_KEY_QUEUE] = call->level;
    key[PR_KEY_TQ] = call->network;
}

static void mark(struct fw *fw, const struct fw_call *call)
{
    uint64_t key[PR_KEY_PARTS];

    fw_queue_key(fw, call, key);
    rt_port_mark(fw->port, PR_MARK_SCHEDULE, key, PR_KEY_PARTS);
}

/* Wide ones go into the firmware's own table instead. */
static void write_bars(struct fw *fw, const struct fw_call *call, unsigned queue)
{
    const uint32_t first = queue_reg(queue, PR_TQ_BAR1);

    fw->wide_bars[queue] = call->wide;
    if (!call->wide) {
        rt_port_write_words(fw->port, fw->registers + first, call->bar, PR_TQ_BARS);
        return;
    }
    for (unsigned i = 0; i < PR_TQ_BARS; i++)
        if (call->wide >> i & 1)
            fw->wide[queue][i] = PR_MAPPED_BASE | call->bar[i];
        else
            fw_register_write(fw, first + 4 * i, call->bar[i]);
}

/*
 * The queue is enabled; 35 words, less those of wide BARs, go into its registers, then its stream, and the
 * words of the push.
 */
static void push(struct fw *fw, struct fw_call *call)
{
    const unsigned queue = call->level;

    fw_exeloop_check(fw, "a push");
    call->network = take_network(&fw->exeloop);
    fw->exeloop.network_level[call->network] = (uint8_t)queue;
    mark(fw, call);
    fw_register_write(fw, queue_reg(queue, PR_TQ_STATUS), PR_TQ_STATUS_IN_USE);
    write_bars(fw, call, queue);
    fw_register_write(fw, queue_reg(queue, PR_TQ_NID1),
                      (uint32_t)call->network << PR_TQ_NID_LO | PR_TQ_NID_VALID);
    fw_register_write(fw, queue_reg(queue, PR_TQ_SIZE1),
                      call->info >> PR_TM_INFO_SIZE_LO << PR_TM_INFO_SIZE_LO);
    fw_register_write(fw, queue_reg(queue, PR_TQ_ADDR1), call->address);
    fw_register_write(fw, queue_reg(queue, PR_TQ_STREAM), call->stream);
    fw_register_write(fw, PR_ENGINE_TM + PR_TM_REQ_ADDR, call->address);
    fw_register_write(fw, PR_ENGINE_TM + PR_TM_REQ_INFO, call->info);
    rt_port_barrier(fw->port);
    fw_register_write(fw, PR_ENGINE_TM + PR_TM_REQ_PUSH,
                      (uint32_t)fw->tunables.weight[queue] << PR_TM_PUSH_PRIORITY_LO |
                          queue << PR_TM_PUSH_QUEUE_LO);
}

/* Once, from the first call that finds no room until none waits. */
static void log_full(struct fw *fw, struct fw_level *l)
{
    if (!l->full)
        fw_log_quiet(fw, RT_LOG_INFO, PR_LINE_QUEUE_FULL);
    l->full = true;
}

void fw_queue_pump(struct fw *fw, unsigned level)
{
    struct fw_level *l = &fw->exeloop.level[level];

    if (!l->credit && l->waiting.head != FW_NO_CALL)
        log_full(fw, l);
    while (l->credit && l->waiting.head != FW_NO_CALL && !l->aborting) {
        uint64_t now;
        uint16_t number;

        fw_exeloop_check(fw, "a look at vacancy");
        /*
         * With credit left the queue is vacant, unless another master uses it. The deadline handles that
         * case.
         */
        if (!fw_register_read(fw, queue_reg(level, PR_TQ_VACANT))) {
            log_full(fw, l);
            return;
        }
        number = fw_call_take(fw, &l->waiting);
        now = rt_port_now(fw->port);
        if (l->running.head == FW_NO_CALL)
            l->since = now;
        fw->exeloop.late += now - fw->call[number].accepted > fw->tunables.switch_ns &&
                            fw->tunables.switch_ns && fw->call[number].lead == number;
        l->credit--;
        fw->call[number].pushed = now;
        fw->call[number].charged = fw->exeloop.charged;
        push(fw, &fw->call[number]);
        fw_signpost(fw, PR_SIGNPOST_PUSHED, level, fw->call[number].network);
        fw_call_put(fw, &l->running, number);
        l->full &= l->waiting.head != FW_NO_CALL;
    }
}

void fw_queue_submit(struct fw *fw, uint16_t number)
{
    const unsigned level = fw->call[number].level;
    struct fw_level *l = &fw->exeloop.level[level];

    if (level >= PR_SCHEDULE_SLOTS)
        rt_fault_assert(fw->kernel, "%s does not hold: %u", pr_rule_table[PR_RULE_QUEUE_ID].text, level);
    if (l->running.head == FW_NO_CALL && l->waiting.head == FW_NO_CALL)
        l->since = rt_port_now(fw->port);
    fw->call[number].dispatched = true;
    for (; number != FW_NO_CALL; number = fw->call[number].follow) {
        fw->exeloop.active++;
        fw_call_put(fw, &l->waiting, number);
    }
    fw_queue_pump(fw, level);
}

uint16_t fw_queue_retire(struct fw *fw, unsigned level)
{
    struct fw_exeloop *e = &fw->exeloop;
    struct fw_level *l = &e->level[level];
    const uint16_t number = fw_call_take(fw, &l->running);
    uint8_t network;

    if (number == FW_NO_CALL)
        return number;
    network = fw->call[number].network;
    e->networks[network / 32] &= ~(1u << (network % 32));
    l->credit++;
    l->since = rt_port_now(fw->port);
    e->active--;
    return number;
}

uint16_t fw_queue_unwait(struct fw *fw, unsigned level)
{
    const uint16_t number = fw_call_take(fw, &fw->exeloop.level[level].waiting);

    if (number != FW_NO_CALL)
        fw->exeloop.active--;
    return number;
}

/* The lead itself is not freed: its event has to be sent. */
void fw_queue_cancel(struct fw *fw, uint16_t lead)
{
    struct fw_level *l = &fw->exeloop.level[fw->call[lead].level];
    struct fw_list waiting = l->waiting;
    uint16_t number;

    l->waiting = (struct fw_list){FW_NO_CALL, FW_NO_CALL};
    while ((number = fw_call_take(fw, &waiting)) != FW_NO_CALL) {
        if (fw->call[number].lead != lead) {
            fw_call_put(fw, &l->waiting, number);
            continue;
        }
        fw->exeloop.active--;
        fw->call[lead].left--;
        if (number != lead)
            fw_call_put(fw, &fw->exeloop.free, number);
    }
}

bool fw_queue_vacant(struct fw *fw, unsigned level)
{
    fw_exeloop_check(fw, "a look at an aborted queue");
    return fw_register_read(fw, queue_reg(level, PR_TQ_VACANT)) == FW_CREDIT;
}

static bool busy(const struct fw_level *l)
{
    return l->running.head != FW_NO_CALL || l->waiting.head != FW_NO_CALL;
}

bool fw_queue_overdue(const struct fw *fw, unsigned level, uint64_t now)
{
    const struct fw_level *l = &fw->exeloop.level[level];

    return busy(l) && !l->aborting && now - l->since >= PR_DEADLINE_NS;
}

bool fw_queue_deadline(const struct fw *fw, uint64_t *time)
{
    bool any = false;

    for (unsigned i = 0; i < PR_PRIORITIES; i++) {
        const struct fw_level *l = &fw->exeloop.level[i];

        if (!busy(l) || l->aborting || (any && l->since + PR_DEADLINE_NS >= *time))
            continue;
        *time = l->since + PR_DEADLINE_NS;
        any = true;
    }
    return any;
}

void fw_queue_abort(struct fw *fw, unsigned level)
{
    fw_exeloop_check(fw, "an abort");
    fw_register_write(fw, PR_ENGINE_TM + PR_TM_ABORT, PR_TM_ABORT_QUEUE(level));
    fw->exeloop.level[level].since = rt_port_now(fw->port);
}
