/* SPDX-License-Identifier: Apache-2.0 */
/* The product of two matrices, of which the convolutions and matrix operations are made. */
#ifndef COMPILER_EVAL_PRODUCT_H
#define COMPILER_EVAL_PRODUCT_H

#include <stddef.h>

/*
 * y += a b: a is [rows, inner], b is [inner, columns], y is [rows, columns]. Rows are a_step, b_step and
 * y_step elements apart.
 */
void cc_product(size_t rows, size_t inner, size_t columns, const double *a, size_t a_step, const double *b,
                size_t b_step, double *y, size_t y_step);

#endif
