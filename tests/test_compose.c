/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes keep the meaning of operations: a graph is computed in double precision before and after them.
 * What replaces an operation has constants of fp32, so results may differ by their rounding, 2^-23 of the
 * largest.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/eval/eval.h"
#include "graphrig.h"

enum { CLOSE_LOG2 = -21 }; /* a few roundings of fp32 */

static void fill(double *x, uint64_t count, struct test_rng *rng, double low, double high)
{
    for (uint64_t i = 0; i < count; i++)
        x[i] = low + (high - low) * (double)test_rng_range(rng, 0, 1 << 20) / (1 << 20);
}

/* The elements of the only output. The inputs are the same for each call with a seed. */
static double *compute(const struct cc_graph *graph, double low, double high, uint64_t *count)
{
    struct base_error error;
    struct cc_eval eval;
    struct test_rng rng;
    double *y;

    test_rng_init(&rng, 11);
    if (cc_eval_open(&eval, graph, &error))
        fail_msg("%s", error.text);
    for (uint32_t i = 0; i < graph->inputs; i++) {
        uint64_t elements = cc_value_elements(&graph->value[graph->input[i]]);
        double *x = malloc(elements * sizeof(*x));

        assert_non_null(x);
        fill(x, elements, &rng, low, high);
        assert_int_equal(cc_eval_set(&eval, graph->input[i], x, &error), 0);
        free(x);
    }
    if (cc_eval_run(&eval, 0, &error))
        fail_msg("%s", error.text);
    *count = cc_value_elements(&graph->value[graph->output[0]]);
    y = malloc(*count * sizeof(*y));
    assert_non_null(y);
    memcpy(y, eval.value[graph->output[0]], *count * sizeof(*y));
    cc_eval_close(&eval);
    return y;
}

static bool has_kind(const struct cc_graph *graph, enum cc_op_kind kind)
{
    for (uint32_t i = 0; i < graph->ops; i++)
        if (graph->op[i].kind == kind)
            return true;
    return false;
}

/* Computes, runs the passes, computes again. `gone`: an operation that must not be left. */
static void keeps(struct gr *g, uint32_t output, double low, double high, enum cc_op_kind gone)
{
    struct base_error error;
    struct cc_graph *copy;
    uint64_t count, same;
    double *want, *got, most = 0;

    gr_output(g, output);
    if (cc_graph_check(g->graph, &error) || cc_graph_copy(g->graph, &copy))
        fail_msg("%s", error.text);
    if (cc_passes(&copy, &error))
        fail_msg("%s", error.text);
    if (gone != CC_OP_COUNT && has_kind(copy, gone))
        fail_msg("%s is left", cc_op_name(gone));
    want = compute(g->graph, low, high, &count);
    got = compute(copy, low, high, &same);
    assert_int_equal(count, same);
    for (uint64_t i = 0; i < count; i++)
        most = fmax(most, fabs(want[i]));
    for (uint64_t i = 0; i < count; i++)
        if (!(fabs(got[i] - want[i]) <= ldexp(most, CLOSE_LOG2)))
            fail_msg("%s, element %llu: %.17g after the passes, %.17g before",
                     cc_op_name(g->graph->op[0].kind), (unsigned long long)i, got[i], want[i]);
    free(want);
    free(got);
    cc_graph_destroy(copy);
    gr_close(g);
}

static void elementwise(void **state)
{
    static const struct {
        enum cc_op_kind kind;
        struct cc_attributes a;
    } cases[] = {{CC_OP_HARD_SWISH, {.alpha = 0.16f, .beta = 0.5f}},
                 {CC_OP_TAN, {0}},
                 {CC_OP_SINH, {0}},
                 {CC_OP_COSH, {0}},
                 {CC_OP_CLAMPED_RELU, {.alpha = 0.5f, .beta = -1}},
                 {CC_OP_CLAMPED_RELU, {.alpha = -0.5f, .beta = -1}}};

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gr g;

        gr_open(&g, i, GR_REAL);
        keeps(&g, gr_unary(&g, cases[i].kind, gr_input(&g, "x", CC_FP16, GR(2, 3, 4)), &cases[i].a), -5, 5,
              cases[i].kind);
    }
}

