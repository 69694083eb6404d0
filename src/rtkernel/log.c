/* SPDX-License-Identifier: Apache-2.0 */
/* The log. A line is complete in the ring before the port gets it, and no task is woken by logging. */
#include "rtkernel/log.h"

#include "rtkernel/format.h"
#include "rtkernel/sched.h"

#define ORIGIN_BYTES 16u /* "irq " and a 32-bit number */

static const char *level_name(enum rt_log_level level)
{
    switch (level) {
    case RT_LOG_ERROR: return "error";
    case RT_LOG_WARNING: return "warning";
    case RT_LOG_INFO: return "info";
    case RT_LOG_DEBUG: return "debug";
    default: return "?";
    }
}

/* The task's name, "irq N" in `buffer`, or "boot". */
static const char *origin_name(const struct rt_kernel *kernel, char buffer[ORIGIN_BYTES])
{
    if (kernel->in_interrupt) {
        rt_format(buffer, ORIGIN_BYTES, "irq %u", kernel->line);
        return buffer;
    }
    return kernel->current ? kernel->current->name : "boot";
}

void rt_log(struct rt_kernel *kernel, enum rt_log_level level, const char *format, ...)
{
    struct rt_log_line *line;
    struct rt_port_line report = {.level = level_name(level)};
    char origin[ORIGIN_BYTES];
    uint32_t previous;
    va_list args;
    size_t head;

    if (level > kernel->log_level)
        return;
    previous = rt_sched_enter(kernel);
    line = &kernel->log[kernel->log_count % RT_LOG_LINES];
    line->time = rt_port_now(kernel->port);
    line->number = kernel->log_count++;
    report.origin = origin_name(kernel, origin);
    head = rt_format(line->text, sizeof(line->text), "%s %s: ", report.level, report.origin);
    va_start(args, format);
    report.length = head + rt_format_list(line->text + head, sizeof(line->text) - head, format, args);
    va_end(args);
    report.line = line->text;
    report.text = line->text + head;
    rt_port_log(kernel->port, &report);
    rt_port_irq_restore(kernel->port, previous); /* no task was woken; the fault path uses this too */
}

const struct rt_log_line *rt_log_recent(const struct rt_kernel *kernel, unsigned age)
{
    if (age >= RT_LOG_LINES || age >= kernel->log_count)
        return NULL;
    return &kernel->log[(kernel->log_count - 1 - age) % RT_LOG_LINES];
}
