/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small typed graph: the front ends build it and the lowering reads it. Values are tensors with fixed
 * shapes; an operation computes one value. The graph owns everything in it.
 */
#ifndef COMPILER_GRAPH_GRAPH_H
#define COMPILER_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "program/task.h"

#define CC_RANK_MAX   5u
#define CC_INPUTS_MAX 64u /* operands of a concat or stack; every other operation has at most 3 */
/* Chosen: a loop is unrolled by the readers of models, and its text is read once per round. */
#define CC_LOOP_NODES_MAX 4096u /* that one loop becomes */
#define CC_NESTED_MAX     16u   /* graphs, functions and blocks in each other */

/*
 * The last axes of a tensor of rank 3 to 5 are C, H and W. One descriptor of the M1 engine (H13) takes
 * PR_WIDTH_MAX of W and H and PR_CHANNELS_MAX of C; an operation is cut where an axis is longer, and refused
 * where that cannot be done. Constants have no axis limits.
 */
/* Chosen: the axis of a tensor; the priors of a detector, ten seconds of sound. 64 pieces of PR_WIDTH_MAX. */
#define CC_AXIS_MAX         (1u << 20)
#define CC_TENSOR_BYTES_MAX (2ull << 30) /* one tensor; also all weights of a program together */
/* What a descriptor can say of a window: Px and Py have five bits, Sx and Sy two. */
#define CC_PAD_MAX    31u
#define CC_STRIDE_MAX 3u

enum cc_type { CC_FP16, CC_FP32, CC_INT32, CC_BOOL };

/* The count of operands of an operation that takes a list: 1 to CC_INPUTS_MAX. */
#define CC_INPUTS_LIST UINT32_MAX
/* One operand, or a second one in the place of the parameter `weight`. */
#define CC_INPUTS_WEIGHT (UINT32_MAX - 1)

/*
 * Operations, by their MIL names: X(ID, "mil name", inputs). What each computes, where the name does not say
 * it, with the attributes in cc_attributes:
 *
 * LOG log(x + epsilon), RSQRT 1 / sqrt(x + epsilon), INVERSE 1 / (x + epsilon); LEAKY_RELU x >= 0 ? x :
 * alpha x; ELU x > 0 ? x : alpha (e^x - 1); CLIP min(max(x, alpha), beta); SIGMOID_HARD min(max(alpha x +
 * beta, 0), 1); THRESHOLD max(x, alpha); THRESHOLDED_RELU x >= alpha ? x : 0; CLAMPED_RELU min(beta, x >= 0
 * ? x : alpha x); LINEAR_ACTIVATION alpha x + beta; SCALED_TANH alpha tanh(beta x); SOFTSIGN x / (1 + |x|);
 * SOFTPLUS log(1 + e^x); SILU x / (1 + e^-x); SIGN -1, 0 or 1; POW x^y, 1 for y = 0, and 0 for a negative x
 * whose y is not an integer. ROUND to the nearest integer, halves to the even one; SELU beta (x > 0 ? x :
 * alpha (e^x - 1)); HARD_SWISH x min(max(alpha x + beta, 0), 1); PRELU x >= 0 ? x : weight[channel] x;
 * SOFTPLUS_PARAMETRIC weight[channel] log(1 + e^(bias[channel] x)); MOD x - y floor(x / y). A channel is an
 * index of axis 1.
 *
 * Comparisons and LOGICAL_* give CC_BOOL, which only CAST, SELECT, LOGICAL_* and layout operations take and
 * which is never an input or an output. The engine has no such type: a bool is an fp16 value of 0.0 or 1.0,
 * so that a CAST of it to fp16 or fp32 is an alias. SELECT is (cond, a, b), all three broadcast; the two
 * branches are fp.
 *
 * REDUCE_L2_NORM sqrt(sum x^2), REDUCE_SUM_SQUARE sum x^2, REDUCE_L1_NORM sum |x|, REDUCE_LOG_SUM log(sum
 * x), REDUCE_LOG_SUM_EXP log(sum e^x), REDUCE_PROD the product. LOG_SOFTMAX log(softmax). L2_NORM x /
 * sqrt(sum x^2 + epsilon) over all axes but the first. LOCAL_RESPONSE_NORM x / (beta + alpha / size sum
 * x^2)^gamma, the sum over `size` channels around this one, of which (size - 1) / 2 are before it.
 * LAYER_NORM (over `axes`), INSTANCE_NORM (over the axes after the second, per channel) and BATCH_NORM: (x -
 * mean) / sqrt(variance + epsilon) * gamma + beta.
 *
 * CONV_TRANSPOSE: the adjoint of CONV, with weights [in, out / groups, H, W]; the result's H and W are
 * size[0] and size[1]. L2_POOL sqrt(sum x^2). With `ceil`, a pool may have one more window that reaches
 * beyond the padded end; elements there never count. AVG_POOL divides by the elements of the window that are
 * in x and its padding, or with `exclude_padding` by those in x.
 *
 * RESHAPE, EXPAND_DIMS and SQUEEZE keep the elements in row-major order; the new shape is that of the
 * result. Both SLICE_* are begin[], size[] and step[] over the axes of x; the axes in `axes`, which have
 * size 1, are then removed. TILE repeats the whole axis, reps[] times. STACK is CONCAT with a new axis of
 * length 1 in each operand. A split has no operation: it becomes one SLICE_BY_SIZE per result. An identity
 * is an alias. PAD: begin[] and end[] elements at the two ends of each axis. RESIZE: the last two axes
 * become size[0] and size[1] long. DEPTH_TO_SPACE and SPACE_TO_DEPTH: blocks of block[0] by block[1];
 * BATCH_TO_SPACE and SPACE_TO_BATCH the same with the batch, where pad is cut off the result or added to x.
 * REVERSE: along `axes`. GATHER: along `axis`, at the int32 constants `indices`, whose axes replace it.
 * CUMSUM: along `axis`.
 *
 * ARG_MAX and ARG_MIN: the index along `axis` of the largest or smallest element, of equal ones the first,
 * or with `reverse` the last; a NaN counts only where all are. TOPK: the size[0] largest elements along
 * `axis`, with `reverse` the smallest, in their order, of equal ones that of the lower index first;
 * TOPK_INDICES: their indices. GATHER_AT: GATHER of the first operand at computed int32 indices, the second;
 * a negative one counts from the end, and one beyond the ends is the end. The engine has none of these: they
 * run on the host alone (compiler/fallback.h). Their int32 results are the only integers that are computed
 * when the network runs, with CAST to int32, which truncates; layout operations and CAST take them.
 *
 * An operation is a primitive, which the lowering takes, or a composite, which a pass replaces by primitives
 * (pass/passes.h).
 */
