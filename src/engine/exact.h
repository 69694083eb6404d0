/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sum of products as `m1-exact` makes it: products on a grid of 2^-17, four lanes at a time, in a
 * fixed-point accumulator of +-2^15. An inference from published figures (docs/provenance.md); slow, and the
 * oracle for what the engine's own sums look like.
 */
#ifndef ENGINE_EXACT_H
#define ENGINE_EXACT_H

#include <stdbool.h>
#include <stdint.h>

struct eng_exact {
    int64_t sum;   /* of whole groups, in units of 2^-17 */
    int64_t group; /* of the lanes of the group under way */
    unsigned lane;
    float special; /* infinite or a NaN, once one has been met; else 0 */
};

void eng_exact_begin(struct eng_exact *exact);
/* Operands as fp16 values, already loaded by the rules of the site. */
void eng_exact_add(struct eng_exact *exact, float x, float weight);
/* The sum; infinite when it, or a partial sum, reached 2^15. */
float eng_exact_end(struct eng_exact *exact);

#endif
