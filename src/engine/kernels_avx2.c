/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops with AVX2, FMA and F16C: vectors of 8 floats. */
#include "engine/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2,fma,f16c")))
#define INLINE static inline __attribute__((always_inline)) TARGET
#define KERNELS eng_kernels_avx2
#define LANES 8
#define PANEL 4
#define COLUMNS 3
#define WIDE_VECTORS 8
#define SCALED 1

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

INLINE vec vec_cut(vec v, vec floor)
{
    return _mm256_andnot_ps(_mm256_cmp_ps(v, floor, _CMP_LT_OQ), v);
}

INLINE vec vec_first(vec v, size_t n, vec rest)
{
    return _mm256_blendv_ps(rest, v, _mm256_castsi256_ps(first(n)));
}

INLINE vec vec_of_halfs(__m128i halfs, const struct eng_load *load)
{
    vec v = _mm256_cvtph_ps(halfs);

    v = _mm256_blendv_ps(v, vec_set(load->nan), _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    v = _mm256_andnot_ps(_mm256_cmp_ps(vec_and(v, 0x7fffffff), vec_set(load->tiny), _CMP_LT_OQ), v);
    return vec_mul(vec_cut(v, vec_set(load->floor)), vec_set(load->scale));
}

INLINE vec vec_from_halfs(const uint8_t *from, const struct eng_load *load)
{
    return vec_of_halfs(_mm_loadu_si128((const void *)from), load);
}

/* n < 8. In pieces of 4, 2 and 1: a copy of variable length would cost a call. */
INLINE vec vec_from_halfs_part(const uint8_t *from, size_t n, const struct eng_load *load)
{
    uint16_t part[8] = {0};

    if (n & 4)
        __builtin_memcpy(part, from, 8);
    if (n & 2)
        __builtin_memcpy(part + (n & 4), from + 2 * (n & 4), 4);
    if (n & 1)
        __builtin_memcpy(part + (n & 6), from + 2 * (n & 6), 2);
    return vec_of_halfs(_mm_loadu_si128((const void *)part), load);
}

INLINE __m128i halfs_of_vec(vec v, const struct eng_store *store)
{
    __m128i half = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m128i magnitude = _mm_and_si128(half, _mm_set1_epi16(0x7fff));
    __m128i infinity = _mm_set1_epi16(0x7c00);
    __m128i nan = _mm_cmpgt_epi16(magnitude, infinity);
    __m128i high = _mm_cmpgt_epi16(magnitude, _mm_set1_epi16((short)(store->ceiling - 1)));
    __m128i tiny = _mm_cmpgt_epi16(_mm_set1_epi16((short)store->tiny), magnitude);
    __m128i signed_infinity = _mm_or_si128(_mm_xor_si128(half, magnitude), infinity);

    half = _mm_blendv_epi8(half, signed_infinity, high);
    half = _mm_andnot_si128(tiny, half);
    return _mm_blendv_epi8(half, _mm_set1_epi16((short)store->nan), nan);
}

INLINE void vec_to_halfs(uint8_t *to, vec v, const struct eng_store *store)
{
    _mm_storeu_si128((void *)to, halfs_of_vec(v, store));
}

INLINE void vec_to_halfs_part(uint8_t *to, vec v, size_t n, const struct eng_store *store)
{
    uint16_t part[8];

    _mm_storeu_si128((void *)part, halfs_of_vec(v, store));
    if (n & 4)
        __builtin_memcpy(to, part, 8);
    if (n & 2)
        __builtin_memcpy(to + 2 * (n & 4), part + (n & 4), 4);
    if (n & 1)
        __builtin_memcpy(to + 2 * (n & 6), part + (n & 6), 2);
}

#include "engine/kernels_body.h"
#endif
