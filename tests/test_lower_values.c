/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results at the edges of fp16, under m1 and ieee: all 65,536 fp16 values, negative bases, integer quotients,
 * sums above the ceiling of the multiply-accumulate, infinities, tiny epsilons. Expected values are computed
 * here in double precision from the definitions of the operations.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lower_policies.h"

enum { VALUES = 0x10000 };
#define ALL_VALUES GR(16, 64, 64)

static double number(uint16_t half)
{
    return test_half_to_double(half);
}

static uint16_t half(double value)
{
    return test_half_from_double(value);
}

/* The same number; -0 is 0. */
static bool same(uint16_t a, uint16_t b)
{
    return a == b || (!(a & 0x7fff) && !(b & 0x7fff));
}

static const uint16_t *all_values(void)
{
    static uint16_t x[VALUES];

    for (unsigned i = 0; i < VALUES; i++)
        x[i] = (uint16_t)i;
    return x;
}

/* y = op(x) of all fp16 values. */
static void run_unary(unsigned policy, enum cc_op_kind kind, const struct cc_attributes *a, uint16_t *y)
{
    struct gr g;

    gr_open(&g, 1, GR_REAL);
    gr_output(&g, gr_unary(&g, kind, gr_input(&g, "x", CC_FP16, ALL_VALUES), a));
    gr_run(&g, &client[policy], (const uint16_t *const[]){all_values()}, &y);
    gr_close(&g);
}

/* y = op(x, scalar). */
static void run_scalar(unsigned policy, enum cc_op_kind kind, struct gr_shape shape, const uint16_t *x,
                       double scalar, uint16_t *y)
{
    uint32_t v;
    struct gr g;

    gr_open(&g, 2, GR_REAL);
    v = gr_input(&g, "x", CC_FP16, shape);
    v = gr_binary(&g, kind, v, gr_scalar(&g, scalar));
    gr_output(&g, cc_op_gives_bool(kind) ? gr_cast(&g, v, CC_FP16) : v);
    gr_run(&g, &client[policy], &x, &y);
    gr_close(&g);
}

/* y = op(a, b), of the same shape. */
static void run_binary(unsigned policy, enum cc_op_kind kind, struct gr_shape shape, const uint16_t *a,
                       const uint16_t *b, uint16_t *y)
{
    uint32_t v, w;
    struct gr g;

    gr_open(&g, 3, GR_REAL);
    v = gr_input(&g, "a", CC_FP16, shape);
    w = gr_input(&g, "b", CC_FP16, shape);
    v = gr_binary(&g, kind, v, w);
    gr_output(&g, cc_op_gives_bool(kind) ? gr_cast(&g, v, CC_FP16) : v);
    gr_run(&g, &client[policy], (const uint16_t *const[]){a, b}, &y);
    gr_close(&g);
}

/* clamped_relu: min(beta, x >= 0 ? x : alpha x). One fp32 product and one rounding: every bit is known. */
static void clamped_relu_of_every_value(void **state)
{
    static const double alphas[] = {-0.5, -2, -3.7, -0.01, -300, 0.25, 0}, betas[] = {0, 0.3, 1, 6, 1000};
    static uint16_t y[VALUES];

    (void)state;
    for (unsigned i = 0; i < sizeof(alphas) / sizeof(alphas[0]); i++)
        for (unsigned k = 0; k < sizeof(betas) / sizeof(betas[0]); k++) {
            double alpha = number(half(alphas[i])), beta = number(half(betas[k]));
            struct cc_attributes a = {.alpha = (float)alpha, .beta = (float)beta};

            run_unary((i + k) % POLICIES, CC_OP_CLAMPED_RELU, &a, y);
            for (unsigned j = 0; j < VALUES; j++) {
                double x = number((uint16_t)j), want = fmin(beta, x >= 0 ? x : alpha == 0 ? 0 : alpha * x);

                if (!isnan(x) && !same(y[j], half(want)))
                    fail_msg("%s: clamped_relu of %g, alpha %g, beta %g: %g, expected %g",
                             policy_name[(i + k) % POLICIES], x, alpha, beta, number(y[j]), want);
            }
        }
}

