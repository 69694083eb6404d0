/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch norms, factors and addends per channel become part of the weights and bias of the operation before
 * them; those before a convolution become part of its own, except addends where it has padding, which they
 * would not reach. Products are in double precision and are rounded once. A chain is folded when its first
 * operation is met; the operations behind it are then left out. Weights that fp16 cannot hold stay as they
 * are.
 */
#include <errno.h>
#include <math.h>

#include "base/alloc.h"
#include "compiler/pass/affine.h"
#include "compiler/pass/passes.h"
#include "compiler/pass/window.h"

enum { BEFORE_MAX = 8 }; /* operations before a convolution that are looked at */
#define HALF_MAX 65504.0 /* the largest fp16 value */

/* By value: the operation that uses it, number + 1. By operation: whether it is folded into another one. */
struct plan {
    uint32_t *user;
    bool *taken;
};

/* An operation with weights, and what is folded into it. */
struct fold {
    struct cc_rewrite *r;
    const struct plan *plan;
    const struct cc_op *op;
    uint32_t x, y;      /* values that replace its operand and its result */
    uint32_t ins, outs; /* channels */
    bool any;
    struct cc_affine before, after;
};

static bool has_weights(const struct cc_rewrite *r, const struct cc_op *op)
{
    const struct cc_value *y;

    switch (op->kind) {
    case CC_OP_CONV:
    case CC_OP_CONV_TRANSPOSE:
    case CC_OP_LINEAR: return op->inputs == 1;
    case CC_OP_MATMUL: /* with a constant matrix: a LINEAR */
        y = &r->from->value[op->input[1]];
        return y->data && y->rank == 2 && !op->a.transpose_x && !r->from->value[op->input[0]].data;
    default: return false;
    }
}

/* The operations that follow, as far as each has the only use of the one before. */
static void look_after(struct fold *f)
{
    const struct cc_graph *g = f->r->from;

    for (f->y = f->op->output; cc_rewrite_single(f->r, f->y) && f->plan->user[f->y];) {
        const struct cc_op *op = &g->op[f->plan->user[f->y] - 1];

        if (!f->r->uses[op->output] || !cc_affine_append(&f->after, g, op, f->y))
            return;
        f->y = op->output;
        f->any = true;
    }
}

/* The operand that is not a constant. */
static uint32_t runtime_operand(const struct cc_graph *g, const struct cc_op *op)
{
    return op->input[op->inputs == 2 && g->value[op->input[0]].data ? 1 : 0];
}

static bool reaches_padding(const struct fold *f)
{
    const uint32_t *pad = f->op->a.pad;

    if (!pad[0] && !pad[1] && !pad[2] && !pad[3])
        return false;
    for (uint32_t i = 0; i < f->ins; i++)
        if (f->before.addend[i] != 0)
            return true;
    return false;
}

static void clear(struct cc_affine *affine)
{
    for (uint32_t i = 0; i < affine->channels; i++) {
        affine->factor[i] = 1;
        affine->addend[i] = 0;
    }
}

/* The operations before a convolution; all of them or none. */
static void look_before(struct fold *f)
{
    const struct cc_graph *g = f->r->from;
    const struct cc_op *chain[BEFORE_MAX];
    unsigned count = 0;
    uint32_t x = f->x;

    while (count < BEFORE_MAX && cc_rewrite_single(f->r, x)) {
        const struct cc_op *op = cc_rewrite_maker(f->r, x);

        /* read alone, to see whether it is of this kind */
        if (!op || op->inputs == 0 || f->plan->taken[op - g->op] ||
            !cc_affine_append(&f->before, g, op, runtime_operand(g, op)))
            break;
        chain[count++] = op;
        x = runtime_operand(g, op);
    }
    clear(&f->before);
    if (!count)
        return;
    while (count > 0) {
        const struct cc_op *op = chain[--count];

        cc_affine_append(&f->before, g, op, runtime_operand(g, op));
    }
    if (reaches_padding(f)) {
        clear(&f->before);
        return;
    }
    f->x = x;
    f->any = true;
}

