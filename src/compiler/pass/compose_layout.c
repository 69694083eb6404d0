/* SPDX-License-Identifier: Apache-2.0 */
/* Composites of the layout family. */
#include "compiler/pass/compose.h"

void cc_compose_layout(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    (void)r;
    (void)op;
    (void)done;
}
