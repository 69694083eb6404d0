/* SPDX-License-Identifier: Apache-2.0 */
/* One operation, and the families that compute it. Only files of this folder include this. */
#ifndef COMPILER_EVAL_TASK_H
#define COMPILER_EVAL_TASK_H

#include "compiler/eval/eval.h"

struct cc_eval_task {
    const struct cc_graph *graph;
    const struct cc_op *op;
    const struct cc_value *x, *y; /* the shapes of operand 0 and of the result */
    const double *const *operand;
    double *result;
    struct base_error *error;
};

/* Fills the result; 0, or a negative errno with the sentence written. One per family. */
typedef int cc_eval_family(const struct cc_eval_task *t);

/* elementwise.c */
cc_eval_family cc_eval_unary, cc_eval_binary, cc_eval_select, cc_eval_channel;
/* window.c, pool.c */
cc_eval_family cc_eval_conv, cc_eval_conv_transpose, cc_eval_pool;
/* matrix.c */
cc_eval_family cc_eval_linear, cc_eval_matmul;
/* reduce.c, norm.c */
cc_eval_family cc_eval_reduce, cc_eval_softmax, cc_eval_l2_norm, cc_eval_layer_norm, cc_eval_instance_norm,
    cc_eval_batch_norm, cc_eval_local_response_norm;
/* layout.c, resize.c */
cc_eval_family cc_eval_copy, cc_eval_transpose, cc_eval_slice, cc_eval_tile, cc_eval_pad, cc_eval_reverse,
    cc_eval_gather, cc_eval_depth, cc_eval_batch, cc_eval_concat, cc_eval_cumsum, cc_eval_resize;

/* extreme.c */
cc_eval_family cc_eval_arg, cc_eval_topk;

/* The elements of a constant, as doubles. */
void cc_eval_elements(const struct cc_value *value, double *elements);
/* The elements of a parameter (value index + 1), to be freed; NULL for none. */
int cc_eval_parameter(const struct cc_eval_task *t, uint32_t index, double **elements);
/* Room for this many doubles, to be freed; NULL and a sentence without memory. */
double *cc_eval_room(const struct cc_eval_task *t, uint64_t count);

/* Elements from one index of an axis to the next. */
void cc_eval_strides(const struct cc_value *value, uint64_t stride[CC_RANK_MAX]);

#endif
