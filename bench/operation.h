/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single operations that are timed: what each computes, as data from which both sides are made: a MIL model
 * for the runtime here, primitives for the other library. Inputs and weights are the same made-up
 * values on both.
 */
#ifndef BENCH_OPERATION_H
#define BENCH_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bench_kind {
    BENCH_TINY, /* convolution, relu, mean over the image */
    BENCH_CONV,
    BENCH_LINEAR,
    BENCH_SIGMOID,
    BENCH_SOFTMAX,    /* over the last axis */
    BENCH_LAYER_NORM, /* over the last axis */
    BENCH_MAX_POOL,
    BENCH_ADD,
    BENCH_CHANNELS_LAST,
    BENCH_SWAP_LAST,
};

struct bench_operation {
    const char *name;
    enum bench_kind kind;
    uint32_t in[4]; /* N, C, H, W; of a product 1, 1, rows, inner */
    uint32_t outputs, kernel, stride, groups;
    double target; /* times the other library's speed; 0: none */
    double share;  /* of the limit; 0: none */
};

extern const struct bench_operation bench_operations[];
extern const unsigned bench_operations_count;

void bench_operation_out(const struct bench_operation *o, uint32_t out[4]);
uint64_t bench_elements(const uint32_t dim[4]);
/* Of the input, or of each of two. */
unsigned bench_operation_inputs(const struct bench_operation *o);
/* False: elements are chosen and moved, which needs no conversion. */
bool bench_operation_computes(const struct bench_operation *o);
uint64_t bench_operation_weights(const struct bench_operation *o);
/* Multiply-accumulates. */
uint64_t bench_operation_work(const struct bench_operation *o);
/* Bytes of surfaces: fp16, rows at 64-byte steps. */
uint64_t bench_surface_bytes(const uint32_t dim[4]);

/* Made-up values between -1 and 1, exact in fp16; `which` is the operand. */
float bench_value(uint64_t index, unsigned which);
/* Of weights: smaller, so that sums keep their size. */
float bench_weight(const struct bench_operation *o, uint64_t index);

/* Writes the model to `path`, and its weights to weights.bin in `folder`. */
bool bench_operation_write(const struct bench_operation *o, const char *folder, const char *path);

#endif
