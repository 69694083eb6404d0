/* SPDX-License-Identifier: Apache-2.0 */
/* Sine, cosine and arc tangent of a view, from tables of one quarter and a reduction of the argument. */
#ifndef COMPILER_LOWER_TRIGONOMETRY_H
#define COMPILER_LOWER_TRIGONOMETRY_H

#include "compiler/lower/view.h"

/* |x| up to 1608: beyond, the multiple of pi has no fp16 value next to it and the results are meaningless. */
int cc_emit_sine(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y);
int cc_emit_cosine(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y);
/* Any x. */
int cc_emit_arc(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *y);

#endif
