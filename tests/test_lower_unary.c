/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations of one operand over all fp16 values, under m1 and ieee, against double precision. The bounds are
 * those of docs/operators.md and follow from how each is composed:
 *
 * - a table of straight lines between knots h apart is off by at most h^2 / 8 max |f''|;
 * - its knots are rounded to fp16: 2^-11 of the value, or 2^-12 where all are between 0.5 and 1;
 * - every result that is stored is rounded to fp16: 2^-11 of it, and 2^-25 next to 0;
 * - a constant in a register is rounded to fp16: 2^-12 of it, or its own error where that is named.
 */
#include "support.h"

#include <math.h>

#include "lower_policies.h"

enum { VALUES = 0x10000 };

static void run_all(unsigned policy, enum cc_op_kind kind, const struct cc_attributes *a, uint16_t *y)
{
    static uint16_t x[VALUES];
    struct gr g;

    for (unsigned i = 0; i < VALUES; i++)
        x[i] = (uint16_t)i;
    gr_open(&g, 1, GR_REAL);
    gr_output(&g, gr_unary(&g, kind, gr_input(&g, "x", CC_FP16, GR(16, 64, 64)), a));
    gr_run(&g, &client[policy], (const uint16_t *const[]){x}, &y);
    gr_close(&g);
}

static double sigmoid(double x, const struct cc_attributes *a)
{
    (void)a;
    return 1 / (1 + exp(-x));
}

#define PLAIN(name, expression)                                 \
    static double name(double x, const struct cc_attributes *a) \
    {                                                           \
        (void)a;                                                \
        return expression;                                      \
    }
PLAIN(of_tanh, tanh(x))
PLAIN(of_erf, erf(x))
PLAIN(of_exp, exp(x))
PLAIN(of_exp2, exp2(x))
PLAIN(of_log, log(x + (double)a->epsilon))
PLAIN(of_sqrt, sqrt(x))
PLAIN(of_rsqrt, 1 / sqrt(x + (double)a->epsilon))
PLAIN(of_inverse, 1 / (x + (double)a->epsilon))
PLAIN(of_gelu, 0.5 * x * (1 + erf(x / sqrt(2))))
PLAIN(of_gelu_tanh, 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))))
PLAIN(of_gelu_sigmoid, x / (1 + exp(-1.702 * x)))
PLAIN(of_silu, x / (1 + exp(-x)))
PLAIN(of_elu, x > 0 ? x : (double)a->alpha * expm1(x))
PLAIN(of_selu, (double)a->beta *(x > 0 ? x : (double)a->alpha * expm1(x)))
PLAIN(of_softplus, x > 30 ? x : log1p(exp(x)))
PLAIN(of_softsign, x / (1 + fabs(x)))
PLAIN(of_sigmoid_hard, fmin(fmax((double)a->alpha *x + (double)a->beta, 0), 1))
PLAIN(of_hard_swish, x *fmin(fmax((double)a->alpha *x + (double)a->beta, 0), 1))
PLAIN(of_linear, (double)a->alpha *x + (double)a->beta)
PLAIN(of_scaled_tanh, (double)a->alpha *tanh((double)a->beta *x))
PLAIN(of_leaky, x >= 0 ? x : (double)a->alpha * x)
PLAIN(of_sin, sin(x))
PLAIN(of_cos, cos(x))
PLAIN(of_tan, tan(x))
PLAIN(of_atan, atan(x))
PLAIN(of_sinh, sinh(x))
PLAIN(of_cosh, cosh(x))
PLAIN(of_abs, fabs(x))
PLAIN(of_square, x *x)
PLAIN(of_sign, (x > 0) - (x < 0))
PLAIN(of_ceil, ceil(x))
PLAIN(of_floor, floor(x))
PLAIN(of_round, rint(x))
PLAIN(of_relu, fmax(x, 0))
PLAIN(of_relu6, fmin(fmax(x, 0), 6))
PLAIN(of_clip, fmin(fmax(x, (double)a->alpha), (double)a->beta))
PLAIN(of_threshold, fmax(x, (double)a->alpha))
PLAIN(of_thresholded, x >= (double)a->alpha ? x : 0)
PLAIN(of_clamped, fmin((double)a->beta, x >= 0 ? x : (double)a->alpha * x))

