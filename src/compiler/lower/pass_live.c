/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds dead operations and counts the uses of each value. Operations are in the order of computation, so one
 * walk from the last to the first is enough: an operation is live if its value has been counted. Uses are
 * counted at the root, hence after the casts have made their aliases.
 */
#include "compiler/lower/pass.h"

int cc_pass_live(struct cc_lowering *l)
{
    const struct cc_graph *g = l->graph;

    for (uint32_t i = 0; i < g->outputs; i++)
        l->tensor[cc_root(l, g->output[i])].uses++;
    for (uint32_t i = g->ops; i-- > 0;) {
        const struct cc_op *op = &g->op[i];

        l->step[i].live = l->tensor[op->output].uses != 0;
        if (l->step[i].skip || !l->step[i].live)
            continue;
        for (uint32_t k = 0; k < op->inputs; k++)
            l->tensor[cc_root(l, op->input[k])].uses++;
    }
    return 0;
}
