/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every operation means, in double precision and from its definition alone: the reference that the
 * engine's results are compared with, and what folds constants. Tensors are packed row-major doubles; an
 * int32 is a whole double, a bool is 0 or 1. Nothing is rounded to fp16 or fp32.
 */
#ifndef COMPILER_EVAL_EVAL_H
#define COMPILER_EVAL_EVAL_H

#include "compiler/graph/graph.h"

/*
 * One operation of a checked graph. `operand[i]` are the elements of its input i; `result` has room for
 * those of its output. Constants that are parameters are read from the graph. A result of type int32 is
 * truncated, so a division of integers is as in C, and ends at the limits of int32; NaN becomes 0.
 */
int cc_eval_op(const struct cc_graph *graph, const struct cc_op *op, const double *const *operand,
               double *result, struct base_error *error);

/* A whole graph: the elements of every value that is needed. */
struct cc_eval {
    const struct cc_graph *graph;
    double **value; /* per value of the graph; NULL: not computed */
    bool *given;    /* set by the caller */
    bool *fresh;    /* set or computed after the last run */
};
int cc_eval_open(struct cc_eval *eval, const struct cc_graph *graph, struct base_error *error);
/* Sets a value, an input as a rule; the elements are copied. */
int cc_eval_set(struct cc_eval *eval, uint32_t value, const double *elements, struct base_error *error);
/*
 * Computes the operations from number `first` on that an output depends on: all at first, then those that
 * depend on a value that was set after the last run. Values that are set stay.
 */
int cc_eval_run(struct cc_eval *eval, uint32_t first, struct base_error *error);
void cc_eval_close(struct cc_eval *eval);

/*
 * Folding: if all operands of operation `number` are constants, its value becomes a constant of its type,
 * and the operation CONST. *folded is whether it did. Left alone are results above CC_FOLD_BYTES_MAX and
 * windows and products of more than CC_FOLD_STEPS_MAX multiplications; fp32 results are refused then, because
 * only constants are fp32. A graph whose constants would together be more than CC_FOLD_ALL_BYTES_MAX, or need
 * more than CC_FOLD_TOTAL_MAX steps, is refused: a short text could ask for any amount of memory and time. A
 * step takes the time of a multiplication, about; each element takes CC_FOLD_ELEMENT_STEPS in addition.
 */
#define CC_FOLD_BYTES_MAX     (256ull << 20)
#define CC_FOLD_ALL_BYTES_MAX (1ull << 30)
#define CC_FOLD_STEPS_MAX     (1ull << 28)
#define CC_FOLD_ELEMENT_STEPS 16u
#define CC_FOLD_TOTAL_MAX     (1ull << 32)
int cc_eval_fold(struct cc_graph *graph, uint32_t number, bool *folded, struct base_error *error);

#endif
