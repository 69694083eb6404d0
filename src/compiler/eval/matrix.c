/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices. What is transposed is copied first, so that inner loops follow the memory. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/product.h"
#include "compiler/eval/task.h"

/* [rows, columns] to [columns, rows] */
static void turn(const double *x, uint64_t rows, uint64_t columns, double *y)
{
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t c = 0; c < columns; c++)
            y[c * rows + r] = x[r * columns + c];
}

int cc_eval_linear(const struct cc_eval_task *t)
{
    const struct cc_value *w = &t->graph->value[t->op->a.weight - 1];
    uint64_t out = w->dim[0], in = w->dim[1], rows = cc_value_elements(t->x) / in;
    double *weight, *bias = NULL, *turned = NULL;
    int status = cc_eval_parameter(t, t->op->a.weight, &weight);

    if (!status)
        status = cc_eval_parameter(t, t->op->a.bias, &bias);
    if (!status && !(turned = cc_eval_room(t, out * in)))
        status = -ENOMEM;
    if (!status) {
        turn(weight, out, in, turned);
        for (uint64_t r = 0; r < rows; r++)
            for (uint64_t i = 0; i < out; i++)
                t->result[r * out + i] = bias ? bias[i] : 0;
        cc_product(rows, in, out, t->operand[0], in, turned, out, t->result, out);
    }
    base_free(weight);
    base_free(bias);
    base_free(turned);
    return status;
}

/* One of the two operands: its matrices, and where the one of a batch of the result begins. */
struct factor {
    const struct cc_value *v;
    const double *x;
    double *turned; /* room for one matrix, if it is transposed */
    uint64_t rows, columns;
};

static int factor_open(struct factor *f, const struct cc_eval_task *t, uint32_t i, bool transpose)
{
    const struct cc_value *v = &t->graph->value[t->op->input[i]];

    *f = (struct factor){
        .v = v, .x = t->operand[i], .rows = v->dim[v->rank - 2], .columns = v->dim[v->rank - 1]};
    if (transpose && !(f->turned = cc_eval_room(t, f->rows * f->columns)))
        return -ENOMEM;
    return 0;
}

/* `batch` counts the axes of y before its last two; axes of length 1 are repeated. */
static const double *factor_at(struct factor *f, const struct cc_value *y, uint64_t batch)
{
    uint64_t at = 0, step = f->rows * f->columns;

    for (uint32_t back = 3; back <= y->rank; back++) {
        uint64_t index = batch % y->dim[y->rank - back];
        uint32_t length = back <= f->v->rank ? f->v->dim[f->v->rank - back] : 1;

        at += length == 1 ? 0 : index * step;
        step *= length;
        batch /= y->dim[y->rank - back];
    }
    if (!f->turned)
        return f->x + at;
    turn(f->x + at, f->rows, f->columns, f->turned);
    return f->turned;
}

int cc_eval_matmul(const struct cc_eval_task *t)
{
    const struct cc_attributes *a = &t->op->a;
    uint64_t rows = t->y->dim[t->y->rank - 2], columns = t->y->dim[t->y->rank - 1], inner;
    uint64_t batches = cc_value_elements(t->y) / rows / columns;
    struct factor x, y = {0};
    int status = factor_open(&x, t, 0, a->transpose_x);

    if (!status)
        status = factor_open(&y, t, 1, a->transpose_y);
    inner = a->transpose_x ? x.rows : x.columns;
    memset(t->result, 0, cc_value_elements(t->y) * sizeof(double));
    for (uint64_t i = 0; i < batches && !status; i++)
        cc_product(rows, inner, columns, factor_at(&x, t->y, i), inner, factor_at(&y, t->y, i), columns,
                   t->result + i * rows * columns, columns);
    base_free(x.turned);
    base_free(y.turned);
    return status;
}
