/* SPDX-License-Identifier: Apache-2.0 */
/* Drafts of operations, and how arguments of calls are read. Only op*.c and argument.c include this. */
#ifndef COMPILER_MIL_OP_H
#define COMPILER_MIL_OP_H

#include "compiler/mil/mil.h"

/* An operation before it enters the graph. */
struct cc_mil_draft {
    enum cc_op_kind kind;
    uint32_t inputs;
    uint32_t input[CC_INPUTS_MAX];
    struct cc_attributes a;
    bool alias; /* an alias of its operand */
    /* A window over one axis: a height of 1 is inserted into the operand and removed from the result. */
    bool line;
    /* A split: the length of each result on this axis. 0 parts: not a split. */
    uint32_t parts, axis, part[CC_MIL_RESULTS_MAX];
};

/* Reads the arguments of a call into a draft. */
typedef int cc_mil_taker(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft);

/* op_elementwise.c */
cc_mil_taker cc_mil_take_unary, cc_mil_take_alpha, cc_mil_take_alpha_beta, cc_mil_take_epsilon,
    cc_mil_take_gelu, cc_mil_take_binary, cc_mil_take_select, cc_mil_take_cast, cc_mil_take_identity,
    cc_mil_take_channel_parameters;
/* op_window.c */
cc_mil_taker cc_mil_take_conv, cc_mil_take_conv_transpose, cc_mil_take_pool, cc_mil_take_avg_pool,
    cc_mil_take_local_response_norm, cc_mil_take_prelu;
/* op_matrix.c */
cc_mil_taker cc_mil_take_linear, cc_mil_take_matmul;
/* op_reduce.c */
cc_mil_taker cc_mil_take_reduce, cc_mil_take_softmax, cc_mil_take_l2_norm, cc_mil_take_layer_norm,
    cc_mil_take_instance_norm, cc_mil_take_batch_norm, cc_mil_take_arg, cc_mil_take_topk;
/* op_layout.c */
cc_mil_taker cc_mil_take_transpose, cc_mil_take_reshape, cc_mil_take_expand_dims, cc_mil_take_squeeze,
    cc_mil_take_slice_by_index, cc_mil_take_slice_by_size, cc_mil_take_tile, cc_mil_take_concat,
    cc_mil_take_stack, cc_mil_take_split;
/* op_space.c */
cc_mil_taker cc_mil_take_pad, cc_mil_take_upsample_nearest, cc_mil_take_upsample_bilinear,
    cc_mil_take_resize_nearest, cc_mil_take_resize_bilinear, cc_mil_take_resize, cc_mil_take_depth,
    cc_mil_take_pixel_shuffle, cc_mil_take_pixel_unshuffle, cc_mil_take_batch, cc_mil_take_reverse,
    cc_mil_take_gather, cc_mil_take_windows, cc_mil_take_cumsum, cc_mil_take_crop, cc_mil_take_flatten2d;
/* op_fill.c */
cc_mil_taker cc_mil_take_fill, cc_mil_take_fill_like, cc_mil_take_range, cc_mil_take_shape,
    cc_mil_take_band_part;
/* op_constexpr.c */
cc_mil_taker cc_mil_take_affine, cc_mil_take_blockwise, cc_mil_take_lut, cc_mil_take_sparse,
    cc_mil_take_constexpr_cast;

/* op_fill.c: a new constant of the graph, which the call is an alias of. Takes `data`; NULL: no memory. */
int cc_mil_make_constant(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft,
                         const struct cc_mil_type *type, void *data);

/* op.c: inserts a height of 1 into the draft's operands [N, C, W]. */
int cc_mil_insert_height(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft);
/* Refuses a declared type that is not that of the call's result. */
int cc_mil_declared(struct cc_mil *mil, const struct cc_mil_call *call, const struct cc_mil_type *gives);

/* argument.c. An argument that is not given keeps the caller's default; cc_mil_need refuses that. */
struct cc_mil_argument *cc_mil_given(struct cc_mil_call *call, const char *name);
int cc_mil_need(struct cc_mil *mil, struct cc_mil_call *call, const char *name);
/* A sentence about an argument that was given. */
int cc_mil_wrong(struct cc_mil *mil, struct cc_mil_call *call, const char *name, int code, const char *format,
                 ...) __attribute__((format(printf, 5, 6)));
/* The next operand of the draft; and a list of them. Both are needed. */
int cc_mil_operand(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                   struct cc_mil_draft *draft);
int cc_mil_operands(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                    struct cc_mil_draft *draft);
/* The draft's first operand. */
const struct cc_value *cc_mil_first(const struct cc_mil *mil, const struct cc_mil_draft *draft);
/* A constant that is a tensor: value index + 1; 0 when it is not given. */
int cc_mil_tensor(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t *value);
/* A constant of any type, which the call does not own; its data is NULL when it is not given. */
int cc_mil_constant(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                    struct cc_mil_literal *literal);
int cc_mil_bool(struct cc_mil *mil, struct cc_mil_call *call, const char *name, bool *value);
int cc_mil_string(struct cc_mil *mil, struct cc_mil_call *call, const char *name, const char **value);
int cc_mil_float(struct cc_mil *mil, struct cc_mil_call *call, const char *name, float *value);
/* Exactly `count` numbers from `low` to `high`. */
int cc_mil_ints(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t count, int32_t low,
                int32_t high, uint32_t *values);
/* A list of any numbers; one alone is a list of one. *count is 0 when it is not given. */
int cc_mil_list(struct cc_mil *mil, struct cc_mil_call *call, const char *name, const int32_t **values,
                uint32_t *count);
/* Exactly `count` booleans, as a mask. */
int cc_mil_mask(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t count,
                uint32_t *mask);
/* A number, which may be int32 too. */
int cc_mil_number(struct cc_mil *mil, struct cc_mil_call *call, const char *name, float *value);
/* Axes of this rank, negative ones from its end: one that is needed, and a list that may be absent. */
int cc_mil_axis(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t rank,
                uint32_t *axis);
int cc_mil_axes(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t rank,
                uint32_t *axes);

#endif