/* |n| - 1 products, each rounded to fp16, and a table of reciprocals for a negative exponent. */
static double power_error(double n)
{
    return (fabs(n) + 1) * 0x1p-11 + (n < 0 ? 0x1p-10 : 0);
}

static void check_power(const char *policy, double x, double n, uint16_t y, double relative)
{
    double want = pow(x, n), got = number(y), allowed;

    if (x < 0 && n != floor(n))
        want = 0; /* indeterminate: the engine's rule is +0 */
    allowed = relative * fabs(want) + (n < 0 ? 0x1p-16 : 0x1p-24);
    if (isinf(want) || fabs(want) > 65504 * (1 - relative)) {
        /* Next to the end of the range the result may overflow; its sign must be right. */
        if (fabs(got) < 65504 * (1 - 2 * relative) || signbit(got) != signbit(want))
            fail_msg("%s: %g^%g is %g, expected %g", policy, x, n, got, want);
    } else if (!(fabs(got - want) <= allowed)) {
        fail_msg("%s: %g^%g is %g, expected %g", policy, x, n, got, want);
    }
}

static void check_power_of_all(double n, double error, bool of_zero)
{
    static uint16_t y[VALUES];

    for (unsigned p = 0; p < POLICIES; p++) {
        run_scalar(p, CC_OP_POW, ALL_VALUES, all_values(), n, y);
        for (unsigned j = 0; j < VALUES; j++) {
            double x = number((uint16_t)j);

            if (!isnan(x) && (x != 0 || of_zero))
                check_power(policy_name[p], x, n, y[j], error);
        }
    }
}

static void whole_powers_of_every_value(void **state)
{
    static const double power[] = {0, 1, 2, 3, 4, 5, 6, 7, 10, 13, -1, -2, -3, -4};

    (void)state;
    /* 1 / -0 is +inf on this engine. */
    for (unsigned i = 0; i < sizeof(power) / sizeof(power[0]); i++)
        check_power_of_all(power[i], power_error(power[i]), power[i] >= 0);
}

static void fractional_powers(void **state)
{
    static const double power[] = {0.5, -0.5, 1.5, 0.25, -2.5, 2.5};

    (void)state;
    for (unsigned i = 0; i < sizeof(power) / sizeof(power[0]); i++)
        check_power_of_all(power[i], 0.05, true);
}

/* Bases and exponents that are both run-time tensors. */
static void powers_of_tensors(void **state)
{
    static const double base[] = {-8, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 2, 3, 7};
    static const double power[] = {-3, -2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 5};
    enum { BASES = 12, POWERS = 12, COUNT = BASES * POWERS };
    uint16_t a[COUNT], b[COUNT], y[COUNT];

    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        a[i] = half(base[i / POWERS]);
        b[i] = half(power[i % POWERS]);
    }
    for (unsigned p = 0; p < POLICIES; p++) {
        run_binary(p, CC_OP_POW, GR(BASES, POWERS), a, b, y);
        for (unsigned i = 0; i < COUNT; i++)
            check_power(policy_name[p], number(a[i]), number(b[i]), y[i], 0.05);
    }
}

/* floor(x / d) exactly where fp16 can represent it, else within one fp16 step. */
static void check_quotient(const char *policy, double x, double d, uint16_t y)
{
    double want = floor(x / d), got = number(y);

    if (fabs(want) > 65504)
        return;
    if (number(half(want)) == want ? got != want : !(fabs(got - want) <= 0x1p-10 * fabs(want)))
        fail_msg("%s: %.9g // %.9g is %g, expected %g", policy, x, d, got, want);
}

static void floor_div_by_constants(void **state)
{
    static const double divisor[] = {3,   11,    1.5,  7,      10,    -3,   -11,    0.7,
                                     0.1, -0.01, 1000, 2047.0, 65504, 1e-3, 6.1e-5, 0.333};
    static uint16_t y[VALUES];

    (void)state;
    for (unsigned i = 0; i < sizeof(divisor) / sizeof(divisor[0]); i++)
        for (unsigned p = 0; p < POLICIES; p++) {
            run_scalar(p, CC_OP_FLOOR_DIV, ALL_VALUES, all_values(), divisor[i], y);
            for (unsigned j = 0; j < VALUES; j++)
                if (isfinite(number((uint16_t)j)))
                    check_quotient(policy_name[p], number((uint16_t)j), number(half(divisor[i])), y[j]);
        }
}

