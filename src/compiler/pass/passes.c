/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the passes. Folding comes first and last: the front ends leave constants behind, and so do the
 * passes. Transposes cancel early, so that factors and activations meet their convolution, and late, for what
 * the composites bring. A graph that fails its check after a pass is a defect of that pass, and is reported
 * as one.
 */
#include "compiler/pass/passes.h"

#include <errno.h>

#include "base/array.h"
#include "base/progress.h"

static const struct {
    const char *name;
    int (*run)(struct cc_graph **graph, struct base_error *error);
} passes[] = {
    {"fold", cc_pass_fold}, {"transpose", cc_pass_transpose}, {"fold", cc_pass_fold},
    {"norm", cc_pass_norm}, {"compose", cc_pass_compose},     {"lift", cc_pass_lift},
    {"rank", cc_pass_rank}, {"transpose", cc_pass_transpose}, {"fold", cc_pass_fold},
};

int cc_passes(struct cc_graph **graph, struct base_error *error)
{
    struct base_error inner;
    int status = 0;

    for (unsigned i = 0; i < BASE_COUNT_OF(passes) && !status; i++) {
        base_progress_phase(passes[i].name);
        status = passes[i].run(graph, error);
        if (!status && cc_graph_check(*graph, &inner))
            status = base_fail(error, EPROTO, "The pass `%s` made a graph that is not valid: %.400s",
                               passes[i].name, inner.text);
    }
    return status;
}
