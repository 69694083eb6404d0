/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that move elements and compute nothing, of up to five axes. Rows begin on 64-byte boundaries and
 * descriptors count strides in units of 64 bytes; where a shape needs another stride along its last axis,
 * elements go through a buffer in which that axis is the slowest, or each element has a row of its own.
 */
#include <string.h>

#include "compiler/lower/family.h"
#include "compiler/lower/span.h"

/*
 * PIECE: elements of a reshape that go through a buffer at once. DIRECT_MAX: descriptors of a reshape or a
 * gather that needs no buffer; with more, the buffer is cheaper. Both are chosen.
 */
enum { PIECE = 1u << 20, DIRECT_MAX = 64 };

static int transpose(struct cc_lowering *l, const struct cc_op *op, const struct cc_span *x,
                     const struct cc_span *y)
{
    struct cc_span from = *x;

    for (unsigned i = 0; i < x->axes; i++) {
        from.extent[i] = x->extent[op->a.perm[i]];
        from.stride[i] = x->stride[op->a.perm[i]];
    }
    return cc_emit_span(l, &from, y, NULL);
}

/* The common refinement of two shapes of the same elements, the fastest axis first. */
struct refined {
    unsigned count;
    struct {
        uint32_t extent, from, to; /* strides */
    } axis[CC_SPAN_AXES];
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
static bool refine(const struct cc_span *x, const struct cc_span *y, struct refined *r)
{
    unsigned i = x->axes - 1, k = y->axes - 1;
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

            if (a % common || b % common || r->count == CC_SPAN_AXES)
                return false;
            refined_add(r, common, from, to);
            a /= common;
            b /= common;
            from *= common;
            to *= common;
        }
    }
}

static bool countable(uint32_t stride)
{
    return stride % PR_ROW_ALIGN == 0 || stride == CC_ELEMENT;
}

/* The refined axes as spans, if few descriptors can express their number and strides. */
static bool refined_spans(const struct refined *r, struct cc_span *x, struct cc_span *y)
{
    struct cc_span from = {.at = x->at, .axes = r->count}, to = {.at = y->at, .axes = r->count};

    for (unsigned i = 0; i < r->count; i++) {
        unsigned axis = r->count - 1 - i;

        if (!countable(r->axis[i].from) || !countable(r->axis[i].to))
            return false;
        from.extent[axis] = to.extent[axis] = r->axis[i].extent;
        from.stride[axis] = r->axis[i].from;
        to.stride[axis] = r->axis[i].to;
    }
    if (cc_span_cost(&from, &to) > DIRECT_MAX)
        return false;
    *x = from;
    *y = to;
    return true;
}

/* All rows of a tensor as one axis. */
static struct cc_span rows_of(const struct cc_span *s)
{
    struct cc_span rows = {.at = s->at, .axes = 2, .extent = {1, s->extent[s->axes - 1]}};

    for (unsigned i = 0; i + 1 < s->axes; i++)
        rows.extent[0] *= s->extent[i];
    rows.stride[0] = (uint32_t)pr_round_up((uint64_t)rows.extent[1] * CC_ELEMENT, PR_ROW_ALIGN);
    rows.stride[1] = CC_ELEMENT;
    return rows;
}

/* Some rows, and the same elements in a buffer in which each has a row of its own. */
static int move_rows(struct cc_lowering *l, const struct cc_span *rows, uint32_t first, uint32_t count,
                     struct cc_span spread, bool gathers)
{
    struct cc_span part = cc_span_part(rows, 0, first, count, 1), apart = part;

    apart.at = spread.at;
    apart.stride[0] = rows->extent[1] * PR_ROW_ALIGN;
    apart.stride[1] = PR_ROW_ALIGN;
    return gathers ? cc_emit_span(l, &apart, &part, NULL) : cc_emit_span(l, &part, &apart, NULL);
}

/* Whole rows of the result, and the rows of x that their elements are in. */
static int reshape_piece(struct cc_lowering *l, const struct cc_span *x, const struct cc_span *y,
                         uint32_t first, uint32_t count)
{
    uint64_t begin = (uint64_t)first * y->extent[1], end = begin + (uint64_t)count * y->extent[1];
    uint32_t from = (uint32_t)(begin / x->extent[1]);
    uint32_t rows = (uint32_t)((end + x->extent[1] - 1) / x->extent[1]) - from;
    struct cc_span buffer;
    int status = cc_span_scratch(l, 2, (uint32_t[]){rows * x->extent[1], 1}, &buffer);

    if (!status)
        status = move_rows(l, x, from, rows, buffer, false);
    buffer.at.offset += (uint32_t)(begin - (uint64_t)from * x->extent[1]) * PR_ROW_ALIGN;
    return status ? status : move_rows(l, y, first, count, buffer, true);
}

