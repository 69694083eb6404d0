/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of a multiply-accumulate task as the datapath reads it: a dense one of fp16 values in place in
 * the streams, any other one expanded.
 *
 * A kernel is rows of fp16 values: a row for each input channel that an output channel sees, kernel row and
 * window column, in this order; in a row a column for each output channel and output column of a step.
 */
#ifndef ENGINE_WEIGHTS_H
#define ENGINE_WEIGHTS_H

#include "engine/compute.h"
#include "program/kernel.h"

struct eng_weights {
    const struct pr_kernel_bytes *streams; /* of a dense kernel; NULL for one that was expanded: */
    const uint16_t *values, *bias;         /* as pr_kernel_expand orders them */
};

/*
 * Makes a task's kernel readable; an expanded kernel goes to `memory`. `whole` streams are known to be long
 * enough for the task. Returns 0; -ENOMEM; -EINVAL with a
 * problem when the streams are too short, contradict themselves or make more weights than an expanded kernel
 * may have.
 */
int eng_weights_open(struct eng_weights *weights, const struct pr_task *task,
                     const struct pr_kernel_bytes *streams, bool whole, struct eng_scratch *memory,
                     struct pr_problem *problem);

/*
 * With steps wider than one, a kernel that is read in place has its rows by phase of the step: those whose
 * window column is one step further follow each other, others do not.
 */
bool eng_weights_are_phased(const struct eng_weights *weights, const struct pr_task *task);
/* Which row of the streams has a row of a phased kernel. */
uint64_t eng_weights_row(const struct pr_task *task, uint64_t row);

/*
 * A run: contiguous columns of one group's kernel, from `column` on and at most `most`. Returns how many
 * there are, where the first one's fp16 value of row `row` is, and the distance of rows in bytes
 * (of a phased kernel: of rows that follow each other).
 */
uint32_t eng_weights_run(const struct eng_weights *weights, const struct pr_task *task, uint32_t group,
                         uint32_t column, uint32_t most, uint64_t row, const uint8_t **from, size_t *stride);
uint16_t eng_weights_half(const struct eng_weights *weights, const struct pr_task *task, uint32_t group,
                          uint32_t column, uint64_t row);
/*
 * The same for the bias of output channels, of a task that has one: the run, and where its first fp16 value
 * is.
 */
uint32_t eng_weights_bias_run(const struct eng_weights *weights, const struct pr_task *task, uint32_t group,
                              uint32_t channel, uint32_t most, const uint8_t **from);

#endif
