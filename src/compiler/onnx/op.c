/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators, sorted by name, with the attributes that each is read with; a node with another one is
 * refused, because it could change the meaning. Attributes that no version of the operator gives a meaning at
 * inference are listed too.
 */
#include "compiler/onnx/op.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

struct row {
    const char *name;
    cc_onnx_read_op *read;
    enum cc_op_kind kind;
    const char *attributes; /* names, one space between two */
};

static const struct row rows[] = {
    {"Abs", cc_onnx_op_unary, CC_OP_ABS, ""},
    {"Add", cc_onnx_op_binary, CC_OP_ADD, ""},
    {"And", cc_onnx_op_logic, CC_OP_LOGICAL_AND, ""},
    {"ArgMax", cc_onnx_op_arg, CC_OP_ARG_MAX, "axis keepdims select_last_index"},
    {"ArgMin", cc_onnx_op_arg, CC_OP_ARG_MIN, "axis keepdims select_last_index"},
    {"Atan", cc_onnx_op_unary, CC_OP_ATAN, ""},
    {"AveragePool", cc_onnx_op_pool, CC_OP_AVG_POOL,
     "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    {"BatchNormalization", cc_onnx_op_batch_norm, CC_OP_BATCH_NORM, "epsilon momentum spatial training_mode"},
    {"Cast", cc_onnx_op_cast, CC_OP_CAST, "round_mode saturate to"},
    {"CastLike", cc_onnx_op_cast_like, CC_OP_CAST, "round_mode saturate"},
    {"Ceil", cc_onnx_op_unary, CC_OP_CEIL, ""},
    {"Celu", cc_onnx_op_celu, CC_OP_ELU, "alpha"},
    {"Clip", cc_onnx_op_clip, CC_OP_CLIP, "max min"},
    {"Concat", cc_onnx_op_concat, CC_OP_CONCAT, "axis"},
    {"Constant", cc_onnx_op_constant, CC_OP_CONST, "value value_float value_floats value_int value_ints"},
    {"ConstantOfShape", cc_onnx_op_constant_of_shape, CC_OP_CONST, "value"},
    {"Conv", cc_onnx_op_conv, CC_OP_CONV, "auto_pad dilations group kernel_shape pads strides"},
    {"ConvTranspose", cc_onnx_op_conv_transpose, CC_OP_CONV_TRANSPOSE,
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
    {"Cos", cc_onnx_op_unary, CC_OP_COS, ""},
    {"Cosh", cc_onnx_op_unary, CC_OP_COSH, ""},
    {"CumSum", cc_onnx_op_cumsum, CC_OP_CUMSUM, "exclusive reverse"},
    {"DepthToSpace", cc_onnx_op_depth, CC_OP_DEPTH_TO_SPACE, "blocksize mode"},
    {"DequantizeLinear", cc_onnx_op_dequantize, CC_OP_CONST, "axis block_size output_dtype"},
    {"Div", cc_onnx_op_binary, CC_OP_REAL_DIV, ""},
    {"Dropout", cc_onnx_op_dropout, CC_OP_CAST, "ratio seed"},
    {"Elu", cc_onnx_op_activation, CC_OP_ELU, "alpha"},
    {"Equal", cc_onnx_op_compare, CC_OP_EQUAL, ""},
    {"Erf", cc_onnx_op_unary, CC_OP_ERF, ""},
    {"Exp", cc_onnx_op_unary, CC_OP_EXP, ""},
    {"Expand", cc_onnx_op_expand, CC_OP_TILE, ""},
    {"EyeLike", cc_onnx_op_eye, CC_OP_CONST, "dtype k"},
    {"Flatten", cc_onnx_op_flatten, CC_OP_RESHAPE, "axis"},
    {"Floor", cc_onnx_op_unary, CC_OP_FLOOR, ""},
    {"Gather", cc_onnx_op_gather, CC_OP_GATHER, "axis"},
    {"Gelu", cc_onnx_op_gelu, CC_OP_GELU, "approximate"},
    {"Gemm", cc_onnx_op_gemm, CC_OP_LINEAR, "alpha beta transA transB"},
    {"GlobalAveragePool", cc_onnx_op_global_pool, CC_OP_REDUCE_MEAN, ""},
    {"GlobalLpPool", cc_onnx_op_global_pool, CC_OP_REDUCE_L2_NORM, "p"},
    {"GlobalMaxPool", cc_onnx_op_global_pool, CC_OP_REDUCE_MAX, ""},
    {"Greater", cc_onnx_op_compare, CC_OP_GREATER, ""},
    {"GreaterOrEqual", cc_onnx_op_compare, CC_OP_GREATER_EQUAL, ""},
    {"GroupNormalization", cc_onnx_op_group_norm, CC_OP_INSTANCE_NORM, "epsilon num_groups stash_type"},
    {"HardSigmoid", cc_onnx_op_activation, CC_OP_SIGMOID_HARD, "alpha beta"},
    {"HardSwish", cc_onnx_op_activation, CC_OP_HARD_SWISH, ""},
    {"Identity", cc_onnx_op_identity, CC_OP_CAST, ""},
    {"If", cc_onnx_op_if, CC_OP_SELECT, "else_branch then_branch"},
    {"InstanceNormalization", cc_onnx_op_instance_norm, CC_OP_INSTANCE_NORM, "epsilon"},
    {"LRN", cc_onnx_op_lrn, CC_OP_LOCAL_RESPONSE_NORM, "alpha beta bias size"},
    {"LayerNormalization", cc_onnx_op_layer_norm, CC_OP_LAYER_NORM, "axis epsilon stash_type"},
    {"LeakyRelu", cc_onnx_op_activation, CC_OP_LEAKY_RELU, "alpha"},
    {"Less", cc_onnx_op_compare, CC_OP_LESS, ""},
    {"LessOrEqual", cc_onnx_op_compare, CC_OP_LESS_EQUAL, ""},
    {"Log", cc_onnx_op_unary, CC_OP_LOG, ""},
    {"LogSoftmax", cc_onnx_op_softmax, CC_OP_LOG_SOFTMAX, "axis"},
    {"Loop", cc_onnx_op_loop, CC_OP_CONST, "body"},
    {"LpNormalization", cc_onnx_op_lp_norm, CC_OP_REAL_DIV, "axis p"},
    {"LpPool", cc_onnx_op_pool, CC_OP_L2_POOL, "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    {"MatMul", cc_onnx_op_matmul, CC_OP_MATMUL, ""},
    {"Max", cc_onnx_op_list, CC_OP_MAXIMUM, ""},
    {"MaxPool", cc_onnx_op_pool, CC_OP_MAX_POOL,
     "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    {"Mean", cc_onnx_op_mean, CC_OP_ADD, ""},
    {"MeanVarianceNormalization", cc_onnx_op_mean_variance, CC_OP_LAYER_NORM, "axes"},
    {"Min", cc_onnx_op_list, CC_OP_MINIMUM, ""},
    {"Mish", cc_onnx_op_mish, CC_OP_TANH, ""},
    {"Mod", cc_onnx_op_mod, CC_OP_MOD, "fmod"},
    {"Mul", cc_onnx_op_binary, CC_OP_MUL, ""},
    {"Neg", cc_onnx_op_negate, CC_OP_MUL, ""},
    {"NonZero", cc_onnx_op_nonzero, CC_OP_CONST, ""},
    {"Not", cc_onnx_op_logic, CC_OP_LOGICAL_NOT, ""},
    {"OneHot", cc_onnx_op_one_hot, CC_OP_CONST, "axis"},
    {"Or", cc_onnx_op_logic, CC_OP_LOGICAL_OR, ""},
    {"PRelu", cc_onnx_op_prelu, CC_OP_PRELU, ""},
    {"Pad", cc_onnx_op_pad, CC_OP_PAD, "mode pads value"},
    {"Pow", cc_onnx_op_pow, CC_OP_POW, ""},
    {"QLinearConv", cc_onnx_op_qlinear_conv, CC_OP_CONV,
     "auto_pad dilations group kernel_shape pads strides"},
    {"QLinearMatMul", cc_onnx_op_qlinear_matmul, CC_OP_MATMUL, ""},
    {"QuantizeLinear", cc_onnx_op_quantize, CC_OP_CLIP, "axis block_size output_dtype precision saturate"},
    {"RMSNormalization", cc_onnx_op_rms_norm, CC_OP_MUL, "axis epsilon stash_type"},
    {"Range", cc_onnx_op_range, CC_OP_CONST, ""},
    {"Reciprocal", cc_onnx_op_unary, CC_OP_INVERSE, ""},
    {"ReduceL1", cc_onnx_op_reduce, CC_OP_REDUCE_L1_NORM, "axes keepdims noop_with_empty_axes"},
    {"ReduceL2", cc_onnx_op_reduce, CC_OP_REDUCE_L2_NORM, "axes keepdims noop_with_empty_axes"},
    {"ReduceLogSum", cc_onnx_op_reduce, CC_OP_REDUCE_LOG_SUM, "axes keepdims noop_with_empty_axes"},
    {"ReduceLogSumExp", cc_onnx_op_reduce, CC_OP_REDUCE_LOG_SUM_EXP, "axes keepdims noop_with_empty_axes"},
    {"ReduceMax", cc_onnx_op_reduce, CC_OP_REDUCE_MAX, "axes keepdims noop_with_empty_axes"},
    {"ReduceMean", cc_onnx_op_reduce, CC_OP_REDUCE_MEAN, "axes keepdims noop_with_empty_axes"},
    {"ReduceMin", cc_onnx_op_reduce, CC_OP_REDUCE_MIN, "axes keepdims noop_with_empty_axes"},
    {"ReduceProd", cc_onnx_op_reduce, CC_OP_REDUCE_PROD, "axes keepdims noop_with_empty_axes"},
    {"ReduceSum", cc_onnx_op_reduce, CC_OP_REDUCE_SUM, "axes keepdims noop_with_empty_axes"},
    {"ReduceSumSquare", cc_onnx_op_reduce, CC_OP_REDUCE_SUM_SQUARE, "axes keepdims noop_with_empty_axes"},
    {"Relu", cc_onnx_op_unary, CC_OP_RELU, ""},
    {"Reshape", cc_onnx_op_reshape, CC_OP_RESHAPE, "allowzero"},
    {"Resize", cc_onnx_op_resize, CC_OP_RESIZE,
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside extrapolation_value "
     "keep_aspect_ratio_policy mode nearest_mode"},
    {"Round", cc_onnx_op_unary, CC_OP_ROUND, ""},
    {"Selu", cc_onnx_op_activation, CC_OP_SELU, "alpha gamma"},
    {"Shape", cc_onnx_op_shape, CC_OP_CONST, "end start"},
    {"Shrink", cc_onnx_op_shrink, CC_OP_SELECT, "bias lambd"},
    {"Sigmoid", cc_onnx_op_unary, CC_OP_SIGMOID, ""},
    {"Sign", cc_onnx_op_unary, CC_OP_SIGN, ""},
    {"Sin", cc_onnx_op_unary, CC_OP_SIN, ""},
    {"Sinh", cc_onnx_op_unary, CC_OP_SINH, ""},
    {"Size", cc_onnx_op_size, CC_OP_CONST, ""},
    {"Slice", cc_onnx_op_slice, CC_OP_SLICE_BY_SIZE, "axes ends starts"},
    {"Softmax", cc_onnx_op_softmax, CC_OP_SOFTMAX, "axis"},
    {"Softplus", cc_onnx_op_unary, CC_OP_SOFTPLUS, ""},
    {"Softsign", cc_onnx_op_unary, CC_OP_SOFTSIGN, ""},
    {"SpaceToDepth", cc_onnx_op_depth, CC_OP_SPACE_TO_DEPTH, "blocksize"},
    {"Split", cc_onnx_op_split, CC_OP_SLICE_BY_SIZE, "axis num_outputs split"},
    {"Sqrt", cc_onnx_op_unary, CC_OP_SQRT, ""},
    {"Squeeze", cc_onnx_op_squeeze, CC_OP_RESHAPE, "axes"},
    {"Sub", cc_onnx_op_binary, CC_OP_SUB, ""},
    {"Sum", cc_onnx_op_list, CC_OP_ADD, ""},
    {"Swish", cc_onnx_op_swish, CC_OP_SILU, "alpha"},
    {"Tan", cc_onnx_op_unary, CC_OP_TAN, ""},
    {"Tanh", cc_onnx_op_unary, CC_OP_TANH, ""},
    {"ThresholdedRelu", cc_onnx_op_thresholded, CC_OP_THRESHOLDED_RELU, "alpha"},
    {"Tile", cc_onnx_op_tile, CC_OP_TILE, ""},
    {"TopK", cc_onnx_op_topk, CC_OP_TOPK, "axis k largest sorted"},
    {"Transpose", cc_onnx_op_transpose, CC_OP_TRANSPOSE, "perm"},
    {"Trilu", cc_onnx_op_trilu, CC_OP_SELECT, "upper"},
    {"Unsqueeze", cc_onnx_op_unsqueeze, CC_OP_RESHAPE, "axes"},
    {"Upsample", cc_onnx_op_upsample, CC_OP_RESIZE, "mode scales"},
    {"Where", cc_onnx_op_where, CC_OP_SELECT, ""},
    {"Xor", cc_onnx_op_logic, CC_OP_LOGICAL_XOR, ""},
};

const char *cc_onnx_op_at(unsigned number, enum cc_op_kind *kind, const char **attributes)
{
    if (number >= BASE_COUNT_OF(rows))
        return NULL;
    *kind = rows[number].kind;
    *attributes = rows[number].attributes;
    return rows[number].name;
}

static int compare(const void *name, const void *row)
{
    return strcmp(name, ((const struct row *)row)->name);
}

static bool is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    while (*list) {
        size_t word = strcspn(list, " ");

        if (word == length && !memcmp(list, name, word))
            return true;
        list += word + (list[word] == ' ');
    }
    return false;
}

static const CcFunction *function_of(const struct cc_onnx_node *n)
{
    const CcModel *file = n->reader->model->file;

    for (size_t i = 0; i < file->n_functions; i++)
        if (!strcmp(file->functions[i]->name, n->proto->op_type) &&
            !strcmp(file->functions[i]->domain, n->proto->domain))
            return file->functions[i];
    return NULL;
}

void cc_onnx_op(const struct cc_onnx_node *n)
{
    const char *domain = n->proto->domain;
    bool standard = !domain[0] || !strcmp(domain, "ai.onnx");
    const struct row *row =
        standard ? bsearch(n->proto->op_type, rows, BASE_COUNT_OF(rows), sizeof(rows[0]), compare) : NULL;
    const CcFunction *function = row ? NULL : function_of(n);

    if (function) {
        cc_onnx_call(n, function);
        return;
    }
    if (!row) {
        cc_build_refuse(
            n->b,
            "operator %.64s of domain \"%.64s\" (operator set %lld) is not known; `anemone compile "
            "--list` has those that are",
            n->proto->op_type, domain, (long long)n->opset);
        return;
    }
    for (size_t i = 0; i < n->proto->n_attribute; i++)
        if (!is_listed(row->attributes, n->proto->attribute[i]->name)) {
            cc_build_refuse(n->b, "its attribute %.64s is not known", n->proto->attribute[i]->name);
            return;
        }
    row->read(n, row->kind);
}
