/* SPDX-License-Identifier: Apache-2.0 */
/* Part of kernels_avx512.c: vectors of fp16 values as bits. */

/* fp16 values as bits, and parts of a vector of them, the others 0. */
#define HALVES (2 * LANES)

typedef uint16_t halves __attribute__((vector_size(2 * HALVES)));

INLINE halves halves_load_part(const uint8_t *from, size_t n)
{
    return (halves)_mm512_maskz_loadu_epi16((__mmask32)((1u << n) - 1), from);
}

INLINE void halves_store_part(uint8_t *to, halves v, size_t n)
{
    _mm512_mask_storeu_epi16(to, (__mmask32)((1ull << n) - 1), (__m512i)v);
}

/* The first n from memory, the others from `rest`. */
INLINE halves halves_load_first(const uint8_t *from, size_t n, halves rest)
{
    return (halves)_mm512_mask_loadu_epi16((__m512i)rest, (__mmask32)((1ull << n) - 1), from);
}

/* Lanes of a vector, clipped to those that there are; and a vector of them, with the others from `rest`. */
struct halves_lanes {
    __mmask32 mask;
};

INLINE struct halves_lanes halves_lanes_between(int64_t begin, int64_t end)
{
    uint64_t from = begin < 0 ? 0 : begin < HALVES ? (uint64_t)begin : HALVES;
    uint64_t to = end < 0 ? 0 : end < HALVES ? (uint64_t)end : HALVES;

    return (struct halves_lanes){(__mmask32)(((1ull << to) - 1) & ~((1ull << from) - 1))};
}

INLINE halves halves_load_lanes(const uint8_t *from, struct halves_lanes which, halves rest)
{
    return (halves)_mm512_mask_loadu_epi16((__m512i)rest, which.mask, from);
}

/* Elements 0, 2, 4 ... of a, then of b. */
INLINE halves halves_even(halves a, halves b)
{
    static const uint16_t order[HALVES] = {0,  2,  4,  6,  8,  10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                           32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62};

    return (halves)_mm512_permutex2var_epi16((__m512i)a, _mm512_loadu_si512(order), (__m512i)b);
}

/* Lane by lane, as signed numbers or as unsigned ones. */
INLINE halves halves_signed_max(halves a, halves b)
{
    return (halves)_mm512_max_epi16((__m512i)a, (__m512i)b);
}

INLINE halves halves_signed_min(halves a, halves b)
{
    return (halves)_mm512_min_epi16((__m512i)a, (__m512i)b);
}

INLINE halves halves_max(halves a, halves b)
{
    return (halves)_mm512_max_epu16((__m512i)a, (__m512i)b);
}

INLINE halves halves_min(halves a, halves b)
{
    return (halves)_mm512_min_epu16((__m512i)a, (__m512i)b);
}

/* The least of all lanes, unsigned. */
INLINE uint16_t halves_least(halves v)
{
    __m256i y =
        _mm256_min_epu16(_mm512_castsi512_si256((__m512i)v), _mm512_extracti64x4_epi64((__m512i)v, 1));
    __m128i x = _mm_min_epu16(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));

    return (uint16_t)_mm_cvtsi128_si32(_mm_minpos_epu16(x));
}

/* The first n of a vector, and zeros. */
INLINE halves halves_first(halves v, size_t n)
{
    return (halves)_mm512_maskz_mov_epi16((__mmask32)((1ull << n) - 1), (__m512i)v);
}

/* The same for each of 1, 2 or 4 parts. */
INLINE halves halves_first_each(halves v, size_t n, unsigned parts)
{
    const uint32_t each = parts == 1 ? 1 : parts == 2 ? 0x00010001 : 0x01010101;

    return (halves)_mm512_maskz_mov_epi16((__mmask32)(((1ull << n) - 1) * each), (__m512i)v);
}

/* One of 2 or 4 parts, and zeros. */
INLINE halves halves_part(halves v, unsigned part, unsigned parts)
{
    if (parts == 2)
        return (halves)_mm512_zextsi256_si512(part ? _mm512_extracti64x4_epi64((__m512i)v, 1)
                                                   : _mm512_castsi512_si256((__m512i)v));
    switch (part) {
    case 0: return (halves)_mm512_zextsi128_si512(_mm512_castsi512_si128((__m512i)v));
    case 1: return (halves)_mm512_zextsi128_si512(_mm512_extracti32x4_epi32((__m512i)v, 1));
    case 2: return (halves)_mm512_zextsi128_si512(_mm512_extracti32x4_epi32((__m512i)v, 2));
    default: return (halves)_mm512_zextsi128_si512(_mm512_extracti32x4_epi32((__m512i)v, 3));
    }
}

/* Elements without any of these bits become 0. */
INLINE halves halves_kept(halves v, halves bits)
{
    return (halves)_mm512_maskz_mov_epi16(_mm512_test_epi16_mask((__m512i)v, (__m512i)bits), (__m512i)v);
}

/* The lower and the upper LANES of a vector, by no rule. */
INLINE vec vec_of_lower(halves v)
{
    return _mm512_cvtph_ps(_mm512_castsi512_si256((__m512i)v));
}

