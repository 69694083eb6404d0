/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions as matrix products. The elements under each weight, for some rows of the result, are laid out
 * as a matrix with a column per element of the result; the weights [out, in, H, W] are the other factor. The
 * transposed convolution is the same backwards: a product gives what each element of x adds under each
 * weight, and that is added up.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/product.h"
#include "compiler/eval/task.h"

enum { COLUMNS = 512 }; /* about; whole rows are taken, one at least */

/* One group of one batch. `small` is the side that the window strides over, `large` the other one. */
struct window {
    const struct cc_attributes *a;
    uint32_t channels, kernel[2]; /* of the large side, in this group */
    uint32_t large[2], small[2];  /* H, W */
    uint32_t first, rows;         /* rows of the small side that the matrix has now */
    double *matrix;               /* [channels * kernel[0] * kernel[1], rows * small[1]] */
};

/* Where element i of the small side is under weight k, in the large side's axis; -1: in the padding. */
static int64_t place(const struct window *w, unsigned axis, uint32_t i, uint32_t k)
{
    const struct cc_attributes *a = w->a;
    int64_t at = (int64_t)i * a->stride[axis] + (int64_t)k * a->dilation[axis] - a->pad[2 * axis];

    return at < 0 || at >= w->large[axis] ? -1 : at;
}

/* The columns of a row that are not in the padding under weight k: first to end. */
static void inside(const struct window *w, uint32_t k, uint32_t *first, uint32_t *end)
{
    *first = 0;
    while (*first < w->small[1] && place(w, 1, *first, k) < 0)
        ++*first;
    *end = *first;
    while (*end < w->small[1] && place(w, 1, *end, k) >= 0)
        ++*end;
}

/* One row of the matrix, of weight (i, k) of a channel: read from the large side. */
static void gather(const struct window *w, const double *x, uint32_t i, uint32_t k, double *to)
{
    uint32_t first, end, stride = w->a->stride[1];

    inside(w, k, &first, &end);
    for (uint32_t r = 0; r < w->rows; r++, to += w->small[1]) {
        int64_t row = place(w, 0, w->first + r, i);
        const double *from = x + row * w->large[1] + (first < end ? place(w, 1, first, k) : 0);

        if (row < 0) {
            memset(to, 0, w->small[1] * sizeof(*to));
            continue;
        }
        memset(to, 0, first * sizeof(*to));
        if (stride == 1 && first < end)
            memcpy(to + first, from, (end - first) * sizeof(*to));
        else
            for (uint32_t c = first; c < end; c++)
                to[c] = from[(size_t)(c - first) * stride];
        memset(to + end, 0, (w->small[1] - end) * sizeof(*to));
    }
}

/* The same, added to the large side. */
static void scatter(const struct window *w, double *y, uint32_t i, uint32_t k, const double *from)
{
    uint32_t first, end;

    inside(w, k, &first, &end);
    for (uint32_t r = 0; r < w->rows; r++, from += w->small[1]) {
        int64_t row = place(w, 0, w->first + r, i);

        for (uint32_t c = first; row >= 0 && c < end; c++)
            y[row * w->large[1] + place(w, 1, c, k)] += from[c];
    }
}

/* Every row of the matrix, in the order of the weights. */
static void each_weight(const struct window *w, const double *read, double *added)
{
    size_t plane = (size_t)w->large[0] * w->large[1], columns = (size_t)w->rows * w->small[1];
    double *row = w->matrix;

    for (uint32_t c = 0; c < w->channels; c++)
        for (uint32_t i = 0; i < w->kernel[0]; i++)
            for (uint32_t k = 0; k < w->kernel[1]; k++, row += columns)
                if (read)
                    gather(w, read + c * plane, i, k, row);
                else
                    scatter(w, added + c * plane, i, k, row);
}

static size_t weights_of(const struct window *w)
{
    return (size_t)w->channels * w->kernel[0] * w->kernel[1];
}

static uint32_t rows_at_once(const struct window *w)
{
    uint32_t rows = COLUMNS / w->small[1];

    return rows == 0 ? 1 : rows < w->small[0] ? rows : w->small[0];
}

static int window_open(struct window *w, const struct cc_eval_task *t, const struct cc_value *large,
                       const struct cc_value *small)
{
    const struct cc_value *weight = cc_op_weight(t->graph, t->op);

    *w = (struct window){.a = &t->op->a,
                         .channels = large->dim[1] / t->op->a.groups,
                         .kernel = {weight->dim[2], weight->dim[3]},
                         .large = {large->dim[2], large->dim[3]},
                         .small = {small->dim[2], small->dim[3]}};
    w->matrix = cc_eval_room(t, weights_of(w) * rows_at_once(w) * w->small[1]);
    return w->matrix ? 0 : -ENOMEM;
}