static int reshape(struct cc_lowering *l, struct cc_span x, struct cc_span y)
{
    struct refined r;
    uint32_t step;
    int status = 0;

    if (refine(&x, &y, &r) && refined_spans(&r, &x, &y))
        return cc_emit_span(l, &x, &y, NULL);
    x = rows_of(&x);
    y = rows_of(&y);
    step = y.extent[1] < PIECE ? PIECE / y.extent[1] : 1;
    for (uint32_t at = 0; at < y.extent[0] && !status; at += step)
        status = reshape_piece(l, &x, &y, at, y.extent[0] - at < step ? y.extent[0] - at : step);
    return status;
}

/* The strides of a result from which axes of length 1 were left out. */
static void insert_axes(const struct cc_op *op, const struct cc_span *result, const struct cc_span *x,
                        struct cc_span *y)
{
    unsigned place = 0;

    *y = (struct cc_span){.at = result->at, .axes = x->axes};
    for (unsigned i = 0; i < x->axes; i++) {
        y->extent[i] = x->extent[i];
        if (!(op->a.axes >> i & 1))
            y->stride[i] = result->stride[place++];
    }
}

/*
 * A first column on a 64-byte boundary is expressed by the base address, as in the public program of such a
 * slice. Any other first column needs the slice field, with which values above 4094 become infinite
 * (docs/provenance.md). Columns that are not adjacent go through a buffer in which they are rows.
 */
static int slice(struct cc_lowering *l, const struct cc_op *op, struct cc_span x,
                 const struct cc_span *result)
{
    const unsigned w = x.axes - 1;
    uint32_t begin = op->a.begin[w], step = op->a.step[w] > 1 && op->a.size[w] > 1 ? op->a.step[w] : 1;
    uint32_t aligned = begin / (PR_ROW_ALIGN / CC_ELEMENT) * (PR_ROW_ALIGN / CC_ELEMENT);
    struct cc_neural pass = {0};
    struct cc_span y, stage;
    int status = 0;

    for (unsigned i = 0; i < w; i++)
        x = cc_span_part(&x, i, op->a.begin[i], op->a.size[i], op->a.step[i] > 1 ? op->a.step[i] : 1);
    if (step > 1) {
        x = cc_span_part(&x, w, aligned, begin - aligned + (op->a.size[w] - 1) * step + 1, 1);
        status = cc_span_stage(l, &x, w, &stage);
        if (!status)
            status = cc_emit_span(l, &x, &stage, NULL);
        x = cc_span_part(&stage, w, begin - aligned, op->a.size[w], step);
    } else {
        pass.slice = begin != aligned ? begin : 0;
        x = cc_span_part(&x, w, pass.slice ? 0 : begin, op->a.size[w], 1);
    }
    if (status)
        return status;
    insert_axes(op, result, &x, &y);
    return cc_emit_span(l, &x, &y, &pass);
}

/* A concatenation along an axis of the result. */
struct concat {
    struct cc_span y;
    unsigned axis;
    uint32_t at;          /* elements along the axis so far */
    bool staged;          /* through a buffer in which that axis is the slowest */
    struct cc_span stage; /* that buffer, its axes in the result's order */
};

static int concat_open(struct cc_lowering *l, const struct cc_span *y, unsigned axis, bool aligned,
                       struct concat *j)
{
    *j = (struct concat){.y = *y, .axis = axis, .staged = axis == y->axes - 1 && !aligned};
    return j->staged ? cc_span_stage(l, y, axis, &j->stage) : 0;
}

static int concat_append(struct cc_lowering *l, struct concat *j, const struct cc_span *x)
{
    struct cc_span to = cc_span_part(j->staged ? &j->stage : &j->y, j->axis, j->at, x->extent[j->axis], 1);

    j->at += x->extent[j->axis];
    if (x->at.place == to.at.place && x->at.index == to.at.index && x->at.offset == to.at.offset)
        return 0; /* cc_pass_join: it was computed there */
    return cc_emit_span(l, x, &to, NULL);
}

static int concat_close(struct cc_lowering *l, const struct concat *j)
{
    return j->staged ? cc_emit_span(l, &j->stage, &j->y, NULL) : 0;
}

/* `reps` copies of x: each round copies the result so far, which doubles it. */
static int concat_repeat(struct cc_lowering *l, struct concat *j, const struct cc_span *x, uint32_t reps)
{
    int status = concat_append(l, j, x);

    for (uint32_t made = 1, more; made < reps && !status; made += more) {
        struct cc_span before = j->staged ? j->stage : j->y;

        more = made < reps - made ? made : reps - made;
        before.extent[j->axis] = more * x->extent[j->axis];
        status = concat_append(l, j, &before);
    }
    return status;
}

