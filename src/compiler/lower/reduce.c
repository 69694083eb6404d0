/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions. The planar engine reduces over the width, height and depth of each channel and group, so the
 * axes of a tensor are assigned: reduced ones to those three, kept ones to channels and groups. When the
 * contiguous axis is kept, a bypass task first transposes the tensor so that a reduced axis is contiguous. At
 * least one reduced axis is longer than 1: the passes see to that.
 */
#include <string.h>

#include "compiler/half.h"
#include "compiler/lower/emit.h"
#include "compiler/lower/family.h"
#include "compiler/lower/neural.h"
#include "compiler/lower/planar.h"

enum { AXES = 4, ELEMENT = 2 };

struct axis {
    uint32_t extent, src, dst; /* strides in bytes */
    bool reduced;
};

struct axes {
    unsigned count;
    struct axis axis[AXES]; /* the slowest first */
};

/* The axes that are longer than 1. */
static struct axes collect(const struct axis all[AXES])
{
    struct axes axes = {0};

    for (unsigned i = 0; i < AXES; i++)
        if (all[i].extent > 1)
            axes.axis[axes.count++] = all[i];
    return axes;
}

/* Whether `outer` and `inner` can be merged into one axis: their strides continue each other. */
static bool can_merge(const struct axis *outer, const struct axis *inner)
{
    return outer->reduced == inner->reduced && outer->src == inner->src * inner->extent &&
           (outer->reduced || outer->dst == inner->dst * inner->extent);
}

static bool merge_first(struct axes *axes, bool reduced)
{
    for (unsigned i = 0; i < axes->count; i++)
        for (unsigned k = i + 1; k < axes->count; k++) {
            struct axis *outer = &axes->axis[i], *inner = &axes->axis[k];

            if (outer->reduced != reduced || !can_merge(outer, inner))
                continue;
            inner->extent *= outer->extent;
            memmove(outer, outer + 1, (axes->count - i - 1) * sizeof(*outer));
            axes->count--;
            return true;
        }
    return false;
}

/* Axes of one kind. The contiguous axis of the source does not count: it is the width. */
static unsigned count(const struct axes *axes, bool reduced)
{
    unsigned found = 0;

    for (unsigned i = 0; i < axes->count; i++)
        found += axes->axis[i].reduced == reduced && axes->axis[i].src != ELEMENT;
    return found;
}

/* A reduction has two axes of each kind besides the width; more are merged, the slowest first. */
static void merge(struct axes *axes)
{
    while (count(axes, true) > 2 && merge_first(axes, true))
        ;
    while (count(axes, false) > 2 && merge_first(axes, false))
        ;
}

/* Strides of the source and, for each kept axis, of the result, which may have fewer axes. */
static void read_axes(const struct cc_lowering *l, const struct cc_op *op, const struct cc_layout *in,
                      const struct cc_layout *out, struct axis all[AXES])
{
    const uint32_t extent[AXES] = {in->n, in->c, in->h, in->w},
                   src[AXES] = {in->batch, in->plane, in->row, ELEMENT};
    const uint32_t dst[AXES] = {out->batch, out->plane, out->row, ELEMENT};
    uint32_t rank = cc_value_of(l, op->input[0])->rank;
    unsigned place = AXES;

    for (unsigned i = AXES; i-- > 0;) {
        bool exists = i + rank >= AXES;

        all[i] = (struct axis){
            .extent = extent[i], .src = src[i], .reduced = exists && op->a.axes >> (i + rank - AXES) & 1};
        if (!exists || (all[i].reduced && !op->a.keep_dims))
            continue;
        place--;
        all[i].dst = all[i].reduced ? 0 : dst[place];
    }
}

/*
 * Removes and returns the first axis that is (not) reduced and has that stride, of the source or the result.
 * A stride of 0 means any; the extent is 1 when there is no such axis.
 */
static struct axis take_axis(struct axes *axes, bool reduced, bool source, uint32_t stride)
{
    for (unsigned i = 0; i < axes->count; i++) {
        struct axis found = axes->axis[i];

        if (found.reduced != reduced || (stride && (source ? found.src : found.dst) != stride))
            continue;
        memmove(&axes->axis[i], &axes->axis[i + 1], (axes->count - i - 1) * sizeof(found));
        axes->count--;
        return found;
    }
    return (struct axis){.extent = 1};
}

static bool has_axis(const struct axes *axes, bool reduced, bool source, uint32_t stride)
{
    struct axes copy = *axes;

    return take_axis(&copy, reduced, source, stride).extent > 1;
}

