/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions whose weights are computed at run time. What each tap reads of x is a slice; all of them are
 * the rows of a matrix [in taps, H W] for each group, in the order of the weights, and the convolution is
 * its product with the weights as a matrix [out, in taps].
 */
#include "base/alloc.h"
#include "compiler/pass/phases.h"
#include "compiler/pass/window.h"

/* What tap i reads, at every place of the result. */
static uint32_t tap(struct cc_build *b, const struct cc_attributes *a, uint32_t x, uint32_t width, uint32_t i,
                    const uint32_t out[4], uint32_t channels)
{
    const uint32_t begin[4] = {0, 0, i / width * a->dilation[0], i % width * a->dilation[1]};
    const uint32_t size[4] = {out[0], channels, out[2], out[3]}, step[4] = {1, 1, a->stride[0], a->stride[1]};

    return b->status ? 0 : cc_build_slice(b, x, begin, size, step);
}

/* [N, taps in, H, W], tap by tap. */
static uint32_t patches(struct cc_build *b, const struct cc_attributes *a, uint32_t x,
                        const struct cc_value *weight, const uint32_t out[4], uint32_t channels)
{
    uint32_t taps = weight->dim[2] * weight->dim[3], width = weight->dim[3], joined = 0;
    uint32_t *part = base_alloc_array(taps, sizeof(*part));

    if (!part)
        cc_build_refuse(b, "there is no memory for %u taps", taps);
    for (uint32_t i = 0; i < taps && !b->status; i++)
        part[i] = tap(b, a, x, width, i, out, channels);
    if (!b->status)
        joined = cc_build_concat(b, taps, part, 1);
    base_free(part);
    return joined;
}

/* The bias of each output channel. */
static uint32_t biased(struct cc_rewrite *r, uint32_t y, uint32_t parameter)
{
    const struct cc_value *bias = parameter ? &r->from->value[parameter - 1] : NULL;
    uint32_t value;

    if (!bias || r->to.status)
        return y;
    value =
        cc_build_reshape(&r->to, cc_rewrite_value(r, parameter - 1), 3, (uint32_t[3]){bias->dim[0], 1, 1});
    return cc_build_binary(&r->to, CC_OP_ADD, y, value);
}

void cc_window_conv_runtime(struct cc_rewrite *r, const struct cc_op *op)
{
    const struct cc_attributes *a = &op->a;
    struct cc_build *b = &r->to;
    const struct cc_value *in = &r->from->value[op->input[0]], *weight = cc_op_weight(r->from, op);
    const uint32_t *out = r->from->value[op->output].dim;
    uint32_t n = out[0], taps = weight->dim[2] * weight->dim[3], places = out[2] * out[3], g = a->groups;
    uint32_t inner = weight->dim[1] * taps, w = cc_rewrite_value(r, op->input[1]);
    uint32_t x = cc_rewrite_value(r, op->input[0]), length[2];

    for (unsigned i = 0; i < 2; i++)
        length[i] = (uint32_t)((uint64_t)a->stride[i] * (out[2 + i] - 1) +
                               cc_window_extent(weight->dim[2 + i], a->dilation[i]));
    x = cc_phases_fit(b, x, (uint32_t[2]){a->pad[0], a->pad[2]}, length, 0);
    x = patches(b, a, x, weight, out, in->dim[1]);
    if (b->status)
        return;
    x = cc_build_reshape(b, x, 4, (uint32_t[4]){n, taps, in->dim[1], places});
    x = b->status ? 0 : cc_build_transpose(b, x, (uint32_t[4]){0, 2, 1, 3});
    x = b->status ? 0 : cc_build_reshape(b, x, 4, (uint32_t[4]){n, g, inner, places});
    w = b->status ? 0 : cc_build_reshape(b, w, 4, (uint32_t[4]){1, g, weight->dim[0] / g, inner});
    x = cc_build_op(b, CC_OP_MATMUL, 2, (uint32_t[2]){w, x}, NULL);
    x = b->status ? 0 : cc_build_reshape(b, x, 4, out);
    cc_rewrite_put(r, op->output, biased(r, x, a->bias));
}
