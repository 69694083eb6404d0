/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of windows that slide over H and W: conv and the pools. Extents are computed in 64 bits, because
 * padding and dilation come from the text. Padding is in the order top, bottom, left, right, already resolved
 * from the text's padding type.
 */
#include "compiler/graph/rules.h"

/* H and W of the result, from the kernel's. */
static int slide(const struct cc_op *op, const struct cc_value *x, const uint32_t kernel[2],
                 struct cc_shape *out, struct base_error *error)
{
    const struct cc_attributes *a = &op->a;

    for (unsigned i = 0; i < 2; i++) {
        uint64_t padded = (uint64_t)x->dim[2 + i] + a->pad[2 * i] + a->pad[2 * i + 1];
        uint64_t extent = (uint64_t)(kernel[i] - 1) * a->dilation[i] + 1;

        if (a->pad[2 * i] > PR_WIDTH_MAX || a->pad[2 * i + 1] > PR_WIDTH_MAX)
            return cc_rule_refuse(op, error, "padding %u and %u of axis %u is more than %u", a->pad[2 * i],
                                  a->pad[2 * i + 1], 2 + i, PR_WIDTH_MAX);
        if (a->stride[i] == 0 || a->dilation[i] == 0)
            return cc_rule_refuse(op, error, "stride %u and dilation %u of axis %u must be at least 1",
                                  a->stride[i], a->dilation[i], 2 + i);
        if (extent > padded)
            return cc_rule_refuse(op, error, "the kernel spans %llu and axis %u has %llu with its padding",
                                  (unsigned long long)extent, 2 + i, (unsigned long long)padded);
        out->dim[2 + i] = (uint32_t)((padded - extent) / a->stride[i] + 1);
        /* one more window, if it begins before the end of x */
        if (a->ceil && (padded - extent) % a->stride[i] &&
            (uint64_t)out->dim[2 + i] * a->stride[i] < (uint64_t)x->dim[2 + i] + a->pad[2 * i])
            out->dim[2 + i]++;
    }
    return 0;
}

int cc_rule_conv(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                 struct base_error *error)
{
    const struct cc_attributes *a = &op->a;
    const struct cc_value *x = cc_rule_operand(graph, op, 0), *weight;
    int status = cc_rule_constant(graph, op, a->weight, "weight", &weight, error);

    if (status)
        return status;
    weight = cc_op_weight(graph, op);
    if (!weight)
        return cc_rule_refuse(op, error, "there is no weight");
    if ((status = cc_rule_same_type(op, x, weight, error)))
        return status;
    if (x->rank != 4 || weight->rank != 4)
        return cc_rule_refuse(
            op, error, "x is %s and weight is %s, expected rank 4: [N, C, H, W] and [out, in / groups, H, W]",
            cc_rule_text(x).text, cc_rule_text(weight).text);
    if (a->groups == 0 || x->dim[1] % a->groups || weight->dim[0] % a->groups)
        return cc_rule_refuse(op, error, "groups = %u does not divide %u input and %u output channels",
                              a->groups, x->dim[1], weight->dim[0]);
    if (weight->dim[1] != x->dim[1] / a->groups)
        return cc_rule_refuse(op, error, "weight is %s, expected %u channels on axis 1 (%u / groups %u)",
                              cc_rule_text(weight).text, x->dim[1] / a->groups, x->dim[1], a->groups);
    if ((status = cc_rule_vector(graph, op, a->bias, "bias", weight->dim[0], error)))
        return status;
    *out = (struct cc_shape){
        .type = cc_rule_result_type(x, weight), .rank = 4, .dim = {x->dim[0], weight->dim[0]}};
    return slide(op, x, weight->dim + 2, out, error);
}

/* The result's lengths are given: an output padding makes them longer than the adjoint's. */
static int check_result(const struct cc_op *op, const struct cc_value *x, const uint32_t kernel[2],
                        struct base_error *error)
{
    const struct cc_attributes *a = &op->a;

