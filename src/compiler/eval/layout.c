/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations that move elements. Each fills the tables of a move: for every axis of the result, what its
 * index adds to the place in x.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/move.h"
#include "compiler/eval/task.h"

static int no_memory(const struct cc_eval_task *t)
{
    return base_fail(t->error, ENOMEM, "There is no memory to compute %s `%.64s`.", cc_op_name(t->op->kind),
                     t->op->name);
}

int cc_eval_copy(const struct cc_eval_task *t)
{
    memcpy(t->result, t->operand[0], cc_value_elements(t->x) * sizeof(double));
    return 0;
}

/* Where index i of an axis of the result comes from, in elements of x; or CC_MOVE_NONE. */
typedef int64_t place(const struct cc_eval_task *t, const uint64_t *stride, uint32_t axis, uint32_t i);

/* A move from x, of x's strides, to a result of these lengths. */
static int move(const struct cc_eval_task *t, uint32_t rank, const uint32_t *dims, place *from, double fill)
{
    uint64_t stride[CC_RANK_MAX];
    struct cc_move m;
    int status = cc_move_open(&m, rank, dims);

    cc_eval_strides(t->x, stride);
    m.fill = fill;
    for (uint32_t axis = 0; axis < rank && !status; axis++)
        for (uint32_t i = 0; i < dims[axis]; i++)
            m.from[axis][i] = from(t, stride, axis, i);
    if (!status)
        cc_move_run(&m, t->operand[0], t->result);
    cc_move_close(&m);
    return status ? no_memory(t) : 0;
}

static int64_t place_transpose(const struct cc_eval_task *t, const uint64_t *stride, uint32_t axis,
                               uint32_t i)
{
    return (int64_t)(i * stride[t->op->a.perm[axis]]);
}

int cc_eval_transpose(const struct cc_eval_task *t)
{
    return move(t, t->y->rank, t->y->dim, place_transpose, 0);
}

static int64_t place_slice(const struct cc_eval_task *t, const uint64_t *stride, uint32_t axis, uint32_t i)
{
    const struct cc_attributes *a = &t->op->a;
    uint64_t step = a->step[axis] ? a->step[axis] : 1;

    return (int64_t)((a->begin[axis] + i * step) * stride[axis]);
}

/* The axes that are left out have length 1, so that the order of the elements is the same with them. */
int cc_eval_slice(const struct cc_eval_task *t)
{
    return move(t, t->x->rank, t->op->a.size, place_slice, 0);
}

static int64_t place_tile(const struct cc_eval_task *t, const uint64_t *stride, uint32_t axis, uint32_t i)
{
    return (int64_t)(i % t->x->dim[axis] * stride[axis]);
}

int cc_eval_tile(const struct cc_eval_task *t)
{
    return move(t, t->y->rank, t->y->dim, place_tile, 0);
}

static int64_t place_reverse(const struct cc_eval_task *t, const uint64_t *stride, uint32_t axis, uint32_t i)
{
    return (int64_t)((t->op->a.axes >> axis & 1 ? t->x->dim[axis] - 1 - i : i) * stride[axis]);
}

int cc_eval_reverse(const struct cc_eval_task *t)
{
    return move(t, t->y->rank, t->y->dim, place_reverse, 0);
}

static int64_t place_pad(const struct cc_eval_task *t, const uint64_t *stride, uint32_t axis, uint32_t i)
{
    int64_t length = t->x->dim[axis], at = (int64_t)i - t->op->a.begin[axis];

    if (at >= 0 && at < length)
        return at * (int64_t)stride[axis];
    switch (t->op->a.pad_mode) {
    case CC_PAD_REFLECT: at = at < 0 ? -at : 2 * (length - 1) - at; break;
    case CC_PAD_REPLICATE: at = at < 0 ? 0 : length - 1; break;
    case CC_PAD_CONSTANT: return CC_MOVE_NONE;
    }
    return at * (int64_t)stride[axis];
}

int cc_eval_pad(const struct cc_eval_task *t)
{
    return move(t, t->y->rank, t->y->dim, place_pad, (double)t->op->a.alpha);
}

/* Block rows and columns are between the channels, in the order of the attribute. */
static int64_t place_depth(const struct cc_eval_task *t, const uint64_t *stride, uint32_t axis, uint32_t i)
{
    const struct cc_attributes *a = &t->op->a;
    bool to_space = t->op->kind == CC_OP_DEPTH_TO_SPACE, block_first = a->order == CC_DEPTH_BLOCK_FIRST;
    uint64_t count = (uint64_t)a->block[0] * a->block[1], block, channel;
    uint64_t kept = to_space ? t->y->dim[1] : t->x->dim[1]; /* channels without the blocks */
    uint64_t between = (block_first ? kept : 1) * (axis == 2 ? a->block[1] : 1);

    if (axis == 0 || (to_space && axis == 1))
        return (int64_t)(i * stride[axis] * (axis == 1 && !block_first ? count : 1));
    if (to_space)
        return (int64_t)(i / a->block[axis - 2] * stride[axis] +
                         i % a->block[axis - 2] * between * stride[1]);
    if (axis > 1)
        return (int64_t)((uint64_t)i * a->block[axis - 2] * stride[axis]);
    block = block_first ? i / kept : i % count;
    channel = block_first ? i % kept : i / count;
    return (int64_t)(channel * stride[1] + block / a->block[1] * stride[2] + block % a->block[1] * stride[3]);
}

int cc_eval_depth(const struct cc_eval_task *t)
{
    return move(t, t->y->rank, t->y->dim, place_depth, 0);
}

