/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/eval/move.h"

#include <errno.h>
#include <stddef.h>

#include "base/alloc.h"

int cc_move_open(struct cc_move *m, uint32_t axes, const uint32_t *dims)
{
    *m = (struct cc_move){.axes = axes};
    for (uint32_t i = 0; i < axes; i++) {
        m->dim[i] = dims[i];
        m->from[i] = base_alloc_array(dims[i], sizeof(*m->from[i]));
        if (!m->from[i])
            return -ENOMEM;
    }
    return 0;
}

void cc_move_close(struct cc_move *m)
{
    for (uint32_t i = 0; i < m->axes; i++)
        base_free(m->from[i]);
}

static void move_row(const struct cc_move *m, const double *x, double *y)
{
    const int64_t *from = m->from[m->axes - 1];

    for (uint32_t i = 0; i < m->dim[m->axes - 1]; i++)
        y[i] = x && from[i] != CC_MOVE_NONE ? x[from[i]] : m->fill;
}

/* The axes from `axis` on; x is NULL where one before has no elements. Returns the end of what it wrote. */
static double *move_axes(const struct cc_move *m, uint32_t axis, const double *x, double *y)
{
    if (axis + 1 == m->axes) {
        move_row(m, x, y);
        return y + m->dim[axis];
    }
    for (uint32_t i = 0; i < m->dim[axis]; i++) {
        int64_t from = m->from[axis][i];

        y = move_axes(m, axis + 1, x && from != CC_MOVE_NONE ? x + from : NULL, y);
    }
    return y;
}

void cc_move_run(const struct cc_move *m, const double *x, double *y)
{
    if (m->axes)
        move_axes(m, 0, x, y);
    else
        *y = *x;
}
