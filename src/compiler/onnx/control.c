/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If, Loop and functions. The branch of a constant condition is read in the place of the node; the body of a
 * loop is read once per round, with its number as a constant, for as long as its condition folds to true.
 * What depends on data at run time is refused.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/onnx/op.h"

enum { PREFIX_BYTES = 120 };

/* A graph or function inside another: names of its own, and of those around it. */
struct inside {
    struct cc_onnx_names names, *outer;
    const char *prefix;
    const struct cc_onnx_node *caller;
    int64_t opset;
    char own_prefix[PREFIX_BYTES];
};

static bool enter(const struct cc_onnx_node *n, struct inside *in, bool sees_outer, const char *round)
{
    struct cc_onnx *reader = n->reader;

    *in = (struct inside){
        .outer = reader->names, .prefix = reader->prefix, .caller = reader->caller, .opset = reader->opset};
    if (n->b->status)
        return false;
    if (reader->depth >= CC_NESTED_MAX) {
        cc_build_refuse(n->b, "graphs and functions are more than %u deep in each other", CC_NESTED_MAX);
        return false;
    }
    snprintf(in->own_prefix, sizeof(in->own_prefix), "%.90s%.20s/", n->b->name, round);
    in->names.outer = sees_outer ? reader->names : NULL;
    reader->depth++;
    reader->names = &in->names;
    reader->prefix = in->own_prefix;
    return true;
}

static void leave(const struct cc_onnx_node *n, struct inside *in)
{
    struct cc_onnx *reader = n->reader;

    reader->depth--;
    reader->names = in->outer;
    reader->prefix = in->prefix;
    reader->caller = in->caller;
    reader->opset = in->opset;
    cc_onnx_names_release(&in->names);
}

/* A result of the inner graph; a tensor of it becomes a value, because its name ends with the graph. */
static bool taken(const struct cc_onnx_node *n, const char *name, struct cc_onnx_value *value)
{
    struct cc_onnx_value *found = cc_onnx_names_find(n->reader->names, name);

    *value = (struct cc_onnx_value){0};
    if (n->b->status)
        return false;
    if (!found || found->state == CC_ONNX_ABSENT) {
        cc_build_refuse(n->b, "its graph does not compute its output `%.64s`", name);
        return false;
    }
    if (cc_onnx_settle(n->reader, name, found))
        return false;
    *value = *found;
    return true;
}

static const CcGraph *graph_of(const struct cc_onnx_node *n, const char *name)
{
    const CcAttribute *a = cc_onnx_attribute(n, name);

    if (a && a->g)
        return a->g;
    cc_build_refuse(n->b, "there is no %s", name);
    return NULL;
}

void cc_onnx_op_if(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t condition = cc_onnx_operand(n, 0);
    const CcGraph *branch;
    struct inside in;
    struct cc_onnx_value *results;

    (void)kind;
    if (!n->b->status && !cc_onnx_is_constant(n, condition))
        cc_build_refuse(n->b, "its condition depends on data at run time: the engine has no branches");
    if (n->b->status)
        return;
    branch = graph_of(n, cc_onnx_number(n, 0, "the condition") != 0 ? "then_branch" : "else_branch");
    if (branch && branch->n_output < n->proto->n_output)
        cc_build_refuse(n->b, "its branch has %zu outputs, expected %zu", branch->n_output,
                        n->proto->n_output);
    results = base_alloc_array(n->proto->n_output + 1, sizeof(*results));
    if (!results)
        cc_onnx_no_memory(n->reader);
    if (results && branch && enter(n, &in, true, "")) {
        cc_onnx_graph(n->reader, branch);
        for (uint32_t i = 0; i < n->proto->n_output && !n->b->status; i++)
            taken(n, branch->output[i]->name, &results[i]);
        leave(n, &in);
        for (uint32_t i = 0; i < n->proto->n_output; i++)
            cc_onnx_result_value(n, i, &results[i]);
    }
    base_free(results);
}

/* A loop: what it carries from round to round, and what it collects. */
struct loop {
    const CcGraph *body;
    uint32_t carried, collected;
    struct cc_onnx_value *carry; /* `carried` of them */
    uint32_t *rounds;            /* values, `collected` of each round */
    uint32_t round, capacity;
};

static bool add_name(const struct cc_onnx_node *n, const char *name, const struct cc_onnx_value *value)
{
    if (!n->b->status && cc_onnx_names_add(n->reader->names, name, value))
        cc_build_refuse(n->b, "its body has two inputs `%.64s`, or there is no memory", name);
    return !n->b->status;
}

