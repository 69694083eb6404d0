/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 of sixteen ranges at once, a lane of a vector register each. */
#ifndef BASE_HASH_LANES_H
#define BASE_HASH_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BASE_HASH_LANES 16u

/* Whether the processor has what base_hash_lanes takes. */
bool base_hash_lanes_here(void);
/*
 * The states (FIPS 180-4, eight words each) of the ranges at from, from + stride, ... after `blocks` whole
 * blocks of each; `state` has the states before. Only where base_hash_lanes_here says so.
 */
void base_hash_lanes(uint32_t state[8][BASE_HASH_LANES], const uint8_t *from, size_t stride, size_t blocks);

#endif
