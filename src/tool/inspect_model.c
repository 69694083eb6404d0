/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model as the front end reads it: nodes are those of the file, operations what they became in the graph,
 * before any pass.
 */
#include "tool/inspect_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "compiler/compile.h"
#include "compiler/graph/count.h"
#include "tool/json.h"
#include "tool/tool.h"

/* A kind of node, and how many there are. */
struct kind {
    const char *name;
    uint32_t count;
};

struct model {
    struct cc_graph *graph;
    struct cc_count count;
    struct kind *kind;
    uint32_t kinds;
};

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length > tail && !strcmp(text + length - tail, end);
}

bool tool_inspect_is_model(const char *path)
{
    return ends_with(path, ".mil") || ends_with(path, ".onnx");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct kind *)a)->name, ((const struct kind *)b)->name);
}

static int by_count(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count ? 1 : -1) : by_name(a, b);
}

/* One row per kind, the most frequent first. A model that does not state nodes has its operations. */
static bool count_kinds(struct model *model)
{
    const struct cc_graph *g = model->graph;
    uint32_t nodes = g->origins ? g->origins : CC_OP_COUNT, used = 0;

    model->kind = base_alloc_array(nodes, sizeof(*model->kind));
    if (!model->kind)
        return false;
    for (uint32_t i = 0; i < nodes; i++) {
        struct kind kind = {g->origins ? g->origin[i].kind : cc_op_name((enum cc_op_kind)i),
                            g->origins ? 1 : model->count.by_kind[i]};

        if (kind.count)
            model->kind[used++] = kind;
    }
    qsort(model->kind, used, sizeof(*model->kind), by_name);
    for (uint32_t i = 0; i < used; i++) {
        if (model->kinds && !strcmp(model->kind[model->kinds - 1].name, model->kind[i].name))
            model->kind[model->kinds - 1].count += model->kind[i].count;
        else
            model->kind[model->kinds++] = model->kind[i];
    }
    qsort(model->kind, model->kinds, sizeof(*model->kind), by_count);
    return true;
}

/* Packed, row by row: what a bound buffer has. */
static void json_port(struct json *json, const struct cc_value *value, bool output)
{
    uint64_t strides[CC_RANK_MAX], stride = cc_type_bytes(value->type);

    for (uint32_t i = value->rank; i-- > 0; stride *= value->dim[i])
        strides[i] = stride;
    json_object(json, NULL);
    json_string(json, "name", value->name);
    json_string(json, "direction", output ? "output" : "input");
    json_string(json, "type", cc_type_name(value->type));
    json_array(json, "shape");
    for (uint32_t i = 0; i < value->rank; i++)
        json_number(json, NULL, value->dim[i]);
    json_array_end(json);
    json_array(json, "strides");
    for (uint32_t i = 0; i < value->rank; i++)
        json_number(json, NULL, strides[i]);
    json_array_end(json);
    json_object_end(json);
}

static void json_ports(struct json *json, const struct cc_graph *g)
{
    json_array(json, "ports");
    for (uint32_t i = 0; i < g->inputs; i++)
        json_port(json, &g->value[g->input[i]], false);
    for (uint32_t i = 0; i < g->outputs; i++)
        json_port(json, &g->value[g->output[i]], true);
    json_array_end(json);
}

static void json_kind(struct json *json, const char *name, uint32_t count)
{
    json_object(json, NULL);
    json_string(json, "kind", name);
    json_number(json, "count", count);
    json_object_end(json);
}

static void print_json(const struct model *model, const char *path)
{
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "format", ends_with(path, ".onnx") ? "onnx" : "mil");
    json_ports(&json, model->graph);
    json_array(&json, "nodes");
    for (uint32_t i = 0; i < model->kinds; i++)
        json_kind(&json, model->kind[i].name, model->kind[i].count);
    json_array_end(&json);
    json_array(&json, "operations");
    for (unsigned i = 0; i < CC_OP_COUNT; i++)
        if (model->count.by_kind[i] && i != CC_OP_INPUT && i != CC_OP_CONST)
            json_kind(&json, cc_op_name((enum cc_op_kind)i), model->count.by_kind[i]);
    json_array_end(&json);
    json_number(&json, "parameters", model->count.parameters);
    json_number(&json, "weights_bytes", model->count.weights_bytes);
    json_number(&json, "macs", model->count.macs);
    json_end(&json);
}

static void print_port(const struct cc_value *value, const char *direction)
{
    base_printable_make(value->name, strlen(value->name));
    printf("  %-6s %-20s %s\n", direction, value->name,
           cc_shape_text(value->type, value->rank, value->dim).text);
}

/* Names are the file's, and may be anything. */
static void print_text(const struct model *model, const char *path)
{
    const struct cc_graph *g = model->graph;

    for (uint32_t i = 0; i < g->origins; i++)
        base_printable_make(g->origin[i].kind, strlen(g->origin[i].kind));

    printf("# %s\nports\n", path);
    for (uint32_t i = 0; i < g->inputs; i++)
        print_port(&g->value[g->input[i]], "input");
    for (uint32_t i = 0; i < g->outputs; i++)
        print_port(&g->value[g->output[i]], "output");
    printf("nodes\n");
    for (uint32_t i = 0; i < model->kinds; i++)
        printf("  %6u  %s\n", model->kind[i].count, model->kind[i].name);
    printf("operations  %u\n", model->count.operations);
    printf("parameters  %" PRIu64 "\n", model->count.parameters);
    printf("weights     %" PRIu64 " bytes as fp16\n", model->count.weights_bytes);
    printf("MACs        %" PRIu64 "\n", model->count.macs);
}

int tool_inspect_model(const char *path, const struct cc_binding *bindings, uint32_t binding_count,
                       bool as_json)
{
    struct base_error error = {{0}};
    struct model model = {0};
    bool good = false;

    if (cc_model_read(path, bindings, binding_count, &model.graph, &error)) {
        tool_say("%s", error.text);
        return TOOL_FAILURE;
    }
    if (cc_graph_count(model.graph, &model.count) || !count_kinds(&model)) {
        tool_say("%s: no memory to count its nodes.", path);
    } else {
        good = true;
        if (as_json)
            print_json(&model, path);
        else
            print_text(&model, path);
    }
    base_free(model.kind);
    cc_graph_destroy(model.graph);
    return good ? TOOL_OK : TOOL_FAILURE;
}
