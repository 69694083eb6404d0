/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of the numbers: one table, and each rule applied to one value. These functions are the reference:
 * the vector kernels apply the same rules, not always in the same order, and must give the same bits. A rule
 * changes only with a source, and with docs/numbers.md.
 */
#include "engine/numerics.h"

#include <math.h>
#include <string.h>

#include "engine/half.h"

/*
 * Measured on devices, except where docs/provenance.md says inferred or chosen.
 *
 * That the planar engine counts an infinity as 2^16 is inferred: the logarithm of +0 is published as -45440,
 * which is -65536 times the fp16 value nearest to ln 2 (0.693359375), and its program takes log2 from a table
 * (-inf at 0) before the planar engine multiplies by that value. The same rule gives the published results of
 * inf - inf and 0 * inf, which are both +0.
 */
#define LOAD    ENG_RULE_NAN_IS_INFINITY
#define PE_LOAD (LOAD | ENG_RULE_FINITE_INFINITY)
#define MAC     (ENG_RULE_NO_DENORMALS | ENG_RULE_CEILING)
#define STORE   (ENG_RULE_NAN_IS_ZERO | ENG_RULE_NO_MINUS_ZERO)

#define M1_RULES                                                                                        \
    {                                                                                                   \
        [ENG_KIND_PE_ELEMENTWISE] = {PE_LOAD, 0, STORE}, [ENG_KIND_PE_REDUCTION] = {PE_LOAD, 0, STORE}, \
        [ENG_KIND_NE_BYPASS] = {LOAD, 0, STORE}, [ENG_KIND_NE_FOLD] = {LOAD, 0, STORE},                 \
        [ENG_KIND_NE_MAC] = {LOAD, MAC, STORE | MAC},                                                   \
        [ENG_KIND_NE_MAC_SINGLE] = {LOAD, ENG_RULE_NO_DENORMALS, STORE | ENG_RULE_NO_DENORMALS},        \
    }

const struct eng_rules eng_rules_table[ENG_POLICIES][ENG_KINDS] = {
    [ENG_M1] = M1_RULES, [ENG_M1_EXACT] = M1_RULES,
    /* [ENG_IEEE]: no rules at all. */
};

/*
 * The ceiling of a stored result is decided after rounding to fp16: 32752 is the largest fp16 value below
 * 2^15, and whatever rounds to 2^15 is infinite. Deciding before rounding would let 32760 out as 32768, a
 * value the device was never seen to give.
 */
#define HALF_CEILING 0x7800u /* 2^15 */

float eng_relu(float value)
{
    return value <= ENG_BELOW_ZERO ? 0 : value;
}

float eng_load_value(uint16_t half, unsigned rules)
{
    float value = eng_half_to_float(half);

    if (isnan(value) && rules & ENG_RULE_NAN_IS_INFINITY)
        value = INFINITY;
    if (fabsf(value) >= ENG_SLICE_CEILING && rules & ENG_RULE_SLICE)
        value = copysignf(INFINITY, value);
    if (isinf(value) && rules & ENG_RULE_FINITE_INFINITY)
        return copysignf(ENG_FINITE_INFINITY, value);
    if (fabsf(value) < ENG_SMALLEST_NORMAL && rules & ENG_RULE_NO_DENORMALS)
        return 0;
    return value;
}

float eng_mac_value(float sum, float x, float weight, unsigned rules)
{
    sum = fmaf(x, weight, sum);
    if (fabsf(sum) >= ENG_CEILING && rules & ENG_RULE_CEILING)
        return copysignf(INFINITY, sum);
    return sum;
}

uint16_t eng_store_value(float value, unsigned rules)
{
    uint16_t half = eng_float_to_half(value);
    uint16_t sign = half & ENG_HALF_SIGN, magnitude = half & ENG_HALF_MAGNITUDE;

    if (magnitude > ENG_HALF_INFINITY)
        return rules & ENG_RULE_NAN_IS_ZERO ? 0 : half;
    if (magnitude >= HALF_CEILING && rules & ENG_RULE_CEILING)
        return sign | ENG_HALF_INFINITY;
    if (magnitude < ENG_HALF_MIN_NORMAL && rules & ENG_RULE_NO_DENORMALS)
        return 0;
    if (magnitude == 0 && rules & ENG_RULE_NO_MINUS_ZERO)
        return 0;
    return half;
}

float eng_constant(uint16_t half, unsigned load_rules)
{
    return eng_load_value(half, load_rules);
}

float eng_constant_addend(uint16_t half, unsigned load_rules)
{
    return half & ENG_HALF_MAGNITUDE ? eng_load_value(half, load_rules) : -0.0f;
}

float eng_constant_fp32(uint32_t bits, unsigned load_rules)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    if (isnan(value) && load_rules & ENG_RULE_NAN_IS_INFINITY)
        value = INFINITY;
    if (isinf(value) && load_rules & ENG_RULE_FINITE_INFINITY)
        return copysignf(ENG_FINITE_INFINITY, value);
    return value;
}

float eng_max(float a, float b)
{
    return a > b || isnan(b) ? a : b;
}

float eng_min(float a, float b)
{
    return a < b || isnan(b) ? a : b;
}
