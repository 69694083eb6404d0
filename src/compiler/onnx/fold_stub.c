/* SPDX-License-Identifier: Apache-2.0 */
/* Until compiler/eval folds: nothing is folded. */
#include "compiler/eval/eval.h"

__attribute__((weak)) int cc_eval_fold(struct cc_graph *graph, uint32_t number, bool *folded,
                                       struct base_error *error)
{
    (void)graph;
    (void)number;
    (void)error;
    *folded = false;
    return 0;
}