static void floor_div_by_tensors(void **state)
{
    enum { COUNT = 16384 };
    static uint16_t a[COUNT], b[COUNT], y[COUNT];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x301);
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < COUNT; i++) {
            b[i] = half((double)test_rng_range(&rng, -40, 40));
            a[i] = half((double)test_rng_range(&rng, -2048, 2048));
            if (round == 1)
                b[i] = half(11);
            if (round > 1)
                b[i] = test_rng_fp16_finite(&rng, round == 2 ? 1 : 300);
            if (round > 1) /* next to a whole quotient */
                a[i] = half(number(b[i]) * (double)test_rng_range(&rng, -2047, 2047));
            if (round > 3)
                a[i] = test_rng_fp16_finite(&rng, 60000);
            if (round > 5) /* every size of divisor */
                b[i] = test_rng_fp16_any(&rng);
            if (round > 5)
                a[i] = round > 7 ? test_rng_fp16_any(&rng)
                                 : half(number(b[i]) * (double)test_rng_range(&rng, -2047, 2047));
            if (!(b[i] & 0x7fff) || !isfinite(number(b[i])))
                b[i] = half(1);
            if (!isfinite(number(a[i])))
                a[i] = half(1);
        }
        run_binary(round % POLICIES, CC_OP_FLOOR_DIV, GR(2, 8, 1024), a, b, y);
        for (unsigned i = 0; i < COUNT; i++)
            check_quotient(policy_name[round % POLICIES], number(a[i]), number(b[i]), y[i]);
    }
}

static void floor_div_by_zero(void **state)
{
    static const double x[] = {1, -1, 0.25, -0.25, 0x1p-9, -0x1p-9, 60000, -65504};
    uint16_t a[8], b[8] = {0}, y[8];

    (void)state;
    for (unsigned i = 0; i < 8; i++)
        a[i] = half(x[i]);
    for (unsigned p = 0; p < POLICIES; p++) {
        run_binary(p, CC_OP_FLOOR_DIV, GR(8), a, b, y);
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal(y[i], x[i] > 0 ? 0x7c00 : 0xfc00);
    }
}

static void floor_div_repeats_axes(void **state)
{
    enum { ROWS = 70, COLUMNS = 40 };
    static uint16_t a[ROWS], b[COLUMNS], y[ROWS * COLUMNS];
    uint32_t v, w;
    uint16_t *to = y;
    struct gr g;

    (void)state;
    gr_open(&g, 4, GR_REAL);
    v = gr_input(&g, "a", CC_FP16, GR(1, ROWS, 1));
    w = gr_input(&g, "b", CC_FP16, GR(1, 1, COLUMNS));
    gr_output(&g, gr_binary(&g, CC_OP_FLOOR_DIV, v, w));
    for (unsigned i = 0; i < ROWS; i++)
        a[i] = half((double)i * 13 - 400);
    for (unsigned i = 0; i < COLUMNS; i++)
        b[i] = half((double)i - 20.5);
    gr_run(&g, &client[0], (const uint16_t *const[]){a, b}, &to);
    gr_close(&g);
    for (unsigned i = 0; i < ROWS * COLUMNS; i++)
        check_quotient("m1", number(a[i / COLUMNS]), number(b[i % COLUMNS]), y[i]);
}

