/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes by the error that reaches the output under the first policy, the largest first. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "tool/comparison.h"
#include "tool/page.h"
#include "tool/report.h"

enum { NAME_WIDTH = 28, KIND_WIDTH = 18 };

struct ranked {
    uint32_t row;
    double error, added;
};

static int worst_first(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->error != y->error)
        return x->error < y->error ? 1 : -1;
    if (x->added != y->added)
        return x->added < y->added ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* The rows that were measured; NULL without memory. */
static struct ranked *rank(const struct tool_comparison *c, uint32_t *count)
{
    struct ranked *list = base_alloc_array(c->rows->rows ? c->rows->rows : 1, sizeof(*list));

    *count = 0;
    for (uint32_t i = 0; list && i < c->rows->rows; i++)
        if (c->node[i].measured)
            list[(*count)++] =
                (struct ranked){i, c->node[i].error[0].output_l2, c->node[i].error[0].added_l2};
    if (list)
        qsort(list, *count, sizeof(*list), worst_first);
    return list;
}

struct label {
    char text[NAME_WIDTH + 1];
};

static struct label label_of(const char *name, size_t width)
{
    struct label label;
    size_t length = strlen(name);

    snprintf(label.text, width + 1, "%.*s%s", length > width ? (int)width - 3 : (int)width, name,
             length > width ? "..." : "");
    base_printable_make(label.text, strlen(label.text));
    return label;
}

static void print_outputs(const struct tool_comparison *c)
{
    printf("%-*s  %-8s  %11s  %11s  %12s  %s\n", NAME_WIDTH, "output", "policy", "relative L2", "largest",
           "cosine", "top-1");
    for (uint32_t i = 0; i < c->graph->outputs; i++)
        for (unsigned p = 0; p < TOOL_POLICIES; p++) {
            const struct tool_output_error *e = &c->output[i][p];

            printf("%-*s  %-8s  %11.3e  %11.3e  %12.9f  %s (%" PRIu64 ", float64 %" PRIu64 ")\n", NAME_WIDTH,
                   label_of(c->graph->value[c->graph->output[i]].name, NAME_WIDTH).text,
                   tool_policies[p].name, e->relative_l2, e->max_abs, e->cosine,
                   e->top_equal ? "equal" : "differs", e->top, e->reference_top);
        }
}

static void print_node(const struct cc_row *row, const struct tool_node *node)
{
    printf("%-*s  %-*s", NAME_WIDTH, label_of(row->name, NAME_WIDTH).text, KIND_WIDTH,
           label_of(row->kind, KIND_WIDTH).text);
    for (unsigned p = 0; p < TOOL_POLICIES; p++)
        printf("  %9.2e", node->error[p].output_l2);
    for (unsigned p = 0; p < TOOL_POLICIES; p++)
        printf("  %9.2e", node->error[p].added_l2);
    printf("  %9.2e", node->error[0].added_max);
    for (unsigned p = 0; p < TOOL_POLICIES; p++)
        printf("  %4" PRIu64 " %4" PRIu64 " %4" PRIu64, node->error[p].saturated, node->error[p].overflowed,
               node->error[p].flushed);
    putchar('\n');
}

static void print_heads(void)
{
    printf("%-*s  %-*s  %-20s  %-20s  %9s  %s\n", NAME_WIDTH, "", KIND_WIDTH, "", "reaches the output",
           "added by the node", "largest", "saturated, overflowed, flushed");
    printf("%-*s  %-*s", NAME_WIDTH, "node", KIND_WIDTH, "kind");
    for (unsigned k = 0; k < 2; k++)
        for (unsigned p = 0; p < TOOL_POLICIES; p++)
            printf("  %9s", tool_policies[p].name);
    printf("  %9s", tool_policies[0].name);
    for (unsigned p = 0; p < TOOL_POLICIES; p++)
        printf("  %-14s", tool_policies[p].name);
    putchar('\n');
}

