/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256. libsodium has the state, its padding and every piece that is not a whole block; it computes blocks
 * in plain C, at about 0.35 GB/s. Where the processor has instructions for SHA-256, whole blocks are computed
 * by them on the same state: 1.8 GB/s, and 3.5 GB/s for two streams at once, since a stream waits for the
 * results of its last instructions. Sixteen streams go through vector registers (hash_lanes.h).
 */
#include "base/hash.h"

#include <string.h>

#include "base/hash_constants.h"
#include "base/hash_lanes.h"
#include "base/processor.h"

#define BLOCK ((size_t)64)
enum { GROUPS = 16, LANES = 2 };

_Static_assert(BASE_HASH_BYTES == crypto_hash_sha256_BYTES, "SHA-256");

#if defined(__x86_64__)
#include <immintrin.h>

/* The instructions want the words of the state as A, B, E, F and C, D, G, H, the first of each highest. */
struct lane {
    __m128i abef, cdgh;
};

#define SHA_TARGET __attribute__((target("sha,sse4.1")))

SHA_TARGET static struct lane load_state(const uint32_t state[8])
{
    const __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const void *)state), 0xb1);        /* B A D C */
    const __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const void *)(state + 4)), 0x1b); /* H G F E */

    return (struct lane){_mm_alignr_epi8(low, high, 8), _mm_blend_epi16(high, low, 0xf0)};
}

SHA_TARGET static void store_state(const struct lane *lane, uint32_t state[8])
{
    const __m128i abef = _mm_shuffle_epi32(lane->abef, 0x1b); /* A B E F, the first lowest */
    const __m128i cdgh = _mm_shuffle_epi32(lane->cdgh, 0xb1); /* D C H G */

    _mm_storeu_si128((void *)state, _mm_blend_epi16(abef, cdgh, 0xf0));
    _mm_storeu_si128((void *)(state + 4), _mm_alignr_epi8(cdgh, abef, 8));
}

/* As many streams as there are lanes, whose instructions alternate: each waits only for its own. */
SHA_TARGET static inline __attribute__((always_inline)) void hash_lanes(struct lane *lane,
                                                                        const uint8_t *const *start,
                                                                        unsigned lanes, size_t blocks)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);

    for (size_t at = 0; at < blocks * BLOCK; at += BLOCK) {
        __m128i word[LANES][4];
        struct lane before[LANES];

        for (unsigned l = 0; l < lanes; l++) {
            before[l] = lane[l];
            for (unsigned i = 0; i < 4; i++)
                word[l][i] = _mm_shuffle_epi8(_mm_loadu_si128((const void *)(start[l] + at + (size_t)16 * i)),
                                              big_endian);
        }
#pragma GCC unroll 16
        for (unsigned i = 0; i < GROUPS; i++)
#pragma GCC unroll 2
            for (unsigned l = 0; l < lanes; l++) {
                __m128i *w = word[l], spread;
                __m128i sum =
                    _mm_add_epi32(w[i % 4], _mm_load_si128((const __m128i *)base_hash_constants[i]));

                lane[l].cdgh = _mm_sha256rnds2_epu32(lane[l].cdgh, lane[l].abef, sum);
                lane[l].abef =
                    _mm_sha256rnds2_epu32(lane[l].abef, lane[l].cdgh, _mm_shuffle_epi32(sum, 0x0e));
                if (i >= GROUPS - 4)
                    continue;
                spread = _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4);
                sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), spread);
                w[i % 4] = _mm_sha256msg2_epu32(sum, w[(i + 3) % 4]);
            }
        for (unsigned l = 0; l < lanes; l++) {
            lane[l].abef = _mm_add_epi32(lane[l].abef, before[l].abef);
            lane[l].cdgh = _mm_add_epi32(lane[l].cdgh, before[l].cdgh);
        }
    }
}
#elif defined(__aarch64__)
#include <arm_neon.h>

#ifdef __clang__
#define SHA_TARGET __attribute__((target("sha2")))
#else
#define SHA_TARGET __attribute__((target("+crypto")))
#endif

struct lane {
    uint32x4_t abcd, efgh;
};

SHA_TARGET static struct lane load_state(const uint32_t state[8])
{
    return (struct lane){vld1q_u32(state), vld1q_u32(state + 4)};
}

SHA_TARGET static void store_state(const struct lane *lane, uint32_t state[8])
{
    vst1q_u32(state, lane->abcd);
    vst1q_u32(state + 4, lane->efgh);
}

SHA_TARGET static inline __attribute__((always_inline)) void hash_lanes(struct lane *lane,
                                                                        const uint8_t *const *start,
                                                                        unsigned lanes, size_t blocks)
{
    for (size_t at = 0; at < blocks * BLOCK; at += BLOCK) {
        uint32x4_t word[LANES][4];
        struct lane before[LANES];

        for (unsigned l = 0; l < lanes; l++) {
            before[l] = lane[l];
            for (unsigned i = 0; i < 4; i++)
                word[l][i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(start[l] + at + (size_t)16 * i)));
        }
#pragma GCC unroll 16
        for (unsigned i = 0; i < GROUPS; i++)
#pragma GCC unroll 2
            for (unsigned l = 0; l < lanes; l++) {
                uint32x4_t *w = word[l];
                const uint32x4_t sum = vaddq_u32(w[i % 4], vld1q_u32(base_hash_constants[i])),
                                 kept = lane[l].abcd;

                lane[l].abcd = vsha256hq_u32(lane[l].abcd, lane[l].efgh, sum);
                lane[l].efgh = vsha256h2q_u32(lane[l].efgh, kept, sum);
                if (i < GROUPS - 4)
                    w[i % 4] = vsha256su1q_u32(vsha256su0q_u32(w[i % 4], w[(i + 1) % 4]), w[(i + 2) % 4],
                                               w[(i + 3) % 4]);
            }
        for (unsigned l = 0; l < lanes; l++) {
            lane[l].abcd = vaddq_u32(lane[l].abcd, before[l].abcd);
            lane[l].efgh = vaddq_u32(lane[l].efgh, before[l].efgh);
        }
    }
}
#endif

