/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of padding, resizing, blocks, gathers and constants of a shape. Several MIL operators are one
 * operation of the graph with other arguments: the names of sampling modes and the factors of an upsampling
 * are resolved here.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "compiler/mil/op.h"

static int take_word(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t words,
                     const char *const *word, uint32_t *value)
{
    const char *text = NULL;
    int status = cc_mil_string(mil, call, name, &text);

    if (status || !text)
        return status;
    for (uint32_t i = 0; i < words; i++)
        if (strcmp(text, word[i]) == 0) {
            *value = i;
            return 0;
        }
    return cc_mil_wrong(mil, call, name, EINVAL, "is \"%.40s\", which is not known here", text);
}

/* Two numbers for each of the last axes. */
int cc_mil_take_pad(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    static const char *const modes[] = {
        [CC_PAD_CONSTANT] = "constant", [CC_PAD_REFLECT] = "reflect", [CC_PAD_REPLICATE] = "replicate"};
    const int32_t *pad;
    uint32_t count, mode = CC_PAD_CONSTANT, rank;
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_need(mil, call, "pad")) ||
        (status = cc_mil_list(mil, call, "pad", &pad, &count)) ||
        (status = take_word(mil, call, "mode", BASE_COUNT_OF(modes), modes, &mode)) ||
        (status = cc_mil_number(mil, call, "constant_val", &draft->a.alpha)))
        return status;
    rank = cc_mil_first(mil, draft)->rank;
    if (count % 2 || count > 2 * rank)
        return cc_mil_wrong(mil, call, "pad", EINVAL,
                            "has %u numbers, expected two for each of the last axes, at most %u", count,
                            2 * rank);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t axis = rank - count / 2 + i / 2;

        if (pad[i] < 0 || (uint32_t)pad[i] > CC_AXIS_MAX)
            return cc_mil_wrong(mil, call, "pad", ERANGE, "has %" PRId32 ", expected 0 to %u", pad[i],
                                CC_AXIS_MAX);
        (i % 2 ? draft->a.end : draft->a.begin)[axis] = (uint32_t)pad[i];
    }
    draft->a.pad_mode = (enum cc_pad)mode;
    return 0;
}

/* The last two axes of x, which a resize changes. */
static int take_image(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft,
                      const uint32_t **dim)
{
    int status = cc_mil_operand(mil, call, "x", draft);
    const struct cc_value *x;

    if (status)
        return status;
    x = cc_mil_first(mil, draft);
    if (x->rank < 2)
        return cc_mil_wrong(mil, call, "x", EINVAL, "has rank %u, expected at least 2: [..., H, W]", x->rank);
    *dim = x->dim + x->rank - 2;
    return 0;
}

/* A factor of the length, which is rounded down. A fractional factor is also the distance of the elements. */
static int take_factor(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t length,
                       uint32_t *size, float *scale)
{
    float factor = 1;
    int status = cc_mil_number(mil, call, name, &factor);

    if (status)
        return status;
    if (!(factor > 0) || !(floorf((float)length * factor) >= 1) ||
        !((float)length * factor <= (float)CC_AXIS_MAX))
        return cc_mil_wrong(mil, call, name, ERANGE, "is %g for a length of %u", (double)factor, length);
    *size = (uint32_t)((double)length * (double)factor);
    *scale = factor == floorf(factor) ? 0 : factor;
    return 0;
}

static int take_factors(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_attributes *a = &draft->a;
    const uint32_t *dim;
    int status = take_image(mil, call, draft, &dim);

    if (!status)
        status = take_factor(mil, call, "scale_factor_height", dim[0], &a->size[0], &a->scale[0]);
    return status ? status : take_factor(mil, call, "scale_factor_width", dim[1], &a->size[1], &a->scale[1]);
}

int cc_mil_take_upsample_nearest(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    draft->a.resize = CC_RESIZE_NEAREST;
    draft->a.coordinate = CC_ASYMMETRIC;
    draft->a.nearest = CC_ROUND_FLOOR;
    return take_factors(mil, call, draft);
}

