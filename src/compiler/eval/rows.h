/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements that belong together, one after the other: x with some of its axes behind the others. A row has
 * `depth` elements, in the order of those axes; there is a row per index of the others.
 */
#ifndef COMPILER_EVAL_ROWS_H
#define COMPILER_EVAL_ROWS_H

#include "compiler/eval/task.h"

struct cc_rows {
    const double *x;
    uint64_t rows, depth;
    double *own; /* x, if axes had to move; a result of the same shape is made here */
    uint32_t perm[CC_RANK_MAX];
    bool moved;
};

/* `axes` has a bit per axis of x. 0 or -ENOMEM with a sentence; then nothing is to be closed. */
int cc_rows_open(struct cc_rows *r, const struct cc_eval_task *t, uint32_t axes);
/* Where the caller makes a result of x's shape, row by row; it may be x itself. */
double *cc_rows_result(struct cc_rows *r, const struct cc_eval_task *t);
/* Moves that result's axes back to where they are in the task's result. */
int cc_rows_finish(struct cc_rows *r, const struct cc_eval_task *t);
void cc_rows_close(struct cc_rows *r);

#endif
