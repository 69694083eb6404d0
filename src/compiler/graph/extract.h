/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a graph as a graph of its own. */
#ifndef COMPILER_GRAPH_EXTRACT_H
#define COMPILER_GRAPH_EXTRACT_H

#include "compiler/graph/graph.h"

/*
 * The operations of `graph` that are chosen (one bool per operation; INPUT and CONST ones are not looked
 * at). The part's inputs are the values that the chosen operations use and do not compute, its outputs those
 * that they compute and that another operation or the graph's output list uses; all keep their names.
 * Constants are copied, and so is the list of origins. -EINVAL when nothing is chosen or a chosen operation
 * is not needed by anything.
 */
int cc_graph_extract(const struct cc_graph *graph, const bool *chosen, struct cc_graph **part,
                     struct base_error *error);

#endif
