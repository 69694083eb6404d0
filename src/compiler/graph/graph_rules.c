/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of shapes and types that every operation of a graph follows, and the engine's limits. A rule
 * computes the shape of the result from the operands; cc_op_check then compares it with the declared one, so
 * a rule, except that of reshape, does not look at the declaration. The lowering relies on a checked graph:
 * indices are valid, operands are computed before their use, and no axis of a computed value is longer than
 * CC_AXIS_MAX.
 */
#include "compiler/graph/rules.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static const uint32_t operands[CC_OP_COUNT] = {
#define X(id, text, count) [CC_OP_##id] = count,
    CC_OPS(X)
#undef X
};

struct cc_shape_text cc_rule_text(const struct cc_value *value)
{
    return cc_shape_text(value->type, value->rank, value->dim);
}

int cc_shape_check(enum cc_type type, uint32_t rank, const uint32_t *dims, bool constant,
                   struct base_error *error)
{
    if (cc_type_bytes(type) == 0)
        return base_fail(error, EINVAL, "type %d does not exist", (int)type);
    if (rank > CC_RANK_MAX)
        return base_fail(error, EINVAL, "rank %u is more than %u (limit of the M1 engine: N, D, C, H, W)",
                         rank, CC_RANK_MAX);
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] == 0)
            return base_fail(error, EINVAL, "axis %u has length 0: empty tensors do not exist on this engine",
                             i);
        if (!constant && dims[i] > CC_AXIS_MAX)
            return base_fail(error, EINVAL, "axis %u of length %u is longer than %u", i, dims[i],
                             CC_AXIS_MAX);
    }
    if (cc_shape_bytes(type, rank, dims) == 0)
        return base_fail(error, EINVAL, "%s is larger than the limit of %llu bytes for one tensor",
                         cc_shape_text(type, rank, dims).text, CC_TENSOR_BYTES_MAX);
    return 0;
}

int cc_rule_refuse(const struct cc_op *op, struct base_error *error, const char *format, ...)
{
    char text[320], where[48] = "";
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (op->line)
        snprintf(where, sizeof(where), "Line %u, column %u: ", op->line, op->column);
    return base_fail(error, EINVAL, "%s%s `%.64s`: %s.", where, cc_op_name(op->kind), op->name, text);
}

const struct cc_value *cc_rule_operand(const struct cc_graph *graph, const struct cc_op *op, uint32_t i)
{
    return &graph->value[op->input[i]];
}

struct cc_shape cc_rule_shape(const struct cc_value *value)
{
    struct cc_shape shape = {.type = value->type, .rank = value->rank};

    memcpy(shape.dim, value->dim, sizeof(shape.dim));
    return shape;
}

int cc_rule_float(const struct cc_op *op, const struct cc_value *value, struct base_error *error)
{
    /* Constants of any type can be folded. */
    if (value->type == CC_FP16 || value->type == CC_FP32 || value->data)
        return 0;
    return cc_rule_refuse(op, error, "operand `%.64s` is %s, expected fp16 or fp32", value->name,
                          cc_rule_text(value).text);
}

static bool is_float(const struct cc_value *value)
{
    return value->type == CC_FP16 || value->type == CC_FP32;
}

int cc_rule_same_type(const struct cc_op *op, const struct cc_value *x, const struct cc_value *y,
                      struct base_error *error)
{
    int status = cc_rule_float(op, x, error);

    if (status || (status = cc_rule_float(op, y, error)))
        return status;
    if (x->type == y->type || (is_float(x) && is_float(y) && (x->data || y->data)))
        return 0;
    return cc_rule_refuse(op, error, "`%.64s` is %s and `%.64s` is %s, expected one type", x->name,
                          cc_type_name(x->type), y->name, cc_type_name(y->type));
}

enum cc_type cc_rule_result_type(const struct cc_value *x, const struct cc_value *y)
{
    if (x->type == y->type || (!x->data && y->data))
        return x->type;
    if (x->data && !y->data)
        return y->type;
    return CC_FP32;
}

int cc_rule_constant(const struct cc_graph *graph, const struct cc_op *op, uint32_t index, const char *what,
                     const struct cc_value **found, struct base_error *error)
{
    const struct cc_value *value = index ? &graph->value[index - 1] : NULL;

    *found = value;
    if (!value)
        return 0;
    if (!value->data)
        return cc_rule_refuse(op, error, "%s `%.64s` is not a constant", what, value->name);
    return cc_rule_same_type(op, cc_rule_operand(graph, op, 0), value, error);
}

