/* SPDX-License-Identifier: Apache-2.0 */
/* Part of a set of kernels: fp16 values transposed, one at a time. */

/* `rows` rows of `columns` values, `from_row` apart, to columns of ENG_TILE_ROW. */
INLINE void half_transpose(const uint16_t *from, size_t from_row, uint16_t *to, unsigned rows,
                           unsigned columns)
{
    for (unsigned c = 0; c < columns; c++)
        for (unsigned r = 0; r < rows; r++)
            to[c * ENG_TILE_ROW + r] = from[r * from_row + c];
}
