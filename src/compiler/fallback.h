/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network that the engine cannot run as a whole, as a composite: the nodes that the engine refuses run on
 * the host (host.h), all others in programs of the engine between them.
 */
#ifndef COMPILER_FALLBACK_H
#define COMPILER_FALLBACK_H

#include "compiler/compile.h"
#include "compiler/graph/graph.h"
#include "compiler/report/placement.h"

/*
 * Of a checked graph, before the passes. `refusal` is why the engine does not take the whole; it is what is
 * said when no node is refused by itself. `placement` NULL: none is asked for. `model` is the path that the
 * bundle states, or NULL.
 */
int cc_fallback(const struct cc_graph *graph, const char *key, const char *model, bool sign,
                const struct base_error *refusal, struct cc_bundle *bundle, struct cc_placement **placement,
                struct base_error *error);

#endif
