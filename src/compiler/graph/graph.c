/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The typed graph: names of types and operations, and storage. Values and operations refer to each other by
 * index, because the arrays move when they grow; no pointer into them is kept across an addition. An addition
 * that fails leaves the graph as it was. What a graph may contain is decided in graph_rules.c.
 */
#include "compiler/graph/graph.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "compiler/half.h"

#define VALUES_MAX (1u << 22) /* indices stay far from the ends of their types */

static const char *const kinds[CC_OP_COUNT] = {
#define X(id, text, count) [CC_OP_##id] = text,
    CC_OPS(X)
#undef X
};

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [CC_FP16] = {"fp16", 2}, [CC_FP32] = {"fp32", 4}, [CC_INT32] = {"int32", 4}, [CC_BOOL] = {"bool", 1}};

static bool type_exists(enum cc_type type)
{
    return (unsigned)type < BASE_COUNT_OF(types);
}

const char *cc_op_name(enum cc_op_kind kind)
{
    return (unsigned)kind < CC_OP_COUNT ? kinds[kind] : "unknown";
}

const struct cc_value *cc_op_weight(const struct cc_graph *graph, const struct cc_op *op)
{
    if (op->inputs == 2)
        return &graph->value[op->input[1]];
    return op->a.weight ? &graph->value[op->a.weight - 1] : NULL;
}

size_t cc_type_bytes(enum cc_type type)
{
    return type_exists(type) ? types[type].bytes : 0;
}

const char *cc_type_name(enum cc_type type)
{
    return type_exists(type) ? types[type].name : "unknown";
}

struct cc_shape_text cc_shape_text(enum cc_type type, uint32_t rank, const uint32_t *dims)
{
    struct cc_shape_text shape;
    size_t at;

    if (rank == 0) {
        snprintf(shape.text, sizeof(shape.text), "%s", cc_type_name(type));
        return shape;
    }
    at = (size_t)snprintf(shape.text, sizeof(shape.text), "tensor<%s, [", cc_type_name(type));
    for (uint32_t i = 0; i < rank && i < CC_RANK_MAX; i++)
        at += (size_t)snprintf(shape.text + at, sizeof(shape.text) - at, i ? ", %u" : "%u", dims[i]);
    snprintf(shape.text + at, sizeof(shape.text) - at, "]>");
    return shape;
}

size_t cc_shape_bytes(enum cc_type type, uint32_t rank, const uint32_t *dims)
{
    uint64_t bytes = cc_type_bytes(type);

    for (uint32_t i = 0; i < rank && i < CC_RANK_MAX; i++) {
        bytes *= dims[i];
        if (bytes > CC_TENSOR_BYTES_MAX)
            return 0;
    }
    return (size_t)bytes;
}

uint64_t cc_value_elements(const struct cc_value *value)
{
    return value->bytes / cc_type_bytes(value->type);
}

double cc_value_number(const struct cc_value *value, uint64_t i)
{
    const uint8_t *at = (const uint8_t *)value->data + i * cc_type_bytes(value->type);
    uint16_t half;
    int32_t whole;
    float single;

    switch (value->type) {
    case CC_FP16: memcpy(&half, at, sizeof(half)); return (double)cc_float_of_half(half);
    case CC_FP32: memcpy(&single, at, sizeof(single)); return (double)single;
    case CC_INT32: memcpy(&whole, at, sizeof(whole)); return whole;
    case CC_BOOL: return *at != 0;
    }
    return 0;
}

struct cc_graph *cc_graph_create(void)
{
    return base_alloc(sizeof(struct cc_graph));
}

void cc_graph_destroy(struct cc_graph *graph)
{
    if (!graph)
        return;
    for (uint32_t i = 0; i < graph->values; i++) {
        base_free(graph->value[i].name);
        base_free(graph->value[i].data);
    }
    for (uint32_t i = 0; i < graph->ops; i++)
        base_free(graph->op[i].name);
    for (uint32_t i = 0; i < graph->origins; i++) {
        base_free(graph->origin[i].name);
        base_free(graph->origin[i].kind);
    }
    base_free(graph->origin);
    base_free(graph->function);
    base_free(graph->value);
    base_free(graph->op);
    base_free(graph->input);
    base_free(graph->output);
    base_free(graph);
}

/* Makes room for one more element. Without memory the array is unchanged. */
static int grow(void **array, uint32_t *capacity, uint32_t count, size_t size)
{
    uint32_t wanted = *capacity ? 2 * *capacity : 16;
    void *larger;

    if (count < *capacity)
        return 0;
    if (count >= VALUES_MAX)
        return -E2BIG;
    larger = base_realloc(*array, wanted * size);
    if (!larger)
        return -ENOMEM;
    *array = larger;
    *capacity = wanted;
    return 0;
}

