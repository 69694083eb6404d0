/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops with AVX-512: vectors of 16 floats. Results are those of the portable set, bit for bit:
 * where an instruction treats NaNs or zeros differently, its vec_ function corrects that. The ceiling of sums
 * comes from scaled operands (`scaled` in kernels.h), so vec_mac does not compare. Parts of a vector are
 * loaded and stored with masks, so that no byte outside the line is touched. The sizes of the register blocks
 * only change speed.
 */
#include "engine/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET         __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c"))) ENG_UNSANITIZED
#define INLINE         static inline __attribute__((always_inline)) TARGET
#define KERNELS        eng_kernels_avx512
#define LANES          16
#define PANEL          8
#define COLUMNS        3
#define TILE_VECTORS   2
#define TILE_PIXELS    14
#define STRIP_VECTORS  3
#define STRIP_CHANNELS 8
#define STRIP_FEW      8
#define GEMV_VECTORS   4
#define GEMV_ROWS      8
#define WINDOW_VECTORS 4
#define WINDOW_PARTS   2
#define SCALED         1

/* Output channels and vectors of tiles in the registers of winograd_products. */
#define WINOGRAD_PANEL      8
#define WINOGRAD_COLUMNS    3
#define WINOGRAD_SINGLE     16 /* output channels where there is one vector */
#define WINOGRAD_FEW        4  /* tiles that are not worth a vector of them */
#define WINOGRAD_FEW_PLANES 4

typedef __m512 vec;

INLINE __mmask16 first(size_t n)
{
    return (__mmask16)((1u << n) - 1);
}

INLINE vec vec_set(float value)
{
    return _mm512_set1_ps(value);
}

/* One float in all lanes of a register: several products take it from there instead of from memory. */
INLINE vec vec_spread(const float *from)
{
    vec v = _mm512_set1_ps(*from);

    __asm__("" : "+v"(v));
    return v;
}

INLINE vec vec_load(const float *from)
{
    return _mm512_loadu_ps(from);
}

/* STRIP_FEW floats. */
typedef __m256 vec_few;

INLINE vec_few few_zero(void)
{
    return _mm256_setzero_ps();
}

INLINE void few_store(float *to, vec_few v)
{
    _mm256_storeu_ps(to, v);
}

INLINE vec_few few_mac(vec_few sum, const float *x, const float *weight, float ceiling)
{
    (void)ceiling;
    return _mm256_fmadd_ps(_mm256_set1_ps(*x), _mm256_loadu_ps(weight), sum);
}

INLINE vec vec_load_part(const float *from, size_t n)
{
    return _mm512_maskz_loadu_ps(first(n), from);
}

INLINE void vec_store(float *to, vec v)
{
    _mm512_storeu_ps(to, v);
}

INLINE void vec_store_part(float *to, vec v, size_t n)
{
    _mm512_mask_storeu_ps(to, first(n), v);
}

INLINE vec vec_add(vec a, vec b)
{
    return _mm512_add_ps(a, b);
}

INLINE vec vec_mul(vec a, vec b)
{
    return _mm512_mul_ps(a, b);
}

INLINE vec vec_mac(vec sum, vec x, vec weight, vec ceiling)
{
    (void)ceiling;
    return _mm512_fmadd_ps(x, weight, sum);
}

/* a + x * y, where the product is exact. */
INLINE vec vec_add_exact(vec a, vec x, vec y)
{
    return _mm512_fmadd_ps(x, y, a);
}

INLINE vec vec_sub(vec a, vec b)
{
    return _mm512_sub_ps(a, b);
}

INLINE vec vec_fma(vec sum, vec x, vec weight)
{
    return _mm512_fmadd_ps(x, weight, sum);
}

/* 2 * LANES floats: those at even places and those at odd ones. */
INLINE void vec_unzip(const float *from, vec *even, vec *odd)
{
    __m512i at = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    vec a = vec_load(from), b = vec_load(from + LANES);

    *even = _mm512_permutex2var_ps(a, at, b);
    *odd = _mm512_permutex2var_ps(a, _mm512_add_epi32(at, _mm512_set1_epi32(1)), b);
}

/* The way back. */
INLINE void vec_zip(vec even, vec odd, vec *first_half, vec *second_half)
{
    __m512i at = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);

    *first_half = _mm512_permutex2var_ps(even, at, odd);
    *second_half = _mm512_permutex2var_ps(even, _mm512_add_epi32(at, _mm512_set1_epi32(8)), odd);
}

