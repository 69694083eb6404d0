/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of machine.h, by name. */
#include <string.h>

#include "base/array.h"
#include "machine/internal.h"
#include "protocol/message.h"

static uint64_t counter(struct ane_machine *m, const char *name)
{
    struct dart_stats dart = dart_stats_get(m->dart);
    struct eng_stats engine = eng_stats_get(m->engine);
    struct drv_stats driver = m->driver ? drv_stats_get(m->driver) : (struct drv_stats){0};
    uint64_t reports = 0;
    const struct pr_load_report *load = m->driver ? drv_debug_load(m->driver, &reports) : NULL;
    const struct {
        const char *name;
        uint64_t value;
    } table[] = {
        {"bus.unanswered", soc_bus_unanswered(m->bus)},
        {"clock.events", soc_clock_fired(m->clock)},
        {"controller.doorbells_lost", m->controller.doorbells_lost},
        {"dart.faults", dart.faults},
        {"dart.missing_invalidates", dart.missing_invalidates},
        {"dart.slow_grants", dart.slow_grants},
        {"dart.vmas", dart.vmas},
        {"dart.vmas_peak", dart.vmas_peak},
        {"dart.walks", dart.walks},
        {"dart.window_drops", dart.window_drops},
        {"driver.fault_latch", m->driver && drv_fault_latched(m->driver)},
        {"driver.faults", m->driver ? drv_fault_last(m->driver)->count : 0},
        {"dram.used", soc_memory_used(m->memory)},
        {"driver.cancelled", driver.cancelled},
        {"driver.client_pages", driver.client_pages},
        {"driver.crashes", driver.crashes},
        {"driver.dumps", driver.dumps},
        {"driver.dumps_incomplete", driver.dumps_incomplete},
        {"driver.dumps_unwritten", m->dump.unwritten},
        {"driver.evictions", driver.evictions},
        {"driver.load_busy_ns", load ? load->busy_ns : 0},
        {"driver.load_reports", reports},
        {"driver.load_score", driver.load_score},
#define X(command, name) {"driver.notify_" name, driver.notified[PR_NOTIFICATION_##command]},
        PR_NOTIFICATIONS(X)
#undef X
            {"driver.recoveries", driver.recoveries},
        {"driver.rewired", driver.rewired},
        {"driver.rpc_answered", driver.rpc_answered},
        {"driver.saving_sleeps", driver.saving_sleeps},
        {"driver.stats_events", driver.stats_events},
        {"driver.stats_log", driver.stats_log},
        {"driver.stats_valid", driver.stats_valid},
        {"driver.unwired", driver.unwired},
        {"engine.aborted", engine.aborted},
        {"engine.descriptors", engine.descriptors},
        {"engine.faulted", engine.faulted},
        {"engine.gated", engine.gated},
        {"engine.ignored", engine.ignored},
        {"engine.requests", engine.requests},
        {"engine.reused", engine.reused},
        {"engine.stuck", engine.stuck},
        {"gpu.bad_stores", m->gpu.bad},
        {"gpu.doorbells", m->gpu.doorbells},
        {"line.rises", m->lines.line[MACH_LINE_ENGINE].rises},
        {"trace.lines", m->trace.lines},
    };

    for (size_t i = 0; i < BASE_COUNT_OF(table); i++)
        if (name && !strcmp(table[i].name, name))
            return table[i].value;
    return 0;
}

uint64_t ane_machine_counter(struct ane_machine *machine, const char *name)
{
    uint64_t value;

    if (!mach_enter(machine))
        return 0;
    value = counter(machine, name);
    mach_leave(machine);
    return value;
}
