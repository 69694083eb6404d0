/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows beyond what a descriptor can express: convolutions, transposed ones and pools of any stride,
 * dilation, size and padding, and what is composed of windows. Each graph is computed before and after the
 * passes in double precision, and run on the machine. Whole numbers whose sums stay below 2048 must come out
 * exactly.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/eval.h"
#include "lower_machine.h"

static uint32_t add(struct gr *g, enum cc_op_kind kind, uint32_t x, const struct cc_attributes *a)
{
    struct cc_op op = {.kind = kind, .name = (char[]){"y"}, .inputs = 1, .input = {x}, .a = *a};
    struct cc_shape shape;
    struct base_error error;
    struct gr_shape out;

    if (cc_op_shape(g->graph, &op, &shape, &error))
        fail_msg("%s", error.text);
    out.rank = shape.rank;
    memcpy(out.dim, shape.dim, sizeof(out.dim));
    return gr_op(g, kind, 1, &x, out, a);
}

/* `x` has one array per input. */
static void evaluate(const struct cc_graph *graph, double *const *x, struct cc_eval *eval)
{
    struct base_error error;

    if (cc_eval_open(eval, graph, &error))
        fail_msg("%s", error.text);
    for (uint32_t i = 0; i < graph->inputs; i++)
        if (cc_eval_set(eval, graph->input[i], x[i], &error))
            fail_msg("%s", error.text);
    if (cc_eval_run(eval, 0, &error))
        fail_msg("%s", error.text);
}

/* The passes keep the meaning. `relative` is for constants that they compute in single precision. */
static void meaning_stays(struct gr *g, double relative)
{
    enum { INPUTS = 2 };
    double *x[INPUTS] = {NULL}, most = 0;
    uint64_t count;
    struct cc_graph *after;
    struct cc_eval eval[2];
    struct base_error error;
    const double *y[2];

    assert_true(g->graph->inputs <= INPUTS);
    for (uint32_t i = 0; i < g->graph->inputs; i++) {
        count = cc_value_elements(&g->graph->value[g->graph->input[i]]);
        x[i] = calloc(count, sizeof(*x[i]));
        assert_non_null(x[i]);
        for (uint64_t k = 0; k < count; k++)
            x[i][k] = (double)test_rng_range(&g->rng, 0, 4096) / 2048 - 1;
    }
    assert_int_equal(cc_graph_copy(g->graph, &after), 0);
    if (cc_passes(&after, &error))
        fail_msg("%s", error.text);
    evaluate(g->graph, x, &eval[0]);
    evaluate(after, x, &eval[1]);
    y[0] = eval[0].value[g->graph->output[0]];
    y[1] = eval[1].value[after->output[0]];
    count = cc_value_elements(&g->graph->value[g->graph->output[0]]);
    for (uint64_t i = 0; i < count; i++)
        most = fmax(most, fabs(y[0][i]));
    for (uint64_t i = 0; i < count; i++)
        if (!(fabs(y[0][i] - y[1][i]) <= relative * most))
            fail_msg("element %llu: %.12g after the passes, %.12g before", (unsigned long long)i, y[1][i],
                     y[0][i]);
    cc_eval_close(&eval[0]);
    cc_eval_close(&eval[1]);
    cc_graph_destroy(after);
    for (uint32_t i = 0; i < INPUTS; i++)
        free(x[i]);
}

/* Both checks; returns the number of descriptors. */
static uint32_t check(struct gr *g, uint32_t y, double relative)
{
    uint32_t records;

    gr_output(g, y);
    meaning_stays(g, relative);
    records = gr_check(g, &client);
    gr_close(g);
    return records;
}

/* What a test of random windows draws from. */
struct range {
    uint32_t kernel, stride, dilation, pad; /* at most */
};

static void draw(struct gr *g, const struct range *r, struct cc_attributes *a)
{
    for (unsigned i = 0; i < 2; i++) {
        a->kernel[i] = pick(g, 1, r->kernel);
        a->stride[i] = pick(g, 1, r->stride);
        a->dilation[i] = pick(g, 1, r->dilation);
        a->pad[2 * i] = pick(g, 0, r->pad);
        a->pad[2 * i + 1] = pick(g, 0, r->pad);
    }
}

