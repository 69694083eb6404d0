/* SPDX-License-Identifier: Apache-2.0 */
/* Reports: whole lines, as many as the host left room for. */
#include "firmware/report.h"

#include "base/array.h"
#include "firmware/builtin.h"
#include "firmware/cache.h"
#include "firmware/disposition.h"
#include "firmware/log.h"
#include "rtkernel/format.h"
#include "rtkernel/heap.h"
#include "rtkernel/kernel.h"
#include "rtkernel/pool.h"
#include "rtkernel/task.h"

static size_t counters_text(const struct fw *fw, char *text, size_t bytes)
{
    const struct {
        const char *name;
        uint64_t value;
    } row[] = {
        {"finished", fw->loadmon.finished},
        {"late", fw->exeloop.late},
        {"switch-threshold-ns", fw->tunables.switch_ns},
        {"unknown", fw->exeloop.unknown},
        {"stale", fw->exeloop.stale},
        {"timeouts", fw->intmgr.timeouts},
        {"resets", fw->intmgr.resets},
        {"unhandled-interrupts", fw->intmgr.unhandled},
        {"doorbells-rejected", fw->rejected},
        {"terminal-lost", fw->terminal.lost},
        {"load-reports-lost", fw->loadmon.lost},
        {"islands-gated", fw->power.gated},
        {"statistics-unmapped", fw->stats.unmapped},
        {"run-mode", fw->setting.run_mode},
        {"secure-mode", fw->secure.phase},
        {"secure-switches", fw->secure.switches},
        {"secure-timeouts", fw->secure.timeouts},
        {"secure-calls-waiting", fw->secure.waiting},
        {"secure-triggers-dropped", fw->secure.dropped_ever},
        {"dsid", fw->setting.dsid},
        {"call-log", fw->exeloop.log_level},
        {"load-buffers", fw->loadmon.buffers},
        {"ipcEndpointSetDone", !(fw->closed & FW_CLOSED_ENDPOINT)},
        {"held", fw->events.count},
        {"held-ever", fw->events.held_ever},
        {"cache-executions", fw->cache.ended},
        {"cache-triggers-dropped", fw->cache.dropped},
        {"built-in-programs", fw_builtin_count(fw)},
        {"sub-packets", fw->exeloop.packets},
        {"load-score", fw->loadmon.score},
        {"notifications-lost", fw->notify.lost_ever},
        {"rpc-calls", fw->rpc.calls},
        {"rpc-answered", fw->rpc.answered},
        {"rpc-dirty", fw->rpc.dirty},
        {"rpc-unsent", fw->rpc.unsent},
        {"rpc-synchronised", fw->rpc.synchronised},
        {"rpc-payloads", fw->rpc.payloads},
        {"rpc-checksum", fw->rpc.checksum},
        {"prefetched-bytes", fw->prefetch.bytes},
        {"prefetched-programs", fw->prefetch.programs},
        {"sanity-checks", fw->exeloop.checks},
        {"sanity-broken", fw->exeloop.insane},
        {"refused-posts", rt_kernel_refused_posts(fw->kernel)},
    };
    struct rt_lines lines = {.text = text, .bytes = bytes};

    for (unsigned i = 0; i < FW_DISPOSITION_COUNT; i++)
        rt_format_line(&lines, "%s %llu", fw_disposition_name((enum fw_disposition)i),
                       (unsigned long long)fw->count[i]);
    for (unsigned i = 0; i < BASE_COUNT_OF(row); i++)
        rt_format_line(&lines, "%s %llu", row[i].name, (unsigned long long)row[i].value);
    return lines.length;
}

enum pr_status fw_report_get(struct fw *fw, struct pr_command_header *header, void *body)
{
    struct pr_body_report *report = body;
    const size_t head = offsetof(struct pr_body_report, text), left = fw->server.capacity - head,
                 room = left < sizeof(report->text) ? left : sizeof(report->text);
    size_t length = 0;

    (void)header;
    if (report->report >= PR_REPORTS) {
        fw_log(fw, RT_LOG_WARNING, "report %u: there are %u", report->report, PR_REPORTS);
        return PR_STATUS_BAD_ARGUMENT;
    }
    if (room) {
        switch (report->report) {
        case PR_REPORT_TASKS: length = rt_task_list_text(fw->kernel, report->text, room); break;
        case PR_REPORT_POOLS: length = rt_pool_text(fw->kernel, report->text, room); break;
        case PR_REPORT_ARENAS: length = rt_heap_text(fw->kernel, report->text, room); break;
        case PR_REPORT_CACHE: length = fw_cache_text(fw, report->text, room); break;
        case PR_REPORT_COUNTERS: length = counters_text(fw, report->text, room); break;
        }
    }
    report->bytes = (uint32_t)length;
    fw->server.reply = head + length;
    return PR_STATUS_OK;
}
