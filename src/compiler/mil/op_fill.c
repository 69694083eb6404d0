/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls whose result is known from shapes and constants alone: the call becomes the name of a constant, and
 * no operation of the graph.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/half.h"
#include "compiler/mil/op.h"

int cc_mil_make_constant(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft,
                         const struct cc_mil_type *type, void *data)
{
    char *name = data ? cc_mil_token_copy(&call->result) : NULL;
    int value =
        name ? cc_graph_add_const(mil->graph, name, (enum cc_type)type->scalar, type->rank, type->dim, data)
             : -ENOMEM;

    base_free(name);
    if (value < 0) {
        base_free(data);
        return cc_mil_no_memory(mil);
    }
    draft->alias = true;
    draft->inputs = 1;
    draft->input[0] = (uint32_t)value;
    return 0;
}

static int fill(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft,
                const struct cc_mil_type *type, float value)
{
    size_t bytes = cc_shape_bytes((enum cc_type)type->scalar, type->rank, type->dim);
    size_t each = cc_type_bytes((enum cc_type)type->scalar);
    uint8_t *data = bytes ? base_alloc(bytes) : NULL, element[4] = {0};
    int32_t whole = (int32_t)value;

    switch (type->scalar) {
    case CC_MIL_FP16: cc_put_half(element, cc_half_of_float(value)); break;
    case CC_MIL_FP32: memcpy(element, &value, sizeof(value)); break;
    case CC_MIL_INT32: memcpy(element, &whole, sizeof(whole)); break;
    default: element[0] = value != 0; break;
    }
    for (size_t i = 0; data && i < bytes; i += each)
        memcpy(data + i, element, each);
    return cc_mil_make_constant(mil, call, draft, type, data);
}

/* The type is the declared one; the lengths are checked against it. */
int cc_mil_take_fill(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_mil_type type = {.scalar = call->type.scalar};
    const int32_t *shape;
    float value = 0;
    int status = cc_mil_need(mil, call, "shape");

    if (status || (status = cc_mil_list(mil, call, "shape", &shape, &type.rank)) ||
        (status = cc_mil_number(mil, call, "value", &value)))
        return status;
    if (type.rank > CC_RANK_MAX)
        return cc_mil_wrong(mil, call, "shape", EINVAL, "has %u numbers, more than rank %u", type.rank,
                            CC_RANK_MAX);
    for (uint32_t i = 0; i < type.rank; i++) {
        if (shape[i] < 1)
            return cc_mil_wrong(mil, call, "shape", EINVAL, "has %" PRId32 ", expected at least 1", shape[i]);
        type.dim[i] = (uint32_t)shape[i];
    }
    status = cc_mil_declared(mil, call, &type);
    return status ? status : fill(mil, call, draft, &type, value);
}

int cc_mil_take_fill_like(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_mil_draft reference = {0};
    struct cc_mil_type type = {.scalar = call->type.scalar};
    float value = 0;
    int status = cc_mil_operand(mil, call, "ref_tensor", &reference);

    if (status || (status = cc_mil_number(mil, call, "value", &value)))
        return status;
    type.rank = cc_mil_first(mil, &reference)->rank;
    memcpy(type.dim, cc_mil_first(mil, &reference)->dim, type.rank * sizeof(type.dim[0]));
    status = cc_mil_declared(mil, call, &type);
    return status ? status : fill(mil, call, draft, &type, value);
}

int cc_mil_take_shape(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_mil_draft of = {0};
    const struct cc_value *x;
    struct cc_mil_type type = {.scalar = CC_MIL_INT32, .rank = 1};
    void *data;
    int status = cc_mil_operand(mil, call, "x", &of);

    if (status)
        return status;
    x = cc_mil_first(mil, &of);
    type.dim[0] = x->rank;
    if (!x->rank)
        return cc_mil_wrong(mil, call, "x", EINVAL, "has rank 0, and its shape would be empty");
    if ((status = cc_mil_declared(mil, call, &type)))
        return status;
    data = base_alloc(x->rank * sizeof(x->dim[0]));
    if (data)
        memcpy(data, x->dim, x->rank * sizeof(x->dim[0]));
    return cc_mil_make_constant(mil, call, draft, &type, data);
}

