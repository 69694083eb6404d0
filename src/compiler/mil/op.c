/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a call of MIL text to an operation of the graph. The table lists the operators with every argument
 * they take; one that is not listed is refused before the operator's function sees the call. Each operation
 * is checked by the graph's rules when it is added, so the sentence has the line of the call. A split becomes
 * slices, and a window over [N, C, W] becomes one at a height of 1 between expand_dims and squeeze.
 */
#include "compiler/mil/op.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "compiler/eval/eval.h"
#include "compiler/mil/list.h"

static const struct operation {
    const char *name;
    enum cc_op_kind kind;
    cc_mil_taker *take;
    const char *arguments[12]; /* a NULL behind the last */
} operations[] = {
    {"add", CC_OP_ADD, cc_mil_take_binary, {"x", "y"}},
    {"sub", CC_OP_SUB, cc_mil_take_binary, {"x", "y"}},
    {"mul", CC_OP_MUL, cc_mil_take_binary, {"x", "y"}},
    {"maximum", CC_OP_MAXIMUM, cc_mil_take_binary, {"x", "y"}},
    {"minimum", CC_OP_MINIMUM, cc_mil_take_binary, {"x", "y"}},
    {"real_div", CC_OP_REAL_DIV, cc_mil_take_binary, {"x", "y"}},
    {"floor_div", CC_OP_FLOOR_DIV, cc_mil_take_binary, {"x", "y"}},
    {"mod", CC_OP_MOD, cc_mil_take_binary, {"x", "y"}},
    {"pow", CC_OP_POW, cc_mil_take_binary, {"x", "y"}},
    {"equal", CC_OP_EQUAL, cc_mil_take_binary, {"x", "y"}},
    {"not_equal", CC_OP_NOT_EQUAL, cc_mil_take_binary, {"x", "y"}},
    {"greater", CC_OP_GREATER, cc_mil_take_binary, {"x", "y"}},
    {"greater_equal", CC_OP_GREATER_EQUAL, cc_mil_take_binary, {"x", "y"}},
    {"less", CC_OP_LESS, cc_mil_take_binary, {"x", "y"}},
    {"less_equal", CC_OP_LESS_EQUAL, cc_mil_take_binary, {"x", "y"}},
    {"logical_and", CC_OP_LOGICAL_AND, cc_mil_take_binary, {"x", "y"}},
    {"logical_or", CC_OP_LOGICAL_OR, cc_mil_take_binary, {"x", "y"}},
    {"logical_xor", CC_OP_LOGICAL_XOR, cc_mil_take_binary, {"x", "y"}},
    {"logical_not", CC_OP_LOGICAL_NOT, cc_mil_take_unary, {"x"}},
    {"select", CC_OP_SELECT, cc_mil_take_select, {"cond", "a", "b"}},
    {"sigmoid", CC_OP_SIGMOID, cc_mil_take_unary, {"x"}},
    {"tanh", CC_OP_TANH, cc_mil_take_unary, {"x"}},
    {"erf", CC_OP_ERF, cc_mil_take_unary, {"x"}},
    {"exp", CC_OP_EXP, cc_mil_take_unary, {"x"}},
    {"exp2", CC_OP_EXP2, cc_mil_take_unary, {"x"}},
    {"sqrt", CC_OP_SQRT, cc_mil_take_unary, {"x"}},
    {"abs", CC_OP_ABS, cc_mil_take_unary, {"x"}},
    {"square", CC_OP_SQUARE, cc_mil_take_unary, {"x"}},
    {"sign", CC_OP_SIGN, cc_mil_take_unary, {"x"}},
    {"ceil", CC_OP_CEIL, cc_mil_take_unary, {"x"}},
    {"floor", CC_OP_FLOOR, cc_mil_take_unary, {"x"}},
    {"round", CC_OP_ROUND, cc_mil_take_unary, {"x"}},
    {"sin", CC_OP_SIN, cc_mil_take_unary, {"x"}},
    {"cos", CC_OP_COS, cc_mil_take_unary, {"x"}},
    {"tan", CC_OP_TAN, cc_mil_take_unary, {"x"}},
    {"atan", CC_OP_ATAN, cc_mil_take_unary, {"x"}},
    {"sinh", CC_OP_SINH, cc_mil_take_unary, {"x"}},
    {"cosh", CC_OP_COSH, cc_mil_take_unary, {"x"}},
    {"silu", CC_OP_SILU, cc_mil_take_unary, {"x"}},
    {"relu", CC_OP_RELU, cc_mil_take_unary, {"x"}},
    {"relu6", CC_OP_RELU6, cc_mil_take_unary, {"x"}},
    {"softplus", CC_OP_SOFTPLUS, cc_mil_take_unary, {"x"}},
    {"softsign", CC_OP_SOFTSIGN, cc_mil_take_unary, {"x"}},
    {"log", CC_OP_LOG, cc_mil_take_epsilon, {"x", "epsilon"}},
    {"rsqrt", CC_OP_RSQRT, cc_mil_take_epsilon, {"x", "epsilon"}},
    {"inverse", CC_OP_INVERSE, cc_mil_take_epsilon, {"x", "epsilon"}},
    {"gelu", CC_OP_GELU, cc_mil_take_gelu, {"x", "mode"}},
    {"leaky_relu", CC_OP_LEAKY_RELU, cc_mil_take_alpha, {"x", "alpha"}},
    {"elu", CC_OP_ELU, cc_mil_take_alpha, {"x", "alpha"}},
    {"threshold", CC_OP_THRESHOLD, cc_mil_take_alpha, {"x", "alpha"}},
    {"thresholded_relu", CC_OP_THRESHOLDED_RELU, cc_mil_take_alpha, {"x", "alpha"}},
    {"clip", CC_OP_CLIP, cc_mil_take_alpha_beta, {"x", "alpha", "beta"}},
    {"clamped_relu", CC_OP_CLAMPED_RELU, cc_mil_take_alpha_beta, {"x", "alpha", "beta"}},
    {"sigmoid_hard", CC_OP_SIGMOID_HARD, cc_mil_take_alpha_beta, {"x", "alpha", "beta"}},
    {"linear_activation", CC_OP_LINEAR_ACTIVATION, cc_mil_take_alpha_beta, {"x", "alpha", "beta"}},
    {"scaled_tanh", CC_OP_SCALED_TANH, cc_mil_take_alpha_beta, {"x", "alpha", "beta"}},
    {"softplus_parametric",
     CC_OP_SOFTPLUS_PARAMETRIC,
     cc_mil_take_channel_parameters,
     {"x", "alpha", "beta"}},
    {"conv",
     CC_OP_CONV,
     cc_mil_take_conv,
     {"x", "weight", "bias", "strides", "pad_type", "pad", "dilations", "groups"}},
    {"conv_transpose",
     CC_OP_CONV_TRANSPOSE,
     cc_mil_take_conv_transpose,
     {"x", "weight", "bias", "strides", "pad_type", "pad", "dilations", "groups", "output_shape"}},
    {"max_pool",
     CC_OP_MAX_POOL,
     cc_mil_take_pool,
     {"x", "kernel_sizes", "strides", "pad_type", "pad", "ceil_mode"}},
    {"avg_pool",
     CC_OP_AVG_POOL,
     cc_mil_take_avg_pool,
     {"x", "kernel_sizes", "strides", "pad_type", "pad", "exclude_padding_from_average", "ceil_mode"}},
    {"l2_pool",
     CC_OP_L2_POOL,
     cc_mil_take_pool,
     {"x", "kernel_sizes", "strides", "pad_type", "pad", "ceil_mode"}},
    {"local_response_norm",
     CC_OP_LOCAL_RESPONSE_NORM,
     cc_mil_take_local_response_norm,
     {"x", "size", "alpha", "beta", "k"}},
    {"prelu", CC_OP_PRELU, cc_mil_take_prelu, {"x", "alpha"}},
    {"linear", CC_OP_LINEAR, cc_mil_take_linear, {"x", "weight", "bias"}},
    {"matmul", CC_OP_MATMUL, cc_mil_take_matmul, {"x", "y", "transpose_x", "transpose_y"}},
    {"reduce_mean", CC_OP_REDUCE_MEAN, cc_mil_take_reduce, {"x", "axes", "keep_dims"}},
    {"reduce_sum", CC_OP_REDUCE_SUM, cc_mil_take_reduce, {"x", "axes", "keep_dims"}},
    {"reduce_max", CC_OP_REDUCE_MAX, cc_mil_take_reduce, {"x", "axes", "keep_dims"}},
    {"reduce_min", CC_OP_REDUCE_MIN, cc_mil_take_reduce, {"x", "axes", "keep_dims"}},
    {"reduce_l2_norm", CC_OP_REDUCE_L2_NORM, cc_mil_take_reduce, {"x", "axes", "keep_dims"}},
    {"reduce_sum_square", CC_OP_REDUCE_SUM_SQUARE, cc_mil_take_reduce, {"x", "axes", "keep_dims"}},
    {"reduce_l1_norm", CC_OP_REDUCE_L1_NORM, cc_mil_take_reduce, {"x", "axes", "keep_dims"}},
    {"reduce_log_sum", CC_OP_REDUCE_LOG_SUM, cc_mil_take_reduce, {"x", "axes", "keep_dims"}},
    {"reduce_log_sum_exp", CC_OP_REDUCE_LOG_SUM_EXP, cc_mil_take_reduce, {"x", "axes", "keep_dims"}},
    {"reduce_prod", CC_OP_REDUCE_PROD, cc_mil_take_reduce, {"x", "axes", "keep_dims"}},
    {"softmax", CC_OP_SOFTMAX, cc_mil_take_softmax, {"x", "axis"}},
    {"l2_norm", CC_OP_L2_NORM, cc_mil_take_l2_norm, {"x", "epsilon"}},
    {"layer_norm", CC_OP_LAYER_NORM, cc_mil_take_layer_norm, {"x", "axes", "gamma", "beta", "epsilon"}},
    {"instance_norm", CC_OP_INSTANCE_NORM, cc_mil_take_instance_norm, {"x", "gamma", "beta", "epsilon"}},
    {"batch_norm",
     CC_OP_BATCH_NORM,
     cc_mil_take_batch_norm,
     {"x", "mean", "variance", "gamma", "beta", "epsilon"}},
    {"transpose", CC_OP_TRANSPOSE, cc_mil_take_transpose, {"x", "perm"}},
    {"reshape", CC_OP_RESHAPE, cc_mil_take_reshape, {"x", "shape"}},
    {"expand_dims", CC_OP_EXPAND_DIMS, cc_mil_take_expand_dims, {"x", "axes"}},
    {"squeeze", CC_OP_SQUEEZE, cc_mil_take_squeeze, {"x", "axes"}},
    {"slice_by_index",
     CC_OP_SLICE_BY_INDEX,
     cc_mil_take_slice_by_index,
     {"x", "begin", "end", "stride", "begin_mask", "end_mask", "squeeze_mask"}},
    {"slice_by_size", CC_OP_SLICE_BY_SIZE, cc_mil_take_slice_by_size, {"x", "begin", "size"}},
    {"tile", CC_OP_TILE, cc_mil_take_tile, {"x", "reps"}},
    {"concat", CC_OP_CONCAT, cc_mil_take_concat, {"values", "axis", "interleave"}},
    {"stack", CC_OP_STACK, cc_mil_take_stack, {"values", "axis"}},
    {"pad", CC_OP_PAD, cc_mil_take_pad, {"x", "pad", "mode", "constant_val"}},
    {"upsample_nearest_neighbor",
     CC_OP_RESIZE,
     cc_mil_take_upsample_nearest,
     {"x", "scale_factor_height", "scale_factor_width"}},
    {"upsample_bilinear",
     CC_OP_RESIZE,
     cc_mil_take_upsample_bilinear,
     {"x", "scale_factor_height", "scale_factor_width", "align_corners", "half_pixel_centers"}},
    {"resize_nearest_neighbor",
     CC_OP_RESIZE,
     cc_mil_take_resize_nearest,
     {"x", "target_size_height", "target_size_width"}},
    {"resize_bilinear",
     CC_OP_RESIZE,
     cc_mil_take_resize_bilinear,
     {"x", "target_size_height", "target_size_width", "sampling_mode"}},
    {"resize",
     CC_OP_RESIZE,
     cc_mil_take_resize,
     {"x", "shape", "resized_dims", "interpolation_mode", "sampling_mode"}},
    {"depth_to_space", CC_OP_DEPTH_TO_SPACE, cc_mil_take_depth, {"x", "block_size"}},
    {"space_to_depth", CC_OP_SPACE_TO_DEPTH, cc_mil_take_depth, {"x", "block_size"}},
    {"pixel_shuffle", CC_OP_DEPTH_TO_SPACE, cc_mil_take_pixel_shuffle, {"x", "upscale_factor"}},
    {"pixel_unshuffle", CC_OP_SPACE_TO_DEPTH, cc_mil_take_pixel_unshuffle, {"x", "downscale_factor"}},
    {"batch_to_space", CC_OP_BATCH_TO_SPACE, cc_mil_take_batch, {"x", "block_shape", "crops"}},
    {"space_to_batch", CC_OP_SPACE_TO_BATCH, cc_mil_take_batch, {"x", "block_shape", "paddings"}},
    {"reverse", CC_OP_REVERSE, cc_mil_take_reverse, {"x", "axes"}},
    {"gather", CC_OP_GATHER, cc_mil_take_gather, {"x", "indices", "axis", "batch_dims", "validate_indices"}},
    {"cumsum", CC_OP_CUMSUM, cc_mil_take_cumsum, {"x", "axis", "exclusive", "reverse"}},
    {"reduce_argmax", CC_OP_ARG_MAX, cc_mil_take_arg, {"x", "axis", "keep_dims", "output_dtype"}},
    {"reduce_argmin", CC_OP_ARG_MIN, cc_mil_take_arg, {"x", "axis", "keep_dims", "output_dtype"}},
    {"topk",
     CC_OP_TOPK,
     cc_mil_take_topk,
     {"x", "k", "axis", "ascending", "sort", "return_indices", "output_indices_dtype"}},
    {"crop", CC_OP_SLICE_BY_SIZE, cc_mil_take_crop, {"x", "crop_height", "crop_width"}},
    {"flatten2d", CC_OP_RESHAPE, cc_mil_take_flatten2d, {"x", "axis"}},
    {"sliding_windows", CC_OP_GATHER, cc_mil_take_windows, {"x", "axis", "size", "stride"}},
    {"band_part", CC_OP_SELECT, cc_mil_take_band_part, {"x", "lower", "upper"}},
    {"fill", CC_OP_CONST, cc_mil_take_fill, {"shape", "value"}},
    {"fill_like", CC_OP_CONST, cc_mil_take_fill_like, {"ref_tensor", "value"}},
    {"range_1d", CC_OP_CONST, cc_mil_take_range, {"start", "end", "step"}},
    {"shape", CC_OP_CONST, cc_mil_take_shape, {"x"}},
    {"constexpr_affine_dequantize",
     CC_OP_CONST,
     cc_mil_take_affine,
     {"quantized_data", "zero_point", "scale", "axis"}},
    {"constexpr_blockwise_shift_scale", CC_OP_CONST, cc_mil_take_blockwise, {"data", "scale", "offset"}},
    {"constexpr_cast", CC_OP_CONST, cc_mil_take_constexpr_cast, {"source_val", "output_dtype"}},
    {"constexpr_lut_to_dense", CC_OP_CONST, cc_mil_take_lut, {"indices", "lut", "shape", "vector_axis"}},
    {"constexpr_sparse_to_dense", CC_OP_CONST, cc_mil_take_sparse, {"nonzero_data", "mask", "shape"}},
    {"cond", CC_OP_CONST, NULL, {"pred"}}, /* control.c */
    {"while_loop", CC_OP_CONST, NULL, {"loop_vars"}},
    {"split", CC_OP_SLICE_BY_SIZE, cc_mil_take_split, {"x", "axis", "num_splits", "split_sizes"}},
    {"cast", CC_OP_CAST, cc_mil_take_cast, {"x", "dtype"}},
    {"identity", CC_OP_CAST, cc_mil_take_identity, {"x"}},
};
#define OPERATIONS BASE_COUNT_OF(operations)