#define CC_OPS_UNARY(X)                          \
    X(RELU, "relu", 1)                           \
    X(SIGMOID, "sigmoid", 1)                     \
    X(TANH, "tanh", 1)                           \
    X(ERF, "erf", 1)                             \
    X(EXP, "exp", 1)                             \
    X(EXP2, "exp2", 1)                           \
    X(LOG, "log", 1)                             \
    X(SQRT, "sqrt", 1)                           \
    X(RSQRT, "rsqrt", 1)                         \
    X(INVERSE, "inverse", 1)                     \
    X(ABS, "abs", 1)                             \
    X(SQUARE, "square", 1)                       \
    X(SIGN, "sign", 1)                           \
    X(CEIL, "ceil", 1)                           \
    X(FLOOR, "floor", 1)                         \
    X(GELU, "gelu", 1)                           \
    X(SILU, "silu", 1)                           \
    X(LEAKY_RELU, "leaky_relu", 1)               \
    X(RELU6, "relu6", 1)                         \
    X(CLIP, "clip", 1)                           \
    X(ELU, "elu", 1)                             \
    X(SOFTPLUS, "softplus", 1)                   \
    X(SOFTSIGN, "softsign", 1)                   \
    X(SIGMOID_HARD, "sigmoid_hard", 1)           \
    X(THRESHOLD, "threshold", 1)                 \
    X(THRESHOLDED_RELU, "thresholded_relu", 1)   \
    X(CLAMPED_RELU, "clamped_relu", 1)           \
    X(LINEAR_ACTIVATION, "linear_activation", 1) \
    X(SCALED_TANH, "scaled_tanh", 1)             \
    X(ROUND, "round", 1)                         \
    X(SELU, "selu", 1)                           \
    X(HARD_SWISH, "hard_swish", 1)               \
    X(SIN, "sin", 1)                             \
    X(COS, "cos", 1)                             \
    X(TAN, "tan", 1)                             \
    X(ATAN, "atan", 1)                           \
    X(SINH, "sinh", 1)                           \
    X(COSH, "cosh", 1)

