/* SPDX-License-Identifier: Apache-2.0 */
/* Pools. The part of a window that is inside x is found once per axis; the rest adds nothing. */
#include <math.h>

#include "compiler/eval/task.h"

/* The weights of a window along one axis: `first` to before `end` are in x; `counted` in x or padding. */
struct span {
    int64_t at; /* of weight 0, in x */
    uint32_t first, end, counted;
};

static struct span span_of(const struct cc_eval_task *t, unsigned axis, uint32_t i)
{
    const struct cc_attributes *a = &t->op->a;
    struct span s = {.at = (int64_t)i * a->stride[axis] - a->pad[2 * axis]};
    int64_t length = t->x->dim[2 + axis], step = a->dilation[axis];

    while (s.first < a->kernel[axis] && s.at + s.first * step < 0)
        s.first++;
    s.end = s.first;
    while (s.end < a->kernel[axis] && s.at + s.end * step < length)
        s.end++;
    s.counted = s.end;
    while (s.counted < a->kernel[axis] && s.at + s.counted * step < length + a->pad[2 * axis + 1])
        s.counted++;
    return s;
}

static double pool_at(const struct cc_eval_task *t, const double *x, const struct span *h,
                      const struct span *w)
{
    const struct cc_attributes *a = &t->op->a;
    double sum = 0, most = -INFINITY;

    for (uint32_t i = h->first; i < h->end; i++) {
        const double *row = x + (h->at + (int64_t)i * a->dilation[0]) * t->x->dim[3] + w->at;

        for (uint32_t k = w->first; k < w->end; k++) {
            double element = row[(size_t)k * a->dilation[1]];

            sum += t->op->kind == CC_OP_L2_POOL ? element * element : element;
            most = fmax(most, element);
        }
    }
    if (t->op->kind == CC_OP_MAX_POOL)
        return most;
    if (t->op->kind == CC_OP_L2_POOL)
        return sqrt(sum);
    return a->exclude_padding ? sum / ((double)(h->end - h->first) * (w->end - w->first))
                              : sum / ((double)h->counted * w->counted);
}

int cc_eval_pool(const struct cc_eval_task *t)
{
    size_t plane = (size_t)t->x->dim[2] * t->x->dim[3], planes = (size_t)t->x->dim[0] * t->x->dim[1];
    double *y = t->result;

    for (size_t p = 0; p < planes; p++)
        for (uint32_t i = 0; i < t->y->dim[2]; i++) {
            struct span h = span_of(t, 0, i);

            for (uint32_t k = 0; k < t->y->dim[3]; k++) {
                struct span w = span_of(t, 1, k);

                *y++ = pool_at(t, t->operand[0] + p * plane, &h, &w);
            }
        }
    return 0;
}
