/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Half precision (fp16) as bits. A NaN keeps its sign and payload and becomes quiet when it is read; whatever
 * it was, it is written as 0x7e00, so that two paths cannot differ in what the processor does to the bits of
 * a NaN.
 */
#ifndef ENGINE_HALF_H
#define ENGINE_HALF_H

#include <stddef.h>
#include <stdint.h>

#define ENG_HALF_SIGN       0x8000u
#define ENG_HALF_MAGNITUDE  0x7fffu
#define ENG_HALF_INFINITY   0x7c00u
#define ENG_HALF_NAN        0x7e00u
#define ENG_HALF_MIN_NORMAL 0x0400u

/* Exact. */
float eng_half_to_float(uint16_t half);
/* Rounded once, half to even; too large becomes infinite. */
uint16_t eng_float_to_half(float value);

/* The same for rows, with the best instructions available. No byte outside [0, n) is touched. */
void eng_half_row_to_float(const uint16_t *fp16, float *floats, size_t n);
void eng_float_row_to_half(const float *floats, uint16_t *fp16, size_t n);

#endif