/* Of 2 * LANES fp16 values, lane by lane: the larger magnitude, as bits. */
INLINE vec vec_largest_fp16(vec most, const uint8_t *fp16)
{
    __m512i bits = _mm512_and_si512(_mm512_loadu_si512(fp16), _mm512_set1_epi16(0x7fff));

    return _mm512_castsi512_ps(_mm512_max_epu16(_mm512_castps_si512(most), bits));
}

INLINE vec vec_largest_fp16_part(vec most, const uint8_t *fp16, size_t n)
{
    __m512i bits = _mm512_maskz_loadu_epi16((__mmask32)((1ull << n) - 1), fp16);

    bits = _mm512_and_si512(bits, _mm512_set1_epi16(0x7fff));
    return _mm512_castsi512_ps(_mm512_max_epu16(_mm512_castps_si512(most), bits));
}

INLINE void vec_store_bits(uint16_t *to, vec v)
{
    _mm512_storeu_si512(to, _mm512_castps_si512(v));
}

/* The instruction gives the second operand when either is a NaN, and when both are zeros. */
INLINE vec vec_max(vec a, vec b)
{
    return _mm512_mask_mov_ps(_mm512_max_ps(a, b), _mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q), a);
}

INLINE vec vec_min(vec a, vec b)
{
    return _mm512_mask_mov_ps(_mm512_min_ps(a, b), _mm512_cmp_ps_mask(b, b, _CMP_UNORD_Q), a);
}

/* To the range: a NaN gives the low end, and where that is 0, so does -0. */
INLINE vec vec_clamp(vec v, vec low, vec high)
{
    return _mm512_min_ps(_mm512_max_ps(v, low), high);
}

INLINE vec vec_and(vec v, uint32_t mask)
{
    return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32((int)mask)));
}

/* As vec_max for two numbers; of equal ones, or with a NaN, the second. */
INLINE vec vec_larger(vec a, vec b)
{
    return _mm512_max_ps(a, b);
}

/* The lanes of a from the n-th on, then the first ones of b; n is 1 to 4. */
INLINE vec vec_shift(vec a, vec b, unsigned n)
{
    __m512i low = _mm512_castps_si512(a), high = _mm512_castps_si512(b);

    switch (n) {
    case 1: return _mm512_castsi512_ps(_mm512_alignr_epi32(high, low, 1));
    case 2: return _mm512_castsi512_ps(_mm512_alignr_epi32(high, low, 2));
    case 3: return _mm512_castsi512_ps(_mm512_alignr_epi32(high, low, 3));
    default: return _mm512_castsi512_ps(_mm512_alignr_epi32(high, low, 4));
    }
}

/* Not the other way round: of -0 and 0, or with a NaN, the instruction gives the second operand. */
INLINE vec vec_relu(vec v)
{
    return _mm512_max_ps(_mm512_setzero_ps(), v);
}

/* A NaN becomes 0. */
INLINE vec vec_number(vec v)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, v, _CMP_ORD_Q), v);
}

/* 1 where that is so, else 0; a NaN is neither. */
INLINE vec vec_is_zero(vec v)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_EQ_OQ), vec_set(1));
}

INLINE vec vec_is_above_zero(vec v)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_GT_OQ), vec_set(1));
}

INLINE vec vec_first(vec v, size_t n, vec rest)
{
    return _mm512_mask_mov_ps(rest, first(n), v);
}

INLINE vec vec_if_less(vec a, vec b, vec yes, vec no)
{
    return _mm512_mask_mov_ps(no, _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), yes);
}

/* Of two numbers the one of larger magnitude, and the smaller magnitude. */
INLINE vec vec_larger_magnitude(vec a, vec b)
{
    return _mm512_range_ps(a, b, 7);
}

INLINE vec vec_smaller_magnitude(vec a, vec b)
{
    return _mm512_range_ps(a, b, 10);
}

INLINE vec vec_if_at_most(vec a, vec b, vec yes, vec no)
{
    return _mm512_mask_mov_ps(no, _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ), yes);
}

/* No lane is infinite or a NaN; all lanes are inside, with the ends outside. */
INLINE bool vec_all_finite(vec v)
{
    return _mm512_fpclass_ps_mask(v, 0x99) == 0;
}

INLINE bool vec_both_finite(vec a, vec b)
{
    return _kortestz_mask16_u8(_mm512_fpclass_ps_mask(a, 0x99), _mm512_fpclass_ps_mask(b, 0x99));
}

