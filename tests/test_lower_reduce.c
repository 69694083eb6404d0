/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions, softmax and norms of any length: axes longer than a descriptor takes, kept axes beyond the
 * groups of one, and the reductions that are composed. Expected values are computed here in double precision.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>

#include "lower_machine.h"

#define ULP 0x1p-11

static size_t elements(struct gr_shape s)
{
    size_t count = 1;

    for (uint32_t i = 0; i < s.rank; i++)
        count *= s.dim[i];
    return count;
}

/* Numbers of which sums and means are not 0. */
static uint16_t *numbers(size_t count, double low, double high)
{
    uint16_t *x = malloc(count * sizeof(*x));
    struct test_rng rng;

    assert_non_null(x);
    test_rng_init(&rng, 5);
    for (size_t i = 0; i < count; i++)
        x[i] = test_half_from_double(low + (high - low) * (double)test_rng_range(&rng, 0, 4096) / 4096);
    return x;
}

/* The group of each element: its index on the kept axes. */
static size_t group_of(struct gr_shape s, uint32_t axes, size_t i)
{
    size_t group = 0, stride = 1;

    for (uint32_t k = s.rank; k-- > 0;) {
        if (!(axes >> k & 1)) {
            group += i % s.dim[k] * stride;
            stride *= s.dim[k];
        }
        i /= s.dim[k];
    }
    return group;
}

/* Of a group: what the reductions are made of. */
struct group {
    double sum, absolute, squares, product, most, least, powers;
    size_t count;
};

static struct group *groups_of(struct gr_shape s, uint32_t axes, const uint16_t *x)
{
    size_t count = elements(s);
    struct group *group = calloc(count, sizeof(*group));

    assert_non_null(group);
    for (size_t i = 0; i < count; i++)
        group[i] = (struct group){.product = 1, .most = -INFINITY, .least = INFINITY};
    for (size_t i = 0; i < count; i++) {
        struct group *g = &group[group_of(s, axes, i)];
        double v = test_half_to_double(x[i]);

        g->sum += v;
        g->absolute += fabs(v);
        g->squares += v * v;
        g->product *= v;
        g->most = fmax(g->most, v);
        g->least = fmin(g->least, v);
        g->count++;
    }
    for (size_t i = 0; i < count; i++) {
        struct group *g = &group[group_of(s, axes, i)];

        g->powers += exp(test_half_to_double(x[i]) - g->most);
    }
    return group;
}

static double reduced(enum cc_op_kind kind, const struct group *g)
{
    switch (kind) {
    case CC_OP_REDUCE_SUM: return g->sum;
    case CC_OP_REDUCE_MEAN: return g->sum / (double)g->count;
    case CC_OP_REDUCE_MAX: return g->most;
    case CC_OP_REDUCE_MIN: return g->least;
    case CC_OP_REDUCE_L1_NORM: return g->absolute;
    case CC_OP_REDUCE_L2_NORM: return sqrt(g->squares);
    case CC_OP_REDUCE_SUM_SQUARE: return g->squares;
    case CC_OP_REDUCE_LOG_SUM: return log(g->sum);
    case CC_OP_REDUCE_LOG_SUM_EXP: return g->most + log(g->powers);
    default: return g->product;
    }
}

/*
 * Bounds: a sum is rounded once for each of at most three stages; the terms are those of the absolute sum. A
 * norm has a table of 0.12 percent in each stage; a logarithm is off by 0.0003 and 0.0013 of itself, and by
 * the relative error of what it is of; a product is rounded at each of its steps. Next to 0, fp16 values are
 * 2^-24 apart.
 */
