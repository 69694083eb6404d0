/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupt lines: level-triggered wires from blocks to their sinks. A sink is called when its line rises. */
#ifndef SOC_LINES_H
#define SOC_LINES_H

#include <stdbool.h>
#include <stdint.h>

#define SOC_LINES 8

struct soc_trace;

/*
 * A tap sees a change of level before the line does. False drops it, so that the line keeps its level and no
 * sink is called.
 */
struct soc_lines_tap {
    bool (*see)(void *context, unsigned line, bool level);
    void *context;
    struct soc_lines_tap *next; /* the lines' */
};

struct soc_lines {
    struct soc_trace *trace;
    struct soc_lines_tap *taps;
    struct {
        bool level;
        uint64_t rises; /* times the level went up */
        void (*sink)(void *context);
        void *context;
    } line[SOC_LINES];
};

void soc_lines_init(struct soc_lines *lines, struct soc_trace *trace);
void soc_lines_wire(struct soc_lines *lines, unsigned line, void (*sink)(void *context), void *context);
void soc_lines_change(struct soc_lines *lines, unsigned line, bool level);
static inline void soc_lines_set(struct soc_lines *lines, unsigned line, bool level)
{
    if (lines->line[line].level != level)
        soc_lines_change(lines, line, level);
}
bool soc_lines_level(const struct soc_lines *lines, unsigned line);

/*
 * The tap is not copied and stays in place until it is removed. The newest sees a change first. Neither call
 * may be made from inside a tap.
 */
void soc_lines_tap_add(struct soc_lines *lines, struct soc_lines_tap *tap);
void soc_lines_tap_remove(struct soc_lines *lines, struct soc_lines_tap *tap);

#endif
