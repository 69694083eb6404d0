/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that move elements and compute nothing. Rows begin on 64-byte boundaries and descriptors count
 * strides in units of 64 bytes; where a shape needs another stride, elements go through a buffer whose
 * strides fit.
 */
#include <string.h>

#include "compiler/lower/family.h"
#include "compiler/lower/neural.h"

enum { REFINED_MAX = 2 * CC_AXES, PIECE = 1u << 20 };

static uint32_t leading_axes(const struct cc_lowering *l, uint32_t value)
{
    return CC_AXES - cc_value_of(l, value)->rank;
}

static int transpose(struct cc_lowering *l, const struct cc_op *op, const struct cc_view *x,
                     const struct cc_view *y)
{
    uint32_t perm[CC_AXES], first = leading_axes(l, op->input[0]);
    struct cc_view from;

    for (uint32_t i = 0; i < CC_AXES; i++)
        perm[i] = i < first ? i : first + op->a.perm[i - first];
    from = cc_view_permuted(x, perm);
    return cc_emit_move(l, &from, y, NULL);
}

/* The common refinement of two shapes of the same elements, the fastest axis first. */
struct refined {
    unsigned count;
    struct {
        uint32_t extent, from, to; /* strides */
    } axis[REFINED_MAX];
};

static void refined_add(struct refined *r, uint32_t extent, uint32_t from, uint32_t to)
{
    unsigned last = r->count - 1;

    if (extent == 1)
        return;
    if (r->count && r->axis[last].from * r->axis[last].extent == from &&
        r->axis[last].to * r->axis[last].extent == to)
        r->axis[last].extent *= extent;
    else {
        r->axis[r->count].extent = extent;
        r->axis[r->count].from = from;
        r->axis[r->count++].to = to;
    }
}

/* False when the axes of the two shapes have no common refinement: neither length divides the other. */
static bool refine(const struct cc_view *x, const struct cc_view *y, struct refined *r)
{
    unsigned i = CC_AXES - 1, k = CC_AXES - 1;
    uint32_t a = x->extent[i], b = y->extent[k], from = x->stride[i], to = y->stride[k];

    *r = (struct refined){0};
    for (;;) {
        if (a == 1 && i) {
            a = x->extent[--i];
            from = x->stride[i];
        } else if (b == 1 && k) {
            b = y->extent[--k];
            to = y->stride[k];
        } else if (a <= 1 || b <= 1) {
            return a == 1 && b == 1;
        } else {
            uint32_t common = a < b ? a : b;

            if (a % common || b % common || r->count == REFINED_MAX)
                return false;
            refined_add(r, common, from, to);
            a /= common;
            b /= common;
            from *= common;
            to *= common;
        }
    }
}

/* The refined axes as views, if a descriptor can express their number and strides. */
static bool refined_views(const struct refined *r, struct cc_view *x, struct cc_view *y)
{
    struct cc_view from = {.at = x->at, .extent = {1, 1, 1, 1}}, to = {.at = y->at, .extent = {1, 1, 1, 1}};

    if (r->count > CC_AXES)
        return false;
    for (unsigned i = 0; i < r->count; i++) {
        unsigned axis = CC_AXES - 1 - i;

        if ((r->axis[i].from % PR_ROW_ALIGN && r->axis[i].from != CC_ELEMENT) ||
            (r->axis[i].to % PR_ROW_ALIGN && r->axis[i].to != CC_ELEMENT))
            return false;
        from.extent[axis] = to.extent[axis] = r->axis[i].extent;
        from.stride[axis] = r->axis[i].from;
        to.stride[axis] = r->axis[i].to;
    }
    *x = from;
    *y = to;
    return true;
}

/* All rows of a tensor as one axis. */
static struct cc_view rows_of(const struct cc_view *v)
{
    return (struct cc_view){.at = v->at,
                            .extent = {1, 1,
                                       v->extent[CC_AXIS_N] * v->extent[CC_AXIS_C] * v->extent[CC_AXIS_H],
                                       v->extent[CC_AXIS_W]},
                            .stride = {0, 0, v->stride[CC_AXIS_H], CC_ELEMENT}};
}

static uint64_t common_multiple(uint32_t a, uint32_t b)
{
    uint32_t x = a, y = b;

    while (y) {
        uint32_t rest = x % y;

        x = y;
        y = rest;
    }
    return (uint64_t)a / x * b;
}