static double allowed(enum cc_op_kind kind, const struct group *g)
{
    double want = fabs(reduced(kind, g));

    switch (kind) {
    case CC_OP_REDUCE_MAX:
    case CC_OP_REDUCE_MIN: return 0;
    case CC_OP_REDUCE_SUM:
    case CC_OP_REDUCE_L1_NORM: return 3 * ULP * g->absolute + 0x1p-24;
    case CC_OP_REDUCE_MEAN: return 4 * ULP * g->absolute / (double)g->count + 0x1p-24;
    case CC_OP_REDUCE_L2_NORM: return 3 * (0.0012 + ULP) * want + 0x1p-24;
    case CC_OP_REDUCE_SUM_SQUARE: return 3 * ULP * want + 0x1p-24;
    case CC_OP_REDUCE_LOG_SUM: return 0.0003 + 0.0013 * want + 3 * ULP;
    case CC_OP_REDUCE_LOG_SUM_EXP: return 0.0003 + 0.0013 * want + 6 * ULP;
    default: return (double)g->count * 2 * ULP * want + 0x1p-20;
    }
}

static void check_reduction(enum cc_op_kind kind, struct gr_shape s, uint32_t axes, bool keep, double low,
                            double high)
{
    size_t count = elements(s), results = 0;
    uint16_t *x = numbers(count, low, high), *y = malloc(count * sizeof(*y));
    struct group *group = groups_of(s, axes, x);
    struct gr g;

    assert_non_null(y);
    gr_open(&g, 1, GR_REAL);
    gr_output(&g, gr_reduce(&g, kind, gr_input(&g, "x", CC_FP16, s), axes, keep));
    gr_run(&g, &client, (const uint16_t *const[]){x}, &y);
    gr_close(&g);
    while (results < count && group[results].count)
        results++;
    for (size_t i = 0; i < results; i++) {
        double got = test_half_to_double(y[i]), want = reduced(kind, &group[i]);

        if (!(fabs(got - want) <= allowed(kind, &group[i])))
            fail_msg("%s of [%u, %u, %u, %u, %u] (rank %u) over 0x%x, group %zu: %.9g, expected %.9g",
                     cc_op_name(kind), s.dim[0], s.dim[1], s.dim[2], s.dim[3], s.dim[4], s.rank, axes, i, got,
                     want);
    }
    free(group);
    free(x);
    free(y);
}

