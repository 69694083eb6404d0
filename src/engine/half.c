/* SPDX-License-Identifier: Apache-2.0 */
/* Half precision as bits. Every NaN is stored as the same bits, whatever instructions convert it. */
#include "engine/half.h"

#include <string.h>

#include "engine/kernels.h"
#include "engine/numerics.h"
#include "protocol/half.h"

static float float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

float eng_half_to_float(uint16_t half)
{
    return float_of_bits(pr_single_of_half(half));
}

/* The datapath has one NaN. */
uint16_t eng_float_to_half(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return (bits & 0x7fffffffu) > 0x7f800000u ? ENG_HALF_NAN : pr_half_of_single(bits);
}

void eng_half_row_to_float(const uint16_t *fp16, float *floats, size_t n)
{
    struct eng_load plain = {.scale = 1};

    eng_kernels_get()->to_float((const uint8_t *)fp16, floats, n, &plain);
}

void eng_float_row_to_half(const float *floats, uint16_t *fp16, size_t n)
{
    eng_kernels_get()->to_half(floats, (uint8_t *)fp16, n, 0);
}
