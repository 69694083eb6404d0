/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of shapes and types that every operation of a graph follows, and the engine's limits. */
#include "compiler/graph.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct shape {
    enum cc_type type;
    uint32_t rank;
    uint32_t dim[CC_RANK_MAX];
};

static const uint32_t operands[CC_OP_COUNT] = {
#define X(id, text, count) [CC_OP_##id] = count,
    CC_OPS(X)
#undef X
};

static struct cc_shape_text value_text(const struct cc_value *value)
{
    return cc_shape_text(value->type, value->rank, value->dim);
}

/* Which axis of which name goes how far: guide's limit table for this chip. */
static int axis_check(uint32_t rank, uint32_t axis, uint32_t extent, struct base_error *error)
{
    static const char *const names[CC_RANK_MAX] = {"N", "D", "C", "H", "W"};
    static const uint32_t limits[CC_RANK_MAX] = {CC_CHANNEL_MAX, CC_WIDTH_MAX, CC_CHANNEL_MAX, CC_WIDTH_MAX,
                                                 CC_WIDTH_MAX};
    uint32_t place = axis + CC_RANK_MAX - rank;

    if (rank < 3)
        return extent <= CC_CHANNEL_MAX
                   ? 0
                   : base_fail(error, EINVAL,
                               "axis %u of length %u is longer than %u (limit of the M1 engine: C <= %u)",
                               axis, extent, CC_CHANNEL_MAX, CC_CHANNEL_MAX);
    if (rank == 4 && axis == 0)
        place = 0;
    if (extent > limits[place])
        return base_fail(
            error, EINVAL,
            "axis %u (%s) of length %u is longer than %u (limit of the M1 engine: W, H <= %u; C <= %u)", axis,
            names[place], extent, limits[place], CC_WIDTH_MAX, CC_CHANNEL_MAX);
    return 0;
}

int cc_shape_check(enum cc_type type, uint32_t rank, const uint32_t *dims, bool constant,
                   struct base_error *error)
{
    int status;

    if (cc_type_bytes(type) == 0)
        return base_fail(error, EINVAL, "type %d does not exist", (int)type);
    if (rank > CC_RANK_MAX)
        return base_fail(error, EINVAL, "rank %u is more than %u (limit of the M1 engine: N, D, C, H, W)",
                         rank, CC_RANK_MAX);
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] == 0)
            return base_fail(error, EINVAL, "axis %u has length 0: empty tensors do not exist on this engine",
                             i);
        if (!constant && (status = axis_check(rank, i, dims[i], error)))
            return status;
    }
    if (cc_shape_bytes(type, rank, dims) == 0)
        return base_fail(error, EINVAL, "%s is larger than the limit of %llu bytes for one tensor",
                         cc_shape_text(type, rank, dims).text, CC_TENSOR_BYTES_MAX);
    return 0;
}

/* "Line 4, column 9: conv `c`: " and the sentence. */
__attribute__((format(printf, 3, 4))) static int refuse(const struct cc_op *op, struct base_error *error,
                                                        const char *format, ...)
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

static const struct cc_value *operand(const struct cc_graph *graph, const struct cc_op *op, uint32_t i)
{
    return &graph->value[op->input[i]];
}

static struct shape shape_of(const struct cc_value *value)
{
    struct shape shape = {.type = value->type, .rank = value->rank};

    memcpy(shape.dim, value->dim, sizeof(shape.dim));
    return shape;
}

static int check_float(const struct cc_op *op, const struct cc_value *value, struct base_error *error)
{
    if (value->type == CC_FP16 || value->type == CC_FP32)
        return 0;
    return refuse(op, error, "operand `%.64s` is %s, expected fp16 or fp32", value->name,
                  value_text(value).text);
}

static int check_same_type(const struct cc_op *op, const struct cc_value *x, const struct cc_value *y,
                           struct base_error *error)
{
    int status = check_float(op, x, error);

    if (status || (status = check_float(op, y, error)))
        return status;
    if (x->type != y->type)
        return refuse(op, error, "`%.64s` is %s and `%.64s` is %s, expected one type", x->name,
                      cc_type_name(x->type), y->name, cc_type_name(y->type));
    return 0;
}

