/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of operations that only move elements. Everything that the text may leave open is resolved here:
 * negative axes and indices, masks, a length of -1, sizes to the end. The graph's rules see only lengths and
 * axes counted from the front.
 */
#include "compiler/mil/op.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/graph/build.h"

/* As many numbers as x has axes, or a refusal. */
static int take_per_axis(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t rank,
                         const int32_t **values)
{
    uint32_t count;
    int status = cc_mil_need(mil, call, name);

    if (status || (status = cc_mil_list(mil, call, name, values, &count)))
        return status;
    if (count != rank)
        return cc_mil_wrong(mil, call, name, EINVAL, "has %u number%s, expected one per axis of x: %u", count,
                            count == 1 ? "" : "s", rank);
    return 0;
}

int cc_mil_take_transpose(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    const int32_t *perm;
    uint32_t rank, seen = 0;
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status)
        return status;
    rank = cc_mil_first(mil, draft)->rank;
    if ((status = take_per_axis(mil, call, "perm", rank, &perm)))
        return status;
    for (uint32_t i = 0; i < rank; i++) {
        int64_t from = perm[i] < 0 ? (int64_t)perm[i] + rank : perm[i];

        if (from < 0 || from >= rank || seen >> from & 1)
            return cc_mil_wrong(mil, call, "perm", EINVAL,
                                "has %" PRId32 ", expected each axis of rank %u once", perm[i], rank);
        seen |= 1u << from;
        draft->a.perm[i] = (uint32_t)from;
    }
    return 0;
}

static struct cc_mil_type type_of(const struct cc_value *value)
{
    struct cc_mil_type type = {.scalar = (enum cc_mil_scalar)value->type, .rank = value->rank};

    memcpy(type.dim, value->dim, sizeof(value->dim));
    return type;
}

/* One length may be -1: it follows from the others. 0 is that of x, when the ranks are equal. */
static int resolve_shape(struct cc_mil *mil, struct cc_mil_call *call, const struct cc_value *x,
                         const int32_t *shape, struct cc_mil_type *type)
{
    uint64_t elements = x->bytes / cc_type_bytes(x->type), known = 1;
    uint32_t open = CC_RANK_MAX;

    for (uint32_t i = 0; i < type->rank; i++) {
        bool inherits = shape[i] == 0 && type->rank == x->rank;

        if (shape[i] < -1 || (shape[i] == 0 && !inherits) || (shape[i] == -1 && open < CC_RANK_MAX))
            return cc_mil_wrong(mil, call, "shape", EINVAL,
                                "has %" PRId32
                                ", expected lengths of at least 1, at most one -1, and 0 only where x has "
                                "as many axes",
                                shape[i]);
        if (shape[i] == -1) {
            open = i;
            continue;
        }
        type->dim[i] = inherits ? x->dim[i] : (uint32_t)shape[i];
        known *= type->dim[i];
        if (known > elements)
            break;
    }
    if (open < CC_RANK_MAX && known <= elements && elements % known == 0) {
        type->dim[open] = (uint32_t)(elements / known);
        known = elements;
    }
    if (known != elements)
        return cc_mil_wrong(mil, call, "shape", EINVAL, "does not hold the %" PRIu64 " elements of %s",
                            elements, cc_shape_text(x->type, x->rank, x->dim).text);
    return 0;
}

int cc_mil_take_reshape(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_mil_type type;
    const int32_t *shape;
    uint32_t count;
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_need(mil, call, "shape")) ||
        (status = cc_mil_list(mil, call, "shape", &shape, &count)))
        return status;
    if (count > CC_RANK_MAX)
        return cc_mil_wrong(mil, call, "shape", EINVAL, "has %u numbers, more than rank %u", count,
                            CC_RANK_MAX);
    type = type_of(cc_mil_first(mil, draft));
    type.rank = count;
    if ((status = resolve_shape(mil, call, cc_mil_first(mil, draft), shape, &type)))
        return status;
    return cc_mil_declared(mil, call, &type);
}

int cc_mil_take_expand_dims(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    const int32_t *unused;
    uint32_t count, rank;
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_need(mil, call, "axes")) ||
        (status = cc_mil_list(mil, call, "axes", &unused, &count)))
        return status;
    rank = cc_mil_first(mil, draft)->rank;
    if (count > CC_RANK_MAX - rank)
        return cc_mil_wrong(mil, call, "axes", EINVAL, "adds %u to rank %u, more than %u", count, rank,
                            CC_RANK_MAX);
    return cc_mil_axes(mil, call, "axes", rank + count, &draft->a.axes);
}

/* All axes of length 1, when none are named. */
int cc_mil_take_squeeze(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    const struct cc_value *x;
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status)
        return status;
    x = cc_mil_first(mil, draft);
    for (uint32_t i = 0; i < x->rank && i < CC_RANK_MAX; i++)
        draft->a.axes |= (uint32_t)(x->dim[i] == 1) << i;
    return cc_mil_axes(mil, call, "axes", x->rank, &draft->a.axes);
}

