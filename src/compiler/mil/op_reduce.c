/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of operations over whole axes: reductions, softmax, norms. Absent axes mean all of them for a
 * reduction and for layer_norm, and the last one for softmax. The default of epsilon is 1e-5.
 */
#include "compiler/mil/op.h"

#include <errno.h>
#include <string.h>

int cc_mil_take_reduce(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);
    uint32_t rank;

    if (status)
        return status;
    rank = cc_mil_first(mil, draft)->rank;
    draft->a.axes = (1u << rank) - 1;
    if ((status = cc_mil_axes(mil, call, "axes", rank, &draft->a.axes)))
        return status;
    return cc_mil_bool(mil, call, "keep_dims", &draft->a.keep_dims);
}

/* The last axis, when none is named. */
int cc_mil_take_softmax(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);
    uint32_t rank;

    if (status)
        return status;
    rank = cc_mil_first(mil, draft)->rank;
    draft->a.axis = rank ? rank - 1 : 0;
    return cc_mil_given(call, "axis") ? cc_mil_axis(mil, call, "axis", rank, &draft->a.axis) : 0;
}

/* The operator normalises the last three axes. */
int cc_mil_take_l2_norm(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status)
        return status;
    if (cc_mil_first(mil, draft)->rank != 4)
        return cc_mil_wrong(mil, call, "x", EINVAL, "has rank %u, expected 4: [N, C, H, W]",
                            cc_mil_first(mil, draft)->rank);
    draft->a.epsilon = 1e-6f;
    return cc_mil_float(mil, call, "epsilon", &draft->a.epsilon);
}

static int take_norm(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status;

    draft->a.epsilon = 1e-5f;
    if ((status = cc_mil_tensor(mil, call, "gamma", &draft->a.weight)) ||
        (status = cc_mil_tensor(mil, call, "beta", &draft->a.bias)))
        return status;
    return cc_mil_float(mil, call, "epsilon", &draft->a.epsilon);
}

int cc_mil_take_layer_norm(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_take_reduce(mil, call, draft);

    return status ? status : take_norm(mil, call, draft);
}

int cc_mil_take_instance_norm(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    return status ? status : take_norm(mil, call, draft);
}

int cc_mil_take_batch_norm(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    int status = cc_mil_operand(mil, call, "x", draft);

    if (status || (status = cc_mil_need(mil, call, "mean")) ||
        (status = cc_mil_need(mil, call, "variance")) ||
        (status = cc_mil_tensor(mil, call, "mean", &draft->a.mean)) ||
        (status = cc_mil_tensor(mil, call, "variance", &draft->a.variance)))
        return status;
    return take_norm(mil, call, draft);
}

/* The last axis, when none is named. */
int cc_mil_take_arg(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    const char *type = "int32";
    int status = cc_mil_take_softmax(mil, call, draft);

    if (status || (status = cc_mil_bool(mil, call, "keep_dims", &draft->a.keep_dims)) ||
        (status = cc_mil_string(mil, call, "output_dtype", &type)))
        return status;
    if (strcmp(type, "int32") != 0)
        return cc_mil_wrong(mil, call, "output_dtype", EOPNOTSUPP, "is \"%.40s\", expected int32", type);
    return 0;
}

/* The results are always sorted. */
int cc_mil_take_topk(struct cc_mil *mil, struct cc_mil_call *call, struct cc_mil_draft *draft)
{
    bool sorted = true, indices = true;
    const char *type = "int32";
    int status = cc_mil_take_softmax(mil, call, draft);

    draft->a.size[0] = 1;
    if (status || (status = cc_mil_ints(mil, call, "k", 1, 1, INT32_MAX, draft->a.size)) ||
        (status = cc_mil_bool(mil, call, "ascending", &draft->a.reverse)) ||
        (status = cc_mil_bool(mil, call, "sort", &sorted)) ||
        (status = cc_mil_bool(mil, call, "return_indices", &indices)) ||
        (status = cc_mil_string(mil, call, "output_indices_dtype", &type)))
        return status;
    if (strcmp(type, "int32") != 0)
        return cc_mil_wrong(mil, call, "output_indices_dtype", EOPNOTSUPP, "is \"%.40s\", expected int32",
                            type);
    return 0;
}