/* Axes are aligned at the end; a length of 1 is repeated. The last `fixed` axes are left to the caller. */
static int broadcast(const struct cc_op *op, const struct cc_value *x, const struct cc_value *y,
                     uint32_t fixed, struct shape *out, struct base_error *error)
{
    out->type = x->type;
    out->rank = x->rank > y->rank ? x->rank : y->rank;
    for (uint32_t back = fixed + 1; back <= out->rank; back++) {
        uint32_t a = back <= x->rank ? x->dim[x->rank - back] : 1;
        uint32_t b = back <= y->rank ? y->dim[y->rank - back] : 1;

        if (a != b && a != 1 && b != 1)
            return refuse(op, error, "%s and %s do not broadcast: lengths %u and %u, expected equal or 1",
                          value_text(x).text, value_text(y).text, a, b);
        out->dim[out->rank - back] = a == 1 ? b : a;
    }
    return 0;
}

static int infer_binary(const struct cc_graph *graph, const struct cc_op *op, struct shape *out,
                        struct base_error *error)
{
    const struct cc_value *x = operand(graph, op, 0), *y = operand(graph, op, 1);
    int status = check_same_type(op, x, y, error);

    return status ? status : broadcast(op, x, y, 0, out, error);
}

static int infer_relu(const struct cc_graph *graph, const struct cc_op *op, struct shape *out,
                      struct base_error *error)
{
    *out = shape_of(operand(graph, op, 0));
    return check_float(op, operand(graph, op, 0), error);
}

static int infer_cast(const struct cc_graph *graph, const struct cc_op *op, struct shape *out,
                      struct base_error *error)
{
    if (op->a.to != CC_FP16 && op->a.to != CC_FP32)
        return refuse(op, error, "dtype is %s, expected fp16 or fp32", cc_type_name(op->a.to));
    *out = shape_of(operand(graph, op, 0));
    out->type = op->a.to;
    return check_float(op, operand(graph, op, 0), error);
}

/* Weight and bias are constants of the input's type; *bias is NULL when there is none. */
static int check_weights(const struct cc_graph *graph, const struct cc_op *op, const struct cc_value **weight,
                         const struct cc_value **bias, struct base_error *error)
{
    const struct cc_value *x = operand(graph, op, 0);
    const uint32_t wanted[2] = {op->a.weight, op->a.bias};
    const struct cc_value *found[2] = {NULL, NULL};
    int status;

    if (!op->a.weight)
        return refuse(op, error, "there is no weight");
    for (int i = 0; i < 2; i++) {
        if (!wanted[i])
            continue;
        found[i] = &graph->value[wanted[i] - 1];
        if (!found[i]->data)
            return refuse(op, error, "%s `%.64s` is not a constant", i ? "bias" : "weight", found[i]->name);
        if ((status = check_same_type(op, x, found[i], error)))
            return status;
    }
    *weight = found[0];
    *bias = found[1];
    return 0;
}

static int check_bias(const struct cc_op *op, const struct cc_value *bias, uint32_t channels,
                      struct base_error *error)
{
    if (!bias || (bias->rank == 1 && bias->dim[0] == channels))
        return 0;
    return refuse(op, error, "bias is %s, expected one axis of length %u", value_text(bias).text, channels);
}

static int infer_conv(const struct cc_graph *graph, const struct cc_op *op, struct shape *out,
                      struct base_error *error)
{
    const struct cc_attributes *a = &op->a;
    const struct cc_value *x = operand(graph, op, 0), *weight, *bias;
    int status = check_weights(graph, op, &weight, &bias, error);

    if (status)
        return status;
    if (x->rank != 4 || weight->rank != 4)
        return refuse(op, error,
                      "x is %s and weight is %s, expected rank 4: [N, C, H, W] and [out, in / groups, H, W]",
                      value_text(x).text, value_text(weight).text);
    if (a->groups == 0 || x->dim[1] % a->groups || weight->dim[0] % a->groups)
        return refuse(op, error, "groups = %u does not divide %u input and %u output channels", a->groups,
                      x->dim[1], weight->dim[0]);
    if (weight->dim[1] != x->dim[1] / a->groups)
        return refuse(op, error, "weight is %s, expected %u channels on axis 1 (%u / groups %u)",
                      value_text(weight).text, x->dim[1] / a->groups, x->dim[1], a->groups);
    if ((status = check_bias(op, bias, weight->dim[0], error)))
        return status;
    *out = (struct shape){.type = x->type, .rank = 4, .dim = {x->dim[0], weight->dim[0]}};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t padded = (uint64_t)x->dim[2 + i] + a->pad[2 * i] + a->pad[2 * i + 1];
        uint64_t extent = (uint64_t)(weight->dim[2 + i] - 1) * a->dilation[i] + 1;