    for (unsigned i = 0; i < 2; i++) {
        uint64_t whole, most;

        if (a->stride[i] == 0 || a->dilation[i] == 0)
            return cc_rule_refuse(op, error, "stride %u and dilation %u of axis %u must be at least 1",
                                  a->stride[i], a->dilation[i], 2 + i);
        whole = (uint64_t)a->stride[i] * (x->dim[2 + i] - 1) + (uint64_t)a->dilation[i] * (kernel[i] - 1) + 1;
        most = whole + (a->stride[i] > a->dilation[i] ? a->stride[i] : a->dilation[i]) - 1;
        if (a->size[i] == 0 || a->size[i] + (uint64_t)a->pad[2 * i] > most)
            return cc_rule_refuse(op, error,
                                  "axis %u of the result has length %u behind padding of %u, expected at "
                                  "least 1 and together at most %llu",
                                  2 + i, a->size[i], a->pad[2 * i], (unsigned long long)most);
    }
    return 0;
}

int cc_rule_conv_transpose(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                           struct base_error *error)
{
    const struct cc_attributes *a = &op->a;
    const struct cc_value *x = cc_rule_operand(graph, op, 0), *weight;
    int status = cc_rule_constant(graph, op, a->weight, "weight", &weight, error);

    if (status)
        return status;
    if (!weight)
        return cc_rule_refuse(op, error, "there is no weight");
    if (x->rank != 4 || weight->rank != 4)
        return cc_rule_refuse(
            op, error, "x is %s and weight is %s, expected rank 4: [N, C, H, W] and [in, out / groups, H, W]",
            cc_rule_text(x).text, cc_rule_text(weight).text);
    if (a->groups == 0 || x->dim[1] % a->groups || weight->dim[0] != x->dim[1] ||
        weight->dim[1] > PR_CHANNELS_MAX / a->groups)
        return cc_rule_refuse(
            op, error,
            "weight is %s and groups = %u, expected %u input channels on axis 0 that groups "
            "divides, and at most %u output channels",
            cc_rule_text(weight).text, a->groups, x->dim[1], PR_CHANNELS_MAX);
    if ((status = cc_rule_vector(graph, op, a->bias, "bias", weight->dim[1] * a->groups, error)) ||
        (status = check_result(op, x, weight->dim + 2, error)))
        return status;
    *out = (struct cc_shape){
        .type = x->type, .rank = 4, .dim = {x->dim[0], weight->dim[1] * a->groups, a->size[0], a->size[1]}};
    return 0;
}

int cc_rule_local_response_norm(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                                struct base_error *error)
{
    const struct cc_value *x = cc_rule_operand(graph, op, 0);

    *out = cc_rule_shape(x);
    if (x->rank != 3 && x->rank != 4)
        return cc_rule_refuse(op, error, "x is %s, expected rank 3 or 4: [N, C, W] or [N, C, H, W]",
                              cc_rule_text(x).text);
    if (op->a.kernel[0] == 0 || op->a.kernel[0] > PR_CHANNELS_MAX)
        return cc_rule_refuse(op, error, "size is %u, expected 1 to %u", op->a.kernel[0], PR_CHANNELS_MAX);
    return cc_rule_float(op, x, error);
}

int cc_rule_pool(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *out,
                 struct base_error *error)
{
    const struct cc_attributes *a = &op->a;
    const struct cc_value *x = cc_rule_operand(graph, op, 0);
    int status = cc_rule_float(op, x, error);

    if (status)
        return status;
    if (x->rank != 4)
        return cc_rule_refuse(op, error, "x is %s, expected rank 4: [N, C, H, W]", cc_rule_text(x).text);
    for (unsigned i = 0; i < 2; i++) {
        if (a->kernel[i] == 0 || a->dilation[i] == 0)
            return cc_rule_refuse(op, error, "kernel size %u and dilation %u of axis %u, expected at least 1",
                                  a->kernel[i], a->dilation[i], 2 + i);
        /* a window of padding alone would have no maximum */
        if (a->pad[2 * i] >= a->kernel[i] * (uint64_t)a->dilation[i] ||
            a->pad[2 * i + 1] >= a->kernel[i] * (uint64_t)a->dilation[i])
            return cc_rule_refuse(op, error,
                                  "padding %u and %u of axis %u, expected less than the kernel's %u",
                                  a->pad[2 * i], a->pad[2 * i + 1], 2 + i, a->kernel[i]);
    }
    *out = cc_rule_shape(x);
    return slide(op, x, a->kernel, out, error);
}
