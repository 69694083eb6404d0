/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of operations that only move elements. Attributes are resolved before they come here: axes are
 * counted from the front, and a slice has a beginning and a size. reshape is the one rule that takes its
 * result from the declaration, and checks only that the number of elements is the same.
 */
#include "compiler/graph/rules.h"

/* A bool is moved like a number. */
static int movable(const struct cc_op *op, const struct cc_value *x, struct base_error *error)
{
    return x->type == CC_BOOL || x->type == CC_INT32 ? 0 : cc_rule_float(op, x, error);
}

int cc_rule_transpose(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                      struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    uint32_t seen = 0;

    *out = cc_rule_shape(x);
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t from = op->a.perm[i];

        if (from >= x->rank || seen >> from & 1)
            return cc_rule_refuse(op, error, "perm has %u at place %u, expected each axis of rank %u once",
                                  from, i, x->rank);
        seen |= 1u << from;
        out->dim[i] = x->dim[from];
    }
    return movable(op, x, error);
}

static uint64_t elements(const struct cc_value *value)
{
    return value->bytes / cc_type_bytes(value->type);
}

/* The shape is that of the declared value, which must have as many elements. */
int cc_rule_reshape(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                    struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0), *y = &graph->value[op->output];
    int status = movable(op, x, error);

    if (status)
        return status;
    if (cc_type_bytes(y->type) == 0 || elements(x) != elements(y))
        return cc_rule_refuse(op, error, "%s and %s do not hold the same number of elements",
                              cc_rule_text(x).text, cc_rule_text(y).text);
    *out = cc_rule_shape(y);
    out->type = x->type;
    return 0;
}

int cc_rule_expand_dims(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                        struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    uint32_t taken = 0, rank = x->rank;

    for (uint32_t i = 0; i < 32; i++)
        rank += op->a.axes >> i & 1;
    if (rank > CC_RANK_MAX)
        return cc_rule_refuse(op, error, "the result has rank %u, more than %u", rank, CC_RANK_MAX);
    if (op->a.axes >> rank)
        return cc_rule_refuse(op, error, "axes 0x%x reach beyond the result's rank %u", op->a.axes, rank);
    *out = (struct cc_shape){.type = x->type, .rank = rank};
    for (uint32_t i = 0; i < rank; i++)
        out->dim[i] = op->a.axes >> i & 1 ? 1 : x->dim[taken++];
    return movable(op, x, error);
}

/* The shape without the axes of op->a.axes, each of which must have length 1. */
static int leave_out(const struct cc_op *op, const struct cc_shape *shape, struct cc_shape *out,
                     struct base_error *error)
{
    struct cc_shape kept = {.type = shape->type};

    if (op->a.axes >> shape->rank)
        return cc_rule_refuse(op, error, "axes 0x%x reach beyond rank %u", op->a.axes, shape->rank);
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (!(op->a.axes >> i & 1))
            kept.dim[kept.rank++] = shape->dim[i];
        else if (shape->dim[i] != 1)
            return cc_rule_refuse(op, error,
                                  "axis %u has length %u, and only an axis of length 1 can be left out", i,
                                  shape->dim[i]);
    }
    *out = kept;
    return 0;
}

int cc_rule_squeeze(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                    struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    struct cc_shape shape = cc_rule_shape(x);
    int status = movable(op, x, error);

    return status ? status : leave_out(op, &shape, out, error);
}

int cc_rule_slice(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                  struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    struct cc_shape slice = cc_rule_shape(x);
    int status = movable(op, x, error);

    if (status)
        return status;
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t begin = op->a.begin[i], size = op->a.size[i], step = op->a.step[i] ? op->a.step[i] : 1;

        if (size == 0 || begin + (uint64_t)(size - 1) * step >= x->dim[i])
            return cc_rule_refuse(
                op, error, "%u elements from %u on axis %u%s, expected at least 1 inside its length %u", size,
                begin, i, step > 1 ? " with a stride" : "", x->dim[i]);
        slice.dim[i] = size;
    }
    return leave_out(op, &slice, out, error);
}

