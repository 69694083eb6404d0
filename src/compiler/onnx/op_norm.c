/* SPDX-License-Identifier: Apache-2.0 */
/* Norms. The graph's norms per channel have rank 3 or 4; other ranks are reshaped around them. */
#include "base/alloc.h"
#include "compiler/onnx/op.h"

/* [N, C] as [N, C, 1], and of rank 5 the axes 2 and 3 as one. */
static uint32_t as_channels(const struct cc_onnx_node *n, uint32_t x)
{
    const struct cc_value *v = cc_onnx_shape(n, x);
    uint32_t two[3] = {v->dim[0], v->dim[1], 1},
             five[4] = {v->dim[0], v->dim[1], v->dim[2] * v->dim[3], v->dim[4]};

    if (v->rank == 2)
        return cc_onnx_reshape(n, x, 3, two);
    return v->rank == 5 ? cc_onnx_reshape(n, x, 4, five) : x;
}

static void channel_norm(const struct cc_onnx_node *n, enum cc_op_kind kind, const struct cc_attributes *a)
{
    uint32_t x = cc_onnx_operand(n, 0);
    struct cc_value v = *cc_onnx_shape(n, x);

    if (n->b->status)
        return;
    cc_onnx_result(n, 0, cc_onnx_reshape(n, cc_onnx_unary(n, kind, as_channels(n, x), a), v.rank, v.dim));
}

void cc_onnx_op_batch_norm(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct cc_attributes a = {.epsilon = cc_onnx_float(n, "epsilon", 1e-5f)};

    if (cc_onnx_int(n, "training_mode", 0))
        cc_build_refuse(n->b, "training_mode is set: networks are run here, not trained");
    if (!cc_onnx_int(n, "spatial", 1))
        cc_build_refuse(n->b, "spatial is 0, expected 1: one mean per channel");
    a.weight = cc_onnx_constant(n, 1, "scale") + 1;
    a.bias = cc_onnx_constant(n, 2, "B") + 1;
    a.mean = cc_onnx_constant(n, 3, "mean") + 1;
    a.variance = cc_onnx_constant(n, 4, "var") + 1;
    channel_norm(n, kind, &a);
}

void cc_onnx_op_instance_norm(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct cc_attributes a = {.epsilon = cc_onnx_float(n, "epsilon", 1e-5f)};

    a.weight = cc_onnx_constant(n, 1, "scale") + 1;
    a.bias = cc_onnx_constant(n, 2, "B") + 1;
    channel_norm(n, kind, &a);
}

/* A scale or offset that has the lengths of the normalised axes, as a parameter; 0: it has others. */
static uint32_t norm_parameter(const struct cc_onnx_node *n, uint32_t i, const struct cc_value *x,
                               uint32_t axis)
{
    uint32_t value = cc_onnx_operand(n, i);
    const struct cc_value *v = cc_onnx_shape(n, value);
    uint64_t elements = 1;

    for (uint32_t k = axis; k < x->rank; k++)
        elements *= x->dim[k];
    if (n->b->status || !v->data || cc_value_elements(v) != elements)
        return 0;
    return cc_onnx_reshape(n, value, x->rank - axis, x->dim + axis) + 1;
}

/* The further results of LayerNormalization: the mean, and 1 / sqrt(variance + epsilon). */
static void layer_statistics(const struct cc_onnx_node *n, uint32_t x, const struct cc_attributes *norm)
{
    struct cc_attributes a = {.axes = norm->axes, .keep_dims = true};
    uint32_t mean, centred;

    if (n->proto->n_output < 2)
        return;
    mean = cc_onnx_unary(n, CC_OP_REDUCE_MEAN, x, &a);
    cc_onnx_result(n, 1, mean);
    centred = cc_onnx_unary(n, CC_OP_SQUARE, cc_onnx_binary(n, CC_OP_SUB, x, mean), NULL);
    centred = cc_onnx_unary(n, CC_OP_REDUCE_MEAN, centred, &a);
    cc_onnx_result(n, 2,
                   cc_onnx_unary(n, CC_OP_RSQRT, centred, &(struct cc_attributes){.epsilon = norm->epsilon}));
}

void cc_onnx_op_layer_norm(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct cc_attributes a = {.epsilon = cc_onnx_float(n, "epsilon", 1e-5f)};
    uint32_t x = cc_onnx_operand(n, 0), axis, made;
    struct cc_value v = *cc_onnx_shape(n, x);

    axis = cc_onnx_axis(n, cc_onnx_int(n, "axis", -1), v.rank);
    if (n->b->status)
        return;
    a.axes = ((1u << v.rank) - 1) & ~((1u << axis) - 1);
    if (cc_onnx_has(n, 1))
        a.weight = norm_parameter(n, 1, &v, axis);
    if (cc_onnx_has(n, 2) && (a.weight || !cc_onnx_has(n, 1)))
        a.bias = norm_parameter(n, 2, &v, axis);
    made = cc_onnx_unary(n, kind, x, &a);
    if (cc_onnx_has(n, 1) && !a.weight)
        made = cc_onnx_binary(n, CC_OP_MUL, made, cc_onnx_operand(n, 1));
    if (cc_onnx_has(n, 2) && !a.bias)
        made = cc_onnx_binary(n, CC_OP_ADD, made, cc_onnx_operand(n, 2));
    cc_onnx_result(n, 0, made);
    layer_statistics(n, x, &a);
}

