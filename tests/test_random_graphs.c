/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random graphs, compiled and run on the whole machine, against float64 with bounds that are derived
 * (errorbound.h); and each pass keeps what the graph means. The arguments are the number of graphs and the
 * number of the first one; without them a short run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/graph/build.h"
#include "errorbound.h"
#include "graphgen.h"
#include "graphrig.h"
#include "graphtext.h"
#include "lower_machine.h"

static uint64_t graphs = 200, first_graph = 1;

static uint64_t elements, close_elements; /* all, and those with a bound of a sixteenth or less */

static const struct {
    const char *name;
    int (*run)(struct cc_graph **graph, struct base_error *error);
} passes[] = {
    {"fold", cc_pass_fold}, {"norm", cc_pass_norm},           {"compose", cc_pass_compose},
    {"rank", cc_pass_rank}, {"transpose", cc_pass_transpose}, {"fold", cc_pass_fold},
};

static struct gg current; /* for messages */
static uint64_t current_number;

#define FAIL(...)                                                              \
    do {                                                                       \
        fprintf(stderr, "# graph %llu\n", (unsigned long long)current_number); \
        graphtext_print(current.graph);                                        \
        fail_msg(__VA_ARGS__);                                                 \
    } while (0)

static void evaluate(struct cc_eval *eval, const struct cc_graph *graph, double *const *input)
{
    struct base_error error;

    if (cc_eval_open(eval, graph, &error))
        FAIL("%s", error.text);
    for (uint32_t i = 0; i < graph->inputs; i++)
        if (cc_eval_set(eval, graph->input[i], input[i], &error))
            FAIL("%s", error.text);
    if (cc_eval_run(eval, 0, &error))
        FAIL("%s", error.text);
}

/*
 * The same outputs, but for the rounding of constants that a pass makes: fp32, 2^-24 each. Where a bound of
 * the original graph says that an element is next to the step of a floor or a comparison, it may be either.
 */
static void same_meaning(const struct cc_graph *graph, const struct eb *original, const char *pass)
{
    struct cc_eval after;

    evaluate(&after, graph, current.input);
    for (uint32_t i = 0; i < graph->outputs; i++) {
        uint32_t before = original->graph->output[i];
        const double *x = original->exact.value[before], *y = after.value[graph->output[i]];

        for (uint64_t k = 0; k < cc_value_elements(&graph->value[graph->output[i]]); k++)
            if (!(fabs(x[k] - y[k]) <= 1e-5 * (1 + fabs(x[k]))) && original->bound[before][k] < 0.25)
                FAIL("pass %s: output %u, element %llu: %.9g, before it %.9g", pass, i, (unsigned long long)k,
                     y[k], x[k]);
    }
    cc_eval_close(&after);
}

static struct cc_graph *transform(struct cc_graph *from, const struct eb *original)
{
    struct cc_graph *graph;
    struct base_error error;

    assert_int_equal(cc_graph_copy(from, &graph), 0);
    for (unsigned i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
        if (passes[i].run(&graph, &error) || cc_graph_check(graph, &error))
            FAIL("pass %s: %s", passes[i].name, error.text);
        same_meaning(graph, original, passes[i].name);
    }
    return graph;
}

static void bounds(struct eb *b, const struct cc_graph *graph)
{
    eb_open(b, graph);
    for (uint32_t i = 0; i < graph->inputs; i++)
        eb_set(b, graph->input[i], current.input[i]);
    eb_run(b);
}

static void compare(const struct eb *b, uint16_t *const *out)
{
    for (uint32_t i = 0; i < b->graph->outputs; i++) {
        uint32_t value = b->graph->output[i];

        for (uint64_t k = 0; k < cc_value_elements(&b->graph->value[value]); k++) {
            double y = test_half_to_double(out[i][k]);

            elements++;
            close_elements += b->bound[value][k] <= 0.0625;
            if (!eb_holds(b, value, k, y)) {
                fprintf(stderr, "# after the passes:\n");
                graphtext_print(b->graph);
                FAIL("output %u, element %llu: %.9g, expected %.9g within %.3g", i, (unsigned long long)k, y,
                     b->exact.value[value][k], b->bound[value][k]);
            }
        }
    }
}

static void run(const struct cc_graph *graph, const struct eb *b)
{
    struct cc_program *program = NULL;
    struct base_error error;
    uint16_t *in[GG_INPUTS_MAX], *out[16];

    if (cc_lower(graph, 0, &program, &error))
        FAIL("%s", error.text);
    for (uint32_t i = 0; i < graph->inputs; i++) {
        uint64_t count = cc_value_elements(&graph->value[graph->input[i]]);

        in[i] = calloc(count, sizeof(uint16_t));
        assert_non_null(in[i]);
        for (uint64_t k = 0; k < count; k++)
            in[i][k] = test_half_from_double(current.input[i][k]);
    }
    for (uint32_t i = 0; i < graph->outputs; i++) {
        out[i] = calloc(cc_value_elements(&graph->value[graph->output[i]]), sizeof(uint16_t));
        assert_non_null(out[i]);
    }
    gr_run_program(program, &client, graph->inputs, (const uint16_t *const *)in, out);
    compare(b, out);
    for (uint32_t i = 0; i < graph->inputs; i++)
        free(in[i]);
    for (uint32_t i = 0; i < graph->outputs; i++)
        free(out[i]);
    cc_program_destroy(program);
}

static void random_graphs(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < graphs; i++) {
        struct cc_graph *graph;
        struct base_error error;
        struct eb original, b;

        current_number = first_graph + i;
        /* short ones as well: their bounds are tight */
        gg_open(&current, current_number,
                current_number % 3 == 0   ? GG_OPS_MAX
                : current_number % 3 == 1 ? 8
                                          : 2);
        if (cc_graph_check(current.graph, &error))
            FAIL("%s", error.text);
        bounds(&original, current.graph);
        graph = transform(current.graph, &original);
        bounds(&b, graph);
        run(graph, &b);
        eb_close(&original);
        eb_close(&b);
        cc_graph_destroy(graph);
        gg_close(&current);
    }
    print_message("%llu graphs, %llu elements, %.1f percent of them with a bound of 1/16 or less\n",
                  (unsigned long long)graphs, (unsigned long long)elements,
                  100. * (double)close_elements / (double)elements);
    assert_true(close_elements > elements / 3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs)};

    if (argc > 1)
        graphs = strtoull(argv[1], NULL, 0);
    if (argc > 2)
        first_graph = strtoull(argv[2], NULL, 0);
    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