int cc_rule_tile(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                 struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);

    *out = cc_rule_shape(x);
    for (uint32_t i = 0; i < x->rank; i++) {
        uint64_t length = (uint64_t)x->dim[i] * op->a.reps[i];

        if (op->a.reps[i] == 0 || length > CC_AXIS_MAX)
            return cc_rule_refuse(op, error, "axis %u of length %u %u times, expected 1 to %u elements", i,
                                  x->dim[i], op->a.reps[i], CC_AXIS_MAX);
        out->dim[i] = (uint32_t)length;
    }
    return movable(op, x, error);
}

/* Operands of a list agree with the first on everything but `axis`; CC_RANK_MAX: on everything. */
static int check_list(const struct cc_graph *graph, const struct cc_op *op, uint32_t axis,
                      struct base_error *error)
{
    const struct cc_value *first = cc_rule_operand(graph, op, 0);
    int status = movable(op, first, error);

    for (uint32_t i = 1; i < op->inputs && !status; i++) {
        const struct cc_value *next = cc_rule_operand(graph, op, i);
        bool equal = next->rank == first->rank;

        for (uint32_t k = 0; equal && k < first->rank; k++)
            equal = k == axis || next->dim[k] == first->dim[k];
        if (!equal && axis < CC_RANK_MAX)
            return cc_rule_refuse(
                op, error, "`%.64s` is %s and `%.64s` is %s, expected equal lengths but on axis %u",
                first->name, cc_rule_text(first).text, next->name, cc_rule_text(next).text, axis);
        if (!equal)
            return cc_rule_refuse(op, error, "`%.64s` is %s and `%.64s` is %s, expected one shape",
                                  first->name, cc_rule_text(first).text, next->name, cc_rule_text(next).text);
        status =
            first->type == CC_BOOL && next->type == CC_BOOL ? 0 : cc_rule_same_type(op, first, next, error);
    }
    return status;
}

/* That of an operand computed at run time; of constants alone, the widest. */
static enum cc_type list_type(const struct cc_graph *graph, const struct cc_op *op)
{
    const struct cc_value *found = cc_rule_operand(graph, op, 0);

    for (uint32_t i = 1; i < op->inputs; i++) {
        const struct cc_value *next = cc_rule_operand(graph, op, i);

        if (cc_rule_result_type(found, next) != found->type || !next->data)
            found = next;
    }
    return found->type;
}

int cc_rule_concat(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                   struct base_error *error)
{
    uint32_t rank = cc_rule_operand(graph, op, 0)->rank, axis = op->a.axis;
    uint64_t length = 0;
    int status;

    if (axis >= rank)
        return cc_rule_refuse(op, error, "axis %u reaches beyond rank %u", axis, rank);
    if ((status = check_list(graph, op, axis, error)))
        return status;
    for (uint32_t i = 0; i < op->inputs; i++)
        length += cc_rule_operand(graph, op, i)->dim[axis];
    if (length > CC_AXIS_MAX)
        return cc_rule_refuse(op, error, "axis %u would have length %llu, more than %u", axis,
                              (unsigned long long)length, CC_AXIS_MAX);
    *out = cc_rule_shape(cc_rule_operand(graph, op, 0));
    out->type = list_type(graph, op);
    out->dim[axis] = (uint32_t)length;
    return 0;
}

int cc_rule_stack(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                  struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    uint32_t axis = op->a.axis, taken = 0;
    int status;

    if (x->rank == CC_RANK_MAX)
        return cc_rule_refuse(op, error, "the result has rank %u, more than %u", x->rank + 1, CC_RANK_MAX);
    if (axis > x->rank)
        return cc_rule_refuse(op, error, "axis %u reaches beyond the result's rank %u", axis, x->rank + 1);
    if ((status = check_list(graph, op, CC_RANK_MAX, error)))
        return status;
    *out = (struct cc_shape){.type = list_type(graph, op), .rank = x->rank + 1};
    for (uint32_t i = 0; i < out->rank; i++)
        out->dim[i] = i == axis ? op->inputs : x->dim[taken++];
    return 0;
}

