/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace: one line per event, `<ns> <layer> <what> key=value ...`, all hexadecimal with 0x. It is a
 * function of the machine's inputs alone: no host pointer, wall time or thread order. A running hash covers
 * every line whether or not a sink is set.
 */
#ifndef SOC_TRACE_H
#define SOC_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct soc_clock;

/* Layers, in the order of the house. */
enum soc_layer {
    SOC_LAYER_BUS,
    SOC_LAYER_LINE,
    SOC_LAYER_PMU,
    SOC_LAYER_DART,
    SOC_LAYER_ENGINE,
    SOC_LAYER_CONTROLLER, /* the registers between host and controller */
    SOC_LAYER_FIRMWARE,   /* what the firmware logs */
    SOC_LAYER_DRIVER,
    SOC_LAYER_CLIENT, /* selectors in and out */
    SOC_LAYER_COUNT
};

typedef void (*soc_trace_sink)(void *context, const char *line, size_t length);

struct soc_trace {
    const struct soc_clock *clock;
    bool on; /* no line is formed while off */
    uint64_t hash;
    uint64_t lines;
    soc_trace_sink sink;
    void *context;
};

void soc_trace_init(struct soc_trace *trace, const struct soc_clock *clock);
/* Switches tracing on; sink may be NULL (only the hash runs). */
void soc_trace_start(struct soc_trace *trace, soc_trace_sink sink, void *context);
void soc_trace_line(struct soc_trace *trace, enum soc_layer layer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The warm path pays one test when tracing is off. */
#define SOC_TRACE(trace, layer, ...)                       \
    do {                                                   \
        if ((trace)->on)                                   \
            soc_trace_line((trace), (layer), __VA_ARGS__); \
    } while (0)

#endif
