/* SPDX-License-Identifier: Apache-2.0 */
/*
 * max_pool and avg_pool: windows over each channel separately. No public program has such a task; the form is
 * inferred from windows, unicast kernels and maxima, each of which public programs have.
 */
#include <math.h>
#include <string.h>

#include "compiler/half.h"
#include "compiler/lower/emit.h"
#include "compiler/lower/family.h"
#include "compiler/lower/mac.h"
#include "compiler/lower/operand.h"

static int check(const struct cc_lowering *l, const struct cc_op *op)
{
    const struct cc_attributes *a = &op->a;

    if (a->kernel[0] > PR_KERNEL_HEIGHT_MAX || a->kernel[1] > PR_KERNEL_WIDTH_MAX)
        return cc_refuse(l, "its window is %u high and %u wide; the engine takes windows up to %u by %u",
                         a->kernel[0], a->kernel[1], PR_KERNEL_HEIGHT_MAX, PR_KERNEL_WIDTH_MAX);
    if (a->stride[0] > CC_STRIDE_MAX || a->stride[1] > CC_STRIDE_MAX)
        return cc_refuse(l, "its strides are %u and %u; a descriptor takes strides up to %u", a->stride[0],
                         a->stride[1], CC_STRIDE_MAX);
    if (a->dilation[0] != 1 || a->dilation[1] != 1)
        return cc_refuse(l, "its dilations are %u and %u; a descriptor has dilation 1", a->dilation[0],
                         a->dilation[1]);
    if (a->ceil || a->exclude_padding)
        return cc_refuse(l, "its windows leave elements out; a descriptor counts all of them");
    if (a->pad[0] > CC_PAD_MAX || a->pad[2] > CC_PAD_MAX)
        return cc_refuse(l, "its padding is %u at the top and %u at the left; the engine takes at most %u",
                         a->pad[0], a->pad[2], CC_PAD_MAX);
    return 0;
}

static int maximum(struct cc_lowering *l, const struct cc_mac *window, uint32_t batches)
{
    struct pr_e5_record r = cc_record(PR_E5_MAX);

    r.src[0] = window->src;
    r.dst = window->dst;
    memcpy(r.in, window->in, sizeof(window->in));
    memcpy(r.out, window->out, sizeof(window->out));
    r.in[CC_G] = r.out[CC_G] = batches;
    r.kh = window->kh;
    r.kw = window->kw;
    r.sy = window->sy;
    r.sx = window->sx;
    r.py = window->py;
    r.px = window->px;
    r.unicast = 1;
    return cc_emit(l, &r);
}

/* One window that covers the whole channel: a mean on the planar engine, for windows of any size. */
static int average_all(struct cc_lowering *l, const struct cc_mac *window, uint32_t batches)
{
    struct pr_e5_record r = cc_record(PR_E5_REDUCE);

    r.op = PR_PE_REDUCE_SUM;
    r.final_scale = cc_float_bits(1.0f / ((float)window->kw * (float)window->kh));
    r.src[0] = window->src;
    r.dst = window->dst;
    memcpy(r.in, window->in, sizeof(window->in));
    memcpy(r.out, window->out, sizeof(window->out));
    r.in[CC_G] = r.out[CC_G] = batches;
    return cc_emit(l, &r);
}

/* Two fp16 factors whose product is closest to a number in [2, 4); the first one is in [2, 4) too. */
static void split_factor(double factor, uint16_t *slope, uint16_t *scale)
{
    enum { STEPS = 1024 }; /* fp16 values in [2, 4) */
    double error_min = factor;

    for (unsigned i = 0; i < STEPS; i++) {
        uint16_t half = (uint16_t)(PR_HALF_TWO + i);
        double first = (double)cc_float_of_half(half);
        uint16_t second = cc_half_of_float((float)(factor / first));
        double error = fabs(first * (double)cc_float_of_half(second) - factor);

        if (error >= error_min)
            continue;
        error_min = error;
        *slope = half;
        *scale = second;
    }
}

/*
 * The weights are 2^-k, at most 1/2 of 1/n, so that no partial sum reaches the ceiling of 2^15. The
 * post-scale and the slope of a linear table supply the rest of the factor 1/n: two fp16 factors are more
 * precise than one. The ceiling does not apply after a table, so averages above 2^15 are stored too.
 */
static int average(struct cc_lowering *l, const struct cc_mac *window, uint32_t batches)
{
    struct cc_pieces line = {
        PR_HALF_MINUS_INFINITE, PR_HALF_INFINITE, PR_HALF_MINUS_INFINITE, PR_HALF_INFINITE, 0, 0, 0};
    uint32_t count = window->kw * window->kh;
    struct cc_mac mac = *window;
    struct cc_table table;
    uint16_t weight;
    int k = 1;

    while (1u << (k - 1) < count)
        k++;
    split_factor(ldexp(1, k) / count, &line.positive, &mac.scale);
    line.negative = line.positive;
    table = cc_table_pieces(&line);
    weight = cc_half_of_float(ldexpf(1, -k));
    mac.table = &table;
    mac.weight = &weight;
    mac.depthwise = true;
    mac.batches = 1;
    /* The planes of all batches are contiguous and can be treated as channels. */
    if ((uint64_t)mac.in[CC_C] * batches <= PR_CHANNELS_MAX)
        mac.in[CC_C] = mac.out[CC_C] = mac.in[CC_C] * batches;
    else
        mac.batches = batches;
    return cc_emit_mac(l, &mac);
}

int cc_lower_pool(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    const struct cc_attributes *a = &op->a;
    struct cc_mac window = {.kh = a->kernel[0],
                            .kw = a->kernel[1],
                            .sy = a->stride[0],
                            .sx = a->stride[1],
                            .py = a->pad[0],
                            .px = a->pad[2]};
    struct cc_layout in, out;
    int status = cc_source(l, op->input[0], &window.src, &in);

    if (!status)
        status = cc_result(l, step->output, &window.dst, &out);
    if (status)
        return status;
    window.in[CC_W] = in.w;
    window.in[CC_H] = in.h;
    window.out[CC_W] = out.w;
    window.out[CC_H] = out.h;
    window.in[CC_C] = window.out[CC_C] = in.c;
    window.src_batch = in.batch;
    window.dst_batch = out.batch;
    if (op->kind == CC_OP_AVG_POOL && window.kw == in.w && window.kh == in.h && out.w == 1 && out.h == 1 &&
        !a->pad[0] && !a->pad[2])
        return average_all(l, &window, in.n);
    status = check(l, op);
    if (status)
        return status;
    return op->kind == CC_OP_MAX_POOL ? maximum(l, &window, in.n) : average(l, &window, in.n);
}
