/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load monitor. The execution loop adds up; this task reports. A report without a buffer (loadpool.c) or
 * a slot is counted as lost.
 */
#include "firmware/loadmon.h"

#include "firmware/channel.h"
#include "firmware/control.h"
#include "firmware/doorbell.h"
#include "firmware/loadpool.h"
#include "firmware/log.h"
#include "firmware/notify.h"
#include "firmware/pump.h"
#include "firmware/rpc.h"
#include "firmware/shared.h"
#include "rtkernel/irq.h"
#include "rtkernel/task.h"
#include "rtkernel/timer.h"

bool fw_loadmon_create(struct fw *fw)
{
    const struct fw_record poll = {.kind = FW_RECORD_POLL};

    fw->loadmon.begin = rt_port_now(fw->port);
    return fw_loadpool_create(fw) &&
           !rt_timer_create_post(fw->kernel, &fw->loadmon.score_timer,
                                 rt_task_interrupts(fw->pump[FW_TASK_LOADMON].task), &poll, sizeof(poll));
}

/* A span of the load score begins. With interrupts masked, or in the execution loop. */
static void begin_score(struct fw *fw, uint64_t now, uint64_t busy)
{
    fw->loadmon.measuring = true;
    fw->loadmon.score_begin = now;
    fw->loadmon.score_busy = busy;
    rt_timer_start(fw->loadmon.score_timer, PR_LOAD_SCORE_NS, 0);
}

void fw_loadmon_enter(struct fw *fw)
{
    fw->loadmon.entered = rt_port_now(fw->port);
    fw->loadmon.busy_now = true;
    if (fw->loadmon.watching && !fw->loadmon.measuring)
        begin_score(fw, fw->loadmon.entered, fw->loadmon.busy_ever);
}

void fw_loadmon_leave(struct fw *fw)
{
    const uint64_t busy = rt_port_now(fw->port) - fw->loadmon.entered;

    fw->loadmon.busy += busy;
    fw->loadmon.busy_ever += busy;
    fw->loadmon.busy_now = false;
}

void fw_loadmon_finished(struct fw *fw)
{
    if (++fw->loadmon.finished % PR_LOAD_CALLS == 0)
        fw_pump_want(fw, FW_TASK_LOADMON, FW_REASON_REPORT);
}

/* The span up to now. With interrupts masked: the execution loop adds to it. */
static struct pr_load_report measure(struct fw *fw, uint64_t now)
{
    const struct fw_loadmon *m = &fw->loadmon;

    return (struct pr_load_report){.sequence = m->sequence,
                                   .lost = m->lost,
                                   .time = fw_shared_host_time(fw),
                                   .span_ns = now - m->begin,
                                   .busy_ns = m->busy + (m->busy_now ? now - m->entered : 0),
                                   .calls = m->finished - m->reported_finished,
                                   .dropped = fw->count[FW_DROPPED] - m->reported_dropped};
}

static struct pr_load_report end_span(struct fw *fw)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    const uint64_t now = rt_port_now(fw->port);
    struct fw_loadmon *m = &fw->loadmon;
    const struct pr_load_report report = measure(fw, now);

    m->begin = now;
    m->busy = 0;
    if (m->busy_now) {
        m->busy_ever += now - m->entered;
        m->entered = now;
    }
    m->reported_finished = m->finished;
    m->reported_dropped = fw->count[FW_DROPPED];
    rt_irq_restore(fw->kernel, previous);
    return report;
}

static void send_report(struct fw *fw)
{
    struct fw_loadmon *m = &fw->loadmon;
    struct pr_load_report report;
    uint64_t address;
    uint32_t slot;

    address = fw_channel_room(fw, PR_CHANNEL_BUF_T2H, &slot) ? fw_loadpool_take(fw, m->sequence) : 0;
    if (!address) {
        m->lost++;
        fw_log(fw, RT_LOG_WARNING, "a load report is lost: the host has all %u buffers (%u lost)", m->buffers,
               m->lost);
        return;
    }
    report = end_span(fw);
    m->sequence++;
    (void)fw_shared_out(fw, address, &report, sizeof(report));
    fw_channel_send(fw, PR_CHANNEL_BUF_T2H, address, sizeof(report), PR_BUFFER_LOAD_REPORT);
    fw_doorbell_ring(fw, PR_CHANNEL_BUF_T2H);
    /* The clocks are compared again, unless the host is about to go. */
    if (!fw->closed)
        (void)fw_rpc_call(fw, PR_RPC_TIME, NULL, 0);
}

/* The last span's score; the next span begins unless nothing was busy. */
static struct pr_notify_load end_score(struct fw *fw)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    const uint64_t now = rt_port_now(fw->port);
    struct fw_loadmon *m = &fw->loadmon;
    const uint64_t total = m->busy_ever + (m->busy_now ? now - m->entered : 0);
    struct pr_notify_load load = {.head.id = PR_CMD_CPU_LOAD_NOTIFICATION,
                                  .span_ns = now - m->score_begin,
                                  .busy_ns = total - m->score_busy,
                                  .time = fw_shared_host_time(fw)};

    load.score = load.span_ns ? (uint32_t)(load.busy_ns * PR_LOAD_SCORE_MAX / load.span_ns) : 0;
    m->score = load.score;
    m->measuring = false;
    if (m->watching && load.busy_ns)
        begin_score(fw, now, total);
    rt_irq_restore(fw->kernel, previous);
    return load;
}

/* A watermark is reported when it is crossed, not while the load stays on one side. */
static void judge_score(struct fw *fw)
{
    struct pr_notify_load load = end_score(fw);
    struct fw_loadmon *m = &fw->loadmon;
    const uint32_t *property = fw->setting.property;

    if (!m->watching || (m->above ? load.score >= property[PR_PROPERTY_LOAD_LOW]
                                  : load.score <= property[PR_PROPERTY_LOAD_HIGH]))
        return;
    m->above = !m->above;
    load.above = m->above;
    fw_notify_post(fw, &load, sizeof(load));
}

enum pr_status fw_loadmon_get(struct fw *fw, struct pr_command_header *header, void *body)
{
    const uint32_t previous = rt_irq_mask(fw->kernel);
    const struct pr_load_report report = measure(fw, rt_port_now(fw->port));

    (void)header;
    rt_irq_restore(fw->kernel, previous);
    rt_memcpy(body, &report, sizeof(report));
    return PR_STATUS_OK;
}

void fw_loadmon_run(struct fw *fw, const struct fw_record *record)
{
    if (record->kind == FW_RECORD_COMMAND)
        fw_pump_answer(fw, record, fw_control_execute(fw));
    else if (record->kind == FW_RECORD_POLL)
        judge_score(fw);
    else if (fw_pump_reasons(fw, FW_TASK_LOADMON) & FW_REASON_REPORT)
        send_report(fw);
}
