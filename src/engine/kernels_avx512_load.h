/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of kernels_avx512.c: vectors of floats from fp16 values that do not follow each other, and operands of
 * products.
 */

INLINE short half_at(const uint8_t *from)
{
    short half;

    __builtin_memcpy(&half, from, sizeof(half));
    return half;
}

/* One element in all lanes, and one element for each lane, `step` bytes apart. */
INLINE vec vec_from_fp16_one(const uint8_t *from, const struct eng_load *load)
{
    return vec_of_fp16(_mm256_set1_epi16(half_at(from)), load);
}

INLINE __m128i eight_at(const uint8_t *from, size_t step)
{
    return _mm_setr_epi16(half_at(from), half_at(from + step), half_at(from + 2 * step),
                          half_at(from + 3 * step), half_at(from + 4 * step), half_at(from + 5 * step),
                          half_at(from + 6 * step), half_at(from + 7 * step));
}

INLINE vec vec_from_fp16_steps(const uint8_t *from, size_t step, const struct eng_load *load)
{
    return vec_of_fp16(_mm256_set_m128i(eight_at(from + 8 * step, step), eight_at(from, step)), load);
}

/* Four lanes of each of two runs. */
INLINE __m128i two_runs(const uint8_t *const *run, size_t at)
{
    return _mm_unpacklo_epi64(_mm_loadl_epi64((const void *)(run[0] + at)),
                              _mm_loadl_epi64((const void *)(run[1] + at)));
}

/* A vector of weights from one or several runs of `lanes`, `at` bytes after their first. */
INLINE vec vec_from_fp16_runs(const uint8_t *const *run, size_t at, unsigned lanes,
                              const struct eng_load *load)
{
    if (lanes == 16)
        return vec_from_fp16(run[0] + at, load);
    if (lanes == 8)
        return vec_of_fp16(
            _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const void *)(run[0] + at))),
                                    _mm_loadu_si128((const void *)(run[1] + at)), 1),
            load);
    return vec_of_fp16(
        _mm256_inserti128_si256(_mm256_castsi128_si256(two_runs(run, at)), two_runs(run + 2, at), 1), load);
}

INLINE __m256i load_256(const uint8_t *from)
{
    return _mm256_loadu_si256((const void *)from);
}

/* The same for four rows. Where they are packed in short runs, rows are exchanged with runs. */
INLINE void vecs_from_fp16_runs(const uint8_t *const *run, size_t at, size_t stride, unsigned lanes,
                                const struct eng_load *load, vec w[4])
{
    if (lanes == 4 && stride == 8) {
        __m256i a = load_256(run[0] + at), b = load_256(run[1] + at), c = load_256(run[2] + at),
                d = load_256(run[3] + at);
        __m256i ab0 = _mm256_unpacklo_epi64(a, b), ab1 = _mm256_unpackhi_epi64(a, b);
        __m256i cd0 = _mm256_unpacklo_epi64(c, d), cd1 = _mm256_unpackhi_epi64(c, d);

        w[0] = vec_of_fp16(_mm256_permute2x128_si256(ab0, cd0, 0x20), load);
        w[1] = vec_of_fp16(_mm256_permute2x128_si256(ab1, cd1, 0x20), load);
        w[2] = vec_of_fp16(_mm256_permute2x128_si256(ab0, cd0, 0x31), load);
        w[3] = vec_of_fp16(_mm256_permute2x128_si256(ab1, cd1, 0x31), load);
        return;
    }
    w[0] = vec_from_fp16_runs(run, at, lanes, load);
    w[1] = vec_from_fp16_runs(run, at + stride, lanes, load);
    w[2] = vec_from_fp16_runs(run, at + 2 * stride, lanes, load);
    w[3] = vec_from_fp16_runs(run, at + 3 * stride, lanes, load);
}

INLINE __m512i load_512(const uint8_t *from)
{
    return _mm512_loadu_si512((const void *)from);
}

INLINE void vecs_of_two(__m512i two, const struct eng_load *load, vec *low, vec *high)
{
    *low = vec_of_fp16(_mm512_castsi512_si256(two), load);
    *high = vec_of_fp16(_mm512_extracti64x4_epi64(two, 1), load);
}

/*
 * The same for eight rows. Of the shortest runs they are whole cache lines: a line of every run at once is
 * more than the ways that the first cache has for runs of equal length, so a line read in two parts would be
 * fetched twice.
 */