/* The inputs of the body: the number of the round, the condition, what is carried. */
static bool begin_round(const struct cc_onnx_node *n, struct loop *loop)
{
    struct cc_onnx_value value = {.state = CC_ONNX_GRAPH};
    uint8_t *truth = base_alloc(1);
    int32_t round = (int32_t)loop->round;

    value.value = cc_build_ints(n->b, 0, NULL, &round);
    add_name(n, loop->body->input[0]->name, &value);
    if (truth)
        *truth = 1;
    value.value = cc_build_const(n->b, CC_BOOL, 0, NULL, truth);
    add_name(n, loop->body->input[1]->name, &value);
    for (uint32_t i = 0; i < loop->carried; i++)
        add_name(n, loop->body->input[2 + i]->name, &loop->carry[i]);
    return !n->b->status;
}

static bool keep_rounds(const struct cc_onnx_node *n, struct loop *loop, const uint32_t *values)
{
    size_t used = (size_t)loop->round * loop->collected;
    uint32_t *larger;

    if (!loop->collected)
        return true;
    larger = base_realloc(loop->rounds, (used + loop->collected) * sizeof(*larger));
    if (!larger) {
        cc_onnx_no_memory(n->reader);
        return false;
    }
    loop->rounds = larger;
    memcpy(larger + used, values, loop->collected * sizeof(*values));
    return true;
}

/* The outputs of the body: whether another round follows, what is carried, what is collected. */
static bool end_round(const struct cc_onnx_node *n, struct loop *loop, uint32_t *collected)
{
    struct cc_onnx_value value;
    bool more = false;

    if (taken(n, loop->body->output[0]->name, &value)) {
        if (value.state != CC_ONNX_GRAPH || !cc_onnx_is_constant(n, value.value))
            cc_build_refuse(n->b, "its condition depends on data at run time: the engine has no branches");
        else
            more = cc_value_number(cc_onnx_shape(n, value.value), 0) != 0;
    }
    for (uint32_t i = 0; i < loop->carried && !n->b->status; i++)
        taken(n, loop->body->output[1 + i]->name, &loop->carry[i]);
    for (uint32_t i = 0; i < loop->collected && !n->b->status; i++) {
        if (taken(n, loop->body->output[1 + loop->carried + i]->name, &value) && value.state != CC_ONNX_GRAPH)
            cc_build_refuse(n->b, "a round gives a tensor without elements");
        collected[i] = value.value;
    }
    return more && !n->b->status;
}

static bool do_round(const struct cc_onnx_node *n, struct loop *loop, uint32_t *collected)
{
    char number[16];
    struct inside in;
    bool more;

    snprintf(number, sizeof(number), "[%u]", loop->round);
    if (!enter(n, &in, true, number))
        return false;
    if (begin_round(n, loop))
        cc_onnx_graph(n->reader, loop->body);
    more = end_round(n, loop, collected);
    leave(n, &in);
    if (n->b->status || !keep_rounds(n, loop, collected))
        return false;
    loop->round++;
    return more;
}

/* Results: what is carried last, and what was collected, on a new first axis. */
static void end_loop(const struct cc_onnx_node *n, const struct loop *loop)
{
    for (uint32_t i = 0; i < loop->carried; i++)
        cc_onnx_result_value(n, i, &loop->carry[i]);
    for (uint32_t i = 0; i < loop->collected && !n->b->status && loop->carried + i < n->proto->n_output;
         i++) {
        uint32_t *values;

        if (!n->proto->output[loop->carried + i][0])
            continue;
        values = base_alloc_array(loop->round + 1, sizeof(*values));
        if (!loop->round)
            cc_build_refuse(n->b, "it has no round, and result %u would be empty", loop->carried + i);
        for (uint32_t k = 0; values && k < loop->round && !n->b->status; k++) {
            uint32_t value = loop->rounds[(size_t)k * loop->collected + i], dims[CC_RANK_MAX + 1] = {1};
            const struct cc_value *v = cc_onnx_shape(n, value);

            memcpy(dims + 1, v->dim, sizeof(v->dim));
            values[k] = cc_onnx_reshape(n, value, v->rank + 1, dims);
        }
        if (!values)
            cc_onnx_no_memory(n->reader);
        if (!n->b->status)
            cc_onnx_result(n, loop->carried + i,
                           cc_onnx_fold(n, cc_build_concat(n->b, loop->round, values, 0)));
        base_free(values);
    }
}