INLINE bool vec_all_between(vec v, vec low, vec high)
{
    return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(low, v, _CMP_LT_OQ), v, high, _CMP_LT_OQ) == 0xffff;
}

/* No lane is inside, or on an end. */
INLINE bool vec_none_within(vec v, vec low, vec high)
{
    return _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(low, v, _CMP_LE_OQ), v, high, _CMP_LE_OQ) == 0;
}

INLINE vec vec_floor(vec v)
{
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

INLINE vec vec_trunc(vec v)
{
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}

/* v = significand * 2^exponent, the significand in [1, 2), for numbers that are normal. */
INLINE vec vec_exponent(vec v)
{
    __m512i biased = _mm512_srli_epi32(_mm512_castps_si512(vec_and(v, 0x7fffffff)), 23);

    return _mm512_cvtepi32_ps(_mm512_sub_epi32(biased, _mm512_set1_epi32(127)));
}

INLINE vec vec_significand(vec v)
{
    return _mm512_or_ps(vec_and(v, 0x7fffff), vec_set(1));
}

/* Of whole numbers from -126 to 127. */
INLINE vec vec_power_of_two(vec exponent)
{
    __m512i biased = _mm512_add_epi32(_mm512_cvtps_epi32(exponent), _mm512_set1_epi32(127));

    return _mm512_castsi512_ps(_mm512_slli_epi32(biased, 23));
}

/* A table of 33 values in registers. */
typedef struct {
    vec low, high, last;
} vec_knots;

INLINE vec_knots vec_knots_of(const float from[ENG_TABLE_KNOTS])
{
    return (vec_knots){vec_load(from), vec_load(from + LANES), vec_set(from[2 * LANES])};
}

/* Element index[i]; whole numbers from 0 to 31. */
INLINE vec vec_inner_knot(const vec_knots *knots, vec index)
{
    return _mm512_permutex2var_ps(knots->low, _mm512_cvtps_epi32(index), knots->high);
}

/* Element index[i]; whole numbers from 0 to 32. */
INLINE vec vec_knot(const vec_knots *knots, vec index)
{
    __m512i at = _mm512_cvtps_epi32(index);
    vec v = _mm512_permutex2var_ps(knots->low, at, knots->high);

    return _mm512_mask_mov_ps(v, _mm512_test_epi32_mask(at, _mm512_set1_epi32(2 * LANES)), knots->last);
}

/*
 * The spot of x among knots that are 1 / scale apart, the first one at place / scale: a number whose lowest
 * bits are the knot's. For spots from 0 to 31; adding 1.5 * 2^23 with rounding down leaves no fraction.
 */
#define SPOT_ZERO 0x1.8p23f

INLINE vec vec_spot_base(float place)
{
    return vec_set(SPOT_ZERO - place);
}

INLINE vec vec_spot(vec x, vec scale, vec base)
{
    return _mm512_fmadd_round_ps(x, scale, base, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
}

/* x * scale less its floor: exact, as scale is a power of two. */
INLINE vec vec_spot_way(vec x, vec scale, vec base, vec spot)
{
    return _mm512_fmsub_ps(x, scale, vec_sub(spot, base));
}

/* The remainder by 32 of any spot: the lowest five bits are all that vec_spot_knot takes. */
INLINE vec vec_spot_wrap(vec spot)
{
    return spot;
}

INLINE vec vec_spot_knot(const vec_knots *knots, vec spot)
{
    return _mm512_permutex2var_ps(knots->low, _mm512_castps_si512(spot), knots->high);
}

/* y times 2 to the floor of x, which is above -126 and below 128. */
INLINE vec vec_times_power(vec y, vec x)
{
    return _mm512_scalef_ps(y, x);
}

/* y with its sign changed where that of `sign` is set. */
INLINE vec vec_sign_of(vec y, vec sign)
{
    __m512i bits = _mm512_set1_epi32((int)0x80000000);

    /* y ^ (sign & bits) */
    return _mm512_castsi512_ps(
        _mm512_ternarylogic_epi32(_mm512_castps_si512(y), _mm512_castps_si512(sign), bits, 0x78));
}

INLINE vec with_rules(vec v, unsigned rules)
{
    if (rules & ENG_RULE_NAN_IS_INFINITY)
        v = _mm512_min_ps(v, vec_set(__builtin_inff()));
    if (rules & ENG_RULE_SLICE)
        v = vec_if_at_most(vec_set(ENG_SLICE_CEILING), vec_and(v, 0x7fffffff),
                           _mm512_mul_ps(v, vec_set(__builtin_inff())), v);
    if (rules & ENG_RULE_FINITE_INFINITY)
        v = _mm512_max_ps(vec_set(-ENG_FINITE_INFINITY), _mm512_min_ps(vec_set(ENG_FINITE_INFINITY), v));
    return v;
}

/*
 * The exponent's bits of fp16. The compiler does not see the constant, which it would make again and again.
 */
INLINE __m256i exponents(void)
{
    __m256i bits = _mm256_set1_epi16(0x7c00);

    __asm__("" : "+v"(bits));
    return bits;
}

INLINE vec vec_of_fp16(__m256i fp16, const struct eng_load *load)
{
    __mmask16 kept = 0xffff;
    vec v;

    if (load->rules & ENG_RULE_NO_DENORMALS)
        kept = _mm256_test_epi16_mask(fp16, exponents());
    v = _mm512_maskz_cvtph_ps(kept, fp16);
    /* The minimum of a NaN and the second operand is the second operand. */
    if ((load->rules & ENG_RULES_INFINITY) == ENG_RULES_FINITE)
        v = _mm512_max_ps(vec_set(-ENG_FINITE_INFINITY), _mm512_min_ps(v, vec_set(ENG_FINITE_INFINITY)));
    else
        v = with_rules(v, load->rules);
    return load->relu ? vec_relu(v) : v;
}

INLINE vec vec_from_fp16(const uint8_t *from, const struct eng_load *load)
{
    return vec_of_fp16(_mm256_loadu_si256((const void *)from), load);
}

/* Lanes 0, 2, 4 ... of a, then of b; and the others. */
INLINE vec vec_even(vec a, vec b)
{
    return _mm512_permutex2var_ps(
        a, _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30), b);
}

INLINE vec vec_odd(vec a, vec b)
{
    return _mm512_permutex2var_ps(
        a, _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31), b);
}