INLINE void vecs_from_fp16_rows(const uint8_t *const *run, size_t at, size_t stride, unsigned lanes,
                                const struct eng_load *load, vec w[GEMV_ROWS])
{
    if (lanes == 4 && stride == 8) {
        const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
        const __m512i high = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
        __m512i a = load_512(run[0] + at), b = load_512(run[1] + at), c = load_512(run[2] + at),
                d = load_512(run[3] + at);
        __m512i ab0 = _mm512_unpacklo_epi64(a, b), ab1 = _mm512_unpackhi_epi64(a, b);
        __m512i cd0 = _mm512_unpacklo_epi64(c, d), cd1 = _mm512_unpackhi_epi64(c, d);

        vecs_of_two(_mm512_permutex2var_epi64(ab0, low, cd0), load, &w[0], &w[2]);
        vecs_of_two(_mm512_permutex2var_epi64(ab1, low, cd1), load, &w[1], &w[3]);
        vecs_of_two(_mm512_permutex2var_epi64(ab0, high, cd0), load, &w[4], &w[6]);
        vecs_of_two(_mm512_permutex2var_epi64(ab1, high, cd1), load, &w[5], &w[7]);
        return;
    }
    vecs_from_fp16_runs(run, at, stride, lanes, load, w);
    vecs_from_fp16_runs(run, at + 4 * stride, stride, lanes, load, w + 4);
}

/* Lanes of a vector, clipped to those that there are. */
struct lanes {
    __mmask16 mask;
};

INLINE struct lanes lanes_between(int64_t begin, int64_t end)
{
    size_t from = begin < 0 ? 0 : begin < LANES ? (size_t)begin : LANES;
    size_t to = end < 0 ? 0 : end < LANES ? (size_t)end : LANES;

    return (struct lanes){(__mmask16)(first(to) & ~first(from))};
}

/*
 * Constants in memory, which the compiler does not know: it would make them again and again, by way of the
 * integer registers.
 */
enum { BITS_EXPONENT, BITS_SIGN, BITS_BELOW_CEILING, BITS_NORMAL, BITS_KINDS };

INLINE __m256i bits_of(unsigned kind)
{
#define ALL(bits)                                                                                      \
    {                                                                                                  \
        bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits, bits \
    }
    static const _Alignas(32)
        uint16_t table[BITS_KINDS][LANES] = {ALL(0x7c00), ALL(0x8000), ALL(0x77ff), ALL(0x0400)};
#undef ALL
    const uint16_t(*at)[LANES] = table;

    __asm__("" : "+r"(at));
    return _mm256_load_si256((const void *)at[kind]);
}

/* The smallest magnitudes of fp16 become 0. Comparisons to masks would wait for multiply-adds. */
INLINE __m256i without_denormals(__m256i fp16)
{
    __m256i exponent = _mm256_and_si256(fp16, bits_of(BITS_EXPONENT));

    return _mm256_andnot_si256(_mm256_cmpeq_epi16(exponent, _mm256_setzero_si256()), fp16);
}

/* `finite` says that all elements are, and is a constant where this is inlined. */
INLINE vec operand_of_fp16(__m256i fp16, bool finite)
{
    if (finite)
        return _mm512_maskz_cvtph_ps(_mm256_test_epi16_mask(fp16, bits_of(BITS_EXPONENT)), fp16);
    return _mm512_min_ps(_mm512_cvtph_ps(without_denormals(fp16)), vec_set(__builtin_inff()));
}

/* Operands of products, by the rules of m1: those lanes; the others are 0, and their bytes are not read. */
INLINE vec vec_operand(const uint8_t *from, struct lanes which, bool finite)
{
    return operand_of_fp16(_mm256_maskz_loadu_epi16(which.mask, from), finite);
}

/* The same of 2 * LANES, at even places and at odd ones. */
INLINE void vec_operands(const uint8_t *from, struct lanes low, struct lanes high, bool finite, vec *even,
                         vec *odd)
{
    static const uint16_t order[2 * LANES] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                              1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    __m512i v = _mm512_maskz_loadu_epi16(_mm512_kunpackw(high.mask, low.mask), from);

    v = _mm512_permutexvar_epi16(_mm512_loadu_si512(order), v);
    *even = operand_of_fp16(_mm512_castsi512_si256(v), finite);
    *odd = operand_of_fp16(_mm512_extracti64x4_epi64(v, 1), finite);
}

/* The same of two rows, in half of the lanes each. */
INLINE vec vec_operand_of_two(const uint8_t *low, const uint8_t *high, struct lanes which)
{
    const __mmask8 mask = (__mmask8)which.mask;

    return operand_of_fp16(
        _mm256_set_m128i(_mm_maskz_loadu_epi16(mask, high), _mm_maskz_loadu_epi16(mask, low)), true);
}

INLINE void vec_operands_of_two(const uint8_t *low, const uint8_t *high, struct lanes which, vec *even,
                                vec *odd)
{
    static const uint16_t order[2 * LANES] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                              1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    __m512i v = _mm512_castsi256_si512(_mm256_maskz_loadu_epi16(which.mask, low));

    v = _mm512_inserti64x4(v, _mm256_maskz_loadu_epi16(which.mask, high), 1);
    v = _mm512_permutexvar_epi16(_mm512_loadu_si512(order), v);
    *even = operand_of_fp16(_mm512_castsi512_si256(v), true);
    *odd = operand_of_fp16(_mm512_extracti64x4_epi64(v, 1), true);
}
