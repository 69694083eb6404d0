/* SPDX-License-Identifier: Apache-2.0 */
/* The operation is read for every channel before anything changes, so that a refusal leaves all as it was. */
#include "compiler/pass/affine.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/graph/build.h"

int cc_affine_open(struct cc_affine *affine, uint32_t axis, uint32_t channels)
{
    *affine = (struct cc_affine){.axis = axis, .channels = channels};
    affine->factor = base_alloc_array(channels, 2 * sizeof(*affine->factor));
    if (!affine->factor)
        return -ENOMEM;
    affine->addend = affine->factor + channels;
    for (uint32_t i = 0; i < channels; i++)
        affine->factor[i] = 1;
    return 0;
}

void cc_affine_close(struct cc_affine *affine)
{
    base_free(affine->factor);
    *affine = (struct cc_affine){0};
}

/* What an operation does to one channel. */
struct line {
    double factor, addend;
};

static double parameter(const struct cc_graph *g, uint32_t value, uint32_t i, double without)
{
    return value ? cc_value_number(&g->value[value - 1], i) : without;
}

static struct line normed(const struct cc_graph *g, const struct cc_attributes *a, uint32_t i)
{
    double root = sqrt(parameter(g, a->variance, i, 1) + (double)a->epsilon);
    double factor = parameter(g, a->weight, i, 1) / root;

    return (struct line){factor, parameter(g, a->bias, i, 0) - parameter(g, a->mean, i, 0) * factor};
}

/* Whether a constant, broadcast to the tensor, differs along the channels alone. */
static bool is_per_channel(const struct cc_affine *affine, const struct cc_value *constant, uint32_t rank)
{
    if (!constant->data || constant->rank > rank || constant->type == CC_BOOL)
        return false;
    for (uint32_t i = 0; i < constant->rank; i++) {
        uint32_t axis = rank - constant->rank + i;

        if (constant->dim[i] != 1 && (axis != affine->axis || constant->dim[i] != affine->channels))
            return false;
    }
    return true;
}

static struct line combined(enum cc_op_kind kind, bool first, double c)
{
    switch (kind) {
    case CC_OP_ADD: return (struct line){1, c};
    case CC_OP_SUB: return first ? (struct line){1, -c} : (struct line){-1, c};
    case CC_OP_MUL: return (struct line){c, 0};
    default: return (struct line){1 / c, 0};
    }
}

/* The operand of an operation that is a constant; NULL if the operation has another form. */
static const struct cc_value *constant_of(const struct cc_affine *affine, const struct cc_graph *g,
                                          const struct cc_op *op, uint32_t value)
{
    const struct cc_value *other;

    switch (op->kind) {
    case CC_OP_ADD:
    case CC_OP_SUB:
    case CC_OP_MUL:
    case CC_OP_REAL_DIV: break;
    default: return NULL;
    }
    if (op->input[0] == op->input[1] || (op->kind == CC_OP_REAL_DIV && op->input[0] != value))
        return NULL;
    other = &g->value[op->input[op->input[0] == value]];
    return is_per_channel(affine, other, g->value[value].rank) ? other : NULL;
}

static bool line_of(const struct cc_affine *affine, const struct cc_graph *g, const struct cc_op *op,
                    uint32_t value, uint32_t i, struct line *line)
{
    const struct cc_value *constant = constant_of(affine, g, op, value);

    if (constant)
        *line = combined(op->kind, op->input[0] == value,
                         cc_value_number(constant, cc_value_elements(constant) == 1 ? 0 : i));
    else if (op->kind == CC_OP_BATCH_NORM && affine->axis == 1)
        *line = normed(g, &op->a, i);
    else if (op->kind == CC_OP_LINEAR_ACTIVATION)
        *line = (struct line){(double)op->a.alpha, (double)op->a.beta};
    else
        return false;
    return isfinite(line->factor) && isfinite(line->addend);
}

bool cc_affine_append(struct cc_affine *affine, const struct cc_graph *graph, const struct cc_op *op,
                      uint32_t value)
{
    const struct cc_value *x = &graph->value[value], *y = &graph->value[op->output];
    struct line line;

    if (op->inputs == 0 || x->rank != y->rank || memcmp(x->dim, y->dim, x->rank * sizeof(x->dim[0])) != 0)
        return false;
    for (uint32_t i = 0; i < affine->channels; i++)
        if (!line_of(affine, graph, op, value, i, &line))
            return false;
    for (uint32_t i = 0; i < affine->channels; i++) {
        line_of(affine, graph, op, value, i, &line);
        affine->factor[i] *= line.factor;
        affine->addend[i] = affine->addend[i] * line.factor + line.addend;
    }
    return true;
}
