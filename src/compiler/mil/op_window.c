/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of windows that slide over H and W, or over W alone: conv and the pools. A window over W alone gets a
 * height of 1 first (`draft->line`), and the arguments then fill the second half of each pair. The padding
 * type becomes numbers here; the graph knows only these.
 */
#include "compiler/mil/op.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

/* Padding for ceil(length / stride) outputs; an odd one goes to the end, or to the front with same_lower. */
static void same_padding(const struct cc_value *x, const uint32_t kernel[2], struct cc_attributes *a,
                         bool lower)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t stride = a->stride[i], length = x->dim[2 + i];
        uint64_t extent = (uint64_t)(kernel[i] - 1) * a->dilation[i] + 1;
        uint64_t covered = ((length + stride - 1) / stride - 1) * stride + extent;
        uint64_t total = covered > length ? covered - length : 0;
        uint32_t less = (uint32_t)(total / 2), more = (uint32_t)(total - less);

        a->pad[2 * i] = lower ? more : less;
        a->pad[2 * i + 1] = lower ? less : more;
    }
}

/* One number for each axis that the window slides over; a window over one axis keeps its height. */
static int take_axes(struct cc_mil *mil, struct cc_mil_call *call, const char *name,
                     const struct cc_mil_draft *draft, uint32_t values[2])
{
    return cc_mil_ints(mil, call, name, draft->line ? 1 : 2, 1, PR_WIDTH_MAX, values + draft->line);
}

/*
 * `kernel` is NULL when x or the kernel has another rank than 4: that is refused when the operation is
 * checked.
 */
static int take_padding(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft,
                        const uint32_t *kernel)
{
    const char *padding = "valid";
    const int32_t *unused;
    uint32_t count;
    int status = cc_mil_string(mil, call, "pad_type", &padding);

    if (status)
        return status;
    if (strcmp(padding, "custom") == 0) {
        status = cc_mil_need(mil, call, "pad");
        return status ? status
                      : cc_mil_ints(mil, call, "pad", draft->line ? 2 : 4, 0, PR_WIDTH_MAX,
                                    draft->a.pad + 2 * draft->line);
    }
    if (strcmp(padding, "same") != 0 && strcmp(padding, "same_lower") != 0 && strcmp(padding, "valid") != 0)
        return cc_mil_wrong(mil, call, "pad_type", EINVAL,
                            "is \"%.40s\", expected valid, same, same_lower or custom", padding);
    if (kernel && padding[0] == 's')
        same_padding(cc_mil_first(mil, draft), kernel, &draft->a, padding[4] != '\0');
    return cc_mil_list(mil, call, "pad", &unused, &count);
}

/* [out, in, W] as [out, in, 1, W]: the same numbers under another shape. */
static int heighten_weight(struct cc_mil *mil, struct cc_mil_call *call, uint32_t *weight)
{
    const struct cc_value *v = &mil->graph->value[*weight - 1];
    const uint32_t dim[4] = {v->dim[0], v->dim[1], 1, v->dim[2]};
    void *data = base_alloc(v->bytes);
    char *name = base_strdup(v->name);
    int made = -ENOMEM;

    if (data && name) {
        memcpy(data, v->data, v->bytes);
        made = cc_graph_add_const(mil->graph, name, v->type, 4, dim, data);
    }
    base_free(name);
    if (made < 0) {
        base_free(data);
        return made == -ENOMEM ? cc_mil_no_memory(mil)
                               : cc_mil_wrong(mil, call, "weight", -made, "makes the graph too large");
    }
    *weight = (uint32_t)made + 1;
    return 0;
}

/* All but the padding. *kernel is NULL as take_padding has it. */
static int take_kernel(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft,
                       const uint32_t **kernel)
{
    struct cc_attributes *a = &draft->a;
    const struct cc_value *weight;
    int status = cc_mil_take_linear(mil, call, draft);

    if (status)
        return status;
    weight = &mil->graph->value[a->weight - 1];
    if (draft->kind == CC_OP_CONV && !weight->data) {
        draft->input[draft->inputs++] = a->weight - 1;
        a->weight = 0;
    }
    if (cc_mil_first(mil, draft)->rank == 3 && weight->rank == 3 &&
        ((a->weight && weight->data && (status = heighten_weight(mil, call, &a->weight))) ||
         (status = cc_mil_insert_height(mil, call, draft))))
        return status;
    a->stride[0] = a->stride[1] = a->dilation[0] = a->dilation[1] = a->groups = 1;
    if ((status = take_axes(mil, call, "strides", draft, a->stride)) ||
        (status = take_axes(mil, call, "dilations", draft, a->dilation)) ||
        (status = cc_mil_ints(mil, call, "groups", 1, 1, PR_CHANNELS_MAX, &a->groups)))
        return status;
    weight = &mil->graph->value[a->weight ? a->weight - 1 : draft->input[1]];
    *kernel = cc_mil_first(mil, draft)->rank == 4 && weight->rank == 4 ? weight->dim + 2 : NULL;
    return 0;
}

