/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of the neural engines that move a tensor. The width of the record is the axis that is contiguous in
 * the source; if another one is contiguous in the result, that one is the channel and the result is
 * transposed. The remaining axes go to height, groups and channels; a tensor with more of them than that is
 * refused.
 */
#include "compiler/lower/neural.h"

#include "compiler/half.h"
#include "compiler/lower/emit.h"

/* The axis of more than one element whose elements are contiguous, or CC_AXES. */
static unsigned contiguous_axis(const struct cc_view *view)
{
    for (unsigned i = 0; i < CC_AXES; i++)
        if (view->extent[i] > 1 && view->stride[i] == CC_ELEMENT)
            return i;
    return CC_AXES;
}

static int apply(struct cc_lowering *l, struct pr_e5_record *r, const struct cc_neural *how)
{
    uint8_t bytes[PR_TABLE_VALUES * 2];

    if (!how)
        return 0;
    r->slice = how->slice;
    r->flags |= how->relu ? PR_E5_RELU : 0;
    if (how->scale)
        r->post_scale = how->scale;
    if (how->bias) {
        /* Public programs add before a table with a depthwise 1x1 convolution whose weights are 1. */
        r->kind = PR_E5_CONV;
        r->flags |= PR_E5_ONES;
        r->unicast = r->kw = r->kh = 1;
        r->acc_bias = how->bias;
    }
    if (!how->table)
        return 0;
    for (unsigned i = 0; i < PR_TABLE_VALUES; i++)
        cc_put_half(bytes + 2 * i, how->table->half[i]);
    r->flags |= PR_E5_TABLE;
    r->kernel_bytes = sizeof(bytes);
    return cc_constant(l, bytes, sizeof(bytes), &r->kernel);
}

/* The axis of the views for each axis of the record; CC_AXES where there is none. */
struct places {
    unsigned axis[4];
    bool transposed; /* the result's channels are contiguous */
};

static bool find_places(const struct cc_view *from, const struct cc_view *to, struct places *p)
{
    unsigned w = contiguous_axis(from), c = contiguous_axis(to);
    const unsigned order[3] = {CC_H, CC_G, CC_C}; /* a transposed result has its channel already */
    unsigned next = 0;

    *p = (struct places){.axis = {w, CC_AXES, CC_AXES, CC_AXES}, .transposed = w != c};
    if (p->transposed)
        p->axis[CC_C] = c;
    for (unsigned i = CC_AXES; i-- > 0;) {
        if (i == w || (p->transposed && i == c) || from->extent[i] == 1)
            continue;
        if (next == (p->transposed ? 2 : 3))
            return false;
        p->axis[order[next++]] = i;
    }
    return true;
}

int cc_emit_move(struct cc_lowering *l, const struct cc_view *from, const struct cc_view *to,
                 const struct cc_neural *how)
{
    struct pr_e5_record r = cc_record(PR_E5_BYPASS);
    const uint32_t *src = from->stride, *dst = to->stride;
    struct places p;
    int status = apply(l, &r, how);

    if (status)
        return status;
    if (!find_places(from, to, &p))
        return cc_refuse(l, "its elements move along more axes than one descriptor has");
    r.src[0] = from->at;
    r.dst = to->at;
    r.flags |= p.transposed ? PR_E5_OUT_TRANSPOSE : 0;
    for (unsigned i = 0; i < 4; i++)
        r.in[i] = r.out[i] = p.axis[i] == CC_AXES ? 1 : from->extent[p.axis[i]];
    if (p.axis[CC_H] != CC_AXES) {
        r.src[0].row = src[p.axis[CC_H]];
        r.dst.row = dst[p.axis[CC_H]];
    }
    if (p.axis[CC_G] != CC_AXES) {
        r.src[0].group = src[p.axis[CC_G]];
        r.dst.group = dst[p.axis[CC_G]];
    }
    if (p.axis[CC_C] != CC_AXES) {
        r.src[0].plane = src[p.axis[CC_C]];
        r.dst.plane = dst[p.axis[CC_C]];
    }
    if (p.transposed)
        r.dst.plane = p.axis[CC_W] == CC_AXES ? 0 : dst[p.axis[CC_W]];
    return cc_emit_cut(l, &r);
}

int cc_emit_copy(struct cc_lowering *l, uint32_t value, const struct pr_e5_operand *to,
                 const struct cc_neural *how)
{
    struct cc_layout layout;
    struct pr_e5_operand at;
    struct cc_view from, dst;
    int status = cc_source(l, value, &at, &layout);

    if (status)
        return status;
    from = cc_view_of(&at, &layout);
    dst = cc_view_of(to, &layout);
    return cc_emit_move(l, &from, &dst, how);
}
