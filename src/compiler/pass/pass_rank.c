/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 5. Operations that only move elements are lowered with five axes; one that computes gets four: two
 * neighbours of its first four axes become one, by reshapes that keep every row and are aliases. Which two
 * depends on the operation: both are broadcast in an operand or neither is, both are reduced or neither is.
 * Where no two neighbours are alike, an operand is tiled or the tensor is transposed first.
 */
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/eval.h"
#include "compiler/graph/rewrite.h"
#include "compiler/pass/passes.h"

enum { FULL = CC_RANK_MAX, PAIRS = FULL - 2 };

/* The limits of the axis that a pair becomes: N, C and H of rank 4. */
static bool fits(const uint32_t dim[FULL], unsigned pair)
{
    static const uint32_t limit[PAIRS] = {PR_CHANNELS_MAX, PR_CHANNELS_MAX, PR_HEIGHT_MAX};

    return (uint64_t)dim[pair] * dim[pair + 1] <= limit[pair];
}

static void merge(const uint32_t dim[FULL], unsigned pair, uint32_t merged[FULL])
{
    unsigned count = 0;

    for (unsigned i = 0; i < FULL; i++) {
        if (i == pair + 1)
            merged[count - 1] *= dim[i];
        else
            merged[count++] = dim[i];
    }
}

/* A shape of five axes, aligned at the end. */
static void align(const struct cc_value *v, uint32_t dim[FULL])
{
    for (unsigned i = 0; i < FULL; i++)
        dim[i] = i + v->rank < FULL ? 1 : v->dim[i + v->rank - FULL];
}

static void refuse_length(struct cc_rewrite *r, const uint32_t dim[FULL])
{
    cc_build_refuse(&r->to,
                    "no two neighbouring axes of %s are one of at most %u elements (limit of the M1 "
                    "engine for an operation that computes: four axes, N and C <= %u, H <= %u)",
                    cc_shape_text(CC_FP16, FULL, dim).text, PR_CHANNELS_MAX, PR_CHANNELS_MAX, PR_HEIGHT_MAX);
}

static struct cc_attributes new_attributes(struct cc_rewrite *r, const struct cc_op *op)
{
    struct cc_attributes a = op->a;

    a.weight = cc_rewrite_parameter(r, op->a.weight);
    a.bias = cc_rewrite_parameter(r, op->a.bias);
    a.mean = cc_rewrite_parameter(r, op->a.mean);
    a.variance = cc_rewrite_parameter(r, op->a.variance);
    return a;
}

/* The result of an operation of rank 4, with its own shape again. */
static void put(struct cc_rewrite *r, const struct cc_op *op, uint32_t value)
{
    const struct cc_value *v = &r->from->value[op->output];

    if (!r->to.status)
        cc_rewrite_put(r, op->output, cc_build_reshape(&r->to, value, v->rank, v->dim));
}

/* Operations whose operands are broadcast to each other. */

struct broadcast {
    const struct cc_op *op;
    unsigned fixed;                  /* last axes that are not broadcast: those of a matrix */
    uint32_t input[3], dim[3][FULL]; /* operands, of rank 5 */
    uint32_t out[FULL];
};

static bool repeats(const struct broadcast *c, unsigned operand, unsigned axis)
{
    return c->dim[operand][axis] == 1 && c->out[axis] > 1;
}

static bool alike(const struct broadcast *c, unsigned pair)
{
    if (c->out[pair] == 1 || c->out[pair + 1] == 1)
        return true;
    for (uint32_t i = 0; i < c->op->inputs; i++)
        if (repeats(c, i, pair) != repeats(c, i, pair + 1))
            return false;
    return true;
}

/* An operand that is broadcast along one axis of the pair is repeated there. */
static void tile_pair(struct cc_build *b, struct broadcast *c, unsigned pair)
{
    for (uint32_t i = 0; i < c->op->inputs && !b->status; i++) {
        struct cc_attributes a = {.reps = {1, 1, 1, 1, 1}};
        unsigned axis = repeats(c, i, pair) ? pair : pair + 1;
        uint32_t x;

        if (repeats(c, i, pair) == repeats(c, i, pair + 1))
            continue;
        x = cc_build_reshape(b, c->input[i], FULL, c->dim[i]);
        a.reps[axis] = c->dim[i][axis] = c->out[axis];
        c->input[i] = cc_build_op(b, CC_OP_TILE, 1, &x, &a);
    }
}

