/* SPDX-License-Identifier: Apache-2.0 */
/* One descriptor for `anemone inspect`: its task, its fields with what they mean, its kernel. */
#ifndef TOOL_DESCRIPTOR_H
#define TOOL_DESCRIPTOR_H

#include "program/chain.h"
#include "program/kernel.h"
#include "tool/json.h"
#include "tool/program.h"

/* A program on the way through its descriptors. Registers carry over from one to the next. */
struct tool_descriptors {
    const struct tool_program *program;
    struct pr_image image;
    struct pr_td td;
    struct pr_task task;
    bool framed;               /* td is the descriptor */
    bool decoded;              /* task is what it asks for */
    struct pr_problem problem; /* why not */
};

void tool_descriptors_begin(struct tool_descriptors *d, const struct tool_program *program);
void tool_descriptors_take(struct tool_descriptors *d, const struct pr_chain_link *link);

void tool_descriptor_print(const struct tool_descriptors *d, const struct pr_chain_link *link);
/* Into the open object: task, fields, kernel and table. */
void tool_descriptor_json(const struct tool_descriptors *d, struct json *json);

#endif
