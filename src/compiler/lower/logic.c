/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons, logic and selection on the planar engine: a bool is an fp16 value of 0 or 1. */
#include "compiler/half.h"
#include "compiler/lower/family.h"
#include "compiler/lower/neural.h"
#include "compiler/lower/planar.h"

/* How the difference of the operands compares with zero, and whether the answer is negated. */
static const struct {
    enum pr_pe_compare compare;
    bool swap; /* subtract the first from the second */
    bool negate;
} comparison[CC_OP_COUNT] = {
    [CC_OP_EQUAL] = {PR_PE_EQUAL, false, false},
    [CC_OP_NOT_EQUAL] = {PR_PE_EQUAL, false, true},
    [CC_OP_GREATER] = {PR_PE_GREATER, false, false},
    [CC_OP_GREATER_EQUAL] = {PR_PE_GREATER_EQUAL, false, false},
    [CC_OP_LESS] = {PR_PE_GREATER, true, false},
    [CC_OP_LESS_EQUAL] = {PR_PE_GREATER_EQUAL, true, false},
};

/* 1 - x. */
static int invert(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y)
{
    return cc_emit_planar(l, &(struct cc_planar){.scale = PR_HALF_MINUS_ONE, .bias = PR_HALF_ONE}, x, NULL,
                          y);
}

/* A constant without infinities and NaNs. */
static bool is_finite(const struct cc_lowering *l, uint32_t value)
{
    const struct cc_value *v = cc_value_of(l, value);
    const uint16_t *values = cc_data(l, value);
    size_t count = v->bytes / cc_type_bytes(v->type);

    for (size_t i = 0; values && i < count; i++)
        if ((values[i] & PR_HALF_INFINITE) == PR_HALF_INFINITE)
            return false;
    return values != NULL;
}

/* Under ieee the difference of two infinities of the same sign is a NaN, although they are equal. */
static bool needs_infinities(const struct cc_lowering *l, const struct cc_op *op)
{
    return comparison[op->kind].compare != PR_PE_GREATER && !is_finite(l, op->input[0]) &&
           !is_finite(l, op->input[1]);
}

/* 1 where both operands are +inf, or both -inf. */
static int infinities(struct cc_lowering *l, const struct cc_view in[2], const struct cc_view *y)
{
    const struct cc_pieces ends = {
        PR_HALF_SIGN | PR_HALF_INFINITE, PR_HALF_INFINITE, PR_HALF_MINUS_ONE, PR_HALF_ONE, 0, 0, 0};
    struct cc_table table = cc_table_pieces(&ends);
    struct cc_planar same = {.op = PR_PE_MUL, .compare = PR_PE_GREATER};
    struct cc_view sign[2];
    int status = 0;

    for (unsigned i = 0; i < 2 && !status; i++) {
        status = cc_view_scratch(l, in[i].extent, &sign[i]);
        if (!status)
            status = cc_emit_move(l, &in[i], &sign[i], &(struct cc_neural){.table = &table});
    }
    return status ? status : cc_emit_planar(l, &same, &sign[0], &sign[1], y);
}

static int compare(struct cc_lowering *l, const struct cc_op *op, const struct cc_view in[2],
                   const struct cc_view *y)
{
    bool swap = comparison[op->kind].swap, both = needs_infinities(l, op);
    struct cc_planar how = {.compare = comparison[op->kind].compare, .flags = PR_E5_SUBTRACT2},
                     either = {.op = PR_PE_MAX}, *last = both ? &either : &how;
    struct cc_view difference = *y, infinite;
    int status = 0;

    if (comparison[op->kind].negate) {
        last->scale = PR_HALF_MINUS_ONE;
        last->bias = PR_HALF_ONE;
    }
    if (both)
        status = cc_view_scratch(l, y->extent, &difference);
    if (!status)
        status = cc_emit_planar(l, &how, &in[swap], &in[!swap], &difference);
    if (status || !both)
        return status;
    status = cc_view_scratch(l, y->extent, &infinite);
    if (!status)
        status = infinities(l, in, &infinite);
    return status ? status : cc_emit_planar(l, &either, &difference, &infinite, y);
}

/* c a + (1 - c) b, as public programs do it: a product with 0 is 0, whatever the other factor is. */
static int select_by(struct cc_lowering *l, const struct cc_view *c, const struct cc_view *a,
                     const struct cc_view *b, const struct cc_view *y)
{
    struct cc_planar product = {.op = PR_PE_MUL}, sum = {.op = PR_PE_ADD};
    struct cc_view other, t, s;
    int status = cc_view_scratch(l, c->extent, &other);

    if (!status)
        status = cc_view_scratch(l, y->extent, &t);
    if (!status)
        status = cc_view_scratch(l, y->extent, &s);
    if (!status)
        status = invert(l, c, &other);
    if (!status)
        status = cc_emit_planar(l, &product, c, a, &t);
    if (!status)
        status = cc_emit_planar(l, &product, &other, b, &s);
    return status ? status : cc_emit_planar(l, &sum, &t, &s, y);
}

int cc_lower_logic(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    struct cc_view y, in[3];
    int status = cc_view_result(l, step->output, &y);

    for (uint32_t i = 0; i < op->inputs && !status; i++)
        status = cc_view_source(l, op->input[i], &in[i]);
    if (status)
        return status;
    switch (op->kind) {
    case CC_OP_LOGICAL_NOT: return invert(l, &in[0], &y);
    case CC_OP_LOGICAL_AND:
        return cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MUL}, &in[0], &in[1], &y);
    case CC_OP_LOGICAL_OR: return cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MAX}, &in[0], &in[1], &y);
    case CC_OP_LOGICAL_XOR:
        return cc_emit_planar(l, &(struct cc_planar){.flags = PR_E5_SUBTRACT2 | PR_E5_ABS}, &in[0], &in[1],
                              &y);
    case CC_OP_SELECT: return select_by(l, &in[0], &in[1], &in[2], &y);
    default: return compare(l, op, in, &y);
    }
}