/* Averages have the precision of a mean: no sum reaches the ceiling, and 1/n is not rounded to fp16. */
static void averages(unsigned policy, uint32_t size, const struct cc_attributes *a, double scale)
{
    enum { CHANNELS = 3 };
    uint16_t *x = calloc((size_t)CHANNELS * size * size, sizeof(*x)), *y = NULL;
    const struct cc_value *v;
    struct test_rng rng;
    uint32_t high, wide;
    struct gr g;

    assert_non_null(x);
    test_rng_init(&rng, 0x400 + size);
    for (unsigned i = 0; i < CHANNELS * size * size; i++) {
        x[i] = i < size * size ? half(scale) : test_rng_fp16_finite(&rng, scale);
        if (fabs(number(x[i])) < 0x1p-14) /* m1 has no denormals in a sum of products */
            x[i] = 0;
    }
    gr_open(&g, 5, GR_REAL);
    gr_output(&g, gr_window(&g, CC_OP_AVG_POOL, gr_input(&g, "x", CC_FP16, GR(1, CHANNELS, size, size)), a));
    v = &g.graph->value[g.graph->output[0]];
    high = v->dim[2];
    wide = v->dim[3];
    y = calloc(cc_value_elements(v), sizeof(*y));
    assert_non_null(y);
    assert_int_equal(gr_run(&g, &client[policy], (const uint16_t *const[]){x}, &y), 1);
    for (uint32_t i = 0; i < CHANNELS * high * wide; i++) {
        uint32_t c = i / (high * wide), row = i / wide % high, column = i % wide;
        double sum = 0, most = 0, want;

        for (uint32_t r = 0; r < a->kernel[0]; r++)
            for (uint32_t k = 0; k < a->kernel[1]; k++) {
                uint32_t h = row * a->stride[0] + r - a->pad[0], w = column * a->stride[1] + k - a->pad[2];
                double element = h < size && w < size ? number(x[(c * size + h) * size + w]) : 0;

                sum += element;
                most = fmax(most, fabs(element));
            }
        want = sum / ((double)a->kernel[0] * a->kernel[1]);
        /* One rounding to fp16, and fp32 sums. */
        if (!(fabs(number(y[i]) - want) <= 0x1.01p-11 * fabs(want) + 0x1p-20 * most + 0x1p-25))
            fail_msg("%s: the average of %u by %u numbers up to %g is %.9g, expected %.9g",
                     policy_name[policy], a->kernel[0], a->kernel[1], scale, number(y[i]), want);
    }
    gr_close(&g);
    free(x);
    free(y);
}

static void averages_do_not_overflow(void **state)
{
    static const double scale[] = {700, 4, 0.01, 33000, 65504};

    (void)state;
    for (unsigned i = 0; i < sizeof(scale) / sizeof(scale[0]); i++)
        for (uint32_t kernel = 2; kernel <= 9; kernel++) {
            struct cc_attributes a = {
                .kernel = {kernel, kernel}, .stride = {1, 1}, .dilation = {1, 1}, .pad = {0}};

            averages(kernel % POLICIES, kernel, &a, scale[i]); /* the whole of a channel */
            averages((kernel + 1) % POLICIES, kernel + 3, &a, scale[i]);
            a.pad[0] = a.pad[2] = 1;
            a.stride[0] = a.stride[1] = 2;
            averages(kernel % POLICIES, kernel + 6, &a, scale[i]);
        }
}

/* The largest windows of the engine, and larger ones that cover the whole channel. */
static void averages_of_large_windows(void **state)
{
    (void)state;
    for (uint32_t stride = 1; stride <= 3; stride++) {
        struct cc_attributes a = {.kernel = {29, 13}, .stride = {stride, stride}, .dilation = {1, 1}};

        averages(0, 31, &a, 65504);
        a.kernel[0] = 1;
        averages(1, 31, &a, 700);
        a.kernel[0] = 31;
        a.kernel[1] = 31;
        averages(0, 31, &a, 700);
    }
}

/*
 * A slice that begins on a 64-byte boundary of the last axis is read from its own address and does not clamp.
 */
static void aligned_slices_do_not_clamp(void **state)
{
    enum { ROWS = 3, COLUMNS = 128 };
    uint16_t x[ROWS * COLUMNS], y[2][ROWS * COLUMNS], *out[2] = {y[0], y[1]};
    struct gr g;

    (void)state;
    for (unsigned i = 0; i < ROWS * COLUMNS; i++)
        x[i] = half(5000 + 150.0 * i);
    gr_open(&g, 6, GR_REAL);
    for (unsigned i = 0; i < 2; i++)
        gr_output(&g, gr_slice(&g, i ? g.graph->input[0] : gr_input(&g, "x", CC_FP16, GR(ROWS, COLUMNS)),
                               (uint32_t[]){0, i ? 96 : 32}, GR(ROWS, i ? 1 : 64)));
    assert_int_equal(gr_run(&g, &client[0], (const uint16_t *const[]){x}, out), 2);
    gr_close(&g);
    for (unsigned i = 0; i < ROWS * 64; i++)
        assert_int_equal(y[0][i], x[i / 64 * COLUMNS + 32 + i % 64]);
    for (unsigned i = 0; i < ROWS; i++)
        assert_int_equal(y[1][i], x[i * COLUMNS + 96]);
}

