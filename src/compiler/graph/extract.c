/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of the part are made in the order in which the chosen operations use them. Every chosen operation
 * is kept, and its value is an output unless only chosen operations use it.
 */
#include "compiler/graph/extract.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

struct extract {
    const struct cc_graph *from;
    const bool *chosen;
    struct cc_graph *to;
    uint32_t *map; /* per value: number in the part + 1; 0: not there */
    bool *outside; /* per value: used outside the part */
};

static bool is_chosen(const struct extract *e, uint32_t number)
{
    enum cc_op_kind kind = e->from->op[number].kind;

    return e->chosen[number] && kind != CC_OP_INPUT && kind != CC_OP_CONST;
}

static void look(struct extract *e)
{
    const struct cc_graph *g = e->from;

    for (uint32_t i = 0; i < g->ops; i++) {
        const struct cc_op *op = &g->op[i];

        for (uint32_t k = 0; k < op->inputs && !is_chosen(e, i); k++)
            e->outside[op->input[k]] = true;
    }
    for (uint32_t i = 0; i < g->outputs; i++)
        e->outside[g->output[i]] = true;
}

static int add_constant(struct extract *e, const struct cc_value *v)
{
    void *data = base_alloc(v->bytes);
    int value;

    if (!data)
        return -ENOMEM;
    memcpy(data, v->data, v->bytes);
    value = cc_graph_add_const(e->to, v->name, v->type, v->rank, v->dim, data);
    if (value < 0)
        base_free(data);
    return value;
}

/* An input with its INPUT operation, so that every value has a producer. */
static int add_input(struct extract *e, const struct cc_value *v)
{
    int value = cc_graph_add_value(e->to, v->name, v->type, v->rank, v->dim), op;

    if (value < 0)
        return value;
    op = cc_graph_add_op(e->to, CC_OP_INPUT, v->name, 0);
    if (op < 0)
        return op;
    e->to->op[op].output = (uint32_t)value;
    op = cc_graph_add_input(e->to, (uint32_t)value);
    return op < 0 ? op : value;
}

static int use(struct extract *e, uint32_t old)
{
    const struct cc_value *v = &e->from->value[old];
    int value;

    if (e->map[old])
        return (int)e->map[old] - 1;
    value = v->data ? add_constant(e, v) : add_input(e, v);
    if (value >= 0)
        e->map[old] = (uint32_t)value + 1;
    return value;
}

static int use_parameter(struct extract *e, uint32_t *parameter)
{
    int value = *parameter ? use(e, *parameter - 1) : -1;

    if (*parameter && value < 0)
        return value;
    *parameter = (uint32_t)(value + 1);
    return 0;
}

static int add_op(struct extract *e, const struct cc_op *op)
{
    const struct cc_value *v = &e->from->value[op->output];
    struct cc_op copy = *op;
    uint32_t *const parameter[] = {&copy.a.weight, &copy.a.bias, &copy.a.mean, &copy.a.variance,
                                   &copy.a.indices};
    int value, number, status = 0;

    for (uint32_t i = 0; i < op->inputs; i++) {
        value = use(e, op->input[i]);
        if (value < 0)
            return value;
        copy.input[i] = (uint32_t)value;
    }
    for (unsigned i = 0; i < sizeof(parameter) / sizeof(parameter[0]) && !status; i++)
        status = use_parameter(e, parameter[i]);
    value = status ? status : cc_graph_add_value(e->to, v->name, v->type, v->rank, v->dim);
    number = value < 0 ? value : cc_graph_add_op(e->to, op->kind, op->name, op->line);
    if (number < 0)
        return number;
    copy.name = e->to->op[number].name;
    copy.output = (uint32_t)value;
    e->to->op[number] = copy;
    e->map[op->output] = (uint32_t)value + 1;
    return e->outside[op->output] ? cc_graph_add_output(e->to, (uint32_t)value) : 0;
}

static int extract(struct extract *e)
{
    const struct cc_graph *g = e->from;
    int status = 0;

    if (g->function && !(e->to->function = base_strdup(g->function)))
        return -ENOMEM;
    for (uint32_t i = 0; i < g->origins && status >= 0; i++)
        status = cc_graph_add_origin(e->to, g->origin[i].name, g->origin[i].kind, g->origin[i].line,
                                     g->origin[i].column);
    for (uint32_t i = 0; i < g->ops && status >= 0; i++)
        if (is_chosen(e, i))
            status = add_op(e, &g->op[i]);
    if (status >= 0 && !e->to->outputs)
        return -EINVAL;
    return status < 0 ? status : 0;
}

int cc_graph_extract(const struct cc_graph *graph, const bool *chosen, struct cc_graph **part,
                     struct base_error *error)
{
    uint32_t values = graph->values ? graph->values : 1;
    struct extract e = {.from = graph, .chosen = chosen, .to = cc_graph_create()};
    int status = -ENOMEM;

    e.map = base_alloc_array(values, sizeof(*e.map));
    e.outside = base_alloc_array(values, sizeof(*e.outside));
    if (e.to && e.map && e.outside) {
        look(&e);
        status = extract(&e);
    }
    base_free(e.map);
    base_free(e.outside);
    *part = status ? NULL : e.to;
    if (!status)
        return 0;
    cc_graph_destroy(e.to);
    return status == -EINVAL ? base_fail(error, EINVAL, "The part of the graph has no result that is used.")
                             : base_fail(error, -status, "There is no memory for a part of a graph.");
}
