/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the families of the graph's rules. Only graph_rules.c and rules_*.c include this. */
#ifndef COMPILER_GRAPH_RULES_H
#define COMPILER_GRAPH_RULES_H

#include "compiler/graph/graph.h"

/* The shape of an operation's result; 0, or a negative errno with the sentence written. One per family. */
typedef int cc_rule(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                    struct base_error *error);

/* rules_elementwise.c */
cc_rule cc_rule_cast, cc_rule_unary, cc_rule_binary, cc_rule_compare, cc_rule_logical, cc_rule_select,
    cc_rule_channel_parameters;
/* rules_window.c */
cc_rule cc_rule_conv, cc_rule_conv_transpose, cc_rule_pool, cc_rule_local_response_norm;
/* rules_matrix.c */
cc_rule cc_rule_linear, cc_rule_matmul;
/* rules_reduce.c */
cc_rule cc_rule_reduce, cc_rule_softmax, cc_rule_l2_norm, cc_rule_layer_norm, cc_rule_channel_norm,
    cc_rule_arg, cc_rule_topk;
/* rules_layout.c */
cc_rule cc_rule_transpose, cc_rule_reshape, cc_rule_expand_dims, cc_rule_squeeze, cc_rule_slice, cc_rule_tile,
    cc_rule_concat, cc_rule_stack, cc_rule_pad, cc_rule_resize, cc_rule_depth, cc_rule_batch, cc_rule_reverse,
    cc_rule_gather, cc_rule_gather_at, cc_rule_cumsum;

/* "Line 4, column 9: conv `c`: ", the sentence and its full stop. */
int cc_rule_refuse(const struct cc_op *op, struct base_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

const struct cc_value *cc_rule_operand(const struct cc_graph *graph, const struct cc_op *op, uint32_t i);
struct cc_shape cc_rule_shape(const struct cc_value *value);
struct cc_shape_text cc_rule_text(const struct cc_value *value);
int cc_rule_float(const struct cc_op *op, const struct cc_value *value, struct base_error *error);
int cc_rule_same_type(const struct cc_op *op, const struct cc_value *x, const struct cc_value *y,
                      struct base_error *error);
/*
 * The type of the result of two operands: that of the one computed at run time; of two constants the wider
 * one.
 */
enum cc_type cc_rule_result_type(const struct cc_value *x, const struct cc_value *y);
/* A parameter that is a constant of x's type; *found is NULL when there is none. */
int cc_rule_constant(const struct cc_graph *graph, const struct cc_op *op, uint32_t index, const char *what,
                     const struct cc_value **found, struct base_error *error);
/* The same, with one axis of this length. */
int cc_rule_vector(const struct cc_graph *graph, const struct cc_op *op, uint32_t index, const char *what,
                   uint32_t length, struct base_error *error);
/*
 * Broadcast: axes are aligned at the end and a length of 1 is repeated. The last `fixed` axes are left to the
 * caller. `out` may be `x`; its type stays.
 */
int cc_rule_broadcast(const struct cc_op *op, const struct cc_shape *x, const struct cc_shape *y,
                      uint32_t fixed, struct cc_shape *out, struct base_error *error);

#endif