int cc_rule_pad(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    const struct cc_attributes *a = &op->a;

    *out = cc_rule_shape(x);
    for (uint32_t i = 0; i < x->rank; i++) {
        uint64_t length = (uint64_t)x->dim[i] + a->begin[i] + a->end[i];

        if (length > CC_AXIS_MAX)
            return cc_rule_refuse(op, error, "axis %u would have length %llu, more than %u", i,
                                  (unsigned long long)length, CC_AXIS_MAX);
        if (a->pad_mode == CC_PAD_REFLECT && (a->begin[i] >= x->dim[i] || a->end[i] >= x->dim[i]))
            return cc_rule_refuse(op, error,
                                  "padding %u and %u of axis %u reflects more than its length %u less 1",
                                  a->begin[i], a->end[i], i, x->dim[i]);
        out->dim[i] = (uint32_t)length;
    }
    return movable(op, x, error);
}

/* H and W become size[0] and size[1]; of rank 3, the two last axes too. */
int cc_rule_resize(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                   struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);

    *out = cc_rule_shape(x);
    if (x->rank < 2)
        return cc_rule_refuse(op, error, "x is %s, expected at least rank 2: [..., H, W]",
                              cc_rule_text(x).text);
    for (unsigned i = 0; i < 2; i++) {
        if (op->a.size[i] == 0 || op->a.size[i] > CC_AXIS_MAX)
            return cc_rule_refuse(op, error, "the result has %u by %u elements, expected 1 to %u",
                                  op->a.size[0], op->a.size[1], CC_AXIS_MAX);
        out->dim[x->rank - 2 + i] = op->a.size[i];
    }
    return cc_rule_float(op, x, error);
}

static int check_blocks(const struct cc_op *op, const struct cc_value *x, struct base_error *error)
{
    const uint32_t *block = op->a.block;

    if (x->rank != 4)
        return cc_rule_refuse(op, error, "x is %s, expected rank 4: [N, C, H, W]", cc_rule_text(x).text);
    if (block[0] == 0 || block[1] == 0 || block[0] > PR_WIDTH_MAX || block[1] > PR_WIDTH_MAX)
        return cc_rule_refuse(op, error, "blocks of %u by %u, expected 1 to %u", block[0], block[1],
                              PR_WIDTH_MAX);
    return movable(op, x, error);
}

/* `moved` is the axis that the elements of a block come from or go to. */
static int blocks(const struct cc_op *op, bool from, uint32_t moved, struct cc_shape *out,
                  struct base_error *error)
{
    const uint32_t *block = op->a.block;
    uint64_t count = (uint64_t)block[0] * block[1];

    if (count == 0 ||
        (from ? out->dim[moved] % count != 0 : out->dim[2] % block[0] || out->dim[3] % block[1]))
        return cc_rule_refuse(op, error, "blocks of %u by %u do not divide %s", block[0], block[1],
                              cc_shape_text(out->type, out->rank, out->dim).text);
    if (!from && out->dim[moved] > CC_AXIS_MAX / count)
        return cc_rule_refuse(op, error, "axis %u would be longer than %u", moved, CC_AXIS_MAX);
    out->dim[moved] = (uint32_t)(from ? out->dim[moved] / count : out->dim[moved] * count);
    for (unsigned i = 0; i < 2; i++)
        out->dim[2 + i] = from ? out->dim[2 + i] * block[i] : out->dim[2 + i] / block[i];
    return 0;
}

/* DEPTH_TO_SPACE, SPACE_TO_DEPTH */
int cc_rule_depth(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                  struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    int status = check_blocks(op, x, error);

    *out = cc_rule_shape(x);
    return status ? status : blocks(op, op->kind == CC_OP_DEPTH_TO_SPACE, 1, out, error);
}

