/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops with the vector instructions that every AArch64 processor has: vectors of 4 floats. Results
 * are those of the portable set, bit for bit. The ceiling of sums comes from scaled operands (`scaled` in
 * kernels.h), so vec_mac does not compare. Parts of a vector go through a buffer, so that no byte outside the
 * line is touched. Only `make check-arm`, or an AArch64 host, compiles and tests this file.
 */
#include "engine/kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#define TARGET
#define INLINE         static inline __attribute__((always_inline))
#define KERNELS        eng_kernels_neon
#define LANES          4
#define PANEL          8
#define COLUMNS        3
#define TILE_VECTORS   4
#define TILE_PIXELS    6
#define STRIP_VECTORS  2
#define STRIP_CHANNELS 8
#define STRIP_FEW      4
#define GEMV_VECTORS   4
#define GEMV_ROWS      4
#define WINDOW_VECTORS 4
#define WINDOW_PARTS   1
#define SCALED         1

/* Output channels and vectors of tiles in the registers of winograd_products. */
#define WINOGRAD_PANEL      8
#define WINOGRAD_COLUMNS    3
#define WINOGRAD_SINGLE     8 /* output channels where there is one vector */
#define WINOGRAD_FEW        2 /* tiles that are not worth a vector of them */
#define WINOGRAD_FEW_PLANES 2

typedef float32x4_t vec;

INLINE vec vec_set(float value)
{
    return vdupq_n_f32(value);
}

INLINE vec vec_spread(const float *from)
{
    return vec_set(*from);
}

INLINE vec vec_load(const float *from)
{
    return vld1q_f32(from);
}

INLINE vec vec_load_part(const float *from, size_t n)
{
    float part[LANES] = {0};

    memcpy(part, from, n * sizeof(float));
    return vld1q_f32(part);
}

INLINE void vec_store(float *to, vec v)
{
    vst1q_f32(to, v);
}

INLINE void vec_store_part(float *to, vec v, size_t n)
{
    float part[LANES];

    vst1q_f32(part, v);
    memcpy(to, part, n * sizeof(float));
}

INLINE vec vec_add(vec a, vec b)
{
    return vaddq_f32(a, b);
}

INLINE vec vec_mul(vec a, vec b)
{
    return vmulq_f32(a, b);
}

INLINE vec vec_mac(vec sum, vec x, vec weight, vec ceiling)
{
    (void)ceiling;
    return vfmaq_f32(sum, x, weight);
}

/* a + x * y, where the product is exact. */
INLINE vec vec_add_exact(vec a, vec x, vec y)
{
    return vfmaq_f32(a, x, y);
}

INLINE vec vec_sub(vec a, vec b)
{
    return vsubq_f32(a, b);
}

INLINE vec vec_fma(vec sum, vec x, vec weight)
{
    return vfmaq_f32(sum, x, weight);
}

/* 2 * LANES floats: those at even places and those at odd ones. */
INLINE void vec_unzip(const float *from, vec *even, vec *odd)
{
    vec a = vec_load(from), b = vec_load(from + LANES);

    *even = vuzp1q_f32(a, b);
    *odd = vuzp2q_f32(a, b);
}

/* The way back. */
INLINE void vec_zip(vec even, vec odd, vec *first_half, vec *second_half)
{
    *first_half = vzip1q_f32(even, odd);
    *second_half = vzip2q_f32(even, odd);
}

/* Of 2 * LANES fp16 values, lane by lane: the larger magnitude, as bits. */
INLINE vec vec_largest_fp16(vec most, const uint8_t *fp16)
{
    uint16x8_t bits = vandq_u16(vreinterpretq_u16_u8(vld1q_u8(fp16)), vdupq_n_u16(0x7fff));

    return vreinterpretq_f32_u16(vmaxq_u16(vreinterpretq_u16_f32(most), bits));
}

INLINE vec vec_largest_fp16_part(vec most, const uint8_t *fp16, size_t n)
{
    uint8_t part[4 * LANES] = {0};

    memcpy(part, fp16, 2 * n);
    return vec_largest_fp16(most, part);
}

INLINE void vec_store_bits(uint16_t *to, vec v)
{
    vst1q_u16(to, vreinterpretq_u16_f32(v));
}

INLINE vec vec_max(vec a, vec b)
{
    return vbslq_f32(vorrq_u32(vcgtq_f32(a, b), vmvnq_u32(vceqq_f32(b, b))), a, b);
}

INLINE vec vec_min(vec a, vec b)
{
    return vbslq_f32(vorrq_u32(vcltq_f32(a, b), vmvnq_u32(vceqq_f32(b, b))), a, b);
}

/* To the range: a NaN gives the low end, and where that is 0, so does -0. */
INLINE vec vec_clamp(vec v, vec low, vec high)
{
    return vminnmq_f32(vmaxnmq_f32(v, low), high);
}

