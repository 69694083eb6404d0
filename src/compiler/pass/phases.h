/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Phases of H and W: the rows whose numbers have the same rest by u, and the columns by v. They turn strides,
 * dilations and transposed convolutions into convolutions with steps of 1. Each call is at most two
 * transposes; the reshapes between them keep the rows and are aliases.
 */
#ifndef COMPILER_PASS_PHASES_H
#define COMPILER_PASS_PHASES_H

#include "compiler/graph/build.h"

/*
 * x [N, C, H, W], where u divides H and v divides W, as [N, C, u, v, H / u, W / v]. The result has rank 4 and
 * the elements in this order; a reshape that keeps the last axis gives it another shape for nothing.
 */
uint32_t cc_phases_split(struct cc_build *b, uint32_t x, uint32_t u, uint32_t v);
/* The inverse: [N, C, u, v, H / u, W / v], in any shape, as [N, C, H, W], which is `dim`. */
uint32_t cc_phases_join(struct cc_build *b, uint32_t x, const uint32_t dim[4], uint32_t u, uint32_t v);

/*
 * H and W of x [N, C, H, W] with `front` elements of value `fill` before them and `length` elements in all:
 * filled or cut at the end. x itself when nothing changes.
 */
uint32_t cc_phases_fit(struct cc_build *b, uint32_t x, const uint32_t front[2], const uint32_t length[2],
                       float fill);

#endif