/* Where a slice begins on one axis; a negative index counts from its end. */
static int take_begin(struct cc_mil *mil, struct cc_mil_call *call, uint32_t length, int32_t given,
                      uint32_t *begin)
{
    int64_t place = given < 0 ? (int64_t)given + length : given;

    if (place < 0 || place >= length)
        return cc_mil_wrong(mil, call, "begin", ERANGE, "has %" PRId32 " for an axis of length %u", given,
                            length);
    *begin = (uint32_t)place;
    return 0;
}

/* How one axis is sliced, as the text has it. */
struct range {
    int32_t begin, end, stride;
    bool from_start, to_end, one; /* masks: begin and end are left out; one element */
};

/*
 * Numpy's slices: an end beyond the axis is its end. With a negative stride the elements are those of a slice
 * in the opposite order, which is *turned.
 */
static int take_range(struct cc_mil *mil, struct cc_mil_call *call, uint32_t length, const struct range *r,
                      struct cc_attributes *a, uint32_t axis, bool *turned)
{
    int64_t step = r->stride < 0 ? -(int64_t)r->stride : r->stride, stop, count;
    uint32_t begin = r->stride < 0 ? length - 1 : 0;
    int status;

    if (step == 0)
        return cc_mil_wrong(mil, call, "stride", EINVAL, "has 0 on axis %u", axis);
    if (!r->from_start && (status = take_begin(mil, call, length, r->begin, &begin)))
        return status;
    stop = r->end < 0 ? (int64_t)r->end + length : r->end;
    if (r->to_end)
        stop = r->stride < 0 ? -1 : (int64_t)length;
    stop = stop > length ? length : stop < -1 ? -1 : stop;
    count = r->one ? 1 : ((r->stride < 0 ? begin - stop : stop - (int64_t)begin) + step - 1) / step;
    if (count < 1)
        return cc_mil_wrong(mil, call, "end", EINVAL,
                            "has %" PRId32
                            " for an axis of length %u that begins at %u: empty tensors do not exist on this "
                            "engine",
                            r->end, length, begin);
    *turned = r->stride < 0 && count > 1;
    a->begin[axis] = *turned ? (uint32_t)(begin - (count - 1) * step) : begin;
    a->size[axis] = (uint32_t)count;
    a->step[axis] = count > 1 && step > 1 ? (uint32_t)step : 0;
    return 0;
}

/* Adds an operation before the one that the call becomes. */
static int add_before(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    char *name = cc_mil_token_copy(&call->result);
    struct cc_build b = {.graph = mil->graph,
                         .name = name,
                         .line = call->operation.line,
                         .column = call->operation.column,
                         .origin = mil->origin,
                         .error = mil->error};

    if (!name)
        return cc_mil_no_memory(mil);
    draft->input[0] = cc_build_op(&b, draft->kind, draft->inputs, draft->input, &draft->a);
    draft->inputs = 1;
    base_free(name);
    return b.status;
}

/* The axes of a slice that are left without those that it removes. */
static uint32_t without(uint32_t axes, uint32_t removed)
{
    uint32_t kept = 0, place = 0;

    for (uint32_t i = 0; i < CC_RANK_MAX; i++)
        if (!(removed >> i & 1))
            kept |= (axes >> i & 1) << place++;
    return kept;
}

int cc_mil_take_slice_by_index(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_attributes *a = &draft->a;
    uint32_t from_start, to_end, turned = 0;
    const struct cc_value *x;
    const int32_t *begin, *end, *stride = NULL;
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status)
        return status;
    x = cc_mil_first(mil, draft);
    if ((status = take_per_axis(mil, call, "begin", x->rank, &begin)) ||
        (status = take_per_axis(mil, call, "end", x->rank, &end)) ||
        (cc_mil_given(call, "stride") && (status = take_per_axis(mil, call, "stride", x->rank, &stride))) ||
        (status = cc_mil_mask(mil, call, "begin_mask", x->rank, &from_start)) ||
        (status = cc_mil_mask(mil, call, "end_mask", x->rank, &to_end)) ||
        (status = cc_mil_mask(mil, call, "squeeze_mask", x->rank, &a->axes)))
        return status;
    for (uint32_t i = 0; i < x->rank && !status; i++) {
        struct range r = {begin[i],        end[i],          stride ? stride[i] : 1, from_start >> i & 1,
                          to_end >> i & 1, a->axes >> i & 1};
        bool turn = false;

        status = take_range(mil, call, x->dim[i], &r, a, i, &turn);
        turned |= (uint32_t)turn << i;
    }
    if (status || !turned)
        return status;
    turned = without(turned, a->axes);
    status = add_before(mil, call, draft);
    draft->kind = CC_OP_REVERSE;
    draft->a = (struct cc_attributes){.axes = turned};
    return status;
}

