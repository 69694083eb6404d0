/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network on the engine, under each numeric policy, beside the float64 meaning of the same graph
 * (compiler/eval): as a whole, and node by node.
 *
 * The error that a node adds: the node alone on the engine, with the reference's operands rounded to fp16,
 * against float64 with the same operands. The error that reaches the output: float64 of the rest of the
 * network with that error added to the node's result. Both are relative in the L2 norm, and as the largest
 * difference.
 */
#ifndef TOOL_COMPARISON_H
#define TOOL_COMPARISON_H

#include "compiler/eval/eval.h"
#include "compiler/report/placement.h"
#include "tool/device.h"
#include "tool/json.h"

enum { TOOL_POLICIES = 2 };
struct tool_policy {
    const char *name;
    enum ane_numerics numerics;
};
extern const struct tool_policy tool_policies[TOOL_POLICIES];

struct tool_node_error {
    double added_l2, added_max, output_l2, output_max; /* INFINITY: a result is not a finite number */
    /*
     * Elements: infinite or NaN where the reference is a finite fp16 number; beyond fp16 in the reference; 0
     * where the reference is not.
     */
    uint64_t saturated, overflowed, flushed;
};

struct tool_node {
    bool measured;
    char note[224]; /* why it is not */
    struct tool_node_error error[TOOL_POLICIES];
};

struct tool_output_error {
    double relative_l2, max_abs, cosine;
    uint64_t top, reference_top; /* place of the largest element, in the first entry of the batch */
    bool top_equal;              /* in every entry of the batch */
};

struct tool_comparison {
    const struct cc_graph *graph;
    struct cc_placement *rows; /* nodes and edges; nothing of where they run */
    struct tool_node *node;    /* per row */
    struct tool_output_error (*output)[TOOL_POLICIES];
    struct tool_device device[TOOL_POLICIES];
    struct cc_eval reference;
    double **constant;        /* per value: a constant's elements, made at its first use */
    bool *fixed, *live;       /* per value: constant; per operation: an output depends on it */
    struct base_error *error; /* of the last failure */
};

/* Makes the machines. Each is false with a sentence in `error`. Close it in any case. */
bool tool_comparison_open(struct tool_comparison *c, const struct cc_graph *graph, uint32_t threads,
                          struct base_error *error);
/* The elements of input `i`, before anything runs. */
bool tool_comparison_input(struct tool_comparison *c, uint32_t i, const double *elements);
/* The reference, then the whole network under each policy. */
bool tool_comparison_network(struct tool_comparison *c);
/*
 * One node, by its row. A node that has no arithmetic, or cannot be run alone, is not measured, and that is
 * no failure.
 */
bool tool_comparison_node(struct tool_comparison *c, uint32_t row);
/* Multiplications, or elements, of a node: what is measured first when not all are. */
uint64_t tool_comparison_work(const struct tool_comparison *c, uint32_t row);
void tool_comparison_close(struct tool_comparison *c);

/* comparison_print.c. `inputs` says what the inputs were. */
struct tool_comparison_head {
    const char *model, *inputs;
};
void tool_comparison_print(const struct tool_comparison *c, const struct tool_comparison_head *head);
void tool_comparison_json(struct json *json, const struct tool_comparison *c,
                          const struct tool_comparison_head *head);
bool tool_comparison_html(const char *path, const struct tool_comparison *c,
                          const struct tool_comparison_head *head);

#endif
