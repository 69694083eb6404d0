/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations on constants become constants. The operands stay in the graph, because others may use them; a
 * rewrite leaves behind what has no user.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/task.h"
#include "compiler/half.h"

/*
 * Rounded once: the single between keeps a bit that says that more follows, which is enough because it has
 * more than two bits more than an fp16.
 */
static uint16_t half_of(double x)
{
    float single = (float)x;
    uint32_t bits = cc_float_bits(single);

    if (isfinite(single) && (double)single != x) {
        if (fabs((double)single) > fabs(x))
            bits--;
        bits |= 1;
    }
    return pr_half_of_single(bits);
}

static void put(void *data, enum cc_type type, uint64_t i, double x)
{
    switch (type) {
    case CC_FP16: ((uint16_t *)data)[i] = half_of(x); break;
    case CC_FP32: ((float *)data)[i] = (float)x; break;
    case CC_INT32: ((int32_t *)data)[i] = (int32_t)x; break;
    case CC_BOOL: ((uint8_t *)data)[i] = x != 0; break;
    }
}

static bool is_constant(const struct cc_graph *graph, const struct cc_op *op)
{
    for (uint32_t i = 0; i < op->inputs; i++)
        if (!graph->value[op->input[i]].data)
            return false;
    return op->inputs != 0;
}

/* Multiplications of the operations that have many per element; about. */
static uint64_t steps_of(const struct cc_graph *graph, const struct cc_op *op)
{
    const struct cc_value *x = &graph->value[op->input[0]], *y = &graph->value[op->output];
    const struct cc_value *w = cc_op_weight(graph, op);
    uint64_t each = 1;

    switch (op->kind) {
    case CC_OP_CONV: each = (uint64_t)w->dim[1] * w->dim[2] * w->dim[3]; break;
    case CC_OP_CONV_TRANSPOSE:
        each = (uint64_t)w->dim[1] * w->dim[2] * w->dim[3];
        y = x;
        break;
    case CC_OP_LINEAR: each = x->dim[x->rank - 1]; break;
    case CC_OP_MATMUL: each = x->dim[x->rank - (op->a.transpose_x ? 2 : 1)]; break;
    case CC_OP_MAX_POOL:
    case CC_OP_AVG_POOL:
    case CC_OP_L2_POOL: each = (uint64_t)op->a.kernel[0] * op->a.kernel[1]; break;
    case CC_OP_LOCAL_RESPONSE_NORM: each = op->a.kernel[0]; break;
    default: break;
    }
    return each > CC_FOLD_STEPS_MAX ? each : each * cc_value_elements(y);
}

/* The operands as doubles, in one piece of memory that begins with the result. */
static int compute(const struct cc_graph *graph, const struct cc_op *op, double **room,
                   struct base_error *error)
{
    const double *operand[CC_INPUTS_MAX];
    uint64_t count = cc_value_elements(&graph->value[op->output]);

    for (uint32_t i = 0; i < op->inputs; i++)
        count += cc_value_elements(&graph->value[op->input[i]]);
    *room = base_alloc_array(count, sizeof(**room));
    if (!*room)
        return base_fail(error, ENOMEM, "There is no memory to fold %s `%.64s`.", cc_op_name(op->kind),
                         op->name);
    count = cc_value_elements(&graph->value[op->output]);
    for (uint32_t i = 0; i < op->inputs; i++) {
        operand[i] = *room + count;
        cc_eval_elements(&graph->value[op->input[i]], *room + count);
        count += cc_value_elements(&graph->value[op->input[i]]);
    }
    return cc_eval_op(graph, op, operand, *room, error);
}

/* Counts what one more constant takes, and refuses what is too much for one graph. */
static int count_fold(struct cc_graph *graph, const struct cc_op *op, struct base_error *error)
{
    graph->folded_bytes += graph->value[op->output].bytes;
    graph->folded_steps += steps_of(graph, op);
    graph->folded_steps += CC_FOLD_ELEMENT_STEPS * cc_value_elements(&graph->value[op->output]);
    for (uint32_t i = 0; i < op->inputs; i++)
        graph->folded_steps += cc_value_elements(&graph->value[op->input[i]]);
    if (graph->folded_bytes > CC_FOLD_ALL_BYTES_MAX)
        return base_fail(error, EFBIG,
                         "%s `%.64s`: the results of operations on constants are more than the limit of %llu "
                         "bytes.",
                         cc_op_name(op->kind), op->name, CC_FOLD_ALL_BYTES_MAX);
    if (graph->folded_steps > CC_FOLD_TOTAL_MAX)
        return base_fail(error, EFBIG,
                         "%s `%.64s`: the operations on constants need more than the limit of %llu steps.",
                         cc_op_name(op->kind), op->name, CC_FOLD_TOTAL_MAX);
    return 0;
}

/* What is too much for folding is left to the engine, if it can have the result. */
static int leave(const struct cc_graph *graph, const struct cc_op *op, struct base_error *error)
{
    const struct cc_value *y = &graph->value[op->output];

    if (y->type != CC_FP32)
        return 0;
    return base_fail(error, EFBIG,
                     "%s `%.64s`: it makes a constant %s of constants, which takes %llu bytes and %llu "
                     "multiplications, expected at most %llu and %llu.",
                     cc_op_name(op->kind), op->name, cc_shape_text(y->type, y->rank, y->dim).text,
                     (unsigned long long)y->bytes, (unsigned long long)steps_of(graph, op), CC_FOLD_BYTES_MAX,
                     CC_FOLD_STEPS_MAX);
}

int cc_eval_fold(struct cc_graph *graph, uint32_t number, bool *folded, struct base_error *error)
{
    struct cc_op *op = &graph->op[number];
    struct cc_value *y = &graph->value[op->output];
    uint64_t elements = cc_value_elements(y);
    double *room = NULL;
    void *data;
    int status;

    *folded = false;
    if (!is_constant(graph, op))
        return 0;
    if (y->bytes > CC_FOLD_BYTES_MAX || steps_of(graph, op) > CC_FOLD_STEPS_MAX)
        return leave(graph, op, error);
    if ((status = count_fold(graph, op, error)))
        return status;
    status = compute(graph, op, &room, error);
    data = status ? NULL : base_alloc(y->bytes);
    if (!status && !data)
        status = base_fail(error, ENOMEM, "There is no memory to fold %s `%.64s`.", cc_op_name(op->kind),
                           op->name);
    for (uint64_t i = 0; data && i < elements; i++)
        put(data, y->type, i, room[i]);
    base_free(room);
    if (status)
        return status;
    y->data = data;
    op->kind = CC_OP_CONST;
    op->inputs = 0;
    op->a = (struct cc_attributes){0};
    *folded = true;
    return 0;
}
