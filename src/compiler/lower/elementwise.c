/* SPDX-License-Identifier: Apache-2.0 */
/*
 * add, sub, mul, maximum, minimum on the planar engine: two sources with broadcast axes, or one source and a
 * scalar in the bias or scale register.
 */
#include "compiler/half.h"
#include "compiler/lower/family.h"
#include "compiler/lower/planar.h"

static const enum pr_pe_op operation[CC_OP_COUNT] = {
    [CC_OP_ADD] = PR_PE_ADD,     [CC_OP_SUB] = PR_PE_ADD,     [CC_OP_MUL] = PR_PE_MUL,
    [CC_OP_MAXIMUM] = PR_PE_MAX, [CC_OP_MINIMUM] = PR_PE_MIN,
};

/* A constant scalar that a register can hold. A scale register of 0 would mean 1. */
static bool usable_scalar(const struct cc_lowering *l, const struct cc_op *op, uint32_t value)
{
    if (!cc_is_scalar(l, value))
        return false;
    return op->kind != CC_OP_MUL || cc_data(l, value)[0];
}

/* x and a scalar: y = scale * (+-x) + bias. */
static void take_scalar(const struct cc_lowering *l, const struct cc_op *op, struct cc_planar *r,
                        uint32_t value, bool first)
{
    uint16_t scalar = cc_data(l, value)[0];

    if (op->kind == CC_OP_MUL) {
        r->scale = scalar;
        return;
    }
    r->bias = scalar;
    if (op->kind == CC_OP_SUB && first)
        r->flags |= PR_E5_SUBTRACT1;
    else if (op->kind == CC_OP_SUB)
        r->bias ^= PR_HALF_SIGN;
}

int cc_lower_elementwise(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    const uint32_t a = op->input[0], b = op->input[1];
    bool by_register = op->kind == CC_OP_ADD || op->kind == CC_OP_SUB || op->kind == CC_OP_MUL;
    bool swap = cc_is_constant(l, a);
    struct cc_planar how = {.flags = step->relu ? PR_E5_RELU : 0};
    struct cc_view y, first, second;
    int status;

    if (swap && cc_is_constant(l, b))
        return cc_refuse(l, "both operands are constants; compute the result before compiling");
    by_register &= usable_scalar(l, op, a) || usable_scalar(l, op, b);
    status = cc_view_result(l, step->output, &y);
    if (!status)
        status = cc_view_source(l, swap ? b : a, &first);
    if (status)
        return status;
    if (by_register) {
        take_scalar(l, op, &how, swap ? a : b, swap);
        return cc_emit_planar(l, &how, &first, NULL, &y);
    }
    how.op = operation[op->kind];
    if (op->kind == CC_OP_SUB)
        how.flags |= swap ? PR_E5_SUBTRACT1 : PR_E5_SUBTRACT2;
    status = cc_view_source(l, swap ? a : b, &second);
    return status ? status : cc_emit_planar(l, &how, &first, &second, &y);
}
