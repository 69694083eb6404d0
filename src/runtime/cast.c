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

F16C static inline void to_half_f16c(const float *from, uint16_t *to, size_t count)
{
    size_t i = 0;

    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < count; i++)
        to[i] = _cvtss_sh(from[i], _MM_FROUND_TO_NEAREST_INT);
}

F16C static inline void to_float_f16c(const uint16_t *from, float *to, size_t count)
{
    size_t i = 0;

    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
    for (; i < count; i++)
        to[i] = _cvtsh_ss(from[i]);
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

/* A constant size becomes a few moves: short rows are mostly of one of these. */
static void copy_rows(const struct rows *r, size_t bytes)
{
    for (uint32_t i = 0; i < r->rows; i++) {
        uint8_t *to = r->to + i * r->to_step;
        const uint8_t *from = r->from + i * r->from_step;

        switch (bytes) {
        case 1: *to = *from; break;
        case 2: memcpy(to, from, 2); break;
        case 16: memcpy(to, from, 16); break;
        case 32: memcpy(to, from, 32); break;
        case 64: memcpy(to, from, 64); break;
        default: memcpy(to, from, bytes); break;
        }
    }
}

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

/* Planes of one row are the rows of one plane. */
static struct e5_form fewest_planes(struct e5_form f)
{
    if (f.h != 1)
        return f;
    f.h = f.c;
    f.row = f.plane;
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