/* BATCH_TO_SPACE crops its result by pad, SPACE_TO_BATCH pads x by it. */
int cc_rule_batch(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                  struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    bool from = op->kind == CC_OP_BATCH_TO_SPACE;
    int status = check_blocks(op, x, error);

    *out = cc_rule_shape(x);
    if (status)
        return status;
    for (unsigned i = 0; i < 4; i++)
        if (op->a.pad[i] > PR_WIDTH_MAX)
            return cc_rule_refuse(op, error, "a crop or padding of %u is more than %u", op->a.pad[i],
                                  PR_WIDTH_MAX);
    for (unsigned i = 0; i < 2 && !from; i++)
        out->dim[2 + i] += op->a.pad[2 * i] + op->a.pad[2 * i + 1];
    if ((status = blocks(op, from, 0, out, error)))
        return status;
    for (unsigned i = 0; i < 2 && from; i++) {
        uint32_t crop = op->a.pad[2 * i] + op->a.pad[2 * i + 1];

        if (crop >= out->dim[2 + i])
            return cc_rule_refuse(op, error, "crops of %u leave nothing of axis %u of length %u", crop, 2 + i,
                                  out->dim[2 + i]);
        out->dim[2 + i] -= crop;
    }
    return 0;
}

int cc_rule_reverse(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                    struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);

    *out = cc_rule_shape(x);
    if (op->a.axes >> x->rank)
        return cc_rule_refuse(op, error, "axes 0x%x reach beyond rank %u", op->a.axes, x->rank);
    return movable(op, x, error);
}

int cc_rule_cumsum(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                   struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);

    *out = cc_rule_shape(x);
    if (op->a.axis >= x->rank)
        return cc_rule_refuse(op, error, "axis %u reaches beyond rank %u", op->a.axis, x->rank);
    return cc_rule_float(op, x, error);
}

/* The axes of the indices replace `axis`. */
static int gathered(const struct cc_op *op, const struct cc_value *x, const struct cc_value *indices,
                    struct cc_shape *out, struct base_error *error)
{
    if (op->a.axis >= x->rank)
        return cc_rule_refuse(op, error, "axis %u reaches beyond rank %u", op->a.axis, x->rank);
    if (x->rank - 1 + indices->rank > CC_RANK_MAX)
        return cc_rule_refuse(op, error, "the result has rank %u, more than %u", x->rank - 1 + indices->rank,
                              CC_RANK_MAX);
    *out = (struct cc_shape){.type = x->type};
    for (uint32_t i = 0; i < op->a.axis; i++)
        out->dim[out->rank++] = x->dim[i];
    for (uint32_t i = 0; i < indices->rank; i++)
        out->dim[out->rank++] = indices->dim[i];
    for (uint32_t i = op->a.axis + 1; i < x->rank; i++)
        out->dim[out->rank++] = x->dim[i];
    return movable(op, x, error);
}

int cc_rule_gather_at(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                      struct base_error *error)
{
    const struct cc_value *indices = cc_rule_operand(graph, op, 1);

    if (indices->type != CC_INT32)
        return cc_rule_refuse(op, error, "its indices are %s, expected int32", cc_type_name(indices->type));
    return gathered(op, cc_rule_operand(graph, op, 0), indices, out, error);
}

int cc_rule_gather(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                   struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    const struct cc_value *indices = op->a.indices ? &graph->value[op->a.indices - 1] : NULL;
    const int32_t *index;
    int status;

    if (!indices || !indices->data || indices->type != CC_INT32)
        return cc_rule_refuse(op, error, "its indices are not int32 constants");
    status = gathered(op, x, indices, out, error);
    if (status)
        return status;
    index = indices->data;
    for (size_t i = 0; i < indices->bytes / sizeof(*index); i++)
        if (index[i] < 0 || (uint32_t)index[i] >= x->dim[op->a.axis])
            return cc_rule_refuse(op, error, "index %d is outside axis %u of length %u", index[i], op->a.axis,
                                  x->dim[op->a.axis]);
    return 0;
}
