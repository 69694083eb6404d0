/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lowering: passes in order, ports, and the family of each operation. The order matters: casts make
 * aliases, liveness counts uses through them, fusing needs the counts, and ports are placed before any record
 * so that results are written there directly. Memory is planned last, when all records are known; until then
 * the index of an intermediate operand is the number of its buffer.
 */
#include "compiler/lower/lower.h"

#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "compiler/lower/family.h"
#include "compiler/lower/neural.h"
#include "compiler/lower/pass.h"

/* Ports. */

static int add_port(struct cc_lowering *l, uint32_t value, enum pr_hwx_direction direction)
{
    const struct cc_value *v = cc_value_of(l, value);
    struct pr_e5_port *port = &l->program->port[l->program->ports];
    struct cc_layout layout;
    const struct cc_op *op = cc_producer(l, value);
    int status;

    if (l->program->ports == PR_E5_PORTS_MAX)
        return cc_refuse_at(l, NULL, "The function has more than %u inputs and outputs", PR_E5_PORTS_MAX);
    if (v->type != CC_FP16 && v->type != CC_FP32)
        return cc_refuse_at(l, op, "`%.64s` is %s; inputs and outputs are fp16 or fp32", v->name,
                            cc_type_name(v->type));
    if (!v->name[0] || strlen(v->name) >= sizeof(port->name))
        return cc_refuse_at(l, op, "`%.64s`: the name of an input or output has 1 to %u characters", v->name,
                            PR_E5_NAME_BYTES - 1);
    for (uint32_t i = 0; i < l->program->ports; i++)
        if (l->program->port[i].direction == direction && strcmp(l->program->port[i].name, v->name) == 0)
            return cc_refuse_at(l, op, "`%.64s` is %s twice", v->name,
                                direction == PR_HWX_INPUT ? "an input" : "an output");
    status = cc_layout_of(l, value, &layout);
    if (status)
        return cc_refusal_locate(l, op, status);
    *port = (struct pr_e5_port){.direction = direction,
                                .type = v->type,
                                .rank = v->rank,
                                .n = layout.n,
                                .c = layout.c,
                                .h = layout.h,
                                .w = layout.w,
                                .bytes = layout.bytes,
                                .plane = layout.plane,
                                .row = layout.row};
    memcpy(port->name, v->name, strlen(v->name) + 1);
    memcpy(port->dim, v->dim, v->rank * sizeof(v->dim[0]));
    l->program->ports++;
    return 0;
}

static int place_ports(struct cc_lowering *l)
{
    const struct cc_graph *g = l->graph;
    int status = 0;

    for (uint32_t i = 0; i < g->inputs && !status; i++) {
        l->tensor[g->input[i]].at = (struct pr_e5_operand){.place = PR_E5_PORT, .index = i};
        l->tensor[g->input[i]].placed = true;
        status = add_port(l, g->input[i], PR_HWX_INPUT);
    }
    for (uint32_t i = 0; i < g->outputs && !status; i++) {
        struct cc_tensor *tensor = &l->tensor[cc_root(l, g->output[i])];

        status = add_port(l, g->output[i], PR_HWX_OUTPUT);
        if (tensor->placed || tensor->data)
            continue; /* an input, a constant or an earlier output: copied at the end */
        tensor->at = (struct pr_e5_operand){.place = PR_E5_PORT, .index = g->inputs + i};
        tensor->placed = true;
    }
    return status;
}

static int copy_outputs(struct cc_lowering *l)
{
    const struct cc_graph *g = l->graph;
    int status = 0;

    for (uint32_t i = 0; i < g->outputs && !status; i++) {
        const struct cc_tensor *tensor = &l->tensor[cc_root(l, g->output[i])];
        struct pr_e5_operand to;
        struct cc_layout layout;

        if (tensor->at.place == PR_E5_PORT && tensor->at.index == g->inputs + i)
            continue;
        status = cc_layout_of(l, g->output[i], &layout);
        to = cc_output_port(g->inputs + i, &layout);
        if (!status)
            status = cc_emit_copy(l, g->output[i], &to, NULL);
    }
    return cc_refusal_locate(l, NULL, status);
}

static int lower_op(struct cc_lowering *l, const struct cc_step *step)
{
    switch (step->op->kind) {
    case CC_OP_ADD:
    case CC_OP_SUB:
    case CC_OP_MUL:
    case CC_OP_MAXIMUM:
    case CC_OP_MINIMUM: return cc_lower_elementwise(l, step);
    case CC_OP_REAL_DIV:
    case CC_OP_FLOOR_DIV:
    case CC_OP_MOD: return cc_lower_divide(l, step);
    case CC_OP_POW: return cc_lower_power(l, step);
    case CC_OP_RELU: return cc_lower_relu(l, step);
    case CC_OP_CONV: return cc_lower_conv(l, step);
    case CC_OP_MAX_POOL:
    case CC_OP_AVG_POOL: return cc_lower_pool(l, step);
    case CC_OP_LINEAR: return cc_lower_linear(l, step);
    case CC_OP_MATMUL: return cc_lower_matmul(l, step);
    case CC_OP_SOFTMAX: return cc_lower_softmax(l, step);
    case CC_OP_LAYER_NORM:
    case CC_OP_INSTANCE_NORM:
    case CC_OP_L2_NORM: return cc_lower_norm(l, step);
    case CC_OP_BATCH_NORM: return cc_lower_batch_norm(l, step);
    case CC_OP_SELECT: return cc_lower_logic(l, step);
#define X(id, name, inputs) case CC_OP_##id:
        CC_OPS_COMPARE(X)
        CC_OPS_LOGICAL(X)
        return cc_lower_logic(l, step);
        CC_OPS_REDUCE(X)
        return cc_lower_reduce(l, step);
        CC_OPS_LAYOUT(X)
        return cc_lower_layout(l, step);
#undef X
    case CC_OP_INPUT:
    case CC_OP_CONST:
    case CC_OP_CAST:
    case CC_OP_ARG_MAX:
    case CC_OP_ARG_MIN:
    case CC_OP_TOPK:
    case CC_OP_TOPK_INDICES:
    case CC_OP_GATHER_AT:
    case CC_OP_COUNT: return cc_refuse(l, "the engine has no form of this operation");
    default: return cc_lower_unary(l, step);
    }
}

