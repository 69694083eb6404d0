/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composites of the layout family that move elements and compute nothing: they become transposes, reshapes,
 * concatenations and gathers at constant indices, all of which keep every value as it is.
 */
#include <string.h>

#include "base/alloc.h"
#include "compiler/pass/compose.h"
#include "compiler/pass/lane.h"
#include "compiler/pass/window.h"

/* A constant of one value. */
static uint32_t filled(struct cc_build *b, enum cc_type type, uint32_t rank, const uint32_t *dims,
                       float value)
{
    size_t bytes = cc_shape_bytes(type == CC_BOOL ? CC_BOOL : CC_FP32, rank, dims);
    uint8_t *data = b->status || !bytes ? NULL : base_alloc(bytes);

    for (size_t i = 0; data && i < bytes; i += type == CC_BOOL ? 1 : sizeof(value)) {
        if (type == CC_BOOL)
            data[i] = value != 0;
        else
            memcpy(data + i, &value, sizeof(value));
    }
    return cc_build_const(b, type == CC_BOOL ? CC_BOOL : CC_FP32, rank, dims, data);
}

static uint32_t pad_constant(struct cc_build *b, uint32_t x, uint32_t axis, uint32_t begin, uint32_t end,
                             float value)
{
    const struct cc_value v = *cc_build_value(b, x);
    uint32_t dim[CC_RANK_MAX], part[3], parts = 0;

    memcpy(dim, v.dim, sizeof(dim));
    dim[axis] = begin;
    if (begin)
        part[parts++] = filled(b, v.type, v.rank, dim, value);
    part[parts++] = x;
    dim[axis] = end;
    if (end)
        part[parts++] = filled(b, v.type, v.rank, dim, value);
    return cc_build_concat(b, parts, part, axis);
}

/* Beyond an end: the elements before it in the opposite order, or the last one again. */
static uint32_t pad_indices(struct cc_build *b, uint32_t x, uint32_t axis, const struct cc_attributes *a)
{
    uint32_t length = cc_build_value(b, x)->dim[axis], begin = a->begin[axis];
    uint32_t count = length + begin + a->end[axis];
    int32_t *index = base_alloc_array(count, sizeof(*index));
    struct cc_lane lane;

    for (uint32_t i = 0; index && i < count; i++) {
        int64_t at = (int64_t)i - begin, beyond = at - (int64_t)length + 1;

        if (a->pad_mode == CC_PAD_REFLECT)
            at = at < 0 ? -at : beyond > 0 ? (int64_t)length - 1 - beyond : at;
        else
            at = at < 0 ? 0 : beyond > 0 ? (int64_t)length - 1 : at;
        index[i] = (int32_t)at;
    }
    if (!index)
        cc_build_refuse(b, "there is no memory for %u indices", count);
    cc_lane_open(b, x, axis, false, &lane);
    cc_lane_gather(b, &lane, count, index);
    base_free(index);
    return cc_lane_close(b, &lane);
}

static uint32_t compose_pad(struct cc_build *b, const struct cc_op *op, uint32_t x)
{
    uint32_t rank = cc_build_value(b, x)->rank;

    /* the last axis first: it is the one that costs a transposition */
    for (uint32_t i = rank; i-- > 0 && !b->status;) {
        if (!op->a.begin[i] && !op->a.end[i])
            continue;
        x = op->a.pad_mode == CC_PAD_CONSTANT
                ? pad_constant(b, x, i, op->a.begin[i], op->a.end[i], op->a.alpha)
                : pad_indices(b, x, i, &op->a);
    }
    return x;
}

/* Indices of rank 1, between reshapes. */
static uint32_t compose_gather(struct cc_build *b, const struct cc_op *op, uint32_t x,
                               const struct cc_value *indices, const struct cc_value *result)
{
    uint32_t count = (uint32_t)cc_value_elements(indices);
    struct cc_attributes a = {.axis = op->a.axis};

    a.indices = cc_build_ints(b, 1, &count, indices->data) + 1;
    x = cc_build_op(b, CC_OP_GATHER, 1, &x, &a);
    return b->status ? 0 : cc_build_reshape(b, x, result->rank, result->dim);
}

/* The factor of a length that is next to its square root, 1 for a prime. */
static uint32_t middle_factor(uint32_t length)
{
    uint32_t factor = 1;

    for (uint32_t i = 2; (uint64_t)i * i <= length; i++)
        if (length % i == 0)
            factor = i;
    return factor;
}

