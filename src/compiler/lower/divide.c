/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quotients: a table of reciprocals for one operand, and a product. floor_div rounds such a quotient to an
 * integer near the right one and then corrects it by the remainder, which the planar engine computes without
 * rounding: the product of two fp16 values and its difference from a third are exact in fp32.
 */
#include <math.h>
#include <string.h>

#include "compiler/half.h"
#include "compiler/lower/emit.h"
#include "compiler/lower/family.h"
#include "compiler/lower/neural.h"
#include "compiler/lower/planar.h"
#include "program/activation.h"

enum { SCALE_EXPONENT_MAX = 12 }; /* well inside the normal range of fp16 */

static int product(struct cc_lowering *l, const struct cc_view *a, const struct cc_view *b,
                   const struct cc_view *y)
{
    return cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MUL}, a, b, y);
}

static int by_curve(struct cc_lowering *l, enum cc_curve curve, const struct cc_view *x, struct cc_view *y)
{
    struct cc_table table = cc_table_curve(curve);
    int status = cc_view_scratch(l, x->extent, y);

    return status ? status : cc_emit_move(l, x, y, &(struct cc_neural){.table = &table});
}

/* Whether the divisor is a constant scalar that is finite and not 0. */
static bool divides_by_number(const struct cc_lowering *l, uint32_t divisor, float *number)
{
    if (!cc_is_scalar(l, divisor))
        return false;
    *number = cc_float_of_half(cc_data(l, divisor)[0]);
    return isfinite(*number) && *number != 0;
}

/*
 * x times the reciprocal of a number. A reciprocal outside the normal range of fp16 is split into two fp16
 * factors.
 */
static int divide_by_number(struct cc_lowering *l, const struct cc_view *x, float number,
                            const struct cc_view *y)
{
    struct cc_planar how = {.op = PR_PE_ADD};
    int exponent, before;

    (void)frexpf(1 / number, &exponent);
    before = exponent > SCALE_EXPONENT_MAX    ? exponent - SCALE_EXPONENT_MAX
             : exponent < -SCALE_EXPONENT_MAX ? exponent + SCALE_EXPONENT_MAX
                                              : 0;
    how.pre_scale = cc_half_of_float(ldexpf(1, before));
    how.scale = cc_half_of_float(ldexpf(1 / number, -before));
    return cc_emit_planar(l, &how, x, NULL, y);
}

static int divide(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *divisor,
                  const struct cc_view *y)
{
    struct cc_view inverse;
    int status = by_curve(l, CC_CURVE_RECIPROCAL, divisor, &inverse);

    return status ? status : product(l, x, &inverse, y);
}

/*
 * The quotient by an fp32 reciprocal, rounded to fp16, lies between the floor of the true quotient and the
 * next integer: both are fp16 values up to 2048. Truncated towards 0 it is one of the two. It is the upper
 * one where divisor * n exceeds x.
 */
static int floor_by_number(struct cc_lowering *l, const struct cc_view *x, float number,
                           const struct cc_view *y)
{
    struct cc_planar multiply = {.final_scale = 1 / number},
                     exceeds = {.compare = PR_PE_GREATER_EQUAL,
                                .pre_scale = cc_half_of_float(-fabsf(number)),
                                .bias = PR_HALF_MINUS_ONE,
                                .flags = number < 0 ? PR_E5_SUBTRACT2 : 0};
    struct cc_view quotient, whole, correction;
    int status = cc_view_scratch(l, y->extent, &quotient);

    if (!status)
        status = cc_emit_planar(l, &multiply, x, NULL, &quotient);
    if (!status)
        status = by_curve(l, CC_CURVE_TRUNCATE, &quotient, &whole);
    if (!status)
        status = cc_view_scratch(l, y->extent, &correction);
    if (!status)
        status = cc_emit_planar(l, &exceeds, &whole, x, &correction);
    return status ? status : cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_ADD}, &whole, &correction, y);
}

