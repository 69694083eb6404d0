/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows over H and W. Each function replaces an operation that one descriptor cannot express by others that
 * are nearer to it, and leaves any other operation alone; the pass is repeated until nothing changes
 * (pass_compose.c).
 */
#ifndef COMPILER_PASS_WINDOW_H
#define COMPILER_PASS_WINDOW_H

#include "compiler/graph/rewrite.h"

/* A convolution whose weights are an operand. */
void cc_window_conv_runtime(struct cc_rewrite *r, const struct cc_op *op);
cc_rewrite_op cc_window_conv, cc_window_conv_transpose, cc_window_max_pool, cc_window_avg_pool;
/* Axes that are longer than a descriptor takes; after the others. */
cc_rewrite_op cc_window_long;

/* The axes of a window: H and W. */
enum { CC_WINDOW_AXES = 2 };
/* The largest window of a descriptor, by axis. */
extern const uint32_t cc_window_limit[CC_WINDOW_AXES];

/* Elements of a window along an axis, from its first tap to its last. */
static inline uint64_t cc_window_extent(uint32_t taps, uint32_t dilation)
{
    return (uint64_t)(taps - 1) * dilation + 1;
}

/*
 * A kernel [out, in, H, W] while it is rewritten, in single precision. cc_kernel_make and cc_kernel_of
 * allocate it; cc_kernel_put makes it a constant of the new graph, and base_free(w) is for any other end.
 */
struct cc_kernel {
    uint32_t dim[4];
    float *w;
};
/* Zeros. Without memory, or beyond the limit of a tensor, it fails the builder. */
bool cc_kernel_make(struct cc_build *b, const uint32_t dim[4], struct cc_kernel *kernel);
bool cc_kernel_of(struct cc_build *b, const struct cc_value *weight, struct cc_kernel *kernel);
static inline float *cc_kernel_at(const struct cc_kernel *k, uint32_t out, uint32_t in, uint32_t y,
                                  uint32_t x)
{
    return &k->w[(((size_t)out * k->dim[1] + in) * k->dim[2] + y) * k->dim[3] + x];
}
/* The parameter of an operation: value + 1. */
uint32_t cc_kernel_put(struct cc_build *b, struct cc_kernel *kernel);

/*
 * An axis of a convolution with this stride that gives `count` elements: element i reads those of x from
 * stride i + first to stride i + last. `available` elements of x exist, and zeros around them. The bounds
 * are widened where otherwise no element of x were read.
 */
struct cc_reach {
    int64_t first;
    uint32_t taps, before, after; /* kernel and padding */
    uint32_t length;              /* elements of x that are read: its end may be cut off */
};
struct cc_reach cc_window_reach(int64_t first, int64_t last, uint32_t stride, uint32_t count,
                                uint32_t available);
/* Rounding up becomes padding at the end, for a pool from H and W `in` to `out`. */
void cc_window_pad_up(struct cc_attributes *a, const uint32_t in[2], const uint32_t out[2]);
/*
 * A window with a dilation and a stride of 1, of an operation of this kind: the phases of x are put below
 * each other, with what lies between them filled, so that one operation without dilation computes all of
 * them. What it computes across their boundaries is cut off. `a` is the operation's, with its parameters in
 * the new graph; `out` is the shape of its result. The stack must fit.
 */
uint32_t cc_window_stacked(struct cc_build *b, enum cc_op_kind kind, uint32_t x, const uint32_t kernel[2],
                           const struct cc_attributes *a, const uint32_t out[4], float fill);
bool cc_window_stack_fits(const uint32_t kernel[2], const struct cc_attributes *a, const uint32_t out[4]);
/* Each `step`th element of H and W, from the first one; the result is `dim`. */
uint32_t cc_window_every(struct cc_build *b, uint32_t x, const uint32_t step[2], const uint32_t dim[4]);

#endif