/* The operations before, in and after the reduction. */
struct how {
    enum pr_pe_reduce reduce;
    enum pr_pe_op before;
    enum pr_pe_function after;
    float scale;
};

static struct how how_of(const struct cc_op *op, uint32_t count)
{
    struct how how = {.reduce = PR_PE_REDUCE_SUM, .scale = 1};

    switch (op->kind) {
    case CC_OP_REDUCE_MEAN: how.scale = 1.0f / (float)count; break;
    case CC_OP_REDUCE_MAX: how.reduce = PR_PE_REDUCE_MAX; break;
    case CC_OP_REDUCE_MIN: how.reduce = PR_PE_REDUCE_MIN; break;
    /* The sum of squares may overflow fp16 where its root does not. */
    case CC_OP_REDUCE_L2_NORM:
        how.after = PR_PE_RSQRT;
        how.before = PR_PE_SQUARE_OF_SUM;
        break;
    case CC_OP_REDUCE_SUM_SQUARE: how.before = PR_PE_SQUARE_OF_SUM; break;
    default: break;
    }
    return how;
}

/* Divides an axis that is too long for its place: the rest goes to another place, which is free. */
static void divide_axis(struct axis *axis, uint32_t limit, struct axis *free_place)
{
    if (axis->extent <= limit || axis->extent % limit || free_place->extent > 1)
        return;
    *free_place = (struct axis){.extent = axis->extent / limit, .src = axis->src * limit, .reduced = true};
    axis->extent = limit;
}

/* Cuts the kept axes where a descriptor takes fewer channels or groups. */
static int emit_kept(struct cc_lowering *l, struct pr_e5_record r)
{
    const struct pr_e5_record whole = r;
    uint32_t step = r.flags & PR_E5_OUT_TRANSPOSE ? ELEMENT : r.dst.plane;
    int status = 0;

    for (uint32_t g = 0; g < whole.in[CC_G] && !status; g += CC_GROUPS_CUT) {
        r.in[CC_G] = r.out[CC_G] = whole.in[CC_G] - g < CC_GROUPS_CUT ? whole.in[CC_G] - g : CC_GROUPS_CUT;
        for (uint32_t c = 0; c < whole.in[CC_C] && !status; c += PR_CHANNELS_MAX) {
            r.in[CC_C] = r.out[CC_C] =
                whole.in[CC_C] - c < PR_CHANNELS_MAX ? whole.in[CC_C] - c : PR_CHANNELS_MAX;
            r.src[0].offset = whole.src[0].offset + g * whole.src[0].group + c * whole.src[0].plane;
            r.dst.offset = whole.dst.offset + g * whole.dst.group + c * step;
            status = cc_emit(l, &r);
        }
    }
    return status;
}

/* One reduction. The contiguous axis of the source, if there is one, is reduced. */
static int emit_reduction(struct cc_lowering *l, const struct cc_op *op, struct axes axes,
                          const struct how *how, const struct pr_e5_operand *from,
                          const struct pr_e5_operand *to)
{
    struct pr_e5_record r = cc_record(PR_E5_REDUCE);
    bool transposed = has_axis(&axes, false, false, ELEMENT);
    struct axis w, h, d, c, g;

    merge(&axes);
    w = take_axis(&axes, true, true, ELEMENT);
    h = take_axis(&axes, true, true, 0);
    d = take_axis(&axes, true, true, 0);
    c = take_axis(&axes, false, false, transposed ? ELEMENT : 0);
    g = take_axis(&axes, false, false, 0);
    divide_axis(&w, PR_WIDTH_MAX, &h);
    divide_axis(&h, PR_HEIGHT_MAX, &d);
    /* A descriptor takes more channels than groups. */
    if (!transposed && g.extent > c.extent) {
        struct axis more = g;

        g = c;
        c = more;
    }
    if (axes.count || d.extent > PR_DEPTH_MAX)
        return cc_refuse(
            l, "axes 0x%x of this shape need more than one reduction; reduce neighbouring axes first",
            op->a.axes);
    r.op = how->reduce;
    r.elementwise = how->before;
    r.function = how->after;
    r.final_scale = cc_float_bits(how->scale);
    r.in[CC_W] = w.extent;
    r.in[CC_H] = h.extent;
    r.depth = d.extent;
    r.in[CC_C] = r.out[CC_C] = c.extent;
    r.in[CC_G] = r.out[CC_G] = g.extent;
    r.out[CC_W] = r.out[CC_H] = 1;
    r.src[0] = *from;
    r.src[0].row = h.src;
    r.src[0].depth = d.src;
    r.src[0].plane = c.src;
    r.src[0].group = g.src;
    r.dst = *to;
    r.dst.row = r.dst.depth = 0;
    r.dst.plane = transposed ? 0 : c.dst;
    r.dst.group = g.dst;
    r.flags = transposed ? PR_E5_OUT_TRANSPOSE : 0;
    return emit_kept(l, r);
}