int cc_rule_vector(const struct cc_graph *graph, const struct cc_op *op, uint32_t index, const char *what,
                   uint32_t length, struct base_error *error)
{
    const struct cc_value *found;
    int status = cc_rule_constant(graph, op, index, what, &found, error);

    if (status || !found || (found->rank == 1 && found->dim[0] == length))
        return status;
    return cc_rule_refuse(op, error, "%s is %s, expected one axis of length %u", what,
                          cc_rule_text(found).text, length);
}

int cc_rule_broadcast(const struct cc_op *op, const struct cc_shape *x, const struct cc_shape *y,
                      uint32_t fixed, struct cc_shape *out, struct base_error *error)
{
    struct cc_shape both = {.type = out->type, .rank = x->rank > y->rank ? x->rank : y->rank};

    for (uint32_t back = fixed + 1; back <= both.rank; back++) {
        uint32_t a = back <= x->rank ? x->dim[x->rank - back] : 1;
        uint32_t b = back <= y->rank ? y->dim[y->rank - back] : 1;

        if (a != b && a != 1 && b != 1)
            return cc_rule_refuse(op, error,
                                  "%s and %s do not broadcast: lengths %u and %u, expected equal or 1",
                                  cc_shape_text(x->type, x->rank, x->dim).text,
                                  cc_shape_text(y->type, y->rank, y->dim).text, a, b);
        both.dim[both.rank - back] = a == 1 ? b : a;
    }
    *out = both;
    return 0;
}

/* The shape rule of each operation. An input and a constant have none. */
static cc_rule *const rules[CC_OP_COUNT] = {
#define UNARY(id, text, count)   [CC_OP_##id] = cc_rule_unary,
#define BINARY(id, text, count)  [CC_OP_##id] = cc_rule_binary,
#define COMPARE(id, text, count) [CC_OP_##id] = cc_rule_compare,
#define LOGICAL(id, text, count) [CC_OP_##id] = cc_rule_logical,
#define REDUCE(id, text, count)  [CC_OP_##id] = cc_rule_reduce,
    CC_OPS_UNARY(UNARY) CC_OPS_BINARY(BINARY) CC_OPS_COMPARE(COMPARE) CC_OPS_LOGICAL(LOGICAL)
        CC_OPS_REDUCE(REDUCE)
#undef UNARY
#undef BINARY
#undef COMPARE
#undef LOGICAL
#undef REDUCE
            [CC_OP_CAST] = cc_rule_cast,
    [CC_OP_SELECT] = cc_rule_select,
    [CC_OP_PRELU] = cc_rule_channel_parameters,
    [CC_OP_SOFTPLUS_PARAMETRIC] = cc_rule_channel_parameters,
    [CC_OP_CONV] = cc_rule_conv,
    [CC_OP_CONV_TRANSPOSE] = cc_rule_conv_transpose,
    [CC_OP_LINEAR] = cc_rule_linear,
    [CC_OP_MATMUL] = cc_rule_matmul,
    [CC_OP_MAX_POOL] = cc_rule_pool,
    [CC_OP_AVG_POOL] = cc_rule_pool,
    [CC_OP_L2_POOL] = cc_rule_pool,
    [CC_OP_SOFTMAX] = cc_rule_softmax,
    [CC_OP_LOG_SOFTMAX] = cc_rule_softmax,
    [CC_OP_L2_NORM] = cc_rule_l2_norm,
    [CC_OP_LOCAL_RESPONSE_NORM] = cc_rule_local_response_norm,
    [CC_OP_LAYER_NORM] = cc_rule_layer_norm,
    [CC_OP_INSTANCE_NORM] = cc_rule_channel_norm,
    [CC_OP_BATCH_NORM] = cc_rule_channel_norm,
    [CC_OP_TRANSPOSE] = cc_rule_transpose,
    [CC_OP_RESHAPE] = cc_rule_reshape,
    [CC_OP_EXPAND_DIMS] = cc_rule_expand_dims,
    [CC_OP_SQUEEZE] = cc_rule_squeeze,
    [CC_OP_SLICE_BY_INDEX] = cc_rule_slice,
    [CC_OP_SLICE_BY_SIZE] = cc_rule_slice,
    [CC_OP_TILE] = cc_rule_tile,
    [CC_OP_PAD] = cc_rule_pad,
    [CC_OP_RESIZE] = cc_rule_resize,
    [CC_OP_DEPTH_TO_SPACE] = cc_rule_depth,
    [CC_OP_SPACE_TO_DEPTH] = cc_rule_depth,
    [CC_OP_BATCH_TO_SPACE] = cc_rule_batch,
    [CC_OP_SPACE_TO_BATCH] = cc_rule_batch,
    [CC_OP_REVERSE] = cc_rule_reverse,
    [CC_OP_GATHER] = cc_rule_gather,
    [CC_OP_CUMSUM] = cc_rule_cumsum,
    [CC_OP_CONCAT] = cc_rule_concat,
    [CC_OP_STACK] = cc_rule_stack,
    [CC_OP_ARG_MAX] = cc_rule_arg,
    [CC_OP_ARG_MIN] = cc_rule_arg,
    [CC_OP_TOPK] = cc_rule_topk,
    [CC_OP_TOPK_INDICES] = cc_rule_topk,
    [CC_OP_GATHER_AT] = cc_rule_gather_at,
};

