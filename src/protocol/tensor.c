/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a task's tensors. */
#include "protocol/kernel.h"

uint32_t pr_format_bytes(enum pr_format format)
{
    return format == PR_FP16 ? 2 : 1;
}

static uint64_t span(const uint32_t extent[PR_AXES], const uint32_t stride[PR_AXES], uint64_t row)
{
    uint64_t last = 0;

    for (unsigned axis = PR_AXIS_H; axis < PR_AXES; axis++)
        last += (uint64_t)(extent[axis] - 1) * stride[axis];
    return last + row;
}

static uint64_t row_bytes(const uint32_t extent[PR_AXES], const uint32_t stride[PR_AXES])
{
    return (uint64_t)(extent[PR_AXIS_W] - 1) * stride[PR_AXIS_W] + 2;
}

uint64_t pr_tensor_span(const struct pr_tensor *tensor)
{
    uint64_t row;

    if (tensor->home == PR_HOME_NONE)
        return 0;
    row = row_bytes(tensor->extent, tensor->stride);
    /* Only packed rows have tails; other rows may be longer than 32 bits hold. */
    if (tensor->zero_tail && tensor->stride[PR_AXIS_W] == 2)
        row = pr_tensor_tail_end(tensor);
    return span(tensor->extent, tensor->stride, row);
}

uint64_t pr_tensor_keep_span(const struct pr_tensor *tensor)
{
    return span(tensor->keep_extent, tensor->keep_stride,
                row_bytes(tensor->keep_extent, tensor->keep_stride));
}

uint32_t pr_tensor_tail_end(const struct pr_tensor *tensor)
{
    uint32_t row = (uint32_t)row_bytes(tensor->extent, tensor->stride);
    uint32_t end = (uint32_t)pr_round_up(row, PR_ROW_ALIGN);

    if (tensor->stride[PR_AXIS_W] != 2)
        return row;
    for (unsigned axis = PR_AXIS_H; axis < PR_AXES; axis++)
        if (tensor->extent[axis] > 1 && tensor->stride[axis] >= row && tensor->stride[axis] < end)
            end = tensor->stride[axis];
    return end;
}

/* Of the axes with more than one element that are not taken, the one with the smallest stride; PR_AXES when there is none. */
static unsigned next_axis(const uint32_t extent[PR_AXES], const uint32_t stride[PR_AXES], unsigned taken)
{
    unsigned best = PR_AXES;

    for (unsigned axis = 0; axis < PR_AXES; axis++) {
        if (taken >> axis & 1 || extent[axis] == 1)
            continue;
        if (best == PR_AXES || stride[axis] < stride[best])
            best = axis;
    }
    return best;
}

bool pr_strides_overlap(const uint32_t extent[PR_AXES], const uint32_t stride[PR_AXES], uint64_t row)
{
    uint64_t inside = row ? row : 2; /* bytes that the axes so far span */
    unsigned taken = row ? 1u << PR_AXIS_W : 0, axis;

    while ((axis = next_axis(extent, stride, taken)) < PR_AXES) {
        if (stride[axis] < inside)
            return true;
        inside += (uint64_t)(extent[axis] - 1) * stride[axis];
        taken |= 1u << axis;
    }
    return false;
}

bool pr_tensor_overlaps(const struct pr_tensor *tensor, const uint32_t stride[PR_AXES])
{
    return pr_strides_overlap(tensor->extent, stride, 0);
}

uint64_t pr_tensor_elements(const struct pr_tensor *tensor)
{
    uint64_t count = 1;

    if (tensor->home == PR_HOME_NONE)
        return 0;
    for (unsigned axis = 0; axis < PR_AXES; axis++) {
        if (count > UINT64_MAX / 0x20000 / tensor->extent[axis])
            return UINT64_MAX / 0x20000;
        count *= tensor->extent[axis];
    }
    return count;
}

uint64_t pr_task_work(const struct pr_task *task)
{
    uint64_t elements = pr_tensor_elements(&task->dst);
    uint64_t taps;

    if (task->unit == PR_UNIT_PE)
        return task->pe.reduce ? pr_tensor_elements(&task->src[0]) : elements;
    if (task->ne.mode == PR_NE_BYPASS)
        return elements;
    taps = (uint64_t)pr_kernel_channels(task) * pr_kernel_window(task) * task->ne.kh;
    return elements > UINT64_MAX / taps ? UINT64_MAX : elements * taps;
}
