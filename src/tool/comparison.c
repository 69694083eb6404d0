/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference is computed once and never changed. What differs from it, in the rest of the network after a
 * node, is in arrays of its own: operations whose operands are all as in the reference are not computed
 * again.
 */
#include "tool/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/graph/build.h"
#include "compiler/graph/extract.h"
#include "compiler/half.h"
#include "compiler/pass/passes.h"

#define HALF_MAX 65504.0

const struct tool_policy tool_policies[TOOL_POLICIES] = {
    {"m1", ANE_NUMERICS_M1},
    {"m1-exact", ANE_NUMERICS_M1_EXACT},
};

static bool no_memory(struct tool_comparison *c)
{
    base_fail(c->error, ENOMEM, "There is no memory to compare a graph of %u values.", c->graph->values);
    return false;
}

/* Sums over pairs of elements. */
struct sums {
    double difference, reference, engine, product, largest;
    struct tool_node_error *lost; /* NULL: not counted */
};

static void add_pair(struct sums *s, double engine, double reference)
{
    double d = engine == reference ? 0 : engine - reference; /* infinities may be equal */

    s->difference += d * d;
    s->reference += reference * reference;
    s->engine += engine * engine;
    s->product += engine * reference;
    s->largest = fabs(d) > s->largest || isnan(d) ? fabs(d) : s->largest;
    if (!s->lost)
        return;
    s->lost->overflowed += fabs(reference) > HALF_MAX;
    s->lost->saturated += !isfinite(engine) && fabs(reference) <= HALF_MAX;
    s->lost->flushed += engine == 0 && reference != 0;
}

static double finite_or_inf(double value)
{
    return isfinite(value) ? value : INFINITY;
}

static double relative(const struct sums *s)
{
    if (s->difference == 0)
        return 0;
    return s->reference > 0 ? finite_or_inf(sqrt(s->difference / s->reference)) : INFINITY;
}

static uint64_t elements_of(const struct cc_graph *g, uint32_t value)
{
    return cc_value_elements(&g->value[value]);
}

/* Which operations an output depends on, and which values are constant. */
static void walk(struct tool_comparison *c, bool *used)
{
    const struct cc_graph *g = c->graph;

    for (uint32_t i = 0; i < g->values; i++)
        c->fixed[i] = g->value[i].data != NULL;
    for (uint32_t i = 0; i < g->ops; i++) {
        const struct cc_op *op = &g->op[i];
        bool all = op->kind != CC_OP_INPUT;

        for (uint32_t k = 0; k < op->inputs; k++)
            all &= c->fixed[op->input[k]];
        c->fixed[op->output] |= all;
    }
    for (uint32_t i = 0; i < g->outputs; i++)
        used[g->output[i]] = true;
    for (uint32_t i = g->ops; i-- > 0;) {
        c->live[i] = used[g->op[i].output];
        for (uint32_t k = 0; k < g->op[i].inputs && c->live[i]; k++)
            used[g->op[i].input[k]] = true;
    }
}

bool tool_comparison_open(struct tool_comparison *c, const struct cc_graph *graph, uint32_t threads,
                          struct base_error *error)
{
    uint32_t values = graph->values ? graph->values : 1, ops = graph->ops ? graph->ops : 1;
    bool *used = base_alloc_array(values, sizeof(*used));

    *c = (struct tool_comparison){.graph = graph, .error = error};
    c->constant = base_alloc_array(values, sizeof(*c->constant));
    c->fixed = base_alloc_array(values, sizeof(*c->fixed));
    c->live = base_alloc_array(ops, sizeof(*c->live));
    c->output = base_alloc_array(graph->outputs ? graph->outputs : 1, sizeof(*c->output));
    if (used && c->fixed && c->live)
        walk(c, used);
    base_free(used);
    if (!used || !c->constant || !c->fixed || !c->live || !c->output)
        return no_memory(c);
    if (cc_placement_create(graph, &c->rows, error) || cc_eval_open(&c->reference, graph, error))
        return false;
    c->node = base_alloc_array(c->rows->rows ? c->rows->rows : 1, sizeof(*c->node));
    if (!c->node)
        return no_memory(c);
    for (unsigned i = 0; i < TOOL_POLICIES; i++)
        if (!tool_device_open(&c->device[i], tool_policies[i].numerics, threads, error))
            return false;
    return true;
}