/* A length that the window fits. */
static uint32_t length_for(struct gr *g, const struct cc_attributes *a, unsigned axis, uint32_t more)
{
    uint32_t extent = (a->kernel[axis] - 1) * a->dilation[axis] + 1,
             pad = a->pad[2 * axis] + a->pad[2 * axis + 1];

    return (extent > pad ? extent - pad : 1) + pick(g, 0, more);
}

static const struct range ranges[] = {
    {6, 16, 1, 3}, /* strides */
    {4, 1, 5, 4},  /* dilations */
    {3, 5, 4, 5},  /* both */
    {34, 2, 1, 9}, /* large kernels */
    {3, 2, 1, 40}, /* padding */
};

static void convolutions(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        struct cc_attributes a = {.groups = 1};
        uint32_t x, in, out;
        struct gr g;

        gr_open(&g, 0x160000 + round, GR_WHOLE);
        g.most = 1;
        draw(&g, &ranges[round % 5], &a);
        a.groups = round % 3 ? pick(&g, 1, 4) : 1;
        in = round % 4 == 1 ? 1 : pick(&g, 1, 3);
        out = round % 4 == 1 ? 1 : pick(&g, 1, 6);
        a.weight = gr_const(&g, GR(out * a.groups, in, a.kernel[0], a.kernel[1])) + 1;
        a.bias = round % 2 ? gr_const(&g, GR(out * a.groups)) + 1 : 0;
        x = gr_input(&g, "x", CC_FP16,
                     GR(pick(&g, 1, 2), in * a.groups, length_for(&g, &a, 0, 12), length_for(&g, &a, 1, 40)));
        a.kernel[0] = a.kernel[1] = 0;
        x = add(&g, CC_OP_CONV, x, &a);
        check(&g, round % 3 ? x : gr_relu(&g, x), 1e-9);
    }
}

/* Weights that are an input, and weights that are computed of constants alone, which are folded. */
static void weights_of_run_time(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 24; round++) {
        struct cc_attributes a = {.groups = 1};
        uint32_t x, w, in, out, input[2];
        struct gr_shape shape;
        struct cc_op op = {.kind = CC_OP_CONV, .name = (char[]){"y"}, .inputs = 2};
        struct cc_shape result;
        struct base_error error;
        struct gr g;

        gr_open(&g, 0x16a000 + round, GR_WHOLE);
        g.most = 1;
        draw(&g, &(struct range){3, round % 3 + 1, round % 2 + 1, 2}, &a);
        a.groups = round % 4 == 3 ? pick(&g, 2, 3) : 1;
        in = pick(&g, 1, 3);
        out = pick(&g, 1, 5);
        shape = GR(out * a.groups, in, a.kernel[0], a.kernel[1]);
        x = gr_input(&g, "x", CC_FP16,
                     GR(pick(&g, 1, 2), in * a.groups, length_for(&g, &a, 0, 6), length_for(&g, &a, 1, 20)));
        w = round % 4 ? gr_input(&g, "w", CC_FP16, shape)
                      : gr_unary(&g, CC_OP_ABS, gr_const(&g, shape), NULL);
        a.bias = round % 2 ? gr_const(&g, GR(out * a.groups)) + 1 : 0;
        a.kernel[0] = a.kernel[1] = 0;
        input[0] = op.input[0] = x;
        input[1] = op.input[1] = w;
        op.a = a;
        if (cc_op_shape(g.graph, &op, &result, &error))
            fail_msg("%s", error.text);
        shape = GR(result.dim[0], result.dim[1], result.dim[2], result.dim[3]);
        check(&g, gr_op(&g, CC_OP_CONV, 2, input, shape, &a), 1e-9);
    }
}

static void transposed_convolutions(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 60; round++) {
        struct cc_attributes a = {0};
        uint32_t x, in, out, dim[2];
        struct gr g;

        gr_open(&g, 0x161000 + round, GR_WHOLE);
        g.most = 1;
        draw(&g, &(struct range){5, round % 2 ? 3 : 6, 3, 3}, &a);
        a.groups = pick(&g, 1, 3);
        in = pick(&g, 1, 3);
        out = round % 4 == 1 ? 1 : pick(&g, 1, 5);
        a.weight = gr_const(&g, GR(in * a.groups, out, a.kernel[0], a.kernel[1])) + 1;
        a.bias = round % 2 ? gr_const(&g, GR(out * a.groups)) + 1 : 0;
        for (unsigned i = 0; i < 2; i++) {
            uint32_t whole;

            dim[i] = pick(&g, 1, i ? 20 : 6);
            whole = a.stride[i] * (dim[i] - 1) + a.dilation[i] * (a.kernel[i] - 1) + pick(&g, 1, a.stride[i]);
            a.pad[2 * i] = a.pad[2 * i] < whole ? a.pad[2 * i] : 0;
            a.size[i] = whole - a.pad[2 * i];
            a.size[i] -= pick(&g, 0, a.size[i] - 1) % 4;
            a.pad[2 * i + 1] = 0;
        }
        x = gr_input(&g, "x", CC_FP16, GR(pick(&g, 1, 2), in * a.groups, dim[0], dim[1]));
        a.kernel[0] = a.kernel[1] = 0;
        check(&g, add(&g, CC_OP_CONV_TRANSPOSE, x, &a), 1e-9);
    }
}