/* ULP: what one rounding of a result adds. `slope`: what the error grows by with |x|. */
#define ULP 0x1p-11
static const struct row {
    enum cc_op_kind kind;
    struct cc_attributes a;
    double (*f)(double x, const struct cc_attributes *a);
    double low, high;                 /* of x */
    double absolute, relative, slope; /* the bound: absolute + (relative + slope |x|) |f(x)| */
} rows[] = {
    /* h = 1/2, |f''| <= 0.0963 */
    {CC_OP_SIGMOID, {0}, sigmoid, -65504, 65504, 0.0031, ULP, 0},
    /* h = 1/8, |f''| <= 0.77 and 0.968; beyond 4 the value is 1 */
    {CC_OP_TANH, {0}, of_tanh, -65504, 65504, 0.00151, 2 * ULP, 0},
    {CC_OP_ERF, {0}, of_erf, -65504, 65504, 0.0019, 2 * ULP, 0},
    /* h = 1/32, |f''| <= 0.48 f; the knots of exp are 2^-11 off, and log2 e in fp16 is 2.2e-4 off */
    {CC_OP_EXP2, {0}, of_exp2, -24, 15.9, 0x1p-24, 0.00006 + 2 * ULP, 0},
    {CC_OP_EXP, {0}, of_exp, -16, 11, 0x1p-24, 0.00006 + 2 * ULP, 2.2e-4},
    /* h = 1/64, |f''| <= 5.78 of log2, times ln 2, which is 3.1e-4 off in fp16 */
    {CC_OP_LOG, {0}, of_log, 0x1p-24, 65504, 0.0003, 3.1e-4 + 2 * ULP, 0},
    /* h = 1/16, |f''| / f <= 1 and 3 */
    {CC_OP_SQRT, {0}, of_sqrt, 0, 65504, 0, 0.0005 + 2 * ULP, 0},
    {CC_OP_RSQRT, {0}, of_rsqrt, 0x1p-24, 65504, 0, 0.0015 + 2 * ULP, 0},
    /* h = 1/64, |f''| / f <= 8 */
    {CC_OP_INVERSE, {0}, of_inverse, 0x1p-15, 65504, 0x1p-25, 0.00025 + 2 * ULP, 0},
    /*
     * h = 1/4, |f''| <= 0.8; the tanh form differs from the table's function by 0.0005; the last form is x
     * times a sigmoid of 1.702 x, which has no error beyond |x| = 6
     */
    {CC_OP_GELU, {.gelu = CC_GELU_EXACT}, of_gelu, -65504, 65504, 0.0063, 2 * ULP, 0},
    {CC_OP_GELU, {.gelu = CC_GELU_TANH}, of_gelu_tanh, -65504, 65504, 0.0068, 2 * ULP, 0},
    {CC_OP_GELU, {.gelu = CC_GELU_SIGMOID}, of_gelu_sigmoid, -65504, 65504, 0.0186, 2 * ULP, 0},
    /* h = 1/2, |f''| <= 0.5 */
    {CC_OP_SILU, {0}, of_silu, -65504, 65504, 0.0157, 2 * ULP, 0},
    /* h = 1/4, |f''| <= alpha */
    {CC_OP_ELU, {.alpha = 1}, of_elu, -65504, 65504, 0.0079, 2 * ULP, 0},
    {CC_OP_SELU, {.alpha = 1.67326f, .beta = 1.0507f}, of_selu, -65504, 65504, 0.0138, 2 * ULP, 0},
    /* log2(1 + 2^t): one table for each, ln 2 in fp16 */
    {CC_OP_SOFTPLUS, {0}, of_softplus, -65504, 65504, 0.0009, 2 * ULP, 0},
    {CC_OP_SOFTSIGN, {0}, of_softsign, -32000, 32000, 0x1p-24, 0.00025 + 4 * ULP, 0},
    {CC_OP_SIGMOID_HARD, {.alpha = 0.2f, .beta = 0.5f}, of_sigmoid_hard, -65504, 65504, 3 * ULP, ULP, 0},
    {CC_OP_HARD_SWISH, {.alpha = 1 / 6.0f, .beta = 0.5f}, of_hard_swish, -65504, 65504, 9 * ULP, 2 * ULP, 0},
    {CC_OP_LINEAR_ACTIVATION, {.alpha = 0.3f, .beta = 0.7f}, of_linear, -65504, 65504, 2 * ULP, 2 * ULP, 0},
    {CC_OP_SCALED_TANH, {.alpha = 1.5f, .beta = 0.5f}, of_scaled_tanh, -65504, 65504, 0.0023, 3 * ULP, 0},
    {CC_OP_LEAKY_RELU, {.alpha = 0.01f}, of_leaky, -65504, 65504, 0x1p-25, 2 * ULP, 0},
    /* h = 1/16; the reduced argument is rounded once, and pi is 6.4e-7 off for each multiple */
    {CC_OP_SIN, {0}, of_sin, -1600, 1600, 0.0005 + 4.5e-4 + 3.3e-4, 2 * ULP, 0},
    {CC_OP_COS, {0}, of_cos, -1600, 1600, 0.0005 + 4.5e-4 + 3.3e-4, 2 * ULP, 0},
    /* h = 1/32, |f''| <= 0.65, a reciprocal of 0.12 percent at most where the slope is 1/2 */
    {CC_OP_ATAN, {0}, of_atan, -65504, 65504, 0.0009, 2 * ULP, 0},
    /* two exponentials, their sum or difference */
    {CC_OP_SINH, {0}, of_sinh, -11, 11, 2 * ULP, 5 * ULP, 2.2e-4},
    {CC_OP_COSH, {0}, of_cosh, -11, 11, 2 * ULP, 5 * ULP, 2.2e-4},
    /* exact, but for the rounding of the result */
    {CC_OP_ABS, {0}, of_abs, -INFINITY, INFINITY, 0, 0, 0},
    {CC_OP_SQUARE, {0}, of_square, -255, 255, 0x1p-25, ULP, 0},
    {CC_OP_SIGN, {0}, of_sign, -INFINITY, INFINITY, 0, 0, 0},
    {CC_OP_CEIL, {0}, of_ceil, -INFINITY, INFINITY, 0, 0, 0},
    {CC_OP_FLOOR, {0}, of_floor, -INFINITY, INFINITY, 0, 0, 0},
    {CC_OP_ROUND, {0}, of_round, -INFINITY, INFINITY, 0, 0, 0},
    {CC_OP_RELU, {0}, of_relu, -INFINITY, INFINITY, 0, 0, 0},
    {CC_OP_RELU6, {0}, of_relu6, -INFINITY, INFINITY, 0, 0, 0},
    {CC_OP_CLIP, {.alpha = -1.5f, .beta = 2.25f}, of_clip, -INFINITY, INFINITY, 0, 0, 0},
    {CC_OP_THRESHOLD, {.alpha = 0.75f}, of_threshold, -INFINITY, INFINITY, 0, 0, 0},
    {CC_OP_THRESHOLDED_RELU, {.alpha = 0.75f}, of_thresholded, -INFINITY, INFINITY, 0, 0, 0},
    {CC_OP_CLAMPED_RELU, {.alpha = 0.5f, .beta = -1.5f}, of_clamped, -65504, 65504, 0x1p-25, ULP, 0},
    {CC_OP_CLAMPED_RELU, {.alpha = -0.5f, .beta = -1.5f}, of_clamped, -65504, 65504, 0x1p-25, ULP, 0},
    /* a factor of 0: the result is a constant */
    {CC_OP_LINEAR_ACTIVATION, {.alpha = 0, .beta = 0.75f}, of_linear, -65504, 65504, 0, 0, 0},
    {CC_OP_SIGMOID_HARD, {.alpha = 0, .beta = 0.75f}, of_sigmoid_hard, -65504, 65504, 0, 0, 0},
    {CC_OP_SIGMOID_HARD, {.alpha = 0, .beta = -3}, of_sigmoid_hard, -65504, 65504, 0, 0, 0},
    {CC_OP_SCALED_TANH, {.alpha = 0, .beta = 2}, of_scaled_tanh, -65504, 65504, 0, 0, 0},
    {CC_OP_SCALED_TANH, {.alpha = 2, .beta = 0}, of_scaled_tanh, -65504, 65504, 0, 0, 0},
};

