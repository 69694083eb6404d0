/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The larger operation set: random graphs of one operation each, run through driver, firmware and engine as
 * bundles, against the operations' definitions in double precision.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lower_machine.h"

static uint32_t elements_of(struct gr_shape s)
{
    uint32_t count = 1;

    for (uint32_t i = 0; i < s.rank; i++)
        count *= s.dim[i];
    return count;
}

static struct gr_shape thin(struct gr *g, struct gr_shape s)
{
    struct gr_shape t = {.rank = pick(g, 0, s.rank)};

    for (uint32_t i = 0; i < t.rank; i++)
        t.dim[i] = pick(g, 0, 2) ? s.dim[s.rank - t.rank + i] : 1;
    return t;
}

/*
 * How far off a table of 33 knots is allowed to be, in units of one
 * operation's rounding, on numbers in [-1, 1].
 */
static void unary_operations(void **state)
{
    static const struct {
        enum cc_op_kind kind;
        bool positive;
        double slack;
        struct cc_attributes a;
    } row[] = {
        {CC_OP_SIGMOID, false, 16, {0}},
        {CC_OP_TANH, false, 16, {0}},
        {CC_OP_ERF, false, 16, {0}},
        {CC_OP_EXP, false, 4, {0}},
        {CC_OP_EXP2, false, 4, {0}},
        {CC_OP_LOG, true, 8, {.epsilon = 0}},
        {CC_OP_LOG, true, 8, {.epsilon = 0.5f}},
        {CC_OP_SQRT, true, 4, {0}},
        {CC_OP_RSQRT, true, 4, {.epsilon = 0}},
        {CC_OP_RSQRT, true, 4, {.epsilon = 0.25f}},
        {CC_OP_INVERSE, true, 4, {.epsilon = 0}},
        {CC_OP_INVERSE, true, 4, {.epsilon = 0.125f}},
        {CC_OP_ABS, false, 0.5, {0}},
        {CC_OP_SQUARE, false, 1, {0}},
        {CC_OP_SIGN, false, 0, {0}},
        {CC_OP_CEIL, false, 0, {0}},
        {CC_OP_FLOOR, false, 0, {0}},
        {CC_OP_GELU, false, 64, {.gelu = CC_GELU_EXACT}},
        {CC_OP_GELU, false, 64, {.gelu = CC_GELU_TANH}},
        {CC_OP_GELU, false, 64, {.gelu = CC_GELU_SIGMOID}},
        {CC_OP_SILU, false, 128, {0}},
        {CC_OP_LEAKY_RELU, false, 2, {.alpha = 0.125f}},
        {CC_OP_RELU6, false, 0, {0}},
        {CC_OP_CLIP, false, 0, {.alpha = -0.5f, .beta = 0.25f}},
        {CC_OP_CLIP, false, 0, {.alpha = 0.125f, .beta = 0.25f}},
        {CC_OP_ELU, false, 64, {.alpha = 1}},
        {CC_OP_SOFTPLUS, false, 8, {0}},
        {CC_OP_SOFTSIGN, false, 8, {0}},
        {CC_OP_SIGMOID_HARD, false, 4, {.alpha = 0.5f, .beta = 0.5f}},
        {CC_OP_SIGMOID_HARD, false, 4, {.alpha = -4, .beta = 0.25f}},
        {CC_OP_THRESHOLD, false, 0, {.alpha = 0.25f}},
        {CC_OP_THRESHOLDED_RELU, false, 0, {.alpha = 0.25f}},
        {CC_OP_THRESHOLDED_RELU, false, 0, {.alpha = -0.25f}},
        {CC_OP_CLAMPED_RELU, false, 2, {.alpha = 0.25f, .beta = 0.5f}},
        {CC_OP_CLAMPED_RELU, false, 2, {.alpha = -0.5f, .beta = 0.25f}},
        {CC_OP_LINEAR_ACTIVATION, false, 2, {.alpha = 3, .beta = -0.5f}},
        {CC_OP_SCALED_TANH, false, 32, {.alpha = 2, .beta = 0.5f}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        for (unsigned round = 0; round < 3; round++) {
            struct gr g;

            gr_open(&g, 0x100000 + i * 16 + round, GR_REAL);
            g.positive = row[i].positive;
            g.slack = row[i].slack;
            gr_output(&g, gr_unary(&g, row[i].kind, gr_input(&g, "x", CC_FP16, random_shape(&g)), &row[i].a));
            gr_check(&g, &client);
            gr_close(&g);
        }
}

static void wide_tensors_are_cut(void **state)
{
    struct cc_attributes a = {.alpha = 0.5f};
    struct gr g;

    (void)state;
    gr_open(&g, 0x101000, GR_WHOLE);
    gr_output(&g, gr_unary(&g, CC_OP_LEAKY_RELU, gr_input(&g, "x", CC_FP16, GR(2, 40000)), &a));
    assert_int_equal(gr_check(&g, &client), 3);
    gr_close(&g);
}

static void whole_numbers_stay(void **state)
{
    static const enum cc_op_kind kind[] = {CC_OP_FLOOR, CC_OP_CEIL, CC_OP_SIGN, CC_OP_RELU6};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct gr g;

        gr_open(&g, 0x102000 + i, GR_WHOLE);
        g.most = 9;
        gr_output(&g, gr_unary(&g, kind[i], gr_input(&g, "x", CC_FP16, random_shape(&g)), NULL));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void quotients_and_powers(void **state)
{
    static const enum cc_op_kind kind[] = {CC_OP_REAL_DIV, CC_OP_POW};

    (void)state;
    for (unsigned round = 0; round < 30; round++) {
        struct gr_shape shape;
        uint32_t x, y;
        struct gr g;

        gr_open(&g, 0x103000 + round, GR_REAL);
        g.positive = true;
        g.slack = 16;
        shape = random_shape(&g);
        x = round % 5 == 4 ? gr_const(&g, thin(&g, shape)) : gr_input(&g, "x", CC_FP16, shape);
        y = round % 5 == 3 ? gr_const(&g, thin(&g, shape)) : gr_input(&g, "y", CC_FP16, thin(&g, shape));
        gr_output(&g, gr_binary(&g, kind[round % 2], x, y));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void powers_of_constants(void **state)
{
    static const double power[] = {1, 2, 3, 0.5, -1, -0.5, 1.5, 4, 5, 7, 0};

    (void)state;
    for (unsigned i = 0; i < sizeof(power) / sizeof(power[0]); i++) {
        struct gr g;

        gr_open(&g, 0x104000 + i, GR_REAL);
        g.positive = power[i] < 0 || power[i] != floor(power[i]);
        g.slack = 16;
        gr_output(&g, gr_binary(&g, CC_OP_POW, gr_input(&g, "x", CC_FP16, random_shape(&g)),
                                gr_scalar(&g, power[i])));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

/* Whole quotients too: the floor is that of the true quotient. */
static void floors_of_quotients(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 12; round++) {
        struct gr_shape shape;
        uint32_t x, y;
        struct gr g;

        gr_open(&g, 0x104100 + round, GR_WHOLE);
        g.most = round % 4 ? 300 : 20;
        g.positive = true; /* no divisor of 0 */
        shape = random_shape(&g);
        x = round % 3 == 2 ? gr_const(&g, thin(&g, shape)) : gr_input(&g, "x", CC_FP16, shape);
        y = round % 3 == 1   ? gr_scalar(&g, (double)round - 6.5)
            : round % 3 == 0 ? gr_const(&g, thin(&g, shape))
                             : gr_input(&g, "y", CC_FP16, shape);
        gr_output(&g, gr_binary(&g, CC_OP_FLOOR_DIV, x, y));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void comparisons_and_logic(void **state)
{
    static const enum cc_op_kind compare[] = {CC_OP_EQUAL, CC_OP_NOT_EQUAL,  CC_OP_GREATER,
                                              CC_OP_LESS,  CC_OP_LESS_EQUAL, CC_OP_GREATER_EQUAL};
    static const enum cc_op_kind logic[] = {CC_OP_LOGICAL_AND, CC_OP_LOGICAL_OR, CC_OP_LOGICAL_XOR};

    (void)state;
    for (unsigned round = 0; round < 36; round++) {
        struct gr_shape shape;
        uint32_t x, y, a, b;
        struct gr g;

        gr_open(&g, 0x105000 + round, GR_WHOLE);
        g.most = 2;
        shape = random_shape(&g);
        x = gr_input(&g, "x", CC_FP16, shape);
        y = round % 2 ? gr_input(&g, "y", CC_FP16, thin(&g, shape)) : gr_scalar(&g, 1);
        a = gr_binary(&g, compare[round % 6], x, y);
        b = gr_binary(&g, compare[round / 6], y, x);
        if (round % 4 == 0)
            b = gr_unary(&g, CC_OP_LOGICAL_NOT, b, NULL);
        a = gr_binary(&g, logic[round % 3], a, b);
        gr_output(&g, gr_cast(&g, a, CC_FP16));
        gr_output(&g, gr_select(&g, b, x, y));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void reductions_over_any_axes(void **state)
{
    static const struct {
        enum cc_op_kind kind;
        double slack;
    } row[] = {{CC_OP_REDUCE_SUM, 1},  {CC_OP_REDUCE_MAX, 0},     {CC_OP_REDUCE_MIN, 0},
               {CC_OP_REDUCE_MEAN, 1}, {CC_OP_REDUCE_L2_NORM, 4}, {CC_OP_REDUCE_SUM_SQUARE, 1}};

    (void)state;
    for (unsigned round = 0; round < 90; round++) {
        struct gr_shape shape;
        struct gr g;

        gr_open(&g, 0x106000 + round, GR_REAL);
        g.slack = row[round % 6].slack;
        shape = random_shape(&g);
        gr_output(&g, gr_reduce(&g, row[round % 6].kind, gr_input(&g, "x", CC_FP16, shape),
                                pick(&g, 1, (1u << shape.rank) - 1), round % 2));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void softmax_over_any_axis(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 30; round++) {
        struct cc_attributes a = {0};
        struct gr_shape shape;
        struct gr g;

        gr_open(&g, 0x107000 + round, GR_REAL);
        g.slack = 8;
        shape = random_shape(&g);
        a.axis = pick(&g, 0, shape.rank - 1);
        gr_output(&g, gr_unary(&g, CC_OP_SOFTMAX, gr_input(&g, "x", CC_FP16, shape), &a));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void layer_norms(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        struct cc_attributes a = {.epsilon = 0.01f};
        struct gr_shape shape, of = {0};
        uint32_t x;
        struct gr g;

        gr_open(&g, 0x108000 + round, GR_REAL);
        g.slack = 32; /* the mean is rounded by up to 2^-12, and 1 / sqrt(variance + 0.01) is up to 10 */
        shape = random_shape(&g);
        x = gr_input(&g, "x", CC_FP16, shape);
        a.axes = pick(&g, 1, (1u << shape.rank) - 1);
        for (uint32_t i = 0; i < shape.rank; i++)
            if (a.axes >> i & 1)
                of.dim[of.rank++] = shape.dim[i];
        a.weight = round % 2 ? gr_const(&g, of) + 1 : 0;
        a.bias = round % 3 ? gr_const(&g, of) + 1 : 0;
        gr_output(&g, gr_unary(&g, CC_OP_LAYER_NORM, x, &a));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void norms_of_channels(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 24; round++) {
        struct cc_attributes a = {.epsilon = 0.01f};
        bool batch = round % 2;
        struct gr_shape shape;
        uint32_t x;
        struct gr g;

        gr_open(&g, 0x109000 + round, GR_REAL);
        g.slack = 16;
        shape = GR(pick(&g, 1, 3), pick(&g, 1, 40), pick(&g, 1, 6), pick(&g, 2, 40));
        if (batch && round % 4 == 1)
            shape = GR(shape.dim[0], shape.dim[1], shape.dim[3]);
        x = gr_input(&g, "x", CC_FP16, shape);
        a.weight = round % 4 < 2 ? gr_const(&g, GR(shape.dim[1])) + 1 : 0;
        a.bias = round % 3 ? gr_const(&g, GR(shape.dim[1])) + 1 : 0;
        if (batch) {
            a.mean = gr_const(&g, GR(shape.dim[1])) + 1;
            g.positive = true;
            a.variance = gr_const(&g, GR(shape.dim[1])) + 1;
            g.positive = false;
        }
        gr_output(&g, gr_unary(&g, batch ? CC_OP_BATCH_NORM : CC_OP_INSTANCE_NORM, x, &a));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void transposes(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        uint32_t perm[4] = {0, 1, 2, 3};
        struct gr_shape shape;
        struct gr g;

        gr_open(&g, 0x10a000 + round, GR_REAL);
        g.slack = 0;
        shape = random_shape(&g);
        for (uint32_t i = shape.rank; i-- > 1;) {
            uint32_t k = pick(&g, 0, i), t = perm[i];

            perm[i] = perm[k];
            perm[k] = t;
        }
        gr_output(&g, gr_transpose(&g, gr_input(&g, "x", CC_FP16, shape), perm));
        assert_int_equal(gr_check(&g, &client), 1);
        gr_close(&g);
    }
}

/* Any shape of as many elements: divisors of what is left. */
static struct gr_shape another_shape(struct gr *g, uint32_t count)
{
    struct gr_shape s = {.rank = pick(g, 1, 4)};

    for (uint32_t i = 0; i + 1 < s.rank; i++) {
        uint32_t d = pick(g, 1, count < 12 ? count : 12);

        while (count % d)
            d--;
        s.dim[i] = d;
        count /= d;
    }
    s.dim[s.rank - 1] = count;
    return s;
}

static void reshapes(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        struct gr_shape shape;
        uint32_t x;
        struct gr g;

        gr_open(&g, 0x10b000 + round, GR_REAL);
        g.slack = 0;
        shape = random_shape(&g);
        x = gr_input(&g, "x", CC_FP16, shape);
        if (round % 3 == 0)
            x = gr_unary(&g, CC_OP_RELU, x, NULL);
        x = gr_reshape(&g, x, another_shape(&g, elements_of(shape)));
        gr_output(&g, round % 3 == 1 ? gr_unary(&g, CC_OP_RELU, x, NULL) : x);
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void a_large_reshape_is_cut(void **state)
{
    struct gr g;

    (void)state;
    gr_open(&g, 0x10b100, GR_REAL);
    g.slack = 0;
    gr_output(&g, gr_reshape(&g, gr_input(&g, "x", CC_FP16, GR(1500, 1000)), GR(1000, 1500)));
    assert_int_equal(gr_check(&g, &client), 4);
    gr_close(&g);
}

static void slices(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        uint32_t begin[4];
        struct gr_shape shape, size;
        struct gr g;

        gr_open(&g, 0x10c000 + round, GR_REAL);
        g.slack = 0;
        size = shape = random_shape(&g);
        for (uint32_t i = 0; i < shape.rank; i++) {
            begin[i] = pick(&g, 0, shape.dim[i] - 1);
            size.dim[i] = pick(&g, 1, shape.dim[i] - begin[i]);
        }
        gr_output(&g, gr_slice(&g, gr_input(&g, "x", CC_FP16, shape), begin, size));
        assert_int_equal(gr_check(&g, &client), 1);
        gr_close(&g);
    }
}

static void slices_leave_axes_out(void **state)
{
    struct cc_attributes a = {.begin = {1, 2, 0, 3}, .size = {1, 2, 5, 1}, .axes = 9};
    struct gr g;
    uint32_t x;

    (void)state;
    gr_open(&g, 0x10c100, GR_REAL);
    g.slack = 0;
    x = gr_input(&g, "x", CC_FP16, GR(2, 4, 5, 6));
    gr_output(&g, gr_op(&g, CC_OP_SLICE_BY_INDEX, 1, &x, GR(2, 5), &a));
    gr_check(&g, &client);
    gr_close(&g);
}

static void concatenations(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        uint32_t value[4], count, axis;
        struct gr_shape shape;
        struct gr g;

        gr_open(&g, 0x10d000 + round, GR_REAL);
        g.slack = 0;
        shape = random_shape(&g);
        axis = pick(&g, 0, shape.rank - 1);
        count = pick(&g, 1, 4);
        for (uint32_t i = 0; i < count; i++) {
            char name[8] = {'x', (char)('0' + i)};

            shape.dim[axis] = round % 4 ? pick(&g, 1, 40) : 32 * pick(&g, 1, 2);
            value[i] = i == 2 ? gr_const(&g, shape) : gr_input(&g, name, CC_FP16, shape);
        }
        gr_output(&g, gr_concat(&g, count, value, axis));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void stacks_and_tiles(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        uint32_t value[3], reps[4];
        struct gr_shape shape;
        struct gr g;

        gr_open(&g, 0x10e000 + round, GR_REAL);
        g.slack = 0;
        shape = random_shape(&g);
        for (uint32_t i = 0; i < shape.rank; i++)
            reps[i] = pick(&g, 1, 3);
        value[0] = gr_input(&g, "x", CC_FP16, shape);
        gr_output(&g, gr_tile(&g, value[0], reps));
        if (shape.rank < 4) {
            struct cc_attributes a = {.axis = pick(&g, 0, shape.rank)};
            struct gr_shape out = {.rank = shape.rank + 1};

            value[1] = gr_input(&g, "y", CC_FP16, shape);
            value[2] = value[0];
            for (uint32_t i = 0; i < out.rank; i++)
                out.dim[i] = i == a.axis ? 3 : shape.dim[i < a.axis ? i : i - 1];
            gr_output(&g, gr_op(&g, CC_OP_STACK, 3, value, out, &a));
        }
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void convolutions_of_groups_and_strides(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        struct cc_attributes a = {.dilation = {1, 1}};
        uint32_t x, groups, in, out;
        struct gr g;

        gr_open(&g, 0x10f000 + round, round % 2 ? GR_REAL : GR_WHOLE);
        g.most = 2;
        g.slack = 2;
        groups = round % 3 == 0 ? 1 : pick(&g, 2, 20);
        in = round % 3 == 1 ? 1 : pick(&g, 1, 4);
        out = round % 3 == 1 ? 1 : round % 3 ? pick(&g, 1, 5) : pick(&g, 1, 70);
        a.groups = groups;
        for (unsigned i = 0; i < 2; i++)
            a.stride[i] = pick(&g, 1, 3);
        for (unsigned i = 0; i < 4; i++)
            a.pad[i] = pick(&g, 0, 2);
        a.weight = gr_const(&g, GR(out * groups, in, pick(&g, 1, 4), pick(&g, 1, 4))) + 1;
        a.bias = round % 4 < 2 ? gr_const(&g, GR(out * groups)) + 1 : 0;
        x = gr_input(&g, "x", CC_FP16, GR(pick(&g, 1, 2), in * groups, pick(&g, 4, 9), pick(&g, 4, 40)));
        x = gr_window(&g, CC_OP_CONV, x, &a);
        gr_output(&g, round % 5 ? x : gr_relu(&g, x));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

static void tables_join_convolutions(void **state)
{
    static const enum cc_op_kind kind[] = {CC_OP_SIGMOID,    CC_OP_TANH,  CC_OP_GELU, CC_OP_SILU,
                                           CC_OP_LEAKY_RELU, CC_OP_RELU6, CC_OP_EXP};

    (void)state;
    for (unsigned round = 0; round < 42; round++) {
        struct cc_attributes a = {.dilation = {1, 1}, .stride = {1, 1}, .pad = {1, 1, 1, 1}, .groups = 1},
                             alpha = {.alpha = 0.25f};
        uint32_t x, out;
        struct gr g;

        gr_open(&g, 0x112000 + round, GR_REAL);
        g.slack = 128;
        out = pick(&g, 1, 40);
        if (round % 3 == 0) {
            x = gr_input(&g, "x", CC_FP16, GR(3, 20));
            x = gr_linear(&g, x, gr_const(&g, GR(out, 20)), round % 2 ? gr_const(&g, GR(out)) : GR_NONE);
        } else {
            a.groups = round % 3 == 1 ? 1 : 6;
            a.weight = gr_const(&g, GR(out * a.groups, 1, 3, 3)) + 1;
            a.bias = round % 2 ? gr_const(&g, GR(out * a.groups)) + 1 : 0;
            x = gr_window(&g, CC_OP_CONV, gr_input(&g, "x", CC_FP16, GR(1, a.groups, 5, 9)), &a);
        }
        gr_output(&g, gr_unary(&g, kind[round % 7], x, &alpha));
        assert_int_equal(gr_check(&g, &client), round % 3 ? 1 : 2);
        gr_close(&g);
    }
}

static void pools(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        struct cc_attributes a = {.dilation = {1, 1}};
        uint32_t x;
        struct gr g;

        gr_open(&g, 0x110000 + round, GR_REAL);
        g.slack = round % 2 ? 0 : 4;
        for (unsigned i = 0; i < 2; i++) {
            a.kernel[i] = pick(&g, 1, 4);
            a.stride[i] = pick(&g, 1, 3);
            a.pad[2 * i] = pick(&g, 0, a.kernel[i] - 1);
            a.pad[2 * i + 1] = pick(&g, 0, a.kernel[i] - 1);
        }
        x = gr_input(&g, "x", CC_FP16, GR(pick(&g, 1, 3), pick(&g, 1, 20), pick(&g, 4, 9), pick(&g, 4, 40)));
        gr_output(&g, gr_window(&g, round % 2 ? CC_OP_MAX_POOL : CC_OP_AVG_POOL, x, &a));
        assert_int_equal(gr_check(&g, &client), 1);
        gr_close(&g);
    }
}

/* More planes than a descriptor has channels. */
static void averages_of_many_planes(void **state)
{
    struct cc_attributes a = {.dilation = {1, 1}, .stride = {1, 1}, .kernel = {2, 2}};
    struct gr g;

    (void)state;
    gr_open(&g, 0x110100, GR_REAL);
    gr_output(&g, gr_window(&g, CC_OP_AVG_POOL, gr_input(&g, "x", CC_FP16, GR(2, 40000, 2, 3)), &a));
    gr_check(&g, &client);
    gr_close(&g);
}

static void products_of_two_runtime_matrices(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 40; round++) {
        uint32_t m, k, n, b, c;
        bool tx = round & 1, ty = round >> 1 & 1;
        struct gr_shape x, y;
        struct gr g;

        gr_open(&g, 0x111000 + round, round % 3 ? GR_WHOLE : GR_REAL);
        g.most = 2;
        g.slack = 2;
        m = round % 5 ? pick(&g, 1, 40) : pick(&g, 60, 200);
        k = pick(&g, 1, 70);
        n = pick(&g, 1, 70);
        b = pick(&g, 1, 2);
        c = pick(&g, 1, 3);
        x = tx ? GR(b, c, k, m) : GR(b, c, m, k);
        y = ty ? GR(c, n, k) : GR(c, k, n);
        if (round % 4 == 3)
            y.dim[0] = 1;
        m = gr_input(&g, "x", CC_FP16, x);
        n = gr_matmul(&g, m, gr_input(&g, "y", CC_FP16, y), tx, ty);
        gr_output(&g, round % 7 ? n : gr_relu(&g, n));
        gr_check(&g, &client);
        gr_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_operations),
        cmocka_unit_test(wide_tensors_are_cut),
        cmocka_unit_test(whole_numbers_stay),
        cmocka_unit_test(quotients_and_powers),
        cmocka_unit_test(powers_of_constants),
        cmocka_unit_test(floors_of_quotients),
        cmocka_unit_test(comparisons_and_logic),
        cmocka_unit_test(reductions_over_any_axes),
        cmocka_unit_test(softmax_over_any_axis),
        cmocka_unit_test(layer_norms),
        cmocka_unit_test(norms_of_channels),
        cmocka_unit_test(transposes),
        cmocka_unit_test(reshapes),
        cmocka_unit_test(a_large_reshape_is_cut),
        cmocka_unit_test(slices),
        cmocka_unit_test(slices_leave_axes_out),
        cmocka_unit_test(concatenations),
        cmocka_unit_test(stacks_and_tiles),
        cmocka_unit_test(convolutions_of_groups_and_strides),
        cmocka_unit_test(tables_join_convolutions),
        cmocka_unit_test(pools),
        cmocka_unit_test(averages_of_many_planes),
        cmocka_unit_test(products_of_two_runtime_matrices),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
