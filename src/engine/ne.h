/* SPDX-License-Identifier: Apache-2.0 */
/* The neural engines: convolution (and matrix product, which is one of 1x1), and bypass. */
#ifndef ENGINE_NE_H
#define ENGINE_NE_H

#include "engine/compute.h"
#include "engine/kernels.h"
#include "protocol/kernel.h"

/*
 * Runs a task of PR_UNIT_NE that pr_task_decode accepted. `streams` has PR_ENGINES_MAX entries and may be
 * NULL for a bypass. Returns 0; -ENOMEM when there is no working memory, and then nothing was written;
 * -EINVAL when a stream is shorter than pr_kernel_stream_bytes or the task is none that is run (groups or
 * depth in a convolution), which is never so for a decoded task.
 */
int eng_ne_run(struct eng_compute *compute, const struct pr_task *task, const struct eng_operands *operands,
               const struct pr_kernel_bytes *streams);

/* Within the room: a task on its way. */
struct eng_ne {
    const struct pr_task *task;
    const struct eng_operands *operands;
    const struct pr_kernel_bytes *streams;
    const struct eng_rules *rules;
    struct eng_scratch *scratch;
    struct eng_pool *pool;
    struct eng_finish finish;
};

int eng_ne_mac_fast(const struct eng_ne *ne);

#endif
