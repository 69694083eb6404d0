/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A factor and an addend for each channel of a tensor, in double precision: what operations with constants
 * do to it, one after the other.
 */
#ifndef COMPILER_PASS_AFFINE_H
#define COMPILER_PASS_AFFINE_H

#include "compiler/graph/graph.h"

struct cc_affine {
    uint32_t axis, channels; /* the axis of the tensor, and its length */
    double *factor, *addend;
};

/* Factors of 1 and addends of 0. -ENOMEM without memory. */
int cc_affine_open(struct cc_affine *affine, uint32_t axis, uint32_t channels);
void cc_affine_close(struct cc_affine *affine);
/*
 * Appends an operation whose operand is `value`: BATCH_NORM, LINEAR_ACTIVATION, or ADD, SUB, MUL and
 * REAL_DIV with a constant that has at most one number per channel and a finite result. False, and nothing
 * changes, for any other.
 */
bool cc_affine_append(struct cc_affine *affine, const struct cc_graph *graph, const struct cc_op *op,
                      uint32_t value);

#endif
