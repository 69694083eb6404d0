/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs for tests: built call by call, run through the whole machine as a bundle, and computed a second time
 * in double precision (compiler/eval).
 */
#ifndef TESTS_GRAPHRIG_H
#define TESTS_GRAPHRIG_H

#include <anemone/iokit.h>

#include "compiler/eval/eval.h"
#include "compiler/graph/graph.h"
#include "compiler/lower/lower.h"
#include "compiler/pass/passes.h"
#include "iorig.h"
#include "support.h"

struct gr_shape {
    uint32_t rank, dim[CC_RANK_MAX];
};
#define GR_COUNT(...) (sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define GR(...)       ((struct gr_shape){GR_COUNT(__VA_ARGS__), {__VA_ARGS__}})

/* Numbers: small whole ones, for results that are exact; or any in [-1, 1]. */
enum gr_numbers { GR_WHOLE, GR_REAL };

struct gr {
    struct cc_graph *graph;
    struct test_rng rng;
    enum gr_numbers numbers;
    int most;       /* largest whole number */
    bool positive;  /* numbers are above 0: whole ones from 1, others from 0.25 */
    double slack;   /* real results may be off by this many times the rounding of one operation; 1 */
    unsigned flags; /* of the lowering: enum cc_lower_flag */
    unsigned names;
};

void gr_open(struct gr *g, uint64_t stream, enum gr_numbers numbers);
void gr_close(struct gr *g);

/* Each returns the number of the new value. Results have the shape their operation gives. */
uint32_t gr_input(struct gr *g, const char *name, enum cc_type type, struct gr_shape shape);
uint32_t gr_const(struct gr *g, struct gr_shape shape); /* fp16, random */
uint32_t gr_scalar(struct gr *g, double value);
/* Any operation, with the shape that it gives; a may be NULL. */
uint32_t gr_op(struct gr *g, enum cc_op_kind kind, uint32_t inputs, const uint32_t *input,
               struct gr_shape out, const struct cc_attributes *a);
uint32_t gr_unary(struct gr *g, enum cc_op_kind kind, uint32_t x, const struct cc_attributes *a);
uint32_t gr_select(struct gr *g, uint32_t cond, uint32_t a, uint32_t b);
uint32_t gr_reduce(struct gr *g, enum cc_op_kind kind, uint32_t x, uint32_t axes, bool keep);
/* CONV, whose weight and all else is in the attributes, and the pools. */
uint32_t gr_window(struct gr *g, enum cc_op_kind kind, uint32_t x, const struct cc_attributes *a);
uint32_t gr_transpose(struct gr *g, uint32_t x, const uint32_t *perm);
uint32_t gr_reshape(struct gr *g, uint32_t x, struct gr_shape shape);
uint32_t gr_slice(struct gr *g, uint32_t x, const uint32_t *begin, struct gr_shape size);
uint32_t gr_tile(struct gr *g, uint32_t x, const uint32_t *reps);
uint32_t gr_concat(struct gr *g, uint32_t count, const uint32_t *values, uint32_t axis);
uint32_t gr_binary(struct gr *g, enum cc_op_kind kind, uint32_t a, uint32_t b);
uint32_t gr_relu(struct gr *g, uint32_t x);
uint32_t gr_cast(struct gr *g, uint32_t x, enum cc_type to);
/* pad: top, bottom, left, right. bias: a value, or GR_NONE. */
#define GR_NONE UINT32_MAX
uint32_t gr_conv(struct gr *g, uint32_t x, uint32_t weight, uint32_t bias, const uint32_t pad[4]);
uint32_t gr_linear(struct gr *g, uint32_t x, uint32_t weight, uint32_t bias);
uint32_t gr_matmul(struct gr *g, uint32_t x, uint32_t y, bool transpose_x, bool transpose_y);
uint32_t gr_mean(struct gr *g, uint32_t x, uint32_t axes, bool keep);
void gr_output(struct gr *g, uint32_t value);

/* Checks and lowers; fails the test with the compiler's sentence. */
struct cc_program *gr_lower(struct gr *g);
/* The sentence of a refusal; fails the test when there is none. */
const char *gr_refusal(struct gr *g);

/* The driver's payload of a program: header, main.e5, zeros, constants. free() it. */
uint8_t *gr_payload(const struct cc_program *program, size_t *size);
IOReturn gr_create(const struct iorig_client *client, const void *payload, size_t size, uint64_t *token);

/*
 * Lowers, loads and runs with these fp16 inputs, row-major, one array
 * per port. Returns the number of descriptors.
 */
uint32_t gr_run(struct gr *g, const struct iorig_client *client, const uint16_t *const *in,
                uint16_t *const *out);
/* The same with a program that is there. */
void gr_run_program(const struct cc_program *program, const struct iorig_client *client, uint32_t inputs,
                    const uint16_t *const *in, uint16_t *const *out);
/* Lowers, loads, runs with random inputs and compares every output. Returns the number of descriptors. */
uint32_t gr_check(struct gr *g, const struct iorig_client *client);

#endif
