/* SPDX-License-Identifier: Apache-2.0 */
/* fp16 values of constants: the compiler works on bit patterns and has no datapath of its own. */
#ifndef COMPILER_HALF_H
#define COMPILER_HALF_H

#include <stdint.h>
#include <string.h>

#include "protocol/half.h"

static inline uint32_t cc_float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static inline uint16_t cc_half_of_float(float value)
{
    return pr_half_of_single(cc_float_bits(value));
}

static inline float cc_float_of_half(uint16_t half)
{
    uint32_t bits = pr_single_of_half(half);
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline void cc_put_half(uint8_t *at, uint16_t half)
{
    at[0] = (uint8_t)half;
    at[1] = (uint8_t)(half >> 8);
}

#endif