static bool is_single(const uint32_t dim[FULL])
{
    for (unsigned i = 0; i < FULL; i++)
        if (dim[i] != 1)
            return false;
    return true;
}

static void rank_broadcast(struct cc_rewrite *r, struct broadcast *c)
{
    struct cc_attributes a = new_attributes(r, c->op);
    unsigned pairs = c->fixed ? PAIRS - 1 : PAIRS, pair = pairs;
    struct cc_build *b = &r->to;
    uint32_t merged[FULL];

    for (unsigned i = pairs; i-- > 0;)
        if (fits(c->out, i) && alike(c, i))
            pair = i;
    for (unsigned i = pairs; pair == pairs && i-- > 0;)
        if (fits(c->out, i)) {
            pair = i;
            tile_pair(b, c, i);
        }
    if (pair == pairs) {
        refuse_length(r, c->out);
        return;
    }
    for (uint32_t i = 0; i < c->op->inputs && !b->status; i++) {
        if (cc_build_value(b, c->input[i])->rank < FULL &&
            ((c->fixed && cc_build_value(b, c->input[i])->rank <= 2) || is_single(c->dim[i])))
            continue; /* a matrix or a number is broadcast to any rank */
        merge(c->dim[i], pair, merged);
        c->input[i] = cc_build_reshape(b, c->input[i], FULL - 1, merged);
    }
    put(r, c->op, cc_build_op(b, c->op->kind, c->op->inputs, c->input, &a));
}

static void take_broadcast(struct cc_rewrite *r, const struct cc_op *op, unsigned fixed)
{
    struct broadcast c = {.op = op, .fixed = fixed};

    align(&r->from->value[op->output], c.out);
    for (uint32_t i = 0; i < op->inputs; i++) {
        align(&r->from->value[op->input[i]], c.dim[i]);
        c.input[i] = cc_rewrite_value(r, op->input[i]);
    }
    if (!r->to.status)
        rank_broadcast(r, &c);
}

/* Operations along some axes of one operand: reductions, norms, softmax. */

struct along {
    const struct cc_op *op;
    uint32_t value, dim[FULL], axes; /* x, and the axes that it is computed along */
    uint32_t back[FULL];             /* from its order to that of x */
};

static bool is_along(const struct along *c, unsigned axis)
{
    return c->axes >> axis & 1;
}

/* An axis of length 1 that is not computed along goes with any other. */
static bool same_side(const struct along *c, unsigned pair)
{
    return is_along(c, pair) == is_along(c, pair + 1) || (c->dim[pair] == 1 && !is_along(c, pair)) ||
           (c->dim[pair + 1] == 1 && !is_along(c, pair + 1));
}

/* The axes that are computed along come after the others; the last axis stays the last. */
static void gather_axes(struct cc_build *b, struct along *c)
{
    uint32_t perm[FULL], dim[FULL], axes = 0;
    unsigned count = 0;

    for (unsigned side = 0; side < 2; side++)
        for (unsigned i = 0; i + 1 < FULL; i++)
            if (is_along(c, i) == side)
                perm[count++] = i;
    perm[count] = FULL - 1;
    memcpy(dim, c->dim, sizeof(dim));
    for (unsigned i = 0; i < FULL; i++) {
        c->dim[i] = dim[perm[i]];
        c->back[perm[i]] = i;
        axes |= (uint32_t)is_along(c, perm[i]) << i;
    }
    c->axes = axes;
    c->value = cc_build_transpose(b, c->value, perm);
}

static unsigned find_pair(const struct along *c)
{
    for (unsigned i = 0; i < PAIRS; i++)
        if (fits(c->dim, i) && same_side(c, i))
            return i;
    return PAIRS;
}

/* The axes after the pair has become one. */
static uint32_t merge_axes(const struct along *c, unsigned pair)
{
    uint32_t below = c->axes & ((1u << pair) - 1), above = c->axes >> (pair + 2);

    return below | (uint32_t)(is_along(c, pair) || is_along(c, pair + 1)) << pair | above << (pair + 1);
}

/* A parameter of a layer norm, which has the axes of the norm. */
static uint32_t merged_parameter(struct cc_rewrite *r, uint32_t parameter, const uint32_t dim[FULL],
                                 uint32_t axes)
{
    const struct cc_value *v;
    uint32_t kept[FULL], rank = 0;
    void *data;

    if (!parameter || r->to.status)
        return 0;
    v = &r->from->value[parameter - 1];
    for (unsigned i = 0; i + 1 < FULL; i++)
        if (axes >> i & 1)
            kept[rank++] = dim[i];
    data = base_alloc(v->bytes);
    if (data)
        memcpy(data, v->data, v->bytes);
    return cc_build_const(&r->to, v->type, rank, kept, data) + 1;
}

