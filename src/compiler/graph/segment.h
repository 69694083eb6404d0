/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph cut into segments that run one after the other, each on the engine or on the host. A value that
 * goes from one to another is an output of the first and an input of the second, under its name.
 */
#ifndef COMPILER_GRAPH_SEGMENT_H
#define COMPILER_GRAPH_SEGMENT_H

#include "compiler/graph/graph.h"

struct cc_segment {
    bool host;
    struct cc_graph *graph;
};

struct cc_segments {
    uint32_t count;
    struct cc_segment *segment; /* in the order in which they run */
};

/*
 * `host` is per operation whether it runs on the host. As few segments as the longest chain of changes
 * needs: every operation runs in the first segment of its kind in which all its operands are there.
 */
int cc_segments_cut(const struct cc_graph *graph, const bool *host, struct cc_segments *segments,
                    struct base_error *error);
void cc_segments_release(struct cc_segments *segments);

#endif