const char *cc_mil_op_at(unsigned number, enum cc_op_kind *kind, const char *const **arguments)
{
    static const char *const val[] = {"val", NULL};

    if (number > OPERATIONS)
        return NULL;
    *kind = number < OPERATIONS ? operations[number].kind : CC_OP_CONST;
    *arguments = number < OPERATIONS ? operations[number].arguments : val;
    return number < OPERATIONS ? operations[number].name : "const";
}

static bool same(const struct cc_mil_token *token, const char *name)
{
    return token->length == strlen(name) && memcmp(token->text, name, token->length) == 0;
}

static const struct operation *operation_of(const struct cc_mil_token *name)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        if (same(name, operations[i].name))
            return &operations[i];
    return NULL;
}

bool cc_mil_op_known(const struct cc_mil_token *name)
{
    return same(name, "const") || operation_of(name);
}

bool cc_mil_op_splits(const struct cc_mil_token *name)
{
    return same(name, "split") || same(name, "topk") || cc_mil_op_has_blocks(name);
}

bool cc_mil_op_has_blocks(const struct cc_mil_token *name)
{
    return same(name, "cond") || same(name, "while_loop");
}

/*
 * The operations on a state that stays in the engine (the public MIL opset, iOS 18). The M1 has no form of
 * data movement for them, so they are refused by name and not as unknown.
 */
