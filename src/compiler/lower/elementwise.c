/* SPDX-License-Identifier: Apache-2.0 */
/*
 * add, sub, mul, maximum, minimum on the planar engine: two sources with broadcast axes, or one source and a scalar
 * in the bias or scale register.
 */
#include "compiler/half.h"
#include "compiler/lower/lowering.h"

static const enum pr_pe_op operation[CC_OP_COUNT] = {
    [CC_OP_ADD] = PR_PE_ADD,     [CC_OP_SUB] = PR_PE_ADD,     [CC_OP_MUL] = PR_PE_MUL,
    [CC_OP_MAXIMUM] = PR_PE_MAX, [CC_OP_MINIMUM] = PR_PE_MIN,
};

/* A constant of one element that a register can hold: a scale of 0 stands for none here. */
static bool usable_scalar(const struct cc_lowering *l, uint32_t value)
{
    if (!cc_is_scalar(l, value))
        return false;
    return l->op->kind != CC_OP_MUL || l->home[cc_root(l, value)].data[0];
}

/* x and a scalar: y = scale * (+-x) + bias. */
static void take_scalar(const struct cc_lowering *l, struct cc_planar *r, uint32_t value, bool first)
{
    uint16_t scalar = l->home[cc_root(l, value)].data[0];

    if (l->op->kind == CC_OP_MUL) {
        r->scale = scalar;
        return;
    }
    r->bias = scalar;
    if (l->op->kind == CC_OP_SUB && first)
        r->flags |= PR_E5_SUBTRACT1;
    else if (l->op->kind == CC_OP_SUB)
        r->bias ^= PR_HALF_SIGN;
}

int cc_lower_elementwise(struct cc_lowering *l)
{
    const uint32_t a = l->op->input[0], b = l->op->input[1];
    bool by_register = l->op->kind == CC_OP_ADD || l->op->kind == CC_OP_SUB || l->op->kind == CC_OP_MUL;
    bool swap = cc_is_constant(l, a);
    struct cc_planar how = {.flags = l->relu ? PR_E5_RELU : 0};
    struct cc_view y, first, second;
    int status;

    if (swap && cc_is_constant(l, b))
        return cc_refuse(l, "both operands are constants; compute it before compiling");
    by_register &= usable_scalar(l, a) || usable_scalar(l, b);
    status = cc_view_result(l, &y);
    if (!status)
        status = cc_view_source(l, swap ? b : a, &first);
    if (status)
        return status;
    if (by_register) {
        take_scalar(l, &how, swap ? a : b, swap);
        return cc_planar(l, &how, &first, NULL, &y);
    }
    how.op = operation[l->op->kind];
    if (l->op->kind == CC_OP_SUB)
        how.flags |= swap ? PR_E5_SUBTRACT1 : PR_E5_SUBTRACT2;
    status = cc_view_source(l, swap ? a : b, &second);
    return status ? status : cc_planar(l, &how, &first, &second, &y);
}