static bool compared(enum cc_op_kind kind, double a, double b)
{
    switch (kind) {
    case CC_OP_EQUAL: return a == b;
    case CC_OP_NOT_EQUAL: return a != b;
    case CC_OP_GREATER: return a > b;
    case CC_OP_LESS: return a < b;
    case CC_OP_LESS_EQUAL: return a <= b;
    default: return a >= b;
    }
}

static void check_comparison(unsigned policy, enum cc_op_kind kind, uint16_t a, uint16_t b, uint16_t y)
{
    double m = number(a), n = number(b);

    if (policy_of[policy] == ANE_NUMERICS_M1) { /* a NaN is read as +inf */
        m = isnan(m) ? INFINITY : m;
        n = isnan(n) ? INFINITY : n;
    }
    if (number(y) != compared(kind, m, n))
        fail_msg("%s: %s(%g, %g) is %g", policy_name[policy], cc_op_name(kind), m, n, number(y));
}

/* IEEE 754: infinities of one sign are equal, and a NaN is not even equal to itself. */
static void comparisons_of_infinities(void **state)
{
    static const enum cc_op_kind kind[] = {CC_OP_EQUAL, CC_OP_NOT_EQUAL,  CC_OP_GREATER,
                                           CC_OP_LESS,  CC_OP_LESS_EQUAL, CC_OP_GREATER_EQUAL};
    static const uint16_t edge[] = {0x7c00, 0xfc00, 0x7bff, 0xfbff, 0x3c00,
                                    0x0001, 0x8001, 0x8000, 0x0000, 0x7e00};
    enum { EDGES = 10, COUNT = EDGES * EDGES };
    uint16_t a[COUNT], b[COUNT], y[COUNT];

    (void)state;
    for (unsigned i = 0; i < COUNT; i++) {
        a[i] = edge[i / EDGES];
        b[i] = edge[i % EDGES];
    }
    for (unsigned p = 0; p < POLICIES; p++)
        for (unsigned k = 0; k < sizeof(kind) / sizeof(kind[0]); k++) {
            run_binary(p, kind[k], GR(COUNT), a, b, y);
            for (unsigned i = 0; i < COUNT; i++)
                check_comparison(p, kind[k], a[i], b[i], y[i]);
            for (unsigned j = 0; j < EDGES - 1; j++) { /* constants, infinite and finite */
                run_scalar(p, kind[k], GR(EDGES), edge, number(edge[j]), y);
                for (unsigned i = 0; i < EDGES; i++)
                    check_comparison(p, kind[k], edge[i], edge[j], y[i]);
            }
        }
}

/* An epsilon that rounds to 0 in fp16 still prevents 0 / 0 for a row of equal values. */
static void norms_with_a_tiny_epsilon(void **state)
{
    static const float epsilon[] = {1e-12f, 1e-8f, 1e-5f};
    static const enum cc_op_kind kind[] = {CC_OP_LAYER_NORM, CC_OP_INSTANCE_NORM};
    enum { ROWS = 4, COLUMNS = 24 };
    uint16_t x[ROWS * COLUMNS], y[ROWS * COLUMNS], *out = y;

    (void)state;
    /* Rows: equal numbers, zeros, numbers of size 1, numbers of size 0.01. */
    for (unsigned i = 0; i < ROWS * COLUMNS; i++)
        x[i] = half(i / COLUMNS == 0   ? 3
                    : i / COLUMNS == 1 ? 0
                                       : (i % 7 - 2.5) * (i / COLUMNS == 2 ? 1 : 0.01));
    for (unsigned e = 0; e < 3 * POLICIES * 2; e++) {
        struct cc_attributes a = {.epsilon = epsilon[e % 3], .axes = 8};
        unsigned p = e / 3 % POLICIES;
        struct gr g;

        gr_open(&g, 7, GR_REAL);
        gr_output(&g, gr_unary(&g, kind[e / 6], gr_input(&g, "x", CC_FP16, GR(1, ROWS, 1, COLUMNS)), &a));
        gr_run(&g, &client[p], (const uint16_t *const[]){x}, &out);
        gr_close(&g);
        for (unsigned row = 0; row < ROWS; row++) {
            double mean = 0, variance = 0;

            for (unsigned i = 0; i < COLUMNS; i++)
                mean += number(x[row * COLUMNS + i]) / COLUMNS;
            for (unsigned i = 0; i < COLUMNS; i++)
                variance += pow(number(x[row * COLUMNS + i]) - mean, 2) / COLUMNS;
            for (unsigned i = 0; i < COLUMNS; i++) {
                double want = (number(x[row * COLUMNS + i]) - mean) / sqrt(variance + (double)epsilon[e % 3]);

                if (!(fabs(number(y[row * COLUMNS + i]) - want) <= 0.005 * fabs(want) + 0.002))
                    fail_msg("%s: row %u, epsilon %g: %g, expected %g", policy_name[p], row,
                             (double)epsilon[e % 3], number(y[row * COLUMNS + i]), want);
            }
        }
    }
}