/* x - number * floor(x / number): nothing is rounded before the end. */
static int remainder_by_number(struct cc_lowering *l, const struct cc_view *x, float number,
                               const struct cc_view *y)
{
    struct cc_view whole;
    int status = cc_view_scratch(l, y->extent, &whole);

    if (!status)
        status = floor_by_number(l, x, number, &whole);
    return status
               ? status
               : cc_emit_planar(l, &(struct cc_planar){.pre_scale = cc_half_of_float(-number)}, &whole, x, y);
}

/* Tensors of one shape that follow each other in a buffer. */
struct planes {
    struct cc_view first;
    uint32_t bytes; /* of each */
};

static int open_planes(struct cc_lowering *l, const uint32_t extent[CC_AXES], uint32_t count,
                       struct planes *planes)
{
    uint32_t all[CC_AXES];
    int status;

    memcpy(all, extent, sizeof(all));
    all[CC_AXIS_N] *= count;
    status = cc_view_scratch(l, all, &planes->first);
    planes->first.extent[CC_AXIS_N] = extent[CC_AXIS_N];
    planes->bytes = extent[CC_AXIS_N] * planes->first.stride[CC_AXIS_N];
    return status;
}

static struct cc_view plane(const struct planes *planes, uint32_t i)
{
    struct cc_view v = planes->first;

    v.at.offset += i * planes->bytes;
    return v;
}

/*
 * A reduction over the planes of one or two sources, for each element of a plane. Planes are the rows of the
 * record; columns are its channels, transposed to be contiguous, and rows its groups.
 */
static int reduce_planes(struct cc_lowering *l, struct pr_e5_record r, uint32_t count,
                         const struct cc_view *to)
{
    uint32_t row = to->stride[CC_AXIS_H],
             rows = to->extent[CC_AXIS_N] * to->extent[CC_AXIS_C] * to->extent[CC_AXIS_H];
    int status = 0;

    r.op = PR_PE_REDUCE_SUM;
    r.flags = PR_E5_TRANSPOSE1 | PR_E5_OUT_TRANSPOSE | (r.kind == PR_E5_REDUCE2 ? PR_E5_TRANSPOSE2 : 0);
    r.in[CC_W] = r.out[CC_W] = r.out[CC_H] = 1;
    r.in[CC_H] = count;
    r.in[CC_C] = r.out[CC_C] = to->extent[CC_AXIS_W];
    r.dst = to->at;
    r.src[0].plane = r.src[1].plane = r.dst.plane = row;
    r.src[0].group = r.src[1].group = r.dst.group = row;
    for (uint32_t at = 0; at < rows && !status; at += CC_GROUPS_CUT) {
        r.in[CC_G] = r.out[CC_G] = rows - at < CC_GROUPS_CUT ? rows - at : CC_GROUPS_CUT;
        status = cc_emit(l, &r);
        r.src[0].offset += CC_GROUPS_CUT * row;
        r.src[1].offset += r.kind == PR_E5_REDUCE2 ? CC_GROUPS_CUT * row : 0;
        r.dst.offset += CC_GROUPS_CUT * row;
    }
    return status;
}

/* What a division by a tensor works on; every operand has the result's shape. */
struct division {
    struct planes operands;   /* the divisor without its sign; x with the sign of the quotient */
    struct planes guesses;    /* minus an integer near the quotient, minus its two neighbours, and last 1 */
    struct planes remainders; /* of the guesses */
    /* Of 512 times the divisor: finite for every divisor but 0, and exact enough for large ones. */
    struct cc_view inverse;
    struct cc_view sign; /* of the divisor */
};
enum { DIVISOR, DIVIDEND, OPERANDS };
enum { ABOVE, MIDDLE, BELOW, ONE, GUESSES, REMAINDERS = ONE };

/* x - divisor * guess: the sum of two products, with nothing rounded before the end. */
static int remainder_of(struct cc_lowering *l, const struct division *d, uint32_t guess)
{
    struct cc_view divisor = plane(&d->operands, DIVISOR), minus = plane(&d->guesses, guess),
                   to = plane(&d->remainders, guess);
    struct pr_e5_record r = cc_record(PR_E5_REDUCE2);

    r.elementwise = PR_PE_MUL;
    r.src[0] = divisor.at;
    r.src[0].row = d->operands.bytes;
    r.src[1] = minus.at;
    r.src[1].row = (ONE - guess) * d->guesses.bytes;
    return reduce_planes(l, r, OPERANDS, &to);
}

