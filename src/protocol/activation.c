/* SPDX-License-Identifier: Apache-2.0 */
/* Activation tables as their halfwords say them. */
#include "protocol/activation.h"

#include <stddef.h>

enum { HALF_ZERO = 0, HALF_HALF = 0x3800, HALF_ONE = 0x3c00, HALF_INFINITE = 0x7c00 };
enum { CODE_CENTRED = 0x01, CODE_BELOW = 0x02, CODE_ODD = 0x60 };
enum { NO_KNOTS = 0x40 }; /* knots 2^-64 apart: only 0 is on one */

static uint16_t half_at(const uint8_t *bytes, unsigned index)
{
    return (uint16_t)(bytes[2 * index] | bytes[2 * index + 1] << 8);
}

void pr_activation_read(struct pr_activation *a, const uint8_t *bytes)
{
    a->x_low = half_at(bytes, 0);
    a->x_high = half_at(bytes, 1);
    a->y_low = half_at(bytes, 2);
    a->y_high = half_at(bytes, 3);
    for (unsigned i = 0; i < PR_ACTIVATION_KNOTS; i++)
        a->knot[i] = half_at(bytes, 4 + i);
    a->low_slope = half_at(bytes, 37);
    a->low_intercept = half_at(bytes, 38);
    a->high_slope = half_at(bytes, 39);
    a->high_intercept = half_at(bytes, 40);
    a->shift = half_at(bytes, 41);
    a->code = half_at(bytes, 42);
}

const char *pr_activation_form(uint32_t code)
{
    switch (code) {
#define X(number, name) \
    case number: return name;
        PR_ACTIVATION_FORMS(X)
#undef X
    default: return NULL;
    }
}

/* Two lines that meet at 0, between clamps. */
static const char *guess_lines(const struct pr_activation *a)
{
    bool flat = a->low_slope == HALF_ZERO && a->high_slope == HALF_ZERO;

    if (flat)
        return a->code == CODE_ODD ? "sign" : "step at 0";
    if (a->low_slope == HALF_ONE && a->high_slope == HALF_ONE)
        return a->x_low == HALF_ZERO && a->x_high == HALF_INFINITE ? "ReLU" : "clamp";
    return a->high_slope == HALF_ONE ? "leaky ReLU" : "two lines";
}

static const char *guess_centred(const struct pr_activation *a)
{
    if (a->y_low == HALF_ZERO && a->y_high == HALF_ONE)
        return "sigmoid-like";
    if (a->y_high == HALF_INFINITE && a->high_slope == HALF_ONE)
        return "GELU- or SiLU-like";
    return "plain table";
}

static const char *guess_odd(const struct pr_activation *a)
{
    if (a->y_high == HALF_ONE && a->knot[0] == HALF_ZERO)
        return "tanh-like";
    return a->y_high == HALF_HALF ? "sigmoid less one half" : "odd function";
}

const char *pr_activation_guess(const struct pr_activation *a)
{
    const char *form = pr_activation_form(a->code);

    if (!form)
        return "unknown";
    if (a->shift == NO_KNOTS && (a->code == CODE_CENTRED || a->code == CODE_ODD))
        return guess_lines(a);
    switch (a->code) {
    case CODE_CENTRED: return guess_centred(a);
    case CODE_BELOW: return "ELU-like";
    case CODE_ODD: return guess_odd(a);
    default: return form;
    }
}
