/* SPDX-License-Identifier: Apache-2.0 */
/* What became of every node of a model (compiler/report/placement.h), for people and for programs. */
#ifndef TOOL_REPORT_H
#define TOOL_REPORT_H

#include "compiler/report/placement.h"
#include "tool/json.h"

/* A table in the order of the model, and the sums. */
void tool_report_print(const struct cc_placement *placement);
/* Begins the object of a node: its name, kind, place in the text and shape. */
void tool_report_node_json(struct json *json, const struct cc_row *row);
/* Members "nodes", "places" and "estimates" of the object that is open. */
void tool_report_json(struct json *json, const struct cc_placement *placement);
/* One HTML file that needs nothing else; false after saying why it was not written. */
bool tool_report_html(const char *path, const char *model, const struct cc_placement *placement);

#endif
