/* SPDX-License-Identifier: Apache-2.0 */
/* Norms: over rows of elements that belong together, or with given numbers per channel. */
#include <errno.h>
#include <math.h>

#include "base/alloc.h"
#include "compiler/eval/rows.h"

/* Scale and offset; NULL means 1 and 0. */
struct affine {
    double *gamma, *beta;
};

static int affine_open(struct affine *a, const struct cc_eval_task *t)
{
    int status = cc_eval_parameter(t, t->op->a.weight, &a->gamma);

    a->beta = NULL;
    return status ? status : cc_eval_parameter(t, t->op->a.bias, &a->beta);
}

static void affine_close(struct affine *a)
{
    base_free(a->gamma);
    base_free(a->beta);
}

static double affine(const struct affine *a, uint64_t i, double x)
{
    return x * (a->gamma ? a->gamma[i] : 1) + (a->beta ? a->beta[i] : 0);
}

/* One row; its element k has the scale `first + k * step`. */
static void norm_row(const struct cc_eval_task *t, const struct affine *a, const double *x, double *y,
                     uint64_t count, uint64_t first, uint64_t step)
{
    double mean = 0, variance = 0, deviation;

    for (uint64_t i = 0; i < count; i++)
        mean += x[i];
    mean /= (double)count;
    for (uint64_t i = 0; i < count; i++)
        variance += (x[i] - mean) * (x[i] - mean);
    deviation = sqrt(variance / (double)count + (double)t->op->a.epsilon);
    for (uint64_t i = 0; i < count; i++)
        y[i] = affine(a, first + i * step, (x[i] - mean) / deviation);
}

/* A row's elements have a scale each (layer), or the row has the one of its channel (instance). */
static int norm_rows(const struct cc_eval_task *t, uint32_t axes, bool layer)
{
    struct affine a;
    struct cc_rows r = {0};
    int status = affine_open(&a, t);

    if (!status)
        status = cc_rows_open(&r, t, axes);
    for (uint64_t i = 0; !status && i < r.rows; i++)
        norm_row(t, &a, r.x + i * r.depth, cc_rows_result(&r, t) + i * r.depth, r.depth,
                 layer ? 0 : i % t->x->dim[1], layer);
    if (!status)
        status = cc_rows_finish(&r, t);
    cc_rows_close(&r);
    affine_close(&a);
    return status;
}

int cc_eval_layer_norm(const struct cc_eval_task *t)
{
    return norm_rows(t, t->op->a.axes, true);
}

int cc_eval_instance_norm(const struct cc_eval_task *t)
{
    return norm_rows(t, ((1u << t->x->rank) - 1) & ~3u, false);
}

/* Axis 1 is the channel; `inner` elements follow each other in it. */
static uint64_t inner_of(const struct cc_value *x)
{
    uint64_t inner = 1;

    for (uint32_t i = 2; i < x->rank; i++)
        inner *= x->dim[i];
    return inner;
}

int cc_eval_batch_norm(const struct cc_eval_task *t)
{
    uint64_t inner = inner_of(t->x), count = cc_value_elements(t->x);
    double *mean, *variance = NULL;
    struct affine a = {0};
    int status = cc_eval_parameter(t, t->op->a.mean, &mean);

    if (!status)
        status = cc_eval_parameter(t, t->op->a.variance, &variance);
    if (!status)
        status = affine_open(&a, t);
    for (uint64_t i = 0; !status && i < count; i++) {
        uint64_t c = i / inner % t->x->dim[1];

        t->result[i] =
            affine(&a, c, (t->operand[0][i] - mean[c]) / sqrt(variance[c] + (double)t->op->a.epsilon));
    }
    affine_close(&a);
    base_free(mean);
    base_free(variance);
    return status;
}

int cc_eval_l2_norm(const struct cc_eval_task *t)
{
    uint64_t depth = cc_value_elements(t->x) / t->x->dim[0];

    for (uint32_t n = 0; n < t->x->dim[0]; n++) {
        const double *x = t->operand[0] + n * depth;
        double sum = (double)t->op->a.epsilon;

        for (uint64_t i = 0; i < depth; i++)
            sum += x[i] * x[i];
        for (uint64_t i = 0; i < depth; i++)
            t->result[n * depth + i] = x[i] / sqrt(sum);
    }
    return 0;
}

/* Element i of channel c of the batch that begins at x. */
static double response(const struct cc_eval_task *t, const double *x, uint64_t inner, uint32_t c, uint64_t i)
{
    const struct cc_attributes *a = &t->op->a;
    uint32_t size = a->kernel[0], before = (size - 1) / 2, behind = size - 1 - before;
    uint32_t first = c > before ? c - before : 0;
    uint32_t last = behind < t->x->dim[1] - 1 - c ? c + behind : t->x->dim[1] - 1;
    double sum = 0;

    for (uint32_t k = first; k <= last; k++)
        sum += x[k * inner + i] * x[k * inner + i];
    return x[c * inner + i] / pow((double)a->beta + (double)a->alpha / size * sum, (double)a->gamma);
}

int cc_eval_local_response_norm(const struct cc_eval_task *t)
{
    uint64_t inner = inner_of(t->x), batch = inner * t->x->dim[1];

    for (uint32_t n = 0; n < t->x->dim[0]; n++)
        for (uint32_t c = 0; c < t->x->dim[1]; c++)
            for (uint64_t i = 0; i < inner; i++)
                t->result[n * batch + c * inner + i] = response(t, t->operand[0] + n * batch, inner, c, i);
    return 0;
}
