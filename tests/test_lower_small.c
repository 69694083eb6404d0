/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small operators: remainders, parameters per channel, booleans that are constants, constants of another
 * type. Expected values are computed here in double precision.
 */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "lower_policies.h"

enum { VALUES = 0x10000 };
#define ULP 0x1p-11

/* A constant of another type. */
static uint32_t constant(struct gr *g, enum cc_type type, struct gr_shape shape, const void *data)
{
    size_t bytes = cc_shape_bytes(type, shape.rank, shape.dim);
    char name[16] = "constant";
    void *copy = base_alloc(bytes);
    int v;

    assert_non_null(copy);
    memcpy(copy, data, bytes);
    name[7] = (char)('0' + g->graph->values);
    v = cc_graph_add_const(g->graph, name, type, shape.rank, shape.dim, copy);
    assert_true(v >= 0);
    return (uint32_t)v;
}

/* x - y floor(x / y), rounded once: exact up to that where the quotient is below 2048. */
static void check_remainder(double x, double y, double got)
{
    double want = x - y * floor(x / y);

    if (fabs(x / y) < 2047 && !(fabs(got - want) <= ULP * fabs(want) + 0x1p-24))
        fail_msg("%g mod %g: %g, expected %g", x, y, got, want);
}

static void remainders_by_constants(void **state)
{
    static const double divisor[] = {1, 3, -3, 11, 0.75, 1.5, -2.25, 256, 0.1};
    static uint16_t x[VALUES], y[VALUES];

    (void)state;
    for (unsigned i = 0; i < VALUES; i++)
        x[i] = (i & 0x7c00) == 0x7c00 ? 0 : (uint16_t)i;
    for (unsigned k = 0; k < sizeof(divisor) / sizeof(divisor[0]); k++)
        for (unsigned p = 0; p < POLICIES; p++) {
            struct gr g;

            gr_open(&g, 1, GR_REAL);
            gr_output(&g, gr_binary(&g, CC_OP_MOD, gr_input(&g, "x", CC_FP16, GR(16, 64, 64)),
                                    gr_scalar(&g, divisor[k])));
            gr_run(&g, &client[p], (const uint16_t *const[]){x}, (uint16_t *const[]){y});
            for (unsigned i = 0; i < VALUES; i++)
                check_remainder(test_half_to_double(x[i]),
                                test_half_to_double(test_half_from_double(divisor[k])),
                                test_half_to_double(y[i]));
            gr_close(&g);
        }
}

static void remainders_by_tensors(void **state)
{
    static uint16_t x[VALUES], d[VALUES], y[VALUES];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 3);
    for (unsigned i = 0; i < VALUES; i++) {
        x[i] = test_half_from_double((double)test_rng_range(&rng, -2000, 2000) / 16);
        d[i] = test_half_from_double((double)test_rng_range(&rng, 1, 300) / (i % 2 ? 16 : -4));
    }
    for (unsigned p = 0; p < POLICIES; p++) {
        uint32_t a, b;
        struct gr g;

        gr_open(&g, 1, GR_REAL);
        a = gr_input(&g, "x", CC_FP16, GR(16, 64, 64));
        b = gr_input(&g, "d", CC_FP16, GR(16, 64, 64));
        gr_output(&g, gr_binary(&g, CC_OP_MOD, a, b));
        gr_run(&g, &client[p], (const uint16_t *const[]){x, d}, (uint16_t *const[]){y});
        for (unsigned i = 0; i < VALUES; i++)
            check_remainder(test_half_to_double(x[i]), test_half_to_double(d[i]), test_half_to_double(y[i]));
        gr_close(&g);
    }
}

/* alpha log(1 + e^(beta x)), one of each for a channel, of every rank. */
static void softplus_per_channel(void **state)
{
    static const float alpha[3] = {0.5f, 2, -1.25f}, beta[3] = {1, -0.75f, 3};
    static const struct gr_shape shapes[] = {{2, {4, 3}}, {3, {2, 3, 4}}, {4, {2, 3, 2, 2}}};
    uint16_t x[24], y[24];
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 4);
    for (unsigned i = 0; i < 24; i++)
        x[i] = test_half_from_double((double)test_rng_range(&rng, -400, 400) / 100);
    for (unsigned k = 0; k < 3; k++) {
        struct cc_attributes a = {0};
        unsigned inner = k == 0 ? 1 : 4;
        uint32_t v;
        struct gr g;

        gr_open(&g, 1, GR_REAL);
        v = gr_input(&g, "x", CC_FP16, shapes[k]);
        a.weight = constant(&g, CC_FP32, GR(3), alpha) + 1;
        a.bias = constant(&g, CC_FP32, GR(3), beta) + 1;
        gr_output(&g, gr_unary(&g, CC_OP_SOFTPLUS_PARAMETRIC, v, &a));
        gr_run(&g, &client[0], (const uint16_t *const[]){x}, (uint16_t *const[]){y});
        for (unsigned i = 0; i < 12; i++) {
            unsigned c = i / inner % 3;
            double t = test_half_to_double(x[i]), want = (double)alpha[c] * log1p(exp((double)beta[c] * t));
            double got = test_half_to_double(y[i]);

            /* that of softplus (0.0009 and one of its values), the two products, and beta x rounded */
            if (!(fabs(got - want) <=
                  fabs((double)alpha[c]) * (0.0009 + ULP * fabs((double)beta[c] * t)) + 4 * ULP * fabs(want)))
                fail_msg("softplus_parametric of %g, channel %u: %g, expected %g", t, c, got, want);
        }
        gr_close(&g);
    }
}

