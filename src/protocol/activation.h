/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An activation table as its 64 halfwords say it: clamps, knots, tails, the exponent of the knots' distance and the code of its form.
 * Source: engine facts 4.4 and oracle facts 4.5. The arithmetic is the engine's.
 */
#ifndef PROTOCOL_ACTIVATION_H
#define PROTOCOL_ACTIVATION_H

#include "protocol/bits.h"

#define PR_ACTIVATION_KNOTS 33u

/* X(code, name): the codes of halfword 42 that public tables have. */
#define PR_ACTIVATION_FORMS(X)               \
    X(0x01, "plain, centred on 0")           \
    X(0x02, "plain, below 0")                \
    X(0x0a, "exp2")                          \
    X(0x60, "odd")                           \
    X(0x63, "fraction")                      \
    X(0x64, "truncation")                    \
    X(0x67, "reciprocal")                    \
    X(0xc5, "square root")                   \
    X(0xc6, "reciprocal of the square root") \
    X(0xc9, "log2")

/* fp16 bits, but for the last two. */
struct pr_activation {
    uint16_t x_low, x_high, y_low, y_high; /* clamps, and the values beyond them */
    uint16_t knot[PR_ACTIVATION_KNOTS];
    uint16_t low_slope, low_intercept, high_slope, high_intercept;
    uint16_t shift; /* knots are 2^-shift apart */
    uint16_t code;
};

/* Reads 128 bytes. */
void pr_activation_read(struct pr_activation *activation, const uint8_t *bytes);
/* The form's name, or NULL when no public table has the code. */
const char *pr_activation_form(uint32_t code);
/* What function it seems to be, in a few words: by its code, or by clamps, tails and centre. */
const char *pr_activation_guess(const struct pr_activation *activation);

#endif
