/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a task costs in virtual time, by the published constants of the M1 (guide, chapters 9 to 11 and 18;
 * none fitted here):
 *
 *   time = fixed + max(products / rate, bytes / bandwidth)
 *
 * The rate falls when an operand is larger than the working set. A dispatch adds a floor, which is the host's
 * and the firmware's and no descriptor's. `anemone bench m1` compares the sum with published latencies.
 */
#ifndef PROGRAM_COST_H
#define PROGRAM_COST_H

#include "program/task.h"

/* Rates per microsecond. */
struct pr_cost_model {
    const char *machine;
    uint32_t floor_ns;         /* of a dispatch, end to end */
    uint32_t fixed_cycles;     /* of a descriptor */
    uint32_t clock_mhz;        /* the operating point of the compiler's own cost model */
    uint64_t products;         /* multiply-accumulates, operands within the working set ... */
    uint64_t products_large;   /* ... and beyond it */
    uint32_t working_set;      /* bytes of one operand */
    uint64_t elements;         /* tasks without products */
    uint64_t surface_bytes;    /* inputs, outputs and kernels */
    uint64_t controller_bytes; /* intermediates in DRAM */
};
extern const struct pr_cost_model pr_cost_m1, pr_cost_m1_max;

/* Nanoseconds of one task, without the dispatch's floor. */
uint64_t pr_cost_ns(const struct pr_cost_model *model, const struct pr_task *task);

#endif
