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

#define TARGET         __attribute__((target("avx2,fma,f16c"))) ENG_UNSANITIZED
#define INLINE         static inline __attribute__((always_inline)) TARGET
#define KERNELS        eng_kernels_avx2
#define LANES          8
#define PANEL          4
#define COLUMNS        3
#define TILE_VECTORS   2
#define TILE_PIXELS    6
#define STRIP_VECTORS  2
#define STRIP_CHANNELS 4
#define STRIP_FEW      4
#define GEMV_VECTORS   2
#define GEMV_ROWS      4
#define WINDOW_VECTORS 2
#define WINDOW_PARTS   1
#define SCALED         1

/* Output channels and vectors of tiles in the registers of winograd_products. */
#define WINOGRAD_PANEL      4
#define WINOGRAD_COLUMNS    3
#define WINOGRAD_SINGLE     4 /* output channels where there is one vector */
#define WINOGRAD_FEW        2 /* tiles that are not worth a vector of them */
#define WINOGRAD_FEW_PLANES 2

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

INLINE vec vec_spread(const float *from)
{
    return vec_set(*from);
}

INLINE vec vec_load(const float *from)
{
    return _mm256_loadu_ps(from);
}

/* STRIP_FEW floats. */
typedef __m128 vec_few;

INLINE vec_few few_zero(void)
{
    return _mm_setzero_ps();
}

INLINE void few_store(float *to, vec_few v)
{
    _mm_storeu_ps(to, v);
}

INLINE vec_few few_mac(vec_few sum, const float *x, const float *weight, float ceiling)
{
    (void)ceiling;
    return _mm_fmadd_ps(_mm_set1_ps(*x), _mm_loadu_ps(weight), sum);
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

/* a + x * y, where the product is exact. */
INLINE vec vec_add_exact(vec a, vec x, vec y)
{
    return _mm256_fmadd_ps(x, y, a);
}

INLINE vec vec_sub(vec a, vec b)
{
    return _mm256_sub_ps(a, b);
}

INLINE vec vec_fma(vec sum, vec x, vec weight)
{
    return _mm256_fmadd_ps(x, weight, sum);
}

/* The middle quarters of a vector change places. */
INLINE vec vec_cross(vec v)
{
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8));
}

/* 2 * LANES floats: those at even places and those at odd ones. */
INLINE void vec_unzip(const float *from, vec *even, vec *odd)
{
    vec a = vec_load(from), b = vec_load(from + LANES);

    *even = vec_cross(_mm256_shuffle_ps(a, b, 0x88));
    *odd = vec_cross(_mm256_shuffle_ps(a, b, 0xdd));
}

/* The way back. */
INLINE void vec_zip(vec even, vec odd, vec *first_half, vec *second_half)
{
    vec a = vec_cross(even), b = vec_cross(odd);

    *first_half = _mm256_unpacklo_ps(a, b);
    *second_half = _mm256_unpackhi_ps(a, b);
}

/* Of 2 * LANES fp16 values, lane by lane: the larger magnitude, as bits. */
INLINE vec vec_largest_fp16(vec most, const uint8_t *fp16)
{
    __m256i bits = _mm256_and_si256(_mm256_loadu_si256((const void *)fp16), _mm256_set1_epi16(0x7fff));

    return _mm256_castsi256_ps(_mm256_max_epu16(_mm256_castps_si256(most), bits));
}

INLINE vec vec_largest_fp16_part(vec most, const uint8_t *fp16, size_t n)
{
    uint8_t part[4 * LANES] = {0};

    __builtin_memcpy(part, fp16, 2 * n);
    return vec_largest_fp16(most, part);
}

INLINE void vec_store_bits(uint16_t *to, vec v)
{
    _mm256_storeu_si256((void *)to, _mm256_castps_si256(v));
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

/* To the range: a NaN gives the low end, and where that is 0, so does -0. */
INLINE vec vec_clamp(vec v, vec low, vec high)
{
    return _mm256_min_ps(_mm256_max_ps(v, low), high);
}

INLINE vec vec_and(vec v, uint32_t mask)
{
    return _mm256_and_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32((int)mask)));
}

/* As vec_max for two numbers; of equal ones, or with a NaN, the second. */
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

/* No lane is infinite or a NaN; all lanes are inside, with the ends outside. */
INLINE bool vec_all_finite(vec v)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(vec_and(v, 0x7fffffff), vec_set(__builtin_inff()), _CMP_LT_OQ)) ==
           0xff;
}

INLINE bool vec_all_between(vec v, vec low, vec high)
{
    return _mm256_movemask_ps(
               _mm256_and_ps(_mm256_cmp_ps(low, v, _CMP_LT_OQ), _mm256_cmp_ps(v, high, _CMP_LT_OQ))) == 0xff;
}

/* No lane is inside, or on an end. */
INLINE bool vec_none_within(vec v, vec low, vec high)
{
    return _mm256_movemask_ps(
               _mm256_and_ps(_mm256_cmp_ps(low, v, _CMP_LE_OQ), _mm256_cmp_ps(v, high, _CMP_LE_OQ))) == 0;
}

INLINE vec vec_floor(vec v)
{
    return _mm256_floor_ps(v);
}

