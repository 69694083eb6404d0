/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Word i of all ranges is one register, so that a round is computed for sixteen blocks by seventeen
 * instructions: 0.5 clocks for a byte where the processor executes four of them in a clock, and less than two
 * streams of the instructions for SHA-256 take (1.1) where it executes two.
 */
#include "base/hash_lanes.h"

#include "base/hash_constants.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define LANES_TARGET __attribute__((target("avx512f,avx512bw")))
#define BLOCK        ((size_t)64)

enum { WORDS = 16, ROUNDS = 64, CHOOSE = 0xca, MAJORITY = 0xe8, XOR = 0x96 };

bool base_hash_lanes_here(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
}

/* word[i] of the blocks at from + lane * stride, from their rows: a transposition of 16 by 16. */
LANES_TARGET static inline __attribute__((always_inline)) void load_words(__m512i word[WORDS],
                                                                          const uint8_t *from, size_t stride)
{
    const __m512i big_endian = _mm512_broadcast_i32x4(_mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
    __m512i a[WORDS], b[WORDS];

#pragma GCC unroll 16
    for (unsigned i = 0; i < WORDS; i++)
        a[i] = _mm512_shuffle_epi8(_mm512_loadu_si512(from + i * stride), big_endian);
#pragma GCC unroll 8
    for (unsigned i = 0; i < WORDS; i += 2) {
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < WORDS; i += 4) { /* a[i + k]: words k, 4 + k, 8 + k, 12 + k of four lanes */
        a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
        a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
        a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
        a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
    }
#pragma GCC unroll 4
    for (unsigned k = 0; k < 4; k++) {
        const __m512i low = _mm512_shuffle_i32x4(a[k], a[4 + k], 0x88); /* words k, 8 + k */
        const __m512i odd = _mm512_shuffle_i32x4(a[k], a[4 + k], 0xdd); /* words 4 + k, 12 + k */
        const __m512i low_high = _mm512_shuffle_i32x4(a[8 + k], a[12 + k], 0x88);
        const __m512i odd_high = _mm512_shuffle_i32x4(a[8 + k], a[12 + k], 0xdd);

        word[k] = _mm512_shuffle_i32x4(low, low_high, 0x88);
        word[8 + k] = _mm512_shuffle_i32x4(low, low_high, 0xdd);
        word[4 + k] = _mm512_shuffle_i32x4(odd, odd_high, 0x88);
        word[12 + k] = _mm512_shuffle_i32x4(odd, odd_high, 0xdd);
    }
}

#define ROTATED(x, a, b, c) _mm512_ternarylogic_epi32(_mm512_ror_epi32(x, a), _mm512_ror_epi32(x, b), c, XOR)

LANES_TARGET void base_hash_lanes(uint32_t state[8][BASE_HASH_LANES], const uint8_t *from, size_t stride,
                                  size_t blocks)
{
    __m512i s[8];

    for (unsigned i = 0; i < 8; i++)
        s[i] = _mm512_loadu_si512(state[i]);
    for (size_t n = 0; n < blocks; n++, from += BLOCK) {
        __m512i a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7], w[WORDS];

        load_words(w, from, stride);
        for (unsigned lane = 0; lane < BASE_HASH_LANES; lane++)
            _mm_prefetch((const char *)(from + lane * stride + 4 * BLOCK), _MM_HINT_T0);
#pragma GCC unroll 64
        for (unsigned i = 0; i < ROUNDS; i++) {
            const __m512i constant = _mm512_set1_epi32((int)base_hash_constants[i / 4][i % 4]);
            __m512i first, second;

            if (i >= WORDS) {
                const __m512i x = w[(i + 1) % WORDS], y = w[(i + 14) % WORDS];

                w[i % WORDS] =
                    _mm512_add_epi32(_mm512_add_epi32(w[i % WORDS], w[(i + 9) % WORDS]),
                                     _mm512_add_epi32(ROTATED(x, 7, 18, _mm512_srli_epi32(x, 3)),
                                                      ROTATED(y, 17, 19, _mm512_srli_epi32(y, 10))));
            }
            first = _mm512_add_epi32(_mm512_add_epi32(h, _mm512_add_epi32(w[i % WORDS], constant)),
                                     _mm512_add_epi32(ROTATED(e, 6, 11, _mm512_ror_epi32(e, 25)),
                                                      _mm512_ternarylogic_epi32(e, f, g, CHOOSE)));
            second = _mm512_add_epi32(ROTATED(a, 2, 13, _mm512_ror_epi32(a, 22)),
                                      _mm512_ternarylogic_epi32(a, b, c, MAJORITY));
            h = g;
            g = f;
            f = e;
            e = _mm512_add_epi32(d, first);
            d = c;
            c = b;
            b = a;
            a = _mm512_add_epi32(first, second);
        }
        s[0] = _mm512_add_epi32(s[0], a);
        s[1] = _mm512_add_epi32(s[1], b);
        s[2] = _mm512_add_epi32(s[2], c);
        s[3] = _mm512_add_epi32(s[3], d);
        s[4] = _mm512_add_epi32(s[4], e);
        s[5] = _mm512_add_epi32(s[5], f);
        s[6] = _mm512_add_epi32(s[6], g);
        s[7] = _mm512_add_epi32(s[7], h);
    }
    for (unsigned i = 0; i < 8; i++)
        _mm512_storeu_si512(state[i], s[i]);
}
#else
bool base_hash_lanes_here(void)
{
    return false;
}

void base_hash_lanes(uint32_t state[8][BASE_HASH_LANES], const uint8_t *from, size_t stride, size_t blocks)
{
    (void)state, (void)from, (void)stride, (void)blocks;
}
#endif
