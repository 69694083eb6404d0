/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of records: where a graph value is in memory, and in which layout. */
#ifndef COMPILER_LOWER_OPERAND_H
#define COMPILER_LOWER_OPERAND_H

#include "compiler/lower/context.h"

enum { CC_AXES = 4, CC_ELEMENT = 2 /* bytes */ };

/*
 * A tensor in the engine's layout: right-aligned to n, c, h, w, where the first two axes of rank 5 are one;
 * rows begin on 64-byte boundaries, no other gaps.
 */
struct cc_layout {
    uint32_t n, c, h, w;
    uint32_t row, plane, batch, bytes;
};

int cc_layout_of(const struct cc_lowering *l, uint32_t value, struct cc_layout *layout);
/*
 * Where to read a value. A constant is added to the program's constants in the engine's layout. Strides are
 * the layout's.
 */
int cc_source(struct cc_lowering *l, uint32_t value, struct pr_e5_operand *operand, struct cc_layout *layout);
/* Where to write a value: to a port if it is an output, else to an intermediate buffer. */
int cc_result(struct cc_lowering *l, uint32_t value, struct pr_e5_operand *operand, struct cc_layout *layout);
/* Where output `port` of the program is, for a value of this layout. */
struct pr_e5_operand cc_output_port(uint32_t port, const struct cc_layout *layout);
/* A new intermediate buffer. */
int cc_scratch(struct cc_lowering *l, uint64_t bytes, uint32_t *buffer);
/* Adds bytes, a multiple of 64, to the program's constants, once per content. */
int cc_constant(struct cc_lowering *l, const void *bytes, uint32_t size, uint32_t *offset);

#endif
