/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph as bytes, and back: the segments of a bundle that run on the host. Little-endian; a magic number, a
 * version, then origins, values with the data of constants, operations, and the ports. What is read is
 * checked as any graph is (cc_graph_check), so that no bytes lead to more than a refusal.
 */
#ifndef COMPILER_GRAPH_FILE_H
#define COMPILER_GRAPH_FILE_H

#include "compiler/graph/graph.h"

#define CC_GRAPH_FILE_VERSION 1u
#define CC_GRAPH_FILE_NAME    4096u /* characters of a name at most */

/* *bytes is to be freed with base_free. */
int cc_graph_file_write(const struct cc_graph *graph, uint8_t **bytes, size_t *size,
                        struct base_error *error);
int cc_graph_file_read(const uint8_t *bytes, size_t size, struct cc_graph **graph, struct base_error *error);

#endif