/* [out, in] of a LINEAR or the constant of a MATMUL; any other weight has four axes. */
static bool read_kernel(struct fold *f, struct cc_kernel *kernel)
{
    const struct cc_op *op = f->op;
    struct cc_build *b = &f->r->to;
    const struct cc_value *v;
    bool turned = op->kind == CC_OP_MATMUL && !op->a.transpose_y;

    if (op->kind == CC_OP_CONV || op->kind == CC_OP_CONV_TRANSPOSE)
        return cc_kernel_of(b, &f->r->from->value[op->a.weight - 1], kernel);
    v = &f->r->from->value[op->kind == CC_OP_MATMUL ? op->input[1] : op->a.weight - 1];
    if (!cc_kernel_make(b, (uint32_t[4]){f->outs, f->ins, 1, 1}, kernel))
        return false;
    for (uint32_t out = 0; out < f->outs; out++)
        for (uint32_t in = 0; in < f->ins; in++)
            *cc_kernel_at(kernel, out, in, 0, 0) = (float)cc_value_number(
                v, turned ? (uint64_t)in * f->outs + out : (uint64_t)out * f->ins + in);
    return true;
}

/* The channels that a weight of axes 0 and 1 connects. */
static void channels_of(const struct fold *f, const struct cc_kernel *k, uint32_t i, uint32_t j,
                        uint32_t *out, uint32_t *in)
{
    uint32_t groups = f->op->a.groups ? f->op->a.groups : 1, group = i / (k->dim[0] / groups);

    *out = f->op->kind == CC_OP_CONV_TRANSPOSE ? group * k->dim[1] + j : i;
    *in = f->op->kind == CC_OP_CONV_TRANSPOSE ? i : group * k->dim[1] + j;
}

/* Multiplies the weights and adds up the bias; false if fp16 cannot hold a result. */
static bool multiply(const struct fold *f, struct cc_kernel *k, double *bias)
{
    size_t taps = (size_t)k->dim[2] * k->dim[3];
    float *w = k->w;
    uint32_t out, in;

    for (uint32_t i = 0; i < k->dim[0]; i++)
        for (uint32_t j = 0; j < k->dim[1]; j++) {
            channels_of(f, k, i, j, &out, &in);
            for (size_t t = 0; t < taps; t++, w++) {
                double product = (double)*w * f->after.factor[out];

                bias[out] += product * f->before.addend[in];
                *w = (float)(product * f->before.factor[in]);
                if (!(fabsf(*w) <= (float)HALF_MAX))
                    return false;
            }
        }
    for (uint32_t i = 0; i < f->outs; i++)
        if (!(fabs(bias[i]) <= HALF_MAX))
            return false;
    return true;
}

static uint32_t put_bias(struct cc_build *b, const double *bias, uint32_t count)
{
    float *data = base_alloc_array(count, sizeof(*data));

    for (uint32_t i = 0; data && i < count; i++)
        data[i] = (float)bias[i];
    return cc_build_const(b, CC_FP32, 1, &count, data) + 1;
}

/* The operation with its new weights, and the operations that are now part of it. */
static void replace(struct fold *f, struct cc_kernel *kernel, const double *bias)
{
    const struct cc_graph *g = f->r->from;
    struct cc_build *b = &f->r->to;
    struct cc_attributes a = f->op->a;
    bool windowed = f->op->kind == CC_OP_CONV || f->op->kind == CC_OP_CONV_TRANSPOSE;
    uint32_t x = cc_rewrite_value(f->r, f->x);

    a.weight = cc_build_const(b, CC_FP32, windowed ? 4 : 2, kernel->dim, kernel->w) + 1;
    kernel->w = NULL;
    a.bias = put_bias(b, bias, f->outs);
    cc_rewrite_put(f->r, f->y,
                   cc_build_op(b, f->op->kind == CC_OP_MATMUL ? CC_OP_LINEAR : f->op->kind, 1, &x, &a));
    for (uint32_t y = f->op->output; y != f->y; y = g->op[f->plan->user[y] - 1].output)
        f->plan->taken[f->plan->user[y] - 1] = true;
}

