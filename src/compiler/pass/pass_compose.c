/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composites become primitives. What replaces a composite may have composites in it, so the pass is repeated
 * until nothing changes; every replacement is of simpler operations, so it ends.
 */
#include <errno.h>

#include "base/array.h"
#include "compiler/eval/eval.h"
#include "compiler/pass/compose.h"
#include "compiler/pass/passes.h"

enum { ROUNDS_MAX = 16 }; /* deeper than any composite of composites */

static void compose(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    static cc_rewrite_op *const families[] = {cc_compose_elementwise, cc_compose_reduce, cc_compose_layout,
                                              cc_compose_window};

    r->to.fold = cc_eval_fold;
    for (unsigned i = 0; i < BASE_COUNT_OF(families) && !*done && !r->to.status; i++)
        families[i](r, op, done);
}

int cc_pass_compose(struct cc_graph **graph, struct base_error *error)
{
    bool changed = true;
    int status = 0;

    for (unsigned round = 0; changed && !status; round++) {
        if (round == ROUNDS_MAX)
            return base_fail(error, EPROTO, "Composites are replaced by composites without an end.");
        status = cc_rewrite(graph, compose, NULL, &changed, error);
    }
    return status;
}