static void pools(void **state)
{
    static const enum cc_op_kind kind[] = {CC_OP_MAX_POOL, CC_OP_AVG_POOL, CC_OP_MAX_POOL, CC_OP_L2_POOL};

    (void)state;
    for (unsigned round = 0; round < 120; round++) {
        struct cc_attributes a = {0};
        struct gr g;
        uint32_t x;

        gr_open(&g, 0x162000 + round, GR_REAL);
        /*
         * A factor per place and sums in pieces: four roundings; the square root's table: 0.09
         * percent. Squares below 2^-9 would be lost in the sums, whose products are multiples of
         * 2^-17.
         */
        g.slack = kind[round % 4] == CC_OP_MAX_POOL ? 0 : 4;
        g.positive = kind[round % 4] == CC_OP_L2_POOL;
        draw(&g, &ranges[round / 4 % 4], &a);
        a.ceil = round % 3 == 0;
        a.exclude_padding = kind[round % 4] == CC_OP_AVG_POOL && round % 8 < 4;
        for (unsigned i = 0; i < 2; i++) {
            a.pad[2 * i] %= a.kernel[i];
            a.pad[2 * i + 1] %= a.kernel[i];
        }
        x = gr_input(&g, "x", CC_FP16,
                     GR(pick(&g, 1, 2), pick(&g, 1, 5), a.dilation[0] + length_for(&g, &a, 0, 12),
                        a.dilation[1] + length_for(&g, &a, 1, 40)));
        check(&g, add(&g, kind[round % 4], x, &a), kind[round % 4] == CC_OP_MAX_POOL ? 1e-12 : 1e-6);
    }
}

/* A window that is a whole axis, or all of it, is a reduction. */
static void pools_of_whole_axes(void **state)
{
    static const uint32_t kernel[][2] = {{40, 50}, {40, 3}, {2, 50}};

    (void)state;
    for (unsigned round = 0; round < 6; round++) {
        struct cc_attributes a = {
            .kernel = {kernel[round / 2][0], kernel[round / 2][1]}, .stride = {5, 2}, .dilation = {1, 1}};
        struct gr g;

        gr_open(&g, 0x163000 + round, GR_REAL);
        g.slack = round % 2 ? 0 : 4;
        check(&g,
              add(&g, round % 2 ? CC_OP_MAX_POOL : CC_OP_AVG_POOL,
                  gr_input(&g, "x", CC_FP16, GR(2, 3, 40, 50)), &a),
              1e-6);
    }
}

/*
 * What the usual large strides, dilations and transposed convolutions cost, with the activation behind them:
 * a fused one costs nothing.
 */
