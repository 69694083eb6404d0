/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds operations to a graph, with the shapes that they give. The first failure is kept: from then on every
 * call does nothing and returns 0, so that a sequence of calls needs one check at its end. Names of values
 * and operations are the builder's name and a number; cc_build_name gives the last one its own.
 */
#ifndef COMPILER_GRAPH_BUILD_H
#define COMPILER_GRAPH_BUILD_H

#include "compiler/graph/graph.h"

/* Makes a constant of an operation on constants, if it can (cc_eval_fold). */
typedef int cc_build_fold(struct cc_graph *graph, uint32_t number, bool *folded, struct base_error *error);

struct cc_build {
    struct cc_graph *graph;
    const char *name;      /* of what is built; a value's name is this and a number */
    unsigned line, column; /* of the operations */
    uint32_t origin;       /* of the operations: number + 1; 0: none */
    uint32_t made;
    cc_build_fold *fold; /* NULL: operations on constants stay */
    /* bytes of the constants made, and how many there may be; 0: any number */
    uint64_t bytes, bytes_max;
    int status; /* 0, or the negative errno of the first failure */
    struct base_error *error;
};

/* Each returns the number of a new value. */

/* Any operation but RESHAPE. `a` may be NULL. */
uint32_t cc_build_op(struct cc_build *b, enum cc_op_kind kind, uint32_t inputs, const uint32_t *input,
                     const struct cc_attributes *a);
uint32_t cc_build_unary(struct cc_build *b, enum cc_op_kind kind, uint32_t x);
uint32_t cc_build_binary(struct cc_build *b, enum cc_op_kind kind, uint32_t x, uint32_t y);
/* RESHAPE; x itself when it has this shape. */
uint32_t cc_build_reshape(struct cc_build *b, uint32_t x, uint32_t rank, const uint32_t *dims);
/* TRANSPOSE; x itself when perm keeps every axis. */
uint32_t cc_build_transpose(struct cc_build *b, uint32_t x, const uint32_t *perm);
/* SLICE_BY_SIZE; `step` may be NULL. x itself when nothing is cut off. */
uint32_t cc_build_slice(struct cc_build *b, uint32_t x, const uint32_t *begin, const uint32_t *size,
                        const uint32_t *step);
/* CONCAT; of more than CC_INPUTS_MAX values a tree. One value is returned as it is. */
uint32_t cc_build_concat(struct cc_build *b, uint32_t count, const uint32_t *values, uint32_t axis);
uint32_t cc_build_reduce(struct cc_build *b, enum cc_op_kind kind, uint32_t x, uint32_t axes, bool keep_dims);
uint32_t cc_build_cast(struct cc_build *b, uint32_t x, enum cc_type to);

/* Constants. The data is copied; fp32, int32. */
uint32_t cc_build_floats(struct cc_build *b, uint32_t rank, const uint32_t *dims, const float *data);
uint32_t cc_build_ints(struct cc_build *b, uint32_t rank, const uint32_t *dims, const int32_t *data);
uint32_t cc_build_scalar(struct cc_build *b, float value);
/* The same without a copy: takes `data` (from base_alloc) in any case. */
uint32_t cc_build_const(struct cc_build *b, enum cc_type type, uint32_t rank, const uint32_t *dims,
                        void *data);

/* Gives a value, and the operation that computes it, this name. */
void cc_build_name(struct cc_build *b, uint32_t value, const char *name);
/*
 * A refusal at the builder's place: "Line 4, column 9: conv `c`: " or "Conv `c`: ", the phrase and a full
 * stop.
 */
int cc_build_refuse(struct cc_build *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

const struct cc_value *cc_build_value(const struct cc_build *b, uint32_t value);

#endif