/* From `start` in steps to before `end`. Whole numbers are counted as such. */
int cc_mil_take_range(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    struct cc_mil_type type = {.scalar = call->type.scalar, .rank = 1};
    float start = 0, end = 0, step = 1;
    uint8_t *data;
    double count;
    int status;

    if ((status = cc_mil_need(mil, call, "end")) || (status = cc_mil_number(mil, call, "start", &start)) ||
        (status = cc_mil_number(mil, call, "end", &end)) ||
        (status = cc_mil_number(mil, call, "step", &step)))
        return status;
    count = ceil(((double)end - (double)start) / (double)step);
    if (!(count >= 1) || count > PR_CHANNELS_MAX)
        return cc_mil_wrong(mil, call, "end", ERANGE, "gives %g elements, expected 1 to %u", count,
                            PR_CHANNELS_MAX);
    type.dim[0] = (uint32_t)count;
    if ((status = cc_mil_declared(mil, call, &type)))
        return status;
    if (type.scalar > CC_MIL_INT32)
        return cc_mil_fail(mil, &call->type_at, EINVAL, "range_1d gives fp16, fp32 or int32.");
    data = base_alloc_array(type.dim[0], cc_type_bytes((enum cc_type)type.scalar));
    for (uint32_t i = 0; data && i < type.dim[0]; i++) {
        float number = (float)((double)start + i * (double)step);
        int32_t whole = (int32_t)number;

        if (type.scalar == CC_MIL_FP16)
            cc_put_half(data + 2 * (size_t)i, cc_half_of_float(number));
        else
            memcpy(data + 4 * (size_t)i, type.scalar == CC_MIL_FP32 ? (void *)&number : &whole, 4);
    }
    return cc_mil_make_constant(mil, call, draft, &type, data);
}

/* x where the column is at most `lower` before and `upper` behind the row, 0 elsewhere; -1 is no bound. */
int cc_mil_take_band_part(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    float below = -1, above = -1, zero = 0;
    struct cc_mil_draft of = {0};
    const struct cc_value *x;
    uint32_t dim[2];
    uint8_t *mask;
    float *scalar;
    int cond, other, status = cc_mil_operand(mil, call, "x", &of);

    if (status || (status = cc_mil_number(mil, call, "lower", &below)) ||
        (status = cc_mil_number(mil, call, "upper", &above)))
        return status;
    x = cc_mil_first(mil, &of);
    if (x->rank < 2)
        return cc_mil_wrong(mil, call, "x", EINVAL, "has rank %u, expected at least 2", x->rank);
    memcpy(dim, x->dim + x->rank - 2, sizeof(dim));
    mask = base_alloc_array((size_t)dim[0], dim[1]);
    for (size_t i = 0; mask && i < (size_t)dim[0] * dim[1]; i++) {
        float row = (float)(i / dim[1]), column = (float)(i % dim[1]);

        mask[i] = (below < 0 || row - column <= below) && (above < 0 || column - row <= above);
    }
    scalar = base_alloc(sizeof(*scalar));
    if (scalar)
        *scalar = zero;
    cond = mask ? cc_graph_add_const(mil->graph, "band", CC_BOOL, 2, dim, mask) : -ENOMEM;
    other = scalar ? cc_graph_add_const(mil->graph, "zero", CC_FP32, 0, NULL, scalar) : -ENOMEM;
    if (cond < 0)
        base_free(mask);
    if (other < 0)
        base_free(scalar);
    if (cond < 0 || other < 0)
        return cc_mil_no_memory(mil);
    draft->inputs = 3;
    memcpy(draft->input, (uint32_t[]){(uint32_t)cond, of.input[0], (uint32_t)other}, 3 * sizeof(uint32_t));
    return 0;
}