INLINE vec vec_and(vec v, uint32_t mask)
{
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(v), vdupq_n_u32(mask)));
}

/* As vec_max for two numbers; of equal ones, or with a NaN, the second. */
INLINE vec vec_larger(vec a, vec b)
{
    return vbslq_f32(vcgtq_f32(a, b), a, b);
}

/* The lanes of a from the n-th on, then the first ones of b; n is 1 to 4. */
INLINE vec vec_shift(vec a, vec b, unsigned n)
{
    switch (n) {
    case 1: return vextq_f32(a, b, 1);
    case 2: return vextq_f32(a, b, 2);
    case 3: return vextq_f32(a, b, 3);
    default: return b;
    }
}

/* Lanes 0, 2, 4 ... of a, then of b; and the others. */
INLINE vec vec_even(vec a, vec b)
{
    return vuzp1q_f32(a, b);
}

INLINE vec vec_odd(vec a, vec b)
{
    return vuzp2q_f32(a, b);
}

INLINE vec vec_relu(vec v)
{
    return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(v), vcleq_f32(v, vec_set(ENG_BELOW_ZERO))));
}

/* A NaN becomes 0. */
INLINE vec vec_number(vec v)
{
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(v), vceqq_f32(v, v)));
}

/* 1 where that is so, else 0; a NaN is neither. */
INLINE vec vec_is_zero(vec v)
{
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(vec_set(1)), vceqzq_f32(v)));
}

INLINE vec vec_is_above_zero(vec v)
{
    return vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(vec_set(1)), vcgtzq_f32(v)));
}

INLINE vec vec_first(vec v, size_t n, vec rest)
{
    static const uint32_t lane[LANES] = {0, 1, 2, 3};

    return vbslq_f32(vcltq_u32(vld1q_u32(lane), vdupq_n_u32((uint32_t)n)), v, rest);
}

INLINE vec vec_if_less(vec a, vec b, vec yes, vec no)
{
    return vbslq_f32(vcltq_f32(a, b), yes, no);
}

INLINE vec vec_if_at_most(vec a, vec b, vec yes, vec no)
{
    return vbslq_f32(vcleq_f32(a, b), yes, no);
}

/* No lane is infinite or a NaN; all lanes are inside, with the ends outside. */
INLINE bool vec_all_finite(vec v)
{
    return vminvq_u32(vcltq_f32(vabsq_f32(v), vec_set(__builtin_inff()))) != 0;
}

INLINE bool vec_all_between(vec v, vec low, vec high)
{
    return vminvq_u32(vandq_u32(vcltq_f32(low, v), vcltq_f32(v, high))) != 0;
}

/* No lane is inside, or on an end. */
INLINE bool vec_none_within(vec v, vec low, vec high)
{
    return vmaxvq_u32(vandq_u32(vcleq_f32(low, v), vcleq_f32(v, high))) == 0;
}

INLINE vec vec_floor(vec v)
{
    return vrndmq_f32(v);
}

INLINE vec vec_trunc(vec v)
{
    return vrndq_f32(v);
}

/* v = significand * 2^exponent, the significand in [1, 2), for numbers that are normal. */
INLINE vec vec_exponent(vec v)
{
    int32x4_t biased = vreinterpretq_s32_u32(vshrq_n_u32(vreinterpretq_u32_f32(vec_and(v, 0x7fffffff)), 23));

    return vcvtq_f32_s32(vsubq_s32(biased, vdupq_n_s32(127)));
}

INLINE vec vec_significand(vec v)
{
    uint32x4_t fraction = vandq_u32(vreinterpretq_u32_f32(v), vdupq_n_u32(0x7fffff));

    return vreinterpretq_f32_u32(vorrq_u32(fraction, vdupq_n_u32(0x3f800000)));
}

/* Of whole numbers from -126 to 127. */
INLINE vec vec_power_of_two(vec exponent)
{
    int32x4_t biased = vaddq_s32(vcvtq_s32_f32(exponent), vdupq_n_s32(127));

    return vreinterpretq_f32_s32(vshlq_n_s32(biased, 23));
}

typedef const float *vec_knots;

INLINE vec_knots vec_knots_of(const float from[ENG_TABLE_KNOTS])
{
    return from;
}

/* Element index[i]; whole numbers from 0 to 32. */
INLINE vec vec_knot(const vec_knots *knots, vec index)
{
    uint32_t at[LANES];
    float lane[LANES];

    vst1q_u32(at, vcvtq_u32_f32(index));
    for (unsigned i = 0; i < LANES; i++)
        lane[i] = (*knots)[at[i]];
    return vld1q_f32(lane);
}

INLINE vec vec_inner_knot(const vec_knots *knots, vec index)
{
    return vec_knot(knots, index);
}

