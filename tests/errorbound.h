/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a result of the engine may be from the float64 one. Per value of a graph: the reference
 * (compiler/eval) and a bound for each element, which is propagated from operation to operation and grows by
 * what each one loses: the rounding of its result to fp16, the error of its table, and the edges that
 * docs/numbers.md lists. The derivation is in errorbound.c; no number there comes from our results.
 *
 * For tight bounds the graph is the one after cc_passes, where composites are the operations that they are
 * made of. A bound of infinity means that nothing is promised. The policy is `m1`.
 */
#ifndef TESTS_ERRORBOUND_H
#define TESTS_ERRORBOUND_H

#include "compiler/eval/eval.h"

struct eb {
    const struct cc_graph *graph;
    struct cc_graph *magnitude; /* a copy with the absolute values of all constants */
    struct cc_eval exact;       /* exact.value[v]: the reference */
    double **bound;             /* per value; NULL where the reference is */
};

/* Each fails the test on an error. */
void eb_open(struct eb *b, const struct cc_graph *graph);
/* An input; if it is not an fp16 number, the port rounds it. */
void eb_set(struct eb *b, uint32_t value, const double *elements);
void eb_run(struct eb *b);
void eb_close(struct eb *b);

/* Whether element i of a value may be y. */
bool eb_holds(const struct eb *b, uint32_t value, uint64_t i, double y);

#endif
