/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops with AVX2, FMA and F16C: vectors of 8 floats. Results are those of the portable set, bit
 * for bit: where an instruction treats NaNs or zeros differently, its vec_ function corrects that. The
 * ceiling of sums comes from scaled operands (`scaled` in kernels.h), so vec_mac does not compare. Parts of a
 * vector are loaded and stored with masks or through a buffer, so that no byte outside the line is touched.
 * The sizes of the register blocks only change speed.
 */
#include "engine/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET         __attribute__((target("avx2,fma,f16c")))
#define INLINE         static inline __attribute__((always_inline)) TARGET
#define KERNELS        eng_kernels_avx2
#define LANES          8
#define PANEL          4
#define COLUMNS        3
#define WIDE_VECTORS   4
#define PIXELS         2
#define GEMV_VECTORS   2
#define WINDOW_VECTORS 2
#define SCALED         1

typedef __m256 vec;

/* All ones in the first n lanes. */
INLINE __m256i first(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

INLINE vec vec_set(float value)
{
    return _mm256_set1_ps(value);
}

INLINE vec vec_load(const float *from)
{
    return _mm256_loadu_ps(from);
}

INLINE vec vec_load_part(const float *from, size_t n)
{
    return _mm256_maskload_ps(from, first(n));
}

INLINE void vec_store(float *to, vec v)
{
    _mm256_storeu_ps(to, v);
}

INLINE void vec_store_part(float *to, vec v, size_t n)
{
    _mm256_maskstore_ps(to, first(n), v);
}

INLINE vec vec_add(vec a, vec b)
{
    return _mm256_add_ps(a, b);
}

INLINE vec vec_mul(vec a, vec b)
{
    return _mm256_mul_ps(a, b);
}

INLINE vec vec_mac(vec sum, vec x, vec weight, vec ceiling)
{
    (void)ceiling;
    return _mm256_fmadd_ps(x, weight, sum);
}

/* The instruction gives the second operand when either is a NaN, and when both are zeros. */
INLINE vec vec_max(vec a, vec b)
{
    return _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps(b, b, _CMP_UNORD_Q));
}

INLINE vec vec_min(vec a, vec b)
{
    return _mm256_blendv_ps(_mm256_min_ps(a, b), a, _mm256_cmp_ps(b, b, _CMP_UNORD_Q));
}

INLINE vec vec_and(vec v, uint32_t mask)
{
    return _mm256_and_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32((int)mask)));
}

/* As vec_max for two numbers. */
INLINE vec vec_larger(vec a, vec b)
{
    return _mm256_max_ps(a, b);
}

/* The lanes of a from the n-th on, then the first ones of b; n is 1 to 4. */
INLINE vec vec_shift(vec a, vec b, unsigned n)
{
    __m256 middle = _mm256_permute2f128_ps(a, b, 0x21);
    __m256i low = _mm256_castps_si256(a), high = _mm256_castps_si256(middle);

    switch (n) {
    case 1: return _mm256_castsi256_ps(_mm256_alignr_epi8(high, low, 4));
    case 2: return _mm256_castsi256_ps(_mm256_alignr_epi8(high, low, 8));
    case 3: return _mm256_castsi256_ps(_mm256_alignr_epi8(high, low, 12));
    default: return middle;
    }
}

/* Lanes 0, 2, 4 ... of a, then of b; and the others. */
INLINE vec vec_even(vec a, vec b)
{
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88)), 0xd8));
}

INLINE vec vec_odd(vec a, vec b)
{
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xdd)), 0xd8));
}

/* Not the other way round: of -0 and 0, or with a NaN, the instruction gives the second operand. */
INLINE vec vec_relu(vec v)
{
    return _mm256_max_ps(_mm256_setzero_ps(), v);
}

/* A NaN becomes 0. */
INLINE vec vec_number(vec v)
{
    return _mm256_and_ps(v, _mm256_cmp_ps(v, v, _CMP_ORD_Q));
}

