/* SPDX-License-Identifier: Apache-2.0 */
/* How large a network is. */
#ifndef COMPILER_GRAPH_COUNT_H
#define COMPILER_GRAPH_COUNT_H

#include "compiler/graph/graph.h"

struct cc_count {
    uint32_t operations; /* without inputs and constants */
    uint32_t by_kind[CC_OP_COUNT];
    uint64_t parameters;    /* elements of the float constants that an operation reads; each constant once */
    uint64_t weights_bytes; /* of those, as fp16 */
    /*
     * Products that are added up in convolutions and matrix products, padding included; UINT64_MAX at
     * most.
     */
    uint64_t macs;
};

/* Of a checked graph. -ENOMEM without memory. */
int cc_graph_count(const struct cc_graph *graph, struct cc_count *count);

#endif
