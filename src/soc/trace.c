/* SPDX-License-Identifier: Apache-2.0 */
/* The trace. */
#include "soc/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "soc/clock.h"

#define FNV_OFFSET 0xcbf29ce484222325ull
#define FNV_PRIME  0x100000001b3ull

static const char *const layer_name[SOC_LAYER_COUNT] = {
    [SOC_LAYER_BUS] = "bus",     [SOC_LAYER_LINE] = "line",  [SOC_LAYER_PMU] = "pmu",
    [SOC_LAYER_DART] = "dart",   [SOC_LAYER_ENGINE] = "eng", [SOC_LAYER_CONTROLLER] = "asc",
    [SOC_LAYER_FIRMWARE] = "fw", [SOC_LAYER_DRIVER] = "drv", [SOC_LAYER_CLIENT] = "client",
};

void soc_trace_init(struct soc_trace *trace, const struct soc_clock *clock)
{
    *trace = (struct soc_trace){.clock = clock, .hash = FNV_OFFSET};
}

void soc_trace_start(struct soc_trace *trace, soc_trace_sink sink, void *context)
{
    trace->on = true;
    trace->sink = sink;
    trace->context = context;
}

void soc_trace_line(struct soc_trace *trace, enum soc_layer layer, const char *format, ...)
{
    char line[512];
    va_list args;
    int length =
        snprintf(line, sizeof(line), "%" PRIu64 " %s ", soc_clock_now(trace->clock), layer_name[layer]);

    va_start(args, format);
    length += vsnprintf(line + length, sizeof(line) - (size_t)length, format, args);
    va_end(args);
    if (length > (int)sizeof(line) - 2)
        length = sizeof(line) - 2;
    line[length++] = '\n';
    line[length] = '\0';
    for (int i = 0; i < length; i++)
        trace->hash = (trace->hash ^ (uint8_t)line[i]) * FNV_PRIME;
    trace->lines++;
    if (trace->sink)
        trace->sink(trace->context, line, (size_t)length);
}
