/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a task costs in virtual time: a first model from published constants of the M1 (guide, section 6.1), none fitted here.
 *   time = fixed + max(arithmetic, memory)
 */
#include "engine/state.h"
#include "protocol/kernel.h"

#define FIXED_CYCLES               44u      /* per layer, compiler's cost model */
#define CLOCK_MHZ                  1140u    /* the operating point that model uses */
#define MACS_PER_MICROSECOND       6000000u /* 12 TFLOP/s, overhead-isolated matmul slope */
#define ELEMENTS_PER_MICROSECOND   18240u   /* planar engine: 16 lanes a cycle (chosen) */
#define DRAM_BYTES_PER_MICROSECOND 51000u   /* weight stream, wall clock */

static uint64_t dram_bytes(const struct pr_tensor *t)
{
    return t->home == PR_HOME_DRAM ? 2 * pr_tensor_elements(t) : 0;
}

static uint64_t kernel_bytes(const struct pr_task *task)
{
    uint64_t bytes = 0;

    if (task->unit == PR_UNIT_NE && task->ne.mode == PR_NE_MAC)
        for (uint32_t i = 0; i < task->ne.engines; i++)
            bytes += pr_kernel_stream_bytes(task, i);
    return bytes;
}

uint64_t eng_cost_ns(const struct pr_task *task)
{
    bool mac = task->unit == PR_UNIT_NE && task->ne.mode == PR_NE_MAC;
    uint64_t rate = mac ? MACS_PER_MICROSECOND : ELEMENTS_PER_MICROSECOND;
    uint64_t work = pr_task_work(task), bytes = kernel_bytes(task) + dram_bytes(&task->dst);
    uint64_t compute = work > UINT64_MAX / 1000 ? UINT64_MAX / rate : work * 1000 / rate;
    uint64_t memory;

    for (unsigned i = 0; i < 2; i++)
        bytes += dram_bytes(&task->src[i]);
    memory = bytes > UINT64_MAX / 1000 ? UINT64_MAX / DRAM_BYTES_PER_MICROSECOND
                                       : bytes * 1000 / DRAM_BYTES_PER_MICROSECOND;
    return (uint64_t)FIXED_CYCLES * 1000 / CLOCK_MHZ + (compute > memory ? compute : memory);
}
