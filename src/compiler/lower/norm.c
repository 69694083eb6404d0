/* SPDX-License-Identifier: Apache-2.0 */
/*
 * softmax and the norms: reduce each group of elements to a scalar, then apply it to the group. The tensor is
 * seen as `kept` planes of `rows` by `width` elements, one plane per group; where its axes are in another
 * order, it is transposed first, and the result is transposed back.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/half.h"
#include "compiler/lower/emit.h"
#include "compiler/lower/family.h"
#include "compiler/lower/neural.h"
#include "compiler/lower/planar.h"
#include "program/td_codes.h"

enum { ADDEND_MAX = 2048 }; /* fp16 values below this are at most 1 apart */

/*
 * A tensor of so many bytes is taken in blocks of planes: the tasks of a block follow each other while its
 * elements are near (in L2, and in the caches of a host); intermediate results need room for one block.
 */
enum { BLOCKED_BYTES = 1 << 20, BLOCK_BYTES = 1 << 18 };

/* x and y are views of the axes 1, kept, rows, width. */
struct planes {
    struct cc_view x, y;
    bool moved;
    struct cc_view back_from, back_to;
};

/* Whether the axes of a group are exactly those from `first` on. */
static bool is_trailing(const struct cc_view *v, uint32_t axes, unsigned first)
{
    for (unsigned i = 0; i < CC_AXES; i++)
        if (v->extent[i] > 1 && (axes >> i & 1) != (i >= first))
            return false;
    return true;
}

static struct cc_view merged(const struct cc_view *v, unsigned first)
{
    struct cc_view m = {
        .at = v->at, .extent = {1, 1, 1, v->extent[CC_AXIS_W]}, .stride = {0, 0, 0, CC_ELEMENT}};

    for (unsigned i = 0; i < CC_AXIS_W; i++)
        m.extent[i < first ? CC_AXIS_C : CC_AXIS_H] *= v->extent[i];
    m.stride[CC_AXIS_H] = v->stride[CC_AXIS_H];
    m.stride[CC_AXIS_C] = first ? v->stride[first - 1] : 0;
    return m;
}

static int open_planes(struct cc_lowering *l, uint32_t axes, const struct cc_view *x, const struct cc_view *y,
                       struct planes *p)
{
    uint32_t perm[CC_AXES], extent[CC_AXES], count = 0, first = 0;
    struct cc_view from, tx, ty;
    int status;

    *p = (struct planes){0};
    for (unsigned i = 0; i < CC_AXES; i++)
        if (is_trailing(x, axes, i)) {
            p->x = merged(x, i);
            p->y = merged(y, i);
            return 0;
        }
    for (unsigned i = 0; i < 2 * CC_AXES; i++)
        if ((axes >> i % CC_AXES & 1) == i / CC_AXES)
            perm[count++] = i % CC_AXES;
    for (unsigned i = 0; i < CC_AXES; i++) {
        extent[i] = x->extent[perm[i]];
        first += !(axes >> i & 1);
    }
    status = cc_view_scratch(l, extent, &tx);
    if (!status)
        status = cc_view_scratch(l, extent, &ty);
    if (status)
        return status;
    from = cc_view_permuted(x, perm);
    status = cc_emit_move(l, &from, &tx, NULL);
    p->moved = true;
    p->back_from = ty;
    p->back_to = cc_view_permuted(y, perm);
    p->x = merged(&tx, first);
    p->y = merged(&ty, first);
    return status;
}

static int close_planes(struct cc_lowering *l, const struct planes *p)
{
    return p->moved ? cc_emit_move(l, &p->back_from, &p->back_to, NULL) : 0;
}

/* The planes of a block, at least one. */
static uint32_t planes_of_block(const struct cc_view *x)
{
    uint64_t plane = (uint64_t)x->extent[CC_AXIS_H] * x->stride[CC_AXIS_H];
    uint32_t kept = x->extent[CC_AXIS_C];

    if (kept * plane < BLOCKED_BYTES)
        return kept;
    return plane > BLOCK_BYTES ? 1 : (uint32_t)(BLOCK_BYTES / plane);
}