static void per_channel(void **state)
{
    struct cc_attributes a = {0};
    uint32_t x;
    struct gr g;

    (void)state;
    gr_open(&g, 1, GR_REAL);
    x = gr_input(&g, "x", CC_FP16, GR(2, 3, 4));
    a.weight = gr_const(&g, GR(3)) + 1;
    a.bias = gr_const(&g, GR(3)) + 1;
    keeps(&g, gr_unary(&g, CC_OP_SOFTPLUS_PARAMETRIC, x, &a), -5, 5, CC_OP_SOFTPLUS_PARAMETRIC);
}

static void reductions(void **state)
{
    static const enum cc_op_kind composed[] = {CC_OP_REDUCE_L1_NORM, CC_OP_REDUCE_LOG_SUM,
                                               CC_OP_REDUCE_LOG_SUM_EXP, CC_OP_REDUCE_PROD},
                                 plain[] = {CC_OP_REDUCE_SUM, CC_OP_REDUCE_MEAN,    CC_OP_REDUCE_MAX,
                                            CC_OP_REDUCE_MIN, CC_OP_REDUCE_L2_NORM, CC_OP_REDUCE_SUM_SQUARE};
    struct gr g;

    (void)state;
    for (unsigned k = 0; k < sizeof(composed) / sizeof(composed[0]); k++)
        for (uint32_t axes = 1; axes < 32; axes++) {
            gr_open(&g, k, GR_REAL);
            keeps(&g,
                  gr_reduce(&g, composed[k], gr_input(&g, "x", CC_FP16, GR(2, 3, 2, 3, 5)), axes, axes % 2),
                  0.5, 1.5, composed[k]);
        }
    for (unsigned k = 0; k < sizeof(plain) / sizeof(plain[0]); k++)
        for (unsigned keep = 0; keep < 2; keep++) {
            gr_open(&g, k, GR_REAL);
            keeps(&g, gr_reduce(&g, plain[k], gr_input(&g, "x", CC_FP16, GR(2, 50257)), 2, keep), -1, 3,
                  CC_OP_COUNT);
            gr_open(&g, k, GR_REAL);
            keeps(&g, gr_reduce(&g, plain[k], gr_input(&g, "x", CC_FP16, GR(3, 20000, 2, 2)), 14, keep), -1,
                  3, CC_OP_COUNT);
        }
}

static void norms(void **state)
{
    static const enum cc_op_kind kinds[] = {CC_OP_SOFTMAX, CC_OP_LOG_SOFTMAX, CC_OP_L2_NORM};
    struct cc_attributes a = {.axis = 1, .epsilon = 0.01f};
    uint32_t x;
    struct gr g;

    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        gr_open(&g, k, GR_REAL);
        keeps(&g, gr_unary(&g, kinds[k], gr_input(&g, "x", CC_FP16, GR(2, 20001)), &a), -3, 3, kinds[k]);
    }
    for (unsigned parameters = 0; parameters < 2; parameters++) {
        gr_open(&g, 9, GR_REAL);
        x = gr_input(&g, "x", CC_FP16, GR(2, 200, 100, 2));
        a = (struct cc_attributes){.axes = 14, .epsilon = 1e-5f};
        if (parameters) {
            a.weight = gr_const(&g, GR(200, 100, 2)) + 1;
            a.bias = gr_const(&g, GR(200, 100, 2)) + 1;
        }
        keeps(&g, gr_unary(&g, CC_OP_LAYER_NORM, x, &a), -3, 4, CC_OP_LAYER_NORM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise),
        cmocka_unit_test(per_channel),
        cmocka_unit_test(reductions),
        cmocka_unit_test(norms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
