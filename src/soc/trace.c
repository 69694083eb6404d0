/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace. While tracing is on, every event is printed and hashed, also when no function takes lines or
 * records, so that the hash does not depend on who listens.
 */
#include "soc/trace.h"

#include <stdarg.h>
#include <string.h>

#include "soc/clock.h"

#define FNV_OFFSET 0xcbf29ce484222325ull
#define FNV_PRIME  0x100000001b3ull

void soc_trace_init(struct soc_trace *trace, const struct soc_clock *clock)
{
    *trace = (struct soc_trace){.clock = clock, .hash = FNV_OFFSET};
}

void soc_trace_start(struct soc_trace *trace, const struct soc_trace_out *out)
{
    uint8_t header[PR_TRACE_HEADER_BYTES];

    trace->on = true;
    trace->out = out ? *out : (struct soc_trace_out){0};
    if (!trace->out.record)
        return;
    pr_trace_write_header(header);
    trace->out.record(trace->out.context, header, sizeof(header));
}

void soc_trace_divert(struct soc_trace *trace,
                      void (*detour)(void *context, const struct soc_trace_entry *entry), void *context)
{
    trace->detour = detour;
    trace->detour_context = context;
}

void soc_trace_deliver(const struct soc_trace *trace, const struct soc_trace_entry *entry)
{
    if (trace->out.line)
        trace->out.line(trace->out.context, entry->line, entry->line_bytes);
    if (trace->out.record)
        trace->out.record(trace->out.context, entry->record, entry->record_bytes);
}

static void take_values(struct pr_trace_record *record, va_list args)
{
    const struct pr_trace_event *event = pr_trace_event(record->event);

    for (unsigned i = 0; i < event->fields; i++) {
        struct pr_trace_value *value = &record->value[i];

        if (!pr_trace_kind_is_text(event->field[i].kind)) {
            value->number = va_arg(args, uint64_t);
            continue;
        }
        value->text = va_arg(args, const char *);
        value->length = strlen(value->text);
    }
}

void soc_trace_emit(struct soc_trace *trace, enum pr_trace_event_id event, ...)
{
    struct pr_trace_record record = {.ns = soc_clock_now(trace->clock), .event = (uint16_t)event};
    char line[PR_TRACE_LINE_MAX];
    uint8_t bytes[PR_TRACE_RECORD_MAX];
    struct soc_trace_entry entry = {.line = line, .record = bytes};
    va_list args;

    va_start(args, event);
    take_values(&record, args);
    va_end(args);
    entry.line_bytes = pr_trace_print(&record, line);
    for (size_t i = 0; i < entry.line_bytes; i++)
        trace->hash = (trace->hash ^ (uint8_t)line[i]) * FNV_PRIME;
    trace->lines++;
    if (!trace->out.line && !trace->out.record)
        return;
    if (trace->out.record)
        entry.record_bytes = pr_trace_encode(&record, bytes);
    if (trace->detour)
        trace->detour(trace->detour_context, &entry);
    else
        soc_trace_deliver(trace, &entry);
}