/* `count` elements from row-major index `at` on, through a buffer in which they are 64 bytes apart. */
static int reshape_piece(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y, uint32_t at,
                         uint32_t count)
{
    const struct cc_view *side[2] = {x, y};
    struct cc_view rows[2], spread[2], buffer;
    int status = cc_view_scratch(l, (uint32_t[CC_AXES]){1, 1, count, 1}, &buffer);

    if (status)
        return status;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t width = side[i]->extent[CC_AXIS_W];

        rows[i] = rows_of(side[i]);
        rows[i].at.offset += at / width * rows[i].stride[CC_AXIS_H];
        rows[i].extent[CC_AXIS_H] = count / width;
        spread[i] = rows[i];
        spread[i].at = buffer.at;
        spread[i].stride[CC_AXIS_H] = width * PR_ROW_ALIGN;
        spread[i].stride[CC_AXIS_W] = PR_ROW_ALIGN;
    }
    status = cc_emit_move(l, &rows[0], &spread[0], NULL);
    return status ? status : cc_emit_move(l, &spread[1], &rows[1], NULL);
}

static int reshape(struct cc_lowering *l, struct cc_view x, struct cc_view y)
{
    uint64_t total = 1, step = common_multiple(x.extent[CC_AXIS_W], y.extent[CC_AXIS_W]);
    struct refined r;
    int status = 0;

    if (refine(&x, &y, &r) && refined_views(&r, &x, &y))
        return cc_emit_move(l, &x, &y, NULL);
    for (unsigned i = 0; i < CC_AXES; i++)
        total *= x.extent[i];
    step *= step < PIECE ? PIECE / step : 1;
    for (uint64_t at = 0; at < total && !status; at += step)
        status = reshape_piece(l, &x, &y, (uint32_t)at, (uint32_t)(total - at < step ? total - at : step));
    return status;
}

/*
 * A first column on a 64-byte boundary is expressed by the base address, as in the public program of such a
 * slice. Any other first column needs the slice field, with which values above 4094 become infinite
 * (docs/provenance.md).
 */
static int slice(struct cc_lowering *l, const struct cc_op *op, struct cc_view x,
                 const struct cc_view *result)
{
    uint32_t first = leading_axes(l, op->input[0]);
    struct cc_view y = {.at = result->at};
    struct cc_neural pass = {0};
    unsigned place = CC_AXES;

    for (unsigned i = CC_AXES; i-- > 0;) {
        bool exists = i >= first, left_out = exists && op->a.axes >> (i - first) & 1;
        uint32_t begin = exists ? op->a.begin[i - first] : 0;

        x.extent[i] = y.extent[i] = exists ? op->a.size[i - first] : 1;
        if (i == CC_AXIS_W && begin * CC_ELEMENT % PR_ROW_ALIGN)
            pass.slice = begin;
        else
            x.at.offset += begin * x.stride[i];
        if (exists && !left_out)
            y.stride[i] = result->stride[--place];
    }
    return cc_emit_move(l, &x, &y, &pass);
}

/* A concatenation along an axis of the result. */
struct concat {
    struct cc_view y;
    unsigned axis;
    uint32_t at;          /* elements along the axis so far */
    bool staged;          /* through a buffer in which that axis is the slowest */
    struct cc_view stage; /* that buffer, its axes in the result's order */
};

static int concat_open(struct cc_lowering *l, const struct cc_view *y, unsigned axis, bool aligned,
                       struct concat *j)
{
    struct cc_view buffer;
    int status;

    *j = (struct concat){.y = *y, .axis = axis, .staged = axis == CC_AXIS_W && !aligned};
    if (!j->staged)
        return 0;
    status = cc_view_scratch(
        l, (uint32_t[CC_AXES]){y->extent[CC_AXIS_W], y->extent[0], y->extent[1], y->extent[2]}, &buffer);
    j->stage = cc_view_permuted(&buffer, (uint32_t[CC_AXES]){1, 2, 3, 0});
    return status;
}

