/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of graphs and graphs cut into segments: run one after the other they mean what the whole means. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/eval.h"
#include "compiler/graph/extract.h"
#include "compiler/graph/segment.h"
#include "graphgen.h"
#include "graphrig.h"

enum { GRAPHS = 30, ROUNDS = 4 };

/* The name of every value is its number, so that ports of segments can be found in the whole. */
static void number_values(struct cc_graph *g)
{
    char name[16];

    for (uint32_t i = 0; i < g->values; i++) {
        snprintf(name, sizeof(name), "%u", i);
        base_free(g->value[i].name);
        g->value[i].name = base_strdup(name);
        assert_non_null(g->value[i].name);
    }
}

static uint32_t number_of(const struct cc_graph *g, uint32_t value)
{
    return (uint32_t)strtoul(g->value[value].name, NULL, 10);
}

static void run(struct cc_eval *eval)
{
    struct base_error error;

    if (cc_eval_run(eval, 0, &error))
        fail_msg("%s", error.text);
}

/* Runs one segment; its results go into `found`, by the number of the value in the whole. */
static void run_segment(const struct cc_graph *g, double **found)
{
    struct base_error error;
    struct cc_eval eval;

    assert_int_equal(cc_eval_open(&eval, g, &error), 0);
    for (uint32_t i = 0; i < g->inputs; i++) {
        assert_non_null(found[number_of(g, g->input[i])]); /* a segment before has computed it */
        assert_int_equal(cc_eval_set(&eval, g->input[i], found[number_of(g, g->input[i])], &error), 0);
    }
    run(&eval);
    for (uint32_t i = 0; i < g->outputs; i++) {
        const uint64_t bytes = cc_value_elements(&g->value[g->output[i]]) * sizeof(double);
        double **to = &found[number_of(g, g->output[i])];

        assert_null(*to);
        *to = malloc(bytes);
        assert_non_null(*to);
        memcpy(*to, eval.value[g->output[i]], bytes);
    }
    cc_eval_close(&eval);
}

/* Segments of the two kinds follow each other in turn. */
static void run_segments(const struct cc_segments *s, double **found)
{
    for (uint32_t i = 0; i < s->count; i++) {
        assert_true(!i || s->segment[i].host != s->segment[i - 1].host);
        run_segment(s->segment[i].graph, found);
    }
}

static void compare(const struct cc_graph *g, const bool *host, const double *const *input)
{
    double **found = calloc(g->values, sizeof(*found));
    struct base_error error;
    struct cc_segments segments;
    struct cc_eval whole;

    assert_non_null(found);
    assert_int_equal(cc_eval_open(&whole, g, &error), 0);
    for (uint32_t i = 0; i < g->inputs; i++) {
        const uint64_t bytes = cc_value_elements(&g->value[g->input[i]]) * sizeof(double);

        assert_int_equal(cc_eval_set(&whole, g->input[i], input[i], &error), 0);
        found[g->input[i]] = malloc(bytes);
        assert_non_null(found[g->input[i]]);
        memcpy(found[g->input[i]], input[i], bytes);
    }
    run(&whole);
    if (cc_segments_cut(g, host, &segments, &error))
        fail_msg("%s", error.text);
    run_segments(&segments, found);
    for (uint32_t i = 0; i < g->outputs; i++) {
        assert_non_null(found[g->output[i]]);
        assert_memory_equal(found[g->output[i]], whole.value[g->output[i]],
                            cc_value_elements(&g->value[g->output[i]]) * sizeof(double));
    }
    cc_segments_release(&segments);
    cc_eval_close(&whole);
    for (uint32_t i = 0; i < g->values; i++)
        free(found[i]);
    free(found);
}

/* Random graphs, each with several choices of what runs on the host: none, all, and any. */
static void meaning_is_kept(void **state)
{
    struct test_rng rng;

    (void)state;
    test_rng_init(&rng, 77);
    for (unsigned n = 0; n < GRAPHS; n++) {
        bool *host;
        struct gg g;

        gg_open(&g, 900 + n, 20);
        number_values(g.graph);
        host = calloc(g.graph->ops, sizeof(*host));
        assert_non_null(host);
        for (unsigned round = 0; round < ROUNDS; round++) {
            for (uint32_t i = 0; i < g.graph->ops; i++)
                host[i] = round == 1 || (round > 1 && test_rng_range(&rng, 0, 2) == 0);
            compare(g.graph, host, (const double *const *)g.input);
        }
        free(host);
        gg_close(&g);
    }
}