/* 1 where that is so, else 0; a NaN is neither. */
INLINE vec vec_is_zero(vec v)
{
    return _mm256_and_ps(vec_set(1), _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_EQ_OQ));
}

INLINE vec vec_is_above_zero(vec v)
{
    return _mm256_and_ps(vec_set(1), _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_GT_OQ));
}

INLINE vec vec_first(vec v, size_t n, vec rest)
{
    return _mm256_blendv_ps(rest, v, _mm256_castsi256_ps(first(n)));
}

INLINE vec vec_if_less(vec a, vec b, vec yes, vec no)
{
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ));
}

INLINE vec vec_if_at_most(vec a, vec b, vec yes, vec no)
{
    return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LE_OQ));
}

INLINE vec vec_floor(vec v)
{
    return _mm256_floor_ps(v);
}

/* v = significand * 2^exponent, the significand in [1, 2), for numbers that are normal. */
INLINE vec vec_exponent(vec v)
{
    __m256i biased = _mm256_srli_epi32(_mm256_castps_si256(vec_and(v, 0x7fffffff)), 23);

    return _mm256_cvtepi32_ps(_mm256_sub_epi32(biased, _mm256_set1_epi32(127)));
}

INLINE vec vec_significand(vec v)
{
    return _mm256_or_ps(vec_and(v, 0x7fffff), vec_set(1));
}

/* Of whole numbers from -126 to 127. */
INLINE vec vec_power_of_two(vec exponent)
{
    __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(exponent), _mm256_set1_epi32(127));

    return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}

/* Element index[i] of an array; whole numbers inside it. */
INLINE vec vec_gather(const float *from, vec index)
{
    return _mm256_i32gather_ps(from, _mm256_cvtps_epi32(index), 4);
}

INLINE __m128i without_denormals(__m128i fp16)
{
    __m128i exponent = _mm_and_si128(fp16, _mm_set1_epi16(0x7c00));

    return _mm_andnot_si128(_mm_cmpeq_epi16(exponent, _mm_setzero_si128()), fp16);
}

INLINE vec vec_of_fp16(__m128i fp16, const struct eng_load *load)
{
    vec v;

    if (load->rules & ENG_RULE_NO_DENORMALS)
        fp16 = without_denormals(fp16);
    v = _mm256_cvtph_ps(fp16);
    if (load->rules & ENG_RULE_NAN_IS_INFINITY)
        v = _mm256_min_ps(v, vec_set(__builtin_inff()));
    if (load->rules & ENG_RULE_SLICE)
        v = vec_if_at_most(vec_set(ENG_SLICE_CEILING), vec_and(v, 0x7fffffff),
                           _mm256_mul_ps(v, vec_set(__builtin_inff())), v);
    if (load->rules & ENG_RULE_FINITE_INFINITY)
        v = _mm256_max_ps(vec_set(-ENG_FINITE_INFINITY), _mm256_min_ps(vec_set(ENG_FINITE_INFINITY), v));
    return load->relu ? vec_relu(v) : v;
}

INLINE vec vec_from_fp16(const uint8_t *from, const struct eng_load *load)
{
    return vec_of_fp16(_mm_loadu_si128((const void *)from), load);
}

/* n < 8. In pieces of 4, 2 and 1: a copy of variable length would cost a call. */
INLINE vec vec_from_fp16_part(const uint8_t *from, size_t n, const struct eng_load *load)
{
    uint16_t part[8] = {0};

    if (n & 4)
        __builtin_memcpy(part, from, 8);
    if (n & 2)
        __builtin_memcpy(part + (n & 4), from + 2 * (n & 4), 4);
    if (n & 1)
        __builtin_memcpy(part + (n & 6), from + 2 * (n & 6), 2);
    return vec_of_fp16(_mm_loadu_si128((const void *)part), load);
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
    return lanes == 8 ? vec_from_fp16(run[0] + at, load) : vec_of_fp16(two_runs(run, at), load);
}

