/* SPDX-License-Identifier: Apache-2.0 */
/* The loops are written with vector instructions, so that no limit depends on a compiler. */
#include "limits.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "base/alloc.h"
#include "process.h"

#define ROUNDS     4u
#define STEPS      200000u
#define ELEMENTS   4800u /* whole rounds of ten registers */
#define TIMES      64u
#define DRAM_BYTES (256u << 20)
#define CHUNK      (8u << 20)
#define LINE       64u

/* A result that the compiler cannot leave out. */
static volatile float sink_float;
static volatile uint64_t sink;

/* Independent chains, as variables of their own: as many as hide the latency of an instruction. */
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
#define COUNT     10
#define VECTOR_LOOPS(name, target_attribute, vector, lanes, set1, get)                \
    target_attribute static double multiply_##name(void)                              \
    {                                                                                 \
        vector a = set1(0.999f), b = set1(0.001f), sum = set1(0);                     \
        CHAINS(DECLARE_##name)                                                        \
        for (unsigned n = 0; n < STEPS; n++) {                                        \
            CHAINS(FMA_##name)                                                        \
        }                                                                             \
        CHAINS(SUM_##name)                                                            \
        sink_float = get(sum);                                                        \
        return (double)(lanes)*COUNT * STEPS;                                         \
    }                                                                                 \
    target_attribute static double convert_##name(const uint16_t *half)               \
    {                                                                                 \
        vector sum = set1(0);                                                         \
        CHAINS(DECLARE_##name)                                                        \
        for (unsigned n = 0; n < TIMES; n++)                                          \
            for (const uint16_t *h = half; h < half + ELEMENTS; h += (lanes)*COUNT) { \
                CHAINS(LOAD_##name)                                                   \
            }                                                                         \
        CHAINS(SUM_##name)                                                            \
        sink_float = get(sum);                                                        \
        return (double)TIMES * ELEMENTS;                                              \
    }

#if defined(__x86_64__)
#define DECLARE_512(i) __m512 s##i = _mm512_set1_ps(i);
#define FMA_512(i)     s##i = _mm512_fmadd_ps(s##i, a, b);
#define SUM_512(i)     sum = _mm512_add_ps(sum, s##i);
#define LOAD_512(i) \
    s##i = _mm512_add_ps(s##i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(h + 16 * (i)))));
VECTOR_LOOPS(512, __attribute__((target("avx512f"))), __m512, 16, _mm512_set1_ps, _mm512_cvtss_f32)
#define DECLARE_256(i) __m256 s##i = _mm256_set1_ps(i);
#define FMA_256(i)     s##i = _mm256_fmadd_ps(s##i, a, b);
#define SUM_256(i)     sum = _mm256_add_ps(sum, s##i);
#define LOAD_256(i) \
    s##i = _mm256_add_ps(s##i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(h + 8 * (size_t)(i)))));
VECTOR_LOOPS(256, __attribute__((target("avx2,fma,f16c"))), __m256, 8, _mm256_set1_ps, _mm256_cvtss_f32)

static double multiply(void)
{
    return __builtin_cpu_supports("avx512f")                                 ? multiply_512()
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiply_256()
                                                                             : 0;
}

static double convert(const uint16_t *half)
{
    return __builtin_cpu_supports("avx512f")                                 ? convert_512(half)
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? convert_256(half)
                                                                             : 0;
}
#elif defined(__aarch64__)
#define GET(v)         vgetq_lane_f32(v, 0)
#define DECLARE_128(i) float32x4_t s##i = vdupq_n_f32(i);
#define FMA_128(i)     s##i = vfmaq_f32(s##i, a, b);
#define SUM_128(i)     sum = vaddq_f32(sum, s##i);
#define LOAD_128(i)    s##i = vaddq_f32(s##i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(h + 4 * (i)))));
VECTOR_LOOPS(128, , float32x4_t, 4, vdupq_n_f32, GET)

static double multiply(void)
{
    return multiply_128();
}

static double convert(const uint16_t *half)
{
    return convert_128(half);
}
#else
static double multiply(void)
{
    return 0;
}

static double convert(const uint16_t *half)
{
    (void)half;
    return 0;
}
#endif

/* One load of each line's two halves, four chains. */
static void read_bytes(const uint8_t *from, size_t bytes)
{
    uint64_t sum[4] = {0};

    for (size_t i = 0; i + LINE <= bytes; i += LINE)
        for (unsigned j = 0; j < 4; j++) {
            uint64_t word[2];

            memcpy(word, from + i + 16 * (size_t)j, sizeof(word));
            sum[j] |= word[0] | word[1];
        }
    sink = sum[0] | sum[1] | sum[2] | sum[3];
}

int bench_stream_make(struct bench_stream *stream, size_t in, size_t out)
{
    *stream =
        (struct bench_stream){.memory = base_alloc_aligned(4096, in + out + LINE), .in = in, .out = out};
    if (stream->memory)
        memset(stream->memory, 1, in + out);
    return stream->memory != NULL;
}

void bench_stream_run(struct bench_stream *stream)
{
    const size_t copied = stream->in < stream->out ? stream->in : stream->out;

    memcpy(stream->memory + stream->in, stream->memory, copied);
    read_bytes(stream->memory + copied, stream->in - copied);
    memset(stream->memory + stream->in + copied, 0, stream->out - copied);
}

void bench_stream_free(struct bench_stream *stream)
{
    base_free(stream->memory);
}

void bench_limits_make(struct bench_limits *limits)
{
    *limits = (struct bench_limits){.memory = base_alloc_aligned(LINE, DRAM_BYTES)};
    if (limits->memory)
        memset(limits->memory, 1, DRAM_BYTES);
}

static void take(double *best, double amount, double seconds)
{
    if (amount / seconds > *best)
        *best = amount / seconds;
}

void bench_limits_measure(struct bench_limits *limits)
{
    static uint16_t half[ELEMENTS];

    for (unsigned i = 0; i < ROUNDS; i++) {
        double at[4], macs, conversions;

        at[0] = bench_now();
        macs = multiply();
        at[1] = bench_now();
        conversions = convert(half);
        at[2] = bench_now();
        if (limits->memory)
            read_bytes(limits->memory + limits->at, CHUNK);
        at[3] = bench_now();
        take(&limits->macs, macs, at[1] - at[0]);
        take(&limits->conversions, conversions, at[2] - at[1]);
        if (limits->memory)
            take(&limits->read, CHUNK, at[3] - at[2]);
        limits->at = (limits->at + CHUNK) % DRAM_BYTES;
    }
}

void bench_limits_free(struct bench_limits *limits)
{
    base_free(limits->memory);
}
