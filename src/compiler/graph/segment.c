/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levels of even number run on the engine, of odd number on the host. The level of an operation is the
 * highest of its operands', plus one if that is of the other kind. Casts and reshapes run wherever their
 * operand is. Operations that no output depends on are left out. A level of the engine that has nothing else becomes one of the host, and neighbours of one
 * kind become one segment.
 */
#include "compiler/graph/segment.h"

#include <errno.h>

#include "base/alloc.h"
#include "compiler/graph/extract.h"

struct cut {
    const struct cc_graph *graph;
    const bool *host;
    uint32_t *level;  /* per value */
    uint32_t *number; /* per level: its segment */
    bool *computes;   /* per level: it has an operation that is not neutral */
    bool *needed;     /* per value: an output depends on it */
    bool *chosen;     /* per operation, of one segment */
    uint32_t levels;
};

static bool is_operation(const struct cut *c, const struct cc_op *op)
{
    return op->kind != CC_OP_INPUT && op->kind != CC_OP_CONST && c->needed[op->output];
}

static void find_needed(struct cut *c)
{
    const struct cc_graph *g = c->graph;

    for (uint32_t i = 0; i < g->outputs; i++)
        c->needed[g->output[i]] = true;
    for (uint32_t i = g->ops; i-- > 0;)
        for (uint32_t k = 0; c->needed[g->op[i].output] && k < g->op[i].inputs; k++)
            c->needed[g->op[i].input[k]] = true;
}

/* The engine has no integers, so that a cast to them is work of the host. */
static bool is_neutral(const struct cc_op *op)
{
    return (op->kind == CC_OP_CAST && op->a.to != CC_INT32) || op->kind == CC_OP_RESHAPE ||
           op->kind == CC_OP_EXPAND_DIMS || op->kind == CC_OP_SQUEEZE;
}

static void find_levels(struct cut *c)
{
    for (uint32_t i = 0; i < c->graph->ops; i++) {
        const struct cc_op *op = &c->graph->op[i];
        uint32_t level = 0;

        if (!is_operation(c, op))
            continue;
        for (uint32_t k = 0; k < op->inputs; k++)
            if (c->level[op->input[k]] > level)
                level = c->level[op->input[k]];
        if (!is_neutral(op) && (level & 1) != (uint32_t)c->host[i])
            level++;
        c->level[op->output] = level;
        c->computes[level] |= !is_neutral(op);
        if (level + 1 > c->levels)
            c->levels = level + 1;
    }
}

static bool on_host(const struct cut *c, uint32_t level)
{
    return (level & 1) || !c->computes[level];
}

/* Levels to segments; returns how many. */
static uint32_t number_segments(struct cut *c)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < c->levels; i++) {
        if (i && on_host(c, i) != on_host(c, i - 1))
            count++;
        c->number[i] = count;
    }
    return count + 1;
}

static int extract(struct cut *c, uint32_t number, struct cc_segment *segment, struct base_error *error)
{
    for (uint32_t i = 0; i < c->graph->ops; i++) {
        const struct cc_op *op = &c->graph->op[i];
        uint32_t level = c->level[op->output];

        c->chosen[i] = is_operation(c, op) && c->number[level] == number;
        if (c->chosen[i])
            segment->host = on_host(c, level);
    }
    return cc_graph_extract(c->graph, c->chosen, &segment->graph, error);
}

static int cut(struct cut *c, struct cc_segments *segments, struct base_error *error)
{
    uint32_t count;
    int status = 0;

    find_needed(c);
    find_levels(c);
    if (!c->levels)
        return base_fail(error, EINVAL, "The graph has no operation.");
    count = number_segments(c);
    segments->segment = base_alloc_array(count, sizeof(*segments->segment));
    if (!segments->segment)
        return base_fail(error, ENOMEM, "There is no memory for %u segments.", count);
    for (uint32_t i = 0; i < count && !status; i++) {
        status = extract(c, i, &segments->segment[i], error);
        segments->count += !status;
    }
    return status;
}

int cc_segments_cut(const struct cc_graph *graph, const bool *host, struct cc_segments *segments,
                    struct base_error *error)
{
    struct cut c = {.graph = graph, .host = host};
    uint32_t ops = graph->ops + 1;
    int status;

    *segments = (struct cc_segments){0};
    c.level = base_alloc_array(graph->values + 1, sizeof(*c.level));
    c.number = base_alloc_array(ops, sizeof(*c.number));
    c.computes = base_alloc_array(ops, sizeof(*c.computes));
    c.chosen = base_alloc_array(ops, sizeof(*c.chosen));
    c.needed = base_alloc_array(graph->values + 1, sizeof(*c.needed));
    if (c.level && c.number && c.computes && c.chosen && c.needed)
        status = cut(&c, segments, error);
    else
        status = base_fail(error, ENOMEM, "There is no memory to cut a graph of %u operations.", graph->ops);
    base_free(c.level);
    base_free(c.number);
    base_free(c.computes);
    base_free(c.chosen);
    base_free(c.needed);
    if (status)
        cc_segments_release(segments);
    return status;
}

void cc_segments_release(struct cc_segments *segments)
{
    for (uint32_t i = 0; i < segments->count; i++)
        cc_graph_destroy(segments->segment[i].graph);
    base_free(segments->segment);
    *segments = (struct cc_segments){0};
}
