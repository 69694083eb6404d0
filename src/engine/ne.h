/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The neural engines: convolution (and matrix product, which is one of 1x1), the largest of or the product of
 * a window, and bypass.
 */
#ifndef ENGINE_NE_H
#define ENGINE_NE_H

#include <assert.h>

#include "engine/compute.h"
#include "engine/kernels.h"
#include "engine/table.h"
#include "engine/weights.h"
#include "program/kernel.h"

/* Maximum number of output columns in one step: the register has two bits. */
#define ENG_NE_OX_MAX 3u

/*
 * Runs a task of PR_UNIT_NE that pr_task_decode accepted. `streams` has PR_ENGINES_MAX entries and may be
 * NULL for a task that has neither kernel nor table. Returns 0. On failure the destination is unchanged:
 * -ENOMEM when there is no working memory; -EINVAL with a problem when the streams are too short or hold no
 * kernel or no table, or when the task is not supported, which is never the case for a decoded one.
 */
int eng_ne_run(struct eng_compute *compute, const struct pr_task *task, const struct eng_operands *operands,
               const struct pr_kernel_bytes *streams, struct pr_problem *problem);
/* The same with kernel (NULL for a task without one) and table (or NULL) read. */
int eng_ne_compute(struct eng_compute *compute, const struct pr_task *task,
                   const struct eng_operands *operands, const struct eng_weights *weights,
                   const struct eng_table *table);

/* Within the room: one group of a task that is being run. */
struct eng_ne {
    const struct pr_task *task;
    struct eng_operands operands; /* the group's */
    const struct eng_weights *weights;
    uint32_t group; /* of the kernel */
    const struct eng_rules *rules;
    bool exact;                 /* sums are made as exact.h says */
    enum eng_winograd winograd; /* ENG_WINOGRAD_OFF: the group is computed without it */
    struct eng_scratch *scratch;
    struct eng_pool *pool;
    struct eng_finish finish;
};

/*
 * How the fast paths convert, sum and store the numbers of a group. Kernels that scale find the ceiling by
 * scaled inputs and weights; for the others it is a limit of the partial sums.
 */
struct eng_mac_setup {
    const struct eng_kernels *kernels;
    struct eng_load input, weight;
    struct eng_finish finish;
    float ceiling; /* infinite: none */
};

struct eng_mac_setup eng_mac_setup(const struct eng_ne *ne);

/* A task without a kernel, by either path. */
void eng_ne_bypass(const struct eng_ne *ne, enum eng_path path);
/* The reference, one output row at a time; the rows are distributed over `pool`. */
int eng_ne_reference(const struct eng_ne *ne, struct eng_pool *pool);
/* Multiply-accumulate whose sums are made as exact.h says; a task with one output column a step. */
int eng_ne_exact(const struct eng_ne *ne);
/*
 * Multiply-accumulate where every output channel sees every input channel, one output column a step: the
 * first one chooses between vectors of columns, which it runs itself, and vectors of channels.
 */
int eng_ne_mac_fast(const struct eng_ne *ne);
int eng_ne_tiles(const struct eng_ne *ne);
/* Kernels of one tap over few pixels; -ENOTSUP, and the task is still to be computed, for all others. */
int eng_ne_gemv(const struct eng_ne *ne);
/*
 * Windows over one channel that have kernels of their own; -ENOTSUP, and nothing is done, for all others.
 */
int eng_ne_window(const struct eng_ne *ne);
/* The largest of windows of one element, likewise. */
int eng_ne_select(const struct eng_ne *ne);
/* All others: output channels that have their own input channels, several columns a step, folds. */
int eng_ne_columns(const struct eng_ne *ne);

static inline uint32_t eng_least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

/* Blocks of `each` that hold `all`; neither is 0. */
static inline uint32_t eng_ne_blocks(uint32_t all, uint32_t each)
{
    assert(all > 0 && each > 0);
    return (all - 1) / each + 1;
}

/*
 * The window's taps along one axis that are inside the input for output (or step) `out`: [first, end), empty
 * when none is.
 */
static inline void eng_ne_taps_inside(uint32_t out, uint32_t step, uint32_t pad, uint32_t taps, uint32_t in,
                                      uint32_t *first, uint32_t *end)
{
    int64_t begin = (int64_t)out * step - pad; /* where tap 0 is */
    int64_t last = (int64_t)in - begin;

    *first = begin < 0 ? (-begin < taps ? (uint32_t)-begin : taps) : 0;
    *end = last < taps ? (last > 0 ? (uint32_t)last : 0) : taps;
    if (*end < *first)
        *end = *first;
}

#endif
