/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interrupt manager. Phases: watching; clearing, from an abort that did not clear at once until it has,
 * or the deadline has passed; resetting, from the notification of the host, with the reset mutex held, until
 * its RESET, or until the deadline has passed again, which is a fault.
 */
#include "firmware/intmgr.h"

#include "firmware/abort.h"
#include "firmware/exeloop.h"
#include "firmware/log.h"
#include "firmware/pump.h"
#include "firmware/shared.h"
#include "rtkernel/fault.h"
#include "rtkernel/irq.h"
#include "rtkernel/mutex.h"
#include "rtkernel/signal.h"
#include "rtkernel/task.h"
#include "rtkernel/timer.h"

#define POLL_NS (PR_DEADLINE_NS / 200) /* between two looks at a queue that was aborted */

#define BIT(channel) (1u << pr_channel_table[PR_CHANNEL_##channel].bit)

/* The host's write to scratch 3 or 7 raises the same line; a read of a scratch word lowers it. */
static void on_doorbell(void *arg, unsigned line)
{
    struct fw *fw = arg;
    const uint32_t rang = fw_register_read(fw, PR_CTRL_DOORBELL_PENDING);

    (void)line;
    if (rang)
        fw_register_write(fw, PR_CTRL_DOORBELL_ACK, rang);
    else
        (void)fw_register_read(fw, PR_CTRL_SCRATCH(7));
    fw_pump_want(fw, FW_TASK_EXELOOP, rang & (BIT(DATA_CHAIN_H2T) | BIT(IO_T2H) | FW_REASON_EVENTS));
    fw_pump_want(fw, FW_TASK_SERVER, rang & (BIT(IO) | BIT(DEBUG)));
    fw_pump_want(fw, FW_TASK_HOSTRPC, rang & (BIT(BUF_H2T) | BIT(SHAREDMALLOC)));
}

/*
 * Acknowledged here, before the events are read: one that comes later raises the line again, and an asserted
 * line does not repeat.
 */
static void on_engine(void *arg, unsigned line)
{
    struct fw *fw = arg;

    (void)line;
    fw_register_write(fw, PR_ENGINE_TM + PR_TM_IRQ_ACK, PR_TM_IRQ_ACK_0 | PR_TM_IRQ_ACK_1);
    fw_pump_want(fw, FW_TASK_EXELOOP, FW_REASON_ENGINE);
}

static void on_timeout(void *arg, unsigned line)
{
    struct fw *fw = arg;

    (void)line;
    fw->intmgr.stuck = true;
    fw_pump_want(fw, FW_TASK_INTMGR, FW_REASON_TIMEOUT);
}

/* A line that does not stop rising costs one record at a time. */
static void on_other(void *arg, unsigned line)
{
    struct fw *fw = arg;

    fw->intmgr.unhandled++;
    fw->intmgr.stray |= 1u << line;
    fw_pump_want(fw, FW_TASK_INTMGR, FW_REASON_STRAY);
}

void fw_intmgr_attach(struct fw *fw)
{
    for (unsigned line = 0; line < RT_IRQ_LINES; line++)
        (void)rt_irq_attach(fw->kernel, line,
                            line == FW_LINE_DOORBELL  ? on_doorbell
                            : line == FW_LINE_ENGINE  ? on_engine
                            : line == FW_LINE_TIMEOUT ? on_timeout
                                                      : on_other,
                            fw);
}

bool fw_intmgr_timeout(struct fw *fw, struct rt_timer **timer)
{
    return !rt_timer_create_interrupt(fw->kernel, timer, FW_LINE_TIMEOUT);
}

bool fw_intmgr_create(struct fw *fw)
{
    const struct fw_record poll = {.kind = FW_RECORD_POLL};

    return !rt_mutex_create(fw->kernel, &fw->intmgr.reset) &&
           !rt_timer_create_post(fw->kernel, &fw->intmgr.poll,
                                 rt_task_interrupts(fw->pump[FW_TASK_INTMGR].task), &poll, sizeof(poll));
}

/* The event record of the timeout: which queues are overdue, and for which call. */
static void log_timeout(struct fw *fw)
{
    const uint64_t now = rt_port_now(fw->port);

    for (unsigned i = 0; i < PR_PRIORITIES; i++) {
        const struct fw_level *l = &fw->exeloop.level[i];

        if (l->running.head == FW_NO_CALL || l->aborting || now - l->since < PR_DEADLINE_NS)
            continue;
        fw_log(fw, RT_LOG_ERROR, "timeout interrupt %llu: queue %u is stuck on program %u, process %u",
               (unsigned long long)fw->intmgr.timeouts, i, fw->call[l->running.head].program,
               fw->call[l->running.head].process);
    }
}