INLINE vec vec_from_fp16_part(const uint8_t *from, size_t n, const struct eng_load *load)
{
    return vec_of_fp16(_mm256_maskz_loadu_epi16(first(n), from), load);
}

/* Half of the lanes at most, which are converted in half the time; the others are 0. */
INLINE vec vec_from_fp16_few(const uint8_t *from, size_t n, const struct eng_load *load)
{
    if (load->rules || load->relu)
        return vec_from_fp16_part(from, n, load);
    return _mm512_zextps256_ps512(_mm256_cvtph_ps(_mm_maskz_loadu_epi16((__mmask8)first(n), from)));
}

#include "engine/kernels_avx512_halves.h"
#include "engine/kernels_avx512_load.h"

/* Two floats, each in half of the lanes. */
INLINE vec vec_of_two(const float *from)
{
    return _mm512_mask_mov_ps(vec_set(from[0]), 0xff00, vec_set(from[1]));
}

#define SUM_RULES (ENG_RULE_NAN_IS_ZERO | ENG_RULE_NO_MINUS_ZERO | ENG_RULE_NO_DENORMALS | ENG_RULE_CEILING)

/* The rules of sums. */
INLINE __m256i fp16_of_sum(vec v)
{
    __m256i half = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256i sign = bits_of(BITS_SIGN), infinity = bits_of(BITS_EXPONENT);
    __m256i magnitude = _mm256_andnot_si256(sign, half);
    __m256i high = _mm256_cmpgt_epi16(magnitude, bits_of(BITS_BELOW_CEILING));
    __m256i none = _mm256_or_si256(_mm256_cmpgt_epi16(magnitude, infinity),
                                   _mm256_cmpgt_epi16(bits_of(BITS_NORMAL), magnitude));

    half = _mm256_blendv_epi8(half, _mm256_or_si256(_mm256_and_si256(half, sign), infinity), high);
    return _mm256_andnot_si256(none, half);
}

