/* SPDX-License-Identifier: Apache-2.0 */
/* A graph as text, on stderr: one line per operation, with its attributes that are not 0. */
#ifndef TESTS_GRAPHTEXT_H
#define TESTS_GRAPHTEXT_H

#include "compiler/graph/graph.h"

void graphtext_print(const struct cc_graph *graph);

#endif
