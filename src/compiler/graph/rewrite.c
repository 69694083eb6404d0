/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Until the new graph is complete, the data of a constant is that of both graphs; then one of them is
 * destroyed without it. An output whose value already is an input, a constant or another output gets a cast
 * to its own type, which is an alias: ports have the names of their values.
 */
#include "compiler/graph/rewrite.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"

uint32_t cc_rewrite_value(struct cc_rewrite *r, uint32_t old)
{
    const struct cc_value *v = &r->from->value[old];
    int value;

    if (r->to.status)
        return 0;
    if (r->map[old])
        return r->map[old] - 1;
    value = v->data ? cc_graph_add_const(r->to.graph, v->name, v->type, v->rank, v->dim, v->data) : -EINVAL;
    if (value < 0) {
        r->to.status = base_fail(r->to.error, -value, "There is no memory for `%.64s`.", v->name);
        return 0;
    }
    r->map[old] = (uint32_t)value + 1;
    return (uint32_t)value;
}

uint32_t cc_rewrite_parameter(struct cc_rewrite *r, uint32_t old)
{
    return old ? cc_rewrite_value(r, old - 1) + 1 : 0;
}

void cc_rewrite_put(struct cc_rewrite *r, uint32_t old, uint32_t new_value)
{
    if (!r->to.status)
        r->map[old] = new_value + 1;
}

void cc_rewrite_copy(struct cc_rewrite *r, const struct cc_op *op)
{
    const struct cc_value *v = &r->from->value[op->output];
    struct cc_op copy = *op;
    struct cc_graph *g = r->to.graph;
    int value, number;

    for (uint32_t i = 0; i < op->inputs; i++)
        copy.input[i] = cc_rewrite_value(r, op->input[i]);
    copy.a.weight = cc_rewrite_parameter(r, op->a.weight);
    copy.a.bias = cc_rewrite_parameter(r, op->a.bias);
    copy.a.mean = cc_rewrite_parameter(r, op->a.mean);
    copy.a.variance = cc_rewrite_parameter(r, op->a.variance);
    copy.a.indices = cc_rewrite_parameter(r, op->a.indices);
    if (r->to.status)
        return;
    value = cc_graph_add_value(g, v->name, v->type, v->rank, v->dim);
    number = value < 0 ? value : cc_graph_add_op(g, op->kind, op->name, op->line);
    if (number < 0) {
        r->to.status = base_fail(r->to.error, -number, "There is no memory for `%.64s`.", op->name);
        return;
    }
    copy.name = g->op[number].name;
    copy.output = (uint32_t)value;
    g->op[number] = copy;
    cc_rewrite_put(r, op->output, copy.output);
}

const struct cc_op *cc_rewrite_maker(const struct cc_rewrite *r, uint32_t old)
{
    return r->maker[old] ? &r->from->op[r->maker[old] - 1] : NULL;
}

bool cc_rewrite_single(const struct cc_rewrite *r, uint32_t old)
{
    return r->uses[old] == 1;
}

static void count(uint32_t *uses, uint32_t parameter)
{
    if (parameter)
        uses[parameter - 1]++;
}

/* From the end: an operation is live if its value is used. */
static void count_uses(const struct cc_graph *g, uint32_t *uses, uint32_t *maker)
{
    for (uint32_t i = 0; i < g->outputs; i++)
        uses[g->output[i]]++;
    for (uint32_t i = g->ops; i-- > 0;) {
        const struct cc_op *op = &g->op[i];

        maker[op->output] = i + 1;
        if (!uses[op->output])
            continue;
        for (uint32_t k = 0; k < op->inputs; k++)
            uses[op->input[k]]++;
        count(uses, op->a.weight);
        count(uses, op->a.bias);
        count(uses, op->a.mean);
        count(uses, op->a.variance);
        count(uses, op->a.indices);
    }
}

static int copy_header(struct cc_rewrite *r)
{
    const struct cc_graph *from = r->from;
    struct cc_graph *to = r->to.graph;
    int status = 0;

    if (from->function && !(to->function = base_strdup(from->function)))
        return -ENOMEM;
    for (uint32_t i = 0; i < from->origins && status >= 0; i++)
        status = cc_graph_add_origin(to, from->origin[i].name, from->origin[i].kind, from->origin[i].line,
                                     from->origin[i].column);
    for (uint32_t i = 0; i < from->inputs && status >= 0; i++) {
        const struct cc_value *v = &from->value[from->input[i]];

        status = cc_graph_add_value(to, v->name, v->type, v->rank, v->dim);
        if (status < 0)
            break;
        r->map[from->input[i]] = (uint32_t)status + 1;
        status = cc_graph_add_input(to, (uint32_t)status);
    }
    return status < 0 ? status : 0;
}

