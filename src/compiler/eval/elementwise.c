/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on one element at a time. Operands are aligned at their last axes; along an axis of length 1 the
 * element stays the same, which is a stride of 0.
 */
#include <math.h>

#include "base/alloc.h"
#include "compiler/eval/task.h"

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static double gelu(enum cc_gelu mode, double x)
{
    switch (mode) {
    case CC_GELU_EXACT: return 0.5 * x * erfc(-x / sqrt(2));
    case CC_GELU_TANH: return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case CC_GELU_SIGMOID: break;
    }
    return x * sigmoid(1.702 * x);
}

static double clamp(double x, double least, double most)
{
    return fmin(fmax(x, least), most);
}

static double one(const struct cc_op *op, double x)
{
    double alpha = (double)op->a.alpha, beta = (double)op->a.beta, epsilon = (double)op->a.epsilon;

    switch (op->kind) {
    case CC_OP_LOGICAL_NOT: return x == 0;
    case CC_OP_RELU: return fmax(0, x);
    case CC_OP_SIGMOID: return sigmoid(x);
    case CC_OP_TANH: return tanh(x);
    case CC_OP_ERF: return erf(x);
    case CC_OP_EXP: return exp(x);
    case CC_OP_EXP2: return exp2(x);
    case CC_OP_LOG: return log(x + epsilon);
    case CC_OP_SQRT: return sqrt(x);
    case CC_OP_RSQRT: return 1 / sqrt(x + epsilon);
    case CC_OP_INVERSE: return 1 / (x + epsilon);
    case CC_OP_ABS: return fabs(x);
    case CC_OP_SQUARE: return x * x;
    case CC_OP_SIGN: return (x > 0) - (x < 0);
    case CC_OP_CEIL: return ceil(x);
    case CC_OP_FLOOR: return floor(x);
    case CC_OP_GELU: return gelu(op->a.gelu, x);
    case CC_OP_SILU: return x * sigmoid(x);
    case CC_OP_LEAKY_RELU: return x >= 0 ? x : alpha * x;
    case CC_OP_RELU6: return clamp(x, 0, 6);
    case CC_OP_CLIP: return clamp(x, alpha, beta);
    case CC_OP_ELU: return x > 0 ? x : alpha * expm1(x);
    case CC_OP_SOFTPLUS: return softplus(x);
    case CC_OP_SOFTSIGN: return x / (1 + fabs(x));
    case CC_OP_SIGMOID_HARD: return clamp(alpha * x + beta, 0, 1);
    case CC_OP_THRESHOLD: return fmax(x, alpha);
    case CC_OP_THRESHOLDED_RELU: return x >= alpha ? x : 0;
    case CC_OP_CLAMPED_RELU: return fmin(beta, x >= 0 ? x : alpha * x);
    case CC_OP_LINEAR_ACTIVATION: return alpha * x + beta;
    case CC_OP_SCALED_TANH: return alpha * tanh(beta * x);
    case CC_OP_ROUND: return rint(x);
    case CC_OP_SELU: return beta * (x > 0 ? x : alpha * expm1(x));
    case CC_OP_HARD_SWISH: return x * clamp(alpha * x + beta, 0, 1);
    case CC_OP_SIN: return sin(x);
    case CC_OP_COS: return cos(x);
    case CC_OP_TAN: return tan(x);
    case CC_OP_ATAN: return atan(x);
    case CC_OP_SINH: return sinh(x);
    case CC_OP_COSH: return cosh(x);
    default: return NAN;
    }
}

int cc_eval_unary(const struct cc_eval_task *t)
{
    uint64_t count = cc_value_elements(t->y);

    for (uint64_t i = 0; i < count; i++)
        t->result[i] = one(t->op, t->operand[0][i]);
    return 0;
}

static double power(double x, double y)
{
    return x < 0 && y != floor(y) ? 0 : pow(x, y);
}

