/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes are tried in ranges: a range that the engine takes is done with, any other is cut in two, as far as
 * single nodes. Nodes between which a bool passes are one: a bool has no place in a port. While the graph is
 * cut, the name of every value is its number, from which the wires follow; ports of the model then get their
 * names back.
 */
#include "compiler/fallback.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/graph/extract.h"
#include "compiler/graph/file.h"
#include "compiler/graph/segment.h"
#include "compiler/pass/passes.h"
#include "compiler/store/composite.h"

struct fallback {
    const struct cc_graph *graph;
    uint32_t nodes;                 /* origins, then operations without one */
    uint32_t *group;                /* per node: another node of its group; itself: the first */
    bool *host;                     /* per operation */
    bool *chosen;                   /* per operation, of one trial */
    bool any;                       /* one is on the host */
    struct cc_placement *placement; /* NULL: none is asked for */
    struct base_error *error;
};

static int no_memory(struct fallback *f)
{
    return base_fail(f->error, ENOMEM, "There is no memory to cut a graph of %u operations.", f->graph->ops);
}

static uint32_t node_of(const struct fallback *f, uint32_t op)
{
    uint32_t origin = f->graph->op[op].origin;

    return origin ? origin - 1 : f->graph->origins + op;
}

static uint32_t group_of(const struct fallback *f, uint32_t node)
{
    while (f->group[node] != node)
        node = f->group[node] = f->group[f->group[node]];
    return node;
}

static int find_groups(struct fallback *f)
{
    const struct cc_graph *g = f->graph;
    uint32_t *maker = base_alloc_array(g->values + 1, sizeof(*maker)); /* number + 1 */

    if (!maker)
        return no_memory(f);
    for (uint32_t i = 0; i < f->nodes; i++)
        f->group[i] = i;
    for (uint32_t i = 0; i < g->ops; i++) {
        maker[g->op[i].output] = i + 1;
        for (uint32_t k = 0; k < g->op[i].inputs; k++) {
            uint32_t value = g->op[i].input[k];

            if (g->value[value].type == CC_BOOL && !g->value[value].data && maker[value])
                f->group[group_of(f, node_of(f, i))] = group_of(f, node_of(f, maker[value] - 1));
        }
    }
    base_free(maker);
    return 0;
}

/* Whether the engine takes the groups from `first` to `last`: 1 or 0 with the reason, or a negative errno. */
static int takes(struct fallback *f, uint32_t first, uint32_t last, struct base_error *reason)
{
    struct cc_program *program = NULL;
    struct cc_graph *part = NULL;
    int status;

    for (uint32_t i = 0; i < f->graph->ops; i++) {
        uint32_t group = group_of(f, node_of(f, i));

        f->chosen[i] = group >= first && group < last;
    }
    status = cc_graph_extract(f->graph, f->chosen, &part, reason);
    if (status == -EINVAL)
        return 1; /* nothing that is used */
    if (!status)
        status = cc_passes(&part, reason);
    if (!status)
        status = cc_lower(part, 0, &program, reason);
    cc_program_destroy(program);
    cc_graph_destroy(part);
    if (status == -ENOMEM)
        return no_memory(f);
    return !status;
}

/* The phrase of a refusal: without the node and the full stop, and without the advice that was followed. */
static const char *phrase_of(struct base_error *why)
{
    const char *name = strstr(why->text, "`: ");
    char *hint = strstr(why->text, "; --allow-fallback");
    size_t length = strlen(why->text);

    if (hint)
        *hint = '\0';
    else if (length && why->text[length - 1] == '.')
        why->text[length - 1] = '\0';
    return name ? name + 3 : why->text;
}

static void put_on_host(struct fallback *f, uint32_t group, const struct base_error *reason)
{
    struct base_error why = *reason;
    const char *phrase = phrase_of(&why);

    for (uint32_t i = 0; i < f->graph->ops; i++) {
        const struct cc_op *op = &f->graph->op[i];

        if (group_of(f, node_of(f, i)) != group || op->kind == CC_OP_INPUT || op->kind == CC_OP_CONST)
            continue;
        f->host[i] = f->any = true;
        if (f->placement && op->origin)
            cc_placement_reason(f->placement, op->origin, phrase);
    }
}