/* A causal mask that is a constant, and logic with constants. */
static void constant_booleans(void **state)
{
    static const uint8_t mask[16] = {1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1};
    static const enum cc_op_kind kinds[] = {CC_OP_LOGICAL_AND, CC_OP_LOGICAL_OR, CC_OP_LOGICAL_XOR};
    uint16_t x[32], y[32], z[3][32];
    uint32_t v, m, positive;
    struct gr g;

    (void)state;
    for (unsigned i = 0; i < 32; i++)
        x[i] = test_half_from_double((double)i - 15.5);
    for (unsigned p = 0; p < POLICIES; p++) {
        gr_open(&g, 1, GR_REAL);
        v = gr_input(&g, "x", CC_FP16, GR(2, 4, 4));
        m = constant(&g, CC_BOOL, GR(4, 4), mask);
        gr_output(&g, gr_select(&g, m, v, gr_scalar(&g, -10000)));
        positive = gr_binary(&g, CC_OP_GREATER, v, gr_scalar(&g, 0));
        for (unsigned k = 0; k < 3; k++)
            gr_output(&g, gr_cast(&g, gr_binary(&g, kinds[k], m, positive), CC_FP16));
        gr_run(&g, &client[p], (const uint16_t *const[]){x}, (uint16_t *const[]){y, z[0], z[1], z[2]});
        gr_close(&g);
        for (unsigned i = 0; i < 32; i++) {
            double want = mask[i % 16] ? test_half_to_double(x[i]) : -10000;
            bool a = mask[i % 16], b = i > 15;

            assert_true(fabs(test_half_to_double(y[i]) - want) <= ULP * fabs(want));
            assert_int_equal(z[0][i], a && b ? 0x3c00 : 0);
            assert_int_equal(z[1][i], a || b ? 0x3c00 : 0);
            assert_int_equal(z[2][i], a != b ? 0x3c00 : 0);
        }
    }
}

/* Layout operations move booleans, those of the engine and constants. */
static void booleans_move(void **state)
{
    static const uint8_t row[4] = {1, 0, 0, 1};
    static const uint32_t perm[2] = {1, 0}, begin[2] = {1, 0};
    uint16_t x[12], y[8];
    uint32_t v, m, turned, both[2];
    struct gr g;

    (void)state;
    for (unsigned i = 0; i < 12; i++)
        x[i] = test_half_from_double((double)i - 5.5);
    gr_open(&g, 1, GR_REAL);
    v = gr_input(&g, "x", CC_FP16, GR(3, 4));
    m = gr_binary(&g, CC_OP_GREATER, v, gr_scalar(&g, 0));
    turned = gr_transpose(&g, gr_slice(&g, m, begin, GR(2, 4)), perm); /* [4, 2] */
    g.graph->value[turned].type = g.graph->value[g.graph->op[1].output].type = CC_BOOL;
    g.graph->value[turned].bytes = g.graph->value[g.graph->op[1].output].bytes = 8;
    both[0] = turned;
    both[1] = constant(&g, CC_BOOL, GR(4, 1), row);
    gr_output(&g, gr_cast(&g, gr_binary(&g, CC_OP_LOGICAL_XOR, both[0], both[1]), CC_FP16));
    gr_run(&g, &client[0], (const uint16_t *const[]){x}, (uint16_t *const[]){y});
    gr_close(&g);
    for (unsigned i = 0; i < 8; i++) {
        bool moved = test_half_to_double(x[(1 + i % 2) * 4 + i / 2]) > 0;

        assert_int_equal(y[i], moved != (row[i / 2] != 0) ? 0x3c00 : 0);
    }
}

/* An fp32 constant in an fp16 operation is rounded once. */
static void constants_are_rounded(void **state)
{
    static const float third = 1 / 3.0f;
    uint16_t x[4] = {0x3c00, 0x4000, 0xbc00, 0}, y[4];
    struct gr g;

    (void)state;
    gr_open(&g, 1, GR_REAL);
    gr_output(&g, gr_binary(&g, CC_OP_ADD, gr_input(&g, "x", CC_FP16, GR(4)),
                            constant(&g, CC_FP32, (struct gr_shape){0}, &third)));
    gr_run(&g, &client[0], (const uint16_t *const[]){x}, (uint16_t *const[]){y});
    gr_close(&g);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(y[i], test_half_from_double(test_half_to_double(x[i]) +
                                                     test_half_to_double(test_half_from_double(third))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remainders_by_constants), cmocka_unit_test(remainders_by_tensors),
        cmocka_unit_test(softplus_per_channel),    cmocka_unit_test(constant_booleans),
        cmocka_unit_test(booleans_move),           cmocka_unit_test(constants_are_rounded),
    };

    return cmocka_run_group_tests(tests, open_machines, close_machines);
}
