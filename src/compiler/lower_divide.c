/* SPDX-License-Identifier: Apache-2.0 */
/* Quotients: a table of reciprocals for one operand, and a product. */
#include <math.h>

#include "compiler/half.h"
#include "compiler/lowering.h"

enum { SCALE_EXPONENT_MAX = 12 }; /* well inside the halfs that have all their bits */

static int product(struct cc_lowering *l, const struct cc_view *a, const struct cc_view *b,
                   const struct cc_view *y)
{
    return cc_planar(l, &(struct cc_planar){.op = PR_PE_MUL}, a, b, y);
}

static int by_curve(struct cc_lowering *l, enum cc_curve curve, const struct cc_view *x, struct cc_view *y)
{
    struct cc_table table = cc_table_curve(curve);
    int status = cc_view_scratch(l, x->extent, y);

    return status ? status : cc_move(l, x, y, &(struct cc_pass){.table = &table});
}

/* x times the reciprocal of a number that is neither 0 nor infinite. A reciprocal that no half holds, or holds with few bits, is a product of two halfs. */
static int divide_by(struct cc_lowering *l, const struct cc_view *x, float number, const struct cc_view *y)
{
    struct cc_planar how = {.op = PR_PE_ADD};
    int exponent, before;

    (void)frexpf(1 / number, &exponent);
    before = exponent > SCALE_EXPONENT_MAX    ? exponent - SCALE_EXPONENT_MAX
             : exponent < -SCALE_EXPONENT_MAX ? exponent + SCALE_EXPONENT_MAX
                                              : 0;
    how.pre_scale = cc_half_of_float(ldexpf(1, before));
    how.scale = cc_half_of_float(ldexpf(1 / number, -before));
    return cc_planar(l, &how, x, NULL, y);
}

static int divide_to(struct cc_lowering *l, const struct cc_view *y)
{
    struct cc_view a, b, inverse;
    int status = cc_view_source(l, l->op->input[0], &a);

    if (!status && cc_is_scalar(l, l->op->input[1])) {
        float number = cc_float_of_half(l->home[cc_root(l, l->op->input[1])].data[0]);

        if (isfinite(number) && number != 0)
            return divide_by(l, &a, number, y);
    }
    if (!status)
        status = cc_view_source(l, l->op->input[1], &b);
    if (!status)
        status = by_curve(l, CC_CURVE_RECIPROCAL, &b, &inverse);
    return status ? status : product(l, &a, &inverse, y);
}

int cc_lower_divide(struct cc_lowering *l)
{
    struct cc_view y, t;
    int status = cc_view_result(l, &y);

    if (status)
        return status;
    if (cc_is_constant(l, l->op->input[0]) && cc_is_constant(l, l->op->input[1]))
        return cc_refuse(l, "both operands are constants; compute it before compiling");
    if (l->op->kind == CC_OP_REAL_DIV)
        return divide_to(l, &y);
    status = cc_view_scratch(l, y.extent, &t);
    if (!status)
        status = divide_to(l, &t);
    return status ? status : cc_emit_floor(l, &t, &y, false);
}