void tool_comparison_close(struct tool_comparison *c)
{
    for (unsigned i = 0; i < TOOL_POLICIES; i++)
        tool_device_close(&c->device[i]);
    for (uint32_t i = 0; c->constant && i < c->graph->values; i++)
        base_free(c->constant[i]);
    cc_eval_close(&c->reference);
    cc_placement_destroy(c->rows);
    base_free(c->constant);
    base_free(c->fixed);
    base_free(c->live);
    base_free(c->output);
    base_free(c->node);
}

bool tool_comparison_input(struct tool_comparison *c, uint32_t i, const double *elements)
{
    return !cc_eval_set(&c->reference, c->graph->input[i], elements, c->error);
}

/* Programs. */

static struct cc_program *lower(const struct cc_graph *graph, struct base_error *error)
{
    struct cc_program *program = NULL;
    struct cc_graph *copy = NULL;

    if (cc_graph_copy(graph, &copy)) {
        base_fail(error, ENOMEM, "There is no memory for a copy of a graph.");
        return NULL;
    }
    if (!cc_passes(&copy, error))
        cc_lower(copy, 0, &program, error);
    cc_graph_destroy(copy);
    return program;
}

/* Arrays of fp16 for the ports of one direction. */
struct ports {
    uint32_t count;
    uint16_t **array;
};

static void release_ports(struct ports *ports)
{
    for (uint32_t i = 0; ports->array && i < ports->count; i++)
        base_free(ports->array[i]);
    base_free(ports->array);
}

static bool make_ports(struct ports *ports, const struct cc_graph *g, const uint32_t *value, uint32_t count)
{
    *ports = (struct ports){count, base_alloc_array(count ? count : 1, sizeof(*ports->array))};
    for (uint32_t i = 0; ports->array && i < count; i++) {
        ports->array[i] = base_alloc_array(elements_of(g, value[i]), sizeof(uint16_t));
        if (!ports->array[i])
            return false;
    }
    return ports->array != NULL;
}

static void round_to_half(const double *from, uint64_t count, uint16_t *to)
{
    for (uint64_t i = 0; i < count; i++)
        to[i] = cc_half_of_float((float)from[i]);
}

/* The whole network. */

static uint64_t top_of(const double *x, uint64_t count)
{
    uint64_t top = 0;

    for (uint64_t i = 1; i < count; i++)
        if (x[i] > x[top])
            top = i;
    return top;
}

static void compare_output(struct tool_output_error *e, const struct cc_value *value, const double *engine,
                           const double *reference)
{
    uint64_t count = cc_value_elements(value), batch = value->rank > 1 ? value->dim[0] : 1;
    uint64_t each = count / batch;
    struct sums s = {0};

    for (uint64_t i = 0; i < count; i++)
        add_pair(&s, engine[i], reference[i]);
    *e = (struct tool_output_error){.relative_l2 = relative(&s),
                                    .max_abs = finite_or_inf(s.largest),
                                    .cosine = s.product / sqrt(s.engine * s.reference),
                                    .top = top_of(engine, each),
                                    .reference_top = top_of(reference, each),
                                    .top_equal = true};
    if (!isfinite(e->cosine))
        e->cosine = s.difference == 0 ? 1 : 0;
    for (uint64_t i = 0; i < batch; i++)
        e->top_equal &= top_of(engine + i * each, each) == top_of(reference + i * each, each);
}

static bool compare_outputs(struct tool_comparison *c, const struct ports *out, unsigned policy)
{
    const struct cc_graph *g = c->graph;

    for (uint32_t i = 0; i < g->outputs; i++) {
        uint64_t count = elements_of(g, g->output[i]);
        double *engine = base_alloc_array(count, sizeof(*engine));

        if (!engine)
            return no_memory(c);
        for (uint64_t k = 0; k < count; k++)
            engine[k] = cc_float_of_half(out->array[i][k]);
        compare_output(&c->output[i][policy], &g->value[g->output[i]], engine,
                       c->reference.value[g->output[i]]);
        base_free(engine);
    }
    return true;
}