int cc_mil_take_conv(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    const uint32_t *kernel;
    int status = take_kernel(mil, call, draft, &kernel);

    return status ? status : take_padding(mil, call, draft, kernel);
}

/*
 * The lengths of the result: as given, stride times the length of x with `same`, or all that the windows
 * cover but the padding. `same` leaves the half of what it cuts off at the front, rounded down.
 */
static void result_lengths(const struct cc_value *x, const uint32_t kernel[2], const int32_t *given,
                           bool same, struct cc_attributes *a)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t whole =
            (uint64_t)a->stride[i] * (x->dim[2 + i] - 1) + (uint64_t)(kernel[i] - 1) * a->dilation[i] + 1;
        uint64_t cut = (uint64_t)a->pad[2 * i] + a->pad[2 * i + 1];
        uint64_t length = same ? (uint64_t)a->stride[i] * x->dim[2 + i] : whole > cut ? whole - cut : 0;

        if (given)
            length = given[i] > 0 ? (uint64_t)given[i] : 0;
        if (same)
            a->pad[2 * i] = (uint32_t)(whole > length ? (whole - length) / 2 : 0);
        a->size[i] = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
    }
}

int cc_mil_take_conv_transpose(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    const char *padding = "valid";
    const uint32_t *kernel;
    const int32_t *shape;
    int32_t given[2] = {1, 1};
    uint32_t count, axes;
    int status = take_kernel(mil, call, draft, &kernel);

    if (status || (status = take_padding(mil, call, draft, NULL)) ||
        (status = cc_mil_string(mil, call, "pad_type", &padding)) ||
        (status = cc_mil_list(mil, call, "output_shape", &shape, &count)))
        return status;
    axes = draft->line ? 1 : 2;
    if (count && count != 2 + axes)
        return cc_mil_wrong(mil, call, "output_shape", EINVAL, "has %u numbers, expected %u", count,
                            2 + axes);
    for (uint32_t i = 0; count && i < axes; i++)
        given[2 - axes + i] = shape[2 + i];
    if (kernel)
        result_lengths(cc_mil_first(mil, draft), kernel, count ? given : NULL, padding[0] == 's', &draft->a);
    return 0;
}

static int take_pool(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_attributes *a = &draft->a;
    int status = cc_mil_operand(mil, call, "x", draft);

    if (!status && cc_mil_first(mil, draft)->rank == 3)
        status = cc_mil_insert_height(mil, call, draft);
    a->stride[0] = a->stride[1] = a->dilation[0] = a->dilation[1] = 1;
    a->kernel[0] = a->kernel[1] = 1;
    if (status || (status = cc_mil_need(mil, call, "kernel_sizes")) ||
        (status = take_axes(mil, call, "kernel_sizes", draft, a->kernel)) ||
        (status = take_axes(mil, call, "strides", draft, a->stride)) ||
        (status = cc_mil_need(mil, call, "pad_type")) ||
        (status = cc_mil_bool(mil, call, "ceil_mode", &a->ceil)))
        return status;
    return take_padding(mil, call, draft, cc_mil_first(mil, draft)->rank == 4 ? a->kernel : NULL);
}

int cc_mil_take_pool(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    return take_pool(mil, call, draft);
}

int cc_mil_take_avg_pool(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = take_pool(mil, call, draft);

    return status ? status
                  : cc_mil_bool(mil, call, "exclude_padding_from_average", &draft->a.exclude_padding);
}

/* In MIL's letters: k is added to the sum, beta is the exponent. */
int cc_mil_take_local_response_norm(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_attributes *a = &draft->a;
    int status = cc_mil_operand(mil, call, "x", draft);

    a->alpha = 1e-4f;
    a->beta = 1;
    a->gamma = 0.75f;
    if (!status)
        status = cc_mil_need(mil, call, "size");
    if (!status)
        status = cc_mil_ints(mil, call, "size", 1, 1, PR_CHANNELS_MAX, &a->kernel[0]);
    if (!status)
        status = cc_mil_float(mil, call, "alpha", &a->alpha);
    if (!status)
        status = cc_mil_float(mil, call, "k", &a->beta);
    return status ? status : cc_mil_float(mil, call, "beta", &a->gamma);
}

int cc_mil_take_prelu(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    if (!status)
        status = cc_mil_need(mil, call, "alpha");
    return status ? status : cc_mil_tensor(mil, call, "alpha", &draft->a.weight);
}