/*
 * Transposes into a buffer in which a reduced axis is contiguous; the axes then have the buffer's strides as
 * source.
 */
static int emit_transpose(struct cc_lowering *l, struct axes *axes, const struct pr_e5_operand *from,
                          struct pr_e5_operand *to)
{
    struct pr_e5_record r = cc_record(PR_E5_BYPASS);
    struct axis *w = NULL, *c = NULL, *rest[2] = {NULL, NULL};
    uint32_t others = 0, stride;
    int status;

    for (unsigned i = 0; i < axes->count; i++) {
        struct axis *a = &axes->axis[i];

        if (a->src == ELEMENT)
            w = a;
        else if (a->reduced && (!c || a->extent > c->extent))
            c = a;
    }
    if (!w || !c)
        return cc_refuse(l, "no reduced axis can be made contiguous");
    for (unsigned i = 0; i < axes->count; i++)
        if (&axes->axis[i] != w && &axes->axis[i] != c)
            rest[others++] = &axes->axis[i];
    r.src[0] = *from;
    r.in[CC_W] = w->extent;
    r.in[CC_C] = c->extent;
    r.in[CC_H] = rest[0] ? rest[0]->extent : 1;
    r.in[CC_G] = rest[1] ? rest[1]->extent : 1;
    r.src[0].plane = c->src;
    r.src[0].row = rest[0] ? rest[0]->src : 0;
    r.src[0].group = rest[1] ? rest[1]->src : 0;
    memcpy(r.out, r.in, sizeof(r.out));
    r.flags = PR_E5_OUT_TRANSPOSE;
    stride = (uint32_t)pr_round_up((uint64_t)c->extent * ELEMENT, PR_ROW_ALIGN);
    *to = (struct pr_e5_operand){.place = PR_E5_INTERMEDIATE};
    status = cc_scratch(l, (uint64_t)stride * r.in[CC_W] * r.in[CC_H] * r.in[CC_G], &to->index);
    if (status)
        return status;
    r.dst = *to;
    r.dst.plane = stride;
    c->src = ELEMENT;
    w->src = stride;
    stride *= r.in[CC_W];
    /* The faster of the two is inside the slower, as in the result. */
    for (unsigned i = others; i-- > 0;) {
        *(i ? &r.dst.group : &r.dst.row) = stride;
        rest[i]->src = stride;
        stride *= rest[i]->extent;
    }
    return cc_emit_cut(l, &r);
}

static int emit_all(struct cc_lowering *l, const struct cc_op *op, const struct axis all[AXES],
                    const struct pr_e5_operand *from, const struct pr_e5_operand *to)
{
    struct axes axes = collect(all);
    struct pr_e5_operand transposed;
    uint64_t count = 1;
    struct how how;
    int status;

    for (unsigned i = 0; i < AXES; i++)
        count *= all[i].reduced ? all[i].extent : 1;
    how = how_of(op, (uint32_t)count);
    if (!has_axis(&axes, false, true, ELEMENT))
        return emit_reduction(l, op, axes, &how, from, to);
    status = emit_transpose(l, &axes, from, &transposed);
    return status ? status : emit_reduction(l, op, axes, &how, &transposed, to);
}

/* The reduction gives the reciprocal of the norm. */
static int finish_norm(struct cc_lowering *l, const struct cc_view *from, const struct cc_view *to)
{
    struct cc_table table = cc_table_curve(CC_CURVE_RECIPROCAL);

    return cc_emit_move(l, from, to, &(struct cc_neural){.table = &table});
}

int cc_lower_reduce(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    struct pr_e5_operand from, to, first;
    struct cc_view result, buffer;
    struct cc_layout in, out;
    struct axis all[AXES];
    int status = cc_source(l, op->input[0], &from, &in);

    if (!status)
        status = cc_result(l, step->output, &to, &out);
    if (status)
        return status;
    read_axes(l, op, &in, &out, all);
    if (op->kind != CC_OP_REDUCE_L2_NORM)
        return emit_all(l, op, all, &from, &to);
    result = cc_view_of(&to, &out);
    status = cc_view_scratch(l, result.extent, &buffer);
    first = to;
    first.place = buffer.at.place;
    first.index = buffer.at.index;
    first.offset = 0;
    if (!status)
        status = emit_all(l, op, all, &from, &first);
    return status ? status : finish_norm(l, &buffer, &result);
}