int cc_mil_take_upsample_bilinear(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    bool corners = true, half;
    int status = take_factors(mil, call, draft);

    if (status || (status = cc_mil_bool(mil, call, "align_corners", &corners)))
        return status;
    half = !corners;
    if ((status = cc_mil_bool(mil, call, "half_pixel_centers", &half)))
        return status;
    if (corners && half)
        return cc_mil_wrong(mil, call, "half_pixel_centers", EOPNOTSUPP,
                            "is true together with align_corners; this compiler supports one of them");
    draft->a.resize = CC_RESIZE_LINEAR;
    draft->a.coordinate = corners ? CC_ALIGN_CORNERS : half ? CC_HALF_PIXEL : CC_ASYMMETRIC;
    return 0;
}

/* OFFSET_CORNERS is not offered. ALIGN_CORNERS differs from the strict one only for a length of 1. */
static int take_sampling(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft,
                         const uint32_t *dim)
{
    static const char *const modes[] = {"DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS",
                                        "UNALIGN_CORNERS"};
    static const enum cc_coordinate coordinates[] = {CC_ASYMMETRIC, CC_ALIGN_CORNERS, CC_ALIGN_CORNERS,
                                                     CC_HALF_PIXEL};
    uint32_t mode = 0;
    int status = take_word(mil, call, "sampling_mode", BASE_COUNT_OF(modes), modes, &mode);

    if (status)
        return status;
    for (unsigned i = 0; i < 2; i++)
        if (mode == 2 && draft->a.size[i] == 1 && dim[i] > 1)
            return cc_mil_wrong(mil, call, "sampling_mode", EOPNOTSUPP,
                                "is ALIGN_CORNERS for a result of length 1, whose place is between two "
                                "elements; use STRICT_ALIGN_CORNERS");
    draft->a.coordinate = coordinates[mode];
    return 0;
}

static int take_target(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft,
                       const uint32_t **dim)
{
    int status = take_image(mil, call, draft, dim);

    if (status || (status = cc_mil_need(mil, call, "target_size_height")) ||
        (status = cc_mil_need(mil, call, "target_size_width")) ||
        (status = cc_mil_ints(mil, call, "target_size_height", 1, 1, CC_AXIS_MAX, &draft->a.size[0])))
        return status;
    return cc_mil_ints(mil, call, "target_size_width", 1, 1, CC_AXIS_MAX, &draft->a.size[1]);
}

int cc_mil_take_resize_nearest(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    const uint32_t *dim;

    draft->a.resize = CC_RESIZE_NEAREST;
    draft->a.coordinate = CC_ASYMMETRIC;
    draft->a.nearest = CC_ROUND_FLOOR;
    return take_target(mil, call, draft, &dim);
}

int cc_mil_take_resize_bilinear(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    const uint32_t *dim;
    int status = take_target(mil, call, draft, &dim);

    draft->a.resize = CC_RESIZE_LINEAR;
    return status ? status : take_sampling(mil, call, draft, dim);
}

/* `shape` has the lengths of the last resized_dims axes; 0 keeps that of x. */
int cc_mil_take_resize(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    static const char *const modes[] = {"NEAREST_NEIGHBOR", "LINEAR"};
    const uint32_t *dim;
    const int32_t *shape;
    uint32_t count, resized = 2, mode = 1;
    int status = take_image(mil, call, draft, &dim);

    if (status || (status = cc_mil_need(mil, call, "shape")) ||
        (status = cc_mil_list(mil, call, "shape", &shape, &count)) ||
        (status = cc_mil_ints(mil, call, "resized_dims", 1, 1, 2, &resized)) ||
        (status = take_word(mil, call, "interpolation_mode", BASE_COUNT_OF(modes), modes, &mode)))
        return status;
    if (count < resized || count > 2)
        return cc_mil_wrong(mil, call, "shape", EINVAL, "has %u numbers, expected %u", count, resized);
    memcpy(draft->a.size, dim, 2 * sizeof(*dim));
    for (uint32_t i = 0; i < resized; i++) {
        int32_t length = shape[count - resized + i];

        if (length < 0 || (uint32_t)length > CC_AXIS_MAX)
            return cc_mil_wrong(mil, call, "shape", ERANGE, "has %" PRId32 ", expected 0 to %u", length,
                                CC_AXIS_MAX);
        if (length)
            draft->a.size[2 - resized + i] = (uint32_t)length;
    }
    draft->a.resize = mode ? CC_RESIZE_LINEAR : CC_RESIZE_NEAREST;
    draft->a.nearest = CC_ROUND_FLOOR;
    return take_sampling(mil, call, draft, dim);
}

