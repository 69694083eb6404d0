/* SPDX-License-Identifier: Apache-2.0 */
/* Halfs for constants: the compiler works on bits and has no datapath of its own. */
#ifndef COMPILER_HALF_H
#define COMPILER_HALF_H

#include <stdint.h>
#include <string.h>

#define CC_HALF_ONE  0x3c00u
#define CC_HALF_SIGN 0x8000u

/* Rounded once, half to even; a NaN keeps its sign and becomes quiet. */
static inline uint16_t cc_half_of_float(float value)
{
    uint32_t bits, sign, magnitude, rest;
    int shift;

    memcpy(&bits, &value, sizeof(bits));
    sign = bits >> 16 & CC_HALF_SIGN;
    magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) /* 65520 rounds up to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude >= 0x38800000u) { /* normal halfs */
        magnitude -= 0x38000000u;
        rest = magnitude & 0x1fffu;
        magnitude >>= 13;
        return (uint16_t)(sign | (magnitude + (rest > 0x1000u || (rest == 0x1000u && magnitude & 1))));
    }
    if (magnitude < 0x33000000u) /* below half of the smallest */
        return (uint16_t)sign;
    shift = 126 - (int)(magnitude >> 23);
    magnitude = (magnitude & 0x7fffffu) | 0x800000u;
    rest = magnitude & ((1u << shift) - 1);
    magnitude >>= shift;
    return (uint16_t)(sign | (magnitude +
                              (rest > 1u << (shift - 1) || (rest == 1u << (shift - 1) && magnitude & 1))));
}

#endif
