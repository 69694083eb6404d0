/* SPDX-License-Identifier: Apache-2.0 */
/* Operations are added only after their shape is known, so a refusal leaves the graph as it was. */
#include "compiler/graph/build.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

enum { NAME_BYTES = 160 };

static int fail(struct cc_build *b, int status)
{
    if (!b->status)
        b->status = base_fail(b->error, -status, "There is no memory for `%.64s`, or the graph is too large.",
                              b->name);
    return b->status;
}

static void next_name(struct cc_build *b, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%.120s.%u", b->name, b->made++);
}

const struct cc_value *cc_build_value(const struct cc_build *b, uint32_t value)
{
    return &b->graph->value[value];
}

/* The operation and its value, whose shape is known. */
static uint32_t add(struct cc_build *b, const struct cc_op *op, const struct cc_shape *shape)
{
    char name[NAME_BYTES];
    int value, number;
    bool folded;

    next_name(b, name);
    value = cc_graph_add_value(b->graph, name, shape->type, shape->rank, shape->dim);
    if (value < 0) {
        fail(b, value);
        return 0;
    }
    number = cc_graph_add_op(b->graph, op->kind, name, b->line);
    if (number < 0) {
        fail(b, number);
        return 0;
    }
    b->graph->op[number].column = b->column;
    b->graph->op[number].origin = b->origin;
    b->graph->op[number].inputs = op->inputs;
    memcpy(b->graph->op[number].input, op->input, op->inputs * sizeof(op->input[0]));
    b->graph->op[number].output = (uint32_t)value;
    b->graph->op[number].a = op->a;
    if (b->fold)
        b->status = b->fold(b->graph, (uint32_t)number, &folded, b->error);
    return (uint32_t)value;
}

uint32_t cc_build_op(struct cc_build *b, enum cc_op_kind kind, uint32_t inputs, const uint32_t *input,
                     const struct cc_attributes *a)
{
    char name[NAME_BYTES];
    struct cc_op op = {.kind = kind, .name = name, .line = b->line, .column = b->column, .inputs = inputs};
    struct cc_shape shape = {0};

    if (b->status)
        return 0;
    snprintf(name, sizeof(name), "%.120s", b->name);
    if (inputs > CC_INPUTS_MAX) {
        cc_build_refuse(b, "%u operands, expected at most %u", inputs, CC_INPUTS_MAX);
        return 0;
    }
    memcpy(op.input, input, inputs * sizeof(*input));
    if (a)
        op.a = *a;
    b->status = cc_op_shape(b->graph, &op, &shape, b->error);
    return b->status ? 0 : add(b, &op, &shape);
}

uint32_t cc_build_unary(struct cc_build *b, enum cc_op_kind kind, uint32_t x)
{
    return cc_build_op(b, kind, 1, &x, NULL);
}

uint32_t cc_build_binary(struct cc_build *b, enum cc_op_kind kind, uint32_t x, uint32_t y)
{
    return cc_build_op(b, kind, 2, (const uint32_t[]){x, y}, NULL);
}

uint32_t cc_build_reshape(struct cc_build *b, uint32_t x, uint32_t rank, const uint32_t *dims)
{
    const struct cc_value *v = cc_build_value(b, x);
    struct cc_op op = {.kind = CC_OP_RESHAPE, .inputs = 1, .input = {x}};
    struct cc_shape shape = {.type = v->type, .rank = rank};
    struct base_error limit;
    uint64_t elements = 1;

    if (b->status)
        return 0;
    if (v->rank == rank && !memcmp(v->dim, dims, rank * sizeof(*dims)))
        return x;
    if (rank > CC_RANK_MAX) {
        cc_build_refuse(b, "the result has rank %u, more than %u", rank, CC_RANK_MAX);
        return 0;
    }
    for (uint32_t i = 0; i < rank && elements <= CC_TENSOR_BYTES_MAX; i++)
        elements *= shape.dim[i] = dims[i];
    if (elements != cc_value_elements(v)) {
        cc_build_refuse(b, "%s and %s do not hold the same number of elements",
                        cc_shape_text(v->type, v->rank, v->dim).text,
                        cc_shape_text(v->type, rank, dims).text);
        return 0;
    }
    if (cc_shape_check(shape.type, rank, shape.dim, v->data != NULL, &limit)) {
        cc_build_refuse(b, "%s", limit.text);
        return 0;
    }
    return add(b, &op, &shape);
}

uint32_t cc_build_transpose(struct cc_build *b, uint32_t x, const uint32_t *perm)
{
    struct cc_attributes a = {0};
    uint32_t rank = b->status ? 0 : cc_build_value(b, x)->rank;
    bool moves = false;

    for (uint32_t i = 0; i < rank; i++) {
        a.perm[i] = perm[i];
        moves |= perm[i] != i;
    }
    return moves ? cc_build_op(b, CC_OP_TRANSPOSE, 1, &x, &a) : x;
}