static int take_block(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft,
                      const char *name, enum cc_depth_order order)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_need(mil, call, name)) ||
        (status = cc_mil_ints(mil, call, name, 1, 1, PR_WIDTH_MAX, &draft->a.block[0])))
        return status;
    draft->a.block[1] = draft->a.block[0];
    draft->a.order = order;
    return 0;
}

int cc_mil_take_depth(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    return take_block(mil, call, draft, "block_size", CC_DEPTH_BLOCK_FIRST);
}

int cc_mil_take_pixel_shuffle(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    return take_block(mil, call, draft, "upscale_factor", CC_DEPTH_CHANNEL_FIRST);
}

int cc_mil_take_pixel_unshuffle(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    return take_block(mil, call, draft, "downscale_factor", CC_DEPTH_CHANNEL_FIRST);
}

/* Of an int32 constant of any rank: its elements. */
static int take_table(struct cc_mil *mil, struct cc_mil_call *call, const char *name, uint32_t count,
                      uint32_t *values)
{
    uint32_t value;
    const struct cc_value *v;
    int status = cc_mil_need(mil, call, name);

    if (status || (status = cc_mil_tensor(mil, call, name, &value)))
        return status;
    v = &mil->graph->value[value - 1];
    if (!v->data || v->type != CC_INT32 || cc_value_elements(v) != count)
        return cc_mil_wrong(mil, call, name, EINVAL, "is %s, expected %u constants of int32",
                            cc_shape_text(v->type, v->rank, v->dim).text, count);
    for (uint32_t i = 0; i < count; i++) {
        int32_t number = ((const int32_t *)v->data)[i];

        if (number < 0 || (uint32_t)number > PR_WIDTH_MAX)
            return cc_mil_wrong(mil, call, name, ERANGE, "has %" PRId32 ", expected 0 to %u", number,
                                PR_WIDTH_MAX);
        values[i] = (uint32_t)number;
    }
    return 0;
}

int cc_mil_take_batch(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_need(mil, call, "block_shape")) ||
        (status = cc_mil_ints(mil, call, "block_shape", 2, 1, PR_WIDTH_MAX, draft->a.block)))
        return status;
    return take_table(mil, call, draft->kind == CC_OP_BATCH_TO_SPACE ? "crops" : "paddings", 4, draft->a.pad);
}

int cc_mil_take_reverse(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status)
        return status;
    draft->a.axes = (1u << cc_mil_first(mil, draft)->rank) - 1;
    return cc_mil_axes(mil, call, "axes", cc_mil_first(mil, draft)->rank, &draft->a.axes);
}

/* Negative indices count from the end: the graph has those from the front, in a constant of its own. */
static int resolve_indices(struct cc_mil *mil, struct cc_mil_call *call, uint32_t length, uint32_t *indices)
{
    const struct cc_value v = mil->graph->value[*indices - 1];
    size_t count = v.bytes / sizeof(int32_t);
    bool negative = false;
    int32_t *index;
    int value;

    if (!v.data || v.type != CC_INT32)
        return cc_mil_wrong(mil, call, "indices", EOPNOTSUPP,
                            "are computed at run time or not int32; this engine gathers at constant indices");
    for (size_t i = 0; i < count; i++)
        negative |= ((const int32_t *)v.data)[i] < 0;
    if (!negative)
        return 0;
    index = base_alloc_array(count, sizeof(*index));
    for (size_t i = 0; index && i < count; i++) {
        index[i] = ((const int32_t *)v.data)[i];
        index[i] += index[i] < 0 && length <= INT32_MAX ? (int32_t)length : 0;
    }
    value = index ? cc_graph_add_const(mil->graph, "indices", CC_INT32, v.rank, v.dim, index) : -ENOMEM;
    if (value < 0) {
        base_free(index);
        return cc_mil_no_memory(mil);
    }
    *indices = (uint32_t)value + 1;
    return 0;
}

int cc_mil_take_gather(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    uint32_t batch_dims = 0;
    const struct cc_value *x;
    bool validate;
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_need(mil, call, "indices")) ||
        (status = cc_mil_tensor(mil, call, "indices", &draft->a.indices)) ||
        (status = cc_mil_ints(mil, call, "batch_dims", 1, 0, CC_RANK_MAX, &batch_dims)) ||
        (status = cc_mil_bool(mil, call, "validate_indices", &validate)))
        return status;
    if (batch_dims)
        return cc_mil_wrong(mil, call, "batch_dims", EOPNOTSUPP, "is %u; this compiler supports only 0",
                            batch_dims);
    x = cc_mil_first(mil, draft);
    if (cc_mil_given(call, "axis") && (status = cc_mil_axis(mil, call, "axis", x->rank, &draft->a.axis)))
        return status;
    if (draft->a.axis >= x->rank)
        return cc_mil_wrong(mil, call, "x", EINVAL, "has no axis %u", draft->a.axis);
    return resolve_indices(mil, call, x->dim[draft->a.axis], &draft->a.indices);
}