static int concat_append(struct cc_lowering *l, struct concat *j, const struct cc_view *x)
{
    struct cc_view to = j->staged ? j->stage : j->y;

    to.at.offset += j->at * to.stride[j->axis];
    to.extent[j->axis] = x->extent[j->axis];
    j->at += x->extent[j->axis];
    return cc_emit_move(l, x, &to, NULL);
}

static int concat_close(struct cc_lowering *l, const struct concat *j)
{
    return j->staged ? cc_emit_move(l, &j->stage, &j->y, NULL) : 0;
}

/* `reps` copies of x: each round copies the result so far, which doubles it. */
static int concat_repeat(struct cc_lowering *l, struct concat *j, const struct cc_view *x, uint32_t reps)
{
    int status = concat_append(l, j, x);

    for (uint32_t made = 1, more; made < reps && !status; made += more) {
        struct cc_view before = j->staged ? j->stage : j->y;

        more = made < reps - made ? made : reps - made;
        before.extent[j->axis] = more * x->extent[j->axis];
        status = concat_append(l, j, &before);
    }
    return status;
}

static int tile(struct cc_lowering *l, const struct cc_op *op, struct cc_view x, const struct cc_view *y)
{
    uint32_t first = leading_axes(l, op->input[0]);
    bool any = false;
    int status = 0;

    for (unsigned i = CC_AXES; i-- > first && !status;) {
        uint32_t reps = op->a.reps[i - first], extent[CC_AXES];
        bool last = true;
        struct concat j;
        struct cc_view to = *y;

        if (reps == 1)
            continue;
        for (unsigned k = first; k < i; k++)
            last &= op->a.reps[k - first] == 1;
        memcpy(extent, x.extent, sizeof(extent));
        extent[i] *= reps;
        if (!last)
            status = cc_view_scratch(l, extent, &to);
        if (!status)
            status = concat_open(l, &to, i, x.extent[i] * CC_ELEMENT % PR_ROW_ALIGN == 0, &j);
        if (!status)
            status = concat_repeat(l, &j, &x, reps);
        if (!status)
            status = concat_close(l, &j);
        x = to;
        any = true;
    }
    return status || any ? status : cc_emit_move(l, &x, y, NULL);
}

/* An operand with the result's axes: for a stack, an axis of length 1 is inserted. */
static int operand_view(struct cc_lowering *l, const struct cc_op *op, uint32_t i, unsigned axis,
                        struct cc_view *view)
{
    struct cc_view x;
    int status = cc_view_source(l, op->input[i], &x);

    *view = x;
    if (status || op->kind != CC_OP_STACK)
        return status;
    for (unsigned k = 0; k < axis; k++) {
        view->extent[k] = x.extent[k + 1];
        view->stride[k] = x.stride[k + 1];
    }
    view->extent[axis] = 1;
    view->stride[axis] = 0;
    return 0;
}

static int concat(struct cc_lowering *l, const struct cc_op *op, const struct cc_view *y)
{
    unsigned axis = leading_axes(l, op->output) + op->a.axis;
    struct cc_view x[CC_INPUTS_MAX];
    bool aligned = true;
    struct concat j = {0};
    int status = 0;

    for (uint32_t i = 0; i < op->inputs && !status; i++) {
        status = operand_view(l, op, i, axis, &x[i]);
        aligned &= i + 1 == op->inputs || x[i].extent[axis] * CC_ELEMENT % PR_ROW_ALIGN == 0;
    }
    if (!status)
        status = concat_open(l, y, axis, aligned, &j);
    for (uint32_t i = 0; i < op->inputs && !status; i++)
        status = concat_append(l, &j, &x[i]);
    return status ? status : concat_close(l, &j);
}

int cc_lower_layout(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    struct cc_view x, y;
    int status = cc_view_result(l, step->output, &y);

    if (!status && op->kind != CC_OP_CONCAT && op->kind != CC_OP_STACK)
        status = cc_view_source(l, op->input[0], &x);
    if (status)
        return status;
    switch (op->kind) {
    case CC_OP_TRANSPOSE: return transpose(l, op, &x, &y);
    case CC_OP_SLICE_BY_INDEX:
    case CC_OP_SLICE_BY_SIZE: return slice(l, op, x, &y);
    case CC_OP_TILE: return tile(l, op, x, &y);
    case CC_OP_CONCAT:
    case CC_OP_STACK: return concat(l, op, &y);
    default: return reshape(l, x, y);
    }
}
