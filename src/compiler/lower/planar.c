/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementwise tasks of the planar engine. An axis that is shorter in a source than in the result has length 1
 * there and is broadcast: W, H and C by bits of the record, groups by a stride of 0. The caller makes sure
 * that W is contiguous in all views.
 */
#include "compiler/lower/planar.h"

#include "compiler/half.h"
#include "compiler/lower/emit.h"
#include "program/td_codes.h"

static uint32_t broadcast_bits(const struct cc_view *in, const struct cc_view *out)
{
    return (in->extent[CC_AXIS_W] < out->extent[CC_AXIS_W] ? PR_BROADCAST_W : 0) |
           (in->extent[CC_AXIS_H] < out->extent[CC_AXIS_H] ? PR_BROADCAST_H : 0) |
           (in->extent[CC_AXIS_C] < out->extent[CC_AXIS_C] ? PR_BROADCAST_C : 0);
}

static void take_source(struct pr_e5_record *r, unsigned which, const struct cc_view *view,
                        const struct cc_view *to)
{
    struct pr_e5_operand *o = &r->src[which];

    *o = view->at;
    o->row = view->stride[CC_AXIS_H];
    o->plane = view->stride[CC_AXIS_C];
    o->group = view->extent[CC_AXIS_N] < to->extent[CC_AXIS_N] ? 0 : view->stride[CC_AXIS_N];
    r->broadcast |= broadcast_bits(view, to) << PR_BROADCAST_SECOND_LO * which;
}

int cc_emit_planar(struct cc_lowering *l, const struct cc_planar *how, const struct cc_view *a,
                   const struct cc_view *b, const struct cc_view *to)
{
    struct pr_e5_record r = cc_record(b ? PR_E5_ELEMENTWISE2 : PR_E5_ELEMENTWISE1);

    r.op = how->op;
    r.compare = how->compare;
    r.flags = how->flags;
    r.scale = how->scale ? how->scale : r.scale;
    r.pre_scale = how->pre_scale ? how->pre_scale : r.pre_scale;
    r.bias = how->bias;
    r.final_scale = how->final_scale != 0 ? cc_float_bits(how->final_scale) : r.final_scale;
    take_source(&r, 0, a, to);
    if (b)
        take_source(&r, 1, b, to);
    r.dst = to->at;
    r.dst.row = to->stride[CC_AXIS_H];
    r.dst.plane = to->stride[CC_AXIS_C];
    r.dst.group = to->stride[CC_AXIS_N];
    r.in[CC_W] = r.out[CC_W] = to->extent[CC_AXIS_W];
    r.in[CC_H] = r.out[CC_H] = to->extent[CC_AXIS_H];
    r.in[CC_C] = r.out[CC_C] = to->extent[CC_AXIS_C];
    r.in[CC_G] = r.out[CC_G] = to->extent[CC_AXIS_N];
    return cc_emit_cut(l, &r);
}
