/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments, and the end: what became of each node. A node's operations after the passes are those that have
 * its origin. A node that has none left although an output depends on it was merged into another by a pass:
 * into the nearest node before it that has descriptors, or else after it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "compiler/report/cost.h"
#include "compiler/report/placement.h"
#include "protocol/timing.h"

enum { RECORD_KINDS = PR_E5_AFFINE + 1 };

/* How often a row has each kind of operation and of record. */
struct cc_tally {
    uint32_t op[CC_OP_COUNT];
    uint32_t record[RECORD_KINDS];
    bool relu, table; /* a record has such a stage */
    uint32_t fused, aliases, host;
    uint32_t into; /* of a fused operation: the other row, number + 1 */
};

struct filling {
    struct cc_placement *p;
    const struct cc_graph *graph;
    const struct cc_program *program;
};

static const struct pr_cost_model *const models[CC_ESTIMATES] = {&pr_cost_m1, &pr_cost_m1_max};

int cc_placement_begin(struct cc_placement *placement)
{
    placement->tally = base_alloc_array(placement->rows ? placement->rows : 1, sizeof(*placement->tally));
    for (unsigned i = 0; i < CC_ESTIMATES; i++)
        placement->estimate[i].machine = models[i]->machine;
    return placement->tally ? 0 : -ENOMEM;
}

static const char *const record_names[RECORD_KINDS] = {
    [PR_E5_ELEMENTWISE1] = "elementwise",
    [PR_E5_ELEMENTWISE2] = "elementwise of two",
    [PR_E5_REDUCE] = "reduce",
    [PR_E5_BYPASS] = "copy",
    [PR_E5_CONV] = "conv",
    [PR_E5_MAX] = "max",
    [PR_E5_PRODUCT] = "product",
    [PR_E5_REDUCE2] = "reduce of two",
    [PR_E5_AFFINE] = "affine",
};

static void __attribute__((format(printf, 3, 4))) append(char *text, size_t capacity, const char *format, ...)
{
    size_t length = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + length, capacity - length, format, args);
    va_end(args);
}

/* "name" or "name x 3", after a comma if there is text. */
static void append_count(char *text, size_t capacity, const char *name, uint32_t count)
{
    if (!count)
        return;
    append(text, capacity, "%s%s", text[0] ? ", " : "", name);
    if (count > 1)
        append(text, capacity, " x %u", count);
}

/* The row of an operation of the lowered graph, number + 1; 0: it has none. */
static uint32_t row_of(const struct cc_placement *p, const struct cc_graph *graph, uint32_t op)
{
    uint32_t origin = graph->op[op].origin;

    return origin ? p->inputs + origin : 0;
}

/* The row of a record without an operation: the output that it is copied to, which keeps its name. */
static uint32_t row_of_copy(const struct filling *f, const struct pr_e5_record *record)
{
    const struct pr_e5_port *port = &f->program->port[record->dst.index];
    uint32_t first = f->p->inputs + f->p->origins;

    for (uint32_t i = 0; record->dst.place == PR_E5_PORT && i < f->p->outputs; i++)
        if (!strcmp(f->p->row[first + i].name, port->name))
            return first + i + 1;
    return 0;
}

static uint32_t row_of_record(const struct filling *f, uint32_t i)
{
    uint32_t maker = f->program->maker[i];

    return maker ? row_of(f->p, f->graph, maker - 1) : row_of_copy(f, &f->program->record[i]);
}

static void count_operations(struct filling *f)
{
    for (uint32_t i = 0; i < f->graph->ops; i++) {
        const struct cc_outcome *outcome = &f->program->outcome[i];
        uint32_t number = row_of(f->p, f->graph, i);
        struct cc_tally *t = number ? &f->p->tally[number - 1] : NULL;

        if (!t || outcome->fate == CC_FATE_NONE)
            continue;
        f->p->row[number - 1].operations++;
        t->op[f->graph->op[i].kind]++;
        t->aliases += outcome->fate == CC_FATE_ALIAS;
        t->fused += outcome->fate == CC_FATE_FUSED;
        if (outcome->fate == CC_FATE_FUSED && row_of(f->p, f->graph, outcome->into) != number)
            t->into = row_of(f->p, f->graph, outcome->into);
    }
}

static void count_records(struct filling *f, const uint64_t *ns)
{
    for (uint32_t i = 0; i < f->program->records; i++) {
        const struct pr_e5_record *record = &f->program->record[i];
        uint32_t number = row_of_record(f, i);

        if (!number)
            continue;
        f->p->row[number - 1].descriptors++;
        f->p->row[number - 1].cost_ns += ns[i];
        if (record->kind < RECORD_KINDS)
            f->p->tally[number - 1].record[record->kind]++;
        f->p->tally[number - 1].relu |= record->flags & PR_E5_RELU;
        f->p->tally[number - 1].table |= record->flags & PR_E5_TABLE;
    }
}