/* `count` planes from `first` on, or as many as there are. */
static struct cc_view some_planes(const struct cc_view *v, uint32_t first, uint32_t count)
{
    struct cc_view part = *v;
    uint32_t left = v->extent[CC_AXIS_C] - first;

    part.extent[CC_AXIS_C] = left < count ? left : count;
    part.at.offset += first * v->stride[CC_AXIS_C];
    return part;
}

/* Two scalars for each plane: two rows, in which the scalars of neighbouring planes are 64 bytes apart. */
static int open_scalars(struct cc_lowering *l, uint32_t planes, struct cc_view *scalars)
{
    return cc_view_scratch(l, (uint32_t[CC_AXES]){1, 2, planes, 1}, scalars);
}

static struct cc_view scalar_row(const struct cc_view *scalars, unsigned row)
{
    struct cc_view v = {.at = scalars->at,
                        .extent = {1, scalars->extent[CC_AXIS_H], 1, 1},
                        .stride = {0, scalars->stride[CC_AXIS_H], 0, CC_ELEMENT}};

    v.at.offset += row * scalars->stride[CC_AXIS_C];
    return v;
}

/* A task over planes, which are its channels; cut where there are more than a descriptor takes. */
static int emit_planes(struct cc_lowering *l, struct pr_e5_record r, const struct cc_view *x,
                       const struct cc_view *to)
{
    uint32_t kept = x->extent[CC_AXIS_C];
    bool reduces = r.kind != PR_E5_AFFINE;
    int status = 0;

    if (x->extent[CC_AXIS_H] > PR_HEIGHT_MAX || x->extent[CC_AXIS_W] > PR_WIDTH_MAX)
        return cc_refuse(
            l, "it normalises over %u rows of %u elements; one descriptor takes at most %u rows of %u",
            x->extent[CC_AXIS_H], x->extent[CC_AXIS_W], PR_HEIGHT_MAX, PR_WIDTH_MAX);
    r.in[CC_W] = x->extent[CC_AXIS_W];
    r.in[CC_H] = x->extent[CC_AXIS_H];
    r.in[CC_G] = 1;
    r.src[0] = x->at;
    r.src[0].row = x->stride[CC_AXIS_H];
    r.src[0].plane = x->stride[CC_AXIS_C];
    r.dst = to->at;
    r.dst.row = to->stride[CC_AXIS_H];
    r.dst.plane = to->stride[CC_AXIS_C];
    for (uint32_t at = 0; at < kept && !status; at += PR_CHANNELS_MAX) {
        r.in[CC_C] = kept - at < PR_CHANNELS_MAX ? kept - at : PR_CHANNELS_MAX;
        memcpy(r.out, r.in, sizeof(r.out));
        if (reduces)
            r.out[CC_W] = r.out[CC_H] = 1;
        status = cc_emit(l, &r);
        r.src[0].offset += PR_CHANNELS_MAX * r.src[0].plane;
        r.src[1].offset += r.src[1].place == PR_E5_NONE ? 0 : PR_CHANNELS_MAX * r.src[1].plane;
        r.dst.offset += PR_CHANNELS_MAX * r.dst.plane;
    }
    return status;
}

/* One block; `t` has room for it. The exponentials take the place of their exponents. */
static int softmax_block(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *scalars,
                         const struct cc_view *t, const struct cc_view *y)
{
    struct cc_planar subtract = {.flags = PR_E5_SUBTRACT2, .scale = PR_HALF_LOG2_E},
                     multiply = {.op = PR_PE_MUL};
    struct cc_table exponential = cc_table_curve(CC_CURVE_EXP2);
    struct cc_neural pass = {.table = &exponential};
    struct pr_e5_record maximum = cc_record(PR_E5_REDUCE), sum = cc_record(PR_E5_REDUCE);
    struct cc_view first = scalar_row(scalars, 0), second = scalar_row(scalars, 1);
    int status;

    maximum.op = PR_PE_REDUCE_MAX;
    sum.op = PR_PE_REDUCE_SUM;
    sum.function = PR_PE_RECIPROCAL;
    status = emit_planes(l, maximum, x, &first);
    if (!status)
        status = cc_emit_planar(l, &subtract, x, &first, t);
    if (!status)
        status = cc_emit_move(l, t, t, &pass);
    if (!status)
        status = emit_planes(l, sum, t, &second);
    return status ? status : cc_emit_planar(l, &multiply, t, &second, y);
}

