/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposed convolutions. Element s q + p of the result reads those elements of x for which a tap t exists
 * with s i + d t = s q + p + before, that is i = q + (p + before - d t) / s. For each phase p that is a
 * convolution with a stride of 1; all phases together are one convolution with s times s as many output
 * channels, whose kernel has a place for every tap of any phase. The phases are then joined.
 */
#include "base/alloc.h"
#include "compiler/pass/phases.h"
#include "compiler/pass/window.h"

/* Where an output of phase p reads tap t, counted from its own number; false if it does not. */
static bool reads(const struct cc_attributes *a, unsigned axis, uint32_t p, uint32_t tap, int64_t *at)
{
    int64_t s = a->stride[axis], numerator = (int64_t)p + a->pad[2 * axis] - (int64_t)a->dilation[axis] * tap;

    *at = numerator / s;
    return numerator % s == 0;
}

static struct cc_reach reach_of(const struct cc_attributes *a, unsigned axis, uint32_t taps,
                                uint32_t available)
{
    uint32_t s = a->stride[axis];
    int64_t first = 0, last = -(int64_t)a->size[axis], at;

    for (uint32_t p = 0; p < s; p++)
        for (uint32_t tap = 0; tap < taps; tap++)
            if (reads(a, axis, p, tap, &at)) {
                first = at < first ? at : first;
                last = at > last ? at : last;
            }
    return cc_window_reach(first, last, 1, (a->size[axis] + s - 1) / s, available);
}

/* [in, out / groups, H, W] to [out s s, in / groups, taps]. */
static void turn_kernel(const struct cc_attributes *a, const struct cc_kernel *from,
                        const struct cc_reach reach[2], struct cc_kernel *to)
{
    uint32_t phases = a->stride[0] * a->stride[1], outs = from->dim[1], ins = to->dim[1];

    for (uint32_t out = 0; out < to->dim[0]; out++) {
        uint32_t p = out % phases, channel = out / phases, group = channel / outs;

        for (uint32_t y = 0; y < from->dim[2]; y++)
            for (uint32_t x = 0; x < from->dim[3]; x++) {
                int64_t row, column;

                if (!reads(a, 0, p / a->stride[1], y, &row) || !reads(a, 1, p % a->stride[1], x, &column))
                    continue;
                for (uint32_t in = 0; in < ins; in++)
                    *cc_kernel_at(to, out, in, (uint32_t)(row - reach[0].first),
                                  (uint32_t)(column - reach[1].first)) =
                        *cc_kernel_at(from, group * ins + in, channel % outs, y, x);
            }
    }
}

/* Each bias once per phase. */
static uint32_t bias_of(struct cc_rewrite *r, uint32_t parameter, uint32_t phases)
{
    const struct cc_value *v = parameter ? &r->from->value[parameter - 1] : NULL;
    uint32_t count;
    float *bias;

    if (!v || phases == 1)
        return cc_rewrite_parameter(r, parameter);
    count = v->dim[0] * phases;
    bias = base_alloc_array(count, sizeof(*bias));
    for (uint32_t i = 0; bias && i < count; i++)
        bias[i] = (float)cc_value_number(v, i / phases);
    return cc_build_const(&r->to, CC_FP32, 1, &count, bias) + 1;
}

void cc_window_conv_transpose(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    const struct cc_attributes *a = &op->a;
    struct cc_build *b = &r->to;
    const struct cc_value *xv = &r->from->value[op->input[0]], *weight;
    const uint32_t *s = a->stride;
    struct cc_kernel from = {.w = NULL}, to = {.w = NULL};
    struct cc_attributes conv = {.stride = {1, 1}, .dilation = {1, 1}, .groups = a->groups};
    struct cc_reach reach[2];
    uint32_t x, outs, dim[4];

    if (op->kind != CC_OP_CONV_TRANSPOSE)
        return;
    *done = true;
    weight = &r->from->value[a->weight - 1];
    outs = weight->dim[1] * a->groups;
    if ((uint64_t)outs * s[0] > PR_CHANNELS_MAX || (uint64_t)outs * s[0] * s[1] > PR_CHANNELS_MAX) {
        cc_build_refuse(
            b, "its strides %u and %u and %u output channels need more channels than the engine's %u", s[0],
            s[1], outs, PR_CHANNELS_MAX);
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        reach[i] = reach_of(a, i, weight->dim[2 + i], xv->dim[2 + i]);
        conv.pad[2 * i] = reach[i].before;
        conv.pad[2 * i + 1] = reach[i].after;
        dim[2 + i] = reach[i].taps;
    }
    dim[0] = outs * s[0] * s[1];
    dim[1] = xv->dim[1] / a->groups;
    if (cc_kernel_of(b, weight, &from) && cc_kernel_make(b, dim, &to))
        turn_kernel(a, &from, reach, &to);
    base_free(from.w);
    if (b->status)
        return;
    x = cc_rewrite_value(r, op->input[0]);
    x = cc_phases_fit(b, x, (uint32_t[2]){0, 0}, (uint32_t[2]){reach[0].length, reach[1].length}, 0);
    conv.weight = cc_kernel_put(b, &to);
    conv.bias = bias_of(r, a->bias, s[0] * s[1]);
    x = cc_build_op(b, CC_OP_CONV, 1, &x, &conv);
    if (b->status)
        return;
    for (unsigned i = 0; i < 2; i++)
        dim[2 + i] = cc_build_value(b, x)->dim[2 + i] * s[i];
    dim[0] = xv->dim[0];
    dim[1] = outs;
    if (s[0] * s[1] > 1)
        x = cc_phases_join(b, x, dim, s[0], s[1]);
    x = cc_phases_fit(b, x, (uint32_t[2]){0, 0}, a->size, 0);
    cc_rewrite_put(r, op->output, x);
}
