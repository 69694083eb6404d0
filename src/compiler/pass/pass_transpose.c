/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposes cancel each other. Two in sequence become one or none; one whose result a single operation reads
 * moves behind that operation, where it may meet the next: through elementwise operations, concatenations,
 * slices, padding, reductions and softmax, with constants transposed instead. An operation of several
 * operands needs the same transpose on each that is not constant, so the number of transposes never grows.
 * Operations are visited in the order of computation, so a transpose moves as far as it can in one round;
 * further rounds are for values that lose a second user in the one before.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/eval.h"
#include "compiler/graph/rewrite.h"
#include "compiler/pass/passes.h"

enum { ROUNDS_MAX = 8 };

/* Of the new graph, per value: the operation that computes it, number + 1. */
struct makers {
    uint32_t *maker, capacity, ops; /* `ops` have been entered */
};

static void enter_makers(struct cc_rewrite *r, struct makers *m)
{
    const struct cc_graph *g = r->to.graph;

    if (g->values > m->capacity) {
        uint32_t capacity = 2 * g->values;
        uint32_t *larger = base_realloc(m->maker, (size_t)capacity * sizeof(*larger));

        if (!larger) {
            r->to.status = base_fail(r->to.error, ENOMEM, "There is no memory for %u values.", capacity);
            return;
        }
        memset(larger + m->capacity, 0, (size_t)(capacity - m->capacity) * sizeof(*larger));
        m->maker = larger;
        m->capacity = capacity;
    }
    for (; m->ops < g->ops; m->ops++)
        m->maker[g->op[m->ops].output] = m->ops + 1;
}

/* A transpose that can move: of a value, or of each operand of an operation. */
struct turn {
    bool found;
    uint32_t rank, perm[CC_RANK_MAX], input[CC_INPUTS_MAX]; /* operands before their transposes */
};

static struct makers *makers_of(const struct cc_rewrite *r)
{
    return *(struct makers *const *)r->context;
}

static const struct cc_op *transpose_of(const struct cc_rewrite *r, uint32_t value)
{
    const struct makers *m = makers_of(r);
    uint32_t number = value < m->capacity ? m->maker[value] : 0;
    const struct cc_op *op = number ? &r->to.graph->op[number - 1] : NULL;

    return op && op->kind == CC_OP_TRANSPOSE ? op : NULL;
}

/* Whether every operand is a constant or the same transpose of something, read by this operation alone. */
static bool find_turn(struct cc_rewrite *r, const struct cc_op *op, struct turn *t)
{
    *t = (struct turn){.rank = r->from->value[op->input[0]].rank};
    for (uint32_t i = 0; i < op->inputs; i++) {
        uint32_t value = cc_rewrite_value(r, op->input[i]);
        const struct cc_op *maker;

        if (r->to.status)
            return false;
        t->input[i] = value;
        if (r->to.graph->value[value].data)
            continue;
        enter_makers(r, makers_of(r));
        maker = r->to.status ? NULL : transpose_of(r, value);
        if (!maker || !cc_rewrite_single(r, op->input[i]))
            return false;
        if (t->found && (r->to.graph->value[value].rank != t->rank ||
                         memcmp(t->perm, maker->a.perm, t->rank * sizeof(t->perm[0])) != 0))
            return false;
        t->rank = r->to.graph->value[value].rank;
        memcpy(t->perm, maker->a.perm, sizeof(t->perm));
        t->input[i] = maker->input[0];
        t->found = true;
    }
    return t->found;
}

/* What was just made of a constant, as a constant: the type of an operation may depend on it. */
static uint32_t folded(struct cc_build *b, uint32_t before, uint32_t made)
{
    bool done;

    if (!b->status && made != before)
        b->status = cc_eval_fold(b->graph, b->graph->ops - 1, &done, b->error);
    return made;
}

/* A constant whose axes are those of the operands before their transposes. */
static uint32_t turned_constant(struct cc_build *b, const struct turn *t, uint32_t value)
{
    const struct cc_value v = *cc_build_value(b, value);
    uint32_t dim[CC_RANK_MAX], back[CC_RANK_MAX];

    if (b->status || cc_value_elements(&v) == 1)
        return value;
    for (uint32_t i = 0; i < t->rank; i++) {
        dim[i] = i + v.rank < t->rank ? 1 : v.dim[i + v.rank - t->rank];
        back[t->perm[i]] = i;
    }
    value = folded(b, value, cc_build_reshape(b, value, t->rank, dim));
    return b->status ? 0 : folded(b, value, cc_build_transpose(b, value, back));
}

static void put_turned(struct cc_rewrite *r, const struct cc_op *op, const struct turn *t,
                       const struct cc_attributes *a, bool *done)
{
    uint32_t input[CC_INPUTS_MAX], y;

    for (uint32_t i = 0; i < op->inputs; i++)
        input[i] =
            cc_build_value(&r->to, t->input[i])->data ? turned_constant(&r->to, t, t->input[i]) : t->input[i];
    y = cc_build_op(&r->to, op->kind, op->inputs, input, a);
    if (!r->to.status)
        cc_rewrite_put(r, op->output, cc_build_transpose(&r->to, y, t->perm));
    *done = true;
}