bool cc_mil_op_has_state(const struct cc_mil_token *name)
{
    return same(name, "read_state") || same(name, "write_state") || same(name, "coreml_update_state");
}

int cc_mil_op_refuse_state(struct cc_mil *mil, const struct cc_mil_token *name)
{
    return cc_mil_fail(
        mil, name, EOPNOTSUPP,
        "operation `%.*s`: the data-movement form is not supported on this architecture; give the "
        "state as an input and as an output, and bind both to one buffer.",
        (int)name->length, name->text);
}

/* Lists the operators with the same first letter: all of them would be too many. */
int cc_mil_op_unknown(struct cc_mil *mil, const struct cc_mil_token *name)
{
    int shown = name->length > 64 ? 64 : (int)name->length;
    char known[320] = "";
    size_t at = 0;

    for (size_t i = 0; i < OPERATIONS && at < sizeof(known); i++)
        if (operations[i].name[0] == name->text[0])
            at += (size_t)snprintf(known + at, sizeof(known) - at, at ? ", %s" : "%s", operations[i].name);
    if (!at)
        return cc_mil_fail(mil, name, EOPNOTSUPP,
                           "operation `%.*s` is not known, nor any that begins with `%c`.", shown, name->text,
                           name->text[0]);
    return cc_mil_fail(mil, name, EOPNOTSUPP,
                       "operation `%.*s` is not known; known with this first letter are %s.", shown,
                       name->text, known);
}