static void check_row(const struct row *row, unsigned policy)
{
    static uint16_t y[VALUES];

    run_all(policy, row->kind, &row->a, y);
    for (unsigned i = 0; i < VALUES; i++) {
        double x = test_half_to_double((uint16_t)i), got = test_half_to_double(y[i]), want, allowed;

        if (!(x >= row->low && x <= row->high))
            continue;
        want = row->f(x, &row->a);
        if (fabs(want) > 65504)
            continue;
        allowed = row->absolute + (row->relative + row->slope * fabs(x)) * fabs(want);
        if (!(fabs(got - want) <= allowed) && got != want)
            fail_msg("%s: %s(%.9g), alpha %g, beta %g: %.9g, expected %.9g +- %.3g", policy_name[policy],
                     cc_op_name(row->kind), x, (double)row->a.alpha, (double)row->a.beta, got, want, allowed);
    }
}

static void every_value(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (unsigned p = 0; p < POLICIES; p++)
            check_row(&rows[i], p);
}

/*
 * tan is a quotient of two results whose errors are absolute, so its bound follows from both: the errors of
 * sine and cosine, and that of the reciprocal.
 */
static void tangent(void **state)
{
    static uint16_t y[VALUES];

    (void)state;
    run_all(0, CC_OP_TAN, NULL, y);
    for (unsigned i = 0; i < VALUES; i++) {
        double x = test_half_to_double((uint16_t)i), got = test_half_to_double(y[i]), c = cos(x),
               want = of_tan(x, NULL), error = 0.0013 + 2 * ULP;

        if (!(fabs(x) <= 1600) || fabs(c) < 8 * error)
            continue;
        if (!(fabs(got - want) <= (error + fabs(want) * error) / (fabs(c) - error) + 3 * ULP * fabs(want)))
            fail_msg("tan(%.9g): %.9g, expected %.9g", x, got, want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value),
        cmocka_unit_test(tangent),
    };

    return cmocka_run_group_tests(tests, open_machines, close_machines);
}
