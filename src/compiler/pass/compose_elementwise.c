/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composites of the elementwise family. Each identity holds for every number; how many roundings and tables
 * it has is in docs/operators.md.
 */
#include "compiler/pass/compose.h"

#include <string.h>

#include "base/alloc.h"

static uint32_t times(struct cc_build *b, uint32_t x, float factor)
{
    return cc_build_binary(b, CC_OP_MUL, x, cc_build_scalar(b, factor));
}

/* x min(max(alpha x + beta, 0), 1). */
static uint32_t hard_swish(struct cc_build *b, const struct cc_op *op, uint32_t x)
{
    uint32_t gate = cc_build_op(b, CC_OP_SIGMOID_HARD, 1, &x,
                                &(struct cc_attributes){.alpha = op->a.alpha, .beta = op->a.beta});

    return cc_build_binary(b, CC_OP_MUL, x, gate);
}

static uint32_t tangent(struct cc_build *b, uint32_t x)
{
    uint32_t sine = cc_build_unary(b, CC_OP_SIN, x);

    return cc_build_binary(b, CC_OP_REAL_DIV, sine, cc_build_unary(b, CC_OP_COS, x));
}

/* (e^x - e^-x) / 2 and (e^x + e^-x) / 2. */
static uint32_t hyperbolic(struct cc_build *b, enum cc_op_kind join, uint32_t x)
{
    uint32_t up = cc_build_unary(b, CC_OP_EXP, x), down = cc_build_unary(b, CC_OP_EXP, times(b, x, -1));

    return times(b, cc_build_binary(b, join, up, down), 0.5f);
}

/* min(beta, leaky_relu(x)): one table begins its upper clamp at 0 or above. */
static uint32_t clamped_relu(struct cc_build *b, const struct cc_op *op, uint32_t x)
{
    uint32_t leaky = cc_build_op(b, CC_OP_LEAKY_RELU, 1, &x, &(struct cc_attributes){.alpha = op->a.alpha});

    return cc_build_binary(b, CC_OP_MINIMUM, leaky, cc_build_scalar(b, op->a.beta));
}

uint32_t cc_compose_constant(struct cc_rewrite *r, uint32_t parameter, uint32_t rank, const uint32_t *dims)
{
    const struct cc_value *v = &r->from->value[parameter - 1];
    void *copy = r->to.status ? NULL : base_alloc(v->bytes);

    if (copy)
        memcpy(copy, v->data, v->bytes);
    return cc_build_const(&r->to, v->type, rank, dims, copy);
}

/* A constant [C] for the second axis of x. */
static uint32_t per_channel(struct cc_rewrite *r, const struct cc_op *op, uint32_t parameter)
{
    const struct cc_value *x = &r->from->value[op->input[0]];
    uint32_t dims[CC_RANK_MAX] = {1, x->dim[1], 1, 1, 1};

    return cc_compose_constant(r, parameter, x->rank, dims);
}

static uint32_t softplus_parametric(struct cc_rewrite *r, const struct cc_op *op, uint32_t x)
{
    uint32_t inner = cc_build_binary(&r->to, CC_OP_MUL, x, per_channel(r, op, op->a.bias));

    inner = cc_build_unary(&r->to, CC_OP_SOFTPLUS, inner);
    return cc_build_binary(&r->to, CC_OP_MUL, inner, per_channel(r, op, op->a.weight));
}

static bool is_composite(const struct cc_op *op)
{
    switch (op->kind) {
    case CC_OP_HARD_SWISH:
    case CC_OP_TAN:
    case CC_OP_SINH:
    case CC_OP_COSH:
    case CC_OP_SOFTPLUS_PARAMETRIC: return true;
    case CC_OP_CLAMPED_RELU: return op->a.beta < 0;
    default: return false;
    }
}

void cc_compose_elementwise(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    struct cc_build *b = &r->to;
    uint32_t x, y;

    if (!is_composite(op))
        return;
    x = cc_rewrite_value(r, op->input[0]);
    switch (op->kind) {
    case CC_OP_HARD_SWISH: y = hard_swish(b, op, x); break;
    case CC_OP_TAN: y = tangent(b, x); break;
    case CC_OP_SINH: y = hyperbolic(b, CC_OP_SUB, x); break;
    case CC_OP_COSH: y = hyperbolic(b, CC_OP_ADD, x); break;
    case CC_OP_SOFTPLUS_PARAMETRIC: y = softplus_parametric(r, op, x); break;
    default: y = clamped_relu(b, op, x); break;
    }
    cc_rewrite_put(r, op->output, y);
    *done = true;
}
