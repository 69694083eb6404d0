/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers: which rule applies at source load, in the multiply-accumulate and at store, per kind of
 * operation and policy.
 *
 * Tensors are fp16, arithmetic is fp32, and a result is rounded once, half to even, at the store. `m1` adds
 * the edges that were measured on the engine; `ieee` adds none; `m1-exact` is `m1` with sums of products made
 * as exact.h says.
 */
#ifndef ENGINE_NUMERICS_H
#define ENGINE_NUMERICS_H

#include <stdbool.h>
#include <stdint.h>

enum eng_policy { ENG_M1, ENG_IEEE, ENG_M1_EXACT, ENG_POLICIES };

enum eng_kind {
    ENG_KIND_PE_ELEMENTWISE,
    ENG_KIND_PE_REDUCTION,
    ENG_KIND_NE_BYPASS,
    ENG_KIND_NE_FOLD, /* the largest of, or the product of, a window's elements */
    ENG_KIND_NE_MAC,
    ENG_KIND_NE_MAC_SINGLE, /* one input channel and a kernel of one tap: no accumulation, so no ceiling */
    ENG_KINDS
};

enum eng_rule {
    ENG_RULE_NAN_IS_INFINITY = 1,  /* load: a NaN reads as +inf */
    ENG_RULE_NAN_IS_ZERO = 2,      /* store: an indeterminate form (inf - inf, 0 * inf) is written as +0 */
    ENG_RULE_NO_MINUS_ZERO = 4,    /* store: -0 is written as +0 */
    ENG_RULE_NO_DENORMALS = 8,     /* MAC operands and MAC results: an fp16 denormal is +0 */
    ENG_RULE_CEILING = 16,         /* MAC partial sums and MAC results: 2^15 and above is infinite */
    ENG_RULE_FINITE_INFINITY = 32, /* load: an infinity counts as 2^16, so that inf - inf and 0 * inf are 0 */
    ENG_RULE_SLICE = 64,           /* load of a row from an offset inside it: 2^12 and above is infinite */
};

struct eng_rules {
    unsigned load; /* every element and constant as it is read */
    unsigned mac;  /* operands of products and the kernel's bias row (no denormals), partial sums (ceiling) */
    unsigned store; /* every element as it is written */
};

extern const struct eng_rules eng_rules_table[ENG_POLICIES][ENG_KINDS]; /* [policy][kind] */

/* The rules, one value at a time: what the reference uses. */
#define ENG_CEILING         32768.0f
#define ENG_SMALLEST_NORMAL 0x1p-14f /* of fp16 */
#define ENG_SLICE_CEILING   0x1p12f
#define ENG_FINITE_INFINITY 0x1p16f
/*
 * The first number below zero. ReLU compares with it, and not with 0, because clang 14 for AArch64 makes a
 * maximum out of `v < 0 ? 0 : v`, and of -0 and 0 that instruction gives 0.
 */
#define ENG_BELOW_ZERO (-0x1p-149f)
float eng_relu(float value);
float eng_load_value(uint16_t half, unsigned rules);
float eng_mac_value(float sum, float x, float weight, unsigned rules);
uint16_t eng_store_value(float value, unsigned rules);

/* A constant of the task. As an addend, a zero of either sign is -0, because x + -0 is x for every x. */
float eng_constant(uint16_t half, unsigned load_rules);
float eng_constant_addend(uint16_t half, unsigned load_rules);
float eng_constant_fp32(uint32_t bits, unsigned load_rules);

/* The larger (smaller) one; a NaN loses against a number; of two equal ones the second. */
float eng_max(float a, float b);
float eng_min(float a, float b);

/* How the fast path reads elements: by the rules, with ReLU applied, times a power of two. */
struct eng_load {
    unsigned rules;
    bool relu;
    float scale;
};

#endif
