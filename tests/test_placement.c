/* SPDX-License-Identifier: Apache-2.0 */
/* Where nodes run, for a graph that is cut into a segment on the engine and one on the host. */
#include <string.h>

#include "compiler/graph/build.h"
#include "compiler/graph/segment.h"
#include "compiler/pass/passes.h"
#include "compiler/report/placement.h"
#include "protocol/timing.h"
#include "support.h"

enum { INPUT, SUM, RELU, SIGMOID, DEAD, GONE, OUTPUT, ROWS };

/* relu(x + x), then sigmoid; a tanh that nothing reads; a node that the reader resolved. */
static struct cc_graph *make_graph(void)
{
    static const char *const names[] = {"sum", "relu", "sigmoid", "dead", "gone"};
    const uint32_t dims[4] = {1, 4, 5, 6};
    struct cc_graph *graph = cc_graph_create();
    struct base_error error;
    struct cc_build b = {.graph = graph, .error = &error};
    uint32_t x, y;
    int made;

    assert_non_null(graph);
    made = cc_graph_add_value(graph, "x", CC_FP16, 4, dims);
    assert_true(made >= 0);
    x = (uint32_t)made;
    assert_int_equal(cc_graph_add_input(graph, x), 0);
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(cc_graph_add_origin(graph, names[i], "Kind", 0, 0), (int)i);
    b.origin = 1;
    b.name = "sum";
    y = cc_build_binary(&b, CC_OP_ADD, x, x);
    b.origin = 2;
    b.name = "relu";
    y = cc_build_unary(&b, CC_OP_RELU, y);
    b.origin = 3;
    b.name = "sigmoid";
    y = cc_build_unary(&b, CC_OP_SIGMOID, y);
    b.origin = 4;
    b.name = "dead";
    cc_build_unary(&b, CC_OP_TANH, x);
    assert_int_equal(b.status, 0);
    assert_int_equal(cc_graph_add_output(graph, y), 0);
    return graph;
}

static void add_segment(struct cc_placement *placement, struct cc_segment *segment)
{
    struct cc_program *program = NULL;
    struct base_error error;

    if (segment->host) {
        cc_placement_add_host(placement, segment->graph);
        return;
    }
    if (cc_passes(&segment->graph, &error) || cc_lower(segment->graph, CC_LOWER_REPORT, &program, &error) ||
        cc_placement_add(placement, segment->graph, program, &error))
        fail_msg("%s", error.text);
    cc_program_destroy(program);
}

/* `host`: the sigmoid is computed there. */
static struct cc_placement *make_placement(bool host)
{
    struct cc_graph *graph = make_graph();
    struct cc_placement *placement = NULL;
    struct cc_segments segments = {0};
    struct base_error error;
    bool on_host[8] = {0};

    assert_true(graph->ops <= 8);
    for (uint32_t i = 0; i < graph->ops; i++)
        on_host[i] = host && graph->op[i].kind == CC_OP_SIGMOID;
    if (cc_placement_create(graph, &placement, &error) || cc_segments_cut(graph, on_host, &segments, &error))
        fail_msg("%s", error.text);
    for (uint32_t i = 0; i < segments.count; i++)
        add_segment(placement, &segments.segment[i]);
    cc_placement_end(placement);
    cc_segments_release(&segments);
    cc_graph_destroy(graph);
    return placement;
}

static void every_node_has_a_place(void **state)
{
    static const enum cc_where wanted[ROWS] = {
        [INPUT] = CC_WHERE_INPUT,  [SUM] = CC_WHERE_ENGINE, [RELU] = CC_WHERE_FUSED,
        [SIGMOID] = CC_WHERE_HOST, [DEAD] = CC_WHERE_DEAD,  [GONE] = CC_WHERE_FOLDED,
        [OUTPUT] = CC_WHERE_OUTPUT};
    struct cc_placement *p = make_placement(true);

    (void)state;
    assert_int_equal(p->rows, ROWS);
    for (unsigned i = 0; i < ROWS; i++)
        if (p->row[i].where != wanted[i])
            fail_msg("%s is %s, expected %s", p->row[i].name, cc_where_name(p->row[i].where),
                     cc_where_name(wanted[i]));
    assert_int_equal(p->row[RELU].into, SUM + 1);
    assert_non_null(strstr(p->row[RELU].why, "sum"));
    assert_int_equal(p->row[SIGMOID].froms, 1);
    assert_int_equal(p->row[SIGMOID].from[0], RELU);
    assert_int_equal(p->row[OUTPUT].from[0], SIGMOID);
    assert_int_equal(p->row[SIGMOID].descriptors, 0);
    cc_placement_destroy(p);
}

