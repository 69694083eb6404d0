/* SPDX-License-Identifier: Apache-2.0 */
/*
 * add, sub, mul, maximum, minimum on the planar engine: two sources with broadcast axes, or one source and a scalar
 * in the bias or scale register.
 */
#include "compiler/half.h"
#include "compiler/lowering.h"

enum { BROADCAST_W = 1, BROADCAST_H = 2, BROADCAST_C = 8, SECOND = 4 };
#define CHUNK PR_WIDTH_MAX /* wider rows are cut; a multiple of 32 elements keeps offsets on 64 bytes */

static const enum pr_pe_op operation[CC_OP_COUNT] = {
    [CC_OP_ADD] = PR_PE_ADD,     [CC_OP_SUB] = PR_PE_ADD,     [CC_OP_MUL] = PR_PE_MUL,
    [CC_OP_MAXIMUM] = PR_PE_MAX, [CC_OP_MINIMUM] = PR_PE_MIN,
};

static bool is_constant(const struct cc_lowering *l, uint32_t value)
{
    return l->home[cc_root(l, value)].data != NULL;
}

static bool is_scalar(const struct cc_lowering *l, uint32_t value)
{
    const struct cc_value *v = cc_value_of(l, value);

    return is_constant(l, value) && v->bytes == cc_type_bytes(v->type);
}

static uint32_t broadcast_bits(const struct cc_layout *in, const struct cc_layout *out)
{
    return (in->w < out->w ? BROADCAST_W : 0) | (in->h < out->h ? BROADCAST_H : 0) |
           (in->c < out->c ? BROADCAST_C : 0);
}

/* Reads `value` as source `which` of a task over `out`. */
static int take_source(struct cc_lowering *l, struct pr_e5_record *r, unsigned which, uint32_t value,
                       const struct cc_layout *out)
{
    struct cc_layout in;
    int status = cc_source(l, value, &r->src[which], &in);

    if (status)
        return status;
    r->broadcast |= broadcast_bits(&in, out) << SECOND * which;
    if (in.n < out->n)
        r->src[which].group = 0;
    return 0;
}

/* x and a scalar: y = scale * (+-x) + bias. */
static void take_scalar(const struct cc_lowering *l, struct pr_e5_record *r, uint32_t value, bool first)
{
    uint16_t scalar = l->home[cc_root(l, value)].data[0];

    if (l->op->kind == CC_OP_MUL) {
        r->scale = scalar;
        return;
    }
    r->bias = scalar;
    if (l->op->kind == CC_OP_SUB && first)
        r->flags |= PR_E5_SUBTRACT1;
    else if (l->op->kind == CC_OP_SUB)
        r->bias ^= CC_HALF_SIGN;
}

static int emit_chunks(struct cc_lowering *l, struct pr_e5_record *r, const struct cc_layout *out)
{
    struct pr_e5_record base = *r;
    int status = 0;

    for (uint32_t at = 0; at < out->w && !status; at += CHUNK) {
        struct pr_e5_record part = base;

        part.in[CC_W] = part.out[CC_W] = out->w - at < CHUNK ? out->w - at : CHUNK;
        if (!(base.broadcast & BROADCAST_W))
            part.src[0].offset += 2 * at;
        if (base.kind == PR_E5_ELEMENTWISE2 && !(base.broadcast >> SECOND & BROADCAST_W))
            part.src[1].offset += 2 * at;
        part.dst.offset += 2 * at;
        status = cc_emit(l, &part);
    }
    return status;
}

int cc_lower_elementwise(struct cc_lowering *l)
{
    const uint32_t a = l->op->input[0], b = l->op->input[1];
    bool by_register = l->op->kind == CC_OP_ADD || l->op->kind == CC_OP_SUB || l->op->kind == CC_OP_MUL;
    struct pr_e5_record r;
    struct cc_layout out;
    int status;

    if (is_constant(l, a) && is_constant(l, b))
        return cc_refuse(l, "both operands are constants; compute it before compiling");
    by_register &= is_scalar(l, a) || is_scalar(l, b);
    r = cc_record(by_register ? PR_E5_ELEMENTWISE1 : PR_E5_ELEMENTWISE2);
    r.flags = l->relu ? PR_E5_RELU : 0;
    status = cc_result(l, &r.dst, &out);
    if (!status)
        status = take_source(l, &r, 0, is_constant(l, a) ? b : a, &out);
    if (status)
        return status;
    r.in[CC_H] = r.out[CC_H] = out.h;
    r.in[CC_C] = r.out[CC_C] = out.c;
    r.in[CC_G] = r.out[CC_G] = out.n;
    if (by_register) {
        take_scalar(l, &r, is_constant(l, a) ? a : b, is_constant(l, a));
        return emit_chunks(l, &r, &out);
    }
    r.op = operation[l->op->kind];
    if (l->op->kind == CC_OP_SUB)
        r.flags |= is_constant(l, a) ? PR_E5_SUBTRACT1 : PR_E5_SUBTRACT2;
    status = take_source(l, &r, 1, is_constant(l, a) ? a : b, &out);
    return status ? status : emit_chunks(l, &r, &out);
}