/* y = x's windows by the weights of the group: [out, channels * kernel]. */
static void convolve(struct window *w, const double *x, uint32_t out, const double *weight, double *y)
{
    size_t inner = weights_of(w), plane = (size_t)w->small[0] * w->small[1];

    for (w->first = 0; w->first < w->small[0]; w->first += w->rows) {
        w->rows = rows_at_once(w) < w->small[0] - w->first ? rows_at_once(w) : w->small[0] - w->first;
        each_weight(w, x, NULL);
        cc_product(out, inner, (size_t)w->rows * w->small[1], weight, inner, w->matrix,
                   (size_t)w->rows * w->small[1], y + (size_t)w->first * w->small[1], plane);
    }
}

static void spread(struct window *w, const double *x, uint32_t in, const double *turned, double *y)
{
    size_t inner = weights_of(w), plane = (size_t)w->small[0] * w->small[1];

    for (w->first = 0; w->first < w->small[0]; w->first += w->rows) {
        size_t columns;

        w->rows = rows_at_once(w) < w->small[0] - w->first ? rows_at_once(w) : w->small[0] - w->first;
        columns = (size_t)w->rows * w->small[1];
        memset(w->matrix, 0, inner * columns * sizeof(*w->matrix));
        cc_product(inner, in, columns, turned, in, x + (size_t)w->first * w->small[1], plane, w->matrix,
                   columns);
        each_weight(w, NULL, y);
    }
}

static void begin(const struct cc_eval_task *t, const double *bias)
{
    size_t plane = (size_t)t->y->dim[2] * t->y->dim[3];
    double *y = t->result;

    for (uint32_t n = 0; n < t->y->dim[0]; n++)
        for (uint32_t c = 0; c < t->y->dim[1]; c++)
            for (size_t i = 0; i < plane; i++)
                *y++ = bias ? bias[c] : 0;
}

int cc_eval_conv(const struct cc_eval_task *t)
{
    uint32_t groups = t->op->a.groups, out = t->y->dim[1] / groups;
    uint64_t x_group = cc_value_elements(t->x) / t->x->dim[0] / groups;
    uint64_t y_group = cc_value_elements(t->y) / t->y->dim[0] / groups;
    double *parameter, *bias = NULL;
    const double *weight;
    struct window w = {0};
    int status = cc_eval_parameter(t, t->op->a.weight, &parameter);

    weight = t->op->inputs == 2 ? t->operand[1] : parameter;
    if (!status)
        status = cc_eval_parameter(t, t->op->a.bias, &bias);
    if (!status)
        status = window_open(&w, t, t->x, t->y);
    if (!status)
        begin(t, bias);
    for (uint64_t i = 0; !status && i < (uint64_t)groups * t->x->dim[0]; i++)
        convolve(&w, t->operand[0] + i * x_group, out, weight + i % groups * out * weights_of(&w),
                 t->result + i * y_group);
    base_free(parameter);
    base_free(bias);
    base_free(w.matrix);
    return status;
}

/* [groups, in, out * kernel] to [groups, out * kernel, in] */
static void turn(const double *weight, uint32_t groups, size_t in, size_t out, double *turned)
{
    for (uint32_t g = 0; g < groups; g++, weight += in * out, turned += in * out)
        for (size_t i = 0; i < in; i++)
            for (size_t k = 0; k < out; k++)
                turned[k * in + i] = weight[i * out + k];
}

int cc_eval_conv_transpose(const struct cc_eval_task *t)
{
    uint32_t groups = t->op->a.groups, in = t->x->dim[1] / groups;
    uint64_t x_group = cc_value_elements(t->x) / t->x->dim[0] / groups;
    uint64_t y_group = cc_value_elements(t->y) / t->y->dim[0] / groups;
    double *weight, *bias = NULL, *turned = NULL;
    struct window w = {0};
    int status = cc_eval_parameter(t, t->op->a.weight, &weight);

    if (!status)
        status = cc_eval_parameter(t, t->op->a.bias, &bias);
    if (!status)
        status = window_open(&w, t, t->y, t->x);
    if (!status && !(turned = cc_eval_room(t, groups * in * weights_of(&w))))
        status = -ENOMEM;
    if (!status) {
        begin(t, bias);
        turn(weight, groups, in, weights_of(&w), turned);
    }
    for (uint64_t i = 0; !status && i < (uint64_t)groups * t->x->dim[0]; i++)
        spread(&w, t->operand[0] + i * x_group, in, turned + i % groups * in * weights_of(&w),
               t->result + i * y_group);
    base_free(weight);
    base_free(bias);
    base_free(turned);
    base_free(w.matrix);
    return status;
}
