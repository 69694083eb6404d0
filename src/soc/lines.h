/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupt lines: level-triggered wires from blocks to whoever is wired to them. A sink is called when its
 * line rises.
 */
#ifndef SOC_LINES_H
#define SOC_LINES_H

#include <stdbool.h>
#include <stdint.h>

#define SOC_LINES 8

struct soc_trace;

struct soc_lines {
    struct soc_trace *trace;
    struct {
        bool level;
        bool masked;
        uint64_t rises; /* times the level went up */
        void (*sink)(void *context);
        void *context;
    } line[SOC_LINES];
};

void soc_lines_init(struct soc_lines *lines, struct soc_trace *trace);
void soc_lines_wire(struct soc_lines *lines, unsigned line, void (*sink)(void *context), void *context);
void soc_lines_set(struct soc_lines *lines, unsigned line, bool level);
bool soc_lines_level(const struct soc_lines *lines, unsigned line);
/* A masked line keeps its level but calls nobody; unmasking a high line calls the sink. */
void soc_lines_mask(struct soc_lines *lines, unsigned line, bool masked);

#endif
