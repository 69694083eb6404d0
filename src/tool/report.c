/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in a report are the model's: on a terminal they are made printable and short, in JSON they are
 * quoted. Ports are rows of the JSON, for the graph, and not of the table.
 */
#include "tool/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "tool/page.h"

enum { NAME_WIDTH = 32, KIND_WIDTH = 20, BAR_WIDTH = 20 };

/* A name as a table has it. */
struct label {
    char text[NAME_WIDTH + 1];
};

static struct label label_of(const char *name, size_t width)
{
    struct label label;
    size_t length = strlen(name);

    if (length > width)
        snprintf(label.text, sizeof(label.text), "%.*s...", (int)width - 3, name);
    else
        snprintf(label.text, sizeof(label.text), "%s", name);
    base_printable_make(label.text, strlen(label.text));
    return label;
}

static bool is_port(const struct cc_row *row)
{
    return row->where == CC_WHERE_INPUT || row->where == CC_WHERE_OUTPUT;
}

/* The length of the longest of these, at most `width`. */
static int column_width(const struct cc_placement *p, bool kind, int width, int least)
{
    int longest = least;

    for (uint32_t i = 0; i < p->rows; i++) {
        size_t length = strlen(kind ? p->row[i].kind : p->row[i].name);

        if (!is_port(&p->row[i]) && length > (size_t)longest)
            longest = length > (size_t)width ? width : (int)length;
    }
    return longest;
}

static uint64_t largest_cost(const struct cc_placement *p)
{
    uint64_t most = 1;

    for (uint32_t i = 0; i < p->rows; i++)
        most = p->row[i].cost_ns > most ? p->row[i].cost_ns : most;
    return most;
}

static void print_cost(const struct cc_row *row, uint64_t most)
{
    char bar[BAR_WIDTH + 1] = "";

    if (!row->descriptors) {
        printf("%10s %-*s", "", BAR_WIDTH, "");
        return;
    }
    memset(bar, '#', (size_t)(row->cost_ns * BAR_WIDTH / most));
    printf("%10.3f %-*s", (double)row->cost_ns / 1e3, BAR_WIDTH, bar);
}

static void print_row(const struct cc_row *row, int name_width, int kind_width, uint64_t most)
{
    struct cc_row copy = *row;

    base_printable_make(copy.why, strlen(copy.why));
    printf("%-*s  %-*s  %-6s", name_width, label_of(row->name, NAME_WIDTH).text, kind_width,
           label_of(row->kind, KIND_WIDTH).text, cc_where_name(row->where));
    print_cost(row, most);
    if (row->weights_bytes)
        printf(" %10" PRIu64, row->weights_bytes);
    else
        printf(" %10s", "");
    printf("  %s%s%s\n", row->as, row->as[0] && row->why[0] ? "; " : "", copy.why);
}

static void print_places(const struct cc_placement *p)
{
    uint32_t count[CC_WHERES] = {0}, nodes = 0, descriptors = 0, listed = 0;

    for (uint32_t i = 0; i < p->rows; i++) {
        count[p->row[i].where]++;
        nodes += !is_port(&p->row[i]);
        descriptors += p->row[i].descriptors;
    }
    printf("%u node%s, %u descriptor%s:", nodes, nodes == 1 ? "" : "s", descriptors,
           descriptors == 1 ? "" : "s");
    for (unsigned i = 0; i < CC_WHERE_INPUT; i++)
        if (count[i])
            printf("%s %u %s", listed++ ? "," : "", count[i], cc_where_name((enum cc_where)i));
    putchar('\n');
}

static double estimate_us(const struct cc_estimate *estimate)
{
    return (double)(estimate->engine_ns + estimate->dispatch_ns) / 1e3;
}

void tool_report_print(const struct cc_placement *p)
{
    int name_width = column_width(p, false, NAME_WIDTH, 4), kind_width = column_width(p, true, KIND_WIDTH, 4);
    uint64_t most = largest_cost(p);

    printf("%-*s  %-*s  %-6s%10s %-*s %10s  %s\n", name_width, "node", kind_width, "kind", "where", "us",
           BAR_WIDTH, "", "weights", "as; why");
    for (uint32_t i = 0; i < p->rows; i++)
        if (!is_port(&p->row[i]) || p->row[i].descriptors)
            print_row(&p->row[i], name_width, kind_width, most);
    putchar('\n');
    print_places(p);
    for (unsigned i = 0; i < CC_ESTIMATES; i++)
        printf("%-6s  engine %.3f us + dispatch %.3f us = %.3f us, modelled\n", p->estimate[i].machine,
               (double)p->estimate[i].engine_ns / 1e3, (double)p->estimate[i].dispatch_ns / 1e3,
               estimate_us(&p->estimate[i]));
}

void tool_report_node_json(struct json *json, const struct cc_row *row)
{
    json_object(json, NULL);
    json_string(json, "name", row->name);
    json_string(json, "kind", row->kind);
    if (row->line) {
        json_number(json, "line", row->line);
        json_number(json, "column", row->column);
    }
    json_string(json, "shape", row->shape.text);
}

static void row_json(struct json *json, const struct cc_placement *p, const struct cc_row *row)
{
    tool_report_node_json(json, row);
    json_string(json, "where", cc_where_name(row->where));
    if (row->into) {
        json_number(json, "into", row->into - 1);
        json_string(json, "into_name", p->row[row->into - 1].name);
    }
    json_string(json, "as", row->as);
    json_string(json, "why", row->why);
    json_number(json, "operations", row->operations);
    json_number(json, "descriptors", row->descriptors);
    json_real(json, "cost_us", (double)row->cost_ns / 1e3);
    json_number(json, "weights_bytes", row->weights_bytes);
    json_array(json, "from");
    for (uint32_t i = 0; i < row->froms; i++)
        json_number(json, NULL, row->from[i]);
    json_array_end(json);
    json_object_end(json);
}

static void places_json(struct json *json, const struct cc_placement *p)
{
    json_object(json, "places");
    for (unsigned where = 0; where < CC_WHERE_INPUT; where++) {
        uint32_t count = 0;

        for (uint32_t i = 0; i < p->rows; i++)
            count += p->row[i].where == where;
        json_number(json, cc_where_name((enum cc_where)where), count);
    }
    json_object_end(json);
}

void tool_report_json(struct json *json, const struct cc_placement *p)
{
    json_array(json, "nodes");
    for (uint32_t i = 0; i < p->rows; i++)
        row_json(json, p, &p->row[i]);
    json_array_end(json);
    places_json(json, p);
    json_array(json, "estimates");
    for (unsigned i = 0; i < CC_ESTIMATES; i++) {
        json_object(json, NULL);
        json_string(json, "machine", p->estimate[i].machine);
        json_real(json, "engine_us", (double)p->estimate[i].engine_ns / 1e3);
        json_real(json, "dispatch_us", (double)p->estimate[i].dispatch_ns / 1e3);
        json_real(json, "total_us", estimate_us(&p->estimate[i]));
        json_object_end(json);
    }
    json_array_end(json);
}

bool tool_report_html(const char *path, const char *model, const struct cc_placement *placement)
{
    struct tool_page page;
    struct json json;

    if (!tool_page_open(&page, path))
        return false;
    json_begin(&json, page.data);
    json_string(&json, "page", "report");
    json_string(&json, "model", model);
    tool_report_json(&json, placement);
    json_end(&json);
    return tool_page_close(&page);
}
