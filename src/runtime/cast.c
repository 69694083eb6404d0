/* SPDX-License-Identifier: Apache-2.0 */
/* Casts. The processor's own row functions and the plain ones give the same bits. */
#include "runtime/cast.h"

#include <string.h>

#include "base/processor.h"
#include "protocol/half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

void e5_cast_to_half_reference(const float *from, uint16_t *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;

        memcpy(&bits, &from[i], sizeof(bits));
        to[i] = pr_half_of_single(bits);
    }
}

void e5_cast_to_float_reference(const uint16_t *from, float *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = pr_single_of_half(from[i]);

        memcpy(&to[i], &bits, sizeof(bits));
    }
}

/* Rows of up to so many bytes are moved by instructions, longer ones by a call for each. */
enum { MOVED_BYTES = 512 };

/* Rows of `count` elements at steps in bytes. */
struct rows {
    const uint8_t *from;
    uint8_t *to;
    size_t from_step, to_step;
    uint32_t rows, count;
};

static void rows_to_half_plain(const struct rows *r)
{
    for (uint32_t i = 0; i < r->rows; i++)
        e5_cast_to_half_reference((const void *)(r->from + i * r->from_step),
                                  (void *)(r->to + i * r->to_step), r->count);
}

static void rows_to_float_plain(const struct rows *r)
{
    for (uint32_t i = 0; i < r->rows; i++)
        e5_cast_to_float_reference((const void *)(r->from + i * r->from_step),
                                   (void *)(r->to + i * r->to_step), r->count);
}

#if defined(__x86_64__)

#define F16C __attribute__((target("avx,f16c")))

/*
 * The last vector of a row ends where the row does, so that it may repeat elements of the one before; a short
 * row is two such halves of a vector.
 */
F16C static inline void eight_to_half(const float *from, uint16_t *to)
{
    _mm_storeu_si128((__m128i *)(void *)to,
                     _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
}

F16C static inline void four_to_half(const float *from, uint16_t *to)
{
    _mm_storel_epi64((__m128i *)(void *)to, _mm_cvtps_ph(_mm_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
}

F16C static inline void to_half_f16c(const float *from, uint16_t *to, size_t count)
{
    if (count >= 8) {
        for (size_t i = 0; i + 8 < count; i += 8)
            eight_to_half(from + i, to + i);
        eight_to_half(from + count - 8, to + count - 8);
    } else if (count >= 4) {
        four_to_half(from, to);
        four_to_half(from + count - 4, to + count - 4);
    } else {
        for (size_t i = 0; i < count; i++)
            to[i] = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
    }
}

F16C static inline void eight_to_float(const uint16_t *from, float *to)
{
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)from)));
}

F16C static inline void four_to_float(const uint16_t *from, float *to)
{
    _mm_storeu_ps(to, _mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)from)));
}

F16C static inline void to_float_f16c(const uint16_t *from, float *to, size_t count)
{
    if (count >= 8) {
        for (size_t i = 0; i + 8 < count; i += 8)
            eight_to_float(from + i, to + i);
        eight_to_float(from + count - 8, to + count - 8);
    } else if (count >= 4) {
        four_to_float(from, to);
        four_to_float(from + count - 4, to + count - 4);
    } else {
        for (size_t i = 0; i < count; i++)
            to[i] = _cvtsh_ss(from[i]);
    }
}

F16C static void rows_to_half_f16c(const struct rows *r)
{
    for (uint32_t i = 0; i < r->rows; i++)
        to_half_f16c((const void *)(r->from + i * r->from_step), (void *)(r->to + i * r->to_step), r->count);
}

F16C static void rows_to_float_f16c(const struct rows *r)
{
    for (uint32_t i = 0; i < r->rows; i++)
        to_float_f16c((const void *)(r->from + i * r->from_step), (void *)(r->to + i * r->to_step), r->count);
}

static void rows_to_half(const struct rows *r)
{
    if (base_processor_has_f16c())
        rows_to_half_f16c(r);
    else
        rows_to_half_plain(r);
}

static void rows_to_float(const struct rows *r)
{
    if (base_processor_has_f16c())
        rows_to_float_f16c(r);
    else
        rows_to_float_plain(r);
}

#else

static void rows_to_half(const struct rows *r)
{
    rows_to_half_plain(r);
}

static void rows_to_float(const struct rows *r)
{
    rows_to_float_plain(r);
}

#endif

void e5_cast_to_half(const float *from, uint16_t *to, size_t count)
{
    const struct rows one = {(const void *)from, (void *)to, 0, 0, 1, (uint32_t)count};

    rows_to_half(&one);
}

