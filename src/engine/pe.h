/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planar engine: elementwise operations of one or two sources, and reductions of what they give over the
 * plane of each channel and group. struct pr_pe has the formulas.
 */
#ifndef ENGINE_PE_H
#define ENGINE_PE_H

#include "engine/compute.h"
#include "engine/kernels.h"

/* Runs a task of PR_UNIT_PE that pr_task_decode accepted. Cannot fail. */
void eng_pe_run(struct eng_compute *compute, const struct pr_task *task, const struct eng_operands *operands);

/* Within the room: the task's constants, the parts of a reduction, and the fast path. */
void eng_pe_constants_of(struct eng_pe_constants *constants, const struct pr_task *task,
                         const struct eng_operands *operands, const struct eng_rules *rules);
void eng_pe_reduce_begin(float lanes[ENG_LANES], const struct eng_pe_constants *constants);
float eng_pe_reduce_element(float lane, float a, float b, const struct eng_pe_constants *constants);
float eng_pe_function(float value, const struct eng_pe_constants *constants);
float eng_pe_reduce_end(float lanes[ENG_LANES], const struct eng_pe_constants *constants);
void eng_pe_fast(struct eng_pool *pool, const struct eng_pe_constants *constants,
                 const struct eng_operands *operands, bool reduces);

#endif
