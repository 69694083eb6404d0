/* SPDX-License-Identifier: Apache-2.0 */
/* The loops are written with vector instructions, so that no limit depends on a compiler. */
#include "limits.h"

#include <stdbool.h>
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
#define ELEMENTS   4800u /* whole rounds of twelve registers */
#define TIMES      64u
#define DRAM_BYTES (256u << 20)
#define CHUNK      (8u << 20)
#define LINE       64u
#define STEP       256u  /* bytes of a stream that a loop takes at once */
#define AHEAD      2048u /* bytes that a prefetch is ahead of its load */
#define FORM_CALLS 3u    /* in a row: the first finds the caches as the other form left them */

/* A result that the compiler cannot leave out. */
static volatile float sink_float;
static volatile uint64_t sink;

/* Which form is fastest differs between processors, and between sizes on one: the best of all counts. */
enum form { FORM_LIBRARY, FORM_STRINGS, FORM_VECTORS, FORM_PAST_CACHES, FORMS };

static const struct reading {
    unsigned streams; /* the bytes are read in so many places at once */
    unsigned ahead;   /* 0: no prefetch */
} reading_of[FORMS] = {{1, 0}, {2, AHEAD}, {1, AHEAD}, {2, 0}};

/*
 * Independent chains, as variables of their own: as many as hide the latency of an instruction (four clocks,
 * two a clock). Sixteen and twenty are no faster where they fit the registers. A converted vector is only
 * combined by OR, which takes none of the units that convert.
 */