static void rank_along(struct cc_rewrite *r, struct along *c)
{
    const struct cc_value *v = &r->from->value[c->op->output];
    bool reduces = v->rank < FULL || c->op->a.keep_dims;
    struct cc_attributes a = c->op->a;
    struct cc_build *b = &r->to;
    unsigned pair = find_pair(c);
    uint32_t merged[FULL], y;

    if (pair == PAIRS) {
        gather_axes(b, c);
        pair = find_pair(c);
    }
    if (pair == PAIRS) {
        refuse_length(r, c->dim);
        return;
    }
    merge(c->dim, pair, merged);
    a.axes = merge_axes(c, pair);
    a.axis = 0;
    while (a.axes >> (a.axis + 1))
        a.axis++; /* of a softmax: the one */
    a.keep_dims = reduces;
    a.weight = merged_parameter(r, c->op->a.weight, merged, a.axes);
    a.bias = merged_parameter(r, c->op->a.bias, merged, a.axes);
    y = b->status ? 0 : cc_build_reshape(b, c->value, FULL - 1, merged);
    y = cc_build_op(b, c->op->kind, 1, &y, &a);
    if (b->status)
        return;
    y = cc_build_reshape(b, y, reduces ? v->rank : FULL, reduces ? v->dim : c->dim);
    cc_rewrite_put(r, c->op->output, reduces ? y : cc_build_transpose(b, y, c->back));
}

static void take_along(struct cc_rewrite *r, const struct cc_op *op, uint32_t axes)
{
    struct along c = {.op = op, .value = cc_rewrite_value(r, op->input[0]), .axes = axes};

    memcpy(c.dim, r->from->value[op->input[0]].dim, sizeof(c.dim));
    for (unsigned i = 0; i < FULL; i++)
        c.back[i] = i;
    if (!r->to.status)
        rank_along(r, &c);
}

/* Operations per channel, the second axis: the two axes behind it are one. */
static void take_channels(struct cc_rewrite *r, const struct cc_op *op)
{
    const uint32_t *dim = r->from->value[op->input[0]].dim;
    struct cc_attributes a = new_attributes(r, op);
    uint32_t x = cc_rewrite_value(r, op->input[0]), merged[FULL];

    if (!fits(dim, 2)) {
        refuse_length(r, dim);
        return;
    }
    merge(dim, 2, merged);
    x = r->to.status ? 0 : cc_build_reshape(&r->to, x, FULL - 1, merged);
    put(r, op, cc_build_op(&r->to, op->kind, 1, &x, &a));
}

static bool is_wide(const struct cc_graph *g, const struct cc_op *op)
{
    bool wide = g->value[op->output].rank == FULL;

    for (uint32_t i = 0; i < op->inputs; i++)
        wide |= g->value[op->input[i]].rank == FULL;
    return wide;
}

static void rank(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    if (!is_wide(r->from, op))
        return;
    r->to.fold = cc_eval_fold;
    switch (op->kind) {
#define X(id, name, inputs) case CC_OP_##id:
        CC_OPS_LAYOUT(X)
    case CC_OP_CAST:
        return;
        CC_OPS_REDUCE(X)
        take_along(r, op, op->a.axes);
        break;
#undef X
    case CC_OP_SOFTMAX:
    case CC_OP_LOG_SOFTMAX: take_along(r, op, 1u << op->a.axis); break;
    case CC_OP_LAYER_NORM: take_along(r, op, op->a.axes); break;
    case CC_OP_L2_NORM: /* over all axes but the first: the two behind the second are one as well */
    case CC_OP_INSTANCE_NORM:
    case CC_OP_BATCH_NORM:
    case CC_OP_PRELU:
    case CC_OP_SOFTPLUS_PARAMETRIC: take_channels(r, op); break;
    case CC_OP_MATMUL: take_broadcast(r, op, 2); break;
    default: take_broadcast(r, op, 0); break;
    }
    *done = true;
}

int cc_pass_rank(struct cc_graph **graph, struct base_error *error)
{
    return cc_rewrite(graph, rank, NULL, NULL, error);
}
