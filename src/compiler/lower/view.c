/* SPDX-License-Identifier: Apache-2.0 */
/* Views, and the two kinds of task that most operations are composed of: a neural task that moves elements, a planar one that computes with them. */
#include <string.h>

#include "compiler/half.h"
#include "compiler/lower/lowering.h"
#include "program/td_codes.h"

struct cc_view cc_view_of(const struct pr_e5_operand *at, const struct cc_layout *layout)
{
    return (struct cc_view){
        .at = {.place = at->place, .index = at->index, .offset = at->offset},
        .extent = {layout->n, layout->c, layout->h, layout->w},
        .stride = {layout->batch, layout->plane, layout->row, CC_ELEMENT},
    };
}

int cc_view_source(struct cc_lowering *l, uint32_t value, struct cc_view *view)
{
    struct pr_e5_operand at;
    struct cc_layout layout;
    int status = cc_source(l, value, &at, &layout);

    if (!status)
        *view = cc_view_of(&at, &layout);
    return status;
}

int cc_view_result(struct cc_lowering *l, struct cc_view *view)
{
    struct pr_e5_operand at;
    struct cc_layout layout;
    int status = cc_result(l, &at, &layout);

    if (!status)
        *view = cc_view_of(&at, &layout);
    return status;
}

int cc_view_scratch(struct cc_lowering *l, const uint32_t extent[CC_AXES], struct cc_view *view)
{
    uint64_t bytes = pr_round_up((uint64_t)extent[CC_AXIS_W] * CC_ELEMENT, PR_ROW_ALIGN);

    *view = (struct cc_view){.at = {.place = PR_E5_INTERMEDIATE}};
    memcpy(view->extent, extent, sizeof(view->extent));
    view->stride[CC_AXIS_W] = CC_ELEMENT;
    for (unsigned i = CC_AXIS_W; i-- > 0;) {
        if (bytes > PR_E5_BYTES_MAX)
            break;
        view->stride[i] = (uint32_t)bytes;
        bytes *= extent[i];
    }
    return cc_scratch(l, bytes, &view->at.index);
}

int cc_view_number(struct cc_lowering *l, uint16_t half, struct cc_view *view)
{
    uint8_t bytes[PR_ROW_ALIGN] = {0};

    cc_put_half(bytes, half);
    *view = (struct cc_view){.at = {.place = PR_E5_CONSTANT},
                             .extent = {1, 1, 1, 1},
                             .stride = {PR_ROW_ALIGN, PR_ROW_ALIGN, PR_ROW_ALIGN, CC_ELEMENT}};
    return cc_constant(l, bytes, sizeof(bytes), &view->at.offset);
}

struct cc_view cc_view_permuted(const struct cc_view *view, const uint32_t perm[CC_AXES])
{
    struct cc_view turned = {.at = view->at};

    for (unsigned i = 0; i < CC_AXES; i++) {
        turned.extent[i] = view->extent[perm[i]];
        turned.stride[i] = view->stride[perm[i]];
    }
    return turned;
}

bool cc_is_constant(const struct cc_lowering *l, uint32_t value)
{
    return l->home[cc_root(l, value)].data != NULL;
}

bool cc_is_scalar(const struct cc_lowering *l, uint32_t value)
{
    const struct cc_value *v = cc_value_of(l, value);

    return cc_is_constant(l, value) && v->bytes == cc_type_bytes(v->type);
}

/* What one step along an axis of the record adds to an operand's offset. */
static uint32_t step_of(const struct pr_e5_operand *o, unsigned axis, bool transposed, uint32_t broadcast)
{
    static const uint32_t bit[4] = {
        [CC_W] = PR_BROADCAST_W, [CC_H] = PR_BROADCAST_H, [CC_C] = PR_BROADCAST_C};

    if (broadcast & bit[axis])
        return 0;
    switch (axis) {
    case CC_W: return transposed ? o->plane : CC_ELEMENT;
    case CC_H: return o->row;
    case CC_C: return transposed ? CC_ELEMENT : o->plane;
    default: return o->group;
    }
}

