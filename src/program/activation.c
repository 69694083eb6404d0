/* SPDX-License-Identifier: Apache-2.0 */
/* Activation tables. Only a known code, an exponent that fits it and zeros after the code are accepted. */
#include "program/activation.h"

#include <stddef.h>

#include "base/array.h"
#include "protocol/half.h"

enum { CODE_CENTRED = 0x01, CODE_BELOW = 0x02, CODE_ODD = 0x60 };
enum { NO_KNOTS = 0x40 }; /* knots 2^-64 apart: only 0 is on one */

static const struct pr_activation_form forms[] = {
    {CODE_CENTRED, "plain, centred on 0", PR_ACTIVATION_PLAIN, false, false, -16, PR_ACTIVATION_ANY},
    {CODE_BELOW, "plain, below 0", PR_ACTIVATION_PLAIN, false, false, -32, PR_ACTIVATION_ANY},
    {CODE_ODD, "odd", PR_ACTIVATION_PLAIN, true, false, 0, PR_ACTIVATION_ANY},
    {0x63, "fraction", PR_ACTIVATION_FRACTION, true, false, 0, PR_ACTIVATION_ANY},
    {0x64, "truncation", PR_ACTIVATION_TRUNCATE, true, false, 0, PR_ACTIVATION_ANY},
    {0x67, "reciprocal", PR_ACTIVATION_RECIPROCAL, true, false, 32, 6},
    {0xc5, "square root", PR_ACTIVATION_SQRT, false, true, 0, 4},
    {0xc6, "reciprocal of the square root", PR_ACTIVATION_RSQRT, false, true, 0, 4},
    {0xc9, "log2", PR_ACTIVATION_LOG2, false, true, 32, 6},
    {0x0a, "exp2", PR_ACTIVATION_EXP2, false, false, 0, 5},
};

void pr_activation_read(uint16_t half[PR_TABLE_VALUES], const uint8_t *bytes)
{
    for (unsigned i = 0; i < PR_TABLE_VALUES; i++)
        half[i] = (uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
}

const struct pr_activation_form *pr_activation_form(uint32_t code)
{
    for (unsigned i = 0; i < BASE_COUNT_OF(forms); i++)
        if (forms[i].code == code)
            return &forms[i];
    return NULL;
}

bool pr_activation_check(const uint16_t half[PR_TABLE_VALUES], struct pr_problem *problem)
{
    const struct pr_activation_form *form = pr_activation_form(half[PR_AT_CODE]);
    int shift = (int16_t)half[PR_AT_SHIFT];

    if (!form)
        return pr_problem_set(problem, PR_PROBLEM_UNSUPPORTED,
                              "The activation table's code (half 42) is %x, which is in no known table.",
                              (unsigned)half[PR_AT_CODE]);
    if (shift < PR_ACTIVATION_SHIFT_MIN || shift > PR_ACTIVATION_SHIFT_MAX)
        return pr_problem_set(problem, PR_PROBLEM_UNSUPPORTED,
                              "The activation table's knots are 2^-s apart with s = %d (half 41); from %d to "
                              "%d is supported.",
                              shift, PR_ACTIVATION_SHIFT_MIN, PR_ACTIVATION_SHIFT_MAX);
    if (form->shift != PR_ACTIVATION_ANY && form->shift != shift)
        return pr_problem_set(problem, PR_PROBLEM_UNSUPPORTED,
                              "The activation table's code %x is known with exponent %d (half 41) alone, "
                              "not with %d.",
                              (unsigned)half[PR_AT_CODE], form->shift, shift);
    for (unsigned i = PR_AT_ZEROS; i < PR_TABLE_VALUES; i++)
        if (half[i])
            return pr_problem_set(problem, PR_PROBLEM_UNEXPLAINED_BITS,
                                  "Half %u of the activation table is %x; after the code (half 42) all "
                                  "known tables have zeros.",
                                  i, (unsigned)half[i]);
    return true;
}

/* Two lines that meet at 0, between clamps. */
static const char *guess_lines(const uint16_t *half)
{
    if (half[PR_AT_LOW_SLOPE] == PR_HALF_ZERO && half[PR_AT_HIGH_SLOPE] == PR_HALF_ZERO)
        return half[PR_AT_CODE] == CODE_ODD ? "sign" : "step at 0";
    if (half[PR_AT_LOW_SLOPE] == PR_HALF_ONE && half[PR_AT_HIGH_SLOPE] == PR_HALF_ONE)
        return half[PR_AT_LOW] == PR_HALF_ZERO && half[PR_AT_HIGH] == PR_HALF_INFINITE ? "ReLU" : "clamp";
    return half[PR_AT_HIGH_SLOPE] == PR_HALF_ONE ? "leaky ReLU" : "two lines";
}

static const char *guess_centred(const uint16_t *half)
{
    if (half[PR_AT_BELOW] == PR_HALF_ZERO && half[PR_AT_ABOVE] == PR_HALF_ONE)
        return "sigmoid-like";
    if (half[PR_AT_ABOVE] == PR_HALF_INFINITE && half[PR_AT_HIGH_SLOPE] == PR_HALF_ONE)
        return "GELU- or SiLU-like";
    return "plain table";
}

static const char *guess_odd(const uint16_t *half)
{
    if (half[PR_AT_ABOVE] == PR_HALF_ONE && half[PR_AT_KNOTS] == PR_HALF_ZERO)
        return "tanh-like";
    return half[PR_AT_ABOVE] == PR_HALF_ONE_HALF ? "sigmoid minus one half" : "odd function";
}

const char *pr_activation_guess(const uint16_t half[PR_TABLE_VALUES])
{
    const struct pr_activation_form *form = pr_activation_form(half[PR_AT_CODE]);

    if (!form)
        return "unknown";
    if (half[PR_AT_SHIFT] == NO_KNOTS && (form->code == CODE_CENTRED || form->code == CODE_ODD))
        return guess_lines(half);
    switch (form->code) {
    case CODE_CENTRED: return guess_centred(half);
    case CODE_BELOW: return "ELU-like";
    case CODE_ODD: return guess_odd(half);
    default: return form->name;
    }
}
