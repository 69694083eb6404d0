/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows beyond what a descriptor can express: convolutions, transposed ones and pools of any stride, dilation,
 * size and padding, and what is composed of windows. Each graph is computed before and after the passes in double
 * precision, and run on the machine. Whole numbers whose sums stay below 2048 must come out exactly.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static void evaluate(const struct cc_graph *graph, const double *x, struct cc_eval *eval)
{
    struct base_error error;

    if (cc_eval_open(eval, graph, &error) || cc_eval_set(eval, graph->input[0], x, &error) ||
        cc_eval_run(eval, 0, &error))
        fail_msg("%s", error.text);
}

/* The passes keep the meaning. `relative` is for constants that they compute in single precision. */
static void meaning_stays(struct gr *g, double relative)
{
    const struct cc_value *in = &g->graph->value[g->graph->input[0]];
    uint64_t count = cc_value_elements(in);
    double *x = calloc(count, sizeof(*x)), most = 0;
    struct cc_graph *after;
    struct cc_eval eval[2];
    struct base_error error;
    const double *y[2];

    assert_non_null(x);
    for (uint64_t i = 0; i < count; i++)
        x[i] = (double)test_rng_range(&g->rng, 0, 4096) / 2048 - 1;
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
    free(x);
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
        /* a factor per place and sums in pieces: four roundings; the square root's table: 0.09 percent */
        g.slack = kind[round % 4] == CC_OP_MAX_POOL ? 0 : 4;
        draw(&g, &ranges[round / 4 % 4], &a);
        a.ceil = round % 3 == 0;
        a.exclude_padding = kind[round % 4] == CC_OP_AVG_POOL && round % 8 < 4;
        for (unsigned i = 0; i < 2; i++) {
            a.pad[2 * i] %= a.kernel[i];
            a.pad[2 * i + 1] %= a.kernel[i];
        }
        x = gr_input(
            &g, "x", CC_FP16,
            GR(pick(&g, 1, 2), pick(&g, 1, 5), length_for(&g, &a, 0, 12), length_for(&g, &a, 1, 40)));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions),
        cmocka_unit_test(transposed_convolutions),
        cmocka_unit_test(pools),
        cmocka_unit_test(pools_of_whole_axes),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