/*
 * thresholded_relu after a linear compares the fp16 value that the linear
 * stores, whether that value is an output or not.
 */
static void thresholds_see_stored_numbers(void **state)
{
    enum { ROWS = 512, INNER = 8, OUT = 4 };
    static uint16_t x[ROWS * INNER], y[ROWS * OUT], stored[ROWS * OUT], fused[ROWS * OUT];
    static const float alpha[] = {0.5f, 0.3f, -0.25f, 0};
    uint16_t *both[2] = {stored, y}, *one = fused;
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 0x500);
    for (unsigned i = 0; i < 4; i++) {
        struct cc_attributes a = {.alpha = alpha[i]};
        uint16_t bound = half((double)alpha[i]);

        /*
         * The first term of each sum is an fp16 value next to alpha, the others
         * are smaller than one fp16 step.
         */
        for (unsigned k = 0; k < ROWS * INNER; k++)
            x[k] = k % INNER ? test_rng_fp16_finite(&rng, 1e-4)
                             : (uint16_t)(bound + (bound ? test_rng_range(&rng, -1, 1) : 0));
        for (unsigned part = 0; part < 2; part++) {
            uint32_t v, w;
            struct gr g;

            gr_open(&g, 8, GR_REAL); /* the same weights in both */
            v = gr_input(&g, "x", CC_FP16, GR(ROWS, INNER));
            w = gr_const(&g, GR(OUT, INNER));
            for (unsigned k = 0; k < OUT; k++)
                ((uint16_t *)g.graph->value[w].data)[k * INNER] = half(1);
            v = gr_linear(&g, v, w, GR_NONE);
            if (part == 0)
                gr_output(&g, v);
            gr_output(&g, gr_unary(&g, CC_OP_THRESHOLDED_RELU, v, &a));
            gr_run(&g, &client[0], (const uint16_t *const[]){x}, part ? &one : both);
            gr_close(&g);
        }
        for (unsigned k = 0; k < ROWS * OUT; k++) {
            uint16_t want = number(stored[k]) >= number(bound) ? stored[k] : 0;

            if (!same(y[k], want) || !same(fused[k], want))
                fail_msg("%.9g, alpha %g: %.9g and, alone, %.9g", number(stored[k]), (double)alpha[i],
                         number(y[k]), number(fused[k]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clamped_relu_of_every_value), cmocka_unit_test(whole_powers_of_every_value),
        cmocka_unit_test(fractional_powers),           cmocka_unit_test(powers_of_tensors),
        cmocka_unit_test(floor_div_by_constants),      cmocka_unit_test(floor_div_by_tensors),
        cmocka_unit_test(floor_div_by_zero),           cmocka_unit_test(floor_div_repeats_axes),
        cmocka_unit_test(averages_do_not_overflow),    cmocka_unit_test(averages_of_large_windows),
        cmocka_unit_test(aligned_slices_do_not_clamp), cmocka_unit_test(comparisons_of_infinities),
        cmocka_unit_test(norms_with_a_tiny_epsilon),   cmocka_unit_test(thresholds_see_stored_numbers),
    };

    return cmocka_run_group_tests(tests, open_machines, close_machines);
}
