/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks of the neural engines that compute nothing across elements: they move a tensor, and may map each
 * element.
 */
#ifndef COMPILER_LOWER_NEURAL_H
#define COMPILER_LOWER_NEURAL_H

#include "compiler/lower/tables.h"
#include "compiler/lower/view.h"

/* What the task does to each element: y = relu?(table?(scale * (x + bias))). */
struct cc_neural {
    const struct cc_table *table;
    uint16_t scale, bias; /* a scale of 0 means 1 */
    bool relu;
    uint32_t slice; /* the column at which the source's rows begin */
};

/*
 * Copies a view to another of the same extents, whose axes may be in any order in memory. `how` may be NULL.
 */
int cc_emit_move(struct cc_lowering *l, const struct cc_view *from, const struct cc_view *to,
                 const struct cc_neural *how);
/* Copies a value to an operand of the same layout. */
int cc_emit_copy(struct cc_lowering *l, uint32_t value, const struct pr_e5_operand *to,
                 const struct cc_neural *how);

#endif
