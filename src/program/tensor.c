/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a task's tensors. Interleaved elements count as bundles: a step along their axis is one bundle. */
#include "program/kernel.h"

uint32_t pr_format_bytes(enum pr_format format)
{
    return format == PR_FP16 ? 2 : 1;
}

/* Elements of a bundle: they are contiguous, and the packed axis steps over all of them. */
static uint32_t bundle_elements(const struct pr_tensor *tensor)
{
    return tensor->interleave > 1 ? tensor->interleave : 1;
}

static uint32_t bundle_bytes(const struct pr_tensor *tensor)
{
    return bundle_elements(tensor) * pr_format_bytes(tensor->format);
}

/* Steps along an axis: along the interleaved one, bundles. */
static uint32_t steps(const struct pr_tensor *tensor, unsigned axis)
{
    uint32_t each = axis == pr_tensor_bundled(tensor) ? bundle_elements(tensor) : 1;

    return (tensor->extent[axis] - 1) / each + 1;
}

/* From the first byte to past the last one that the bundles touch, at one place of the other axes. */
static uint64_t bundles_span(const struct pr_tensor *tensor)
{
    unsigned axis = pr_tensor_bundled(tensor);
    uint32_t each = bundle_elements(tensor), elements = tensor->extent[axis], last = (elements - 1) / each;
    uint64_t stride = tensor->stride[axis];
    uint64_t end = last * stride + (uint64_t)(elements - last * each) * pr_format_bytes(tensor->format);
    /* A last bundle that is not full may end before the one before it does. */
    uint64_t before = last ? (last - 1) * stride + bundle_bytes(tensor) : 0;

    return end > before ? end : before;
}

/* `bytes` are those of axis `apart`. */
static uint64_t span(const uint32_t extent[PR_AXES], const uint32_t stride[PR_AXES], unsigned apart,
                     uint64_t bytes)
{
    uint64_t last = 0;

    for (unsigned axis = 0; axis < PR_AXES; axis++)
        if (axis != apart)
            last += (uint64_t)(extent[axis] - 1) * stride[axis];
    return last + bytes;
}

/* Only packed rows have tails; other rows may be longer than 32 bits hold. */
static bool has_tails(const struct pr_tensor *tensor)
{
    return tensor->zero_tail && !tensor->transposed && tensor->stride[PR_AXIS_W] == bundle_bytes(tensor);
}

uint64_t pr_tensor_span(const struct pr_tensor *tensor)
{
    const uint32_t *extent = tensor->extent, *stride = tensor->stride;
    uint64_t before;

    if (tensor->home == PR_HOME_NONE)
        return 0;
    if (!has_tails(tensor))
        return span(extent, stride, pr_tensor_bundled(tensor), bundles_span(tensor));
    before = (uint64_t)(extent[PR_AXIS_W] - 1) * stride[PR_AXIS_W];
    return span(extent, stride, PR_AXIS_C,
                (uint64_t)(steps(tensor, PR_AXIS_C) - 1) * stride[PR_AXIS_C] + pr_tensor_tail_end(tensor) -
                    before);
}

/* Channels that are contiguous in DRAM are a stride apart in the kept copy. */
uint64_t pr_tensor_keep_span(const struct pr_tensor *tensor)
{
    const uint32_t *extent = tensor->keep_extent, *stride = tensor->keep_stride;
    uint64_t channels = (uint64_t)(extent[PR_AXIS_C] - 1) * stride[PR_AXIS_C];

    return span(extent, stride, PR_AXIS_C, channels + pr_format_bytes(tensor->format));
}

uint32_t pr_tensor_tail_end(const struct pr_tensor *tensor)
{
    uint32_t row = (tensor->extent[PR_AXIS_W] - 1) * tensor->stride[PR_AXIS_W] + bundle_bytes(tensor);
    uint32_t end = (uint32_t)pr_round_up(row, PR_ROW_ALIGN);

    if (tensor->stride[PR_AXIS_W] != bundle_bytes(tensor))
        return row;
    for (unsigned axis = PR_AXIS_H; axis < PR_AXES; axis++)
        if (steps(tensor, axis) > 1 && tensor->stride[axis] >= row && tensor->stride[axis] < end)
            end = tensor->stride[axis];
    return end;
}

/*
 * Of the axes with more than one element that are not taken, the one with the smallest stride; PR_AXES when
 * there is none.
 */
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

bool pr_strides_overlap(const uint32_t extent[PR_AXES], const uint32_t stride[PR_AXES], uint32_t element,
                        uint64_t row)
{
    uint64_t inside = row ? row : element; /* bytes that the axes so far span */
    unsigned taken = row ? 1u << PR_AXIS_W : 0, axis;

    while ((axis = next_axis(extent, stride, taken)) < PR_AXES) {
        if (stride[axis] < inside)
            return true;
        inside += (uint64_t)(extent[axis] - 1) * stride[axis];
        taken |= 1u << axis;
    }
    return false;
}

/* A bundle counts whole, whether or not its last channels are there. */
bool pr_tensor_overlaps(const struct pr_tensor *tensor)
{
    uint32_t count[PR_AXES];

    for (unsigned axis = 0; axis < PR_AXES; axis++)
        count[axis] = steps(tensor, axis);
    return pr_strides_overlap(count, tensor->stride, bundle_bytes(tensor), 0);
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