int cc_mil_op_check(struct cc_mil *mil, const struct cc_mil_call *call)
{
    const struct operation *operation = operation_of(&call->operation);
    char takes[128] = "";
    size_t at = 0;

    for (unsigned i = 0; i < call->arguments; i++) {
        const struct cc_mil_token *name = &call->argument[i].name;
        const char *const *known = operation->arguments;

        while (*known && !same(name, *known))
            known++;
        if (*known)
            continue;
        for (known = operation->arguments; *known && at < sizeof(takes); known++)
            at += (size_t)snprintf(takes + at, sizeof(takes) - at, at ? ", %s" : "%s", *known);
        return cc_mil_fail(mil, name, EINVAL, "%s has no argument `%.*s`, expected one of %s.",
                           operation->name, name->length > 64 ? 64 : (int)name->length, name->text, takes);
    }
    return 0;
}

int cc_mil_declared(struct cc_mil *mil, const struct cc_mil_call *call, const struct cc_mil_type *gives)
{
    if (cc_mil_type_equal(gives, &call->type))
        return 0;
    return cc_mil_fail(mil, &call->operation, EINVAL, "%.*s `%.*s`: it gives %s, but %s is declared.",
                       (int)call->operation.length, call->operation.text,
                       call->result.length > 64 ? 64 : (int)call->result.length, call->result.text,
                       cc_mil_type_text(gives).text, cc_mil_type_text(&call->type).text);
}

