/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch by kind, and the evaluation of a whole graph. A value is *given* when the caller set it, and
 * *fresh* when it changed since the last run: only what depends on a fresh value, or was never computed, is
 * computed.
 */
#include "compiler/eval/task.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/graph/build.h"

static cc_eval_family *const families[CC_OP_COUNT] = {
#define UNARY(id, text, count)  [CC_OP_##id] = cc_eval_unary,
#define BINARY(id, text, count) [CC_OP_##id] = cc_eval_binary,
#define REDUCE(id, text, count) [CC_OP_##id] = cc_eval_reduce,
    CC_OPS_UNARY(UNARY) CC_OPS_BINARY(BINARY) CC_OPS_COMPARE(BINARY) CC_OPS_REDUCE(REDUCE)
#undef UNARY
#undef BINARY
#undef REDUCE
        [CC_OP_LOGICAL_AND] = cc_eval_binary,
    [CC_OP_LOGICAL_OR] = cc_eval_binary,
    [CC_OP_LOGICAL_XOR] = cc_eval_binary,
    [CC_OP_LOGICAL_NOT] = cc_eval_unary,
    [CC_OP_CAST] = cc_eval_copy,
    [CC_OP_SELECT] = cc_eval_select,
    [CC_OP_PRELU] = cc_eval_channel,
    [CC_OP_SOFTPLUS_PARAMETRIC] = cc_eval_channel,
    [CC_OP_CONV] = cc_eval_conv,
    [CC_OP_CONV_TRANSPOSE] = cc_eval_conv_transpose,
    [CC_OP_LINEAR] = cc_eval_linear,
    [CC_OP_MATMUL] = cc_eval_matmul,
    [CC_OP_MAX_POOL] = cc_eval_pool,
    [CC_OP_AVG_POOL] = cc_eval_pool,
    [CC_OP_L2_POOL] = cc_eval_pool,
    [CC_OP_SOFTMAX] = cc_eval_softmax,
    [CC_OP_LOG_SOFTMAX] = cc_eval_softmax,
    [CC_OP_L2_NORM] = cc_eval_l2_norm,
    [CC_OP_LOCAL_RESPONSE_NORM] = cc_eval_local_response_norm,
    [CC_OP_LAYER_NORM] = cc_eval_layer_norm,
    [CC_OP_INSTANCE_NORM] = cc_eval_instance_norm,
    [CC_OP_BATCH_NORM] = cc_eval_batch_norm,
    [CC_OP_TRANSPOSE] = cc_eval_transpose,
    [CC_OP_RESHAPE] = cc_eval_copy,
    [CC_OP_EXPAND_DIMS] = cc_eval_copy,
    [CC_OP_SQUEEZE] = cc_eval_copy,
    [CC_OP_SLICE_BY_INDEX] = cc_eval_slice,
    [CC_OP_SLICE_BY_SIZE] = cc_eval_slice,
    [CC_OP_TILE] = cc_eval_tile,
    [CC_OP_PAD] = cc_eval_pad,
    [CC_OP_RESIZE] = cc_eval_resize,
    [CC_OP_DEPTH_TO_SPACE] = cc_eval_depth,
    [CC_OP_SPACE_TO_DEPTH] = cc_eval_depth,
    [CC_OP_BATCH_TO_SPACE] = cc_eval_batch,
    [CC_OP_SPACE_TO_BATCH] = cc_eval_batch,
    [CC_OP_REVERSE] = cc_eval_reverse,
    [CC_OP_GATHER] = cc_eval_gather,
    [CC_OP_CUMSUM] = cc_eval_cumsum,
    [CC_OP_CONCAT] = cc_eval_concat,
    [CC_OP_STACK] = cc_eval_concat,
    [CC_OP_ARG_MAX] = cc_eval_arg,
    [CC_OP_ARG_MIN] = cc_eval_arg,
    [CC_OP_TOPK] = cc_eval_topk,
    [CC_OP_TOPK_INDICES] = cc_eval_topk,
    [CC_OP_GATHER_AT] = cc_eval_gather,
};

void cc_eval_strides(const struct cc_value *value, uint64_t stride[CC_RANK_MAX])
{
    uint64_t step = 1;

    for (uint32_t i = value->rank; i-- > 0;) {
        stride[i] = step;
        step *= value->dim[i];
    }
}

double *cc_eval_room(const struct cc_eval_task *t, uint64_t count)
{
    double *room = base_alloc_array(count, sizeof(*room));

    if (!room)
        base_fail(t->error, ENOMEM, "There is no memory to compute %s `%.64s`.", cc_op_name(t->op->kind),
                  t->op->name);
    return room;
}

void cc_eval_elements(const struct cc_value *value, double *elements)
{
    uint64_t count = cc_value_elements(value);

    const float *single = value->data;

    if (value->type == CC_FP32)
        for (uint64_t i = 0; i < count; i++)
            elements[i] = (double)single[i];
    else
        for (uint64_t i = 0; i < count; i++)
            elements[i] = cc_value_number(value, i);
}

int cc_eval_parameter(const struct cc_eval_task *t, uint32_t index, double **elements)
{
    const struct cc_value *value = index ? &t->graph->value[index - 1] : NULL;

    *elements = NULL;
    if (!value)
        return 0;
    *elements = cc_eval_room(t, cc_value_elements(value));
    if (!*elements)
        return -ENOMEM;
    cc_eval_elements(value, *elements);
    return 0;
}