/* Two branches with a host operation each: they share one host segment. */
static void branches_share_segments(void **state)
{
    struct base_error error;
    struct cc_segments s;
    bool host[16] = {0};
    uint32_t x, a, b, y;
    struct gr g;

    (void)state;
    gr_open(&g, 1, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP16, GR(1, 4, 2, 2));
    a = gr_unary(&g, CC_OP_SQRT, gr_relu(&g, x), NULL);
    b = gr_unary(&g, CC_OP_EXP, gr_relu(&g, x), NULL);
    y = gr_binary(&g, CC_OP_ADD, gr_relu(&g, a), b);
    gr_output(&g, y);
    for (uint32_t i = 0; i < g.graph->ops; i++)
        host[i] = g.graph->op[i].kind == CC_OP_SQRT || g.graph->op[i].kind == CC_OP_EXP;
    assert_int_equal(cc_segments_cut(g.graph, host, &s, &error), 0);
    assert_int_equal(s.count, 3);
    assert_false(s.segment[0].host);
    assert_true(s.segment[1].host);
    assert_int_equal(s.segment[1].graph->inputs, 2);
    assert_int_equal(s.segment[1].graph->outputs, 2);
    assert_int_equal(s.segment[2].graph->inputs, 2);
    cc_segments_release(&s);
    gr_close(&g);
}

/* Casts go where their operand is: an engine segment of a cast alone does not exist. */
static void casts_are_not_segments(void **state)
{
    struct base_error error;
    struct cc_segments s;
    bool host[8] = {0};
    uint32_t x;
    struct gr g;

    (void)state;
    gr_open(&g, 2, GR_WHOLE);
    x = gr_cast(&g, gr_input(&g, "x", CC_FP32, GR(1, 4)), CC_FP16);
    gr_output(&g, gr_cast(&g, gr_unary(&g, CC_OP_SQRT, x, NULL), CC_FP32));
    for (uint32_t i = 0; i < g.graph->ops; i++)
        host[i] = g.graph->op[i].kind == CC_OP_SQRT;
    assert_int_equal(cc_segments_cut(g.graph, host, &s, &error), 0);
    assert_int_equal(s.count, 1);
    assert_true(s.segment[0].host);
    cc_segments_release(&s);
    gr_close(&g);
}

/* An inner value that the graph gives too is an output of its part. */
static void several_outputs(void **state)
{
    struct base_error error;
    struct cc_graph *part;
    bool chosen[8] = {0};
    uint32_t x, a, b;
    struct gr g;

    (void)state;
    gr_open(&g, 3, GR_WHOLE);
    x = gr_input(&g, "x", CC_FP16, GR(1, 4));
    a = gr_relu(&g, x);
    b = gr_relu(&g, a);
    gr_output(&g, a);
    gr_output(&g, gr_relu(&g, b));
    for (uint32_t i = 0; i < g.graph->ops; i++)
        chosen[i] = g.graph->op[i].output == a || g.graph->op[i].output == b;
    assert_int_equal(cc_graph_extract(g.graph, chosen, &part, &error), 0);
    assert_int_equal(part->inputs, 1);
    assert_int_equal(part->outputs, 2);
    assert_string_equal(part->value[part->output[0]].name, g.graph->value[a].name);
    assert_string_equal(part->value[part->output[1]].name, g.graph->value[b].name);
    assert_int_equal(cc_graph_check(part, &error), 0);
    cc_graph_destroy(part);
    /* INPUT and CONST are not looked at: nothing is chosen then. */
    for (uint32_t i = 0; i < g.graph->ops; i++)
        chosen[i] = g.graph->op[i].kind == CC_OP_INPUT;
    assert_int_equal(cc_graph_extract(g.graph, chosen, &part, &error), -EINVAL);
    assert_null(part);
    gr_close(&g);
}

static void the_graph_without_operations(void **state)
{
    struct base_error error = {""};
    struct cc_segments s;
    bool host[2] = {true, true};
    struct gr g;

    (void)state;
    gr_open(&g, 4, GR_WHOLE);
    gr_output(&g, gr_input(&g, "x", CC_FP16, GR(1, 4)));
    assert_int_equal(cc_segments_cut(g.graph, host, &s, &error), -EINVAL);
    assert_int_equal(s.count, 0);
    assert_true(error.text[0]);
    gr_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meaning_is_kept),
        cmocka_unit_test(branches_share_segments),
        cmocka_unit_test(casts_are_not_segments),
        cmocka_unit_test(several_outputs),
        cmocka_unit_test(the_graph_without_operations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