static int softmax_planes(struct cc_lowering *l, const struct planes *p)
{
    uint32_t kept = p->x.extent[CC_AXIS_C], block = planes_of_block(&p->x);
    int status = 0;

    for (uint32_t at = 0; at < kept && !status; at += block) {
        struct cc_view x = some_planes(&p->x, at, block), y = some_planes(&p->y, at, block), scalars, t;

        status = open_scalars(l, x.extent[CC_AXIS_C], &scalars);
        if (!status)
            status = cc_view_scratch(l, x.extent, &t);
        if (!status)
            status = softmax_block(l, &x, &scalars, &t, &y);
    }
    return status;
}

static uint32_t engine_axes(const struct cc_lowering *l, const struct cc_op *op, uint32_t axes)
{
    return axes << (CC_AXES - cc_value_of(l, op->input[0])->rank);
}

int cc_lower_softmax(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    struct cc_view x, y;
    struct planes p = {0};
    int status = cc_view_source(l, op->input[0], &x);

    if (!status)
        status = cc_view_result(l, step->output, &y);
    if (!status)
        status = open_planes(l, engine_axes(l, op, 1u << op->a.axis), &x, &y, &p);
    if (!status)
        status = softmax_planes(l, &p);
    return status ? status : close_planes(l, &p);
}

/*
 * The epsilon register is fp16. An epsilon that rounds to 0 there cannot be added; instead the reciprocal
 * root is bounded by 1 / sqrt(epsilon) and by the largest fp16 value, so that a plane of equal elements gives
 * 0 and not 0 / 0.
 */
static bool epsilon_is_lost(float epsilon)
{
    return epsilon > 0 && !cc_half_of_float(epsilon);
}

static int bound_roots(struct cc_lowering *l, float epsilon, const struct cc_view *roots,
                       const struct cc_view *to)
{
    float bound = 1 / sqrtf(epsilon);
    uint16_t half =
        bound < cc_float_of_half(PR_HALF_LARGEST) ? cc_half_of_float(bound) : (uint16_t)PR_HALF_LARGEST;
    struct cc_view limit;
    int status = cc_view_scalar(l, half, &limit);

    return status ? status : cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MIN}, roots, &limit, to);
}

static int normalize_block(struct cc_lowering *l, float epsilon, const struct cc_view *x,
                           const struct cc_view *to)
{
    struct pr_e5_record mean = cc_record(PR_E5_REDUCE), root = cc_record(PR_E5_REDUCE2),
                        affine = cc_record(PR_E5_AFFINE);
    float count = (float)x->extent[CC_AXIS_H] * (float)x->extent[CC_AXIS_W];
    bool bounded = epsilon_is_lost(epsilon);
    struct cc_view scalars, first, second, roots;
    int status = open_scalars(l, x->extent[CC_AXIS_C], &scalars);

    if (status)
        return status;
    first = scalar_row(&scalars, 0);
    roots = second = scalar_row(&scalars, 1);
    if (bounded)
        status = cc_view_scratch(l, second.extent, &roots);
    mean.op = root.op = PR_PE_REDUCE_SUM;
    mean.final_scale = root.final_scale = cc_float_bits(1.0f / count);
    root.elementwise = PR_PE_SQUARE_OF_SUM;
    root.function = PR_PE_RSQRT;
    root.epsilon = cc_half_of_float(epsilon);
    root.flags = PR_E5_SUBTRACT1;
    root.broadcast = (PR_BROADCAST_W | PR_BROADCAST_H) << PR_BROADCAST_SECOND_LO;
    root.src[1] = affine.src[1] = first.at;
    root.src[1].plane = affine.src[1].plane = first.stride[CC_AXIS_C];
    affine.src[1].row = scalars.stride[CC_AXIS_C];
    affine.flags = PR_E5_SUBTRACT2;
    if (!status)
        status = emit_planes(l, mean, x, &first);
    if (!status)
        status = emit_planes(l, root, x, &roots);
    if (!status && bounded)
        status = bound_roots(l, epsilon, &roots, &second);
    return status ? status : emit_planes(l, affine, x, to);
}

