/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dilations. Phase (i, k) of x holds the elements that outputs i + u p and k + v q read, next to each other.
 * Below each other the phases are an image of u v times their height; each has the rows of its padding,
 * because the next one begins right below it. W has the padding of the operation where the dilation divides
 * it.
 */
#include "compiler/pass/phases.h"
#include "compiler/pass/window.h"

static uint32_t ceil_div(uint32_t x, uint32_t y)
{
    return (x + y - 1) / y;
}

/* Rows of one phase, with its padding. */
static uint32_t phase_rows(const uint32_t kernel[2], const struct cc_attributes *a, const uint32_t out[4])
{
    return ceil_div(out[2], a->dilation[0]) + kernel[0] - 1;
}

bool cc_window_stack_fits(const uint32_t kernel[2], const struct cc_attributes *a, const uint32_t out[4])
{
    return (uint64_t)a->dilation[0] * a->dilation[1] * phase_rows(kernel, a, out) <= PR_HEIGHT_MAX;
}

uint32_t cc_window_stacked(struct cc_build *b, enum cc_op_kind kind, uint32_t x, const uint32_t kernel[2],
                           const struct cc_attributes *a, const uint32_t out[4], float fill)
{
    const uint32_t u = a->dilation[0], v = a->dilation[1], columns = ceil_div(out[3], v);
    const uint32_t rows = phase_rows(kernel, a, out), before = a->pad[2] / v;
    uint32_t front[2] = {a->pad[0], a->pad[2] % v}, length[2] = {u * rows, 0}, n, c, channels, y;
    struct cc_attributes inner = *a;
    struct cc_reach reach;

    if (b->status)
        return 0;
    n = cc_build_value(b, x)->dim[0];
    c = cc_build_value(b, x)->dim[1];
    reach = cc_window_reach(-(int64_t)before, (int64_t)kernel[1] - 1 - before, 1, columns,
                            ceil_div(front[1] + cc_build_value(b, x)->dim[3], v));
    if (reach.taps != kernel[1]) {
        front[1] = a->pad[2];
        reach = (struct cc_reach){.length = columns + kernel[1] - 1};
    }
    length[1] = v * reach.length;
    x = cc_phases_fit(b, x, front, length, fill);
    x = cc_phases_split(b, x, u, v);
    x = cc_build_reshape(b, x, 4, (uint32_t[4]){n, c, u * v * rows, reach.length});
    inner.dilation[0] = inner.dilation[1] = 1;
    inner.pad[0] = 0;
    inner.pad[1] = kernel[0] - 1;
    inner.pad[2] = reach.before;
    inner.pad[3] = reach.after;
    y = cc_build_op(b, kind, 1, &x, &inner);
    if (b->status)
        return 0;
    channels = cc_build_value(b, y)->dim[1];
    y = cc_phases_join(b, y, (uint32_t[4]){n, channels, u * rows, v * columns}, u, v);
    return cc_phases_fit(b, y, (uint32_t[2]){0, 0}, out + 2, 0);
}

uint32_t cc_window_every(struct cc_build *b, uint32_t x, const uint32_t step[2], const uint32_t dim[4])
{
    return b->status ? 0 : cc_build_slice(b, x, (uint32_t[4]){0}, dim, (uint32_t[4]){1, 1, step[0], step[1]});
}