static void descriptors(void **state)
{
    static const struct {
        enum cc_op_kind kind, activation;
        uint32_t in[4], weight[4], stride, dilation, pad, size, records;
    } row[] = {
        {CC_OP_CONV, CC_OP_RELU, {1, 3, 64, 64}, {40, 3, 16, 16}, 16, 1, 0, 0, 3},
        {CC_OP_CONV, CC_OP_RELU6, {1, 3, 64, 64}, {24, 3, 4, 4}, 4, 1, 0, 0, 3},
        {CC_OP_CONV, CC_OP_RELU, {1, 8, 20, 20}, {8, 8, 3, 3}, 1, 2, 2, 0, 1},
        {CC_OP_CONV, CC_OP_RELU, {1, 16, 9, 9}, {64, 16, 1, 1}, 2, 1, 0, 0, 2},   /* selects first */
        {CC_OP_CONV, CC_OP_RELU, {1, 16, 12, 12}, {16, 16, 1, 1}, 2, 1, 0, 0, 1}, /* few channels: does not */
        {CC_OP_CONV_TRANSPOSE, CC_OP_RELU, {1, 8, 20, 20}, {8, 5, 2, 2}, 2, 1, 0, 40, 3},
        {CC_OP_CONV_TRANSPOSE, CC_OP_SIGMOID, {1, 8, 20, 20}, {8, 5, 4, 4}, 2, 1, 1, 40, 3},
        {CC_OP_CONV_TRANSPOSE, CC_OP_LEAKY_RELU, {1, 8, 20, 20}, {8, 5, 3, 3}, 2, 1, 1, 39, 4},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        const uint32_t *w = row[i].weight, s = row[i].stride, d = row[i].dilation, p = row[i].pad;
        struct cc_attributes a = {.stride = {s, s},
                                  .dilation = {d, d},
                                  .pad = {p, p, p, p},
                                  .size = {row[i].size, row[i].size},
                                  .groups = 1},
                             alpha = {.alpha = 0.25f};
        struct gr g;
        uint32_t x;

        gr_open(&g, 0x169000 + i, GR_REAL);
        g.slack = 32; /* the sigmoid's table: 0.0034 */
        a.weight = gr_const(&g, GR(w[0], w[1], w[2], w[3])) + 1;
        x = gr_input(&g, "x", CC_FP16, GR(row[i].in[0], row[i].in[1], row[i].in[2], row[i].in[3]));
        x = gr_unary(&g, row[i].activation, add(&g, row[i].kind, x, &a), &alpha);
        assert_int_equal(check(&g, x, 1e-9), row[i].records);
    }
}

/* x with a factor or an addend per channel, in the form of an operation. */
static uint32_t affine(struct gr *g, uint32_t x, uint32_t axis, unsigned form)
{
    const struct cc_value *v = &g->graph->value[x];
    uint32_t c = v->dim[axis], after = v->rank - 1 - axis;
    struct gr_shape shape = {1 + after, {c, 1, 1, 1, 1}};
    struct cc_attributes a = {.alpha = 2, .beta = -1, .epsilon = 0};
    const struct gr_shape row = GR(c);

    switch (form) {
    case 0: return gr_binary(g, CC_OP_MUL, x, gr_const(g, shape));
    case 1: return gr_binary(g, CC_OP_ADD, gr_const(g, shape), x);
    case 2: return gr_binary(g, CC_OP_SUB, gr_const(g, shape), x);
    case 3: return gr_binary(g, CC_OP_SUB, x, gr_scalar(g, 3));
    case 4: return gr_binary(g, CC_OP_REAL_DIV, x, gr_scalar(g, 0.5));
    case 5: return gr_unary(g, CC_OP_LINEAR_ACTIVATION, x, &a);
    default:
        a.weight = gr_const(g, row) + 1;
        a.bias = gr_const(g, row) + 1;
        a.mean = gr_const(g, row) + 1;
        a.epsilon = 1;
        g->positive = true;
        a.variance = gr_const(g, row) + 1;
        g->positive = false;
        return gr_unary(g, CC_OP_BATCH_NORM, x, &a);
    }
}

/* Factors and addends per channel after an operation with weights cost no descriptor. */
static void norms_join_weights(void **state)
{
    static const enum cc_op_kind kind[] = {CC_OP_CONV, CC_OP_CONV_TRANSPOSE, CC_OP_LINEAR, CC_OP_MATMUL};

    (void)state;
    for (unsigned round = 0; round < 56; round++) {
        struct cc_attributes a = {
            .stride = {1, 1}, .dilation = {1, 1}, .pad = {1, 1, 1, 1}, .groups = 1 + round % 3};
        bool channels = kind[round % 4] <= CC_OP_CONV_TRANSPOSE;
        uint32_t x;
        struct gr g;

        gr_open(&g, 0x164000 + round, GR_REAL);
        /* 54 weights of at most 4, each rounded by 2^-11 of it: 0.11; and a bias of at most 32: 0.02 */
        g.slack = 1024;
        if (channels) {
            a.weight = gr_const(&g, GR(6, 6 / a.groups, 3, 3)) + 1;
            a.bias = round % 8 < 4 ? gr_const(&g, GR(6)) + 1 : 0;
            a.size[0] = 5;
            a.size[1] = 9;
            x = add(&g, kind[round % 4], gr_input(&g, "x", CC_FP16, GR(2, 6, 5, 9)), &a);
        } else if (kind[round % 4] == CC_OP_LINEAR) {
            x = gr_linear(&g, gr_input(&g, "x", CC_FP16, GR(3, 20)), gr_const(&g, GR(6, 20)), GR_NONE);
        } else {
            x = gr_matmul(&g, gr_input(&g, "x", CC_FP16, GR(2, 3, 20)),
                          gr_const(&g, round % 8 < 4 ? GR(20, 6) : GR(6, 20)), false, round % 8 >= 4);
        }
        for (unsigned i = 0; i < 1 + round % 3; i++) {
            unsigned form = (round / 4 + 3 * i) % (channels ? 7 : 6);

            x = affine(&g, x, channels ? 1 : g.graph->value[x].rank - 1, form);
        }
        /* a batch of two, or the transposes of a matrix product */
        assert_true(check(&g, x, 1e-6) <= 2);
    }
}