int cc_graph_add_value(struct cc_graph *graph, const char *name, enum cc_type type, uint32_t rank,
                       const uint32_t *dims)
{
    void *array = graph->value;
    struct cc_value value = {.type = type, .rank = rank};
    int status;

    if (!type_exists(type) || rank > CC_RANK_MAX)
        return -EINVAL;
    value.bytes = cc_shape_bytes(type, rank, dims);
    if (value.bytes == 0)
        return -EINVAL;
    if (rank)
        memcpy(value.dim, dims, rank * sizeof(*dims));
    status = grow(&array, &graph->value_capacity, graph->values, sizeof(*graph->value));
    graph->value = array;
    if (status)
        return status;
    value.name = base_strdup(name);
    if (!value.name)
        return -ENOMEM;
    graph->value[graph->values] = value;
    return (int)graph->values++;
}

int cc_graph_add_op(struct cc_graph *graph, enum cc_op_kind kind, const char *name, unsigned line)
{
    void *array = graph->op;
    struct cc_op op = {.kind = kind, .line = line};
    int status;

    if ((unsigned)kind >= CC_OP_COUNT)
        return -EINVAL;
    status = grow(&array, &graph->op_capacity, graph->ops, sizeof(*graph->op));
    graph->op = array;
    if (status)
        return status;
    op.name = base_strdup(name);
    if (!op.name)
        return -ENOMEM;
    graph->op[graph->ops] = op;
    return (int)graph->ops++;
}

int cc_graph_add_origin(struct cc_graph *graph, const char *name, const char *kind, unsigned line,
                        unsigned column)
{
    void *array = graph->origin;
    struct cc_origin origin = {.line = line, .column = column};
    int status = grow(&array, &graph->origin_capacity, graph->origins, sizeof(*graph->origin));

    graph->origin = array;
    if (status)
        return status;
    origin.name = base_strdup(name);
    origin.kind = base_strdup(kind);
    if (!origin.name || !origin.kind) {
        base_free(origin.name);
        base_free(origin.kind);
        return -ENOMEM;
    }
    graph->origin[graph->origins] = origin;
    return (int)graph->origins++;
}

int cc_graph_add_const(struct cc_graph *graph, const char *name, enum cc_type type, uint32_t rank,
                       const uint32_t *dims, void *data)
{
    int value = cc_graph_add_value(graph, name, type, rank, dims);
    int op;

    if (value < 0)
        return value;
    op = cc_graph_add_op(graph, CC_OP_CONST, name, 0);
    if (op < 0) {
        base_free(graph->value[--graph->values].name);
        return op;
    }
    graph->op[op].output = (uint32_t)value;
    graph->value[value].data = data;
    return value;
}

static int add_port(const struct cc_graph *graph, uint32_t **list, uint32_t *count, uint32_t value)
{
    uint32_t *longer;

    if (value >= graph->values)
        return -EINVAL;
    longer = base_realloc(*list, (*count + 1) * sizeof(**list));
    if (!longer)
        return -ENOMEM;
    *list = longer;
    longer[(*count)++] = value;
    return 0;
}

int cc_graph_add_input(struct cc_graph *graph, uint32_t value)
{
    return add_port(graph, &graph->input, &graph->inputs, value);
}

int cc_graph_add_output(struct cc_graph *graph, uint32_t value)
{
    return add_port(graph, &graph->output, &graph->outputs, value);
}

static int copy_value(struct cc_graph *to, const struct cc_value *v)
{
    int value = cc_graph_add_value(to, v->name, v->type, v->rank, v->dim);

    if (value < 0 || !v->data)
        return value;
    to->value[value].data = base_alloc(v->bytes);
    if (!to->value[value].data)
        return -ENOMEM;
    memcpy(to->value[value].data, v->data, v->bytes);
    return 0;
}

static int copy_op(struct cc_graph *to, const struct cc_op *op)
{
    int number = cc_graph_add_op(to, op->kind, op->name, op->line);
    char *name;

    if (number < 0)
        return number;
    name = to->op[number].name;
    to->op[number] = *op;
    to->op[number].name = name;
    return 0;
}

static int copy_all(const struct cc_graph *g, struct cc_graph *to)
{
    int status = 0;

    if (g->function && !(to->function = base_strdup(g->function)))
        return -ENOMEM;
    for (uint32_t i = 0; i < g->origins && status >= 0; i++)
        status = cc_graph_add_origin(to, g->origin[i].name, g->origin[i].kind, g->origin[i].line,
                                     g->origin[i].column);
    for (uint32_t i = 0; i < g->values && status >= 0; i++)
        status = copy_value(to, &g->value[i]);
    for (uint32_t i = 0; i < g->ops && status >= 0; i++)
        status = copy_op(to, &g->op[i]);
    for (uint32_t i = 0; i < g->inputs && status >= 0; i++)
        status = cc_graph_add_input(to, g->input[i]);
    for (uint32_t i = 0; i < g->outputs && status >= 0; i++)
        status = cc_graph_add_output(to, g->output[i]);
    return status < 0 ? status : 0;
}

int cc_graph_copy(const struct cc_graph *graph, struct cc_graph **copy)
{
    int status;

    *copy = cc_graph_create();
    if (!*copy)
        return -ENOMEM;
    status = copy_all(graph, *copy);
    if (!status)
        return 0;
    cc_graph_destroy(*copy);
    *copy = NULL;
    return status;
}