bool cc_op_gives_bool(enum cc_op_kind kind)
{
    return (unsigned)kind < CC_OP_COUNT && (rules[kind] == cc_rule_compare || rules[kind] == cc_rule_logical);
}

bool cc_op_is_host(enum cc_op_kind kind)
{
    return (unsigned)kind < CC_OP_COUNT &&
           (rules[kind] == cc_rule_arg || rules[kind] == cc_rule_topk || rules[kind] == cc_rule_gather_at);
}

/* Whether all operands are constants: its result has no place in the engine. */
static bool is_folded(const struct cc_graph *graph, const struct cc_op *op)
{
    for (uint32_t i = 0; i < op->inputs; i++)
        if (!graph->value[op->input[i]].data)
            return false;
    return op->inputs != 0;
}

static int check_operand_count(const struct cc_op *op, struct base_error *error)
{
    uint32_t wanted = operands[op->kind];

    if (wanted == CC_INPUTS_LIST && (op->inputs == 0 || op->inputs > CC_INPUTS_MAX))
        return cc_rule_refuse(op, error, "%u operands, expected 1 to %u", op->inputs, CC_INPUTS_MAX);
    if (wanted == CC_INPUTS_WEIGHT &&
        (op->inputs == 0 || op->inputs > 2 || (op->inputs == 2 && op->a.weight)))
        return cc_rule_refuse(op, error, "%u operands, expected 1, or 2 without the parameter `weight`",
                              op->inputs);
    if (wanted != CC_INPUTS_LIST && wanted != CC_INPUTS_WEIGHT && op->inputs != wanted)
        return cc_rule_refuse(op, error, "%u operands, expected %u", op->inputs, wanted);
    return 0;
}

int cc_op_shape(const struct cc_graph *graph, const struct cc_op *op, struct cc_shape *shape,
                struct base_error *error)
{
    struct base_error limit;
    int status = check_operand_count(op, error);

    if (status)
        return status;
    if (!rules[op->kind] || op->kind == CC_OP_RESHAPE)
        return cc_rule_refuse(op, error, "its shape does not follow from its operands");
    if ((status = rules[op->kind](graph, op, shape, error)))
        return status;
    if (cc_shape_check(shape->type, shape->rank, shape->dim, is_folded(graph, op), &limit))
        return cc_rule_refuse(op, error, "%s", limit.text);
    return 0;
}

int cc_op_check(const struct cc_graph *graph, const struct cc_op *op, struct base_error *error)
{
    const struct cc_value *value = &graph->value[op->output];
    struct cc_shape out;
    struct base_error limit;
    int status;

    if ((status = check_operand_count(op, error)))
        return status;
    /* the shape of an input or a constant is the declared one */
    out = cc_rule_shape(value);
    if (rules[op->kind] && (status = rules[op->kind](graph, op, &out, error)))
        return status;
    if (cc_shape_check(out.type, out.rank, out.dim, op->kind == CC_OP_CONST || is_folded(graph, op), &limit))
        return cc_rule_refuse(op, error, "%s", limit.text);
    if (out.type != value->type || out.rank != value->rank ||
        memcmp(out.dim, value->dim, out.rank * sizeof(out.dim[0])) != 0)
        return cc_rule_refuse(op, error, "it gives %s, but %s is declared",
                              cc_shape_text(out.type, out.rank, out.dim).text, cc_rule_text(value).text);
    return 0;
}