INLINE uint16x4_t without_denormals(uint16x4_t fp16)
{
    return vand_u16(fp16, vtst_u16(fp16, vdup_n_u16(0x7c00)));
}

INLINE vec vec_of_fp16(uint16x4_t fp16, const struct eng_load *load)
{
    vec v;

    if (load->rules & ENG_RULE_NO_DENORMALS)
        fp16 = without_denormals(fp16);
    v = vcvt_f32_f16(vreinterpret_f16_u16(fp16));
    if (load->rules & ENG_RULE_NAN_IS_INFINITY)
        v = vbslq_f32(vceqq_f32(v, v), v, vec_set(__builtin_inff()));
    if (load->rules & ENG_RULE_SLICE)
        v = vec_if_at_most(vec_set(ENG_SLICE_CEILING), vec_and(v, 0x7fffffff),
                           vec_mul(v, vec_set(__builtin_inff())), v);
    if (load->rules & ENG_RULE_FINITE_INFINITY)
        v = vmaxq_f32(vminq_f32(v, vec_set(ENG_FINITE_INFINITY)), vec_set(-ENG_FINITE_INFINITY));
    return load->relu ? vec_relu(v) : v;
}

INLINE vec vec_from_fp16(const uint8_t *from, const struct eng_load *load)
{
    return vec_of_fp16(vreinterpret_u16_u8(vld1_u8(from)), load);
}

INLINE vec vec_from_fp16_part(const uint8_t *from, size_t n, const struct eng_load *load)
{
    uint8_t part[2 * LANES] = {0};

    memcpy(part, from, 2 * n);
    return vec_from_fp16(part, load);
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

/* One element in all lanes, and one element for each lane, `step` bytes apart. */
INLINE vec vec_from_fp16_one(const uint8_t *from, const struct eng_load *load)
{
    uint16_t half;

    memcpy(&half, from, sizeof(half));
    return vec_of_fp16(vdup_n_u16(half), load);
}

INLINE vec vec_from_fp16_steps(const uint8_t *from, size_t step, const struct eng_load *load)
{
    uint8_t all[2 * LANES];

    for (size_t i = 0; i < LANES; i++)
        memcpy(all + 2 * i, from + i * step, 2);
    return vec_from_fp16(all, load);
}

/* A vector of weights from one or several runs of `lanes`, `at` bytes after their first. */
INLINE vec vec_from_fp16_runs(const uint8_t *const *run, size_t at, unsigned lanes,
                              const struct eng_load *load)
{
    (void)lanes;
    return vec_from_fp16(run[0] + at, load);
}

INLINE void vec_to_fp16(uint8_t *to, vec v, unsigned rules)
{
    uint16x4_t half = vreinterpret_u16_f16(vcvt_f16_f32(v));
    uint16x4_t magnitude = vand_u16(half, vdup_n_u16(0x7fff)), infinity = vdup_n_u16(0x7c00);
    uint16x4_t nan = vcgt_u16(magnitude, infinity);

    if (rules & ENG_RULE_CEILING)
        half = vbsl_u16(vcge_u16(magnitude, vdup_n_u16(0x7800)),
                        vorr_u16(veor_u16(half, magnitude), infinity), half);
    if (rules & ENG_RULE_NAN_IS_ZERO)
        half = vbic_u16(half, nan);
    else if (!(rules & ENG_STORE_NUMBER))
        half = vbsl_u16(nan, vdup_n_u16(0x7e00), half);
    if (rules & ENG_RULE_NO_MINUS_ZERO)
        half = vand_u16(half, vtst_u16(half, vdup_n_u16(0x7fff)));
    if (rules & ENG_RULE_NO_DENORMALS)
        half = without_denormals(half);
    vst1_u8(to, vreinterpret_u8_u16(half));
}

/* Numbers, by no rule but ENG_RULE_NO_MINUS_ZERO. */
INLINE void vec_to_fp16_number(uint8_t *to, vec v, unsigned rules)
{
    uint16x4_t half = vreinterpret_u16_f16(vcvt_f16_f32(v));

    if (rules & ENG_RULE_NO_MINUS_ZERO)
        half = vand_u16(half, vtst_u16(half, vdup_n_u16(0x7fff)));
    vst1_u8(to, vreinterpret_u8_u16(half));
}

INLINE void vec_to_fp16_part(uint8_t *to, vec v, size_t n, unsigned rules)
{
    uint8_t part[2 * LANES];

    vec_to_fp16(part, v, rules);
    memcpy(to, part, 2 * n);
}

/* The first n numbers, half of the lanes at most, and zeros in the place of the others. */
INLINE void vec_to_fp16_few(uint8_t *to, vec v, size_t n)
{
    vec_to_fp16(to, vec_first(v, n, vec_set(0)), ENG_STORE_NUMBER);
}

#include "engine/kernels_lanes.h"

#include "engine/kernels_body.h"
#endif