static int tile(struct cc_lowering *l, const struct cc_op *op, struct cc_span x, const struct cc_span *y)
{
    bool any = false;
    int status = 0;

    for (unsigned i = x.axes; i-- > 0 && !status;) {
        uint32_t reps = op->a.reps[i], extent[CC_SPAN_AXES];
        bool last = true;
        struct concat j;
        struct cc_span to = *y;

        if (reps <= 1)
            continue;
        for (unsigned k = 0; k < i; k++)
            last &= op->a.reps[k] <= 1;
        memcpy(extent, x.extent, sizeof(extent));
        extent[i] *= reps;
        if (!last)
            status = cc_span_scratch(l, x.axes, extent, &to);
        if (!status)
            status = concat_open(l, &to, i, x.extent[i] * CC_ELEMENT % PR_ROW_ALIGN == 0, &j);
        if (!status)
            status = concat_repeat(l, &j, &x, reps);
        if (!status)
            status = concat_close(l, &j);
        x = to;
        any = true;
    }
    return status || any ? status : cc_emit_span(l, &x, y, NULL);
}

/* An operand with the result's axes: for a stack, an axis of length 1 is inserted. */
static int operand_span(struct cc_lowering *l, const struct cc_op *op, uint32_t i, unsigned axis,
                        struct cc_span *span)
{
    struct cc_span x;
    int status = cc_span_source(l, op->input[i], &x);

    *span = x;
    if (status || op->kind != CC_OP_STACK)
        return status;
    span->axes = cc_value_of(l, op->input[i])->rank + 1;
    for (unsigned k = axis + 1; k < span->axes; k++) {
        span->extent[k] = x.extent[k - 1];
        span->stride[k] = x.stride[k - 1];
    }
    span->extent[axis] = 1;
    span->stride[axis] = 0;
    return 0;
}

static int concat(struct cc_lowering *l, const struct cc_op *op, const struct cc_span *y)
{
    unsigned axis = op->a.axis;
    bool aligned = true;
    struct concat j = {0};
    struct cc_span x;
    int status = 0;

    for (uint32_t i = 0; i + 1 < op->inputs && !status; i++) {
        status = operand_span(l, op, i, axis, &x);
        aligned &= x.extent[axis] * CC_ELEMENT % PR_ROW_ALIGN == 0;
    }
    if (!status)
        status = concat_open(l, y, axis, aligned, &j);
    for (uint32_t i = 0; i < op->inputs && !status; i++) {
        status = operand_span(l, op, i, axis, &x);
        if (!status)
            status = concat_append(l, &j, &x);
    }
    return status ? status : concat_close(l, &j);
}

/* Indices that follow each other at one distance are one move. */
static int gather_runs(struct cc_lowering *l, const int32_t *index, uint32_t count, unsigned axis,
                       const struct cc_span *x, const struct cc_span *y)
{
    int status = 0;

    for (uint32_t at = 0, run; at < count && !status; at += run) {
        int32_t step = at + 1 < count ? index[at + 1] - index[at] : 1;
        struct cc_span from, to;

        run = 1;
        while (step > 0 && at + run < count && index[at + run] - index[at + run - 1] == step)
            run++;
        from = cc_span_part(x, axis, (uint32_t)index[at], run, run > 1 ? (uint32_t)step : 1);
        to = cc_span_part(y, axis, at, run, 1);
        status = cc_emit_span(l, &from, &to, NULL);
    }
    return status;
}

/* The last axis is gathered between two buffers in which it is the slowest. */
static int gather(struct cc_lowering *l, const struct cc_op *op, const struct cc_span *x,
                  const struct cc_span *y)
{
    const struct cc_value *indices = cc_value_of(l, op->a.indices - 1);
    struct cc_span from, to;
    int status;

    if (indices->rank != 1)
        return cc_refuse(l, "its indices have rank %u, expected 1 here", indices->rank);
    if (op->a.axis + 1 < x->axes)
        return gather_runs(l, indices->data, indices->dim[0], op->a.axis, x, y);
    status = cc_span_stage(l, x, op->a.axis, &from);
    if (!status)
        status = cc_span_stage(l, y, op->a.axis, &to);
    if (!status)
        status = cc_emit_span(l, x, &from, NULL);
    if (!status)
        status = gather_runs(l, indices->data, indices->dim[0], op->a.axis, &from, &to);
    return status ? status : cc_emit_span(l, &to, y, NULL);
}

int cc_lower_layout(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    struct cc_span x, y;
    int status = cc_span_result(l, step->output, &y);

    if (!status && op->kind != CC_OP_CONCAT && op->kind != CC_OP_STACK)
        status = cc_span_source(l, op->input[0], &x);
    if (status)
        return status;
    switch (op->kind) {
    case CC_OP_TRANSPOSE: return transpose(l, op, &x, &y);
    case CC_OP_RESHAPE:
    case CC_OP_EXPAND_DIMS:
    case CC_OP_SQUEEZE: return reshape(l, x, y);
    case CC_OP_SLICE_BY_INDEX:
    case CC_OP_SLICE_BY_SIZE: return slice(l, op, x, &y);
    case CC_OP_TILE: return tile(l, op, x, &y);
    case CC_OP_CONCAT:
    case CC_OP_STACK: return concat(l, op, &y);
    case CC_OP_GATHER: return gather(l, op, &x, &y);
    default: return cc_refuse(l, "the engine has no form of this operation");
    }
}