#define CC_OPS_BINARY(X)         \
    X(ADD, "add", 2)             \
    X(SUB, "sub", 2)             \
    X(MUL, "mul", 2)             \
    X(MAXIMUM, "maximum", 2)     \
    X(MINIMUM, "minimum", 2)     \
    X(REAL_DIV, "real_div", 2)   \
    X(FLOOR_DIV, "floor_div", 2) \
    X(MOD, "mod", 2)             \
    X(POW, "pow", 2)

#define CC_OPS_COMPARE(X)                \
    X(EQUAL, "equal", 2)                 \
    X(NOT_EQUAL, "not_equal", 2)         \
    X(GREATER, "greater", 2)             \
    X(GREATER_EQUAL, "greater_equal", 2) \
    X(LESS, "less", 2)                   \
    X(LESS_EQUAL, "less_equal", 2)

#define CC_OPS_LOGICAL(X)            \
    X(LOGICAL_AND, "logical_and", 2) \
    X(LOGICAL_OR, "logical_or", 2)   \
    X(LOGICAL_XOR, "logical_xor", 2) \
    X(LOGICAL_NOT, "logical_not", 1)

#define CC_OPS_REDUCE(X)                           \
    X(REDUCE_MEAN, "reduce_mean", 1)               \
    X(REDUCE_SUM, "reduce_sum", 1)                 \
    X(REDUCE_MAX, "reduce_max", 1)                 \
    X(REDUCE_MIN, "reduce_min", 1)                 \
    X(REDUCE_L2_NORM, "reduce_l2_norm", 1)         \
    X(REDUCE_SUM_SQUARE, "reduce_sum_square", 1)   \
    X(REDUCE_L1_NORM, "reduce_l1_norm", 1)         \
    X(REDUCE_LOG_SUM, "reduce_log_sum", 1)         \
    X(REDUCE_LOG_SUM_EXP, "reduce_log_sum_exp", 1) \
    X(REDUCE_PROD, "reduce_prod", 1)

#define CC_OPS_LAYOUT(X)                   \
    X(TRANSPOSE, "transpose", 1)           \
    X(RESHAPE, "reshape", 1)               \
    X(EXPAND_DIMS, "expand_dims", 1)       \
    X(SQUEEZE, "squeeze", 1)               \
    X(SLICE_BY_INDEX, "slice_by_index", 1) \
    X(SLICE_BY_SIZE, "slice_by_size", 1)   \
    X(TILE, "tile", 1)                     \
    X(PAD, "pad", 1)                       \
    X(RESIZE, "resize", 1)                 \
    X(DEPTH_TO_SPACE, "depth_to_space", 1) \
    X(SPACE_TO_DEPTH, "space_to_depth", 1) \
    X(BATCH_TO_SPACE, "batch_to_space", 1) \
    X(SPACE_TO_BATCH, "space_to_batch", 1) \
    X(REVERSE, "reverse", 1)               \
    X(GATHER, "gather", 1)                 \
    X(CUMSUM, "cumsum", 1)                 \
    X(CONCAT, "concat", CC_INPUTS_LIST)    \
    X(STACK, "stack", CC_INPUTS_LIST)

#define CC_OPS_HOST(X)                 \
    X(ARG_MAX, "reduce_argmax", 1)     \
    X(ARG_MIN, "reduce_argmin", 1)     \
    X(TOPK, "topk", 1)                 \
    X(TOPK_INDICES, "topk_indices", 1) \
    X(GATHER_AT, "gather_at", 2)

#define CC_OPS(X)                                    \
    X(INPUT, "input", 0)                             \
    X(CONST, "const", 0)                             \
    X(CAST, "cast", 1)                               \
    CC_OPS_UNARY(X)                                  \
    CC_OPS_BINARY(X)                                 \
    CC_OPS_COMPARE(X)                                \
    CC_OPS_LOGICAL(X)                                \
    X(SELECT, "select", 3)                           \
    X(PRELU, "prelu", 1)                             \
    X(SOFTPLUS_PARAMETRIC, "softplus_parametric", 1) \
    X(CONV, "conv", CC_INPUTS_WEIGHT)                \
    X(CONV_TRANSPOSE, "conv_transpose", 1)           \
    X(LINEAR, "linear", 1)                           \
    X(MATMUL, "matmul", 2)                           \
    X(MAX_POOL, "max_pool", 1)                       \
    X(AVG_POOL, "avg_pool", 1)                       \
    X(L2_POOL, "l2_pool", 1)                         \
    CC_OPS_REDUCE(X)                                 \
    X(SOFTMAX, "softmax", 1)                         \
    X(LOG_SOFTMAX, "log_softmax", 1)                 \
    X(L2_NORM, "l2_norm", 1)                         \
    X(LOCAL_RESPONSE_NORM, "local_response_norm", 1) \
    X(LAYER_NORM, "layer_norm", 1)                   \
    X(INSTANCE_NORM, "instance_norm", 1)             \
    X(BATCH_NORM, "batch_norm", 1)                   \
    CC_OPS_LAYOUT(X)                                 \
    CC_OPS_HOST(X)

