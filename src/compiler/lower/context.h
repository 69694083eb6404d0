/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one lowering: what is known about each value and each operation of the graph, the intermediate
 * buffers, and the program under construction. Families get the operation that
 * they lower as an argument.
 */
#ifndef COMPILER_LOWER_CONTEXT_H
#define COMPILER_LOWER_CONTEXT_H

#include "compiler/lower/lower.h"

/* What is known about a graph value. */
struct cc_tensor {
    uint32_t root;        /* the value it is an alias of; itself, usually */
    const uint16_t *data; /* a constant's fp16 values */
    uint16_t *owned;      /* converted values that `data` points to */
    uint32_t producer;    /* the operation that computes it, number + 1; 0: none */
    uint32_t uses;        /* by operations that are kept, and as an output */
    bool placed;
    struct pr_e5_operand
        at; /* place, index, offset; the index of an intermediate is its buffer until the plan */
};

/* What is known about an operation. Families of operations are lowered from this. */
struct cc_step {
    const struct cc_op *op;
    bool live; /* an output depends on it */
    bool skip; /* it needs no record: an alias, an input, a constant, or fused into another operation */
    bool relu; /* a ReLU is fused into it */
    const struct cc_op *activation; /* one activation table that is fused into it; NULL: none */
    uint32_t output;                /* its value, or that of the operation that is fused into it */
    uint32_t into;                  /* the operation that it is fused into, number + 1; 0: none */
};

struct cc_buffer {
    uint32_t bytes, offset;
    bool touched;
    uint32_t first, last; /* records that touch it */
};

struct cc_lowering {
    const struct cc_graph *graph;
    struct cc_tensor *tensor; /* per value */
    struct cc_step *step;     /* per operation */
    uint32_t *order;          /* numbers of operations, in the order of their lowering */
    uint32_t buffers, buffer_capacity;
    struct cc_buffer *buffer;
    struct cc_program *program;
    unsigned flags;      /* enum cc_lower_flag */
    uint32_t *blob_slot; /* hash table over program->blob: number + 1, or 0; see cc_constant */
    uint32_t blob_slots; /* a power of two, more than twice the blobs; 0: no table yet */
    uint32_t under_way;  /* the operation that is being lowered, number + 1, for the makers of records */
    struct base_error *reason; /* of the last cc_refuse */
    struct base_error *error;  /* the caller's */
};

/*
 * Refusals. cc_refuse writes a phrase without capital and full stop; what calls the lowering of an operation
 * completes it with cc_refusal_locate, so that helpers need not know for which operation they work.
 * cc_refuse_at does both. An operation of NULL means the program; the phrase is then a sentence that begins
 * with a capital.
 */
int cc_refuse(const struct cc_lowering *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cc_refuse_at(const struct cc_lowering *l, const struct cc_op *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Names the operation and its line in front of the phrase, if `status` is a refusal. Returns `status`. */
int cc_refusal_locate(const struct cc_lowering *l, const struct cc_op *op, int status);
int cc_no_memory(const struct cc_lowering *l);

/* Makes an array hold `more` elements after `count`. */
int cc_grow(const struct cc_lowering *l, void **array, uint32_t *capacity, uint64_t count, uint64_t more,
            size_t size);

const struct cc_value *cc_value_of(const struct cc_lowering *l, uint32_t value);
/* The value that this one is an alias of. */
uint32_t cc_root(const struct cc_lowering *l, uint32_t value);
/* The operation that computes a value; NULL when there is none. */
const struct cc_op *cc_producer(const struct cc_lowering *l, uint32_t value);
/* The fp16 values of a constant; NULL for a value that is computed at run time. */
const uint16_t *cc_data(const struct cc_lowering *l, uint32_t value);
bool cc_is_constant(const struct cc_lowering *l, uint32_t value);
bool cc_is_scalar(const struct cc_lowering *l, uint32_t value); /* a constant of one element */

#endif