int cc_mil_take_cumsum(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_bool(mil, call, "exclusive", &draft->a.exclusive)) ||
        (status = cc_mil_bool(mil, call, "reverse", &draft->a.reverse)) || !cc_mil_given(call, "axis"))
        return status;
    return cc_mil_axis(mil, call, "axis", cc_mil_first(mil, draft)->rank, &draft->a.axis);
}

/* Elements that are cut off at both ends of H and W. */
int cc_mil_take_crop(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    static const char *const names[2] = {"crop_height", "crop_width"};
    const uint32_t *dim;
    const struct cc_value *x;
    int status = take_image(mil, call, draft, &dim);

    if (status)
        return status;
    x = cc_mil_first(mil, draft);
    memcpy(draft->a.size, x->dim, sizeof(draft->a.size));
    for (unsigned i = 0; i < 2; i++) {
        uint32_t cut[2], axis = x->rank - 2 + i;

        if ((status = cc_mil_need(mil, call, names[i])) ||
            (status = cc_mil_ints(mil, call, names[i], 2, 0, CC_AXIS_MAX, cut)))
            return status;
        if (cut[0] + cut[1] >= dim[i])
            return cc_mil_wrong(mil, call, names[i], EINVAL, "leaves nothing of an axis of length %u",
                                dim[i]);
        draft->a.begin[axis] = cut[0];
        draft->a.size[axis] = dim[i] - cut[0] - cut[1];
    }
    return 0;
}

int cc_mil_take_flatten2d(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_mil_type type = {.rank = 2, .dim = {1, 1}};
    const struct cc_value *x;
    int32_t axis = 1;
    const int32_t *given;
    uint32_t count;
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_list(mil, call, "axis", &given, &count)))
        return status;
    x = cc_mil_first(mil, draft);
    if (count)
        axis = given[0] < 0 ? given[0] + (int32_t)x->rank : given[0];
    if (axis < 0 || axis > (int32_t)x->rank)
        return cc_mil_wrong(mil, call, "axis", ERANGE, "is %" PRId32 " for rank %u", axis, x->rank);
    for (uint32_t i = 0; i < x->rank; i++)
        type.dim[i >= (uint32_t)axis] *= x->dim[i];
    type.scalar = (enum cc_mil_scalar)x->type;
    return cc_mil_declared(mil, call, &type);
}

/* Windows of an axis: a gather at indices of two axes, the window and the place in it. */
int cc_mil_take_windows(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    uint32_t size = 0, stride = 1, count, length;
    int32_t *index;
    int value, status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_axis(mil, call, "axis", cc_mil_first(mil, draft)->rank, &draft->a.axis)) ||
        (status = cc_mil_need(mil, call, "size")) ||
        (status = cc_mil_ints(mil, call, "size", 1, 1, CC_AXIS_MAX, &size)) ||
        (status = cc_mil_ints(mil, call, "stride", 1, 1, CC_AXIS_MAX, &stride)))
        return status;
    length = cc_mil_first(mil, draft)->dim[draft->a.axis];
    if (size > length)
        return cc_mil_wrong(mil, call, "size", ERANGE, "is %u for an axis of length %u", size, length);
    count = (length - size) / stride + 1;
    if ((uint64_t)count * size > CC_AXIS_MAX)
        return cc_mil_wrong(mil, call, "size", ERANGE, "gives %u windows of %u, more than %u elements", count,
                            size, CC_AXIS_MAX);
    index = base_alloc_array((size_t)count * size, sizeof(*index));
    for (uint32_t i = 0; index && i < count * size; i++)
        index[i] = (int32_t)(i / size * stride + i % size);
    value = index ? cc_graph_add_const(mil->graph, "windows", CC_INT32, 2, (uint32_t[]){count, size}, index)
                  : -ENOMEM;
    if (value < 0) {
        base_free(index);
        return cc_mil_no_memory(mil);
    }
    draft->a.indices = (uint32_t)value + 1;
    return 0;
}
