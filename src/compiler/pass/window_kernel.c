/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels while they are rewritten, and how far windows reach. */
#include <errno.h>

#include "base/alloc.h"
#include "compiler/pass/window.h"

const uint32_t cc_window_limit[CC_WINDOW_AXES] = {PR_KERNEL_HEIGHT_MAX, PR_KERNEL_WIDTH_MAX};

bool cc_kernel_make(struct cc_build *b, const uint32_t dim[4], struct cc_kernel *kernel)
{
    size_t bytes = cc_shape_bytes(CC_FP32, 4, dim);

    *kernel = (struct cc_kernel){.dim = {dim[0], dim[1], dim[2], dim[3]}};
    if (b->status)
        return false;
    if (!bytes) {
        cc_build_refuse(b, "its kernel becomes %s, which is more than %llu bytes",
                        cc_shape_text(CC_FP32, 4, dim).text, CC_TENSOR_BYTES_MAX);
        return false;
    }
    kernel->w = base_alloc(bytes);
    if (!kernel->w)
        b->status = base_fail(b->error, ENOMEM, "There is no memory for a kernel of %zu bytes.", bytes);
    return kernel->w != NULL;
}

bool cc_kernel_of(struct cc_build *b, const struct cc_value *weight, struct cc_kernel *kernel)
{
    uint64_t count = cc_value_elements(weight);

    if (!cc_kernel_make(b, weight->dim, kernel))
        return false;
    for (uint64_t i = 0; i < count; i++)
        kernel->w[i] = (float)cc_value_number(weight, i);
    return true;
}

uint32_t cc_kernel_put(struct cc_build *b, struct cc_kernel *kernel)
{
    uint32_t value = cc_build_const(b, CC_FP32, 4, kernel->dim, kernel->w);

    kernel->w = NULL;
    return value + 1;
}

struct cc_reach cc_window_reach(int64_t first, int64_t last, uint32_t stride, uint32_t count,
                                uint32_t available)
{
    struct cc_reach r = {.first = first < 0 ? first : 0};
    int64_t begin = (int64_t)stride * (count - 1), end; /* of the last element */

    last = last > -begin ? last : -begin;
    last = last > r.first ? last : r.first;
    end = begin + last + 1;
    r.taps = (uint32_t)(last - r.first + 1);
    r.before = (uint32_t)-r.first;
    r.length = (uint32_t)(end < available ? end : available);
    r.after = (uint32_t)(end - r.length);
    return r;
}

void cc_window_pad_up(struct cc_attributes *a, const uint32_t in[2], const uint32_t out[2])
{
    for (unsigned i = 0; i < 2 && a->ceil; i++) {
        uint64_t wanted =
            (uint64_t)a->stride[i] * (out[i] - 1) + cc_window_extent(a->kernel[i], a->dilation[i]);
        uint64_t padded = (uint64_t)in[i] + a->pad[2 * i] + a->pad[2 * i + 1];

        if (wanted > padded)
            a->pad[2 * i + 1] += (uint32_t)(wanted - padded);
    }
    a->ceil = false;
}
