/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops in plain C, with vectors of 4 floats by the compiler's vector extension; and the choice
 * between the sets. This set defines the vec_ functions; tests compare every set with the reference, bit for
 * bit. It is the only one whose vec_mac compares with the ceiling. Conversions call the functions of
 * numerics.h for each element, so the rules have no second copy here.
 */
#include "engine/kernels.h"

#include <math.h>
#include <string.h>

#include "engine/compute.h"
#include "engine/half.h"

#define TARGET
#define INLINE         static inline __attribute__((always_inline))
#define KERNELS        eng_kernels_portable
#define LANES          4
#define PANEL          4
#define COLUMNS        2
#define TILE_VECTORS   2
#define TILE_PIXELS    6
#define STRIP_VECTORS  2
#define STRIP_CHANNELS 4
#define STRIP_FEW      4
#define GEMV_VECTORS   2
#define GEMV_ROWS      4
#define WINDOW_VECTORS 2
#define WINDOW_PARTS   1
#define SCALED         0

/* Output channels and vectors of tiles in the registers of winograd_products. */
#define WINOGRAD_PANEL      4
#define WINOGRAD_COLUMNS    2
#define WINOGRAD_SINGLE     4 /* output channels where there is one vector */
#define WINOGRAD_FEW        2 /* tiles that are not worth a vector of them */
#define WINOGRAD_FEW_PLANES 2

typedef float vec __attribute__((vector_size(16)));
typedef int32_t mask __attribute__((vector_size(16)));

INLINE vec vec_set(float value)
{
    return (vec){value, value, value, value};
}

INLINE vec vec_spread(const float *from)
{
    return vec_set(*from);
}

INLINE vec vec_load(const float *from)
{
    vec v;

    memcpy(&v, from, sizeof(v));
    return v;
}

INLINE vec vec_load_part(const float *from, size_t n)
{
    vec v = vec_set(0);

    memcpy(&v, from, n * sizeof(float));
    return v;
}

INLINE void vec_store(float *to, vec v)
{
    memcpy(to, &v, sizeof(v));
}

INLINE void vec_store_part(float *to, vec v, size_t n)
{
    memcpy(to, &v, n * sizeof(float));
}

/* Lane by lane: yes where the mask is all ones. */
INLINE vec vec_choose(mask choice, vec yes, vec no)
{
    return (vec)((choice & (mask)yes) | (~choice & (mask)no));
}

INLINE vec vec_and(vec v, uint32_t bits)
{
    int32_t lane = (int32_t)bits;

    return (vec)((mask)v & (mask){lane, lane, lane, lane});
}

INLINE vec vec_add(vec a, vec b)
{
    return a + b;
}

INLINE vec vec_mul(vec a, vec b)
{
    return a * b;
}

/*
 * The product of two fp16 values has 22 bits and is exact in fp32, so multiplying and then adding rounds
 * once, as a fused multiply-add would.
 */
INLINE vec vec_mac(vec sum, vec x, vec weight, vec ceiling)
{
    vec infinity = vec_set(INFINITY);

    sum = sum + x * weight;
    return vec_choose(vec_and(sum, 0x7fffffff) >= ceiling,
                      (vec)((mask)infinity | ((mask)sum & (mask)vec_set(-0.0f))), sum);
}

/* a + x * y, where the product is exact. */
INLINE vec vec_add_exact(vec a, vec x, vec y)
{
    return a + x * y;
}

INLINE vec vec_sub(vec a, vec b)
{
    return a - b;
}

/* Rounded once: these products may have 48 bits. */
INLINE vec vec_fma(vec sum, vec x, vec weight)
{
    for (unsigned i = 0; i < LANES; i++)
        sum[i] = fmaf(x[i], weight[i], sum[i]);
    return sum;
}

/* 2 * LANES floats: those at even places and those at odd ones. */
INLINE void vec_unzip(const float *from, vec *even, vec *odd)
{
    *even = (vec){from[0], from[2], from[4], from[6]};
    *odd = (vec){from[1], from[3], from[5], from[7]};
}

/* The way back. */
INLINE void vec_zip(vec even, vec odd, vec *first_half, vec *second_half)
{
    *first_half = (vec){even[0], odd[0], even[1], odd[1]};
    *second_half = (vec){even[2], odd[2], even[3], odd[3]};
}

