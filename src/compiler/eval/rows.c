/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/eval/rows.h"

#include <errno.h>

#include "base/alloc.h"
#include "compiler/eval/move.h"

static int no_memory(const struct cc_eval_task *t)
{
    return base_fail(t->error, ENOMEM, "There is no memory to compute %s `%.64s`.", cc_op_name(t->op->kind),
                     t->op->name);
}

/* Axis i of the result, of length dims[i], has these strides in x. */
static int move(const struct cc_eval_task *t, const uint32_t *dims, const uint64_t *stride, const double *x,
                double *y)
{
    struct cc_move m;
    int status = cc_move_open(&m, t->x->rank, dims);

    for (uint32_t axis = 0; axis < t->x->rank && !status; axis++)
        for (uint32_t i = 0; i < dims[axis]; i++)
            m.from[axis][i] = (int64_t)(i * stride[axis]);
    if (!status)
        cc_move_run(&m, x, y);
    cc_move_close(&m);
    return status ? no_memory(t) : 0;
}

static void order(struct cc_rows *r, const struct cc_value *x, uint32_t axes)
{
    uint32_t count = 0;

    r->depth = 1;
    for (unsigned behind = 0; behind < 2; behind++)
        for (uint32_t i = 0; i < x->rank; i++)
            if ((axes >> i & 1) == behind) {
                r->moved |= count != i;
                r->perm[count++] = i;
                r->depth *= behind ? x->dim[i] : 1;
            }
    r->rows = cc_value_elements(x) / r->depth;
}

int cc_rows_open(struct cc_rows *r, const struct cc_eval_task *t, uint32_t axes)
{
    uint64_t stride[CC_RANK_MAX], moved[CC_RANK_MAX];
    uint32_t dims[CC_RANK_MAX];
    int status;

    *r = (struct cc_rows){.x = t->operand[0]};
    order(r, t->x, axes);
    if (!r->moved)
        return 0;
    r->own = cc_eval_room(t, cc_value_elements(t->x));
    if (!r->own)
        return -ENOMEM;
    r->x = r->own;
    cc_eval_strides(t->x, stride);
    for (uint32_t i = 0; i < t->x->rank; i++) {
        dims[i] = t->x->dim[r->perm[i]];
        moved[i] = stride[r->perm[i]];
    }
    status = move(t, dims, moved, t->operand[0], r->own);
    if (status)
        cc_rows_close(r);
    return status;
}

double *cc_rows_result(struct cc_rows *r, const struct cc_eval_task *t)
{
    return r->moved ? r->own : t->result;
}

int cc_rows_finish(struct cc_rows *r, const struct cc_eval_task *t)
{
    uint64_t moved[CC_RANK_MAX] = {0}, step = 1;

    if (!r->moved)
        return 0;
    for (uint32_t i = t->x->rank; i-- > 0;) {
        moved[r->perm[i]] = step;
        step *= t->x->dim[r->perm[i]];
    }
    return move(t, t->x->dim, moved, r->own, t->result);
}

void cc_rows_close(struct cc_rows *r)
{
    base_free(r->own);
    r->own = NULL;
}
