/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuses a ReLU, or an operation that is one activation table, into the operation before it, if that one has
 * such a stage and its value has no other use.
 */
#include <string.h>

#include "compiler/lower/activation.h"
#include "compiler/lower/pass.h"

static bool can_relu(enum cc_op_kind kind)
{
    switch (kind) {
    case CC_OP_ADD:
    case CC_OP_SUB:
    case CC_OP_MUL:
    case CC_OP_MAXIMUM:
    case CC_OP_MINIMUM:
    case CC_OP_RELU:
    case CC_OP_CONV:
    case CC_OP_LINEAR:
    case CC_OP_MATMUL: return true;
    default: return false; /* a reduction has no ReLU */
    }
}

/* A table is at the head of the weight streams, so one operand of a matmul must be constant. */
static bool can_activate(const struct cc_lowering *l, const struct cc_op *op)
{
    if (op->kind == CC_OP_MATMUL)
        return cc_is_constant(l, op->input[0]) || cc_is_constant(l, op->input[1]);
    return op->kind == CC_OP_CONV || op->kind == CC_OP_LINEAR;
}

/* The operation that computes a value, if the ReLU or table can be fused into it; else NULL. */
static struct cc_step *producer(struct cc_lowering *l, uint32_t value, bool relu)
{
    uint32_t number = l->tensor[value].producer;
    struct cc_step *step = number ? &l->step[number - 1] : NULL;

    if (!step || !step->live || step->skip || step->activation || (step->relu && !relu))
        return NULL;
    if (!(relu ? can_relu(l->graph->op[number - 1].kind) : can_activate(l, &l->graph->op[number - 1])))
        return NULL;
    return step;
}

/* The operation is lowered with the shape of the fused operation's result. */
static bool same_shape(const struct cc_value *a, const struct cc_value *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, a->rank * sizeof(a->dim[0]));
}

int cc_pass_fuse(struct cc_lowering *l)
{
    for (uint32_t i = 0; i < l->graph->ops; i++) {
        const struct cc_op *op = &l->graph->op[i];
        bool relu = op->kind == CC_OP_RELU;
        struct cc_step *before;
        uint32_t value;

        if (!l->step[i].live || (!relu && !cc_activation_fuses(op)))
            continue;
        value = cc_root(l, op->input[0]);
        if (!same_shape(cc_value_of(l, value), cc_value_of(l, op->output)))
            continue;
        before = l->tensor[value].uses == 1 ? producer(l, value, relu) : NULL;
        if (!before)
            continue;
        before->relu |= relu;
        before->activation = relu ? before->activation : op;
        before->output = op->output;
        l->tensor[op->output].producer = (uint32_t)(before - l->step) + 1;
        l->step[i].skip = true;
        l->step[i].into = (uint32_t)(before - l->step) + 1;
    }
    return 0;
}