/* Of 2 * LANES fp16 values, lane by lane: the larger magnitude, as bits. */
INLINE vec vec_largest_fp16(vec most, const uint8_t *fp16)
{
    uint16_t lane[2 * LANES], bits[2 * LANES];

    memcpy(lane, &most, sizeof(lane));
    memcpy(bits, fp16, sizeof(bits));
    for (unsigned i = 0; i < 2 * LANES; i++) {
        bits[i] &= ENG_HALF_MAGNITUDE;
        lane[i] = bits[i] > lane[i] ? bits[i] : lane[i];
    }
    memcpy(&most, lane, sizeof(most));
    return most;
}

INLINE vec vec_largest_fp16_part(vec most, const uint8_t *fp16, size_t n)
{
    uint8_t part[4 * LANES] = {0};

    memcpy(part, fp16, 2 * n);
    return vec_largest_fp16(most, part);
}

INLINE void vec_store_bits(uint16_t *to, vec v)
{
    memcpy(to, &v, sizeof(v));
}

INLINE vec vec_max(vec a, vec b)
{
    return vec_choose((a > b) | (b != b), a, b);
}

INLINE vec vec_min(vec a, vec b)
{
    return vec_choose((a < b) | (b != b), a, b);
}

/* To the range: a NaN gives the low end, and where that is 0, so does -0. */
INLINE vec vec_clamp(vec v, vec low, vec high)
{
    return vec_min(vec_max(v, low), high);
}

/* As vec_max for two numbers; of equal ones, or with a NaN, the second. */
INLINE vec vec_larger(vec a, vec b)
{
    return vec_choose(a > b, a, b);
}

/* The lanes of a from the n-th on, then the first ones of b; n is 1 to 4. */
INLINE vec vec_shift(vec a, vec b, unsigned n)
{
    switch (n) {
    case 1: return (vec){a[1], a[2], a[3], b[0]};
    case 2: return (vec){a[2], a[3], b[0], b[1]};
    case 3: return (vec){a[3], b[0], b[1], b[2]};
    default: return b;
    }
}

/* Lanes 0, 2, 4 ... of a, then of b; and the others. */
INLINE vec vec_even(vec a, vec b)
{
    return (vec){a[0], a[2], b[0], b[2]};
}

INLINE vec vec_odd(vec a, vec b)
{
    return (vec){a[1], a[3], b[1], b[3]};
}

INLINE vec vec_relu(vec v)
{
    return (vec)((mask)v & ~(v <= vec_set(ENG_BELOW_ZERO)));
}

/* A NaN becomes 0. */
INLINE vec vec_number(vec v)
{
    return (vec)((mask)v & (v == v));
}

/* 1 where that is so, else 0; a NaN is neither. */
INLINE vec vec_is_zero(vec v)
{
    return (vec)((mask)vec_set(1) & (v == vec_set(0)));
}

INLINE vec vec_is_above_zero(vec v)
{
    return (vec)((mask)vec_set(1) & (v > vec_set(0)));
}

INLINE vec vec_first(vec v, size_t n, vec rest)
{
    int32_t k = (int32_t)n;

    return vec_choose((mask){0, 1, 2, 3} < (mask){k, k, k, k}, v, rest);
}

INLINE vec vec_if_less(vec a, vec b, vec yes, vec no)
{
    return vec_choose(a < b, yes, no);
}

INLINE vec vec_if_at_most(vec a, vec b, vec yes, vec no)
{
    return vec_choose(a <= b, yes, no);
}

INLINE bool mask_is_full(mask choice)
{
    return choice[0] & choice[1] & choice[2] & choice[3];
}

/* No lane is infinite or a NaN; all lanes are inside, with the ends outside. */
INLINE bool vec_all_finite(vec v)
{
    return mask_is_full(vec_and(v, 0x7fffffff) < vec_set(INFINITY));
}

INLINE bool vec_all_between(vec v, vec low, vec high)
{
    return mask_is_full((low < v) & (v < high));
}

/* No lane is inside, or on an end. */
INLINE bool vec_none_within(vec v, vec low, vec high)
{
    return mask_is_full(~((low <= v) & (v <= high)));
}

INLINE vec vec_floor(vec v)
{
    for (unsigned i = 0; i < LANES; i++)
        v[i] = floorf(v[i]);
    return v;
}