/* Checks that every index is valid and every operand computed before; then applies the rules. */
static int check_op(const struct cc_graph *graph, const struct cc_op *op, bool *made,
                    struct base_error *error)
{
    int status;

    if ((unsigned)op->kind >= CC_OP_COUNT || !op->name)
        return base_fail(error, EINVAL, "Operation %zu has no kind or no name.", (size_t)(op - graph->op));
    if (op->inputs > CC_INPUTS_MAX || op->output >= graph->values || op->a.weight > graph->values ||
        op->a.bias > graph->values || op->a.mean > graph->values || op->a.variance > graph->values ||
        op->a.indices > graph->values)
        return cc_rule_refuse(op, error, "a value index reaches beyond the %u values", graph->values);
    for (uint32_t i = 0; i < op->inputs; i++)
        if (op->input[i] >= graph->values || !made[op->input[i]])
            return cc_rule_refuse(op, error, "operand %u is used before it is computed", i);
    if ((status = cc_op_check(graph, op, error)))
        return status;
    if (op->kind == CC_OP_INPUT || op->kind == CC_OP_CONST)
        return made[op->output]
                   ? 0
                   : cc_rule_refuse(op, error, "its value is not declared as %s", cc_op_name(op->kind));
    if (made[op->output])
        return cc_rule_refuse(op, error, "its value `%.64s` is computed twice",
                              graph->value[op->output].name);
    made[op->output] = true;
    return 0;
}

static int check_values(const struct cc_graph *graph, bool *made, struct base_error *error)
{
    struct base_error limit;

    for (uint32_t i = 0; i < graph->inputs; i++) {
        if (graph->input[i] >= graph->values || made[graph->input[i]])
            return base_fail(error, EINVAL, "Input %u is not a value, or is listed twice.", i);
        made[graph->input[i]] = true;
    }
    for (uint32_t i = 0; i < graph->values; i++) {
        const struct cc_value *value = &graph->value[i];

        if (!value->name || cc_shape_check(value->type, value->rank, value->dim, value->data != NULL, &limit))
            return base_fail(error, EINVAL, "Value `%.64s`: %.320s.", value->name ? value->name : "",
                             value->name ? limit.text : "it has no name");
        if (value->bytes != cc_shape_bytes(value->type, value->rank, value->dim))
            return base_fail(error, EINVAL, "Value `%.64s` states %zu bytes, which is not the size of %s.",
                             value->name, value->bytes, cc_rule_text(value).text);
        if (value->data && made[i])
            return base_fail(error, EINVAL, "Value `%.64s` is an input and a constant.", value->name);
        made[i] |= value->data != NULL;
    }
    return 0;
}

static int check_output(const struct cc_graph *graph, uint32_t i, const bool *made, struct base_error *error)
{
    const struct cc_value *value;

    if (graph->output[i] >= graph->values || !made[graph->output[i]])
        return base_fail(error, EINVAL, "Output %u is a value that no operation computes.", i);
    value = &graph->value[graph->output[i]];
    if (value->type == CC_BOOL)
        return base_fail(error, EINVAL,
                         "Output `%.64s` is %s, expected fp16 or fp32: a cast converts it to 0 and 1.",
                         value->name, cc_rule_text(value).text);
    return 0;
}

int cc_graph_check(const struct cc_graph *graph, struct base_error *error)
{
    bool *made = base_alloc_array(graph->values ? graph->values : 1, sizeof(*made));
    int status;

    if (!made)
        return base_fail(error, ENOMEM, "There is no memory to check a graph of %u values.", graph->values);
    status = check_values(graph, made, error);
    for (uint32_t i = 0; status == 0 && i < graph->ops; i++)
        status = check_op(graph, &graph->op[i], made, error);
    if (status == 0 && graph->outputs == 0)
        status = base_fail(error, EINVAL, "The graph has no output.");
    for (uint32_t i = 0; status == 0 && i < graph->outputs; i++)
        status = check_output(graph, i, made, error);
    base_free(made);
    return status;
}