/* x / sqrt(mean x^2 + epsilon) * scale */
void cc_onnx_op_rms_norm(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct cc_attributes inverse = {.epsilon = cc_onnx_float(n, "epsilon", 1e-5f)}, a = {.keep_dims = true};
    uint32_t x = cc_onnx_operand(n, 0), rank = cc_onnx_shape(n, x)->rank, axis, made;

    axis = cc_onnx_axis(n, cc_onnx_int(n, "axis", -1), rank);
    a.axes = ((1u << rank) - 1) & ~((1u << axis) - 1);
    made = cc_onnx_unary(n, CC_OP_REDUCE_MEAN, cc_onnx_unary(n, CC_OP_SQUARE, x, NULL), &a);
    made = cc_onnx_binary(n, kind, x, cc_onnx_unary(n, CC_OP_RSQRT, made, &inverse));
    cc_onnx_result(n, 0, cc_onnx_binary(n, kind, made, cc_onnx_operand(n, 1)));
}

/* One number per channel as [C, 1, ...], from one per channel or, before version 21, one per group. */
static uint32_t group_parameter(const struct cc_onnx_node *n, uint32_t i, const struct cc_value *x)
{
    const struct cc_value *v = cc_onnx_shape(n, cc_onnx_constant(n, i, i == 1 ? "scale" : "bias"));
    uint32_t dims[CC_RANK_MAX] = {x->dim[1], 1, 1, 1, 1};
    uint64_t given = cc_value_elements(v);
    float *data;

    if (n->b->status)
        return 0;
    if (given == 0 || x->dim[1] % given) {
        cc_build_refuse(n->b, "operand %u has %llu numbers for %u channels", i, (unsigned long long)given,
                        x->dim[1]);
        return 0;
    }
    data = base_alloc_array(x->dim[1], sizeof(*data));
    for (uint32_t k = 0; data && k < x->dim[1]; k++)
        data[k] = (float)cc_value_number(v, k / (x->dim[1] / given));
    return cc_build_const(n->b, CC_FP32, x->rank - 1, dims, data);
}

/* An instance norm of the groups, then factor and offset per channel. */
void cc_onnx_op_group_norm(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct cc_attributes a = {.epsilon = cc_onnx_float(n, "epsilon", 1e-5f)};
    int64_t groups = cc_onnx_int(n, "num_groups", 0);
    uint32_t x = cc_onnx_operand(n, 0), dims[4], made;
    struct cc_value v = *cc_onnx_shape(n, x);

    if (!n->b->status && (v.rank < 3 || groups < 1 || groups > v.dim[1] || v.dim[1] % groups))
        cc_build_refuse(n->b,
                        "x is %s and num_groups is %lld, expected at least rank 3 and channels that the "
                        "groups divide",
                        cc_shape_text(v.type, v.rank, v.dim).text, (long long)groups);
    if (n->b->status)
        return;
    dims[0] = v.dim[0];
    dims[1] = (uint32_t)groups;
    dims[2] = v.dim[1] / (uint32_t)groups;
    for (uint32_t i = 2; i + 1 < v.rank; i++)
        dims[2] *= v.dim[i];
    dims[3] = v.dim[v.rank - 1];
    made = cc_onnx_unary(n, kind, cc_onnx_reshape(n, x, 4, dims), &a);
    made = cc_onnx_reshape(n, made, v.rank, v.dim);
    made = cc_onnx_binary(n, CC_OP_MUL, made, group_parameter(n, 1, &v));
    cc_onnx_result(n, 0, cc_onnx_binary(n, CC_OP_ADD, made, group_parameter(n, 2, &v)));
}

void cc_onnx_op_lp_norm(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t x = cc_onnx_operand(n, 0), norm;
    uint32_t axis = cc_onnx_axis(n, cc_onnx_int(n, "axis", -1), cc_onnx_shape(n, x)->rank);
    struct cc_attributes a = {.axes = 1u << axis, .keep_dims = true};
    int64_t p = cc_onnx_int(n, "p", 2);

    if (p != 1 && p != 2)
        cc_build_refuse(n->b, "p is %lld, expected 1 or 2", (long long)p);
    norm = cc_onnx_unary(n, p == 1 ? CC_OP_REDUCE_L1_NORM : CC_OP_REDUCE_L2_NORM, x, &a);
    cc_onnx_result(n, 0, cc_onnx_binary(n, kind, x, norm));
}

/* The specification adds 1e-9 to the standard deviation; here its square is added to the variance. */
void cc_onnx_op_mean_variance(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    struct cc_attributes a = {.epsilon = 1e-18f};
    uint32_t x = cc_onnx_operand(n, 0);
    struct cc_onnx_list axes;

    if (!cc_onnx_ints(n, "axes", &axes))
        axes = (struct cc_onnx_list){.count = 3, .number = {0, 2, 3}};
    a.axes = cc_onnx_axes(n, &axes, cc_onnx_shape(n, x)->rank);
    cc_onnx_result(n, 0, cc_onnx_unary(n, kind, x, &a));
}