static void fold_all(struct fold *f, bool *done)
{
    const struct cc_value *old = f->op->a.bias ? &f->r->from->value[f->op->a.bias - 1] : NULL;
    double *bias = base_alloc_array(f->outs, sizeof(*bias));
    struct cc_kernel kernel = {.w = NULL};

    if (!bias) {
        f->r->to.status = base_fail(f->r->to.error, ENOMEM, "There is no memory for %u channels.", f->outs);
        return;
    }
    for (uint32_t i = 0; i < f->outs; i++)
        bias[i] = (old ? cc_value_number(old, i) : 0) * f->after.factor[i] + f->after.addend[i];
    if (read_kernel(f, &kernel) && multiply(f, &kernel, bias)) {
        replace(f, &kernel, bias);
        *done = true;
    }
    base_free(kernel.w);
    base_free(bias);
}

static void norm(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    const struct plan *plan = r->context;
    const struct cc_value *y = &r->from->value[op->output], *x;
    struct fold f = {.r = r, .plan = plan, .op = op};
    uint32_t axis;

    if (plan->taken[op - r->from->op]) {
        *done = true;
        return;
    }
    if (!has_weights(r, op))
        return;
    x = &r->from->value[op->input[0]];
    axis = op->kind == CC_OP_CONV || op->kind == CC_OP_CONV_TRANSPOSE ? 1 : y->rank - 1;
    f.x = op->input[0];
    f.ins = x->dim[op->kind == CC_OP_CONV || op->kind == CC_OP_CONV_TRANSPOSE ? 1 : x->rank - 1];
    f.outs = y->dim[axis];
    if (cc_affine_open(&f.after, axis, f.outs) || cc_affine_open(&f.before, 1, f.ins)) {
        r->to.status = base_fail(r->to.error, ENOMEM, "There is no memory for %u channels.", f.outs);
    } else {
        look_after(&f);
        if (op->kind == CC_OP_CONV)
            look_before(&f);
        if (f.any)
            fold_all(&f, done);
    }
    cc_affine_close(&f.after);
    cc_affine_close(&f.before);
}

/* Weights that are an operand and have become a constant are a parameter again. */
static void take_weights(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    struct cc_op named = *op;

    if (op->kind != CC_OP_CONV || op->inputs != 2 || !r->from->value[op->input[1]].data)
        return;
    named.inputs = 1;
    named.a.weight = op->input[1] + 1;
    cc_rewrite_copy(r, &named);
    *done = true;
}

static int fold_norms(struct cc_graph **graph, struct base_error *error)
{
    const struct cc_graph *g = *graph;
    struct plan plan = {.user = base_alloc_array(g->values ? g->values : 1, sizeof(*plan.user)),
                        .taken = base_alloc_array(g->ops ? g->ops : 1, sizeof(*plan.taken))};
    int status;

    if (!plan.user || !plan.taken) {
        status = base_fail(error, ENOMEM, "There is no memory for a graph of %u values.", g->values);
    } else {
        for (uint32_t i = 0; i < g->ops; i++)
            for (uint32_t k = 0; k < g->op[i].inputs; k++)
                plan.user[g->op[i].input[k]] = i + 1;
        status = cc_rewrite(graph, norm, &plan, NULL, error);
    }
    base_free(plan.user);
    base_free(plan.taken);
    return status;
}

int cc_pass_norm(struct cc_graph **graph, struct base_error *error)
{
    int status = cc_rewrite(graph, take_weights, NULL, NULL, error);

    return status ? status : fold_norms(graph, error);
}
