/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composites: the function of a family replaces an operation by primitives, or does nothing when the
 * operation is not one of its composites.
 */
#ifndef COMPILER_PASS_COMPOSE_H
#define COMPILER_PASS_COMPOSE_H

#include "compiler/graph/rewrite.h"

cc_rewrite_op cc_compose_elementwise, cc_compose_reduce, cc_compose_layout, cc_compose_window;

/* compose_blocks.c, compose_resize.c: what these operations of x are, as a new value. */
uint32_t cc_compose_blocks(struct cc_build *b, const struct cc_op *op, uint32_t x);
uint32_t cc_compose_resize(struct cc_build *b, const struct cc_op *op, uint32_t x);
uint32_t cc_compose_cumsum(struct cc_build *b, const struct cc_op *op, uint32_t x);
/* A parameter of the old graph, number + 1, as a new constant of another shape with as many elements. */
uint32_t cc_compose_constant(struct cc_rewrite *r, uint32_t parameter, uint32_t rank, const uint32_t *dims);

#endif
