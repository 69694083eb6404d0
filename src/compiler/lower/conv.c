/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions. What a descriptor cannot express is refused before anything is emitted. A convolution whose
 * groups are its channels is a unicast kernel; any other with groups is one descriptor if all kernels fit,
 * else one per group.
 */
#include "compiler/lower/family.h"
#include "compiler/lower/mac.h"
#include "compiler/lower/operand.h"

static int check_conv(const struct cc_lowering *l, const struct cc_op *op, const struct cc_value *weight)
{
    const struct cc_attributes *a = &op->a;

    if (a->stride[0] > CC_STRIDE_MAX || a->stride[1] > CC_STRIDE_MAX)
        return cc_refuse(l, "its strides are %u and %u; a descriptor takes strides up to %u", a->stride[0],
                         a->stride[1], CC_STRIDE_MAX);
    if (a->dilation[0] != 1 || a->dilation[1] != 1)
        return cc_refuse(l, "its dilations are %u and %u; a descriptor has dilation 1", a->dilation[0],
                         a->dilation[1]);
    if (weight->dim[2] > PR_KERNEL_HEIGHT_MAX || weight->dim[3] > PR_KERNEL_WIDTH_MAX)
        return cc_refuse(
            l, "its kernel is %u high and %u wide; the engine takes fp16 kernels up to %u high and %u wide",
            weight->dim[2], weight->dim[3], PR_KERNEL_HEIGHT_MAX, PR_KERNEL_WIDTH_MAX);
    if (a->pad[0] > CC_PAD_MAX || a->pad[2] > CC_PAD_MAX)
        return cc_refuse(l, "its padding is %u at the top and %u at the left; the engine takes at most %u",
                         a->pad[0], a->pad[2], CC_PAD_MAX);
    return 0;
}

/* A group's kernel on one descriptor for each group, where all of them together do not fit. */
static int emit_groups(struct cc_lowering *l, struct cc_mac *mac, uint32_t groups)
{
    struct cc_mac part = *mac;
    int status = 0;

    mac->groups = groups;
    mac->src.group = mac->in[CC_C] * mac->src.plane;
    mac->dst.group = mac->out[CC_C] * mac->dst.plane;
    if (cc_mac_fits(mac))
        return cc_emit_mac(l, mac);
    for (uint32_t g = 0; g < groups && !status; g++) {
        status = cc_emit_mac(l, &part);
        part.src.offset += mac->src.group;
        part.dst.offset += mac->dst.group;
        part.weight += (size_t)mac->out[CC_C] * mac->step[0];
        if (mac->bias)
            part.bias += mac->out[CC_C];
    }
    return status;
}

int cc_lower_conv(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    const struct cc_attributes *a = &op->a;
    uint32_t w = a->weight - 1;
    const struct cc_value *weight = cc_value_of(l, w);
    uint32_t taps = weight->dim[2] * weight->dim[3];
    struct cc_mac mac = {.kh = weight->dim[2],
                         .kw = weight->dim[3],
                         .py = a->pad[0],
                         .px = a->pad[2],
                         .sy = a->stride[0],
                         .sx = a->stride[1]};
    struct cc_layout in, out;
    struct cc_table table;
    int status = check_conv(l, op, weight);

    if (!status)
        status = cc_source(l, op->input[0], &mac.src, &in);
    if (!status)
        status = cc_result(l, step->output, &mac.dst, &out);
    if (status)
        return status;
    mac.in[CC_W] = in.w;
    mac.in[CC_H] = in.h;
    mac.in[CC_C] = in.c;
    mac.out[CC_W] = out.w;
    mac.out[CC_H] = out.h;
    mac.out[CC_C] = out.c;
    mac.batches = in.n;
    mac.src_batch = in.batch;
    mac.dst_batch = out.batch;
    mac.weight = cc_data(l, w);
    mac.bias = a->bias ? cc_data(l, a->bias - 1) : NULL;
    mac.step[0] = weight->dim[1] * taps;
    mac.step[1] = taps;
    mac.step[2] = 1;
    cc_mac_fuse(&mac, step, &table);
    if (a->groups == 1)
        return cc_emit_mac(l, &mac);
    if (a->groups == in.c && a->groups == out.c) {
        mac.depthwise = true;
        return cc_emit_mac(l, &mac);
    }
    mac.in[CC_C] /= a->groups;
    mac.out[CC_C] /= a->groups;
    return emit_groups(l, &mac, a->groups);
}