/* (x - mean) / sqrt(variance + epsilon) of each plane, to `to`. */
static int normalize(struct cc_lowering *l, float epsilon, const struct planes *p, const struct cc_view *to)
{
    uint32_t kept = p->x.extent[CC_AXIS_C], block = planes_of_block(&p->x);
    int status = 0;

    for (uint32_t at = 0; at < kept && !status; at += block) {
        struct cc_view x = some_planes(&p->x, at, block), y = some_planes(to, at, block);

        status = normalize_block(l, epsilon, &x, &y);
    }
    return status;
}

/* x / sqrt(sum x^2 + epsilon) of each plane. */
static int unit_planes(struct cc_lowering *l, float epsilon, const struct planes *p)
{
    struct pr_e5_record root = cc_record(PR_E5_REDUCE);
    bool bounded = epsilon_is_lost(epsilon);
    struct cc_view scalars, first, second;
    int status = open_scalars(l, p->x.extent[CC_AXIS_C], &scalars);

    if (status)
        return status;
    first = scalar_row(&scalars, 0);
    second = scalar_row(&scalars, 1);
    root.op = PR_PE_REDUCE_SUM;
    root.elementwise = PR_PE_SQUARE_OF_SUM;
    root.function = PR_PE_RSQRT;
    root.epsilon = cc_half_of_float(epsilon);
    status = emit_planes(l, root, &p->x, &first);
    if (!status && bounded)
        status = bound_roots(l, epsilon, &first, &second);
    return status ? status
                  : cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MUL}, &p->x, bounded ? &second : &first,
                                   &p->y);
}

/* A constant's elements, `width` of them on each row. */
static int constant_rows(struct cc_lowering *l, const uint16_t *values, uint32_t rows, uint32_t width,
                         struct cc_view *view)
{
    uint64_t row = pr_round_up((uint64_t)width * CC_ELEMENT, PR_ROW_ALIGN);
    uint8_t *bytes;
    int status;

    if (rows * row > PR_E5_BYTES_MAX)
        return cc_refuse(l, "a parameter has more than %u bytes with its rows on 64-byte boundaries",
                         PR_E5_BYTES_MAX);
    bytes = base_alloc_array(rows, row);
    if (!bytes)
        return cc_no_memory(l);
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < width; k++)
            cc_put_half(bytes + i * row + (size_t)k * CC_ELEMENT, values[(size_t)i * width + k]);
    *view = (struct cc_view){.at = {.place = PR_E5_CONSTANT},
                             .extent = {1, 1, rows, width},
                             .stride = {0, 0, (uint32_t)row, CC_ELEMENT}};
    status = cc_constant(l, bytes, (uint32_t)(rows * row), &view->at.offset);
    base_free(bytes);
    return status;
}

/* Each element on a row of its own. */
static int column(struct cc_lowering *l, const uint16_t *values, uint32_t count, struct cc_view *view)
{
    return constant_rows(l, values, count, 1, view);
}

/* The view's axis of the channels of an operand [N, C, ...]. */
static unsigned channel_axis(const struct cc_lowering *l, const struct cc_op *op)
{
    return CC_AXES - cc_value_of(l, op->input[0])->rank + 1;
}

/*
 * gamma or beta of `x`: one for each element of a plane (layer_norm), or one for each channel. The elements
 * of a plane are the parameter's, in the same order, but not always on rows of the same length: a plane of
 * [1, C, 1, 1] has C rows.
 */
static int take_parameter(struct cc_lowering *l, const struct cc_op *op, uint32_t value,
                          const struct cc_view *x, struct cc_view *view)
{
    const uint16_t *values = cc_data(l, value);
    const struct cc_value *v = cc_value_of(l, value);
    int status;

    if (op->kind == CC_OP_LAYER_NORM)
        return constant_rows(l, values, x->extent[CC_AXIS_H], x->extent[CC_AXIS_W], view);
    if (channel_axis(l, op) == CC_AXIS_W)
        return cc_view_source(l, value, view);
    status = column(l, values, v->dim[0], view);
    for (unsigned i = 0; i < CC_AXES; i++) {
        view->extent[i] = i == channel_axis(l, op) ? v->dim[0] : 1;
        view->stride[i] = i == CC_AXIS_W ? CC_ELEMENT : PR_ROW_ALIGN;
    }
    return status;
}

