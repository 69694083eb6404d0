/* SPDX-License-Identifier: Apache-2.0 */
/* What a task costs in virtual time. Computing and memory traffic overlap, so the slower of them counts. */
#include "program/cost.h"

#include "program/hwx.h"
#include "program/kernel.h"

/* Common to both machines: facts of the engine, not of the memory around it. */
#define ENGINE_CONSTANTS                                                                                    \
    .floor_ns = 230000,            /* dispatch floor, slope of many dispatches */                           \
        .fixed_cycles = 44,        /* per layer, the compiler's cost model */                               \
        .clock_mhz = 1140,         /* 0.8 of the highest of its table */                                    \
        .products = 6000000,       /* 12 TFLOP/s, matmul slope without overhead */                          \
        .products_large = 2400000, /* 4.8 TFLOP/s, the same chain when activations leave the working set */ \
        .working_set = 2u << 20,   /* 2 MB per operand */                                                   \
        .elements = 18240,         /* 16 elements a cycle; chosen */                                        \
        .controller_bytes = 85000  /* 85 GB/s at the memory controller */

const struct pr_cost_model pr_cost_m1_max = {
    .machine = "M1 Max",
    ENGINE_CONSTANTS,
    .surface_bytes = 10000, /* 10 GB/s, activations streamed by themselves */
};

const struct pr_cost_model pr_cost_m1 = {
    .machine = "M1", ENGINE_CONSTANTS, .surface_bytes = 5400, /* 5.4 GB/s, the same on the base M1 */
};

/* amount * 1000 / rate, or as much as there is room for. */
static uint64_t nanoseconds(uint64_t amount, uint64_t rate)
{
    return amount > UINT64_MAX / 1000 ? UINT64_MAX / rate : amount * 1000 / rate;
}

/* A tensor's bytes, each once: broadcast axes are not read again. */
static uint64_t tensor_bytes(const struct pr_tensor *t)
{
    uint64_t bytes = pr_tensor_elements(t) * pr_format_bytes(t->format);

    for (unsigned axis = 0; bytes && axis < PR_AXES; axis++)
        if (!t->stride[axis])
            bytes /= t->extent[axis];
    return bytes;
}

static uint64_t kernel_bytes(const struct pr_task *task)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; task->unit == PR_UNIT_NE && i < task->ne.engines; i++)
        bytes += pr_kernel_stream_bytes(task, i);
    return bytes;
}

static uint64_t tensor_ns(const struct pr_cost_model *model, const struct pr_tensor *t)
{
    if (t->home != PR_HOME_DRAM)
        return 0;
    return nanoseconds(tensor_bytes(t),
                       t->bar == PR_HWX_BAR_INTERMEDIATE ? model->controller_bytes : model->surface_bytes);
}

static uint64_t memory_ns(const struct pr_cost_model *model, const struct pr_task *task)
{
    return tensor_ns(model, &task->src[0]) + tensor_ns(model, &task->src[1]) + tensor_ns(model, &task->dst) +
           nanoseconds(kernel_bytes(task), model->surface_bytes);
}

static bool leaves_working_set(const struct pr_cost_model *model, const struct pr_task *task)
{
    return tensor_bytes(&task->src[0]) > model->working_set ||
           tensor_bytes(&task->dst) > model->working_set || kernel_bytes(task) > model->working_set;
}

static uint64_t compute_ns(const struct pr_cost_model *model, const struct pr_task *task)
{
    if (task->unit != PR_UNIT_NE || task->ne.mode != PR_NE_MAC)
        return nanoseconds(pr_task_work(task), model->elements);
    return nanoseconds(pr_task_work(task),
                       leaves_working_set(model, task) ? model->products_large : model->products);
}

uint64_t pr_cost_ns(const struct pr_cost_model *model, const struct pr_task *task)
{
    uint64_t compute = compute_ns(model, task), memory = memory_ns(model, task);

    return (uint64_t)model->fixed_cycles * 1000 / model->clock_mhz + (compute > memory ? compute : memory);
}
