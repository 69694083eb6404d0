/* SPDX-License-Identifier: Apache-2.0 */
/* Casts. The processor's own row functions and the plain ones give the same bits. */
#include "runtime/cast.h"

#include <string.h>

#include "base/processor.h"
#include "protocol/half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define SHORT_ROW 8u

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

#if defined(__x86_64__)

__attribute__((target("avx,f16c"))) static void to_half_f16c(const float *from, uint16_t *to, size_t count)
{
    size_t i = 0;

    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
    e5_cast_to_half_reference(from + i, to + i, count - i);
}

__attribute__((target("avx,f16c"))) static void to_float_f16c(const uint16_t *from, float *to, size_t count)
{
    size_t i = 0;

    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
    e5_cast_to_float_reference(from + i, to + i, count - i);
}

void e5_cast_to_half(const float *from, uint16_t *to, size_t count)
{
    if (count >= SHORT_ROW && base_processor_has_f16c())
        to_half_f16c(from, to, count);
    else
        e5_cast_to_half_reference(from, to, count);
}

void e5_cast_to_float(const uint16_t *from, float *to, size_t count)
{
    if (count >= SHORT_ROW && base_processor_has_f16c())
        to_float_f16c(from, to, count);
    else
        e5_cast_to_float_reference(from, to, count);
}

#else

void e5_cast_to_half(const float *from, uint16_t *to, size_t count)
{
    e5_cast_to_half_reference(from, to, count);
}

void e5_cast_to_float(const uint16_t *from, float *to, size_t count)
{
    e5_cast_to_float_reference(from, to, count);
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

void e5_cast_in(const struct e5_layout *layout, const void *packed, void *engine)
{
    const struct e5_form f = long_rows(layout->form);
    const uint8_t *from = packed;
    size_t step = e5_type_bytes(layout->type) * (size_t)f.w;

    for (uint32_t n = 0; n < f.n; n++)
        for (uint32_t c = 0; c < f.c; c++)
            for (uint32_t h = 0; h < f.h; h++, from += step) {
                void *row = (uint8_t *)engine + n * f.batch + c * f.plane + h * f.row;

                if (layout->type == E5_FP32)
                    e5_cast_to_half((const void *)from, row, f.w);
                else
                    memcpy(row, from, step);
            }
}

void e5_cast_out(const struct e5_layout *layout, const void *engine, void *packed)
{
    const struct e5_form f = long_rows(layout->form);
    uint8_t *to = packed;
    size_t step = e5_type_bytes(layout->type) * (size_t)f.w;

    for (uint32_t n = 0; n < f.n; n++)
        for (uint32_t c = 0; c < f.c; c++)
            for (uint32_t h = 0; h < f.h; h++, to += step) {
                const void *row = (const uint8_t *)engine + n * f.batch + c * f.plane + h * f.row;

                if (layout->type == E5_FP32)
                    e5_cast_to_float(row, (void *)to, f.w);
                else
                    memcpy(to, row, step);
            }
}
