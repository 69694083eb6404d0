/* SPDX-License-Identifier: Apache-2.0 */
/* Part of a set of kernels with AVX2: fp16 values transposed, 16 by 16. */

/*
 * Registers that are half of the eight apart are interleaved three times, which transposes 8 by 8 values in
 * each 128-bit lane.
 */
INLINE void half_transpose_16(const uint16_t *from, size_t from_row, uint16_t *to)
{
    __m256i a[16], b[16];

    UNROLL
    for (unsigned i = 0; i < 8; i++) {
        __m256i low = _mm256_loadu_si256((const void *)(from + i * from_row));
        __m256i high = _mm256_loadu_si256((const void *)(from + (i + 8) * from_row));

        a[i] = _mm256_permute2x128_si256(low, high, 0x20);
        a[i + 8] = _mm256_permute2x128_si256(low, high, 0x31);
    }
    /* a[i] has columns 0 to 7 of row i in its lower lane, of row i + 8 in the upper one; a[i + 8] has the rest. */
    UNROLL
    for (unsigned h = 0; h < 16; h += 8) {
        UNROLL
        for (unsigned i = 0; i < 4; i++) {
            b[h + 2 * i] = _mm256_unpacklo_epi16(a[h + i], a[h + i + 4]);
            b[h + 2 * i + 1] = _mm256_unpackhi_epi16(a[h + i], a[h + i + 4]);
        }
        UNROLL
        for (unsigned i = 0; i < 4; i++) {
            a[h + 2 * i] = _mm256_unpacklo_epi16(b[h + i], b[h + i + 4]);
            a[h + 2 * i + 1] = _mm256_unpackhi_epi16(b[h + i], b[h + i + 4]);
        }
        UNROLL
        for (unsigned i = 0; i < 4; i++) {
            b[h + 2 * i] = _mm256_unpacklo_epi16(a[h + i], a[h + i + 4]);
            b[h + 2 * i + 1] = _mm256_unpackhi_epi16(a[h + i], a[h + i + 4]);
        }
    }
    UNROLL
    for (unsigned i = 0; i < 16; i++)
        _mm256_storeu_si256((void *)(to + i * ENG_TILE_ROW), b[i]);
}

/* `from` has 16 rows, the last of them perhaps without a meaning; `columns` is a multiple of 8. */
INLINE void half_transpose(const uint16_t *from, size_t from_row, uint16_t *to, unsigned rows,
                           unsigned columns)
{
    unsigned c = 0;

    for (; c + 16 <= columns; c += 16)
        half_transpose_16(from + c, from_row, to + c * ENG_TILE_ROW);
    for (; c < columns; c++)
        for (unsigned r = 0; r < rows; r++)
            to[c * ENG_TILE_ROW + r] = from[r * from_row + c];
}
