/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between a port's own form, packed row-major, and the engine's rows. Elements are copied; fp32, which the
 * engine has not, becomes fp16: round half to even, overflow to infinity, a NaN stays one (quiet, with the
 * high bits of its payload).
 */
#ifndef RUNTIME_CAST_H
#define RUNTIME_CAST_H

#include <stddef.h>

#include "runtime/layout.h"

void e5_cast_in(const struct e5_layout *layout, const void *packed, void *engine);
void e5_cast_out(const struct e5_layout *layout, const void *engine, void *packed);

/* Rows: what this processor does best, and the plain form it equals bit for bit. */
void e5_cast_to_half(const float *from, uint16_t *to, size_t count);
void e5_cast_to_float(const uint16_t *from, float *to, size_t count);
void e5_cast_to_half_reference(const float *from, uint16_t *to, size_t count);
void e5_cast_to_float_reference(const uint16_t *from, float *to, size_t count);

#endif