/* Numbers from 2^23 on are whole. */
INLINE vec vec_trunc(vec v)
{
    mask small = vec_and(v, 0x7fffffff) < vec_set(0x1p23f);
    mask whole = __builtin_convertvector((vec)((mask)v & small), mask);

    return vec_choose(small, __builtin_convertvector(whole, vec), v);
}

/* v = significand * 2^exponent, the significand in [1, 2), for numbers that are normal. */
INLINE vec vec_exponent(vec v)
{
    return __builtin_convertvector(((mask)v >> 23 & 0xff) - 127, vec);
}

INLINE vec vec_significand(vec v)
{
    return (vec)(((mask)v & 0x7fffff) | 0x3f800000);
}

/* Of whole numbers from -126 to 127. */
INLINE vec vec_power_of_two(vec exponent)
{
    return (vec)((__builtin_convertvector(exponent, mask) + 127) << 23);
}

typedef const float *vec_knots;

INLINE vec_knots vec_knots_of(const float from[ENG_TABLE_KNOTS])
{
    return from;
}

/* Element index[i]; whole numbers from 0 to 32. */
INLINE vec vec_knot(const vec_knots *knots, vec index)
{
    for (unsigned i = 0; i < LANES; i++)
        index[i] = (*knots)[(unsigned)index[i]];
    return index;
}

INLINE vec vec_inner_knot(const vec_knots *knots, vec index)
{
    return vec_knot(knots, index);
}

INLINE vec vec_from_fp16_part(const uint8_t *from, size_t n, const struct eng_load *load)
{
    vec v = vec_set(0);

    for (size_t i = 0; i < n; i++) {
        uint16_t half;

        memcpy(&half, from + 2 * i, sizeof(half));
        v[i] = eng_load_value(half, load->rules);
    }
    return load->relu ? vec_relu(v) : v;
}

INLINE vec vec_from_fp16(const uint8_t *from, const struct eng_load *load)
{
    return vec_from_fp16_part(from, LANES, load);
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
INLINE vec vec_from_fp16_steps(const uint8_t *from, size_t step, const struct eng_load *load)
{
    uint8_t all[2 * LANES];

    for (size_t i = 0; i < LANES; i++)
        memcpy(all + 2 * i, from + i * step, 2);
    return vec_from_fp16(all, load);
}

INLINE vec vec_from_fp16_one(const uint8_t *from, const struct eng_load *load)
{
    return vec_from_fp16_steps(from, 0, load);
}

/* A vector of weights from one or several runs of `lanes`, `at` bytes after their first. */
INLINE vec vec_from_fp16_runs(const uint8_t *const *run, size_t at, unsigned lanes,
                              const struct eng_load *load)
{
    (void)lanes;
    return vec_from_fp16(run[0] + at, load);
}

INLINE void vec_to_fp16_part(uint8_t *to, vec v, size_t n, unsigned rules)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t half = eng_store_value(v[i], rules);

        memcpy(to + 2 * i, &half, sizeof(half));
    }
}

INLINE void vec_to_fp16(uint8_t *to, vec v, unsigned rules)
{
    vec_to_fp16_part(to, v, LANES, rules);
}

/* Numbers, by no rule but ENG_RULE_NO_MINUS_ZERO. */
INLINE void vec_to_fp16_number(uint8_t *to, vec v, unsigned rules)
{
    vec_to_fp16(to, v, rules);
}

/* The first n numbers, half of the lanes at most, and zeros in the place of the others. */
INLINE void vec_to_fp16_few(uint8_t *to, vec v, size_t n)
{
    vec_to_fp16(to, vec_first(v, n, vec_set(0)), ENG_STORE_NUMBER);
}

#include "engine/kernels_lanes.h"

#include "engine/kernels_body.h"

const struct eng_kernels *eng_kernels_get(void)
{
#if defined(__x86_64__)
    switch (eng_isa_get()) {
    case ENG_ISA_AVX512: return &eng_kernels_avx512;
    case ENG_ISA_AVX2: return &eng_kernels_avx2;
    case ENG_ISA_PORTABLE: break;
    }
#elif defined(__aarch64__)
    if (eng_isa_get() == ENG_ISA_NEON)
        return &eng_kernels_neon;
#endif
    return &eng_kernels_portable;
}