static void turn_elementwise(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    struct turn t;

    if (op->kind == CC_OP_CAST && op->a.to == CC_FP32)
        return; /* only ports are fp32 */
    if (find_turn(r, op, &t) && r->from->value[op->output].rank == t.rank)
        put_turned(r, op, &t, &op->a, done);
}

static uint32_t turned_axes(const struct turn *t, uint32_t axes)
{
    uint32_t turned = 0;

    for (uint32_t i = 0; i < t->rank; i++)
        turned |= (axes >> i & 1) << t->perm[i];
    return turned;
}

/* CONCAT and SOFTMAX */
static void turn_axis(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    struct cc_attributes a = op->a;
    struct turn t;

    if (!find_turn(r, op, &t))
        return;
    a.axis = t.perm[op->a.axis];
    put_turned(r, op, &t, &a, done);
}

/* SLICE_* that removes no axis, and PAD */
static void turn_ranges(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    struct cc_attributes a = op->a;
    struct turn t;

    if (op->a.axes || !find_turn(r, op, &t))
        return;
    for (uint32_t i = 0; i < t.rank; i++) {
        a.begin[t.perm[i]] = op->a.begin[i];
        a.size[t.perm[i]] = op->a.size[i];
        a.end[t.perm[i]] = op->a.end[i];
        a.step[t.perm[i]] = op->a.step[i];
    }
    put_turned(r, op, &t, &a, done);
}

/* The axes that are left are transposed among themselves. */
static void turn_reduce(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    uint32_t place[CC_RANK_MAX] = {0}, perm[CC_RANK_MAX], left = 0, rank = 0, y;
    struct cc_attributes a = op->a;
    struct turn t;

    if (!find_turn(r, op, &t))
        return;
    a.axes = turned_axes(&t, op->a.axes);
    if (a.keep_dims) {
        put_turned(r, op, &t, &a, done);
        return;
    }
    for (uint32_t i = 0; i < t.rank; i++)
        if (!(a.axes >> i & 1))
            place[i] = left++;
    for (uint32_t i = 0; i < t.rank; i++)
        if (!(op->a.axes >> i & 1))
            perm[rank++] = place[t.perm[i]];
    y = cc_build_op(&r->to, op->kind, 1, t.input, &a);
    if (!r->to.status)
        cc_rewrite_put(r, op->output, cc_build_transpose(&r->to, y, perm));
    *done = true;
}

/* Whether the axes of more than one element keep their order. */
static bool keeps_order(const struct cc_value *x, const uint32_t *perm)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < x->rank; i++) {
        if (x->dim[perm[i]] == 1)
            continue;
        if (perm[i] < last)
            return false;
        last = perm[i];
    }
    return true;
}

/* After another one: both are one, or none. One that moves only axes of length 1 is a reshape. */
static void join(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    const struct cc_value *y = &r->from->value[op->output];
    uint32_t x = cc_rewrite_value(r, op->input[0]), perm[CC_RANK_MAX];
    const struct cc_op *before;

    if (!r->to.status)
        enter_makers(r, makers_of(r));
    if (r->to.status)
        return;
    before = transpose_of(r, x);
    memcpy(perm, op->a.perm, sizeof(perm));
    if (before) {
        for (uint32_t i = 0; i < y->rank; i++)
            perm[i] = before->a.perm[op->a.perm[i]];
        x = before->input[0];
    }
    if (keeps_order(cc_build_value(&r->to, x), perm))
        x = cc_build_reshape(&r->to, x, y->rank, y->dim);
    else if (before)
        x = cc_build_transpose(&r->to, x, perm);
    else
        return;
    cc_rewrite_put(r, op->output, x);
    *done = true;
}

static void transpose(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    r->to.fold = cc_eval_fold;
    switch (op->kind) {
    case CC_OP_TRANSPOSE: join(r, op, done); return;
#define X(id, name, inputs) case CC_OP_##id:
        CC_OPS_UNARY(X)
        CC_OPS_BINARY(X)
        CC_OPS_COMPARE(X)
        CC_OPS_LOGICAL(X)
    case CC_OP_SELECT:
    case CC_OP_CAST:
        turn_elementwise(r, op, done);
        return;
        CC_OPS_REDUCE(X)
        turn_reduce(r, op, done);
        return;
#undef X
    case CC_OP_CONCAT:
    case CC_OP_SOFTMAX:
    case CC_OP_LOG_SOFTMAX: turn_axis(r, op, done); return;
    case CC_OP_SLICE_BY_INDEX:
    case CC_OP_SLICE_BY_SIZE:
    case CC_OP_PAD: turn_ranges(r, op, done); return;
    default: return;
    }
}

int cc_pass_transpose(struct cc_graph **graph, struct base_error *error)
{
    bool changed = true;
    int status = 0;

    for (unsigned round = 0; changed && round < ROUNDS_MAX && !status; round++) {
        struct makers m = {0}, *table = &m;

        status = cc_rewrite(graph, transpose, &table, &changed, error);
        base_free(m.maker);
    }
    return status;
}
