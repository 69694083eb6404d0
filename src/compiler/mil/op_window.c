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

int cc_mil_take_conv(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_attributes *a = &draft->a;
    const struct cc_value *weight;
    int status = cc_mil_take_linear(mil, call, draft);

    if (status)
        return status;
    weight = &mil->graph->value[a->weight - 1];
    if (cc_mil_first(mil, draft)->rank == 3 && weight->rank == 3 && weight->data &&
        ((status = heighten_weight(mil, call, &a->weight)) ||
         (status = cc_mil_insert_height(mil, call, draft))))
        return status;
    a->stride[0] = a->stride[1] = a->dilation[0] = a->dilation[1] = a->groups = 1;
    if ((status = take_axes(mil, call, "strides", draft, a->stride)) ||
        (status = take_axes(mil, call, "dilations", draft, a->dilation)) ||
        (status = cc_mil_ints(mil, call, "groups", 1, 1, PR_CHANNELS_MAX, &a->groups)))
        return status;
    weight = &mil->graph->value[a->weight - 1];
    return take_padding(mil, call, draft,
                        cc_mil_first(mil, draft)->rank == 4 && weight->rank == 4 ? weight->dim + 2 : NULL);
}

/*
 * Rounding up adds one window that reaches beyond the end, and padding at the end for it. It adds none where
 * that window would begin after the elements. With `same` there is nothing to round. Returns whether anything
 * changed.
 */
static bool round_up(const struct cc_value *x, struct cc_attributes *a)
{
    bool changed = false;

    for (unsigned i = 0; i < 2; i++) {
        uint64_t length = (uint64_t)x->dim[2 + i] + a->pad[2 * i], padded = length + a->pad[2 * i + 1];
        uint64_t slides = padded >= a->kernel[i] ? padded - a->kernel[i] : 0, rest = slides % a->stride[i];

        if (!rest || slides - rest + a->stride[i] >= length)
            continue;
        a->pad[2 * i + 1] += (uint32_t)(a->stride[i] - rest);
        changed = true;
    }
    return changed;
}

static int take_pool(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_attributes *a = &draft->a;
    bool ceil_mode = false;
    int status = cc_mil_operand(mil, call, "x", draft);

    if (!status && cc_mil_first(mil, draft)->rank == 3)
        status = cc_mil_insert_height(mil, call, draft);
    a->stride[0] = a->stride[1] = a->dilation[0] = a->dilation[1] = 1;
    a->kernel[0] = a->kernel[1] = 1;
    if (status || (status = cc_mil_need(mil, call, "kernel_sizes")) ||
        (status = take_axes(mil, call, "kernel_sizes", draft, a->kernel)) ||
        (status = take_axes(mil, call, "strides", draft, a->stride)) ||
        (status = cc_mil_need(mil, call, "pad_type")) ||
        (status = cc_mil_bool(mil, call, "ceil_mode", &ceil_mode)))
        return status;
    status = take_padding(mil, call, draft, cc_mil_first(mil, draft)->rank == 4 ? a->kernel : NULL);
    if (status || !ceil_mode || cc_mil_first(mil, draft)->rank != 4)
        return status;
    if (round_up(cc_mil_first(mil, draft), a) && draft->kind == CC_OP_AVG_POOL)
        return cc_mil_wrong(
            mil, call, "ceil_mode", EOPNOTSUPP,
            "is true and a window reaches beyond the end; this compiler does not support such "
            "averages");
    return 0;
}

int cc_mil_take_max_pool(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    return take_pool(mil, call, draft);
}

/* Whether any window covers an element of the padding. */
static bool meets_padding(const struct cc_value *x, const struct cc_attributes *a)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t length = (uint64_t)x->dim[2 + i] + a->pad[2 * i], padded = length + a->pad[2 * i + 1];

        if (a->pad[2 * i])
            return true;
        if (padded >= a->kernel[i] &&
            (padded - a->kernel[i]) / a->stride[i] * a->stride[i] + a->kernel[i] > length)
            return true;
    }
    return false;
}

int cc_mil_take_avg_pool(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    const struct cc_value *x;
    bool exclude = false;
    int status = take_pool(mil, call, draft);

    if (status || (status = cc_mil_bool(mil, call, "exclude_padding_from_average", &exclude)))
        return status;
    x = cc_mil_first(mil, draft);
    if (exclude && x->rank == 4 && meets_padding(x, &draft->a))
        return cc_mil_wrong(
            mil, call, "exclude_padding_from_average", EOPNOTSUPP,
            "is true and windows cover padding (%u, %u, %u, %u); this compiler supports only averages "
            "that count it",
            draft->a.pad[0], draft->a.pad[1], draft->a.pad[2], draft->a.pad[3]);
    return 0;
}