enum cc_op_kind {
#define X(id, name, inputs) CC_OP_##id,
    CC_OPS(X)
#undef X
        CC_OP_COUNT
};
const char *cc_op_name(enum cc_op_kind kind);
bool cc_op_gives_bool(enum cc_op_kind kind); /* comparisons and LOGICAL_* */
bool cc_op_is_host(enum cc_op_kind kind);    /* CC_OPS_HOST: the engine has no form of it */

/*
 * INPUT and CONST are operations without inputs that come before the first use of their value, so that every
 * value has one producer. cc_graph_check does not require them: an input is a value of the input list, a
 * constant is a value with data. Operand constants may have any rank that broadcasts, 0 too. A CAST to the
 * type of its input is a copy; the lowering refuses an fp32 output that was never fp16.
 */

struct cc_value {
    char *name;
    enum cc_type type;
    uint32_t rank;
    uint32_t dim[CC_RANK_MAX];
    void *data;   /* CONST: packed row-major, little-endian; NULL otherwise */
    size_t bytes; /* of the whole tensor */
};

/* GELU: x Phi(x) itself, 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), or x sigmoid(1.702 x). */
enum cc_gelu { CC_GELU_EXACT, CC_GELU_TANH, CC_GELU_SIGMOID };

/* PAD: what is beyond the ends of an axis. */
enum cc_pad { CC_PAD_CONSTANT, CC_PAD_REFLECT, CC_PAD_REPLICATE };

/* RESIZE: how an element is made of those around its place, and where that place is in x. */
enum cc_resize { CC_RESIZE_NEAREST, CC_RESIZE_LINEAR, CC_RESIZE_CUBIC };
/*
 * Of element i, with scale = result / x: (i + 0.5) / scale - 0.5; the same, but 0 for a result of length 1;
 * i (x - 1) / (scale x - 1); i / scale. A scale that is given need not be the ratio of the lengths.
 */
enum cc_coordinate { CC_HALF_PIXEL, CC_PYTORCH_HALF_PIXEL, CC_ALIGN_CORNERS, CC_ASYMMETRIC };
enum cc_nearest { CC_ROUND_PREFER_FLOOR, CC_ROUND_PREFER_CEIL, CC_ROUND_FLOOR, CC_ROUND_CEIL };

/* DEPTH_TO_SPACE, SPACE_TO_DEPTH: the order of the channels: block row, block column, channel; or channel
 * first. */
enum cc_depth_order { CC_DEPTH_BLOCK_FIRST, CC_DEPTH_CHANNEL_FIRST };

/*
 * Parameters of an operation besides its inputs. Unused members are 0. Axes count from the front; negative
 * ones have been resolved.
 */
struct cc_attributes {
    /*
     * Constants, value index + 1, 0 = none. CONV and LINEAR: weight and bias, a CONV with two operands the
     * bias alone; norms: gamma and beta, 1 and 0 if absent.
     */
    uint32_t weight, bias;
    uint32_t mean, variance;         /* BATCH_NORM: constants [C], value index + 1 */
    uint32_t kernel[2];              /* MAX_POOL, AVG_POOL: height, width */
    uint32_t stride[2], dilation[2]; /* CONV, CONV_TRANSPOSE and pools: height, width */
    bool ceil, exclude_padding;      /* pools; AVG_POOL */
    uint32_t block[2];               /* DEPTH_TO_SPACE and the like: height, width */
    /* CONV and pools: top, bottom, left, right, after pad_type is resolved. Zeros; for MAX_POOL -inf. */
    uint32_t pad[4];
    uint32_t groups;               /* CONV */
    bool transpose_x, transpose_y; /* MATMUL */
    uint32_t axes;  /* bit per axis: reductions, LAYER_NORM, SQUEEZE, SLICE_*; EXPAND_DIMS: result's */
    bool keep_dims; /* reductions */
    uint32_t axis;  /* SOFTMAX, CONCAT, ARG_*, TOPK*; STACK: of the result */
    float alpha, beta,
        epsilon; /* the unary operations that have them; epsilon: the norms too; alpha: PAD's value */
    float gamma; /* LOCAL_RESPONSE_NORM, whose size is kernel[0] */
    enum cc_gelu gelu;
    enum cc_pad pad_mode;
    enum cc_resize resize;
    enum cc_coordinate coordinate;
    enum cc_nearest nearest;
    float scale[2], cubic; /* RESIZE: result / x of H and W, 0: of the lengths; the coefficient of CUBIC */
    enum cc_depth_order order;  /* DEPTH_TO_SPACE, SPACE_TO_DEPTH */
    bool exclusive, reverse;    /* CUMSUM; reverse: ARG_*, TOPK* */
    uint32_t indices;           /* GATHER: a constant, value index + 1 */
    uint32_t perm[CC_RANK_MAX]; /* TRANSPOSE: axis i of the result is axis perm[i] of x */
    /* SLICE_*, per axis of x; PAD: begin and end. step: from one element to the next, 0 means 1 */
    uint32_t begin[CC_RANK_MAX], size[CC_RANK_MAX], end[CC_RANK_MAX], step[CC_RANK_MAX];
    uint32_t reps[CC_RANK_MAX]; /* TILE, per axis of x */
    enum cc_type to;            /* CAST */
};