void e5_cast_to_float(const uint16_t *from, float *to, size_t count)
{
    const struct rows one = {(const void *)from, (void *)to, 0, 0, 1, (uint32_t)count};

    rows_to_float(&one);
}

/*
 * Moves of a constant size, which become a few instructions: a call for each row would cost more than short
 * rows do. The last one ends where the row does, so that it may repeat bytes of the one before.
 */
static inline __attribute__((always_inline)) void move_rows(const struct rows *r, size_t bytes, size_t unit)
{
    const size_t from_step = r->from_step, to_step = r->to_step, last = bytes - unit;
    const uint8_t *from = r->from;
    uint8_t *to = r->to;

    for (uint32_t left = r->rows; left; left--, from += from_step, to += to_step) {
        for (size_t at = 0; at < last; at += unit)
            memcpy(to + at, from + at, unit);
        memcpy(to + last, from + last, unit);
    }
}

/* Not for rows that are long enough for a call. */
static void move_short_rows(const struct rows *r, size_t bytes)
{
    if (bytes >= 16)
        move_rows(r, bytes, 16);
    else if (bytes >= 8)
        move_rows(r, bytes, 8);
    else if (bytes >= 4)
        move_rows(r, bytes, 4);
    else if (bytes >= 2)
        move_rows(r, bytes, 2);
    else
        move_rows(r, bytes, 1);
}

static void copy_long_rows(const struct rows *r, size_t bytes)
{
    for (uint32_t i = 0; i < r->rows; i++)
        memcpy(r->to + i * r->to_step, r->from + i * r->from_step, bytes);
}

#if defined(__x86_64__)

__attribute__((target("avx"))) static void move_rows_avx(const struct rows *r, size_t bytes)
{
    move_rows(r, bytes, 32);
}

static void copy_rows(const struct rows *r, size_t bytes)
{
    if (bytes > MOVED_BYTES)
        copy_long_rows(r, bytes);
    else if (bytes >= 32 && base_processor_has_f16c()) /* which means AVX too */
        move_rows_avx(r, bytes);
    else
        move_short_rows(r, bytes);
}

#else

static void copy_rows(const struct rows *r, size_t bytes)
{
    if (bytes > MOVED_BYTES)
        copy_long_rows(r, bytes);
    else
        move_short_rows(r, bytes);
}

#endif

/* The engine's form with as few and as long rows as its strides allow. */
static struct e5_form long_rows(struct e5_form f)
{
    const uint64_t element = e5_type_bytes(f.type);

    if (f.h == 1 || f.row == element * f.w) {
        f.w *= f.h;
        f.h = 1;
    }
    if (f.h == 1 && (f.c == 1 || f.plane == element * f.w)) {
        f.w *= f.c;
        f.c = 1;
    }
    if (f.h == 1 && f.c == 1 && (f.n == 1 || f.batch == element * f.w)) {
        f.w *= f.n;
        f.n = 1;
    }
    return f;
}

/* Planes of one row, and planes that follow each other row by row, are the rows of one plane. */
static struct e5_form fewest_planes(struct e5_form f)
{
    if (f.h == 1)
        f.row = f.plane;
    else if (f.plane != f.row * f.h)
        return f;
    f.h *= f.c;
    f.c = 1;
    return f;
}

void e5_cast_in(const struct e5_layout *layout, const void *packed, void *engine)
{
    const struct e5_form f = fewest_planes(long_rows(layout->form));
    size_t step = e5_type_bytes(layout->type) * (size_t)f.w;
    struct rows r = {.from = packed, .from_step = step, .to_step = (size_t)f.row, .rows = f.h, .count = f.w};

    for (uint32_t n = 0; n < f.n; n++)
        for (uint32_t c = 0; c < f.c; c++, r.from += f.h * step) {
            r.to = (uint8_t *)engine + n * f.batch + c * f.plane;
            if (layout->type == E5_FP32)
                rows_to_half(&r);
            else
                copy_rows(&r, step);
        }
}

void e5_cast_out(const struct e5_layout *layout, const void *engine, void *packed)
{
    const struct e5_form f = fewest_planes(long_rows(layout->form));
    size_t step = e5_type_bytes(layout->type) * (size_t)f.w;
    struct rows r = {.to = packed, .from_step = (size_t)f.row, .to_step = step, .rows = f.h, .count = f.w};

    for (uint32_t n = 0; n < f.n; n++)
        for (uint32_t c = 0; c < f.c; c++, r.to += f.h * step) {
            r.from = (const uint8_t *)engine + n * f.batch + c * f.plane;
            if (layout->type == E5_FP32)
                rows_to_float(&r);
            else
                copy_rows(&r, step);
        }
}
