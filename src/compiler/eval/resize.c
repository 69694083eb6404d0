/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RESIZE: one axis after the other, each with a list of up to four elements and weights per index of its
 * result. An element beyond an end is the one at that end.
 */
#include <errno.h>
#include <math.h>

#include "base/alloc.h"
#include "compiler/eval/task.h"

enum { TAPS = 4 };

struct taps {
    uint32_t at[TAPS];
    double weight[TAPS];
};

/* The place of index i of the result in x. */
static double place(const struct cc_attributes *a, unsigned axis, uint32_t in, uint32_t out, uint32_t i)
{
    double scale = (double)a->scale[axis];
    double length = scale != 0 ? scale * in : out;
    double whole = scale != 0 ? (i + 0.5) / scale : (i + 0.5) * in / out;

    switch (a->coordinate) {
    case CC_HALF_PIXEL: break;
    case CC_PYTORCH_HALF_PIXEL: return out == 1 ? 0 : whole - 0.5;
    case CC_ALIGN_CORNERS: return out == 1 ? 0 : (double)i * (in - 1) / (length - 1);
    case CC_ASYMMETRIC: return scale != 0 ? i / scale : (double)i * in / out;
    }
    return whole - 0.5;
}

static double nearest(enum cc_nearest mode, double at)
{
    switch (mode) {
    case CC_ROUND_PREFER_FLOOR: return ceil(at - 0.5);
    case CC_ROUND_PREFER_CEIL: return floor(at + 0.5);
    case CC_ROUND_FLOOR: return floor(at);
    case CC_ROUND_CEIL: break;
    }
    return ceil(at);
}

/* Keys' kernel with the coefficient a, for elements at -1, 0, 1 and 2 of a place at `rest` behind 0. */
static void cubic(double a, double rest, double weight[TAPS])
{
    for (int i = 0; i < TAPS; i++) {
        double d = fabs(rest - (i - 1));

        weight[i] = d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
    }
}

static struct taps taps_of(const struct cc_attributes *a, unsigned axis, uint32_t in, uint32_t out,
                           uint32_t i)
{
    double at = place(a, axis, in, out, i), base = floor(at);
    struct taps taps = {.weight = {1}};

    switch (a->resize) {
    case CC_RESIZE_NEAREST: base = nearest(a->nearest, at); break;
    case CC_RESIZE_LINEAR:
        taps.weight[0] = 1 - (at - base);
        taps.weight[1] = at - base;
        break;
    case CC_RESIZE_CUBIC:
        cubic((double)a->cubic, at - base, taps.weight);
        base--;
        break;
    }
    for (unsigned k = 0; k < TAPS; k++)
        taps.at[k] = (uint32_t)fmin(fmax(base + k, 0), in - 1);
    return taps;
}

/* [outer, in, inner] to [outer, out, inner]. */
static int resize_axis(const struct cc_eval_task *t, unsigned axis, uint64_t outer, uint32_t in,
                       uint64_t inner, const double *x, double *y)
{
    uint32_t out = t->op->a.size[axis];
    struct taps *taps = base_alloc_array(out, sizeof(*taps));

    if (!taps)
        return base_fail(t->error, ENOMEM, "There is no memory to compute resize `%.64s`.", t->op->name);
    for (uint32_t i = 0; i < out; i++)
        taps[i] = taps_of(&t->op->a, axis, in, out, i);
    for (uint64_t o = 0; o < outer; o++, x += in * inner)
        for (uint32_t i = 0; i < out; i++, y += inner)
            for (uint64_t k = 0; k < inner; k++) {
                double sum = 0;

                for (unsigned n = 0; n < TAPS; n++)
                    if (taps[i].weight[n] != 0)
                        sum += taps[i].weight[n] * x[taps[i].at[n] * inner + k];
                y[k] = sum;
            }
    base_free(taps);
    return 0;
}

int cc_eval_resize(const struct cc_eval_task *t)
{
    uint32_t height = t->x->dim[t->x->rank - 2], width = t->x->dim[t->x->rank - 1];
    uint64_t planes = cc_value_elements(t->x) / height / width, rows = planes * t->op->a.size[0];
    double *room = cc_eval_room(t, rows * width);
    int status;

    if (!room)
        return -ENOMEM;
    status = resize_axis(t, 0, planes, height, width, t->operand[0], room);
    if (!status)
        status = resize_axis(t, 1, rows, width, 1, room, t->result);
    base_free(room);
    return status;
}