        if (a->pad[2 * i] > CC_WIDTH_MAX || a->pad[2 * i + 1] > CC_WIDTH_MAX)
            return refuse(op, error, "padding %u and %u of axis %u is more than %u", a->pad[2 * i],
                          a->pad[2 * i + 1], 2 + i, CC_WIDTH_MAX);
        if (a->stride[i] == 0 || a->dilation[i] == 0)
            return refuse(op, error, "stride %u and dilation %u of axis %u must be at least 1", a->stride[i],
                          a->dilation[i], 2 + i);
        if (extent > padded)
            return refuse(op, error, "the kernel spans %llu and axis %u has %llu with its padding",
                          (unsigned long long)extent, 2 + i, (unsigned long long)padded);
        out->dim[2 + i] = (uint32_t)((padded - extent) / a->stride[i] + 1);
    }
    return 0;
}

static int infer_linear(const struct cc_graph *graph, const struct cc_op *op, struct shape *out,
                        struct base_error *error)
{
    const struct cc_value *x = operand(graph, op, 0), *weight, *bias;
    int status = check_weights(graph, op, &weight, &bias, error);

    if (status)
        return status;
    if (x->rank < 1 || x->rank > 4)
        return refuse(op, error, "x is %s, expected rank 1 to 4", value_text(x).text);
    if (weight->rank != 2 || weight->dim[1] != x->dim[x->rank - 1])
        return refuse(op, error, "weight is %s, expected [out, %u] for x of %s", value_text(weight).text,
                      x->dim[x->rank - 1], value_text(x).text);
    *out = shape_of(x);
    out->dim[x->rank - 1] = weight->dim[0];
    return check_bias(op, bias, weight->dim[0], error);
}

static int infer_matmul(const struct cc_graph *graph, const struct cc_op *op, struct shape *out,
                        struct base_error *error)
{
    const struct cc_value *x = operand(graph, op, 0), *y = operand(graph, op, 1);
    uint32_t rows, columns, inner_x, inner_y;
    int status = check_same_type(op, x, y, error);

    if (status)
        return status;
    if (x->rank < 2 || x->rank > 4 || y->rank < 2 || y->rank > 4)
        return refuse(op, error, "%s by %s: expected operands of rank 2 to 4", value_text(x).text,
                      value_text(y).text);
    rows = x->dim[x->rank - (op->a.transpose_x ? 1 : 2)];
    inner_x = x->dim[x->rank - (op->a.transpose_x ? 2 : 1)];
    inner_y = y->dim[y->rank - (op->a.transpose_y ? 1 : 2)];
    columns = y->dim[y->rank - (op->a.transpose_y ? 2 : 1)];
    if (inner_x != inner_y)
        return refuse(op, error, "%s%s by %s%s: inner lengths %u and %u, expected equal", value_text(x).text,
                      op->a.transpose_x ? " transposed" : "", value_text(y).text,
                      op->a.transpose_y ? " transposed" : "", inner_x, inner_y);
    if ((status = broadcast(op, x, y, 2, out, error)))
        return status;
    out->dim[out->rank - 2] = rows;
    out->dim[out->rank - 1] = columns;
    return 0;
}

static int infer_mean(const struct cc_graph *graph, const struct cc_op *op, struct shape *out,
                      struct base_error *error)
{
    const struct cc_value *x = operand(graph, op, 0);

    if (op->a.axes == 0 && x->rank)
        return refuse(op, error, "there are no axes to reduce");
    if (op->a.axes >> x->rank)
        return refuse(op, error, "axes 0x%x reach beyond rank %u", op->a.axes, x->rank);
    *out = (struct shape){.type = x->type};
    for (uint32_t i = 0; i < x->rank; i++) {
        if (!(op->a.axes >> i & 1))
            out->dim[out->rank++] = x->dim[i];
        else if (op->a.keep_dims)
            out->dim[out->rank++] = 1;
    }
    return check_float(op, x, error);
}

