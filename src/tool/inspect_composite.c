/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle with host segments: each segment, what it reads and writes, and the operations of the host. */
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "compiler/graph/file.h"
#include "tool/inspect_model.h"
#include "tool/json.h"
#include "tool/tool.h"

static struct cc_graph *graph_of(const struct cc_part *part)
{
    struct cc_graph *graph = NULL;

    cc_graph_file_read(part->graph, part->graph_bytes, &graph, NULL);
    return graph;
}

static bool is_operation(const struct cc_op *op)
{
    return op->kind != CC_OP_INPUT && op->kind != CC_OP_CONST;
}

static void print_host(const struct cc_part *part)
{
    struct cc_graph *graph = graph_of(part);

    for (uint32_t i = 0; graph && i < graph->ops; i++) {
        struct cc_op *op = &graph->op[i];
        const struct cc_value *v = &graph->value[op->output];

        if (!is_operation(op))
            continue;
        base_printable_make(op->name, strlen(op->name));
        printf("    %-16s %s: %s\n", cc_op_name(op->kind), op->name,
               cc_shape_text(v->type, v->rank, v->dim).text);
    }
    cc_graph_destroy(graph);
}

static void json_host(struct json *json, const struct cc_part *part)
{
    struct cc_graph *graph = graph_of(part);

    json_array(json, "operations");
    for (uint32_t i = 0; graph && i < graph->ops; i++) {
        if (!is_operation(&graph->op[i]))
            continue;
        json_object(json, NULL);
        json_string(json, "kind", cc_op_name(graph->op[i].kind));
        json_string(json, "name", graph->op[i].name);
        json_object_end(json);
    }
    json_array_end(json);
    cc_graph_destroy(graph);
}

static void print_json(const struct cc_bundle *bundle, const struct cc_report *report)
{
    struct json json;

    json_begin(&json, stdout);
    json_string(&json, "format", "composite");
    json_string(&json, "key", report->key);
    json_string(&json, "model", bundle->model);
    json_bool(&json, "signed", bundle->is_signed);
    json_array(&json, "segments");
    for (uint32_t i = 0; i < bundle->parts; i++) {
        const struct cc_part *part = &bundle->part[i];

        json_object(&json, NULL);
        json_string(&json, "where", part->program ? "engine" : "host");
        json_array(&json, "wires");
        for (uint32_t k = 0; k < part->ports; k++)
            json_number(&json, NULL, part->wire[k]);
        json_array_end(&json);
        json_number(&json, "bytes", part->program ? part->program->main_bytes : part->graph_bytes);
        if (!part->program)
            json_host(&json, part);
        json_object_end(&json);
    }
    json_array_end(&json);
    json_end(&json);
}

static void print_wires(const char *what, const uint32_t *wire, uint32_t count)
{
    printf("%s", what);
    for (uint32_t i = 0; i < count; i++)
        printf(" %u", wire[i]);
}

void tool_inspect_composite(const char *path, const struct cc_bundle *bundle, const struct cc_report *report,
                            bool as_json)
{
    if (as_json) {
        print_json(bundle, report);
        return;
    }
    printf("%s: a bundle of %u segments, of which the host computes %u\n", path, bundle->parts,
           report->host_segments);
    printf("key           %s\n", report->key);
    printf("model         %s\n", bundle->model[0] ? bundle->model : "not stated");
    printf("signature     %s\n", bundle->is_signed ? "Ed25519" : "none");
    print_wires("inputs        wires", bundle->wire, bundle->inputs);
    print_wires("\noutputs       wires", bundle->wire + bundle->inputs, bundle->outputs);
    printf("\nsegments\n");
    for (uint32_t i = 0; i < bundle->parts; i++) {
        const struct cc_part *part = &bundle->part[i];

        printf("  %u.%-7s %-6s %zu bytes,", i, part->program ? "bundle" : "graph",
               part->program ? "engine" : "host",
               part->program ? part->program->main_bytes : part->graph_bytes);
        print_wires(" wires", part->wire, part->ports);
        putchar('\n');
        if (!part->program)
            print_host(part);
    }
}
