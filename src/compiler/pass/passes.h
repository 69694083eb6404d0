/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes over the graph, in their order. Each replaces the graph and keeps its meaning (compiler/eval),
 * except for rounding. After them the graph has primitives only: operations that the lowering takes, of rank
 * 4 at most and within the engine's limits.
 */
#ifndef COMPILER_PASS_PASSES_H
#define COMPILER_PASS_PASSES_H

#include "compiler/graph/graph.h"

/* Operations whose operands are constants become constants; operations without effect disappear. */
int cc_pass_fold(struct cc_graph **graph, struct base_error *error);
/*
 * Batch norms, factors and offsets per channel go into the weights and bias of a convolution or a linear
 * before them.
 */
int cc_pass_norm(struct cc_graph **graph, struct base_error *error);
/*
 * Composites become primitives. Windows, strides, dilations and padding that a descriptor cannot express are
 * composites too: they are cut or moved.
 */
int cc_pass_compose(struct cc_graph **graph, struct base_error *error);
/* Operations on each element move before the transposes and slices of a convolution's result. */
int cc_pass_lift(struct cc_graph **graph, struct base_error *error);
/* Rank 5 and axes longer than the engine takes. */
int cc_pass_rank(struct cc_graph **graph, struct base_error *error);
/* Transposes that cancel each other. */
int cc_pass_transpose(struct cc_graph **graph, struct base_error *error);

/* All of them. The graph has been checked; it is checked again after each pass. */
int cc_passes(struct cc_graph **graph, struct base_error *error);

#endif