/* Cuts one axis after the other; `axis` is the next. */
static int emit_from(struct cc_lowering *l, const struct pr_e5_record *record, unsigned axis)
{
    /* Pieces of whole 64-byte granules, whichever axis lies side by side. */
    static const uint32_t limit[4] = {PR_WIDTH_MAX, PR_HEIGHT_MAX, PR_CHANNELS_MAX, CC_GROUPS_CUT};
    uint32_t whole, flags = record->flags;
    int status = 0;

    if (axis == 4)
        return cc_emit(l, record);
    whole = record->out[axis];
    for (uint32_t at = 0; at < whole && !status; at += limit[axis]) {
        struct pr_e5_record part = *record;

        part.in[axis] = part.out[axis] = whole - at < limit[axis] ? whole - at : limit[axis];
        part.src[0].offset +=
            at * step_of(&part.src[0], axis, flags & PR_E5_TRANSPOSE1, part.broadcast & PR_BROADCAST_MASK);
        if (part.src[1].place != PR_E5_NONE)
            part.src[1].offset += at * step_of(&part.src[1], axis, flags & PR_E5_TRANSPOSE2,
                                               part.broadcast >> PR_BROADCAST_SECOND_LO);
        part.dst.offset += at * step_of(&part.dst, axis, flags & PR_E5_OUT_TRANSPOSE, 0);
        status = emit_from(l, &part, axis + 1);
    }
    return status;
}

int cc_emit_cut(struct cc_lowering *l, const struct pr_e5_record *record)
{
    return emit_from(l, record, 0);
}

/* The axis of more than one element whose elements lie side by side, or CC_AXES. */
static unsigned side_by_side(const struct cc_view *view)
{
    for (unsigned i = 0; i < CC_AXES; i++)
        if (view->extent[i] > 1 && view->stride[i] == CC_ELEMENT)
            return i;
    return CC_AXES;
}

static int take_pass(struct cc_lowering *l, struct pr_e5_record *r, const struct cc_pass *pass)
{
    uint8_t bytes[CC_TABLE_HALFS * 2];

    if (!pass)
        return 0;
    r->slice = pass->slice;
    r->flags |= pass->relu ? PR_E5_RELU : 0;
    if (pass->scale)
        r->post_scale = pass->scale;
    if (pass->bias) {
        /* The public form of a sum before a table: each channel's own, times one. */
        r->kind = PR_E5_CONV;
        r->flags |= PR_E5_ONES;
        r->unicast = r->kw = r->kh = 1;
        r->acc_bias = pass->bias;
    }
    if (!pass->table)
        return 0;
    for (unsigned i = 0; i < CC_TABLE_HALFS; i++)
        cc_put_half(bytes + 2 * i, pass->table->half[i]);
    r->flags |= PR_E5_TABLE;
    r->kernel_bytes = sizeof(bytes);
    return cc_constant(l, bytes, sizeof(bytes), &r->kernel);
}

/* Which axis of the views is which of the record; CC_AXES where there is none. */
struct places {
    unsigned axis[4];
    bool turned; /* the result's channels lie side by side */
};

static bool find_places(const struct cc_view *from, const struct cc_view *to, struct places *p)
{
    unsigned w = side_by_side(from), c = side_by_side(to);
    const unsigned order[3] = {CC_H, CC_G, CC_C}; /* a turned result has its channel already */
    unsigned next = 0;

    *p = (struct places){.axis = {w, CC_AXES, CC_AXES, CC_AXES}, .turned = w != c};
    if (p->turned)
        p->axis[CC_C] = c;
    for (unsigned i = CC_AXES; i-- > 0;) {
        if (i == w || (p->turned && i == c) || from->extent[i] == 1)
            continue;
        if (next == (p->turned ? 2 : 3))
            return false;
        p->axis[order[next++]] = i;
    }
    return true;
}

int cc_move(struct cc_lowering *l, const struct cc_view *from, const struct cc_view *to,
            const struct cc_pass *pass)
{
    struct pr_e5_record r = cc_record(PR_E5_BYPASS);
    const uint32_t *src = from->stride, *dst = to->stride;
    struct places p;
    int status = take_pass(l, &r, pass);

    if (status)
        return status;
    if (!find_places(from, to, &p))
        return cc_refuse(l, "its elements would have to move along more axes than a descriptor has");
    r.src[0] = from->at;
    r.dst = to->at;
    r.flags |= p.turned ? PR_E5_OUT_TRANSPOSE : 0;
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
    if (p.turned)
        r.dst.plane = p.axis[CC_W] == CC_AXES ? 0 : dst[p.axis[CC_W]];
    return cc_emit_cut(l, &r);
}

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

int cc_planar(struct cc_lowering *l, const struct cc_planar *how, const struct cc_view *a,
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