/* The same for four rows. */
INLINE void vecs_from_fp16_runs(const uint8_t *const *run, size_t at, size_t stride, unsigned lanes,
                                const struct eng_load *load, vec w[4])
{
    w[0] = vec_from_fp16_runs(run, at, lanes, load);
    w[1] = vec_from_fp16_runs(run, at + stride, lanes, load);
    w[2] = vec_from_fp16_runs(run, at + 2 * stride, lanes, load);
    w[3] = vec_from_fp16_runs(run, at + 3 * stride, lanes, load);
}

/* Lanes of a vector, clipped to those that there are. */
struct lanes {
    size_t begin, end;
};

INLINE struct lanes lanes_between(int64_t begin, int64_t end)
{
    size_t from = begin < 0 ? 0 : begin < LANES ? (size_t)begin : LANES;
    size_t to = end < 0 ? 0 : end < LANES ? (size_t)end : LANES;

    return (struct lanes){from, to};
}

/* Not inlined: a vector at the edge of a row is rare, and the loops that load one are unrolled. */
TARGET __attribute__((noinline)) static vec vec_from_fp16_edge(const uint8_t *from, size_t begin, size_t end,
                                                               const struct eng_load *load, vec outside)
{
    uint8_t part[2 * LANES] = {0};

    if (begin >= end)
        return outside;
    __builtin_memcpy(part + 2 * begin, from + 2 * begin, 2 * (end - begin));
    return vec_first(outside, begin, vec_first(vec_from_fp16(part, load), end, outside));
}

/* Those lanes; the others are `outside`, and their bytes are not read. */
INLINE vec vec_from_fp16_lanes(const uint8_t *from, struct lanes which, const struct eng_load *load,
                               vec outside)
{
    if (which.begin == 0 && which.end == LANES)
        return vec_from_fp16(from, load);
    return vec_from_fp16_edge(from, which.begin, which.end, load, outside);
}

INLINE __m128i fp16_of_vec(vec v, unsigned rules)
{
    __m128i half = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m128i magnitude = _mm_and_si128(half, _mm_set1_epi16(0x7fff)), infinity = _mm_set1_epi16(0x7c00);
    __m128i nan = _mm_cmpgt_epi16(magnitude, infinity), high;

    if (rules & ENG_RULE_CEILING) {
        high = _mm_cmpgt_epi16(magnitude, _mm_set1_epi16(0x77ff));
        half = _mm_blendv_epi8(half, _mm_or_si128(_mm_xor_si128(half, magnitude), infinity), high);
    }
    if (rules & ENG_RULE_NAN_IS_ZERO)
        half = _mm_andnot_si128(nan, half);
    else
        half = _mm_blendv_epi8(half, _mm_set1_epi16(0x7e00), nan);
    if (rules & ENG_RULE_NO_MINUS_ZERO)
        half = _mm_andnot_si128(_mm_cmpeq_epi16(magnitude, _mm_setzero_si128()), half);
    return rules & ENG_RULE_NO_DENORMALS ? without_denormals(half) : half;
}

INLINE void vec_to_fp16(uint8_t *to, vec v, unsigned rules)
{
    _mm_storeu_si128((void *)to, fp16_of_vec(v, rules));
}

INLINE void vec_to_fp16_part(uint8_t *to, vec v, size_t n, unsigned rules)
{
    uint16_t part[8];

    _mm_storeu_si128((void *)part, fp16_of_vec(v, rules));
    if (n & 4)
        __builtin_memcpy(to, part, 8);
    if (n & 2)
        __builtin_memcpy(to + 2 * (n & 4), part + (n & 4), 4);
    if (n & 1)
        __builtin_memcpy(to + 2 * (n & 6), part + (n & 6), 2);
}

#include "engine/kernels_body.h"
#endif