/*
 * x * gamma + beta, each if given; `x` and `y` have the shape of the parameters, or one that they broadcast
 * to.
 */
static int scale_and_shift(struct cc_lowering *l, const struct cc_op *op, const struct cc_view *x,
                           const struct cc_view *y)
{
    const struct cc_attributes *a = &op->a;
    struct cc_view gamma, beta, t = *y;
    int status = 0;

    if (a->weight && a->bias)
        status = cc_view_scratch(l, y->extent, &t);
    if (!status && a->weight)
        status = take_parameter(l, op, a->weight - 1, x, &gamma);
    if (!status && a->weight)
        status = cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MUL}, x, &gamma, &t);
    if (status || !a->bias)
        return status;
    status = take_parameter(l, op, a->bias - 1, x, &beta);
    return status ? status
                  : cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_ADD}, a->weight ? &t : x, &beta, y);
}

/* Normalises into a buffer, then applies gamma and beta to the buffer in the shape of the parameters. */
static int norm_with_parameters(struct cc_lowering *l, const struct cc_op *op, const struct planes *p,
                                const struct cc_view *y)
{
    struct cc_view t, whole;
    int status;

    if (op->kind == CC_OP_LAYER_NORM) {
        status = cc_view_scratch(l, p->x.extent, &t);
        if (!status)
            status = normalize(l, op->a.epsilon, p, &t);
        return status ? status : scale_and_shift(l, op, &t, &p->y);
    }
    /* instance_norm: the groups are the planes of the tensor, so nothing was transposed. */
    status = cc_view_scratch(l, y->extent, &whole);
    t = p->y;
    t.at = whole.at;
    if (!status)
        status = normalize(l, op->a.epsilon, p, &t);
    return status ? status : scale_and_shift(l, op, &whole, y);
}

int cc_lower_norm(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    uint32_t rank = cc_value_of(l, op->input[0])->rank, axes = op->a.axes;
    struct cc_view x, y;
    struct planes p = {0};
    int status = cc_view_source(l, op->input[0], &x);

    if (op->kind == CC_OP_INSTANCE_NORM)
        axes = (1u << rank) - 4;
    if (op->kind == CC_OP_L2_NORM)
        axes = (1u << rank) - 2;
    if (!status)
        status = cc_view_result(l, step->output, &y);
    if (!status)
        status = open_planes(l, engine_axes(l, op, axes), &x, &y, &p);
    if (!status && p.moved && op->kind == CC_OP_INSTANCE_NORM)
        status = cc_refuse(l, "its axes after the second are not the last axes of the tensor");
    if (!status && op->kind == CC_OP_L2_NORM)
        status = unit_planes(l, op->a.epsilon, &p);
    else if (!status)
        status = op->a.weight || op->a.bias ? norm_with_parameters(l, op, &p, &y)
                                            : normalize(l, op->a.epsilon, &p, &p.y);
    return status ? status : close_planes(l, &p);
}

/* batch_norm folded, for each channel: y = (x + addend) * factor = x * factor + shift. */
struct batch {
    uint32_t channels;
    uint16_t *addend, *factor, *shift;
    bool affine; /* every channel can use the first form */
};

static void fold(const struct cc_lowering *l, const struct cc_op *op, struct batch *b)
{
    const struct cc_attributes *a = &op->a;
    const uint16_t *gamma = a->weight ? cc_data(l, a->weight - 1) : NULL;
    const uint16_t *beta = a->bias ? cc_data(l, a->bias - 1) : NULL;
    const uint16_t *mean = cc_data(l, a->mean - 1), *variance = cc_data(l, a->variance - 1);

    b->affine = true;
    for (uint32_t i = 0; i < b->channels; i++) {
        float factor =
            (gamma ? cc_float_of_half(gamma[i]) : 1) / sqrtf(cc_float_of_half(variance[i]) + a->epsilon);
        float shift = (beta ? cc_float_of_half(beta[i]) : 0) - cc_float_of_half(mean[i]) * factor;

        b->factor[i] = cc_half_of_float(factor);
        b->shift[i] = cc_half_of_float(shift);
        b->addend[i] = cc_half_of_float(factor != 0 ? shift / factor : 0);
        /* Fold only if fp16 represents the addend closely; otherwise add separately. */
        b->affine &= b->factor[i] & ~PR_HALF_SIGN && fabsf(cc_float_of_half(b->addend[i])) < ADDEND_MAX;
    }
}

