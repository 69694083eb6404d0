/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Half and single precision as bits, between each other: the one plain conversion. Faster ones are
 * in the rooms that need them and are compared with it.
 */
#ifndef PROTOCOL_HALF_H
#define PROTOCOL_HALF_H

#include "protocol/bits.h"

/* Bit patterns of fp16 values that programs hold. */
#define PR_HALF_ZERO           0x0000u
#define PR_HALF_SMALLEST       0x0001u /* 2^-24, the smallest denormal */
#define PR_HALF_ONE_HALF       0x3800u
#define PR_HALF_LN_2           0x398cu /* nearest to ln 2 */
#define PR_HALF_ONE            0x3c00u
#define PR_HALF_LOG2_E         0x3dc5u /* nearest to 1 / ln 2 */
#define PR_HALF_TWO            0x4000u
#define PR_HALF_512            0x6000u
#define PR_HALF_LARGEST        0x7bffu /* 65504, the largest finite value */
#define PR_HALF_INFINITE       0x7c00u /* also the mask of the exponent */
#define PR_HALF_SIGN           0x8000u /* the sign bit; alone, minus zero */
#define PR_HALF_MINUS_ONE      0xbc00u
#define PR_HALF_MINUS_TWO      0xc000u
#define PR_HALF_MINUS_INFINITE 0xfc00u

/* Exact. A NaN keeps sign and payload and becomes quiet. */
static inline uint32_t pr_single_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;

    if (exponent == 0x1f)
        return sign | 0x7f800000 | (mantissa ? 0x400000 | mantissa << 13 : 0);
    if (exponent)
        return sign | (exponent + 112) << 23 | mantissa << 13;
    if (!mantissa)
        return sign;
    for (exponent = 113; !(mantissa & 0x400); exponent--)
        mantissa <<= 1;
    return sign | exponent << 23 | (mantissa & 0x3ff) << 13;
}

/* value / 2^shift, rounded half to even. */
static inline uint32_t pr_shift_to_even(uint32_t value, unsigned shift)
{
    return (value + (1u << (shift - 1)) - 1 + (value >> shift & 1)) >> shift;
}

/* Rounded once, half to even; 65520 and above is infinite. A NaN keeps sign and payload and becomes quiet. */
static inline uint16_t pr_half_of_single(uint32_t single)
{
    uint32_t sign = single >> 16 & 0x8000, magnitude = single & 0x7fffffff;

    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x477ff000)
        return (uint16_t)(sign | 0x7c00);
    /* A carry out of the fraction raises the exponent, as it should. */
    if (magnitude >= 0x38800000)
        return (uint16_t)(sign | pr_shift_to_even(magnitude - 0x38000000, 13));
    /* Denormal: the fraction with its hidden one, in units of 2^-24. Values below 2^-25 become zero. */
    if (magnitude < 0x33000000)
        return (uint16_t)sign;
    return (uint16_t)(sign | pr_shift_to_even((magnitude & 0x7fffff) | 0x800000, 126 - (magnitude >> 23)));
}

/* A whole number between -255 and 255: exact. */
static inline uint16_t pr_half_of_int(int value)
{
    uint32_t magnitude = (uint32_t)(value < 0 ? -value : value), exponent = 25;

    if (!magnitude)
        return 0;
    for (; !(magnitude & 0x400); exponent--)
        magnitude <<= 1;
    return (uint16_t)((value < 0 ? 0x8000u : 0u) | exponent << 10 | (magnitude & 0x3ff));
}

#endif
