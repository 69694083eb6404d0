/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where every node of a source model runs, as what, why, and what that costs. It is made in three steps: of
 * the graph as a front end made it, before the passes replace it; of each segment, after its lowering; and
 * the end, which decides where each node is.
 * Rows refer to each other by number and own their text. Names are the model's: whoever prints them escapes
 * them.
 */
#ifndef COMPILER_REPORT_PLACEMENT_H
#define COMPILER_REPORT_PLACEMENT_H

#include "compiler/lower/lower.h"

enum cc_where {
    CC_WHERE_ENGINE, /* descriptors of its own */
    CC_WHERE_FUSED,  /* a stage of another node's descriptors */
    CC_WHERE_MERGED, /* a pass made it part of another node: its weights, its order of axes */
    CC_WHERE_ALIAS,  /* its value is that of its operand; no data is moved */
    CC_WHERE_FOLDED, /* a constant, computed by the compiler */
    CC_WHERE_HOST,   /* a host segment of the bundle */
    CC_WHERE_DEAD,   /* no output depends on it */
    CC_WHERE_INPUT,  /* ports, which are not nodes */
    CC_WHERE_OUTPUT,
    CC_WHERES
};
const char *cc_where_name(enum cc_where where); /* "engine" */

struct cc_row {
    char *name, *kind;     /* as the model has them; ports: "input" and "output" */
    unsigned line, column; /* in the source text; 0: not from a text */
    struct cc_shape_text shape;
    enum cc_where where;
    uint32_t into;       /* FUSED, MERGED: the other row, number + 1; 0: none */
    char as[160];        /* "conv x 4, elementwise + relu": kinds of descriptors */
    char why[224];       /* a phrase */
    uint32_t operations; /* of the lowered graph */
    uint32_t descriptors;
    uint64_t cost_ns;       /* modelled, on an M1 Max */
    uint64_t weights_bytes; /* of the program's constants, each counted at the first row that uses it */
    uint32_t froms;
    uint32_t *from; /* rows that its operands come from, each once */
    /* Of the source graph: its operations, whether an output depends on one, whether all are constant. */
    uint32_t sources;
    enum cc_op_kind source; /* the kind of the last one */
    bool live, constant;
};

/* The sum, and what a dispatch adds to it (protocol/timing.h). */
struct cc_estimate {
    const char *machine; /* "M1 Max" */
    uint64_t engine_ns, dispatch_ns;
};
enum { CC_ESTIMATES = 2 };

struct cc_tally; /* what is counted between the first step and the last */

struct cc_placement {
    uint32_t rows;
    struct cc_row *row; /* inputs, nodes in the order of the model, outputs */
    uint32_t inputs, origins, outputs;
    struct cc_tally *tally; /* per row; NULL after the last step */
    struct cc_estimate estimate[CC_ESTIMATES];
};

/* First step. *placement is the caller's, who destroys it whatever it has been through. */
int cc_placement_create(const struct cc_graph *source, struct cc_placement **placement,
                        struct base_error *error);
/*
 * A segment on the engine: `graph` is what the passes left of it, `program` was lowered from that with its
 * outcomes. Its origins are those of the source.
 */
int cc_placement_add(struct cc_placement *placement, const struct cc_graph *graph,
                     const struct cc_program *program, struct base_error *error);
/* Before segments are added: memory for what they count. cc_placement_create has called it. */
int cc_placement_begin(struct cc_placement *placement);
/* Why a node (origin number + 1) is on the host: the engine's refusal. Before the segments are added. */
void cc_placement_reason(struct cc_placement *placement, uint32_t origin, const char *reason);
/* A segment on the host. */
void cc_placement_add_host(struct cc_placement *placement, const struct cc_graph *graph);
/* The last step. */
void cc_placement_end(struct cc_placement *placement);
void cc_placement_destroy(struct cc_placement *placement);

#endif