void fw_intmgr_checked(struct fw *fw, bool left)
{
    struct fw_intmgr *m = &fw->intmgr;

    if (m->phase == FW_INTMGR_RESETTING)
        return;
    m->stuck = left;
    if (left && m->phase == FW_INTMGR_WATCHING) {
        m->phase = FW_INTMGR_CLEARING;
        rt_timer_start(m->poll, POLL_NS, POLL_NS);
    }
    if (!left) {
        m->phase = FW_INTMGR_WATCHING;
        rt_timer_stop(m->poll);
    }
}

static void escalate(struct fw *fw)
{
    struct fw_intmgr *m = &fw->intmgr;

    (void)rt_mutex_lock(m->reset, RT_FOREVER);
    m->phase = FW_INTMGR_RESETTING;
    m->resets++;
    fw_exeloop_close(fw, FW_CLOSED_RESET);
    fw_log(fw, RT_LOG_ERROR,
           "the abort of queues %u to %u did not clear within %u seconds: the host must reset", m->first,
           m->last, PR_DEADLINE_MS / 1000);
    fw->exeloop.notify_reset = true;
    fw_pump_want(fw, FW_TASK_EXELOOP, BIT(IO_T2H));
    rt_signal_raise(fw->life.signal, FW_SIGNAL_RESET);
    rt_timer_start(m->poll, PR_DEADLINE_NS, 0);
}

static void poll(struct fw *fw)
{
    struct fw_intmgr *m = &fw->intmgr;
    uint64_t since;

    if (m->phase == FW_INTMGR_RESETTING)
        rt_fault_assert(fw->kernel, "no reset of queues %u to %u within %u seconds", m->first, m->last,
                        PR_DEADLINE_MS / 1000);
    if (!fw_abort_pending(fw, &since, &m->first, &m->last))
        fw_intmgr_checked(fw, false);
    else if (rt_port_now(fw->port) - since >= PR_DEADLINE_NS)
        escalate(fw);
    else
        fw_pump_want(fw, FW_TASK_EXELOOP, FW_REASON_CHECK);
}

/* The host has reset the range, and its calls have ended. Another abort may be under way meanwhile. */
static void end_reset(struct fw *fw)
{
    struct fw_intmgr *m = &fw->intmgr;
    uint64_t since;
    uint8_t first, last;

    rt_timer_stop(m->poll);
    m->phase = FW_INTMGR_WATCHING;
    fw_exeloop_open(fw, FW_CLOSED_RESET);
    (void)rt_mutex_unlock(m->reset);
    fw_intmgr_checked(fw, fw_abort_pending(fw, &since, &first, &last));
    fw_log(fw, RT_LOG_INFO, "queues %u to %u were reset by the host", m->first, m->last);
}

static void log_stray(struct fw *fw)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    const uint32_t stray = fw->intmgr.stray;

    fw->intmgr.stray = 0;
    rt_irq_restore(fw->kernel, previous);
    for (unsigned line = 0; line < RT_IRQ_LINES; line++)
        if (stray >> line & 1)
            fw_log(fw, RT_LOG_WARNING, "interrupt line %u has no handler (%llu unhandled)", line,
                   (unsigned long long)fw->intmgr.unhandled);
}

static void look(struct fw *fw)
{
    const uint32_t reasons = fw_pump_reasons(fw, FW_TASK_INTMGR);

    if (reasons & FW_REASON_STRAY)
        log_stray(fw);
    if (reasons & FW_REASON_TIMEOUT) {
        fw->intmgr.timeouts++;
        log_timeout(fw);
        fw_pump_want(fw, FW_TASK_EXELOOP, FW_REASON_ABORT);
    }
}

void fw_intmgr_run(struct fw *fw, const struct fw_record *record)
{
    switch (record->kind) {
    case FW_RECORD_LOOK: look(fw); break;
    case FW_RECORD_POLL: poll(fw); break;
    case FW_RECORD_RESET:
        end_reset(fw);
        fw_pump_answer(fw, record, PR_STATUS_OK);
        break;
    default: break;
    }
}