static void countdown(struct cc_build *b, uint32_t count, uint32_t axis, uint32_t *value)
{
    int32_t *index = base_alloc_array(count, sizeof(*index));
    struct cc_attributes a = {.axis = axis};

    for (uint32_t i = 0; index && i < count; i++)
        index[i] = (int32_t)(count - 1 - i);
    if (!index)
        cc_build_refuse(b, "there is no memory for %u indices", count);
    a.indices = b->status ? 0 : cc_build_ints(b, 1, &count, index) + 1;
    *value = cc_build_op(b, CC_OP_GATHER, 1, value, &a);
    base_free(index);
}

/* Every element is a move of its own, so a long axis is reversed as two short ones. */
static void reverse_lane(struct cc_build *b, struct cc_lane *lane)
{
    enum { SHORT = 32 };
    uint32_t factor = lane->length > SHORT ? middle_factor(lane->length) : 1, dim[CC_RANK_MAX];
    const struct cc_value v = *cc_build_value(b, lane->value);

    if (factor == 1) {
        countdown(b, lane->length, 1, &lane->value);
        return;
    }
    memcpy(dim, (uint32_t[]){v.dim[0], factor, lane->length / factor, v.dim[2], v.dim[3]}, sizeof(dim));
    lane->value = cc_build_reshape(b, lane->value, 5, dim);
    countdown(b, factor, 1, &lane->value);
    countdown(b, dim[2], 2, &lane->value);
    lane->value = b->status ? 0 : cc_build_reshape(b, lane->value, 4, v.dim);
}

static uint32_t compose_reverse(struct cc_build *b, const struct cc_op *op, uint32_t x)
{
    uint32_t rank = cc_build_value(b, x)->rank;
    struct cc_lane lane;

    for (uint32_t i = 0; i < rank && !b->status; i++) {
        if (!(op->a.axes >> i & 1) || cc_build_value(b, x)->dim[i] == 1)
            continue;
        cc_lane_open(b, x, i, false, &lane);
        if (!b->status)
            reverse_lane(b, &lane);
        x = cc_lane_close(b, &lane);
    }
    return x;
}

/* Zeros around H and W that a convolution reads are its own padding, as far as a descriptor has it. */
static void join_padding(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    const struct cc_op *pad = cc_rewrite_maker(r, op->input[0]);
    const struct cc_value *weight = cc_op_weight(r->from, op);
    struct cc_op joined = *op;

    if (!pad || pad->kind != CC_OP_PAD || pad->a.pad_mode != CC_PAD_CONSTANT || pad->a.alpha != 0 ||
        r->from->value[op->input[0]].rank != 4 || pad->a.begin[0] || pad->a.end[0] || pad->a.begin[1] ||
        pad->a.end[1])
        return;
    for (unsigned i = 0; i < 2; i++) {
        joined.a.pad[2 * i] += pad->a.begin[2 + i];
        joined.a.pad[2 * i + 1] += pad->a.end[2 + i];
        if (joined.a.pad[2 * i] > CC_PAD_MAX || weight->dim[2 + i] > cc_window_limit[i])
            return;
    }
    joined.input[0] = pad->input[0];
    cc_rewrite_copy(r, &joined);
    *done = true;
}

void cc_compose_layout(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    struct cc_build *b = &r->to;
    const struct cc_value *v = &r->from->value[op->output], *indices;
    uint32_t x, y = 0;

    switch (op->kind) {
    case CC_OP_CONV: join_padding(r, op, done); return;
    case CC_OP_GATHER:
        indices = &r->from->value[op->a.indices - 1];
        if (indices->rank == 1)
            return;
        x = cc_rewrite_value(r, op->input[0]);
        y = compose_gather(b, op, x, indices, v);
        break;
    case CC_OP_PAD: y = compose_pad(b, op, cc_rewrite_value(r, op->input[0])); break;
    case CC_OP_REVERSE: y = compose_reverse(b, op, cc_rewrite_value(r, op->input[0])); break;
    case CC_OP_DEPTH_TO_SPACE:
    case CC_OP_SPACE_TO_DEPTH:
    case CC_OP_BATCH_TO_SPACE:
    case CC_OP_SPACE_TO_BATCH: y = cc_compose_blocks(b, op, cc_rewrite_value(r, op->input[0])); break;
    case CC_OP_RESIZE: y = cc_compose_resize(b, op, cc_rewrite_value(r, op->input[0])); break;
    case CC_OP_CUMSUM: y = cc_compose_cumsum(b, op, cc_rewrite_value(r, op->input[0])); break;
    default: return;
    }
    cc_rewrite_put(r, op->output, y);
    *done = true;
}