/* The shapes of which the lowering refused some: long axes, many groups, axes of length 1. */
static void long_reductions(void **state)
{
    static const enum cc_op_kind kinds[] = {CC_OP_REDUCE_SUM, CC_OP_REDUCE_MEAN,    CC_OP_REDUCE_MAX,
                                            CC_OP_REDUCE_MIN, CC_OP_REDUCE_L2_NORM, CC_OP_REDUCE_SUM_SQUARE};
    static const struct {
        struct gr_shape shape;
        uint32_t axes;
    } cases[] = {
        {{1, {65536}}, 1},           {{1, {50257}}, 1},           {{1, {16385}}, 1},
        {{2, {3, 50257}}, 2},        {{2, {40000, 3}}, 1},        {{2, {3, 32768}}, 3},
        {{2, {17000, 5}}, 3},        {{3, {16384, 2, 3}}, 2},     {{4, {512, 2, 32, 32}}, 2},
        {{4, {1, 1, 16384, 16}}, 2}, {{4, {1, 1, 16384, 16}}, 1}, {{4, {1, 20000, 2, 3}}, 2},
        {{4, {9000, 2, 1, 3}}, 2},   {{4, {9000, 2, 1, 3}}, 8},   {{4, {20, 70, 20, 3}}, 15},
        {{4, {2, 200, 100, 3}}, 6},  {{4, {20, 3, 100, 20}}, 13}, {{4, {1, 33000, 1, 2}}, 10},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
            check_reduction(kinds[k], cases[i].shape, cases[i].axes, (i + k) % 2, -0.5, 0.6);
}

static void composed_reductions(void **state)
{
    static const enum cc_op_kind kinds[] = {CC_OP_REDUCE_L1_NORM, CC_OP_REDUCE_LOG_SUM,
                                            CC_OP_REDUCE_LOG_SUM_EXP, CC_OP_REDUCE_PROD};
    static const struct gr_shape shape[] = {{4, {2, 3, 5, 7}}, {3, {3, 4, 40}}, {2, {5, 33}}, {1, {6}}};

    (void)state;
    for (unsigned i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
        for (uint32_t axes = 1; axes < 1u << shape[i].rank; axes++)
            for (unsigned k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
                check_reduction(kinds[k], shape[i], axes, axes % 2, 0.9, 1.1);
    check_reduction(CC_OP_REDUCE_LOG_SUM_EXP, GR(2, 40), 2, false, -300, 300);
    check_reduction(CC_OP_REDUCE_LOG_SUM_EXP, GR(1, 50257), 2, true, -3, 3);
    check_reduction(CC_OP_REDUCE_PROD, GR(40, 3), 1, false, -1.2, 1.2);
}

/* Shapes of every rank, with short, long and single axes. */
static void random_reductions(void **state)
{
    static const uint32_t lengths[] = {1, 1, 2, 3, 5, 17, 33, 64, 100, 8192, 16385};
    enum { CASES = 60, KINDS = CC_OP_REDUCE_PROD - CC_OP_REDUCE_MEAN + 1, ELEMENTS_MAX = 40000 };
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 21);
    for (unsigned i = 0; i < CASES; i++) {
        struct gr_shape s = {.rank = (uint32_t)test_rng_range(&rng, 1, 5)};
        enum cc_op_kind kind = (enum cc_op_kind)(CC_OP_REDUCE_MEAN + i % KINDS);
        uint32_t total = 1;

        for (uint32_t k = 0; k < s.rank; k++) {
            s.dim[k] = lengths[test_rng_range(&rng, 0, sizeof(lengths) / sizeof(lengths[0]) - 1)];
            if (s.dim[k] * total > ELEMENTS_MAX || (s.dim[k] > 16384 && s.rank > 2))
                s.dim[k] = 2;
            total *= s.dim[k];
        }
        check_reduction(kind, s, (uint32_t)test_rng_range(&rng, 1, (1 << s.rank) - 1), i % 2,
                        kind == CC_OP_REDUCE_PROD ? 0.99 : 0.01, kind == CC_OP_REDUCE_PROD ? 1.01 : 0.6);
    }
}

/* A unary operation over groups: the elements and their group. */
static double normalised(const struct cc_op *op, double v, const struct group *g)
{
    double n = (double)g->count, mean = g->sum / n, epsilon = (double)op->a.epsilon;

    switch (op->kind) {
    case CC_OP_SOFTMAX: return exp(v - g->most) / g->powers;
    case CC_OP_LOG_SOFTMAX: return v - g->most - log(g->powers);
    case CC_OP_L2_NORM: return v / sqrt(g->squares + epsilon);
    default: return (v - mean) / sqrt(g->squares / n - mean * mean + epsilon);
    }
}

/*
 * softmax: an exponential of a difference, a sum and a reciprocal or a quotient; log_softmax as the logarithm
 * of a sum, and a difference that is rounded; norms: a root of 0.24 percent in up to two stages, a quotient,
 * and the rounding of the difference from the mean.
 */
static double norm_allowed(const struct cc_op *op, double v, const struct group *g, double want)
{
    double size = fmax(fabs(g->most), fabs(g->least));

    switch (op->kind) {
    case CC_OP_SOFTMAX: return (0.002 + 8 * ULP + 2.2e-4 * (g->most - v)) * want + 0x1p-23;
    case CC_OP_LOG_SOFTMAX: return 0.0006 + 0.002 * fabs(want) + 6 * ULP + ULP * size;
    default:
        return (0.006 + 6 * ULP) * fabs(want) +
               4 * ULP * size / sqrt(g->squares / (double)g->count + 1e-9) *
                   (op->kind == CC_OP_L2_NORM ? 0 : 1) +
               0x1p-23;
    }
}

static void check_norm(enum cc_op_kind kind, struct gr_shape s, uint32_t axes, float epsilon, double low,
                       double high)
{
    size_t count = elements(s);
    uint16_t *x = numbers(count, low, high), *y = malloc(count * sizeof(*y));
    struct group *group = groups_of(s, axes, x);
    struct cc_attributes a = {.epsilon = epsilon};
    struct gr g;

    assert_non_null(y);
    gr_open(&g, 1, GR_REAL);
    if (kind == CC_OP_LAYER_NORM)
        a.axes = axes;
    while (kind != CC_OP_LAYER_NORM && !(axes >> a.axis & 1))
        a.axis++;
    gr_output(&g, gr_unary(&g, kind, gr_input(&g, "x", CC_FP16, s), &a));
    gr_run(&g, &client, (const uint16_t *const[]){x}, &y);
    for (size_t i = 0; i < count; i++) {
        const struct group *own = &group[group_of(s, axes, i)];
        const struct cc_op *op = &g.graph->op[0];
        double v = test_half_to_double(x[i]), got = test_half_to_double(y[i]), want = normalised(op, v, own);

        if (!(fabs(got - want) <= norm_allowed(op, v, own, want)))
            fail_msg("%s of [%u, %u, %u, %u] (rank %u) over 0x%x, element %zu: %.9g, expected %.9g",
                     cc_op_name(kind), s.dim[0], s.dim[1], s.dim[2], s.dim[3], s.rank, axes, i, got, want);
    }
    gr_close(&g);
    free(group);
    free(x);
    free(y);
}

static void softmax_of_any_length(void **state)
{
    (void)state;
    for (uint32_t axis = 0; axis < 4; axis++) {
        check_norm(CC_OP_SOFTMAX, GR(2, 3, 5, 40), 1u << axis, 0, -6, 6);
        check_norm(CC_OP_LOG_SOFTMAX, GR(2, 3, 5, 40), 1u << axis, 0, -6, 6);
    }
    check_norm(CC_OP_LOG_SOFTMAX, GR(2, 10), 2, 0, -2000, 2000);
    check_norm(CC_OP_SOFTMAX, GR(1, 50257), 2, 0, -8, 8);
    check_norm(CC_OP_LOG_SOFTMAX, GR(1, 50257), 2, 0, -8, 8);
    check_norm(CC_OP_SOFTMAX, GR(20000, 3), 1, 0, -8, 8);
    check_norm(CC_OP_SOFTMAX, GR(1, 20000, 1, 2), 2, 0, -8, 8);
}

/* Blocks of planes: the last one is not full, one plane is more than a block, and the planes are moved. */
static void norms_in_blocks(void **state)
{
    (void)state;
    check_norm(CC_OP_SOFTMAX, GR(1, 1, 4111, 130), 8, 0, -8, 8);
    check_norm(CC_OP_SOFTMAX, GR(1, 3, 90, 2050), 4, 0, -8, 8);
    check_norm(CC_OP_LAYER_NORM, GR(1, 1, 1303, 450), 8, 1e-3f, -3, 4);
    check_norm(CC_OP_LAYER_NORM, GR(1, 3, 150, 1200), 12, 1e-3f, -3, 4);
    check_norm(CC_OP_LAYER_NORM, GR(1, 60, 30, 400), 2, 1e-12f, -3, 4);
}

static void norms_of_any_length(void **state)
{
    (void)state;
    check_norm(CC_OP_L2_NORM, GR(2, 3, 4, 5), 14, 1e-6f, -3, 3);
    check_norm(CC_OP_L2_NORM, GR(2, 3, 4, 5), 14, 1e-12f, -200, 300);
    check_norm(CC_OP_L2_NORM, GR(3, 40), 2, 0.25f, -1, 1);
    check_norm(CC_OP_L2_NORM, GR(2, 40000), 2, 1e-6f, -3, 3);
    check_norm(CC_OP_L2_NORM, GR(1, 300, 60, 2), 14, 1e-6f, -3, 3);
    check_norm(CC_OP_LAYER_NORM, GR(1, 300, 60, 2), 14, 1e-5f, -3, 4);
    check_norm(CC_OP_LAYER_NORM, GR(1, 50000), 2, 1e-5f, -300, 400);
    check_norm(CC_OP_LAYER_NORM, GR(1, 129, 128, 3), 14, 1e-12f, -3, 4);
    check_norm(CC_OP_LAYER_NORM, GR(2, 20000, 1, 1), 2, 1e-5f, -3, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_reductions),       cmocka_unit_test(composed_reductions),
        cmocka_unit_test(norms_in_blocks),       cmocka_unit_test(random_reductions),
        cmocka_unit_test(softmax_of_any_length), cmocka_unit_test(norms_of_any_length),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