/* One affine task: two rows of constants, addends and factors. */
static int emit_affine(struct cc_lowering *l, const struct cc_op *op, const struct batch *b,
                       const struct cc_view *x, const struct cc_view *y)
{
    struct pr_e5_record r = cc_record(PR_E5_AFFINE);
    unsigned c = channel_axis(l, op), g = c - 1;
    uint32_t row = (uint32_t)pr_round_up(2ull * b->channels, PR_ROW_ALIGN);
    uint8_t *bytes = base_alloc_array(2, row);
    int status;

    if (!bytes)
        return cc_no_memory(l);
    for (uint32_t i = 0; i < b->channels; i++) {
        cc_put_half(bytes + 2 * (size_t)i, b->addend[i]);
        cc_put_half(bytes + row + 2 * (size_t)i, b->factor[i]);
    }
    r.src[1] = (struct pr_e5_operand){.place = PR_E5_CONSTANT, .row = row};
    status = cc_constant(l, bytes, 2 * row, &r.src[1].offset);
    base_free(bytes);
    if (status)
        return status;
    r.flags = PR_E5_TRANSPOSE2;
    r.in[CC_W] = x->extent[CC_AXIS_W];
    r.in[CC_H] = c == CC_AXIS_C ? x->extent[CC_AXIS_H] : 1;
    r.in[CC_C] = x->extent[c];
    r.in[CC_G] = x->extent[g];
    memcpy(r.out, r.in, sizeof(r.out));
    r.src[0] = x->at;
    r.dst = y->at;
    r.src[0].row = x->stride[CC_AXIS_H];
    r.dst.row = y->stride[CC_AXIS_H];
    r.src[0].plane = x->stride[c];
    r.dst.plane = y->stride[c];
    r.src[0].group = x->stride[g];
    r.dst.group = y->stride[g];
    return cc_emit_cut(l, &r);
}

static int emit_separately(struct cc_lowering *l, const struct cc_op *op, const struct batch *b,
                           const struct cc_view *x, const struct cc_view *y)
{
    unsigned c = channel_axis(l, op);
    struct cc_view parameter[2], t, row[2];
    int status = cc_view_scratch(l, y->extent, &t);

    for (unsigned i = 0; i < 2 && !status; i++) {
        status = column(l, i ? b->shift : b->factor, b->channels, &parameter[i]);
        for (unsigned k = 0; k < CC_AXES; k++) {
            parameter[i].extent[k] = k == c ? b->channels : 1;
            parameter[i].stride[k] = k == CC_AXIS_W && c != CC_AXIS_W ? CC_ELEMENT : PR_ROW_ALIGN;
        }
        row[i] = parameter[i];
        if (!status && c == CC_AXIS_W) {
            status = cc_view_scratch(l, parameter[i].extent, &row[i]);
            if (!status)
                status = cc_emit_move(l, &parameter[i], &row[i], NULL);
        }
    }
    if (!status)
        status = cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MUL}, x, &row[0], &t);
    return status ? status : cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_ADD}, &t, &row[1], y);
}

int cc_lower_batch_norm(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    struct batch b = {.channels = cc_value_of(l, op->a.mean - 1)->dim[0]};
    uint16_t *values = base_alloc_array(b.channels, 3 * sizeof(*values));
    struct cc_view x, y;
    int status;

    if (!values)
        return cc_no_memory(l);
    b.addend = values;
    b.factor = values + b.channels;
    b.shift = values + 2 * (size_t)b.channels;
    fold(l, op, &b);
    status = cc_view_source(l, op->input[0], &x);
    if (!status)
        status = cc_view_result(l, step->output, &y);
    if (!status && b.affine && channel_axis(l, op) < CC_AXIS_W && channel_axis(l, op) > 0)
        status = emit_affine(l, op, &b, &x, &y);
    else if (!status)
        status = emit_separately(l, op, &b, &x, &y);
    base_free(values);
    return status;
}
