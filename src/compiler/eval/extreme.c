/* SPDX-License-Identifier: Apache-2.0 */
/* The largest and smallest elements of an axis, and where they are. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/rows.h"

static uint64_t best_of(const double *x, uint64_t count, bool least, bool last)
{
    uint64_t best = 0;

    for (uint64_t i = 1; i < count; i++) {
        bool better = least ? x[i] < x[best] : x[i] > x[best];

        if (better || (isnan(x[best]) && !isnan(x[i])) || (last && x[i] == x[best]))
            best = i;
    }
    return best;
}

int cc_eval_arg(const struct cc_eval_task *t)
{
    bool least = t->op->kind == CC_OP_ARG_MIN;
    struct cc_rows r;
    int status = cc_rows_open(&r, t, 1u << t->op->a.axis);

    if (status)
        return status;
    for (uint64_t i = 0; i < r.rows; i++)
        t->result[i] = (double)best_of(r.x + i * r.depth, r.depth, least, t->op->a.reverse);
    cc_rows_close(&r);
    return 0;
}

/* An element of a row. `key` is larger for what comes earlier. */
struct place {
    double value, key;
    uint64_t index;
};

/* A NaN comes after all others. */
static int compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (isnan(x->key) != isnan(y->key))
        return isnan(x->key) ? 1 : -1;
    if (x->key != y->key && !isnan(x->key))
        return x->key > y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void sort_row(const struct cc_eval_task *t, const double *x, uint64_t depth, struct place *place)
{
    for (uint64_t i = 0; i < depth; i++)
        place[i] = (struct place){.value = x[i], .key = t->op->a.reverse ? -x[i] : x[i], .index = i};
    qsort(place, depth, sizeof(*place), compare);
}

/* Rows are in the order of the other axes: those before `axis` and those behind it. */
int cc_eval_topk(const struct cc_eval_task *t)
{
    bool indices = t->op->kind == CC_OP_TOPK_INDICES;
    uint64_t inner = 1, kept = t->op->a.size[0];
    struct place *place;
    struct cc_rows r;
    int status = cc_rows_open(&r, t, 1u << t->op->a.axis);

    if (status)
        return status;
    for (uint32_t i = t->op->a.axis + 1; i < t->x->rank; i++)
        inner *= t->x->dim[i];
    place = base_alloc_array(r.depth, sizeof(*place));
    for (uint64_t i = 0; place && i < r.rows; i++) {
        double *y = t->result + i / inner * kept * inner + i % inner;

        sort_row(t, r.x + i * r.depth, r.depth, place);
        for (uint64_t k = 0; k < kept; k++)
            y[k * inner] = indices ? (double)place[k].index : place[k].value;
    }
    cc_rows_close(&r);
    if (!place)
        return base_fail(t->error, ENOMEM, "There is no memory to compute %s `%.64s`.",
                         cc_op_name(t->op->kind), t->op->name);
    base_free(place);
    return 0;
}
