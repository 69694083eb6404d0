/* SPDX-License-Identifier: Apache-2.0 */
/* A task of the planar engine, decoded. What the model does not run is refused here, by field and value. */
#include <string.h>

#include "program/task_decode.h"
#include "protocol/half.h"

enum { FUNCTION_MAX = PR_PE_RSQRT };

/* Strides along the broadcast axes become 0. Bits in the order W, H, D, C. */
static void broadcast(struct pr_tensor *t, uint32_t bits)
{
    for (unsigned axis = PR_AXIS_W; axis <= PR_AXIS_C; axis++)
        if (bits >> axis & 1)
            t->stride[axis] = 0;
    /* Of an interleaved axis only the first element is read, so no other is beside it. */
    if (bits >> pr_tensor_bundled(t) & 1)
        t->interleave = 1;
}

/*
 * Source 2 of an affine task has two rows and no other width or depth: only C is left to broadcast it along.
 */
static uint32_t broadcast2(const struct pr_decoder *d)
{
    uint32_t bits = pr_decode_get(d, PR_F_SRC2_BCAST);

    return d->task->pe.op == PR_PE_AFFINE ? bits & 1u << PR_AXIS_C : bits;
}

static bool decode_operands(const struct pr_decoder *d)
{
    struct pr_pe *pe = &d->task->pe;
    uint32_t src2 = pr_decode_get(d, PR_F_PE_SRC2);
    bool signs = pe->op == PR_PE_ADD || pe->op == PR_PE_SQUARE_OF_SUM || pe->op == PR_PE_AFFINE;

    pe->negate1 = pr_decode_get(d, PR_F_PE_SUB1);
    pe->negate2 = src2 == PR_SRC2_SUBTRACTED;
    if (pe->two_sources && src2 != PR_SRC2_ADDED && src2 != PR_SRC2_SUBTRACTED)
        return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT, PR_F_PE_SRC2,
                                "a task of two sources adds (2) or subtracts (3) source 2");
    if (!pe->two_sources && src2 != PR_SRC2_NONE)
        return pr_decode_refuse(d, PR_PROBLEM_INCONSISTENT, PR_F_PE_SRC2,
                                "a task of one source has no second operand");
    if (!pe->two_sources && !signs)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_OP,
                                "with one source only 0 and 4 are decoded");
    if ((pe->negate1 || pe->negate2) && !signs)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_OP,
                                "a subtracted source is decoded for 0 and 4 only");
    return true;
}

static bool decode_condition(const struct pr_decoder *d)
{
    static const enum pr_pe_compare compare[] = {[PR_COND_EQUAL] = PR_PE_EQUAL,
                                                 [PR_COND_GREATER] = PR_PE_GREATER,
                                                 [PR_COND_GREATER_EQUAL] = PR_PE_GREATER_EQUAL};
    uint32_t cond = pr_decode_get(d, PR_F_PE_COND);

    if (cond > PR_COND_GREATER_EQUAL) {
        if (!pr_decode_ignore(d, PR_F_PE_COND,
                              "only 0, 1 (absolute value), 2 (equal), 3 (greater) and 4 (greater or equal) "
                              "are decoded"))
            return false;
        cond = PR_COND_NONE;
    }
    d->task->pe.abs = cond == PR_COND_ABS;
    d->task->pe.compare = compare[cond];
    return true;
}

static bool decode_op(const struct pr_decoder *d, uint32_t type)
{
    struct pr_pe *pe = &d->task->pe;
    uint32_t op = pr_decode_get(d, PR_F_PE_OP);

    if (op > PR_PE_SQUARE_OF_SUM)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_OP,
                                "elementwise operations above 4 are not decoded");
    if (type == PR_TASK_AFFINE && op != PR_PE_ADD)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_OP,
                                "a two-row affine task adds or subtracts (0)");
    pe->op = type == PR_TASK_AFFINE ? PR_PE_AFFINE : (enum pr_pe_op)op;
    pe->two_sources =
        type == PR_TASK_TWO_SOURCES || type == PR_TASK_AFFINE || type == PR_TASK_REDUCTION_OF_TWO;
    pe->relu = pr_decode_get(d, PR_F_PE_RELU);
    pe->scale = (uint16_t)pr_decode_get(d, PR_F_PE_SCALE);
    pe->bias = (uint16_t)pr_decode_get(d, PR_F_PE_BIAS);
    pe->pre_scale = (uint16_t)pr_decode_get(d, PR_F_PE_PRE_SCALE);
    pe->epsilon = (uint16_t)pr_decode_get(d, PR_F_PE_EPSILON);
    pe->final_scale = pr_decode_get(d, PR_F_PE_FINAL_SCALE);
    return decode_operands(d) && decode_condition(d);
}

static bool check_elementwise(const struct pr_decoder *d)
{
    if (d->task->pe.epsilon &&
        !pr_decode_ignore(d, PR_F_PE_EPSILON, "an epsilon is decoded for reductions only"))
        return false;
    d->task->pe.epsilon = 0;
    return pr_decode_require(d, PR_F_PE_REDUCE, 0, "this task is not a reduction") &&
           pr_decode_require(d, PR_F_PE_FUNCTION, 0, "a function is decoded after a reduction only") &&
           pr_decode_require(d, PR_F_PADDING_MODE, 0, "only zero padding (0) is decoded for this task");
}