bool tool_comparison_network(struct tool_comparison *c)
{
    const struct cc_graph *g = c->graph;
    struct cc_program *program = NULL;
    struct ports in = {0}, out = {0};
    bool good;

    if (cc_eval_run(&c->reference, 0, c->error))
        return false;
    program = lower(g, c->error);
    if (!program)
        return false;
    good = (make_ports(&in, g, g->input, g->inputs) && make_ports(&out, g, g->output, g->outputs)) ||
           no_memory(c);
    for (uint32_t i = 0; good && i < g->inputs; i++)
        round_to_half(c->reference.value[g->input[i]], elements_of(g, g->input[i]), in.array[i]);
    for (unsigned i = 0; good && i < TOOL_POLICIES; i++)
        good = tool_device_run(&c->device[i], program, in.array, out.array, c->error) &&
               compare_outputs(c, &out, i);
    release_ports(&in);
    release_ports(&out);
    cc_program_destroy(program);
    return good;
}

/* The rest of the network after a node. */

/* The elements of an operand in the reference; NULL without memory. */
static const double *operand(struct tool_comparison *c, uint32_t value)
{
    const struct cc_value *v = &c->graph->value[value];
    uint64_t count = cc_value_elements(v);

    if (c->reference.value[value] || !v->data)
        return c->reference.value[value];
    if (!c->constant[value]) {
        c->constant[value] = base_alloc_array(count, sizeof(double));
        for (uint64_t i = 0; c->constant[value] && i < count; i++)
            c->constant[value][i] = cc_value_number(v, i);
    }
    return c->constant[value];
}

/* Computes an operation with what has changed; true as well when nothing of it has. */
static bool recompute(struct tool_comparison *c, const struct cc_op *op, double **changed)
{
    const double *operands[CC_INPUTS_MAX];
    bool any = false;

    for (uint32_t k = 0; k < op->inputs; k++)
        any |= changed[op->input[k]] != NULL;
    if (!any || changed[op->output])
        return true;
    for (uint32_t k = 0; k < op->inputs; k++) {
        operands[k] = changed[op->input[k]] ? changed[op->input[k]] : operand(c, op->input[k]);
        if (!operands[k])
            return no_memory(c);
    }
    changed[op->output] = base_alloc_array(elements_of(c->graph, op->output), sizeof(double));
    if (!changed[op->output])
        return no_memory(c);
    return !cc_eval_op(c->graph, op, operands, changed[op->output], c->error);
}

static bool propagate(struct tool_comparison *c, double **changed, struct tool_node_error *e)
{
    const struct cc_graph *g = c->graph;
    struct sums s = {0};

    for (uint32_t i = 0; i < g->ops; i++)
        if (c->live[i] && !recompute(c, &g->op[i], changed))
            return false;
    for (uint32_t i = 0; i < g->outputs; i++) {
        const double *reference = operand(c, g->output[i]), *x = changed[g->output[i]];

        for (uint64_t k = 0; reference && k < elements_of(g, g->output[i]); k++)
            add_pair(&s, x ? x[k] : reference[k], reference[k]);
    }
    e->output_l2 = relative(&s);
    e->output_max = finite_or_inf(s.largest);
    return true;
}

/* A node alone. */

struct part {
    struct cc_graph *graph;
    struct cc_eval eval;
    struct cc_program *program;
    struct ports in, out;
    uint32_t *output; /* per output of the part: the value of the whole graph */
};

static bool keeps_elements(enum cc_op_kind kind)
{
    return kind == CC_OP_CAST || kind == CC_OP_RESHAPE || kind == CC_OP_EXPAND_DIMS || kind == CC_OP_SQUEEZE;
}

/*
 * A bool is not a port, and a constant that is not folded yet is better not one: a node takes along what
 * computes those that it reads.
 */
static void take_along(const struct tool_comparison *c, bool *chosen)
{
    const struct cc_graph *g = c->graph;

    for (uint32_t i = g->ops; i-- > 0;)
        for (uint32_t k = 0; chosen[i] && k < g->op[i].inputs; k++) {
            uint32_t value = g->op[i].input[k];
            bool wanted = !g->value[value].data && (c->fixed[value] || g->value[value].type == CC_BOOL);

            for (uint32_t m = 0; m < i && wanted; m++)
                chosen[m] |= g->op[m].output == value && g->op[m].kind != CC_OP_INPUT;
        }
}

