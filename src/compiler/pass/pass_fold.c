/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folding. An operation is copied first and then folded in the new graph, where its operands may be constants
 * that were folded before it. The constants that this leaves without a user go with a second rewrite.
 */
#include <math.h>

#include "compiler/eval/eval.h"
#include "compiler/graph/rewrite.h"
#include "compiler/pass/passes.h"

static const struct cc_value *old_value(const struct cc_rewrite *r, uint32_t value)
{
    return &r->from->value[value];
}

static bool same_shape(const struct cc_value *x, const struct cc_value *y)
{
    bool same = x->type == y->type && x->rank == y->rank;

    for (uint32_t i = 0; same && i < x->rank; i++)
        same = x->dim[i] == y->dim[i];
    return same;
}

/* A constant all of whose elements are `number`. */
static bool is_all(const struct cc_value *v, double number)
{
    for (uint64_t i = 0; v->data && i < cc_value_elements(v); i++)
        if (!(cc_value_number(v, i) == number))
            return false;
    return v->data != NULL;
}

/* Whether operand `other` changes nothing about the other one, in an operation of two. */
static bool is_neutral(const struct cc_rewrite *r, const struct cc_op *op, uint32_t other)
{
    const struct cc_value *v = old_value(r, op->input[other]);

    switch (op->kind) {
    case CC_OP_ADD: return is_all(v, 0);
    case CC_OP_MUL: return is_all(v, 1);
    case CC_OP_SUB: return other == 1 && is_all(v, 0);
    case CC_OP_REAL_DIV:
    case CC_OP_POW: return other == 1 && is_all(v, 1);
    default: return false;
    }
}

static bool keeps_axes(const struct cc_op *op, uint32_t rank)
{
    for (uint32_t i = 0; i < rank; i++)
        if (op->a.perm[i] != i)
            return false;
    return true;
}

/* Whether every axis of the mask has length 1. */
static bool is_short(const struct cc_value *x, uint32_t axes)
{
    for (uint32_t i = 0; i < x->rank; i++)
        if (axes >> i & 1 && x->dim[i] != 1)
            return false;
    return true;
}

/* The elements and their order stay, as the shape does. */
static bool keeps_elements(const struct cc_op *op, const struct cc_value *x)
{
    const struct cc_attributes *a = &op->a;

    switch (op->kind) {
    case CC_OP_CAST:
    case CC_OP_RESHAPE:
    case CC_OP_EXPAND_DIMS:
    case CC_OP_SQUEEZE:
    case CC_OP_SLICE_BY_INDEX:
    case CC_OP_SLICE_BY_SIZE:
    case CC_OP_TILE:
    case CC_OP_PAD:
    case CC_OP_CONCAT: return true;
    case CC_OP_TRANSPOSE: return keeps_axes(op, x->rank);
    case CC_OP_REVERSE: return is_short(x, a->axes);
    case CC_OP_DEPTH_TO_SPACE:
    case CC_OP_SPACE_TO_DEPTH: return a->block[0] == 1 && a->block[1] == 1;
    case CC_OP_RESIZE:
        return (a->scale[0] == 0 || a->scale[0] == 1) && (a->scale[1] == 0 || a->scale[1] == 1);
    case CC_OP_MAX_POOL:
    case CC_OP_AVG_POOL:
        return a->kernel[0] == 1 && a->kernel[1] == 1 && !a->pad[0] && !a->pad[1] && !a->pad[2] && !a->pad[3];
    case CC_OP_REDUCE_MEAN:
    case CC_OP_REDUCE_SUM:
    case CC_OP_REDUCE_MAX:
    case CC_OP_REDUCE_MIN:
    case CC_OP_REDUCE_PROD: return is_short(x, a->axes);
    case CC_OP_CLIP: return a->alpha == -INFINITY && a->beta == INFINITY;
    case CC_OP_THRESHOLD: return a->alpha == -INFINITY;
    case CC_OP_LEAKY_RELU: return a->alpha == 1;
    case CC_OP_LINEAR_ACTIVATION: return a->alpha == 1 && a->beta == 0;
    default: return false;
    }
}

/* The operand that the result equals, or the number of operands. */
static uint32_t equal_operand(const struct cc_rewrite *r, const struct cc_op *op)
{
    const struct cc_value *y = old_value(r, op->output);

    if (op->inputs == 1 && keeps_elements(op, old_value(r, op->input[0])) &&
        same_shape(old_value(r, op->input[0]), y))
        return 0;
    for (uint32_t i = 0; op->inputs == 2 && i < 2; i++)
        if (is_neutral(r, op, 1 - i) && same_shape(old_value(r, op->input[i]), y))
            return i;
    return op->inputs;
}

static bool is_constant(struct cc_rewrite *r, const struct cc_op *op)
{
    for (uint32_t i = 0; i < op->inputs; i++) {
        uint32_t value = cc_rewrite_value(r, op->input[i]);

        if (r->to.status || !r->to.graph->value[value].data)
            return false;
    }
    return true;
}

static void fold(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    uint32_t operand = equal_operand(r, op);
    bool folded;

    if (operand < op->inputs) {
        cc_rewrite_put(r, op->output, cc_rewrite_value(r, op->input[operand]));
        *done = true;
    } else if (is_constant(r, op)) {
        cc_rewrite_copy(r, op);
        if (!r->to.status)
            r->to.status = cc_eval_fold(r->to.graph, r->to.graph->ops - 1, &folded, r->to.error);
        *done = true;
    }
}

static void keep(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    (void)r;
    (void)op;
    (void)done;
}

int cc_pass_fold(struct cc_graph **graph, struct base_error *error)
{
    bool changed;
    int status = cc_rewrite(graph, fold, NULL, &changed, error);

    return status || !changed ? status : cc_rewrite(graph, keep, NULL, NULL, error);
}