#define CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define COUNT     12
#define VECTOR_LOOPS(name, target_attribute, vector, lanes, set1, get)                                     \
    target_attribute static double multiply_##name(void)                                                   \
    {                                                                                                      \
        vector a = set1(0.999f), b = set1(0.001f), sum = set1(0);                                          \
        CHAINS(DECLARE_##name)                                                                             \
        for (unsigned n = 0; n < STEPS; n++) {                                                             \
            CHAINS(FMA_##name)                                                                             \
        }                                                                                                  \
        CHAINS(SUM_##name)                                                                                 \
        sink_float = get(sum);                                                                             \
        return (double)(lanes)*COUNT * STEPS;                                                              \
    }                                                                                                      \
    target_attribute static double convert_##name(const uint16_t *half)                                    \
    {                                                                                                      \
        vector sum = set1(0);                                                                              \
        CHAINS(DECLARE_##name)                                                                             \
        for (unsigned n = 0; n < TIMES; n++)                                                               \
            for (const uint16_t *h = half; h < half + ELEMENTS; h += (lanes)*COUNT) {                      \
                CHAINS(LOAD_##name)                                                                        \
            }                                                                                              \
        CHAINS(SUM_##name)                                                                                 \
        sink_float = get(sum);                                                                             \
        return (double)TIMES * ELEMENTS;                                                                   \
    }                                                                                                      \
    target_attribute static void read_##name(const uint8_t *from, size_t bytes, const struct reading *how) \
    {                                                                                                      \
        const size_t part = bytes / how->streams;                                                          \
        vector s0 = set1(0), s1 = s0, s2 = s0, s3 = s0;                                                    \
        for (size_t i = 0; i < part; i += STEP)                                                            \
            for (unsigned stream = 0; stream < how->streams; stream++) {                                   \
                const uint8_t *at = from + stream * part + i;                                              \
                for (unsigned line = 0; how->ahead && line < STEP; line += LINE)                           \
                    __builtin_prefetch(at + how->ahead + line);                                            \
                for (unsigned j = 0; j < STEP; j += (lanes)*16) {                                          \
                    s0 = OR_##name(s0, READ_##name(at + j));                                               \
                    s1 = OR_##name(s1, READ_##name(at + j + (lanes)*4));                                   \
                    s2 = OR_##name(s2, READ_##name(at + j + (lanes)*8));                                   \
                    s3 = OR_##name(s3, READ_##name(at + j + (lanes)*12));                                  \
                }                                                                                          \
            }                                                                                              \
        sink_float = get(OR_##name(OR_##name(s0, s1), OR_##name(s2, s3)));                                 \
    }                                                                                                      \
    target_attribute static void copy_##name(uint8_t *to, const uint8_t *from, size_t bytes, bool past)    \
    {                                                                                                      \
        for (size_t i = 0; i < bytes; i += STEP)                                                           \
            for (unsigned j = 0; j < STEP; j += (lanes)*4) {                                               \
                if (past)                                                                                  \
                    PAST_##name(to + i + j, READ_##name(from + i + j));                                    \
                else                                                                                       \
                    WRITE_##name(to + i + j, READ_##name(from + i + j));                                   \
            }                                                                                              \
    }

/* What the vectors' loops leave: less than a step of each stream. */
static void read_rest(const uint8_t *from, size_t bytes)
{
    uint8_t seen = 0;

    for (size_t i = 0; i < bytes; i++)
        seen |= from[i];
    sink = seen;
}

#if defined(__x86_64__)
#define DECLARE_512(i) __m512 s##i = _mm512_set1_ps(i);
#define FMA_512(i)     s##i = _mm512_fmadd_ps(s##i, a, b);
#define SUM_512(i)     sum = _mm512_add_ps(sum, s##i);
#define OR_512(a, b)   _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(a), _mm512_castps_si512(b)))
#define LOAD_512(i) \
    s##i = OR_512(s##i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(h + 16 * (size_t)(i)))));
#define READ_512(at)     _mm512_loadu_ps(at)
#define WRITE_512(at, v) _mm512_storeu_ps(at, v)
#define PAST_512(at, v)  _mm512_stream_ps((void *)(at), v)
VECTOR_LOOPS(512, __attribute__((target("avx512f"))), __m512, 16, _mm512_set1_ps, _mm512_cvtss_f32)
#define DECLARE_256(i) __m256 s##i = _mm256_set1_ps(i);
#define FMA_256(i)     s##i = _mm256_fmadd_ps(s##i, a, b);
#define SUM_256(i)     sum = _mm256_add_ps(sum, s##i);
#define OR_256(a, b)   _mm256_or_ps(a, b)
#define LOAD_256(i) \
    s##i = OR_256(s##i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(h + 8 * (size_t)(i)))));
#define READ_256(at)     _mm256_loadu_ps((const void *)(at))
#define WRITE_256(at, v) _mm256_storeu_ps((void *)(at), v)
#define PAST_256(at, v)  _mm256_stream_ps((void *)(at), v)
VECTOR_LOOPS(256, __attribute__((target("avx2,fma,f16c"))), __m256, 8, _mm256_set1_ps, _mm256_cvtss_f32)

static bool has_512(void)
{
    return __builtin_cpu_supports("avx512f");
}

static bool has_256(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static double multiply(void)
{
    return has_512() ? multiply_512() : has_256() ? multiply_256() : 0;
}

static double convert(const uint16_t *half)
{
    return has_512() ? convert_512(half) : has_256() ? convert_256(half) : 0;
}

static size_t read_vectors(const uint8_t *from, size_t bytes, const struct reading *how)
{
    if (has_512())
        read_512(from, bytes, how);
    else if (has_256())
        read_256(from, bytes, how);
    else
        return 0;
    return bytes;
}

static size_t copy_vectors(uint8_t *to, const uint8_t *from, size_t bytes, bool past)
{
    if (has_512())
        copy_512(to, from, bytes, past);
    else if (has_256())
        copy_256(to, from, bytes, past);
    else
        return 0;
    if (past)
        _mm_sfence();
    return bytes;
}

static void copy_strings(uint8_t *to, const uint8_t *from, size_t bytes)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}
#else
#if defined(__aarch64__)
#define GET(v)           vgetq_lane_f32(v, 0)
#define DECLARE_128(i)   float32x4_t s##i = vdupq_n_f32(i);
#define FMA_128(i)       s##i = vfmaq_f32(s##i, a, b);
#define SUM_128(i)       sum = vaddq_f32(sum, s##i);
#define OR_128(a, b)     vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(a), vreinterpretq_u32_f32(b)))
#define LOAD_128(i)      s##i = OR_128(s##i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(h + 4 * (i)))));
#define READ_128(at)     vld1q_f32((const void *)(at))
#define WRITE_128(at, v) vst1q_f32((void *)(at), v)
#define PAST_128         WRITE_128
VECTOR_LOOPS(128, , float32x4_t, 4, vdupq_n_f32, GET)

static double multiply(void)
{
    return multiply_128();
}

static double convert(const uint16_t *half)
{
    return convert_128(half);
}

static size_t read_vectors(const uint8_t *from, size_t bytes, const struct reading *how)
{
    read_128(from, bytes, how);
    return bytes;
}

static size_t copy_vectors(uint8_t *to, const uint8_t *from, size_t bytes, bool past)
{
    copy_128(to, from, bytes, past);
    return bytes;
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

static size_t read_vectors(const uint8_t *from, size_t bytes, const struct reading *how)
{
    (void)from, (void)bytes, (void)how;
    return 0;
}

static size_t copy_vectors(uint8_t *to, const uint8_t *from, size_t bytes, bool past)
{
    (void)to, (void)from, (void)bytes, (void)past;
    return 0;
}
#endif

static void copy_strings(uint8_t *to, const uint8_t *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
#endif

static void read_bytes(const uint8_t *from, size_t bytes, enum form form)
{
    const struct reading *how = &reading_of[form];
    const size_t unit = (size_t)STEP * how->streams;
    size_t done = read_vectors(from, bytes / unit * unit, how);

    read_rest(from + done, bytes - done);
}

static void copy_bytes(uint8_t *to, const uint8_t *from, size_t bytes, enum form form)
{
    size_t done = 0;

    if (form == FORM_STRINGS) {
        copy_strings(to, from, bytes);
        return;
    }
    if (form != FORM_LIBRARY)
        done = copy_vectors(to, from, bytes / STEP * STEP, form == FORM_PAST_CACHES);
    memcpy(to + done, from + done, bytes - done);
}

/* Written once, in large pages where the host has them. */
static uint8_t *written_pages(size_t bytes)
{
    uint8_t *memory = base_pages(bytes);

    base_expect_writes(memory, bytes);
    return memory ? memset(memory, 1, bytes) : NULL;
}

static size_t stream_bytes(const struct bench_stream *stream)
{
    return stream->in + stream->out + LINE;
}

int bench_stream_make(struct bench_stream *stream, size_t in, size_t out)
{
    *stream = (struct bench_stream){.in = (in + LINE - 1) / LINE * LINE, .out = out};
    stream->memory = written_pages(stream_bytes(stream));
    return stream->memory != NULL;
}

void bench_stream_run(struct bench_stream *stream)
{
    const size_t copied = stream->in < stream->out ? stream->in : stream->out;
    const enum form form = stream->calls++ / FORM_CALLS % FORMS;

    copy_bytes(stream->memory + stream->in, stream->memory, copied, form);
    read_bytes(stream->memory + copied, stream->in - copied, form);
    memset(stream->memory + stream->in + copied, 0, stream->out - copied);
}

void bench_stream_free(struct bench_stream *stream)
{
    base_pages_free(stream->memory, stream_bytes(stream));
}

void bench_limits_make(struct bench_limits *limits)
{
    *limits = (struct bench_limits){.memory = written_pages(DRAM_BYTES)};
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
            read_bytes(limits->memory + limits->at, CHUNK, i % FORMS);
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
    base_pages_free(limits->memory, DRAM_BYTES);
}