static bool refuse(struct tool_node *node, const char *why)
{
    snprintf(node->note, sizeof(node->note), "%s", why);
    return false;
}

/* The operations of a row; false, with a note, when it is not to be measured. */
static bool choose(const struct tool_comparison *c, uint32_t row, bool *chosen, struct tool_node *node)
{
    const struct cc_graph *g = c->graph;
    uint32_t origin = row - g->inputs + 1, live = 0, constant = 0, arithmetic = 0;

    for (uint32_t i = 0; i < g->ops; i++) {
        const struct cc_op *op = &g->op[i];

        if (op->origin != origin || op->kind == CC_OP_INPUT || op->kind == CC_OP_CONST || !c->live[i])
            continue;
        live++;
        constant += c->fixed[op->output];
        arithmetic += !keeps_elements(op->kind);
        chosen[i] = !c->fixed[op->output];
        if (chosen[i] && g->value[op->output].type == CC_BOOL)
            return refuse(node, "it gives bool; it is measured with the nodes that read it");
    }
    if (!c->rows->row[row].sources)
        return refuse(node, "resolved when the model was read");
    if (!live)
        return refuse(node, "no output depends on it");
    if (constant == live)
        return refuse(node, "a constant");
    if (!arithmetic)
        return refuse(node, "no arithmetic");
    take_along(c, chosen);
    return true;
}

/* The value of the whole graph that has this name and is an operand or result of a chosen operation. */
static bool find_value(const struct tool_comparison *c, const bool *chosen, const char *name, uint32_t *value)
{
    const struct cc_graph *g = c->graph;

    for (uint32_t i = 0; i < g->ops; i++) {
        if (!chosen[i])
            continue;
        *value = g->op[i].output;
        if (!strcmp(g->value[*value].name, name))
            return true;
        for (uint32_t k = 0; k < g->op[i].inputs; k++) {
            *value = g->op[i].input[k];
            if (!strcmp(g->value[*value].name, name))
                return true;
        }
    }
    return false;
}

/* The reference's operands, rounded, for both sides. */
static bool set_inputs(struct tool_comparison *c, const bool *chosen, struct part *p)
{
    for (uint32_t i = 0; i < p->graph->inputs; i++) {
        uint32_t value = 0, input = p->graph->input[i];
        uint64_t count = elements_of(p->graph, input);
        const double *from = NULL;
        double *rounded = base_alloc_array(count, sizeof(*rounded));
        bool good = rounded && find_value(c, chosen, p->graph->value[input].name, &value) &&
                    (from = operand(c, value)) != NULL && elements_of(c->graph, value) == count;

        if (good)
            round_to_half(from, count, p->in.array[i]);
        for (uint64_t k = 0; good && k < count; k++)
            rounded[k] = cc_float_of_half(p->in.array[i][k]);
        good = good && !cc_eval_set(&p->eval, input, rounded, c->error);
        base_free(rounded);
        if (!good)
            return no_memory(c);
    }
    return true;
}

static void release_part(struct part *p)
{
    if (p->eval.graph)
        cc_eval_close(&p->eval);
    release_ports(&p->in);
    release_ports(&p->out);
    cc_program_destroy(p->program);
    cc_graph_destroy(p->graph);
    base_free(p->output);
}

/*
 * The part, its reference and its program. *alone is false, with a note, when the engine does not take it
 * alone.
 */
static bool make_part(struct tool_comparison *c, const bool *chosen, struct part *p, struct tool_node *node,
                      bool *alone)
{
    struct base_error why = {{0}};

    *alone = !cc_graph_extract(c->graph, chosen, &p->graph, &why) && (p->program = lower(p->graph, &why));
    if (!*alone) {
        snprintf(node->note, sizeof(node->note), "alone it is refused: %.190s", why.text);
        return true;
    }
    p->output = base_alloc_array(p->graph->outputs ? p->graph->outputs : 1, sizeof(*p->output));
    if (!p->output || !make_ports(&p->in, p->graph, p->graph->input, p->graph->inputs) ||
        !make_ports(&p->out, p->graph, p->graph->output, p->graph->outputs))
        return no_memory(c);
    for (uint32_t i = 0; i < p->graph->outputs; i++)
        if (!find_value(c, chosen, p->graph->value[p->graph->output[i]].name, &p->output[i]))
            return no_memory(c);
    return !cc_eval_open(&p->eval, p->graph, c->error) && set_inputs(c, chosen, p) &&
           !cc_eval_run(&p->eval, 0, c->error);
}