/* A block's elements are whole batches apart: block row, block column, batch. */
static int64_t place_from_batch(const struct cc_eval_task *t, const uint64_t *stride, uint32_t axis,
                                uint32_t i)
{
    const struct cc_attributes *a = &t->op->a;
    uint64_t at, between;

    if (axis < 2)
        return (int64_t)(i * stride[axis]);
    at = (uint64_t)i + a->pad[2 * (axis - 2)];
    between = (uint64_t)t->y->dim[0] * (axis == 2 ? a->block[1] : 1);
    return (int64_t)(at / a->block[axis - 2] * stride[axis] + at % a->block[axis - 2] * between * stride[0]);
}

/* Of the padded x. */
static int64_t place_to_batch(const struct cc_eval_task *t, const uint64_t *stride, uint32_t axis, uint32_t i)
{
    const struct cc_attributes *a = &t->op->a;
    uint32_t block = i / t->x->dim[0];

    if (axis == 1)
        return (int64_t)(i * stride[1]);
    if (axis > 1)
        return (int64_t)((uint64_t)i * a->block[axis - 2] * stride[axis]);
    return (int64_t)(i % t->x->dim[0] * stride[0] + block / a->block[1] * stride[2] +
                     block % a->block[1] * stride[3]);
}

static int64_t place_padded(const struct cc_eval_task *t, const uint64_t *stride, uint32_t axis, uint32_t i)
{
    int64_t at = axis < 2 ? i : (int64_t)i - t->op->a.pad[2 * (axis - 2)];

    return at < 0 || at >= t->x->dim[axis] ? CC_MOVE_NONE : at * (int64_t)stride[axis];
}

int cc_eval_batch(const struct cc_eval_task *t)
{
    const uint32_t *pad = t->op->a.pad;
    struct cc_value padded = *t->x;
    struct cc_eval_task first = *t, second = *t;
    double *room;
    int status;

    if (t->op->kind == CC_OP_BATCH_TO_SPACE)
        return move(t, t->y->rank, t->y->dim, place_from_batch, 0);
    padded.dim[2] += pad[0] + pad[1];
    padded.dim[3] += pad[2] + pad[3];
    room = cc_eval_room(t, (uint64_t)padded.dim[0] * padded.dim[1] * padded.dim[2] * padded.dim[3]);
    if (!room)
        return -ENOMEM;
    first.result = room;
    status = move(&first, 4, padded.dim, place_padded, 0);
    second.x = &padded;
    second.operand = (const double *const[]){room};
    if (!status)
        status = move(&second, t->y->rank, t->y->dim, place_to_batch, 0);
    base_free(room);
    return status;
}

/* Three axes: those before `axis`, the indices, those behind. */
/* Index i, from the front and within the axis. */
static int64_t index_of(const struct cc_eval_task *t, uint32_t i, uint32_t length)
{
    const double *computed = t->op->kind == CC_OP_GATHER_AT ? t->operand[1] : NULL;
    int64_t index;

    if (!computed)
        return ((const int32_t *)t->graph->value[t->op->a.indices - 1].data)[i];
    index = (int64_t)computed[i];
    index = index < 0 ? index + length : index;
    return index < 0 ? 0 : index < length ? index : (int64_t)length - 1;
}

int cc_eval_gather(const struct cc_eval_task *t)
{
    const struct cc_value *v =
        &t->graph->value[t->op->kind == CC_OP_GATHER_AT ? t->op->input[1] : t->op->a.indices - 1];
    uint32_t axis = t->op->a.axis, outer = 1, inner = 1, length = t->x->dim[axis];
    struct cc_move m;
    int status;

    for (uint32_t i = 0; i < axis; i++)
        outer *= t->x->dim[i];
    for (uint32_t i = axis + 1; i < t->x->rank; i++)
        inner *= t->x->dim[i];
    status = cc_move_open(&m, 3, (uint32_t[]){outer, (uint32_t)cc_value_elements(v), inner});
    for (uint32_t i = 0; !status && i < outer; i++)
        m.from[0][i] = (int64_t)i * length * inner;
    for (uint32_t i = 0; !status && i < m.dim[1]; i++)
        m.from[1][i] = index_of(t, i, length) * inner;
    for (uint32_t i = 0; !status && i < inner; i++)
        m.from[2][i] = i;
    if (!status)
        cc_move_run(&m, t->operand[0], t->result);
    cc_move_close(&m);
    return status ? no_memory(t) : 0;
}

/* Per index of the axes before, the operands follow each other; in a stack too. */
int cc_eval_concat(const struct cc_eval_task *t)
{
    uint64_t outer = 1;
    double *y = t->result;

    for (uint32_t i = 0; i < t->op->a.axis; i++)
        outer *= t->y->dim[i];
    for (uint64_t i = 0; i < outer; i++)
        for (uint32_t k = 0; k < t->op->inputs; k++) {
            uint64_t inner = cc_value_elements(&t->graph->value[t->op->input[k]]) / outer;

            memcpy(y, t->operand[k] + i * inner, inner * sizeof(*y));
            y += inner;
        }
    return 0;
}

int cc_eval_cumsum(const struct cc_eval_task *t)
{
    const struct cc_attributes *a = &t->op->a;
    uint64_t stride[CC_RANK_MAX], length = t->x->dim[a->axis], count = cc_value_elements(t->x), step;

    cc_eval_strides(t->x, stride);
    step = stride[a->axis];
    for (uint64_t line = 0; line < count / length; line++) {
        uint64_t first = line / step * step * length + line % step;
        double sum = 0;

        for (uint64_t i = 0; i < length; i++) {
            uint64_t at = first + (a->reverse ? length - 1 - i : i) * step;
            double before = sum;

            sum += t->operand[0][at];
            t->result[at] = a->exclusive ? before : sum;
        }
    }
    return 0;
}