/* An alias of a value: it needs no operation. */
static int build_alias(struct cc_mil *mil, struct cc_mil_call *call, uint32_t value)
{
    const struct cc_value *source = &mil->graph->value[value];
    struct cc_mil_type type = {.scalar = (enum cc_mil_scalar)source->type, .rank = source->rank};
    struct cc_mil_symbol *symbol;
    int status;

    memcpy(type.dim, source->dim, sizeof(source->dim));
    if ((status = cc_mil_declared(mil, call, &type)) || (status = cc_mil_define(mil, &call->result, &symbol)))
        return status;
    symbol->value = value + 1;
    symbol->constant = symbol->folded = source->data != NULL;
    symbol->literal.type = type;
    return 0;
}

/* The name of a node, behind that of the block it is in. */
static char *full_name(const struct cc_mil *mil, const char *name, const struct cc_mil_token *result)
{
    size_t prefix = strlen(mil->prefix), length = name ? strlen(name) : result->length;
    char *whole = base_alloc(prefix + length + 1);

    if (whole) {
        memcpy(whole, mil->prefix, prefix);
        memcpy(whole + prefix, name ? name : result->text, length);
    }
    return whole;
}

/* An operation and its value, of that type. */
static int add_op(struct cc_mil *mil, struct cc_mil_call *call, const struct cc_mil_draft *draft,
                  const struct cc_mil_type *type, uint32_t *value)
{
    char *name = full_name(mil, draft->parts ? NULL : call->name, &call->result);
    struct cc_op *op;
    int status;

    if (!name)
        return cc_mil_no_memory(mil);
    if ((status = cc_mil_add_value(mil, &call->result, type, value)) == 0)
        status = cc_mil_add_op(mil, draft->kind, name, &call->operation, &op);
    base_free(name);
    if (status)
        return status;
    op->inputs = draft->inputs;
    memcpy(op->input, draft->input, sizeof(op->input));
    op->a = draft->a;
    op->output = *value;
    return cc_op_check(mil->graph, op, mil->error);
}

