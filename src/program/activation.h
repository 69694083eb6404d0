/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An activation table as its 64 halfwords say it: clamps, knots, tails, the exponent of the knots' distance
 * and the code of its form. Source: engine facts 4.4 and oracle facts 4.5. The arithmetic is the engine's.
 */
#ifndef PROGRAM_ACTIVATION_H
#define PROGRAM_ACTIVATION_H

#include "program/kernel.h"

#define PR_ACTIVATION_KNOTS 33u

/* Indices of the halfwords. */
enum {
    PR_AT_LOW,   /* clamps: x at or below this ... */
    PR_AT_HIGH,  /* ... at or above this */
    PR_AT_BELOW, /* has these values */
    PR_AT_ABOVE,
    PR_AT_KNOTS,
    PR_AT_LOW_SLOPE = PR_AT_KNOTS + (int)PR_ACTIVATION_KNOTS, /* tails, between a clamp and the knots */
    PR_AT_LOW_INTERCEPT,
    PR_AT_HIGH_SLOPE,
    PR_AT_HIGH_INTERCEPT,
    PR_AT_SHIFT, /* knots are 2^-shift apart; signed */
    PR_AT_CODE,
    PR_AT_ZEROS, /* from here on */
};

/* How x is brought into the knots' domain and the value back. */
enum pr_activation_kind {
    PR_ACTIVATION_PLAIN,      /* as it is */
    PR_ACTIVATION_SQRT,       /* x = m * 4^e, m in [0.5, 2): f(m) * 2^e */
    PR_ACTIVATION_RSQRT,      /* the same: f(m) * 2^-e */
    PR_ACTIVATION_RECIPROCAL, /* x = m * 2^e, m in [0.5, 1): f(m) * 2^-e */
    PR_ACTIVATION_LOG2,       /* the same: f(m) + e */
    PR_ACTIVATION_EXP2,       /* x = e + r, r in [0, 1): f(r) * 2^e */
    PR_ACTIVATION_FRACTION,   /* x - trunc(x); no knots */
    PR_ACTIVATION_TRUNCATE,   /* trunc(x); no knots */
};

/*
 * The codes of all known tables. Other combinations of their bits (0x60 odd, 0xc0 positive only, the function
 * below) are in no sample. The range reductions are known with the one shift that fits their domain.
 */
struct pr_activation_form {
    uint16_t code;
    const char *name;
    enum pr_activation_kind kind;
    bool odd;      /* f(-x) = -f(x): the knots are for |x| */
    bool positive; /* below zero the value is +0 */
    int first;     /* the first knot, counted in knots from x = 0 */
    int shift;     /* the only one known, or PR_ACTIVATION_ANY */
};
#define PR_ACTIVATION_ANY       0x7fff
#define PR_ACTIVATION_SHIFT_MIN (-16) /* chosen; every shift in samples is between these */
#define PR_ACTIVATION_SHIFT_MAX 64

/* The form of a code, or NULL when no public table has it. */
const struct pr_activation_form *pr_activation_form(uint32_t code);
/* Whether the engine can run it. False with a problem that names the halfword. */
bool pr_activation_check(const uint16_t half[PR_TABLE_VALUES], struct pr_problem *problem);
/* What function it seems to be, in a few words: by its code, or by clamps, tails and centre. */
const char *pr_activation_guess(const uint16_t half[PR_TABLE_VALUES]);
/* From 128 bytes. */
void pr_activation_read(uint16_t half[PR_TABLE_VALUES], const uint8_t *bytes);

#endif