INLINE __m256i fp16_of_vec(vec v, unsigned rules)
{
    __m256i half, magnitude, infinity = _mm256_set1_epi16(0x7c00);
    __mmask16 number = _mm512_cmp_ps_mask(v, v, _CMP_ORD_Q);

    if ((rules & SUM_RULES) == SUM_RULES)
        return fp16_of_sum(v);
    if (rules & ENG_STORE_NUMBER)
        half = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    else
        half = _mm512_maskz_cvtps_ph(number, v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    if (!(rules & (ENG_RULE_NAN_IS_ZERO | ENG_STORE_NUMBER)))
        half = _mm256_mask_mov_epi16(_mm256_set1_epi16(0x7e00), number, half);
    if (rules & ENG_RULE_NO_MINUS_ZERO && !(rules & ENG_RULE_NO_DENORMALS))
        half = _mm256_maskz_mov_epi16(_mm256_test_epi16_mask(half, _mm256_set1_epi16(0x7fff)), half);
    if (rules & ENG_RULE_NO_DENORMALS)
        half = _mm256_maskz_mov_epi16(_mm256_test_epi16_mask(half, infinity), half);
    if (rules & ENG_RULE_CEILING) {
        magnitude = _mm256_and_si256(half, _mm256_set1_epi16(0x7fff));
        half = _mm256_mask_mov_epi16(half, _mm256_cmpge_epu16_mask(magnitude, _mm256_set1_epi16(0x7800)),
                                     _mm256_or_si256(_mm256_xor_si256(half, magnitude), infinity));
    }
    return half;
}

INLINE void vec_to_fp16(uint8_t *to, vec v, unsigned rules)
{
    _mm256_storeu_si256((void *)to, fp16_of_vec(v, rules));
}

/* Numbers, by no rule but ENG_RULE_NO_MINUS_ZERO. */
INLINE void vec_to_fp16_number(uint8_t *to, vec v, unsigned rules)
{
    __m256i half = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);

    if (rules & ENG_RULE_NO_MINUS_ZERO)
        half = _mm256_maskz_mov_epi16(_mm256_test_epi16_mask(half, _mm256_set1_epi16(0x7fff)), half);
    _mm256_storeu_si256((void *)to, half);
}

/*
 * Numbers below the ceiling, by the rules of sums: those of two vectors in turn. The first n; zeros in the
 * place of the others.
 */
INLINE halves halves_of_sums(vec even, vec odd, size_t n, bool relu)
{
    static const uint16_t order[2 * LANES] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                              8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    __m256i low = _mm512_cvtps_ph(even, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256i high = _mm512_cvtps_ph(odd, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512i v = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    __mmask32 kept;

    v = _mm512_permutexvar_epi16(_mm512_loadu_si512(order), v);
    kept = _mm512_mask_test_epi16_mask((__mmask32)((1ull << n) - 1), v, _mm512_set1_epi16(0x7c00));
    if (relu)
        v = _mm512_max_epi16(v, _mm512_setzero_si512());
    return (halves)_mm512_maskz_mov_epi16(kept, v);
}

/* Two vectors of sums, one after the other, by the rules of sums. */
INLINE void vec_to_fp16_sums(uint8_t *to, vec a, vec b, bool relu)
{
    const __m512i infinity = _mm512_set1_epi16(0x7c00), sign = _mm512_set1_epi16((int16_t)0x8000);
    __m256i low = _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256i high = _mm512_cvtps_ph(b, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512i v = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    __m512i magnitude = _mm512_andnot_si512(sign, v);
    __mmask32 kept = _mm512_mask_cmple_epu16_mask(_mm512_test_epi16_mask(v, infinity), magnitude, infinity);
    __mmask32 above = _mm512_cmpgt_epu16_mask(magnitude, _mm512_set1_epi16(0x77ff));

    /* The sign and all bits of infinity. */
    v = _mm512_mask_mov_epi16(v, above, _mm512_ternarylogic_epi32(v, sign, infinity, 0xea));
    if (relu)
        v = _mm512_max_epi16(v, _mm512_setzero_si512());
    _mm512_storeu_si512(to, _mm512_maskz_mov_epi16(kept, v));
}

INLINE void vec_to_fp16_part(uint8_t *to, vec v, size_t n, unsigned rules)
{
    _mm256_mask_storeu_epi16(to, first(n), fp16_of_vec(v, rules));
}

/* The first n numbers, half of the lanes at most, and zeros in the place of the others. */
INLINE void vec_to_fp16_few(uint8_t *to, vec v, size_t n)
{
    __m128i half = _mm256_maskz_cvtps_ph((__mmask8)first(n), _mm512_castps512_ps256(v),
                                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);

    _mm256_storeu_si256((void *)to, _mm256_zextsi128_si256(half));
}

#include "engine/kernels_body.h"
#endif