/*
 * A node of the source model. A front end makes one for each; the operations that a node becomes refer to it,
 * and so do those that replace them.
 */
struct cc_origin {
    char *name, *kind;     /* as the model has them */
    unsigned line, column; /* in the source text; 0: not from a text */
};

struct cc_op {
    enum cc_op_kind kind;
    char *name;
    unsigned line, column; /* in the source text, for messages; 0: not from a text */
    uint32_t origin;       /* number + 1; 0: none */
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
    struct cc_op *op; /* in an order in which every input is computed before it is used */
    uint32_t inputs;
    uint32_t *input; /* value indices, in the order of the signature */
    uint32_t outputs;
    uint32_t *output;
    uint32_t origins, origin_capacity;
    struct cc_origin *origin;
    uint64_t folded_bytes, folded_steps; /* of all constants that were made (eval/fold.c) */
};

struct cc_graph *cc_graph_create(void);
void cc_graph_destroy(struct cc_graph *graph);
/* The whole graph again, with the data of its constants. -ENOMEM without memory. */
int cc_graph_copy(const struct cc_graph *graph, struct cc_graph **copy);
/* Index of a new value or operation, or a negative errno. Names are copied. */
int cc_graph_add_value(struct cc_graph *graph, const char *name, enum cc_type type, uint32_t rank,
                       const uint32_t *dims);
/* A constant and its CONST operation. Takes `data` (from base_alloc, the whole tensor) when it succeeds. */
int cc_graph_add_const(struct cc_graph *graph, const char *name, enum cc_type type, uint32_t rank,
                       const uint32_t *dims, void *data);
int cc_graph_add_op(struct cc_graph *graph, enum cc_op_kind kind, const char *name, unsigned line);
/* Number of a new origin, or a negative errno. */
int cc_graph_add_origin(struct cc_graph *graph, const char *name, const char *kind, unsigned line,
                        unsigned column);
int cc_graph_add_input(struct cc_graph *graph, uint32_t value);
int cc_graph_add_output(struct cc_graph *graph, uint32_t value);
/* The weights of a CONV: its parameter, or its second operand, which may be computed at run time. */
const struct cc_value *cc_op_weight(const struct cc_graph *graph, const struct cc_op *op);
/* Checks shapes, types and counts of every operation; one sentence that names operation, line and rule. */
int cc_graph_check(const struct cc_graph *graph, struct base_error *error);
/* The shape that an operation gives, by its rule; its output need not exist. RESHAPE has none. */
struct cc_shape {
    enum cc_type type;
    uint32_t rank;
    uint32_t dim[CC_RANK_MAX];
};
int cc_op_shape(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *shape,
                struct base_error *error);
/* The same for one operation, whose value indices exist. */
int cc_op_check(const struct cc_graph *graph, const struct cc_op *op, struct base_error *error);
/* Checks rank, axes and bytes of a tensor against the engine's limits. */
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

uint64_t cc_value_elements(const struct cc_value *value);
/* Element i of a constant of any type, as a double. */
double cc_value_number(const struct cc_value *value, uint64_t i);

/*
 * mil/mil.c: MIL text (program 1.0 to 1.3) into a graph. `folder` is the value of @model_path; weight files
 * are read from it and from nowhere else.
 */
int cc_mil_read(const char *text, size_t length, const char *folder, struct cc_graph **graph,
                struct base_error *error);

#endif
