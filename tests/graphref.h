/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a graph's operations mean, in double precision, from their definitions and from nothing else: the
 * second computation that results are compared with. Tensors are row-major doubles; a shape is read as five
 * axes, aligned at the end. A bool is 0 or 1.
 */
#ifndef TESTS_GRAPHREF_H
#define TESTS_GRAPHREF_H

#include "compiler/graph/graph.h"

#define GR_AXES 5u

struct gr_array {
    uint32_t dim[GR_AXES];
    double *x;
};

/* A new one, of the value's shape, all zero. free() its x. */
struct gr_array gr_array_of(const struct cc_value *v);
size_t gr_elements(const struct cc_value *v);
/* One operation; `array` holds one per value of the graph, and those of its operands are filled. */
void gr_compute(const struct cc_graph *graph, const struct cc_op *op, struct gr_array *array);

#endif
