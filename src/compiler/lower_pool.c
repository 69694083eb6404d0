/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max_pool and avg_pool: windows over each channel by itself. No public program has such a task; the form is inferred from windows,
 * unicast kernels, largest elements and kernels of ones, each of which public programs have.
 */
#include "base/alloc.h"
#include "compiler/half.h"
#include "compiler/lowering.h"

enum { PAD_MAX = 31, STRIDE_MAX = 3 }; /* Px and Py have five bits, Sx and Sy two */

static int check(const struct cc_lowering *l)
{
    const struct cc_attributes *a = &l->op->a;

    if (a->kernel[0] > PR_KERNEL_HEIGHT_MAX || a->kernel[1] > PR_KERNEL_WIDTH_MAX)
        return cc_refuse(l, "its window is %u high and %u wide; the engine takes windows up to %u by %u",
                         a->kernel[0], a->kernel[1], PR_KERNEL_HEIGHT_MAX, PR_KERNEL_WIDTH_MAX);
    if (a->stride[0] > STRIDE_MAX || a->stride[1] > STRIDE_MAX)
        return cc_refuse(l, "strides are %u and %u; a descriptor has strides up to %u", a->stride[0],
                         a->stride[1], STRIDE_MAX);
    if (a->pad[0] > PAD_MAX || a->pad[2] > PAD_MAX)
        return cc_refuse(l, "its padding is %u at the top and %u at the left; the engine takes at most %u",
                         a->pad[0], a->pad[2], PAD_MAX);
    return 0;
}

int cc_lower_pool(struct cc_lowering *l)
{
    const struct cc_attributes *a = &l->op->a;
    bool max = l->op->kind == CC_OP_MAX_POOL;
    struct pr_e5_record r = cc_record(max ? PR_E5_MAX : PR_E5_CONV);
    struct cc_layout in, out;
    int status = check(l);

    if (!status)
        status = cc_source(l, l->op->input[0], &r.src[0], &in);
    if (!status)
        status = cc_result(l, &r.dst, &out);
    if (status)
        return status;
    r.in[CC_W] = in.w;
    r.in[CC_H] = in.h;
    r.out[CC_W] = out.w;
    r.out[CC_H] = out.h;
    r.in[CC_C] = r.out[CC_C] = in.c;
    r.in[CC_G] = r.out[CC_G] = in.n;
    r.kh = a->kernel[0];
    r.kw = a->kernel[1];
    r.sy = a->stride[0];
    r.sx = a->stride[1];
    r.py = a->pad[0];
    r.px = a->pad[2];
    r.unicast = 1;
    if (!max) {
        r.flags = PR_E5_ONES;
        r.post_scale = cc_half_of_float(1.0f / (float)(r.kw * r.kh));
    }
    return cc_emit(l, &r);
}