static int try_range(struct fallback *f, uint32_t first, uint32_t last, bool refused)
{
    struct base_error reason = {{0}};
    uint32_t middle = first + (last - first) / 2;
    int taken = refused ? 0 : takes(f, first, last, &reason);

    if (taken)
        return taken < 0 ? taken : 0;
    if (last - first == 1) {
        put_on_host(f, first, &reason);
        return 0;
    }
    taken = try_range(f, first, middle, false);
    return taken ? taken : try_range(f, middle, last, false);
}

/* The cut. */

static int rename_value(struct cc_value *value, const char *name)
{
    char *copy = base_strdup(name);

    if (!copy)
        return -ENOMEM;
    base_free(value->name);
    value->name = copy;
    return 0;
}

static int number_values(struct cc_graph *graph)
{
    char name[16];
    int status = 0;

    for (uint32_t i = 0; i < graph->values && !status; i++) {
        snprintf(name, sizeof(name), "#%u", i);
        status = rename_value(&graph->value[i], name);
    }
    return status;
}

static int cut(struct fallback *f, struct cc_segments *segments)
{
    struct cc_graph *copy = NULL;
    int status = cc_graph_copy(f->graph, &copy);

    if (!status)
        status = number_values(copy);
    if (status)
        status = no_memory(f);
    else
        status = cc_segments_cut(copy, f->host, segments, f->error);
    cc_graph_destroy(copy);
    return status;
}

/* Wires: numbered in the order in which ports have them. */
struct wires {
    uint32_t count;
    uint32_t *number; /* per value of the graph: number + 1; 0: none */
    bool *is_port;    /* per value: a port of the model */
};

static uint32_t wire_of(struct wires *w, uint32_t value)
{
    if (!w->number[value])
        w->number[value] = ++w->count;
    return w->number[value] - 1;
}

static int connect(struct fallback *f, struct wires *w, const struct cc_segment *segment,
                   struct cc_part *part)
{
    struct cc_graph *g = segment->graph;
    int status = 0;

    part->ports = g->inputs + g->outputs;
    part->wire = base_alloc_array(part->ports ? part->ports : 1, sizeof(*part->wire));
    if (!part->wire)
        return no_memory(f);
    for (uint32_t i = 0; i < part->ports && !status; i++) {
        struct cc_value *v = &g->value[i < g->inputs ? g->input[i] : g->output[i - g->inputs]];
        uint32_t value = (uint32_t)strtoul(v->name + 1, NULL, 10);

        part->wire[i] = wire_of(w, value);
        if (w->is_port[value])
            status = rename_value(v, f->graph->value[value].name);
    }
    return status ? no_memory(f) : 0;
}

static int connect_model(struct fallback *f, struct wires *w, struct cc_bundle *b)
{
    const struct cc_graph *g = f->graph;
    uint32_t known = w->count;

    b->inputs = g->inputs;
    b->outputs = g->outputs;
    b->wire = base_alloc_array(g->inputs + g->outputs, sizeof(*b->wire));
    if (!b->wire)
        return no_memory(f);
    for (uint32_t i = 0; i < g->inputs + g->outputs; i++) {
        uint32_t value = i < g->inputs ? g->input[i] : g->output[i - g->inputs];

        b->wire[i] = wire_of(w, value);
        if (b->wire[i] >= known)
            return base_fail(f->error, EINVAL,
                             "%s `%.64s`: no operation %s it, which a bundle with host segments needs.",
                             i < g->inputs ? "Input" : "Output", g->value[value].name,
                             i < g->inputs ? "uses" : "computes");
    }
    return 0;
}

static int connect_segments(struct fallback *f, struct wires *w, const struct cc_segments *segments,
                            struct cc_bundle *b)
{
    const struct cc_graph *g = f->graph;
    int status = 0;

    for (uint32_t i = 0; i < g->inputs; i++)
        w->is_port[g->input[i]] = true;
    for (uint32_t i = 0; i < g->outputs; i++)
        w->is_port[g->output[i]] = true;
    for (uint32_t i = 0; i < segments->count && !status; i++)
        status = connect(f, w, &segments->segment[i], &b->part[i]);
    return status ? status : connect_model(f, w, b);
}

