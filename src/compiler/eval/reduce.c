/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and softmax: each row by itself. */
#include <math.h>

#include "compiler/eval/rows.h"

static double most_of(const double *x, uint64_t count)
{
    double most = -INFINITY;

    for (uint64_t i = 0; i < count; i++)
        most = fmax(most, x[i]);
    return most;
}

/* log(sum e^x): the largest one is taken out, so that nothing overflows. */
static double log_sum_exp(const double *x, uint64_t count)
{
    double most = most_of(x, count), sum = 0;

    if (isinf(most))
        return most;
    for (uint64_t i = 0; i < count; i++)
        sum += exp(x[i] - most);
    return most + log(sum);
}

static double reduce_row(enum cc_op_kind kind, const double *x, uint64_t count)
{
    double sum = 0, squares = 0, sizes = 0, product = 1, least = INFINITY;

    for (uint64_t i = 0; i < count; i++) {
        sum += x[i];
        squares += x[i] * x[i];
        sizes += fabs(x[i]);
        product *= x[i];
        least = fmin(least, x[i]);
    }
    switch (kind) {
    case CC_OP_REDUCE_MEAN: return sum / (double)count;
    case CC_OP_REDUCE_SUM: return sum;
    case CC_OP_REDUCE_MAX: return most_of(x, count);
    case CC_OP_REDUCE_MIN: return least;
    case CC_OP_REDUCE_L2_NORM: return sqrt(squares);
    case CC_OP_REDUCE_SUM_SQUARE: return squares;
    case CC_OP_REDUCE_L1_NORM: return sizes;
    case CC_OP_REDUCE_LOG_SUM: return log(sum);
    case CC_OP_REDUCE_LOG_SUM_EXP: return log_sum_exp(x, count);
    case CC_OP_REDUCE_PROD: return product;
    default: return NAN;
    }
}

int cc_eval_reduce(const struct cc_eval_task *t)
{
    struct cc_rows r;
    int status = cc_rows_open(&r, t, t->op->a.axes);

    if (status)
        return status;
    for (uint64_t i = 0; i < r.rows; i++)
        t->result[i] = reduce_row(t->op->kind, r.x + i * r.depth, r.depth);
    cc_rows_close(&r);
    return 0;
}

int cc_eval_softmax(const struct cc_eval_task *t)
{
    bool logarithm = t->op->kind == CC_OP_LOG_SOFTMAX;
    struct cc_rows r;
    int status = cc_rows_open(&r, t, 1u << t->op->a.axis);

    if (status)
        return status;
    for (uint64_t i = 0; i < r.rows; i++) {
        const double *x = r.x + i * r.depth;
        double *y = cc_rows_result(&r, t) + i * r.depth, whole = log_sum_exp(x, r.depth);

        for (uint64_t k = 0; k < r.depth; k++)
            y[k] = logarithm ? x[k] - whole : exp(x[k] - whole);
    }
    status = cc_rows_finish(&r, t);
    cc_rows_close(&r);
    return status;
}
