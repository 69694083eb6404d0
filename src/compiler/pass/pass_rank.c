/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pass/passes.h"

int cc_pass_rank(struct cc_graph **graph, struct base_error *error)
{
    (void)graph;
    (void)error;
    return 0;
}