/* How many rows have each reason, in the order of the model. */
static void print_notes(const struct tool_comparison *c)
{
    for (uint32_t i = 0; i < c->rows->rows; i++) {
        uint32_t same = 0;
        bool first = true;

        for (uint32_t k = 0; k < c->rows->rows; k++) {
            bool equal = c->node[k].note[0] && !strcmp(c->node[k].note, c->node[i].note);

            first &= !(equal && k < i);
            same += equal;
        }
        if (same && first)
            printf("%u %s not measured: %s\n", same, same == 1 ? "node" : "nodes", c->node[i].note);
    }
}

void tool_comparison_print(const struct tool_comparison *c, const struct tool_comparison_head *head)
{
    uint32_t count;
    struct ranked *list = rank(c, &count);

    printf("inputs: %s\n\n", head->inputs);
    print_outputs(c);
    putchar('\n');
    if (count)
        print_heads();
    for (uint32_t i = 0; list && i < count; i++)
        print_node(&c->rows->row[list[i].row], &c->node[list[i].row]);
    if (count)
        putchar('\n');
    print_notes(c);
    base_free(list);
}

static void errors_json(struct json *json, const struct tool_node *node)
{
    json_array(json, "errors");
    for (unsigned p = 0; p < TOOL_POLICIES; p++) {
        const struct tool_node_error *e = &node->error[p];

        json_object(json, NULL);
        json_string(json, "policy", tool_policies[p].name);
        json_float(json, "output_l2", e->output_l2);
        json_float(json, "output_max", e->output_max);
        json_float(json, "added_l2", e->added_l2);
        json_float(json, "added_max", e->added_max);
        json_number(json, "saturated", e->saturated);
        json_number(json, "overflowed", e->overflowed);
        json_number(json, "flushed", e->flushed);
        json_object_end(json);
    }
    json_array_end(json);
}

static void row_json(struct json *json, const struct cc_row *row, const struct tool_node *node)
{
    tool_report_node_json(json, row);
    if (row->where == CC_WHERE_INPUT || row->where == CC_WHERE_OUTPUT)
        json_string(json, "where", cc_where_name(row->where));
    if (node->note[0])
        json_string(json, "note", node->note);
    if (node->measured)
        errors_json(json, node);
    json_array(json, "from");
    for (uint32_t i = 0; i < row->froms; i++)
        json_number(json, NULL, row->from[i]);
    json_array_end(json);
    json_object_end(json);
}

static void outputs_json(struct json *json, const struct tool_comparison *c)
{
    json_array(json, "outputs");
    for (uint32_t i = 0; i < c->graph->outputs; i++) {
        json_object(json, NULL);
        json_string(json, "name", c->graph->value[c->graph->output[i]].name);
        json_array(json, "errors");
        for (unsigned p = 0; p < TOOL_POLICIES; p++) {
            const struct tool_output_error *e = &c->output[i][p];

            json_object(json, NULL);
            json_string(json, "policy", tool_policies[p].name);
            json_float(json, "relative_l2", e->relative_l2);
            json_float(json, "max_abs", e->max_abs);
            json_float(json, "cosine", e->cosine);
            json_bool(json, "top1", e->top_equal);
            json_number(json, "top1_engine", e->top);
            json_number(json, "top1_reference", e->reference_top);
            json_object_end(json);
        }
        json_array_end(json);
        json_object_end(json);
    }
    json_array_end(json);
}

void tool_comparison_json(struct json *json, const struct tool_comparison *c,
                          const struct tool_comparison_head *head)
{
    json_string(json, "model", head->model);
    json_string(json, "inputs", head->inputs);
    json_array(json, "policies");
    for (unsigned p = 0; p < TOOL_POLICIES; p++)
        json_string(json, NULL, tool_policies[p].name);
    json_array_end(json);
    outputs_json(json, c);
    json_array(json, "nodes");
    for (uint32_t i = 0; i < c->rows->rows; i++)
        row_json(json, &c->rows->row[i], &c->node[i]);
    json_array_end(json);
}

bool tool_comparison_html(const char *path, const struct tool_comparison *c,
                          const struct tool_comparison_head *head)
{
    struct tool_page page;
    struct json json;

    if (!tool_page_open(&page, path))
        return false;
    json_begin(&json, page.data);
    json_string(&json, "page", "compare");
    tool_comparison_json(&json, c, head);
    json_end(&json);
    return tool_page_close(&page);
}