uint32_t cc_build_slice(struct cc_build *b, uint32_t x, const uint32_t *begin, const uint32_t *size,
                        const uint32_t *step)
{
    const struct cc_value *v = cc_build_value(b, x);
    struct cc_attributes a = {0};
    bool whole = true;

    if (b->status)
        return 0;
    for (uint32_t i = 0; i < v->rank; i++) {
        a.begin[i] = begin[i];
        a.size[i] = size[i];
        a.step[i] = step && step[i] > 1 ? step[i] : 0;
        whole &= size[i] == v->dim[i];
    }
    return whole ? x : cc_build_op(b, CC_OP_SLICE_BY_SIZE, 1, &x, &a);
}

uint32_t cc_build_concat(struct cc_build *b, uint32_t count, const uint32_t *values, uint32_t axis)
{
    struct cc_attributes a = {.axis = axis};
    uint32_t *part, parts = 0, joined;

    if (count == 1 || b->status)
        return b->status ? 0 : values[0];
    if (count <= CC_INPUTS_MAX)
        return cc_build_op(b, CC_OP_CONCAT, count, values, &a);
    part = base_alloc_array((count + CC_INPUTS_MAX - 1) / CC_INPUTS_MAX, sizeof(*part));
    if (!part) {
        fail(b, -ENOMEM);
        return 0;
    }
    for (uint32_t i = 0; i < count; i += CC_INPUTS_MAX)
        part[parts++] =
            cc_build_concat(b, count - i < CC_INPUTS_MAX ? count - i : CC_INPUTS_MAX, values + i, axis);
    joined = cc_build_concat(b, parts, part, axis);
    base_free(part);
    return joined;
}

uint32_t cc_build_reduce(struct cc_build *b, enum cc_op_kind kind, uint32_t x, uint32_t axes, bool keep_dims)
{
    return cc_build_op(b, kind, 1, &x, &(struct cc_attributes){.axes = axes, .keep_dims = keep_dims});
}

uint32_t cc_build_cast(struct cc_build *b, uint32_t x, enum cc_type to)
{
    return cc_build_op(b, CC_OP_CAST, 1, &x, &(struct cc_attributes){.to = to});
}

uint32_t cc_build_const(struct cc_build *b, enum cc_type type, uint32_t rank, const uint32_t *dims,
                        void *data)
{
    char name[NAME_BYTES];
    int value;

    if (b->status || !data) {
        base_free(data);
        if (!data)
            fail(b, -ENOMEM);
        return 0;
    }
    b->bytes += cc_shape_bytes(type, rank, dims);
    if (b->bytes_max && b->bytes > b->bytes_max) {
        base_free(data);
        cc_build_refuse(b, "the constants that operations become would have more than %llu bytes",
                        (unsigned long long)b->bytes_max);
        return 0;
    }
    next_name(b, name);
    value = cc_graph_add_const(b->graph, name, type, rank, dims, data);
    if (value >= 0)
        return (uint32_t)value;
    base_free(data);
    fail(b, value);
    return 0;
}

static uint32_t copied(struct cc_build *b, enum cc_type type, uint32_t rank, const uint32_t *dims,
                       const void *data)
{
    size_t bytes = cc_shape_bytes(type, rank, dims);
    void *copy = b->status || !bytes ? NULL : base_alloc(bytes);

    if (copy)
        memcpy(copy, data, bytes);
    return cc_build_const(b, type, rank, dims, copy);
}

uint32_t cc_build_floats(struct cc_build *b, uint32_t rank, const uint32_t *dims, const float *data)
{
    return copied(b, CC_FP32, rank, dims, data);
}

uint32_t cc_build_ints(struct cc_build *b, uint32_t rank, const uint32_t *dims, const int32_t *data)
{
    return copied(b, CC_INT32, rank, dims, data);
}

uint32_t cc_build_scalar(struct cc_build *b, float value)
{
    return cc_build_floats(b, 0, NULL, &value);
}

static int rename_to(char **name, const char *to)
{
    char *copy = base_strdup(to);

    if (!copy)
        return -ENOMEM;
    base_free(*name);
    *name = copy;
    return 0;
}

void cc_build_name(struct cc_build *b, uint32_t value, const char *name)
{
    struct cc_graph *g = b->graph;

    if (b->status)
        return;
    if (rename_to(&g->value[value].name, name))
        fail(b, -ENOMEM);
    /* the operation that was added last, as a rule */
    for (uint32_t i = g->ops; i-- > 0 && !b->status;)
        if (g->op[i].output == value) {
            if (rename_to(&g->op[i].name, name))
                fail(b, -ENOMEM);
            return;
        }
}

int cc_build_refuse(struct cc_build *b, const char *format, ...)
{
    const struct cc_origin *origin = b->origin ? &b->graph->origin[b->origin - 1] : NULL;
    char text[400], where[48] = "";
    va_list args;

    if (b->status)
        return b->status;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (b->line)
        snprintf(where, sizeof(where), "Line %u, column %u: ", b->line, b->column);
    return b->status = base_fail(b->error, EINVAL, "%s%s `%.64s`: %s.", where,
                                 origin ? origin->kind : "Operation", origin ? origin->name : b->name, text);
}
