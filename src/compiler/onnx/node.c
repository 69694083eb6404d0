/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs, node by node. Every node gets an origin, whose name is its own, or that of its first result, behind
 * the names of the loops and functions around it; no two are the same. A result of a node of the model's own
 * graph gives its name to the value.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/onnx/reader.h"
#include "compiler/onnx/tensor.h"

enum { NAME_BYTES = 200 };

/* A name for the node that no other has. */
static void name_node(const struct cc_onnx *reader, const CcNode *node, char name[NAME_BYTES])
{
    const char *own = node->name[0] || !node->n_output ? node->name : node->output[0];

    snprintf(name, NAME_BYTES, "%.90s%.90s", reader->prefix, own[0] ? own : node->op_type);
    if (cc_onnx_names_own((struct cc_onnx_names *)(uintptr_t)&reader->used, name))
        snprintf(name, NAME_BYTES, "%.90s%.80s#%u", reader->prefix, own[0] ? own : node->op_type,
                 reader->nodes);
}

static int begin_node(struct cc_onnx *reader, const CcNode *node)
{
    struct cc_build *b = &reader->build;
    struct cc_onnx_value here = {0};
    char name[NAME_BYTES];
    int origin;

    if (reader->nodes >= CC_ONNX_NODES_MAX)
        return b->status = base_fail(b->error, E2BIG, "The model has more than %u nodes.", CC_ONNX_NODES_MAX);
    name_node(reader, node, name);
    origin = cc_graph_add_origin(b->graph, name, node->op_type, 0, 0);
    b->origin = origin < 0 ? 0 : (uint32_t)origin + 1;
    b->name = origin < 0 ? "" : b->graph->origin[origin].name;
    b->made = 0;
    reader->nodes++;
    if (origin < 0 || cc_onnx_names_add(&reader->used, b->name, &here))
        return cc_onnx_no_memory(reader);
    return 0;
}

/* Results that were not computed are known by name, so that a use of them is refused. */
static void end_node(struct cc_onnx_node *n, uint32_t values_before)
{
    for (uint32_t i = 0; i < n->proto->n_output && !n->b->status; i++) {
        const char *name = n->proto->output[i];
        struct cc_onnx_value *found = name[0] ? cc_onnx_names_own(n->reader->names, name) : NULL;

        if (name[0] && !found)
            cc_onnx_result_value(n, i, &(struct cc_onnx_value){.state = CC_ONNX_ABSENT});
        else if (found && found->state == CC_ONNX_GRAPH && found->value >= values_before &&
                 !n->reader->prefix[0])
            cc_build_name(n->b, found->value, name);
    }
}

static void read_node(struct cc_onnx *reader, const CcNode *node)
{
    struct cc_onnx_node n = {.reader = reader,
                             .b = &reader->build,
                             .proto = node,
                             .caller = reader->caller,
                             .opset = reader->opset};
    uint32_t values = reader->build.graph->values;
    struct cc_build outside = reader->build;

    if (begin_node(reader, node))
        return;
    cc_onnx_op(&n);
    end_node(&n, values);
    reader->build.name = outside.name;
    reader->build.origin = outside.origin;
    reader->build.made = outside.made;
}

int cc_onnx_nodes(struct cc_onnx *reader, size_t count, CcNode *const *node)
{
    struct cc_build *b = &reader->build;
    uint32_t *order = NULL;

    if (b->status)
        return b->status;
    if (count > CC_ONNX_NODES_MAX)
        return b->status = base_fail(b->error, E2BIG, "The model has %zu nodes, more than %u.", count,
                                     CC_ONNX_NODES_MAX);
    b->status = cc_onnx_order(count, node, &order, b->error);
    for (size_t i = 0; i < count && !b->status; i++)
        read_node(reader, node[order[i]]);
    base_free(order);
    return b->status;
}

static int add_tensor(struct cc_onnx *reader, CcTensor *tensor)
{
    struct cc_onnx_value value = {.state = CC_ONNX_TENSOR, .tensor = tensor};
    struct cc_build *b = &reader->build;
    struct base_error why = {{0}};
    uint64_t elements;
    int status = cc_onnx_tensor_shape(tensor, CC_ONNX_AXES_MAX, &value.rank, value.dim, &elements, &why);

    if (status)
        return b->status = base_fail(b->error, -status, "Tensor `%.64s`: %s.", tensor->name, why.text);
    if (elements == 0) {
        value.state = CC_ONNX_EMPTY;
        if (!cc_onnx_type(tensor->data_type, &value.type))
            return b->status = base_fail(b->error, EINVAL,
                                         "Tensor `%.64s`: its element type is %s, which is "
                                         "not taken.",
                                         tensor->name, cc_onnx_type_text(tensor->data_type).text);
    }
    status = cc_onnx_names_add(reader->names, tensor->name, &value);
    if (status == -EEXIST)
        return b->status =
                   base_fail(b->error, EINVAL, "Tensor `%.64s` has the name of another value.", tensor->name);
    return status ? cc_onnx_no_memory(reader) : 0;
}

static void count_use(struct cc_onnx *reader, const char *name)
{
    struct cc_onnx_value *found = cc_onnx_names_own(reader->names, name);

    if (found && found->uses < UINT32_MAX)
        found->uses++;
}

/* Also in graphs inside it, where another value may have the name: a use too many only keeps a tensor. */
static void count_uses(struct cc_onnx *reader, const CcGraph *graph)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        const CcNode *node = graph->node[i];

        for (size_t k = 0; k < node->n_input; k++)
            count_use(reader, node->input[k]);
        for (size_t k = 0; k < node->n_attribute; k++)
            if (node->attribute[k]->g)
                count_uses(reader, node->attribute[k]->g);
    }
    for (size_t i = 0; i < graph->n_output; i++)
        count_use(reader, graph->output[i]->name);
}

int cc_onnx_graph(struct cc_onnx *reader, const CcGraph *graph)
{
    struct cc_build *b = &reader->build;

    if (graph->n_sparse_initializer)
        return b->status = base_fail(b->error, EINVAL,
                                     "Graph `%.64s` has sparse tensors, which are not taken; write them as "
                                     "dense ones.",
                                     graph->name);
    for (size_t i = 0; i < graph->n_initializer && !b->status; i++)
        add_tensor(reader, graph->initializer[i]);
    if (!b->status && !reader->depth)
        count_uses(reader, graph);
    return cc_onnx_nodes(reader, graph->n_node, graph->node);
}
