/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tile of y is ROWS rows of WIDTH columns in local variables, so that an element of b is loaded once for
 * ROWS results; loops over constants become vector instructions. Every element of y is one sum in the
 * order of the inner index, whatever the tiles.
 */
#include "compiler/eval/product.h"

enum {
    ROWS = 4,
    WIDTH = 8,
    INNER = 256
}; /* INNER rows of b are used for all rows of a, then the next ones */

static void tile(size_t inner, const double *a, size_t a_step, const double *b, size_t b_step, double *y,
                 size_t y_step)
{
    double sum[ROWS][WIDTH];

    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned i = 0; i < WIDTH; i++)
            sum[r][i] = y[r * y_step + i];
    for (size_t k = 0; k < inner; k++)
        for (unsigned r = 0; r < ROWS; r++) {
            double factor = a[r * a_step + k];

            for (unsigned i = 0; i < WIDTH; i++)
                sum[r][i] += factor * b[k * b_step + i];
        }
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned i = 0; i < WIDTH; i++)
            y[r * y_step + i] = sum[r][i];
}

/* What is left at the edges. */
static void edge(size_t rows, size_t inner, size_t columns, const double *a, size_t a_step, const double *b,
                 size_t b_step, double *y, size_t y_step)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < inner; k++) {
            double factor = a[r * a_step + k];

            for (size_t i = 0; i < columns; i++)
                y[r * y_step + i] += factor * b[k * b_step + i];
        }
}

void cc_product(size_t rows, size_t inner, size_t columns, const double *a, size_t a_step, const double *b,
                size_t b_step, double *y, size_t y_step)
{
    size_t whole_rows = rows / ROWS * ROWS, whole_columns = columns / WIDTH * WIDTH;

    for (size_t k = 0; k < inner; k += INNER) {
        size_t part = inner - k < INNER ? inner - k : INNER;
        const double *ak = a + k, *bk = b + k * b_step;

        for (size_t c = 0; c < whole_columns; c += WIDTH)
            for (size_t r = 0; r < whole_rows; r += ROWS)
                tile(part, ak + r * a_step, a_step, bk + c, b_step, y + r * y_step + c, y_step);
        edge(whole_rows, part, columns - whole_columns, ak, a_step, bk + whole_columns, b_step,
             y + whole_columns, y_step);
        edge(rows - whole_rows, part, columns, ak + whole_rows * a_step, a_step, bk, b_step,
             y + whole_rows * y_step, y_step);
    }
}