INLINE vec vec_trunc(vec v)
{
    return _mm256_round_ps(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
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

typedef const float *vec_knots;

INLINE vec_knots vec_knots_of(const float from[ENG_TABLE_KNOTS])
{
    return from;
}

/* Element index[i]; whole numbers from 0 to 32. */
INLINE vec vec_knot(const vec_knots *knots, vec index)
{
    return _mm256_i32gather_ps(*knots, _mm256_cvtps_epi32(index), 4);
}

INLINE vec vec_inner_knot(const vec_knots *knots, vec index)
{
    return vec_knot(knots, index);
}

INLINE __m128i without_denormals(__m128i fp16)
{
    __m128i exponent = _mm_and_si128(fp16, _mm_set1_epi16(0x7c00));

    return _mm_andnot_si128(_mm_cmpeq_epi16(exponent, _mm_setzero_si128()), fp16);
}

INLINE vec with_rules(vec v, unsigned rules)
{
    if (rules & ENG_RULE_NAN_IS_INFINITY)
        v = _mm256_min_ps(v, vec_set(__builtin_inff()));
    if (rules & ENG_RULE_SLICE)
        v = vec_if_at_most(vec_set(ENG_SLICE_CEILING), vec_and(v, 0x7fffffff),
                           _mm256_mul_ps(v, vec_set(__builtin_inff())), v);
    if (rules & ENG_RULE_FINITE_INFINITY)
        v = _mm256_max_ps(vec_set(-ENG_FINITE_INFINITY), _mm256_min_ps(vec_set(ENG_FINITE_INFINITY), v));
    return v;
}

INLINE vec vec_of_fp16(__m128i fp16, const struct eng_load *load)
{
    vec v;

    if (load->rules & ENG_RULE_NO_DENORMALS)
        fp16 = without_denormals(fp16);
    v = _mm256_cvtph_ps(fp16);
    /* The minimum of a NaN and the second operand is the second operand. */
    if ((load->rules & ENG_RULES_INFINITY) == ENG_RULES_FINITE)
        v = _mm256_max_ps(vec_set(-ENG_FINITE_INFINITY), _mm256_min_ps(v, vec_set(ENG_FINITE_INFINITY)));
    else
        v = with_rules(v, load->rules);
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

/* fp16 values as bits, and parts of a vector of them, the others 0. */
#define HALVES (2 * LANES)

typedef uint16_t halves __attribute__((vector_size(2 * HALVES)));

INLINE halves halves_load_part(const uint8_t *from, size_t n)
{
    halves v = {0};

    for (size_t i = 0; i < n; i++) {
        uint16_t half;

        __builtin_memcpy(&half, from + 2 * i, sizeof(half));
        v[i] = half;
    }
    return v;
}

INLINE void halves_store_part(uint8_t *to, halves v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t half = v[i];

        __builtin_memcpy(to + 2 * i, &half, sizeof(half));
    }
}

INLINE short half_at(const uint8_t *from)
{
    short half;

    __builtin_memcpy(&half, from, sizeof(half));
    return half;
}

/* One element in all lanes, and one element for each lane, `step` bytes apart. */
INLINE vec vec_from_fp16_one(const uint8_t *from, const struct eng_load *load)
{
    return vec_of_fp16(_mm_set1_epi16(half_at(from)), load);
}

INLINE vec vec_from_fp16_steps(const uint8_t *from, size_t step, const struct eng_load *load)
{
    return vec_of_fp16(_mm_setr_epi16(half_at(from), half_at(from + step), half_at(from + 2 * step),
                                      half_at(from + 3 * step), half_at(from + 4 * step),
                                      half_at(from + 5 * step), half_at(from + 6 * step),
                                      half_at(from + 7 * step)),
                       load);
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
    else if (!(rules & ENG_STORE_NUMBER))
        half = _mm_blendv_epi8(half, _mm_set1_epi16(0x7e00), nan);
    if (rules & ENG_RULE_NO_MINUS_ZERO)
        half = _mm_andnot_si128(_mm_cmpeq_epi16(magnitude, _mm_setzero_si128()), half);
    return rules & ENG_RULE_NO_DENORMALS ? without_denormals(half) : half;
}

INLINE void vec_to_fp16(uint8_t *to, vec v, unsigned rules)
{
    _mm_storeu_si128((void *)to, fp16_of_vec(v, rules));
}

/* Numbers, by no rule but ENG_RULE_NO_MINUS_ZERO. */
INLINE void vec_to_fp16_number(uint8_t *to, vec v, unsigned rules)
{
    __m128i half = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);

    if (rules & ENG_RULE_NO_MINUS_ZERO)
        half = _mm_andnot_si128(_mm_cmpeq_epi16(half, _mm_set1_epi16((short)0x8000)), half);
    _mm_storeu_si128((void *)to, half);
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

/* The first n numbers, half of the lanes at most, and zeros in the place of the others. */
INLINE void vec_to_fp16_few(uint8_t *to, vec v, size_t n)
{
    vec_to_fp16(to, vec_first(v, n, vec_set(0)), ENG_STORE_NUMBER);
}

#include "engine/kernels_lanes.h"

#include "engine/kernels_body.h"
#endif
