/* SPDX-License-Identifier: Apache-2.0 */
/* Half precision as bits. */
#include "engine/half.h"

#include <string.h>

#include "engine/kernels.h"
#include "engine/numerics.h"

#define FLOAT_QUIET_NAN       0x7fc00000u
#define FLOAT_INFINITY        0x7f800000u
#define FLOAT_MIN_HALF_NORMAL 0x38800000u /* 2^-14 */
#define FLOAT_HALF_OVERFLOW \
    0x477ff000u /* 65520: the midpoint of 65504 and 2^16, which ties to even and so upwards */

static float float_of_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

float eng_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & ENG_HALF_SIGN) << 16;
    uint32_t magnitude = half & ENG_HALF_MAGNITUDE;
    uint32_t exponent;

    if (magnitude > ENG_HALF_INFINITY)
        return float_of_bits(sign | FLOAT_QUIET_NAN | magnitude << 13);
    if (magnitude == ENG_HALF_INFINITY)
        return float_of_bits(sign | FLOAT_INFINITY);
    if (magnitude == 0)
        return float_of_bits(sign);
    /* A denormal is shifted up until its leading one is where a normal number has its hidden one. */
    exponent = 127 - 15;
    if (magnitude < ENG_HALF_MIN_NORMAL) {
        unsigned shift = (unsigned)__builtin_clz(magnitude) - 21;

        magnitude = (magnitude << shift) & 0x3ffu;
        exponent = exponent + 1 - shift;
    }
    return float_of_bits(sign | ((exponent << 23) + (magnitude << 13)));
}

/* value / 2^shift, rounded half to even. */
static uint32_t shift_to_even(uint32_t value, unsigned shift)
{
    uint32_t half = 1u << (shift - 1);
    uint32_t odd = value >> shift & 1;

    return (value + half - 1 + odd) >> shift;
}

uint16_t eng_float_to_half(float value)
{
    uint32_t bits, sign, magnitude;

    memcpy(&bits, &value, sizeof(bits));
    sign = bits >> 16 & ENG_HALF_SIGN;
    magnitude = bits & 0x7fffffffu;
    if (magnitude > FLOAT_INFINITY)
        return ENG_HALF_NAN;
    if (magnitude >= FLOAT_HALF_OVERFLOW)
        return (uint16_t)(sign | ENG_HALF_INFINITY);
    /* A carry out of the fraction raises the exponent, as it should. */
    if (magnitude >= FLOAT_MIN_HALF_NORMAL)
        return (uint16_t)(sign | shift_to_even(magnitude - ((127u - 15u) << 23), 13));
    /* Denormal: the fraction with its hidden one, in units of 2^-24. Below 2^-25 nothing is left. */
    if (magnitude >> 23 < 127 - 25)
        return (uint16_t)sign;
    return (uint16_t)(sign | shift_to_even((magnitude & 0x7fffffu) | 0x800000u, 126 - (magnitude >> 23)));
}

void eng_half_row_to_float(const uint16_t *halfs, float *floats, size_t n)
{
    struct eng_load plain = {.scale = 1};

    eng_kernels_get()->to_float((const uint8_t *)halfs, floats, n, &plain);
}

void eng_float_row_to_half(const float *floats, uint16_t *halfs, size_t n)
{
    eng_kernels_get()->to_half(floats, (uint8_t *)halfs, n, 0);
}