static bool decode_reduction(const struct pr_decoder *d)
{
    struct pr_pe *pe = &d->task->pe;
    uint32_t reduce = pr_decode_get(d, PR_F_PE_REDUCE), function = pr_decode_get(d, PR_F_PE_FUNCTION);

    if (reduce != PR_REDUCE_SUM && reduce != PR_REDUCE_MAX && reduce != PR_REDUCE_MIN)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_REDUCE,
                                "0 (sum), 2 (max) and 3 (min) are run; a mean is a sum with FinalScale");
    pe->reduce = reduce == PR_REDUCE_MAX   ? PR_PE_REDUCE_MAX
                 : reduce == PR_REDUCE_MIN ? PR_PE_REDUCE_MIN
                                           : PR_PE_REDUCE_SUM;
    if (function > FUNCTION_MAX) {
        if (!pr_decode_ignore(d, PR_F_PE_FUNCTION,
                              "only 1 (reciprocal) and 2 (reciprocal square root) are decoded"))
            return false;
        function = PR_PE_FUNCTION_NONE;
    }
    pe->function = (enum pr_pe_function)function;
    if (pe->negate1 && !pe->two_sources)
        return pr_decode_refuse(d, PR_PROBLEM_UNSUPPORTED, PR_F_PE_SUB1,
                                "a reduction of a negated source is not decoded");
    if (!pr_decode_require(d, PR_F_PE_RELU, 0, "a reduction with ReLU is not decoded") ||
        !pr_decode_require(d, PR_F_PE_SCALE, PR_HALF_ONE,
                           "a scale other than 1 is not decoded in a reduction") ||
        !pr_decode_require(d, PR_F_PE_BIAS, 0, "a bias is not decoded in a reduction"))
        return false;
    pe->relu = false;
    pe->scale = PR_HALF_ONE;
    pe->bias = 0;
    return true;
}

/*
 * An axis that source 1 broadcasts has length 1 in it, and one that is reduced has length 1 in the result:
 * registers may state either.
 */
static bool check_extents(const struct pr_decoder *d, uint32_t result[PR_AXES])
{
    uint32_t bits = pr_decode_get(d, PR_F_SRC1_BCAST), seen[PR_AXES];

    memcpy(result, d->out, sizeof(d->out));
    memcpy(seen, d->in, sizeof(d->in));
    for (unsigned axis = PR_AXIS_W; axis <= PR_AXIS_C; axis++) {
        if (bits >> axis & 1)
            seen[axis] = result[axis];
        if (d->task->pe.reduce && axis != PR_AXIS_C && result[axis] == 1)
            result[axis] = seen[axis];
    }
    return pr_decode_same_extents(d, seen, result);
}

static void set_extents(const struct pr_decoder *d, const uint32_t extent[PR_AXES])
{
    struct pr_task *task = d->task;

    memcpy(task->src[0].extent, extent, sizeof(d->out));
    memcpy(task->dst.extent, extent, sizeof(d->out));
    if (task->pe.two_sources)
        memcpy(task->src[1].extent, extent, sizeof(d->out));
    if (task->pe.reduce)
        for (unsigned axis = PR_AXIS_W; axis <= PR_AXIS_D; axis++)
            task->dst.extent[axis] = 1;
    if (task->pe.op == PR_PE_AFFINE) {
        task->src[1].extent[PR_AXIS_W] = task->src[1].extent[PR_AXIS_D] = 1;
        task->src[1].extent[PR_AXIS_H] = 2;
    }
}

bool pr_decode_pe(const struct pr_decoder *d)
{
    struct pr_task *task = d->task;
    uint32_t type = pr_decode_get(d, PR_F_TASK_TYPE), extent[PR_AXES];
    bool reduces = type == PR_TASK_REDUCTION || type == PR_TASK_REDUCTION_OF_TWO;

    if (type < PR_TASK_ONE_SOURCE || type > PR_TASK_REDUCTION_OF_TWO)
        return pr_decode_refuse(
            d, PR_PROBLEM_UNSUPPORTED, PR_F_TASK_TYPE,
            "the planar engine runs 2 (one source), 3 (two sources), 4 (two-row affine), 5 "
            "(reduction) and 6 (reduction of two sources)");
    if (!decode_op(d, type) || !(reduces ? decode_reduction(d) : check_elementwise(d)))
        return false;
    if (task->pe.two_sources && !pr_decode_source2(d))
        return false;
    if (!check_extents(d, extent))
        return false;
    set_extents(d, extent);
    if (!pr_decode_transpose(d, &task->src[0], PR_F_SRC1_TRANSPOSE) ||
        !pr_decode_transpose(d, &task->src[1], PR_F_SRC2_TRANSPOSE) ||
        !pr_decode_transpose(d, &task->dst, PR_F_OUT_TRANSPOSE))
        return false;
    broadcast(&task->src[0], pr_decode_get(d, PR_F_SRC1_BCAST));
    if (task->pe.two_sources)
        broadcast(&task->src[1], broadcast2(d));
    return true;
}
