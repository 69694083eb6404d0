/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tensor whose elements are those of another one at other places. Where an element comes from is a sum of
 * one offset per axis of the result, so each axis has a table of them.
 */
#ifndef COMPILER_EVAL_MOVE_H
#define COMPILER_EVAL_MOVE_H

#include <stdint.h>

#define CC_MOVE_AXES 5u
#define CC_MOVE_NONE INT64_MIN /* in a table: the elements at this index are `fill` */

struct cc_move {
    uint32_t axes;
    uint32_t dim[CC_MOVE_AXES];
    int64_t *from[CC_MOVE_AXES]; /* dim[i] offsets, to be filled in by the caller */
    double fill;
};

/* 0 or -ENOMEM. In both cases cc_move_close follows. */
int cc_move_open(struct cc_move *m, uint32_t axes, const uint32_t *dims);
void cc_move_run(const struct cc_move *m, const double *x, double *y);
void cc_move_close(struct cc_move *m);

#endif