/* Integers are truncated and end at the limits of int32; NaN becomes 0. A bool is 0 or 1. */
static void fit(const struct cc_value *y, double *x)
{
    uint64_t count = cc_value_elements(y);

    for (uint64_t i = 0; y->type == CC_INT32 && i < count; i++)
        x[i] = isnan(x[i]) ? 0 : fmin(fmax(trunc(x[i]), INT32_MIN), INT32_MAX);
    for (uint64_t i = 0; y->type == CC_BOOL && i < count; i++)
        x[i] = x[i] != 0;
}

int cc_eval_op(const struct cc_graph *graph, const struct cc_op *op, const double *const *operand,
               double *result, struct base_error *error)
{
    struct cc_eval_task task = {.graph = graph,
                                .op = op,
                                .x = &graph->value[op->input[0]],
                                .y = &graph->value[op->output],
                                .operand = operand,
                                .result = result,
                                .error = error};
    int status;

    if ((unsigned)op->kind >= CC_OP_COUNT || !families[op->kind] || op->inputs == 0)
        return base_fail(error, EINVAL, "%s `%.64s` computes nothing.", cc_op_name(op->kind), op->name);
    status = families[op->kind](&task);
    if (!status)
        fit(task.y, result);
    return status;
}

/* Of a whole graph. */

int cc_eval_open(struct cc_eval *eval, const struct cc_graph *graph, struct base_error *error)
{
    uint32_t values = graph->values ? graph->values : 1;

    *eval = (struct cc_eval){.graph = graph};
    eval->value = base_alloc_array(values, sizeof(*eval->value));
    eval->given = base_alloc_array(values, sizeof(*eval->given));
    eval->fresh = base_alloc_array(values, sizeof(*eval->fresh));
    if (eval->value && eval->given && eval->fresh)
        return 0;
    cc_eval_close(eval);
    return base_fail(error, ENOMEM, "There is no memory to compute a graph of %u values.", graph->values);
}

void cc_eval_close(struct cc_eval *eval)
{
    for (uint32_t i = 0; eval->value && i < eval->graph->values; i++)
        base_free(eval->value[i]);
    base_free(eval->value);
    base_free(eval->given);
    base_free(eval->fresh);
    *eval = (struct cc_eval){0};
}

static double *room_of(struct cc_eval *eval, uint32_t value, struct base_error *error)
{
    const struct cc_value *v = &eval->graph->value[value];

    if (!eval->value[value])
        eval->value[value] = base_alloc_array(cc_value_elements(v), sizeof(double));
    if (!eval->value[value])
        base_fail(error, ENOMEM, "There is no memory for the %llu elements of `%.64s`.",
                  (unsigned long long)cc_value_elements(v), v->name);
    return eval->value[value];
}

int cc_eval_set(struct cc_eval *eval, uint32_t value, const double *elements, struct base_error *error)
{
    double *room = room_of(eval, value, error);

    if (!room)
        return -ENOMEM;
    memcpy(room, elements, cc_value_elements(&eval->graph->value[value]) * sizeof(*room));
    eval->given[value] = eval->fresh[value] = true;
    return 0;
}

/* From the end: an operation is needed if its value is, and was not given. */
static void find_needed(const struct cc_eval *eval, bool *needed)
{
    const struct cc_graph *g = eval->graph;

    for (uint32_t i = 0; i < g->outputs; i++)
        needed[g->output[i]] = true;
    for (uint32_t i = g->ops; i-- > 0;)
        for (uint32_t k = 0; needed[g->op[i].output] && !eval->given[g->op[i].output] && k < g->op[i].inputs;
             k++)
            needed[g->op[i].input[k]] = true;
}

/* The elements of an operand: computed before, given, or those of a constant. */
static const double *operand_of(struct cc_eval *eval, uint32_t value, struct base_error *error)
{
    const struct cc_value *v = &eval->graph->value[value];

    if (eval->value[value])
        return eval->value[value];
    if (!v->data) {
        base_fail(error, EINVAL, "`%.64s` was not given and no operation before computes it.", v->name);
        return NULL;
    }
    if (room_of(eval, value, error))
        cc_eval_elements(v, eval->value[value]);
    return eval->value[value];
}

static int compute(struct cc_eval *eval, const struct cc_op *op, struct base_error *error)
{
    const double *operand[CC_INPUTS_MAX];

    for (uint32_t i = 0; i < op->inputs; i++)
        if (!(operand[i] = operand_of(eval, op->input[i], error)))
            return -EINVAL;
    if (!room_of(eval, op->output, error))
        return -ENOMEM;
    eval->fresh[op->output] = true;
    return cc_eval_op(eval->graph, op, operand, eval->value[op->output], error);
}

static bool is_due(const struct cc_eval *eval, const struct cc_op *op)
{
    bool due = !eval->value[op->output];

    for (uint32_t i = 0; i < op->inputs; i++)
        due |= eval->fresh[op->input[i]];
    return due && op->inputs && !eval->given[op->output];
}

int cc_eval_run(struct cc_eval *eval, uint32_t first, struct base_error *error)
{
    const struct cc_graph *g = eval->graph;
    bool *needed = base_alloc_array(g->values ? g->values : 1, sizeof(*needed));
    int status = 0;

    if (!needed)
        return base_fail(error, ENOMEM, "There is no memory to compute a graph of %u values.", g->values);
    find_needed(eval, needed);
    for (uint32_t i = first; i < g->ops && !status; i++)
        if (needed[g->op[i].output] && is_due(eval, &g->op[i]))
            status = compute(eval, &g->op[i], error);
    for (uint32_t i = 0; i < g->outputs && !status; i++)
        status = operand_of(eval, g->output[i], error) ? 0 : -EINVAL;
    memset(eval->fresh, 0, g->values * sizeof(*eval->fresh));
    base_free(needed);
    return status;
}