INLINE vec vec_of_upper(halves v)
{
    return _mm512_cvtph_ps(_mm512_extracti64x4_epi64((__m512i)v, 1));
}

/* The way back for numbers, by no rule but ENG_RULE_NO_MINUS_ZERO. */
INLINE halves halves_of_numbers(vec lower, vec upper, unsigned rules)
{
    __m512i v = _mm512_castsi256_si512(_mm512_cvtps_ph(lower, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));

    v = _mm512_inserti64x4(v, _mm512_cvtps_ph(upper, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), 1);
    if (rules & ENG_RULE_NO_MINUS_ZERO)
        v = _mm512_maskz_mov_epi16(_mm512_test_epi16_mask(v, _mm512_set1_epi16(0x7fff)), v);
    return (halves)v;
}

/* All are in [0, most] or [-0, least], as bits. */
INLINE bool halves_within(halves v, int16_t most, uint16_t least)
{
    return _kortestz_mask32_u8(_mm512_cmpgt_epi16_mask((__m512i)v, _mm512_set1_epi16(most)),
                               _mm512_cmpgt_epu16_mask((__m512i)v, _mm512_set1_epi16((short)least)));
}

/* Eight elements from each of some places, `step` bytes apart. */
INLINE halves halves_of_eights(const uint8_t *from, size_t step)
{
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const void *)from));

    v = _mm512_mask_broadcast_i32x4(v, 0x00f0, _mm_loadu_si128((const void *)(from + step)));
    v = _mm512_mask_broadcast_i32x4(v, 0x0f00, _mm_loadu_si128((const void *)(from + 2 * step)));
    return (halves)_mm512_mask_broadcast_i32x4(v, 0xf000, _mm_loadu_si128((const void *)(from + 3 * step)));
}

/* As bits: a NaN becomes infinity, -0 becomes +0. */
INLINE halves halves_usual(halves x)
{
    const __m512i infinity = _mm512_set1_epi16(0x7c00);
    __m512i magnitude = _mm512_and_si512((__m512i)x, _mm512_set1_epi16(0x7fff));
    __m512i y = _mm512_mask_mov_epi16((__m512i)x, _mm512_cmpgt_epu16_mask(magnitude, infinity), infinity);

    return (halves)_mm512_maskz_mov_epi16(_mm512_cmpneq_epi16_mask(y, _mm512_set1_epi16(-0x8000)), y);
}

/* A vector is a line of the caches, so that it can go around them whole. */
#define STREAMS 1

INLINE void halves_stream(uint8_t *to, halves v)
{
    _mm512_stream_si512((void *)to, (__m512i)v);
}

/* Such stores are visible to other threads from here on. */
INLINE void halves_stream_end(void)
{
    _mm_sfence();
}

/* Whether a bit is set. */
INLINE bool halves_any(halves v)
{
    return _mm512_test_epi32_mask((__m512i)v, (__m512i)v) != 0;
}

/* Rows of at most HALVES / rows values, each with its own number of them; zeros in their places else. */
INLINE halves halves_of_rows(const uint8_t *const from[4], const size_t n[4], unsigned rows)
{
    __m256i low, high;

    if (rows == 1)
        return (halves)_mm512_maskz_loadu_epi16((__mmask32)((1ull << n[0]) - 1), from[0]);
    if (rows == 2) {
        low = _mm256_maskz_loadu_epi16(first(n[0]), from[0]);
        high = _mm256_maskz_loadu_epi16(first(n[1]), from[1]);
    } else {
        low = _mm256_set_m128i(_mm_maskz_loadu_epi16((__mmask8)first(n[1]), from[1]),
                               _mm_maskz_loadu_epi16((__mmask8)first(n[0]), from[0]));
        high = _mm256_set_m128i(_mm_maskz_loadu_epi16((__mmask8)first(n[3]), from[3]),
                                _mm_maskz_loadu_epi16((__mmask8)first(n[2]), from[2]));
    }
    return (halves)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* Numbers as operands of products: without denormals, and, with a ReLU, without those below zero. */
INLINE halves halves_as_operands(halves v, bool relu)
{
    __mmask32 normal = _mm512_test_epi16_mask((__m512i)v, _mm512_set1_epi16(0x7c00));
    __m512i kept = _mm512_maskz_mov_epi16(normal, (__m512i)v);

    return (halves)(relu ? _mm512_max_epi16(kept, _mm512_setzero_si512()) : kept);
}

/* Which elements go to the lanes of a vector; lanes that are not `inside` become 0. */
typedef struct {
    __m512i from;
    __mmask32 inside;
} halves_picks;

INLINE halves_picks halves_picks_of(const uint16_t from[LANES], uint32_t inside)
{
    return (halves_picks){_mm512_castsi256_si512(_mm256_loadu_si256((const void *)from)), inside};
}

INLINE vec vec_from_picks(halves v, const halves_picks *picks)
{
    return _mm512_cvtph_ps(
        _mm512_castsi512_si256(_mm512_maskz_permutexvar_epi16(picks->inside, picks->from, (__m512i)v)));
}