int cc_mil_insert_height(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = 0;

    for (uint32_t i = 0; i < draft->inputs && !status; i++) {
        struct cc_mil_draft expand = {.kind = CC_OP_EXPAND_DIMS, .inputs = 1, .a = {.axes = 1u << 2}};
        const struct cc_value *x = &mil->graph->value[draft->input[i]];
        struct cc_mil_type type = {
            .scalar = (enum cc_mil_scalar)x->type, .rank = 4, .dim = {x->dim[0], x->dim[1], 1, x->dim[2]}};

        expand.input[0] = draft->input[i];
        status = add_op(mil, call, &expand, &type, &draft->input[i]);
    }
    draft->line = true;
    return status;
}

/* The operation at a height of 1, then a reshape that removes it. */
static int add_line(struct cc_mil *mil, struct cc_mil_call *call, const struct cc_mil_draft *draft,
                    uint32_t *value)
{
    struct cc_mil_draft squeeze = {.kind = CC_OP_SQUEEZE, .inputs = 1, .a = {.axes = 1u << 2}};
    struct cc_mil_type type = {.scalar = call->type.scalar,
                               .rank = 4,
                               .dim = {call->type.dim[0], call->type.dim[1], 1, call->type.dim[2]}};
    int status;

    if (call->type.rank != 3)
        return cc_mil_fail(
            mil, &call->type_at, EINVAL, "%.*s of a tensor with 3 axes gives one with 3, but %s is declared.",
            (int)call->operation.length, call->operation.text, cc_mil_type_text(&call->type).text);
    status = add_op(mil, call, draft, &type, &squeeze.input[0]);
    return status ? status : add_op(mil, call, &squeeze, &call->type, value);
}

/* An operation on constants is computed now, so that its result can be a parameter of other calls. */
static int build_op(struct cc_mil *mil, struct cc_mil_call *call, const struct cc_mil_draft *draft)
{
    struct cc_mil_symbol *symbol;
    uint32_t value = 0;
    bool folded = false;
    int status =
        draft->line ? add_line(mil, call, draft, &value) : add_op(mil, call, draft, &call->type, &value);

    if (!status)
        status = cc_eval_fold(mil->graph, mil->graph->ops - 1, &folded, mil->error);
    if (status || (status = cc_mil_define(mil, &call->result, &symbol)))
        return status;
    symbol->value = value + 1;
    symbol->constant = symbol->folded = folded;
    symbol->literal.type = call->type;
    return 0;
}

/* Whether the result is known before the engine runs. */
static bool is_constant(const struct cc_mil *mil, const struct cc_mil_draft *draft)
{
    for (uint32_t i = 0; i < draft->inputs; i++)
        if (!mil->graph->value[draft->input[i]].data)
            return false;
    return draft->inputs != 0;
}

/* Integers are constants, or come from an operation of the host. */
static bool may_give_integers(const struct cc_mil *mil, const struct cc_mil_draft *draft)
{
    return is_constant(mil, draft) || cc_op_is_host(draft->kind) || draft->kind == CC_OP_CAST ||
           (draft->inputs && cc_mil_first(mil, draft)->type == CC_INT32);
}