static bool is_port(const struct cc_graph *g, uint32_t value)
{
    for (uint32_t i = 0; i < g->inputs; i++)
        if (g->input[i] == value)
            return true;
    for (uint32_t i = 0; i < g->outputs; i++)
        if (g->output[i] == value)
            return true;
    return g->value[value].data != NULL;
}

static int copy_outputs(struct cc_rewrite *r)
{
    const struct cc_graph *from = r->from;
    struct cc_graph *to = r->to.graph;
    int status = 0;

    for (uint32_t i = 0; i < from->outputs && !status && !r->to.status; i++) {
        const struct cc_value *old = &from->value[from->output[i]];
        uint32_t value = cc_rewrite_value(r, from->output[i]);

        r->to.name = old->name;
        if (!r->to.status && is_port(to, value) && strcmp(to->value[value].name, old->name) != 0)
            value = cc_build_cast(&r->to, value, to->value[value].type);
        if (!r->to.status && strcmp(to->value[value].name, old->name) != 0)
            cc_build_name(&r->to, value, old->name);
        if (!r->to.status)
            status = cc_graph_add_output(to, value);
    }
    return r->to.status ? r->to.status : status;
}

/* INPUT operations are copied, CONST ones come with the first use of their value. */
static void rewrite_op(struct cc_rewrite *r, const struct cc_op *op, cc_rewrite_op *replace, bool *changed)
{
    struct cc_graph *g = r->to.graph;
    bool done = false;
    int number;

    if (op->kind == CC_OP_CONST || !r->uses[op->output])
        return;
    if (op->kind == CC_OP_INPUT) {
        number = cc_graph_add_op(g, op->kind, op->name, op->line);
        if (number < 0) {
            r->to.status = base_fail(r->to.error, -number, "There is no memory for `%.64s`.", op->name);
            return;
        }
        g->op[number].column = op->column;
        g->op[number].origin = op->origin;
        g->op[number].output = r->map[op->output] - 1;
        return;
    }
    r->to.name = op->name;
    r->to.line = op->line;
    r->to.column = op->column;
    r->to.origin = op->origin;
    r->to.made = 0;
    replace(r, op, &done);
    *changed |= done;
    if (!done && !r->to.status)
        cc_rewrite_copy(r, op);
}

/* One of the graphs keeps the data of the constants that both have. */
static void forget_data(const struct cc_rewrite *r, struct cc_graph *from, bool complete)
{
    for (uint32_t i = 0; i < from->values; i++) {
        struct cc_value *old = &from->value[i], *new_value;

        if (!old->data || !r->map[i])
            continue;
        new_value = &r->to.graph->value[r->map[i] - 1];
        if (new_value->data != old->data)
            continue;
        if (complete)
            old->data = NULL;
        else
            new_value->data = NULL;
    }
}

static uint64_t most_bytes(const struct cc_graph *from)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < from->values; i++)
        bytes += from->value[i].data ? from->value[i].bytes : 0;
    return CC_REWRITE_BYTES_MAX + CC_REWRITE_BYTES_EACH * bytes;
}

int cc_rewrite(struct cc_graph **graph, cc_rewrite_op *replace, const void *context, bool *changed,
               struct base_error *error)
{
    struct cc_graph *from = *graph;
    uint32_t values = from->values ? from->values : 1;
    uint32_t *uses = base_alloc_array(values, sizeof(*uses)),
             *maker = base_alloc_array(values, sizeof(*maker));
    struct cc_rewrite r = {.from = from, .uses = uses, .maker = maker, .context = context};
    bool any = false;

    r.map = base_alloc_array(values, sizeof(*r.map));
    r.to = (struct cc_build){.graph = cc_graph_create(), .bytes_max = most_bytes(from), .error = error};
    if (!uses || !maker || !r.map || !r.to.graph || copy_header(&r)) {
        r.to.status = base_fail(error, ENOMEM, "There is no memory for a graph of %u values.", from->values);
    } else {
        count_uses(from, uses, maker);
        for (uint32_t i = 0; i < from->ops && !r.to.status; i++) {
            base_progress_step(i, from->ops);
            rewrite_op(&r, &from->op[i], replace, &any);
        }
        if (!r.to.status && copy_outputs(&r) && !r.to.status)
            r.to.status = base_fail(error, ENOMEM, "There is no memory for the outputs of a graph.");
    }
    if (r.map && r.to.graph)
        forget_data(&r, from, !r.to.status);
    if (!r.to.status)
        *graph = r.to.graph;
    cc_graph_destroy(r.to.status ? r.to.graph : from);
    base_free(uses);
    base_free(maker);
    base_free(r.map);
    if (changed)
        *changed = any;
    return r.to.status;
}
