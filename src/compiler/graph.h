/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small typed graph: what the front ends (MIL now, ONNX later) make and the passes work on. Values are tensors with fixed shapes; an operation makes one value. The graph
 * owns everything in it.
 */
#ifndef COMPILER_GRAPH_H
#define COMPILER_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define CC_RANK_MAX   5u
#define CC_INPUTS_MAX 4u

/* Limits of the M1 engine (H13). Of a tensor of rank 3 to 5 the last axes are C, H, W; constants have no axis limits. */
#define CC_WIDTH_MAX        16384u       /* W and H, and the depth of rank 5 */
#define CC_CHANNEL_MAX      65536u       /* C, the batch, and every axis of rank 1 and 2 */
#define CC_TENSOR_BYTES_MAX (2ull << 30) /* one tensor; also all weights of a program together */

enum cc_type { CC_FP16, CC_FP32, CC_INT32, CC_BOOL };

/* Operations, by their MIL names. X(ID, "mil name", inputs) */
#define CC_OPS(X)            \
    X(INPUT, "input", 0)     \
    X(CONST, "const", 0)     \
    X(CAST, "cast", 1)       \
    X(ADD, "add", 2)         \
    X(SUB, "sub", 2)         \
    X(MUL, "mul", 2)         \
    X(MAXIMUM, "maximum", 2) \
    X(MINIMUM, "minimum", 2) \
    X(RELU, "relu", 1)       \
    X(CONV, "conv", 1)       \
    X(LINEAR, "linear", 1)   \
    X(MATMUL, "matmul", 2)   \
    X(REDUCE_MEAN, "reduce_mean", 1)

enum cc_op_kind {
#define X(id, name, inputs) CC_OP_##id,
    CC_OPS(X)
#undef X
        CC_OP_COUNT
};
const char *cc_op_name(enum cc_op_kind kind);

/*
 * INPUT and CONST are operations without inputs that stand before the first use of their value, so that every value has one maker. cc_graph_check does not insist on them: an input
 * is what the input list names, a constant is what has data. Operand constants may be of any rank that broadcasts, 0 too. A CAST to the type its input has is a copy.
 */

struct cc_value {
    char *name;
    enum cc_type type;
    uint32_t rank;
    uint32_t dim[CC_RANK_MAX];
    void *data;   /* CONST: packed row-major, little-endian; NULL otherwise */
    size_t bytes; /* of the whole tensor */
};

/* What an operation needs beyond its inputs. Unused members are 0. */
struct cc_attributes {
    uint32_t weight, bias; /* CONV, LINEAR: value index + 1, 0 = none */
    uint32_t stride[2], dilation[2], pad[4],
        groups;                    /* CONV: pad is top, bottom, left, right, whatever pad_type said */
    bool transpose_x, transpose_y; /* MATMUL */
    uint32_t axes;                 /* REDUCE_MEAN: bit per axis */
    bool keep_dims;
    enum cc_type to; /* CAST */
};

struct cc_op {
    enum cc_op_kind kind;
    char *name;
    unsigned line, column; /* in the source text, for messages; 0: not from a text */
    uint32_t inputs;
    uint32_t input[CC_INPUTS_MAX]; /* value indices */
    uint32_t output;               /* value index */
    struct cc_attributes a;
};

struct cc_graph {
    char *function; /* "main" */
    uint32_t values, value_capacity;
    struct cc_value *value;
    uint32_t ops, op_capacity;
    struct cc_op *op; /* in an order in which every input is made before it is used */
    uint32_t inputs;
    uint32_t *input; /* value indices, in the order of the signature */
    uint32_t outputs;
    uint32_t *output;
};

struct cc_graph *cc_graph_create(void);
void cc_graph_destroy(struct cc_graph *graph);
/* Index of a new value or operation, or a negative errno. Names are copied. */
int cc_graph_add_value(struct cc_graph *graph, const char *name, enum cc_type type, uint32_t rank,
                       const uint32_t *dims);
/* A constant and its CONST operation. Takes `data` (from base_alloc, the whole tensor) when it succeeds. */
int cc_graph_add_const(struct cc_graph *graph, const char *name, enum cc_type type, uint32_t rank,
                       const uint32_t *dims, void *data);
int cc_graph_add_op(struct cc_graph *graph, enum cc_op_kind kind, const char *name, unsigned line);
int cc_graph_add_input(struct cc_graph *graph, uint32_t value);
int cc_graph_add_output(struct cc_graph *graph, uint32_t value);
/* Shapes, types and counts of every operation against its rules; one sentence naming operation, line and rule. */
int cc_graph_check(const struct cc_graph *graph, struct base_error *error);
/* The same for one operation, whose value indices exist. */
int cc_op_check(const struct cc_graph *graph, const struct cc_op *op, struct base_error *error);
/* Rank, axes and bytes of a tensor against the engine's limits. */
int cc_shape_check(enum cc_type type, uint32_t rank, const uint32_t *dims, bool constant,
                   struct base_error *error);
/* 0 when an axis is empty or the whole is more than CC_TENSOR_BYTES_MAX. */
size_t cc_shape_bytes(enum cc_type type, uint32_t rank, const uint32_t *dims);
/* "tensor<fp16, [1, 8]>", or "fp16" for rank 0. */
struct cc_shape_text {
    char text[96];
};
struct cc_shape_text cc_shape_text(enum cc_type type, uint32_t rank, const uint32_t *dims);
size_t cc_type_bytes(enum cc_type type);
const char *cc_type_name(enum cc_type type); /* "fp16", ... as MIL writes them */

/* mil.c: MIL text (program 1.3) into a graph. `folder` is what @model_path stands for; weight files are read from it and from nowhere else. */
int cc_mil_read(const char *text, size_t length, const char *folder, struct cc_graph **graph,
                struct base_error *error);

#endif