int cc_mil_take_slice_by_size(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_attributes *a = &draft->a;
    const struct cc_value *x;
    const int32_t *begin, *size;
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status)
        return status;
    x = cc_mil_first(mil, draft);
    if ((status = take_per_axis(mil, call, "begin", x->rank, &begin)) ||
        (status = take_per_axis(mil, call, "size", x->rank, &size)))
        return status;
    for (uint32_t i = 0; i < x->rank; i++) {
        uint32_t length = x->dim[i];

        if ((status = take_begin(mil, call, length, begin[i], &a->begin[i])))
            return status;
        if (size[i] != -1 && (size[i] < 1 || (uint32_t)size[i] > length - a->begin[i]))
            return cc_mil_wrong(mil, call, "size", ERANGE,
                                "has %" PRId32 " for an axis of length %u that begins at %u", size[i], length,
                                a->begin[i]);
        a->size[i] = size[i] == -1 ? length - a->begin[i] : (uint32_t)size[i];
    }
    return 0;
}

int cc_mil_take_tile(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_need(mil, call, "reps")))
        return status;
    return cc_mil_ints(mil, call, "reps", cc_mil_first(mil, draft)->rank, 1, PR_CHANNELS_MAX, draft->a.reps);
}

/* The first element of each, then the second of each: a stack behind the axis, whose two axes are one. */
static int interleave(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_mil_type type = type_of(cc_mil_first(mil, draft));
    uint32_t axis = draft->a.axis;
    int status;

    if (type.rank == CC_RANK_MAX)
        return cc_mil_wrong(mil, call, "interleave", EOPNOTSUPP, "is true for rank %u, expected at most %u",
                            type.rank, CC_RANK_MAX - 1);
    type.dim[axis] *= draft->inputs;
    draft->kind = CC_OP_STACK;
    draft->a.axis = axis + 1;
    status = add_before(mil, call, draft);
    draft->kind = CC_OP_RESHAPE;
    draft->a = (struct cc_attributes){0};
    return status ? status : cc_mil_declared(mil, call, &type);
}

int cc_mil_take_concat(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    bool interleaved = false;
    int status = cc_mil_operands(mil, call, "values", draft);

    if (status || (status = cc_mil_bool(mil, call, "interleave", &interleaved)) ||
        (status = cc_mil_axis(mil, call, "axis", cc_mil_first(mil, draft)->rank, &draft->a.axis)))
        return status;
    return interleaved ? interleave(mil, call, draft) : 0;
}

int cc_mil_take_stack(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operands(mil, call, "values", draft);

    return status ? status
                  : cc_mil_axis(mil, call, "axis", cc_mil_first(mil, draft)->rank + 1, &draft->a.axis);
}

static int take_sizes(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft,
                      uint32_t length)
{
    const int32_t *sizes;
    uint32_t count;
    uint64_t sum = 0;
    int status = cc_mil_list(mil, call, "split_sizes", &sizes, &count);

    if (status)
        return status;
    if (count > CC_MIL_RESULTS_MAX || (draft->parts && draft->parts != count))
        return cc_mil_wrong(mil, call, "split_sizes", EINVAL, "has %u numbers, expected %s%u", count,
                            draft->parts ? "num_splits = " : "at most ",
                            draft->parts ? draft->parts : CC_MIL_RESULTS_MAX);
    draft->parts = count;
    for (uint32_t i = 0; i < count; i++) {
        if (sizes[i] < 1)
            return cc_mil_wrong(mil, call, "split_sizes", EINVAL, "has %" PRId32 ", expected at least 1",
                                sizes[i]);
        draft->part[i] = (uint32_t)sizes[i];
        sum += draft->part[i];
    }
    if (sum != length)
        return cc_mil_wrong(mil, call, "split_sizes", EINVAL,
                            "adds up to %" PRIu64 ", expected the %u of axis %u", sum, length, draft->axis);
    return 0;
}

int cc_mil_take_split(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    uint32_t length;
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_axis(mil, call, "axis", cc_mil_first(mil, draft)->rank, &draft->axis)) ||
        (status = cc_mil_ints(mil, call, "num_splits", 1, 1, CC_MIL_RESULTS_MAX, &draft->parts)))
        return status;
    length = cc_mil_first(mil, draft)->dim[draft->axis];
    if (cc_mil_given(call, "split_sizes"))
        return take_sizes(mil, call, draft, length);
    if (!draft->parts)
        return cc_mil_need(mil, call, "num_splits");
    if (length % draft->parts)
        return cc_mil_wrong(mil, call, "num_splits", EINVAL, "is %u, which does not divide the %u of axis %u",
                            draft->parts, length, draft->axis);
    for (uint32_t i = 0; i < draft->parts; i++)
        draft->part[i] = length / draft->parts;
    return 0;
}