static int infer(const struct cc_graph *graph, const struct cc_op *op, struct shape *out,
                 struct base_error *error)
{
    switch (op->kind) {
    case CC_OP_CAST: return infer_cast(graph, op, out, error);
    case CC_OP_ADD:
    case CC_OP_SUB:
    case CC_OP_MUL:
    case CC_OP_MAXIMUM:
    case CC_OP_MINIMUM: return infer_binary(graph, op, out, error);
    case CC_OP_RELU: return infer_relu(graph, op, out, error);
    case CC_OP_CONV: return infer_conv(graph, op, out, error);
    case CC_OP_LINEAR: return infer_linear(graph, op, out, error);
    case CC_OP_MATMUL: return infer_matmul(graph, op, out, error);
    case CC_OP_REDUCE_MEAN: return infer_mean(graph, op, out, error);
    case CC_OP_INPUT:
    case CC_OP_CONST:
    case CC_OP_COUNT: break;
    }
    *out = shape_of(&graph->value[op->output]);
    return 0;
}

int cc_op_check(const struct cc_graph *graph, const struct cc_op *op, struct base_error *error)
{
    const struct cc_value *value = &graph->value[op->output];
    struct shape out = {.rank = 0};
    struct base_error limit;
    int status;

    if (op->inputs != operands[op->kind])
        return refuse(op, error, "%u operands, expected %u", op->inputs, operands[op->kind]);
    if ((status = infer(graph, op, &out, error)))
        return status;
    if (cc_shape_check(out.type, out.rank, out.dim, op->kind == CC_OP_CONST, &limit))
        return refuse(op, error, "%s", limit.text);
    if (out.type != value->type || out.rank != value->rank ||
        memcmp(out.dim, value->dim, out.rank * sizeof(out.dim[0])) != 0)
        return refuse(op, error, "it gives %s, but %s is declared",
                      cc_shape_text(out.type, out.rank, out.dim).text, value_text(value).text);
    return 0;
}

/* Everything the rules index with exists and was made before; then the rules. */
static int check_op(const struct cc_graph *graph, const struct cc_op *op, bool *made,
                    struct base_error *error)
{
    int status;

    if ((unsigned)op->kind >= CC_OP_COUNT || !op->name)
        return base_fail(error, EINVAL, "Operation %zu has no kind or no name.", (size_t)(op - graph->op));
    if (op->inputs > CC_INPUTS_MAX || op->output >= graph->values || op->a.weight > graph->values ||
        op->a.bias > graph->values)
        return refuse(op, error, "a value index reaches beyond the %u values", graph->values);
    for (uint32_t i = 0; i < op->inputs; i++)
        if (op->input[i] >= graph->values || !made[op->input[i]])
            return refuse(op, error, "operand %u is used before it is made", i);
    if ((status = cc_op_check(graph, op, error)))
        return status;
    if (op->kind == CC_OP_INPUT || op->kind == CC_OP_CONST)
        return made[op->output] ? 0 : refuse(op, error, "its value is no %s", cc_op_name(op->kind));
    if (made[op->output])
        return refuse(op, error, "its value `%.64s` is made twice", graph->value[op->output].name);
    made[op->output] = true;
    return 0;
}

static int check_values(const struct cc_graph *graph, bool *made, struct base_error *error)
{
    struct base_error limit;

    for (uint32_t i = 0; i < graph->inputs; i++) {
        if (graph->input[i] >= graph->values || made[graph->input[i]])
            return base_fail(error, EINVAL, "Input %u is no value, or a value that is listed twice.", i);
        made[graph->input[i]] = true;
    }
    for (uint32_t i = 0; i < graph->values; i++) {
        const struct cc_value *value = &graph->value[i];

        if (!value->name || cc_shape_check(value->type, value->rank, value->dim, value->data != NULL, &limit))
            return base_fail(error, EINVAL, "Value `%.64s`: %.320s.", value->name ? value->name : "",
                             value->name ? limit.text : "it has no name");
        if (value->bytes != cc_shape_bytes(value->type, value->rank, value->dim))
            return base_fail(error, EINVAL, "Value `%.64s` says it has %zu bytes, which %s has not.",
                             value->name, value->bytes, value_text(value).text);
        if (value->data && made[i])
            return base_fail(error, EINVAL, "Value `%.64s` is an input and a constant.", value->name);
        made[i] |= value->data != NULL;
    }
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
        if (graph->output[i] >= graph->values || !made[graph->output[i]])
            status = base_fail(error, EINVAL, "Output %u is a value that nothing makes.", i);
    base_free(made);
    return status;
}
