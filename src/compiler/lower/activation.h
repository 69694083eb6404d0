/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that are one activation table. */
#ifndef COMPILER_LOWER_ACTIVATION_H
#define COMPILER_LOWER_ACTIVATION_H

#include <stdbool.h>

#include "compiler/graph/graph.h"
#include "compiler/lower/tables.h"

/* The table of an operation and the factor before it (0: none); false when one table is not enough. */
bool cc_activation_table(const struct cc_op *op, struct cc_table *table, uint16_t *scale);
/*
 * Whether that table may be fused into the operation before it. The value that enters a table is not rounded
 * to fp16, so a threshold would be compared with a value that is never stored; operations with such a
 * threshold get their own descriptor.
 */
bool cc_activation_fuses(const struct cc_op *op);

#endif
