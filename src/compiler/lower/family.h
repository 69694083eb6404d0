/* SPDX-License-Identifier: Apache-2.0 */
/* The lowering of each family of operations: from one operation, with what is fused into it, to records. */
#ifndef COMPILER_LOWER_FAMILY_H
#define COMPILER_LOWER_FAMILY_H

#include "compiler/lower/context.h"

int cc_lower_elementwise(struct cc_lowering *l, const struct cc_step *step);
int cc_lower_divide(struct cc_lowering *l, const struct cc_step *step); /* real_div, floor_div, mod */
int cc_lower_power(struct cc_lowering *l, const struct cc_step *step);
int cc_lower_logic(struct cc_lowering *l, const struct cc_step *step); /* comparisons, logical_*, select */
int cc_lower_relu(struct cc_lowering *l, const struct cc_step *step);
int cc_lower_unary(struct cc_lowering *l, const struct cc_step *step);
int cc_lower_conv(struct cc_lowering *l, const struct cc_step *step);
int cc_lower_pool(struct cc_lowering *l, const struct cc_step *step);
int cc_lower_linear(struct cc_lowering *l, const struct cc_step *step);
int cc_lower_matmul(struct cc_lowering *l, const struct cc_step *step);
int cc_lower_product(struct cc_lowering *l, const struct cc_step *step); /* matmul of two runtime operands */
int cc_lower_reduce(struct cc_lowering *l, const struct cc_step *step);
int cc_lower_softmax(struct cc_lowering *l, const struct cc_step *step);
int cc_lower_norm(struct cc_lowering *l, const struct cc_step *step);
int cc_lower_batch_norm(struct cc_lowering *l, const struct cc_step *step);
int cc_lower_layout(struct cc_lowering *l, const struct cc_step *step);

#endif
