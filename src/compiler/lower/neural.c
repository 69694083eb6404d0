/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of the neural engines that move a tensor of four axes: a span moves it. */
#include "compiler/lower/neural.h"

#include "compiler/lower/span.h"

int cc_emit_move(struct cc_lowering *l, const struct cc_view *from, const struct cc_view *to,
                 const struct cc_neural *how)
{
    struct cc_span src = cc_span_of_view(from), dst = cc_span_of_view(to);

    return cc_emit_span(l, &src, &dst, how);
}

int cc_emit_copy(struct cc_lowering *l, uint32_t value, const struct pr_e5_operand *to,
                 const struct cc_neural *how)
{
    struct cc_layout layout;
    struct pr_e5_operand at;
    struct cc_view from, dst;
    int status = cc_source(l, value, &at, &layout);

    if (status)
        return status;
    from = cc_view_of(&at, &layout);
    dst = cc_view_of(to, &layout);
    return cc_emit_move(l, &from, &dst, how);
}
