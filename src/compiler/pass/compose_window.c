/* SPDX-License-Identifier: Apache-2.0 */
/* Composites of the window family. */
#include "compiler/pass/compose.h"

void cc_compose_window(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    (void)r;
    (void)op;
    (void)done;
}
