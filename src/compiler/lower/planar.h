/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise tasks of the planar engine. */
#ifndef COMPILER_LOWER_PLANAR_H
#define COMPILER_LOWER_PLANAR_H

#include "compiler/lower/view.h"

/* What the task computes: y = final_scale * relu?(scale * compare?(abs?(op(pre_scale * a, b))) + bias). */
struct cc_planar {
    enum pr_pe_op op;
    enum pr_pe_compare compare;
    uint32_t flags;                  /* enum pr_e5_flag */
    uint16_t scale, bias, pre_scale; /* a scale of 0 means 1 */
    float final_scale;               /* the same */
};

/*
 * Of one source (`b` NULL), or of two whose axes of length 1 are broadcast. W is contiguous in all of them.
 */
int cc_emit_planar(struct cc_lowering *l, const struct cc_planar *how, const struct cc_view *a,
                   const struct cc_view *b, const struct cc_view *to);

#endif