/* The host's time is not modelled, so without the sigmoid on the engine there is less. */
static void costs_add_up(void **state)
{
    struct cc_placement *whole = make_placement(false), *cut = make_placement(true);

    (void)state;
    assert_int_equal(whole->row[SIGMOID].where, CC_WHERE_ENGINE);
    for (unsigned i = 0; i < CC_ESTIMATES; i++) {
        assert_true(cut->estimate[i].engine_ns < whole->estimate[i].engine_ns);
        assert_int_equal(cut->estimate[i].dispatch_ns, PR_TIMING_CALL_US * 1000 - PR_TIMING_NETWORK_NS);
    }
    assert_string_equal(whole->estimate[1].machine, "M1 Max");
    assert_true(whole->row[SUM].cost_ns > 0);
    assert_int_equal(whole->row[SUM].cost_ns + whole->row[SIGMOID].cost_ns, whole->estimate[1].engine_ns);
    cc_placement_destroy(whole);
    cc_placement_destroy(cut);
}

/* A convolution and a batch norm, whose factors a pass moves into the weights. */
static struct cc_graph *make_normed(void)
{
    static const float weights[16] = {1, 2, 3, 4, 5, 6, 7, 8}, ones[4] = {1, 1, 1, 1};
    const uint32_t dims[4] = {1, 4, 5, 6}, kernel[4] = {4, 4, 1, 1}, channels = 4;
    struct cc_attributes conv = {.groups = 1, .stride = {1, 1}, .dilation = {1, 1}}, norm = {.epsilon = 0.5f};
    struct cc_graph *graph = cc_graph_create();
    struct base_error error = {{0}};
    struct cc_build b = {.graph = graph, .error = &error, .name = "y", .origin = 1};
    uint32_t x, y;

    assert_non_null(graph);
    x = (uint32_t)cc_graph_add_value(graph, "x", CC_FP16, 4, dims);
    assert_int_equal(cc_graph_add_input(graph, x), 0);
    assert_int_equal(cc_graph_add_origin(graph, "conv", "Conv", 0, 0), 0);
    assert_int_equal(cc_graph_add_origin(graph, "norm", "BatchNormalization", 0, 0), 1);
    conv.weight = cc_build_floats(&b, 4, kernel, weights) + 1;
    norm.mean = cc_build_floats(&b, 1, &channels, ones) + 1;
    norm.variance = cc_build_floats(&b, 1, &channels, ones) + 1;
    y = cc_build_op(&b, CC_OP_CONV, 1, &x, &conv);
    b.origin = 2;
    y = cc_build_op(&b, CC_OP_BATCH_NORM, 1, &y, &norm);
    if (b.status)
        fail_msg("%s", error.text);
    assert_int_equal(cc_graph_add_output(graph, y), 0);
    return graph;
}

static void what_a_pass_merges_is_named(void **state)
{
    struct cc_segment whole = {.graph = make_normed()};
    struct cc_placement *p = NULL;
    struct base_error error;

    (void)state;
    assert_int_equal(cc_placement_create(whole.graph, &p, &error), 0);
    add_segment(p, &whole);
    cc_placement_end(p);
    assert_int_equal(p->row[1].where, CC_WHERE_ENGINE);
    assert_int_equal(p->row[1].descriptors, 1);
    assert_true(p->row[1].weights_bytes >= (16 + 4) * 2); /* and the bias that the norm gives it */
    assert_int_equal(p->row[2].where, CC_WHERE_MERGED);
    assert_int_equal(p->row[2].into, 2);
    assert_non_null(strstr(p->row[2].why, "conv"));
    cc_placement_destroy(p);
    cc_graph_destroy(whole.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_node_has_a_place),
                                       cmocka_unit_test(costs_add_up),
                                       cmocka_unit_test(what_a_pass_merges_is_named)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
