/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupt lines. Setting a line to the level that it already has does nothing; a change is traced before
 * the sink is called.
 */
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

static bool pass_taps(const struct soc_lines *lines, unsigned line, bool level)
{
    for (const struct soc_lines_tap *tap = lines->taps; tap; tap = tap->next)
        if (!tap->see(tap->context, line, level))
            return false;
    return true;
}

void soc_lines_change(struct soc_lines *lines, unsigned line, bool level)
{
    if (!pass_taps(lines, line, level))
        return;
    lines->line[line].level = level;
    SOC_TRACE(lines->trace, LINE_EDGE, level ? "rise" : "fall", line);
    if (level) {
        lines->line[line].rises++;
        if (lines->line[line].sink)
            lines->line[line].sink(lines->line[line].context);
    }
}

bool soc_lines_level(const struct soc_lines *lines, unsigned line)
{
    return lines->line[line].level;
}

void soc_lines_tap_add(struct soc_lines *lines, struct soc_lines_tap *tap)
{
    tap->next = lines->taps;
    lines->taps = tap;
}

void soc_lines_tap_remove(struct soc_lines *lines, struct soc_lines_tap *tap)
{
    struct soc_lines_tap **at = &lines->taps;

    while (*at && *at != tap)
        at = &(*at)->next;
    if (*at)
        *at = tap->next;
}