static bool is_layout(enum cc_op_kind kind)
{
    switch (kind) {
#define X(id, name, inputs) case CC_OP_##id:
        CC_OPS_LAYOUT(X)
#undef X
        return true;
    default: return false;
    }
}

/* Operations that compute have at most the axes of a descriptor; cc_pass_rank sees to it. */
static int check_rank(const struct cc_lowering *l, const struct cc_op *op)
{
    uint32_t rank = cc_value_of(l, op->output)->rank;

    for (uint32_t i = 0; i < op->inputs; i++)
        if (cc_value_of(l, op->input[i])->rank > rank)
            rank = cc_value_of(l, op->input[i])->rank;
    if (rank <= CC_AXES || is_layout(op->kind))
        return 0;
    return cc_refuse(l, "rank %u; the engine computes with at most %u axes (N, C, H, W)", rank, CC_AXES);
}

static int lower_ops(struct cc_lowering *l)
{
    for (uint32_t i = 0; i < l->graph->ops; i++) {
        const struct cc_step *step = &l->step[l->order[i]];
        int status;

        base_progress_step(i, l->graph->ops);
        if (!step->live || step->skip)
            continue;
        l->under_way = l->order[i] + 1;
        status = check_rank(l, step->op);
        if (!status)
            status = lower_op(l, step);
        if (status)
            return cc_refusal_locate(l, step->op, status);
        l->program->operations++;
    }
    l->under_way = 0;
    return copy_outputs(l);
}

/* Uses are counted at the root, so an alias is needed if that is. */
static struct cc_outcome outcome_of(const struct cc_lowering *l, const struct cc_step *step)
{
    enum cc_op_kind kind = step->op->kind;

    if (step->into)
        return (struct cc_outcome){.fate = CC_FATE_FUSED, .into = step->into - 1};
    if (kind == CC_OP_INPUT || kind == CC_OP_CONST || !l->tensor[cc_root(l, step->op->output)].uses)
        return (struct cc_outcome){.fate = CC_FATE_NONE};
    return (struct cc_outcome){.fate = step->skip ? CC_FATE_ALIAS : CC_FATE_RECORDS};
}

static int note_outcomes(struct cc_lowering *l)
{
    struct cc_outcome *outcome = base_alloc_array(l->graph->ops ? l->graph->ops : 1, sizeof(*outcome));

    if (!outcome)
        return cc_no_memory(l);
    for (uint32_t i = 0; i < l->graph->ops; i++)
        outcome[i] = outcome_of(l, &l->step[i]);
    l->program->outcome = outcome;
    return 0;
}

static int run(struct cc_lowering *l)
{
    const char *name = l->graph->function ? l->graph->function : "main";
    int status;

    if (strlen(name) >= sizeof(l->program->function))
        return cc_refuse_at(l, NULL, "The function's name has more than %u characters", PR_E5_NAME_BYTES - 1);
    memcpy(l->program->function, name, strlen(name) + 1);
    base_progress_phase("lower");
    status = cc_pass_casts(l);
    if (!status)
        status = cc_pass_live(l);
    if (!status)
        status = cc_pass_fuse(l);
    if (!status)
        status = cc_pass_schedule(l);
    if (!status)
        status = place_ports(l);
    if (!status)
        status = cc_pass_join(l);
    if (!status)
        status = lower_ops(l);
    if (!status && !(l->flags & CC_LOWER_DRAM))
        status = cc_pass_resident(l);
    if (!status)
        status = cc_pass_plan(l);
    if (!status && (l->flags & CC_LOWER_REPORT))
        status = note_outcomes(l);
    return status;
}

int cc_lower(const struct cc_graph *graph, unsigned flags, struct cc_program **program,
             struct base_error *error)
{
    struct base_error reason = {{0}};
    struct cc_lowering l = {.graph = graph, .flags = flags, .reason = &reason, .error = error};
    int status;

    l.tensor = base_alloc_array(graph->values ? graph->values : 1, sizeof(*l.tensor));
    l.step = base_alloc_array(graph->ops ? graph->ops : 1, sizeof(*l.step));
    l.order = base_alloc_array(graph->ops ? graph->ops : 1, sizeof(*l.order));
    l.program = base_alloc(sizeof(*l.program));
    if (!l.tensor || !l.step || !l.order || !l.program)
        status = cc_no_memory(&l);
    else
        status = run(&l);
    for (uint32_t i = 0; l.tensor && i < graph->values; i++)
        base_free(l.tensor[i].owned);
    base_free(l.tensor);
    base_free(l.step);
    base_free(l.order);
    base_free(l.buffer);
    base_free(l.blob_slot);
    if (status) {
        cc_program_destroy(l.program);
        l.program = NULL;
    }
    *program = l.program;
    return status;
}

void cc_program_destroy(struct cc_program *program)
{
    if (!program)
        return;
    base_free(program->record);
    base_free(program->constant);
    base_free(program->blob);
    base_free(program->maker);
    base_free(program->outcome);
    base_free(program);
}
