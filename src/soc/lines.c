/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupt lines. */
#include "soc/lines.h"

#include <string.h>

#include "soc/trace.h"

void soc_lines_init(struct soc_lines *lines, struct soc_trace *trace)
{
    memset(lines, 0, sizeof(*lines));
    lines->trace = trace;
}

void soc_lines_wire(struct soc_lines *lines, unsigned line, void (*sink)(void *context), void *context)
{
    lines->line[line].sink = sink;
    lines->line[line].context = context;
}

static void call_sink(struct soc_lines *lines, unsigned line)
{
    if (lines->line[line].sink && !lines->line[line].masked)
        lines->line[line].sink(lines->line[line].context);
}

void soc_lines_set(struct soc_lines *lines, unsigned line, bool level)
{
    if (lines->line[line].level == level)
        return;
    lines->line[line].level = level;
    SOC_TRACE(lines->trace, LINE_EDGE, level ? "rise" : "fall", line);
    if (level) {
        lines->line[line].rises++;
        call_sink(lines, line);
    }
}

bool soc_lines_level(const struct soc_lines *lines, unsigned line)
{
    return lines->line[line].level;
}

void soc_lines_mask(struct soc_lines *lines, unsigned line, bool masked)
{
    bool was = lines->line[line].masked;

    lines->line[line].masked = masked;
    if (was && !masked && lines->line[line].level)
        call_sink(lines, line);
}