/* y = x / divisor, roughly. */
static int rough_quotient(struct cc_lowering *l, const struct division *d, const struct cc_view *x,
                          struct cc_view *y)
{
    int status = cc_view_scratch(l, x->extent, y);

    return status ? status
                  : cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_MUL, .scale = PR_HALF_512}, x,
                                   &d->inverse, y);
}

/*
 * The integer part of -quotient. It is clamped to a finite value, so that no difference of infinities
 * follows.
 */
static int negated_whole(struct cc_lowering *l, const struct cc_view *quotient, const struct cc_view *y)
{
    struct cc_table table = cc_table_curve(CC_CURVE_TRUNCATE);

    table.half[PR_AT_HIGH] = table.half[PR_AT_ABOVE] = PR_HALF_LARGEST;
    return cc_emit_move(l, quotient, y, &(struct cc_neural){.table = &table, .scale = PR_HALF_MINUS_ONE});
}

static int open_division(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *divisor,
                         const uint32_t extent[CC_AXES], struct division *d)
{
    struct cc_planar sign_of = {
        .compare = PR_PE_GREATER, .flags = PR_E5_SUBTRACT1, .scale = PR_HALF_MINUS_TWO, .bias = PR_HALF_ONE};
    struct cc_table reciprocal = cc_table_curve(CC_CURVE_RECIPROCAL);
    struct cc_view size, dividend, ones, one;
    int status = open_planes(l, extent, OPERANDS, &d->operands);

    if (!status)
        status = open_planes(l, extent, GUESSES, &d->guesses);
    if (!status)
        status = open_planes(l, extent, REMAINDERS, &d->remainders);
    if (!status)
        status = cc_view_scratch(l, divisor->extent, &d->sign);
    if (!status)
        status = cc_view_scalar(l, PR_HALF_ONE, &one);
    if (!status)
        status = cc_view_scratch(l, extent, &d->inverse);
    if (status)
        return status;
    size = plane(&d->operands, DIVISOR);
    dividend = plane(&d->operands, DIVIDEND);
    ones = plane(&d->guesses, ONE);
    status = cc_emit_planar(l, &(struct cc_planar){.flags = PR_E5_ABS}, divisor, NULL, &size);
    if (!status)
        status = cc_emit_planar(l, &sign_of, divisor, NULL, &d->sign);
    if (!status)
        status = product(l, x, &d->sign, &dividend);
    if (!status)
        status = cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_ADD}, &one, NULL, &ones);
    return status ? status
                  : cc_emit_move(l, &size, &d->inverse,
                                 &(struct cc_neural){.table = &reciprocal, .scale = PR_HALF_512});
}

/*
 * The first guess has the error of the reciprocal table. After one correction by its remainder the error is
 * below 1.01.
 */
static int guess(struct cc_lowering *l, const struct division *d)
{
    struct cc_view dividend = plane(&d->operands, DIVIDEND), rough = plane(&d->guesses, ABOVE),
                   middle = plane(&d->guesses, MIDDLE), remainders = plane(&d->remainders, ABOVE), quotient,
                   more, step;
    int status = rough_quotient(l, d, &dividend, &quotient);

    if (!status)
        status = negated_whole(l, &quotient, &rough);
    if (!status)
        status = remainder_of(l, d, ABOVE);
    if (!status)
        status = rough_quotient(l, d, &remainders, &more);
    if (!status)
        status = cc_view_scratch(l, middle.extent, &step);
    if (!status)
        status = negated_whole(l, &more, &step);
    return status ? status : cc_emit_planar(l, &(struct cc_planar){.op = PR_PE_ADD}, &rough, &step, &middle);
}

/*
 * Counts how many of n - 1, n and n + 1 are not above the quotient: those with a remainder >= 0. The guess n
 * is between floor - 1 and floor + 2, so the floor is n - 2 plus that count.
 */
