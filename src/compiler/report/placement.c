/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first step: rows and their edges, from the source graph. An operation without an origin (a cast that a
 * front end adds at a port) is passed through: its value comes from where its first operand comes from.
 */
#include "compiler/report/placement.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

/* Per value of the source graph. */
struct sketch {
    uint32_t *owner; /* the row that it comes from, number + 1; 0: a constant */
    bool *constant;
    bool *used; /* an output depends on it */
};

static const char *const where_names[CC_WHERES] = {
    [CC_WHERE_INPUT] = "input",   [CC_WHERE_OUTPUT] = "output", [CC_WHERE_ENGINE] = "engine",
    [CC_WHERE_FUSED] = "fused",   [CC_WHERE_MERGED] = "merged", [CC_WHERE_ALIAS] = "alias",
    [CC_WHERE_FOLDED] = "folded", [CC_WHERE_HOST] = "host",     [CC_WHERE_DEAD] = "dead",
};

const char *cc_where_name(enum cc_where where)
{
    return where_names[where];
}

static int no_memory(const struct cc_graph *g, struct base_error *error)
{
    return base_fail(error, ENOMEM, "There is no memory for a report of %u operations.", g->ops);
}

static int name_row(struct cc_row *row, const char *name, const char *kind)
{
    row->name = base_strdup(name);
    row->kind = base_strdup(kind);
    return row->name && row->kind ? 0 : -ENOMEM;
}

static int add_port(struct cc_row *row, const struct cc_graph *g, uint32_t value, enum cc_where where)
{
    const struct cc_value *v = &g->value[value];

    row->where = where;
    row->shape = cc_shape_text(v->type, v->rank, v->dim);
    return name_row(row, v->name, where_names[where]);
}

static int add_rows(struct cc_placement *p, const struct cc_graph *g)
{
    uint32_t at = 0;
    int status = 0;

    for (uint32_t i = 0; i < g->inputs && !status; i++)
        status = add_port(&p->row[at++], g, g->input[i], CC_WHERE_INPUT);
    for (uint32_t i = 0; i < g->origins && !status; i++) {
        struct cc_row *row = &p->row[at++];

        row->line = g->origin[i].line;
        row->column = g->origin[i].column;
        row->constant = true;
        status = name_row(row, g->origin[i].name, g->origin[i].kind);
    }
    for (uint32_t i = 0; i < g->outputs && !status; i++)
        status = add_port(&p->row[at++], g, g->output[i], CC_WHERE_OUTPUT);
    return status;
}

static int add_edge(struct cc_placement *p, uint32_t from, struct cc_row *to)
{
    uint32_t *more;

    for (uint32_t i = 0; i < to->froms; i++)
        if (to->from[i] == from)
            return 0;
    if (&p->row[from] == to)
        return 0;
    more = base_realloc(to->from, (to->froms + 1) * sizeof(*more));
    if (!more)
        return -ENOMEM;
    to->from = more;
    to->from[to->froms++] = from;
    return 0;
}

static bool all_constant(const struct sketch *s, const struct cc_op *op)
{
    for (uint32_t i = 0; i < op->inputs; i++)
        if (!s->constant[op->input[i]])
            return false;
    return op->kind != CC_OP_INPUT;
}

/* From the first operation to the last: where each value comes from. */
static int walk_forward(struct cc_placement *p, const struct cc_graph *g, struct sketch *s)
{
    int status = 0;

    for (uint32_t i = 0; i < g->values; i++)
        s->constant[i] = g->value[i].data != NULL;
    for (uint32_t i = 0; i < g->inputs; i++)
        s->owner[g->input[i]] = i + 1;
    for (uint32_t i = 0; i < g->ops && !status; i++) {
        const struct cc_op *op = &g->op[i];
        const struct cc_value *v = &g->value[op->output];
        struct cc_row *row = op->origin ? &p->row[g->inputs + op->origin - 1] : NULL;

        if (op->kind == CC_OP_INPUT || op->kind == CC_OP_CONST)
            continue;
        s->constant[op->output] = all_constant(s, op);
        if (!row) {
            s->owner[op->output] = op->inputs ? s->owner[op->input[0]] : 0;
            continue;
        }
        s->owner[op->output] = g->inputs + op->origin;
        for (uint32_t k = 0; k < op->inputs && !status; k++)
            if (s->owner[op->input[k]])
                status = add_edge(p, s->owner[op->input[k]] - 1, row);
        row->shape = cc_shape_text(v->type, v->rank, v->dim);
        row->sources++;
        row->source = op->kind;
        row->constant &= s->constant[op->output];
    }
    for (uint32_t i = 0; i < g->outputs && !status; i++)
        if (s->owner[g->output[i]])
            status = add_edge(p, s->owner[g->output[i]] - 1, &p->row[g->inputs + g->origins + i]);
    return status;
}

/* From the last operation to the first: what an output depends on. */
static void walk_back(struct cc_placement *p, const struct cc_graph *g, struct sketch *s)
{
    for (uint32_t i = 0; i < g->outputs; i++)
        s->used[g->output[i]] = true;
    for (uint32_t i = g->ops; i-- > 0;) {
        const struct cc_op *op = &g->op[i];

        if (!s->used[op->output])
            continue;
        if (op->origin)
            p->row[g->inputs + op->origin - 1].live = true;
        for (uint32_t k = 0; k < op->inputs; k++)
            s->used[op->input[k]] = true;
    }
}

int cc_placement_create(const struct cc_graph *source, struct cc_placement **placement,
                        struct base_error *error)
{
    struct cc_placement *p = base_alloc(sizeof(*p));
    uint32_t rows = source->inputs + source->origins + source->outputs;
    uint32_t values = source->values ? source->values : 1;
    struct sketch s = {base_alloc_array(values, sizeof(*s.owner)), base_alloc_array(values, sizeof(bool)),
                       base_alloc_array(values, sizeof(bool))};
    int status = -ENOMEM;

    if (p && s.owner && s.constant && s.used) {
        p->rows = rows;
        p->inputs = source->inputs;
        p->origins = source->origins;
        p->outputs = source->outputs;
        p->row = base_alloc_array(rows ? rows : 1, sizeof(*p->row));
        status = p->row ? add_rows(p, source) : -ENOMEM;
        if (!status)
            status = cc_placement_begin(p);
    }
    if (!status)
        status = walk_forward(p, source, &s);
    if (!status)
        walk_back(p, source, &s);
    base_free(s.owner);
    base_free(s.constant);
    base_free(s.used);
    if (status) {
        cc_placement_destroy(p);
        return no_memory(source, error);
    }
    *placement = p;
    return 0;
}

void cc_placement_destroy(struct cc_placement *placement)
{
    if (!placement)
        return;
    for (uint32_t i = 0; placement->row && i < placement->rows; i++) {
        base_free(placement->row[i].name);
        base_free(placement->row[i].kind);
        base_free(placement->row[i].from);
    }
    base_free(placement->row);
    base_free(placement->tally);
    base_free(placement);
}