static bool open_loop(const struct cc_onnx_node *n, struct loop *loop, double *count)
{
    *loop = (struct loop){.body = graph_of(n, "body")};
    *count = cc_onnx_has(n, 0) ? cc_onnx_number(n, 0, "the trip count") : INFINITY;
    if (cc_onnx_has(n, 1) && cc_onnx_number(n, 1, "the condition") == 0)
        *count = 0;
    if (n->b->status)
        return false;
    loop->carried = n->proto->n_input > 2 ? (uint32_t)n->proto->n_input - 2 : 0;
    if (loop->body->n_input != loop->carried + 2 || loop->body->n_output < loop->carried + 1 ||
        n->proto->n_output > loop->body->n_output - 1) {
        cc_build_refuse(n->b,
                        "its body has %zu inputs and %zu outputs, which do not fit its %zu operands and "
                        "%zu results",
                        loop->body->n_input, loop->body->n_output, n->proto->n_input, n->proto->n_output);
        return false;
    }
    loop->collected = (uint32_t)loop->body->n_output - 1 - loop->carried;
    loop->carry = base_alloc_array(loop->carried + 1, sizeof(*loop->carry));
    for (uint32_t i = 0; loop->carry && i < loop->carried; i++)
        cc_onnx_value_of(n, 2 + i, &loop->carry[i]);
    for (uint32_t i = 0; loop->carry && i < loop->carried && !n->b->status; i++)
        if (loop->carry[i].state == CC_ONNX_TENSOR)
            loop->carry[i] =
                (struct cc_onnx_value){.state = CC_ONNX_GRAPH, .value = cc_onnx_operand(n, 2 + i)};
    return loop->carry && !n->b->status;
}

void cc_onnx_op_loop(const struct cc_onnx_node *n, enum cc_op_kind kind)
{
    uint32_t before = n->reader->nodes, *collected = NULL;
    struct loop loop;
    double count;
    bool more;

    (void)kind;
    more = open_loop(n, &loop, &count);
    if (more)
        collected = base_alloc_array(loop.collected + 1, sizeof(*collected));
    if (!collected && !n->b->status)
        cc_onnx_no_memory(n->reader);
    while (more && collected && loop.round < count) {
        more = do_round(n, &loop, collected);
        if (n->reader->nodes - before > CC_LOOP_NODES_MAX || loop.round > CC_LOOP_NODES_MAX) {
            cc_build_refuse(n->b, "it becomes more than %u nodes: a loop is unrolled, and that is the limit",
                            CC_LOOP_NODES_MAX);
            break;
        }
    }
    if (!n->b->status)
        end_loop(n, &loop);
    base_free(loop.carry);
    base_free(loop.rounds);
    base_free(collected);
}

/* A function sees its operands alone. Attributes of its nodes may be those of the node that calls it. */
void cc_onnx_call(const struct cc_onnx_node *n, const CcFunction *function)
{
    struct cc_onnx *reader = n->reader;
    struct cc_onnx_value value, *results = base_alloc_array(n->proto->n_output + 1, sizeof(*results));
    struct inside in;
    int64_t opset = cc_onnx_opset_of(function->n_opset_import, function->opset_import);

    if (!results) {
        cc_onnx_no_memory(reader);
        return;
    }
    if (n->proto->n_output > function->n_output || n->proto->n_input > function->n_input)
        cc_build_refuse(n->b, "its function has %zu inputs and %zu outputs, fewer than the node",
                        function->n_input, function->n_output);
    if (enter(n, &in, false, "")) {
        for (uint32_t i = 0; i < n->proto->n_input && !n->b->status; i++) {
            reader->names = in.outer;
            if (!cc_onnx_has(n, i) || !cc_onnx_value_of(n, i, &value)) {
                reader->names = &in.names;
                continue;
            }
            if (value.state == CC_ONNX_TENSOR)
                value = (struct cc_onnx_value){.state = CC_ONNX_GRAPH, .value = cc_onnx_operand(n, i)};
            reader->names = &in.names;
            add_name(n, function->input[i], &value);
        }
        reader->caller = n;
        reader->opset = opset ? opset : in.opset;
        cc_onnx_nodes(reader, function->n_node, function->node);
        for (uint32_t i = 0; i < n->proto->n_output && !n->b->status; i++)
            taken(n, function->output[i], &results[i]);
        leave(n, &in);
        for (uint32_t i = 0; i < n->proto->n_output; i++)
            cc_onnx_result_value(n, i, &results[i]);
    }
    base_free(results);
}