static int connect_all(struct fallback *f, const struct cc_segments *segments, struct cc_bundle *b)
{
    struct wires w = {.number = base_alloc_array(f->graph->values + 1, sizeof(*w.number)),
                      .is_port = base_alloc_array(f->graph->values + 1, sizeof(*w.is_port))};
    int status = w.number && w.is_port ? connect_segments(f, &w, segments, b) : no_memory(f);

    base_free(w.number);
    base_free(w.is_port);
    return status;
}

/* Segments. */

static int make_program(struct fallback *f, struct cc_segment *segment, const char *key, bool sign,
                        struct cc_part *part)
{
    struct cc_program *program = NULL;
    int status = cc_passes(&segment->graph, f->error);

    part->program = base_alloc(sizeof(*part->program));
    if (!part->program)
        return no_memory(f);
    if (!status)
        status = cc_lower(segment->graph, f->placement ? CC_LOWER_REPORT : 0, &program, f->error);
    if (!status && f->placement)
        status = cc_placement_add(f->placement, segment->graph, program, f->error);
    if (!status)
        status = cc_bundle_of(program, key, sign, part->program, f->error);
    cc_program_destroy(program);
    return status;
}

static int make_host(struct fallback *f, const struct cc_segment *segment, struct cc_part *part)
{
    if (f->placement)
        cc_placement_add_host(f->placement, segment->graph);
    return cc_graph_file_write(segment->graph, &part->graph, &part->graph_bytes, f->error);
}

static int make(struct fallback *f, struct cc_segments *segments, const char *key, const char *model,
                bool sign, struct cc_bundle *b)
{
    int status;

    if (segments->count > CC_SEGMENTS_MAX)
        return base_fail(f->error, E2BIG, "The network would have %u segments; a bundle has at most %u.",
                         segments->count, CC_SEGMENTS_MAX);
    b->part = base_alloc_array(segments->count, sizeof(*b->part));
    if (!b->part)
        return no_memory(f);
    b->parts = segments->count;
    status = connect_all(f, segments, b);
    for (uint32_t i = 0; i < segments->count && !status; i++) {
        struct cc_segment *segment = &segments->segment[i];

        status = segment->host ? make_host(f, segment, &b->part[i])
                               : make_program(f, segment, key, sign, &b->part[i]);
    }
    return status ? status : cc_composite_finish(b, key, model, sign, f->error);
}

static int run(struct fallback *f, const struct base_error *refusal, const char *key, const char *model,
               bool sign, struct cc_bundle *b)
{
    struct cc_segments segments = {0};
    int status = find_groups(f);

    if (!status)
        status = try_range(f, 0, f->nodes, true);
    if (!status && !f->any)
        status = base_fail(f->error, EINVAL, "%s", refusal->text);
    if (!status)
        status = cut(f, &segments);
    if (!status)
        status = make(f, &segments, key, model, sign, b);
    cc_segments_release(&segments);
    return status;
}

int cc_fallback(const struct cc_graph *graph, const char *key, const char *model, bool sign,
                const struct base_error *refusal, struct cc_bundle *bundle, struct cc_placement **placement,
                struct base_error *error)
{
    struct fallback f = {.graph = graph, .nodes = graph->origins + graph->ops, .error = error};
    int status = placement ? cc_placement_create(graph, placement, error) : 0;

    memset(bundle, 0, sizeof(*bundle));
    if (status)
        return status;
    f.placement = placement ? *placement : NULL;
    f.group = base_alloc_array(f.nodes + 1, sizeof(*f.group));
    f.host = base_alloc_array(graph->ops + 1, sizeof(*f.host));
    f.chosen = base_alloc_array(graph->ops + 1, sizeof(*f.chosen));
    status = f.group && f.host && f.chosen ? run(&f, refusal, key, model, sign, bundle) : no_memory(&f);
    if (!status && f.placement)
        cc_placement_end(f.placement);
    if (status)
        cc_bundle_release(bundle);
    base_free(f.group);
    base_free(f.host);
    base_free(f.chosen);
    return status;
}