static int count_below(struct cc_lowering *l, const struct division *d, struct cc_view *number)
{
    struct pr_e5_record count = cc_record(PR_E5_REDUCE);
    struct cc_view middle = plane(&d->guesses, MIDDLE), neighbour;
    int status = cc_view_scratch(l, middle.extent, number);

    for (uint32_t i = ABOVE; i <= BELOW && !status; i++) {
        neighbour = plane(&d->guesses, i);
        if (i != MIDDLE)
            status =
                cc_emit_planar(l, &(struct cc_planar){.bias = i == ABOVE ? PR_HALF_MINUS_ONE : PR_HALF_ONE},
                               &middle, NULL, &neighbour);
        if (!status)
            status = remainder_of(l, d, i);
    }
    count.compare = PR_PE_GREATER_EQUAL;
    count.src[0] = d->remainders.first.at;
    count.src[0].row = d->remainders.bytes;
    return status ? status : reduce_planes(l, count, REMAINDERS, number);
}

static int floor_by_tensor(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *divisor,
                           const struct cc_view *y)
{
    const struct cc_planar floor = {.flags = PR_E5_SUBTRACT1, .bias = PR_HALF_MINUS_TWO};
    struct cc_view middle, number;
    struct division d;
    int status = open_division(l, x, divisor, y->extent, &d);

    if (!status)
        status = guess(l, &d);
    if (!status)
        status = count_below(l, &d, &number);
    if (status)
        return status;
    middle = plane(&d.guesses, MIDDLE);
    return cc_emit_planar(l, &floor, &middle, &number, y);
}

/* The remainder of the floor, as that of any other guess; then the sign of the divisor. */
static int remainder_by_tensor(struct cc_lowering *l, const struct cc_view *x, const struct cc_view *divisor,
                               const struct cc_view *y)
{
    const struct cc_planar minus_floor = {.flags = PR_E5_SUBTRACT2, .bias = PR_HALF_TWO};
    struct cc_view middle, number, minus, remainder;
    struct division d;
    int status = open_division(l, x, divisor, y->extent, &d);

    if (!status)
        status = guess(l, &d);
    if (!status)
        status = count_below(l, &d, &number);
    if (status)
        return status;
    middle = plane(&d.guesses, MIDDLE);
    minus = plane(&d.guesses, ABOVE);
    remainder = plane(&d.remainders, ABOVE);
    status = cc_emit_planar(l, &minus_floor, &middle, &number, &minus);
    if (!status)
        status = remainder_of(l, &d, ABOVE);
    return status ? status : product(l, &remainder, &d.sign, y);
}

/* Division by a constant scalar. */
static int by_number(struct cc_lowering *l, enum cc_op_kind kind, const struct cc_view *x, float number,
                     const struct cc_view *y)
{
    switch (kind) {
    case CC_OP_FLOOR_DIV: return floor_by_number(l, x, number, y);
    case CC_OP_MOD: return remainder_by_number(l, x, number, y);
    default: return divide_by_number(l, x, number, y);
    }
}

static int by_tensor(struct cc_lowering *l, enum cc_op_kind kind, const struct cc_view *x,
                     const struct cc_view *divisor, const struct cc_view *y)
{
    switch (kind) {
    case CC_OP_FLOOR_DIV: return floor_by_tensor(l, x, divisor, y);
    case CC_OP_MOD: return remainder_by_tensor(l, x, divisor, y);
    default: return divide(l, x, divisor, y);
    }
}

int cc_lower_divide(struct cc_lowering *l, const struct cc_step *step)
{
    const struct cc_op *op = step->op;
    struct cc_view x, divisor, y;
    float number = 1;
    int status = cc_view_result(l, step->output, &y);

    if (cc_is_constant(l, op->input[0]) && cc_is_constant(l, op->input[1]))
        return cc_refuse(l, "both operands are constants; compute the result before compiling");
    if (!status)
        status = cc_view_source(l, op->input[0], &x);
    if (status)
        return status;
    if (divides_by_number(l, op->input[1], &number))
        return by_number(l, op->kind, &x, number, &y);
    status = cc_view_source(l, op->input[1], &divisor);
    return status ? status : by_tensor(l, op->kind, &x, &divisor, &y);
}
