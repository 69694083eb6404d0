/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window over an axis that is longer than a descriptor takes: the result is computed in pieces, each from
 * the part of x that it reads, and they are put together. Padding is that of the first and of the last piece.
 */
#include "compiler/pass/window.h"

/* H and W have the same limit. */
_Static_assert(PR_HEIGHT_MAX == PR_WIDTH_MAX, "one limit of both axes of a window");

struct cut {
    struct cc_rewrite *r;
    const struct cc_op *op;
    const struct cc_value *x, *y;
    unsigned axis; /* 0: H, 1: W */
    uint32_t taps;
};

/* The results from `first` on, `count` of them. */
static uint32_t piece(const struct cut *c, struct cc_attributes a, uint32_t first, uint32_t count)
{
    uint32_t *pad = &a.pad[2 * c->axis], length = c->x->dim[2 + c->axis];
    int64_t begin = (int64_t)first * a.stride[c->axis] - pad[0];
    int64_t end = begin + (int64_t)(count - 1) * a.stride[c->axis] + c->taps;
    uint32_t from[4] = {0}, size[4], x = cc_rewrite_value(c->r, c->op->input[0]);

    for (unsigned i = 0; i < 4; i++)
        size[i] = c->x->dim[i];
    pad[0] = begin < 0 ? (uint32_t)-begin : 0;
    pad[1] = end > length ? (uint32_t)(end - length) : 0;
    from[2 + c->axis] = begin < 0 ? 0 : (uint32_t)begin;
    size[2 + c->axis] = (end > length ? length : (uint32_t)end) - from[2 + c->axis];
    x = c->r->to.status ? 0 : cc_build_slice(&c->r->to, x, from, size, NULL);
    return cc_build_op(&c->r->to, c->op->kind, 1, &x, &a);
}

/* Pieces of nearly the same length: none is so short that it reads padding alone. */
static void cut(const struct cut *c)
{
    uint32_t whole = c->y->dim[2 + c->axis], most, count, step, value[CC_INPUTS_MAX];
    struct cc_attributes a = c->op->a;
    struct cc_build *b = &c->r->to;

    most = (PR_WIDTH_MAX - c->taps) / a.stride[c->axis] + 1;
    count = (whole + most - 1) / most;
    step = (whole + count - 1) / count;
    if (count > CC_INPUTS_MAX) {
        cc_build_refuse(b, "a window over an axis of length %u needs %u pieces, more than %u",
                        c->x->dim[2 + c->axis], count, CC_INPUTS_MAX);
        return;
    }
    a.weight = cc_rewrite_parameter(c->r, a.weight);
    a.bias = cc_rewrite_parameter(c->r, a.bias);
    for (uint32_t i = 0; i < count && !b->status; i++)
        value[i] = piece(c, a, i * step, whole - i * step < step ? whole - i * step : step);
    if (!b->status)
        cc_rewrite_put(c->r, c->op->output, cc_build_concat(b, count, value, 2 + c->axis));
}

void cc_window_long(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    struct cut c = {.r = r, .op = op, .y = &r->from->value[op->output]};

    if ((op->kind != CC_OP_CONV && op->kind != CC_OP_MAX_POOL && op->kind != CC_OP_AVG_POOL) ||
        op->inputs != 1)
        return;
    c.x = &r->from->value[op->input[0]];
    for (c.axis = 0; c.axis < CC_WINDOW_AXES; c.axis++) {
        c.taps = op->kind == CC_OP_CONV ? cc_op_weight(r->from, op)->dim[2 + c.axis] : op->a.kernel[c.axis];
        if (c.taps > cc_window_limit[c.axis])
            continue; /* all of the axis: a reduction */
        if (c.x->dim[2 + c.axis] > PR_WIDTH_MAX || c.y->dim[2 + c.axis] > PR_WIDTH_MAX) {
            cut(&c);
            *done = true;
            return;
        }
    }
}