/* Before a convolution: factors always, addends where there is no padding. */
static void norms_before_a_convolution(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 28; round++) {
        struct cc_attributes a = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1 + round % 2};
        unsigned form = round % 7;
        bool padded = round / 7 % 2, adds = form != 0 && form != 4;
        uint32_t x, records;
        struct gr g;

        gr_open(&g, 0x165000 + round, GR_REAL);
        /* 16 weights of at most 2, each rounded by 2^-11 of it: 0.02; a bias of at most 48: 0.03 */
        g.slack = 384;
        a.pad[0] = a.pad[3] = padded;
        a.weight = gr_const(&g, GR(4, 4 / a.groups, 2, 2)) + 1;
        x = affine(&g, gr_input(&g, "x", CC_FP16, GR(1, 4, 5, 9)), 1, form);
        records = check(&g, add(&g, CC_OP_CONV, x, &a), 1e-6);
        if (adds && padded)
            assert_true(records > 1);
        else
            assert_int_equal(records, 1);
    }
}

static void parametric_relus(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 24; round++) {
        static const double low[] = {-2, 1.25, -2}, high[] = {1, 3, 3};
        uint32_t channels, x;
        struct cc_attributes a = {0};
        struct gr g;

        gr_open(&g, 0x166000 + round, GR_REAL);
        g.slack = 1;
        channels = pick(&g, 2, 20);
        a.weight = gr_const(&g, GR(channels)) + 1;
        for (uint32_t i = 0; i < channels; i++) {
            double t = (double)i / (channels - 1);

            t = round % 8 ? t : 0; /* one factor for all */
            ((uint16_t *)g.graph->value[a.weight - 1].data)[i] =
                test_half_from_double(low[round % 3] * (1 - t) + high[round % 3] * t);
        }
        x = gr_input(&g, "x", CC_FP16, round % 2 ? GR(2, channels, 7) : GR(1, channels, 3, 40));
        check(&g, add(&g, CC_OP_PRELU, x, &a), 1e-9);
    }
}

/*
 * The square root's table is off by 0.09 percent and the reciprocal root's by 0.15; with 0.75 as the
 * exponent both, and half of the second again. A power by tables of logarithm and exponential is off by 1.4
 * percent of a logarithm that is below 1, and 0.3 percent.
 */
static void response_norms(void **state)
{
    static const struct {
        float gamma;
        double slack;
    } row[] = {{0.75f, 5}, {0.5f, 4}, {1, 4}, {0.6f, 24}};

    (void)state;
    for (unsigned round = 0; round < 24; round++) {
        struct cc_attributes a = {.alpha = round % 2 ? 1 : 1e-4f, .beta = round % 3 ? 1 : 2};
        struct gr g;
        uint32_t c;

        gr_open(&g, 0x167000 + round, GR_REAL);
        g.slack = row[round % 4].slack;
        a.gamma = row[round % 4].gamma;
        a.kernel[0] = pick(&g, 1, 9);
        c = pick(&g, 1, 20);
        check(&g,
              add(&g, CC_OP_LOCAL_RESPONSE_NORM,
                  gr_input(&g, "x", CC_FP16, round % 5 ? GR(1, c, 4, 9) : GR(2, c, 9)), &a),
              1e-6);
    }
}