/* The blob that holds this byte of the constants: their offsets ascend. */
static uint32_t blob_at(const struct cc_program *program, uint32_t offset)
{
    uint32_t low = 0, high = program->blobs;

    while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;

        if (program->blob[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void claim(struct filling *f, bool *claimed, uint32_t offset, struct cc_row *row)
{
    uint32_t blob = blob_at(f->program, offset);

    if (claimed[blob])
        return;
    claimed[blob] = true;
    row->weights_bytes += f->program->blob[blob].bytes;
}

static int count_weights(struct filling *f)
{
    bool *claimed;

    if (!f->program->blobs)
        return 0;
    claimed = base_alloc_array(f->program->blobs, sizeof(*claimed));
    if (!claimed)
        return -ENOMEM;
    for (uint32_t i = 0; i < f->program->records; i++) {
        const struct pr_e5_record *record = &f->program->record[i];
        uint32_t number = row_of_record(f, i);
        struct cc_row *row = number ? &f->p->row[number - 1] : NULL;

        if (row && record->kernel_bytes && record->kernel_place == PR_E5_NONE)
            claim(f, claimed, record->kernel, row);
        for (unsigned k = 0; row && k < 2; k++)
            if (record->src[k].place == PR_E5_CONSTANT)
                claim(f, claimed, record->src[k].offset, row);
    }
    base_free(claimed);
    return 0;
}

/* These keep all elements in their order; a pass may leave them out. */
static bool keeps_elements(enum cc_op_kind kind)
{
    return kind == CC_OP_CAST || kind == CC_OP_RESHAPE || kind == CC_OP_EXPAND_DIMS || kind == CC_OP_SQUEEZE;
}

/* The nearest row with descriptors, number + 1: along first operands, then along first users. */
static uint32_t nearest(const struct cc_placement *p, uint32_t start)
{
    uint32_t at = start;

    for (uint32_t steps = 0; steps < p->rows && p->row[at].froms; steps++) {
        at = p->row[at].from[0];
        if (p->row[at].descriptors && p->row[at].where != CC_WHERE_OUTPUT)
            return at + 1;
    }
    for (uint32_t i = start + 1; i < p->rows; i++)
        for (uint32_t k = 0; k < p->row[i].froms; k++)
            if (p->row[i].from[k] == start && p->row[i].descriptors && p->row[i].where != CC_WHERE_OUTPUT)
                return i + 1;
    return 0;
}

/* Nodes that front ends pass by: the value of their operand is theirs. */
static bool is_passed_by(const struct cc_row *row)
{
    return !row->sources && (!strcasecmp(row->kind, "identity") || !strcasecmp(row->kind, "dropout"));
}

static void place(struct cc_placement *p, uint32_t number, const struct cc_tally *t)
{
    struct cc_row *row = &p->row[number];

    if (row->where == CC_WHERE_INPUT || row->where == CC_WHERE_OUTPUT)
        return;
    if (row->descriptors) {
        row->where = CC_WHERE_ENGINE;
    } else if (t->host) {
        row->where = CC_WHERE_HOST;
    } else if (t->fused) {
        row->where = CC_WHERE_FUSED;
        row->into = t->into;
    } else if (is_passed_by(row)) {
        row->where = CC_WHERE_ALIAS;
    } else if (!row->sources || (row->constant && row->live)) {
        row->where = CC_WHERE_FOLDED;
    } else if (!row->live) {
        row->where = CC_WHERE_DEAD;
    } else if (t->aliases || keeps_elements(row->source)) {
        row->where = CC_WHERE_ALIAS;
    } else {
        row->where = CC_WHERE_MERGED;
        row->into = nearest(p, number);
    }
}

static void describe_descriptors(struct cc_row *row, const struct cc_tally *t)
{
    for (unsigned i = 0; i < RECORD_KINDS; i++)
        append_count(row->as, sizeof(row->as), record_names[i] ? record_names[i] : "", t->record[i]);
    if (t->relu)
        append(row->as, sizeof(row->as), " + relu");
    if (t->table)
        append(row->as, sizeof(row->as), " + table");
}

static void explain_engine(struct cc_row *row, const struct cc_tally *t)
{
    if (row->operations == 1 && row->descriptors == 1) {
        append(row->why, sizeof(row->why), "one descriptor holds it");
    } else if (row->operations == 1) {
        append(row->why, sizeof(row->why), "the operation takes %u descriptors", row->descriptors);
    } else {
        char parts[sizeof(row->why) - 16] = "";

        for (unsigned i = 0; i < CC_OP_COUNT; i++)
            append_count(parts, sizeof(parts), cc_op_name((enum cc_op_kind)i), t->op[i]);
        append(row->why, sizeof(row->why), "composed of %s", parts);
    }
}

/* A name of the model, within a phrase. */
static const char *name_of(const struct cc_placement *p, uint32_t number)
{
    return number ? p->row[number - 1].name : "another node";
}

/* What pass_norm moves into weights, and what pass_transpose removes. */
static void explain_merged(const struct cc_placement *p, struct cc_row *row)
{
    const char *name = name_of(p, row->into);

    switch (row->source) {
    case CC_OP_TRANSPOSE: append(row->why, sizeof(row->why), "another transpose cancels it"); return;
    case CC_OP_BATCH_NORM:
    case CC_OP_MUL:
    case CC_OP_ADD:
    case CC_OP_SUB:
    case CC_OP_REAL_DIV:
        append(row->why, sizeof(row->why), "it is in the weights and bias of %.64s", name);
        return;
    default: append(row->why, sizeof(row->why), "a pass made it part of %.64s", name); return;
    }
}

static void explain(struct cc_placement *p, struct cc_row *row, const struct cc_tally *t)
{
    const char *why = "";

    switch (row->where) {
    case CC_WHERE_ENGINE: explain_engine(row, t); return;
    case CC_WHERE_FUSED:
        append(row->why, sizeof(row->why), "the last stage of %.64s computes it", name_of(p, row->into));
        return;
    case CC_WHERE_MERGED: explain_merged(p, row); return;
    case CC_WHERE_OUTPUT: why = row->descriptors ? "copied: its value has another place too" : ""; break;
    case CC_WHERE_ALIAS: why = "the same elements at the same place; no data is moved"; break;
    case CC_WHERE_FOLDED:
        why = row->sources ? "its operands are constants" : "resolved when the model was read";
        break;
    case CC_WHERE_HOST: why = row->why[0] ? "" : "moved to where its operand is computed"; break;
    case CC_WHERE_DEAD: why = "no output depends on it"; break;
    default: break;
    }
    append(row->why, sizeof(row->why), "%s", why);
}

/* Adds to the estimates; the costs of the last machine are left in `ns`. */
static int sum_up(struct filling *f, uint64_t *ns, struct base_error *error)
{
    int status = 0;

    for (unsigned i = 0; i < CC_ESTIMATES && !status; i++) {
        struct cc_estimate *estimate = &f->p->estimate[i];

        status = cc_cost_records(f->program, models[i], ns, error);
        estimate->dispatch_ns += PR_TIMING_CALL_US * 1000 - PR_TIMING_NETWORK_NS;
        for (uint32_t k = 0; k < f->program->records && !status; k++)
            estimate->engine_ns += ns[k];
    }
    return status;
}

int cc_placement_add(struct cc_placement *placement, const struct cc_graph *graph,
                     const struct cc_program *program, struct base_error *error)
{
    struct filling f = {placement, graph, program};
    uint64_t *ns = base_alloc_array(program->records ? program->records : 1, sizeof(*ns));
    int status = -ENOMEM;

    if (ns) {
        count_operations(&f);
        status = sum_up(&f, ns, error);
    }
    if (!status) {
        count_records(&f, ns);
        status = count_weights(&f);
    }
    if (status == -ENOMEM)
        base_fail(error, ENOMEM, "There is no memory for a report of %u operations.", graph->ops);
    base_free(ns);
    return status;
}

void cc_placement_reason(struct cc_placement *placement, uint32_t origin, const char *reason)
{
    struct cc_row *row = &placement->row[placement->inputs + origin - 1];

    if (origin <= placement->origins)
        snprintf(row->why, sizeof(row->why), "%s", reason);
}

void cc_placement_add_host(struct cc_placement *placement, const struct cc_graph *graph)
{
    for (uint32_t i = 0; i < graph->ops; i++) {
        uint32_t number = row_of(placement, graph, i);

        if (!number || graph->op[i].kind == CC_OP_INPUT || graph->op[i].kind == CC_OP_CONST)
            continue;
        placement->row[number - 1].operations++;
        placement->tally[number - 1].host++;
    }
}

void cc_placement_end(struct cc_placement *placement)
{
    for (uint32_t i = 0; i < placement->rows; i++)
        place(placement, i, &placement->tally[i]);
    for (uint32_t i = 0; i < placement->rows; i++) {
        describe_descriptors(&placement->row[i], &placement->tally[i]);
        explain(placement, &placement->row[i], &placement->tally[i]);
    }
    base_free(placement->tally);
    placement->tally = NULL;
}