#ifdef SHA_TARGET
SHA_TARGET static void hash_blocks(uint32_t state[8], const uint8_t *from, size_t blocks)
{
    struct lane lane = load_state(state);

    hash_lanes(&lane, &from, 1, blocks);
    store_state(&lane, state);
}

SHA_TARGET static void hash_two(uint32_t *const state[LANES], const uint8_t *const from[LANES], size_t blocks)
{
    struct lane lane[LANES] = {load_state(state[0]), load_state(state[1])};

    hash_lanes(lane, from, LANES, blocks);
    store_state(&lane[0], state[0]);
    store_state(&lane[1], state[1]);
}
#else
static void hash_blocks(uint32_t state[8], const uint8_t *from, size_t blocks)
{
    (void)state, (void)from, (void)blocks;
}

static void hash_two(uint32_t *const state[LANES], const uint8_t *const from[LANES], size_t blocks)
{
    (void)state, (void)from, (void)blocks;
}
#endif

void base_hash_begin(struct base_hash *hash)
{
    crypto_hash_sha256_init(&hash->state);
}

/* libsodium counts bits, and keeps what is less than a block. */
static size_t kept_bytes(const struct base_hash *hash)
{
    return (size_t)(hash->state.count / 8 % BLOCK);
}

void base_hash_add(struct base_hash *hash, const void *bytes, size_t size)
{
    const size_t kept = kept_bytes(hash), first = kept ? BLOCK - kept : 0;
    const uint8_t *from = bytes;

    if (base_processor_has_sha256() && size >= first + BLOCK) {
        const size_t blocks = (size - first) / BLOCK;

        if (first)
            crypto_hash_sha256_update(&hash->state, from, first);
        hash_blocks(hash->state.state, from + first, blocks);
        hash->state.count += (uint64_t)blocks * BLOCK * 8;
        from += first + blocks * BLOCK;
        size -= first + blocks * BLOCK;
    }
    if (size)
        crypto_hash_sha256_update(&hash->state, from, size);
}

void base_hash_end(struct base_hash *hash, uint8_t digest[BASE_HASH_BYTES])
{
    crypto_hash_sha256_final(&hash->state, digest);
}

void base_hash_of(const void *bytes, size_t size, uint8_t digest[BASE_HASH_BYTES])
{
    struct base_hash hash;

    base_hash_begin(&hash);
    base_hash_add(&hash, bytes, size);
    base_hash_end(&hash, digest);
}

void base_hash_of_two(const void *first, const void *second, size_t size,
                      uint8_t first_digest[BASE_HASH_BYTES], uint8_t second_digest[BASE_HASH_BYTES])
{
    const uint8_t *const from[LANES] = {first, second};
    uint8_t *const digest[LANES] = {first_digest, second_digest};
    const size_t blocks = base_processor_has_sha256() ? size / BLOCK : 0;
    struct base_hash hash[LANES];
    uint32_t *state[LANES];

    for (unsigned l = 0; l < LANES; l++) {
        base_hash_begin(&hash[l]);
        state[l] = hash[l].state.state;
    }
    if (blocks)
        hash_two(state, from, blocks);
    for (unsigned l = 0; l < LANES; l++) {
        hash[l].state.count = (uint64_t)blocks * BLOCK * 8;
        base_hash_add(&hash[l], from[l] + blocks * BLOCK, size - blocks * BLOCK);
        base_hash_end(&hash[l], digest[l]);
    }
}

static void hash_sixteen(const uint8_t *from, size_t size, uint8_t (*digest)[BASE_HASH_BYTES])
{
    const size_t blocks = size / BLOCK;
    uint32_t state[8][BASE_HASH_LANES];
    struct base_hash hash;

    base_hash_begin(&hash);
    for (unsigned i = 0; i < 8; i++)
        for (unsigned lane = 0; lane < BASE_HASH_LANES; lane++)
            state[i][lane] = hash.state.state[i];
    base_hash_lanes(state, from, size, blocks);
    for (unsigned lane = 0; lane < BASE_HASH_LANES; lane++) {
        base_hash_begin(&hash);
        for (unsigned i = 0; i < 8; i++)
            hash.state.state[i] = state[i][lane];
        hash.state.count = (uint64_t)blocks * BLOCK * 8;
        base_hash_add(&hash, from + lane * size + blocks * BLOCK, size - blocks * BLOCK);
        base_hash_end(&hash, digest[lane]);
    }
}

void base_hash_of_many(const void *ranges, size_t size, size_t count, uint8_t (*digest)[BASE_HASH_BYTES])
{
    const uint8_t *from = ranges;
    size_t done = 0;

    for (; count - done >= BASE_HASH_LANES && base_hash_lanes_here(); done += BASE_HASH_LANES)
        hash_sixteen(from + done * size, size, digest + done);
    for (; count - done >= 2; done += 2)
        base_hash_of_two(from + done * size, from + (done + 1) * size, size, digest[done], digest[done + 1]);
    if (done < count)
        base_hash_of(from + done * size, size, digest[done]);
}