/* Checks that the operation can give this type, and the limits of the engine. */
static int check_type(struct cc_mil *mil, const struct cc_mil_call *call, const struct operation *operation,
                      const struct cc_mil_draft *draft)
{
    enum cc_mil_scalar scalar = call->type.scalar;
    bool constant = is_constant(mil, draft);
    struct base_error limit;

    /* Whether it gives a bool is the operation's rule: layout operations move them. */
    if (scalar > CC_MIL_BOOL || (scalar == CC_MIL_INT32 && !may_give_integers(mil, draft)))
        return cc_mil_fail(mil, &call->type_at, EINVAL, "%s is declared to give %s, expected %s.",
                           operation->name, cc_mil_type_text(&call->type).text,
                           cc_op_gives_bool(operation->kind) ? "bool" : "fp16 or fp32");
    if (cc_shape_check((enum cc_type)call->type.scalar, call->type.rank, call->type.dim, constant, &limit))
        return cc_mil_fail(mil, &call->type_at, EINVAL, "%.400s.", limit.text);
    return 0;
}

static void turn_to_result(struct cc_mil_call *call, unsigned i)
{
    call->type = call->each[i].type;
    call->type_at = call->each[i].type_at;
    call->result = call->each[i].name;
}

int cc_mil_op_alias(struct cc_mil *mil, struct cc_mil_call *call, unsigned i, uint32_t value)
{
    turn_to_result(call, i);
    return build_alias(mil, call, value);
}

/* One slice per result, each after the one before. */
static int build_split(struct cc_mil *mil, struct cc_mil_call *call, const struct operation *operation,
                       struct cc_mil_draft *draft)
{
    const struct cc_value *source = cc_mil_first(mil, draft);
    struct cc_mil_type type = {.scalar = (enum cc_mil_scalar)source->type, .rank = source->rank};
    int status = 0;

    if (draft->parts != call->results)
        return cc_mil_fail(mil, &call->operation, EINVAL,
                           "split gives %u results, but %u names are before `=`.", draft->parts,
                           call->results);
    memcpy(type.dim, source->dim, sizeof(source->dim));
    memcpy(draft->a.size, source->dim, sizeof(draft->a.size));
    for (unsigned i = 0; i < call->results && !status; i++) {
        turn_to_result(call, i);
        type.dim[draft->axis] = draft->a.size[draft->axis] = draft->part[i];
        if ((status = check_type(mil, call, operation, draft)) ||
            (status = cc_mil_declared(mil, call, &type)))
            break;
        status = build_op(mil, call, draft);
        draft->a.begin[draft->axis] += draft->part[i];
    }
    return status;
}

/* An operation per result: the elements, and their indices. */
static int build_topk(struct cc_mil *mil, struct cc_mil_call *call, const struct operation *operation,
                      struct cc_mil_draft *draft)
{
    int status = 0;

    if (call->results > 2)
        return cc_mil_fail(mil, &call->operation, EINVAL,
                           "topk gives 2 results, but %u names are before `=`.", call->results);
    for (unsigned i = 0; i < call->results && !status; i++) {
        turn_to_result(call, i);
        draft->kind = i ? CC_OP_TOPK_INDICES : CC_OP_TOPK;
        status = check_type(mil, call, operation, draft);
        if (!status)
            status = build_op(mil, call, draft);
    }
    return status;
}

/* A node of the source: the call by its own name, or that of its first result. */
static int add_origin(struct cc_mil *mil, const struct cc_mil_call *call, const char *kind)
{
    char *name = full_name(mil, call->name, &call->result);
    int made;

    if (!name)
        return cc_mil_no_memory(mil);
    made = cc_graph_add_origin(mil->graph, name, kind, call->operation.line, call->operation.column);
    base_free(name);
    mil->nodes++;
    mil->origin = made < 0 ? 0 : (uint32_t)made + 1;
    return made < 0 ? cc_mil_no_memory(mil) : 0;
}

int cc_mil_op_build(struct cc_mil *mil, struct cc_mil_call *call)
{
    const struct operation *operation = operation_of(&call->operation);
    struct cc_mil_draft draft = {.kind = operation->kind};
    int status = cc_mil_op_check(mil, call);

    if (status || (status = add_origin(mil, call, operation->name)) ||
        (status = operation->take(mil, call, &draft)))
        return status;
    if (draft.parts)
        return build_split(mil, call, operation, &draft);
    if (draft.kind == CC_OP_TOPK)
        return build_topk(mil, call, operation, &draft);
    if ((status = check_type(mil, call, operation, &draft)))
        return status;
    return draft.alias ? build_alias(mil, call, draft.input[0]) : build_op(mil, call, &draft);
}