/* The remainder with the sign of y. */
static double modulo(double x, double y)
{
    double rest = fmod(x, y);

    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static double two(enum cc_op_kind kind, double x, double y)
{
    switch (kind) {
    case CC_OP_ADD: return x + y;
    case CC_OP_SUB: return x - y;
    case CC_OP_MUL: return x * y;
    case CC_OP_MAXIMUM: return fmax(x, y);
    case CC_OP_MINIMUM: return fmin(x, y);
    case CC_OP_REAL_DIV: return x / y;
    case CC_OP_FLOOR_DIV: return floor(x / y);
    case CC_OP_MOD: return modulo(x, y);
    case CC_OP_POW: return power(x, y);
    case CC_OP_EQUAL: return x == y;
    case CC_OP_NOT_EQUAL: return x != y;
    case CC_OP_GREATER: return x > y;
    case CC_OP_GREATER_EQUAL: return x >= y;
    case CC_OP_LESS: return x < y;
    case CC_OP_LESS_EQUAL: return x <= y;
    case CC_OP_LOGICAL_AND: return x != 0 && y != 0;
    case CC_OP_LOGICAL_OR: return x != 0 || y != 0;
    case CC_OP_LOGICAL_XOR: return (x != 0) != (y != 0);
    default: return NAN;
    }
}

/* The strides of up to three operands along the axes of the result. */
struct broadcast {
    const struct cc_eval_task *t;
    uint64_t stride[3][CC_RANK_MAX];
};

static void align(struct broadcast *b, const struct cc_eval_task *t)
{
    *b = (struct broadcast){.t = t};
    for (uint32_t i = 0; i < t->op->inputs; i++) {
        const struct cc_value *v = &t->graph->value[t->op->input[i]];
        uint64_t stride[CC_RANK_MAX];

        cc_eval_strides(v, stride);
        for (uint32_t k = 0; k < v->rank; k++)
            b->stride[i][t->y->rank - v->rank + k] = v->dim[k] == 1 ? 0 : stride[k];
    }
}

static void row(const struct broadcast *b, const double *const x[3], uint64_t count, double *y)
{
    const struct cc_op *op = b->t->op;
    uint32_t last = b->t->y->rank ? b->t->y->rank - 1 : 0;
    uint64_t s0 = b->stride[0][last], s1 = b->stride[1][last], s2 = b->stride[2][last];

    if (op->kind == CC_OP_SELECT)
        for (uint64_t i = 0; i < count; i++)
            y[i] = x[0][i * s0] != 0 ? x[1][i * s1] : x[2][i * s2];
    else
        for (uint64_t i = 0; i < count; i++)
            y[i] = two(op->kind, x[0][i * s0], x[1][i * s1]);
}

/* The axes from `axis` on. Returns the end of what it wrote. */
static double *axes(const struct broadcast *b, uint32_t axis, const double *const x[3], double *y)
{
    const struct cc_value *v = b->t->y;

    if (axis + 1 >= v->rank) {
        uint64_t count = v->rank ? v->dim[axis] : 1;

        row(b, x, count, y);
        return y + count;
    }
    for (uint32_t i = 0; i < v->dim[axis]; i++) {
        const double *at[3] = {x[0] + i * b->stride[0][axis], x[1] + i * b->stride[1][axis],
                               b->t->op->inputs > 2 ? x[2] + i * b->stride[2][axis] : NULL};

        y = axes(b, axis + 1, at, y);
    }
    return y;
}

int cc_eval_binary(const struct cc_eval_task *t)
{
    const double *const x[3] = {t->operand[0], t->operand[1], NULL};
    struct broadcast b;

    align(&b, t);
    axes(&b, 0, x, t->result);
    return 0;
}

int cc_eval_select(const struct cc_eval_task *t)
{
    struct broadcast b;

    align(&b, t);
    axes(&b, 0, t->operand, t->result);
    return 0;
}

/* PRELU and SOFTPLUS_PARAMETRIC: a number per index of axis 1. */
int cc_eval_channel(const struct cc_eval_task *t)
{
    uint64_t count = cc_value_elements(t->x), inner = 1;
    double *alpha, *beta = NULL;
    int status = cc_eval_parameter(t, t->op->a.weight, &alpha);

    if (!status)
        status = cc_eval_parameter(t, t->op->a.bias, &beta);
    for (uint32_t i = 2; i < t->x->rank; i++)
        inner *= t->x->dim[i];
    for (uint64_t i = 0; !status && i < count; i++) {
        uint64_t c = i / inner % t->x->dim[1];
        double x = t->operand[0][i];

        if (t->op->kind == CC_OP_PRELU)
            t->result[i] = x >= 0 ? x : alpha[c] * x;
        else
            t->result[i] = alpha[c] * softplus(beta[c] * x);
    }
    base_free(alpha);
    base_free(beta);
    return status;
}
