/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random graphs: every operation of graph.h, ranks 1 to 5, chains and branches. Each operation is computed as
 * soon as it is added; what would leave a moderate range is not used any further, and stays in the graph as
 * an operation without a user.
 */
#ifndef TESTS_GRAPHGEN_H
#define TESTS_GRAPHGEN_H

#include "compiler/graph/graph.h"
#include "support.h"

#define GG_OPS_MAX    40u
#define GG_INPUTS_MAX 3u

struct gg {
    struct cc_graph *graph;
    double *input[GG_INPUTS_MAX]; /* fp16 numbers, row-major */
};

/* The graph of this number, of up to `ops` operations that are used. */
void gg_open(struct gg *g, uint64_t number, unsigned ops);
void gg_close(struct gg *g);

#endif