/* The error of the results, and the reference's results with it. */
static bool take_results(struct tool_comparison *c, struct part *p, double **changed,
                         struct tool_node_error *e)
{
    struct sums s = {.lost = e};

    for (uint32_t i = 0; i < p->graph->outputs; i++) {
        uint32_t value = p->output[i];
        uint64_t count = elements_of(c->graph, value);
        const double *reference = p->eval.value[p->graph->output[i]], *whole = operand(c, value);

        changed[value] = base_alloc_array(count, sizeof(double));
        if (!changed[value] || !reference || !whole)
            return no_memory(c);
        for (uint64_t k = 0; k < count; k++) {
            double engine = cc_float_of_half(p->out.array[i][k]);

            add_pair(&s, engine, reference[k]);
            changed[value][k] = engine == reference[k] ? whole[k] : whole[k] + (engine - reference[k]);
        }
    }
    e->added_l2 = relative(&s);
    e->added_max = finite_or_inf(s.largest);
    return true;
}

/* A hash of the results, FNV-1a over their words: whether two policies gave the same. */
static uint64_t hash_results(const struct part *p)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (uint32_t i = 0; i < p->graph->outputs; i++)
        for (uint64_t k = 0; k < elements_of(p->graph, p->graph->output[i]); k++)
            hash = (hash ^ p->out.array[i][k]) * 0x100000001b3u;
    return hash;
}

static bool measure_results(struct tool_comparison *c, struct part *p, struct tool_node_error *e)
{
    double **changed = base_alloc_array(c->graph->values, sizeof(*changed));
    bool good = changed != NULL || no_memory(c);

    good = good && take_results(c, p, changed, e) && (e->added_l2 == 0 || propagate(c, changed, e));
    for (uint32_t v = 0; changed && v < c->graph->values; v++)
        base_free(changed[v]);
    base_free(changed);
    return good;
}

/* Most operations give the same under every policy: the rest of the network is then computed once. */
static bool measure(struct tool_comparison *c, struct part *p, struct tool_node *node)
{
    uint64_t before = 0;
    bool good = true;

    for (unsigned i = 0; good && i < TOOL_POLICIES; i++) {
        uint64_t hash;

        good = tool_device_run(&c->device[i], p->program, p->in.array, p->out.array, c->error);
        if (!good)
            break;
        hash = hash_results(p);
        if (i && hash == before)
            node->error[i] = node->error[i - 1];
        else
            good = measure_results(c, p, &node->error[i]);
        before = hash;
    }
    node->measured = good;
    return good;
}

bool tool_comparison_node(struct tool_comparison *c, uint32_t row)
{
    bool *chosen = base_alloc_array(c->graph->ops ? c->graph->ops : 1, sizeof(*chosen));
    struct part part = {0};
    bool good = chosen != NULL || no_memory(c), alone = false;

    if (good && choose(c, row, chosen, &c->node[row])) {
        good = make_part(c, chosen, &part, &c->node[row], &alone);
        if (good && alone)
            good = measure(c, &part, &c->node[row]);
        release_part(&part);
    }
    base_free(chosen);
    return good;
}

uint64_t tool_comparison_work(const struct tool_comparison *c, uint32_t row)
{
    const struct cc_graph *g = c->graph;
    uint64_t work = 0;

    for (uint32_t i = 0; i < g->ops; i++) {
        const struct cc_op *op = &g->op[i];
        uint64_t each = 1, count;

        if (op->origin != row - g->inputs + 1 || op->kind == CC_OP_CONST || c->fixed[op->output])
            continue;
        count = elements_of(g, op->output);
        if (op->kind == CC_OP_MATMUL)
            each = g->value[op->input[0]].dim[g->value[op->input[0]].rank - 1];
        else if (op->a.weight && g->value[op->a.weight - 1].rank > 1)
            each = elements_of(g, op->a.weight - 1) / g->value[op->a.weight - 1].dim[0];
        work += count * each;
    }
    return work;
}
