/* SPDX-License-Identifier: Apache-2.0 */
/* The log. A line is complete in the ring before the port gets it, and no task is woken by logging. */
#include "rtkernel/log.h"

#include "rtkernel/format.h"
#include "rtkernel/sched.h"

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

static size_t put_origin(const struct rt_kernel *kernel, struct rt_log_line *line, enum rt_log_level level)
{
    if (kernel->in_interrupt)
        return rt_format(line->text, sizeof(line->text), "%s irq %u: ", level_name(level), kernel->line);
    return rt_format(line->text, sizeof(line->text), "%s %s: ", level_name(level),
                     kernel->current ? kernel->current->name : "boot");
}

void rt_log(struct rt_kernel *kernel, enum rt_log_level level, const char *format, ...)
{
    struct rt_log_line *line;
    uint32_t previous;
    va_list args;
    size_t length;

    if (level > kernel->log_level)
        return;
    previous = rt_sched_enter(kernel);
    line = &kernel->log[kernel->log_count % RT_LOG_LINES];
    line->time = rt_port_now(kernel->port);
    line->number = kernel->log_count++;
    length = put_origin(kernel, line, level);
    va_start(args, format);
    length += rt_format_list(line->text + length, sizeof(line->text) - length, format, args);
    va_end(args);
    rt_port_log(kernel->port, line->text, length);
    rt_port_irq_restore(kernel->port, previous); /* no task was woken; the fault path uses this too */
}

const struct rt_log_line *rt_log_recent(const struct rt_kernel *kernel, unsigned age)
{
    if (age >= RT_LOG_LINES || age >= kernel->log_count)
        return NULL;
    return &kernel->log[(kernel->log_count - 1 - age) % RT_LOG_LINES];
}
