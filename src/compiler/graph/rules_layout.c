/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of operations that only move elements. Attributes are resolved before they come here: axes are
 * counted from the front, and a slice has a beginning and a size. reshape is the one rule that takes its
 * result from the declaration, and checks only that the number of elements is the same.
 */
#include "compiler/graph/rules.h"

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
    return cc_rule_float(op, x, error);
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
    int status = cc_rule_float(op, x, error);

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
    return cc_rule_float(op, x, error);
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
    int status = cc_rule_float(op, x, error);

    return status ? status : leave_out(op, &shape, out, error);
}

int cc_rule_slice(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                  struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    struct cc_shape slice = cc_rule_shape(x);
    int status = cc_rule_float(op, x, error);

    if (status)
        return status;
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t begin = op->a.begin[i], size = op->a.size[i];

        if (size == 0 || size > x->dim[i] || begin > x->dim[i] - size)
            return cc_rule_refuse(op, error,
                                  "%u elements from %u on axis %u, expected at least 1 inside its length %u",
                                  size, begin, i, x->dim[i]);
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

        if (op->a.reps[i] == 0 || length > PR_CHANNELS_MAX)
            return cc_rule_refuse(op, error, "axis %u of length %u %u times, expected 1 to %u elements", i,
                                  x->dim[i], op->a.reps[i], PR_CHANNELS_MAX);
        out->dim[i] = (uint32_t)length;
    }
    return cc_rule_float(op, x, error);
}

/* Operands of a list agree with the first on everything but `axis`; CC_RANK_MAX: on everything. */
static int check_list(const struct cc_graph *graph, const struct cc_op *op, uint32_t axis,
                      struct base_error *error)
{
    const struct cc_value *first = cc_rule_operand(graph, op, 0);
    int status = cc_rule_float(op, first, error);

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
        status = cc_rule_same_type(op, first, next, error);
    }
    return status;
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
    if (length > PR_CHANNELS_MAX)
        return cc_rule_refuse(op, error, "axis %u would have length %llu, more than %u", axis,
                              (unsigned long long)length, PR_CHANNELS_MAX);
    *out = cc_rule_shape(cc_rule_operand(graph, op, 0));
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
    *out = (struct cc_shape){.type = x->type, .rank = x->rank + 1};
    for (uint32_t i = 0; i < out->rank; i++)
        out->dim[i] = i == axis ? op->inputs : x->dim[taken++];
    return 0;
}