/* Every allocation of the passes fails once; each failure is a sentence, and the graph stays as it was. */
static void passes_without_memory(void **state)
{
    struct cc_attributes a[] = {
        {.stride = {5, 4}, .dilation = {1, 1}, .pad = {1, 1, 1, 1}, .groups = 1},
        {.stride = {1, 1}, .dilation = {6, 6}, .pad = {6, 6, 6, 6}, .groups = 1},
        {.stride = {2, 2}, .dilation = {1, 1}, .size = {20, 20}, .groups = 1},
        {.kernel = {4, 5},
         .stride = {4, 5},
         .dilation = {1, 1},
         .exclude_padding = true,
         .pad = {1, 1, 1, 1}},
        {.kernel = {3, 0}, .alpha = 1, .beta = 1, .gamma = 0.75f},
    };
    static const enum cc_op_kind kind[] = {CC_OP_CONV, CC_OP_CONV, CC_OP_CONV_TRANSPOSE, CC_OP_AVG_POOL,
                                           CC_OP_LOCAL_RESPONSE_NORM};

    (void)state;
    for (unsigned i = 0; i < sizeof(a) / sizeof(a[0]); i++) {
        struct cc_graph *copy;
        struct base_error error = {{0}};
        struct gr g;
        int status = -1;
        uint32_t x;

        gr_open(&g, 0x16b000 + i, GR_WHOLE);
        x = gr_input(&g, "x", CC_FP16, GR(1, 2, i == 2 ? 10 : 20, i == 2 ? 10 : 20));
        a[i].weight = i < 3 ? gr_const(&g, GR(2, 2, 3, 3)) + 1 : 0;
        x = add(&g, kind[i], x, &a[i]);
        gr_output(&g, affine(&g, x, 1, 0));
        for (unsigned nth = 1; status; nth++) {
            assert_int_equal(cc_graph_copy(g.graph, &copy), 0);
            error.text[0] = '\0';
            base_alloc_fail_nth(nth);
            status = cc_passes(&copy, &error);
            base_alloc_fail_nth(0);
            if (status)
                assert_true(error.text[0] != '\0');
            cc_graph_destroy(copy);
        }
        gr_close(&g);
    }
}

/* What the passes leave out of a descriptor's limits is refused when it is lowered. */
static void limits_of_a_descriptor(void **state)
{
    static const struct {
        uint32_t kernel[2], stride, dilation, pad;
        const char *word;
    } row[] = {
        {{3, 3}, 4, 1, 0, "strides up to 3"}, {{3, 3}, 1, 2, 0, "dilation 1"},
        {{3, 14}, 1, 1, 0, "14 wide"},        {{30, 3}, 1, 1, 0, "30 high"},
        {{40, 3}, 1, 1, 32, "at most 31"},
    };

    (void)state;
    for (unsigned i = 0; i < 2 * sizeof(row) / sizeof(row[0]); i++) {
        struct cc_attributes a = {.groups = 1};
        struct cc_program *program = NULL;
        struct base_error error = {{0}};
        bool pool = i % 2;
        struct gr g;

        for (unsigned k = 0; k < 2; k++) {
            a.stride[k] = row[i / 2].stride;
            a.dilation[k] = row[i / 2].dilation;
            a.kernel[k] = row[i / 2].kernel[k];
        }
        a.pad[0] = row[i / 2].pad;
        gr_open(&g, 0x168000 + i, GR_WHOLE);
        if (!pool && a.pad[0])
            a.kernel[0] = 3;
        a.weight = pool ? 0 : gr_const(&g, GR(1, 1, a.kernel[0], a.kernel[1])) + 1;
        gr_output(&g, add(&g, pool ? CC_OP_MAX_POOL : CC_OP_CONV,
                          gr_input(&g, "x", CC_FP16, GR(1, 1, 50, 50)), &a));
        assert_true(cc_lower(g.graph, 0, &program, &error) < 0);
        if (!strstr(error.text, pool && a.pad[0] ? "40 high" : row[i / 2].word))
            fail_msg("\"%s\" does not say \"%s\"", error.text, row[i / 2].word);
        gr_close(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),
        cmocka_unit_test(weights_of_run_time),
        cmocka_unit_test(transposed_convolutions),
        cmocka_unit_test(pools),
        cmocka_unit_test(pools_of_whole_axes),
        cmocka_unit_test(descriptors),
        cmocka_unit_test(norms_join_weights),
        cmocka_unit_test(norms_before_a_convolution),
        cmocka_unit_test(parametric_relus),
        cmocka_unit_test(response_norms),
        cmocka_unit_test(passes_without_memory),
        cmocka_unit_test(limits_of_a_descriptor),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
