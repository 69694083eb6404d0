/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An operation on each element that follows moves of a convolution's result is done before them: the
 * convolution has a stage for it. The moves are transposed convolutions joining their phases, dilations, and
 * any other transposes, reshapes and slices whose only use is the next one.
 */
#include "compiler/graph/rewrite.h"
#include "compiler/pass/passes.h"

enum { MOVES_MAX = 16 }; /* more than any composite has */

static bool is_unary(enum cc_op_kind kind)
{
    switch (kind) {
#define X(id, name, inputs) case CC_OP_##id:
        CC_OPS_UNARY(X)
#undef X
        return true;
    default: return false;
    }
}

static bool is_move(enum cc_op_kind kind)
{
    return kind == CC_OP_TRANSPOSE || kind == CC_OP_RESHAPE || kind == CC_OP_SLICE_BY_SIZE;
}

/* The same move of another value. */
static uint32_t move_again(struct cc_rewrite *r, const struct cc_op *move, uint32_t x)
{
    const struct cc_value *y = &r->from->value[move->output];

    if (move->kind == CC_OP_RESHAPE)
        return r->to.status ? 0 : cc_build_reshape(&r->to, x, y->rank, y->dim);
    return cc_build_op(&r->to, move->kind, 1, &x, &move->a);
}

static void lift(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    const struct cc_op *move[MOVES_MAX], *maker;
    unsigned moves = 0;
    uint32_t x;

    if (!is_unary(op->kind))
        return;
    for (x = op->input[0]; cc_rewrite_single(r, x); x = maker->input[0]) {
        maker = cc_rewrite_maker(r, x);
        if (!maker || !is_move(maker->kind) || moves == MOVES_MAX)
            break;
        move[moves++] = maker;
    }
    maker = cc_rewrite_maker(r, x);
    if (!moves || !cc_rewrite_single(r, x) || !maker || maker->kind != CC_OP_CONV)
        return;
    *done = true;
    x = cc_rewrite_value(r, x);
    x = cc_build_op(&r->to, op->kind, 1, &x, &op->a);
    while (moves > 0)
        x = move_again(r, move[--moves], x);
    cc_rewrite_put(r, op->output, x);
}

int cc_pass_lift(struct cc_graph **graph, struct base_error *error)
{
    return cc_rewrite(graph, lift, NULL, NULL, error);
}
