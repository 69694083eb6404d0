/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: what disappears from a graph, what stays, and that ports keep their names. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/eval/eval.h"
#include "compiler/graph/build.h"
#include "compiler/pass/passes.h"
#include "support.h"

static struct base_error failure;

static struct cc_build open_graph(uint32_t *x, uint32_t rank, const uint32_t *dims)
{
    struct cc_build b = {.graph = cc_graph_create(), .name = "b", .error = &failure};

    assert_non_null(b.graph);
    *x = (uint32_t)cc_graph_add_value(b.graph, "x", CC_FP16, rank, dims);
    assert_int_equal(cc_graph_add_input(b.graph, *x), 0);
    return b;
}

/* The operations that compute something, after folding. */
static uint32_t fold(struct cc_build *b, uint32_t y, const char *name)
{
    uint32_t count = 0;

    cc_build_name(b, y, name);
    if (b->status || cc_graph_add_output(b->graph, y) || cc_graph_check(b->graph, &failure) ||
        cc_pass_fold(&b->graph, &failure) || cc_graph_check(b->graph, &failure))
        fail_msg("%s", failure.text);
    assert_string_equal(b->graph->value[b->graph->output[0]].name, name);
    for (uint32_t i = 0; i < b->graph->ops; i++)
        count += b->graph->op[i].inputs != 0;
    return count;
}

/* [[1, 2], [3, 4]] transposed, plus 10: a constant that is added to x. */
static void constants(void **state)
{
    uint32_t x;
    struct cc_build b = open_graph(&x, 2, (const uint32_t[]){2, 2});
    uint32_t c = cc_build_floats(&b, 2, (const uint32_t[]){2, 2}, (const float[]){1, 2, 3, 4});
    const struct cc_op *op;
    static const double want[] = {11, 13, 12, 14};

    (void)state;
    c = cc_build_transpose(&b, c, (const uint32_t[]){1, 0});
    c = cc_build_binary(&b, CC_OP_ADD, c, cc_build_scalar(&b, 10));
    c = cc_build_cast(&b, c, CC_FP16);
    assert_int_equal(fold(&b, cc_build_binary(&b, CC_OP_ADD, x, c), "y"), 1);
    assert_int_equal(b.graph->ops, 2); /* with the constant: no other one is left */
    op = &b.graph->op[1];
    assert_int_equal(op->kind, CC_OP_ADD);
    for (unsigned i = 0; i < 4; i++)
        assert_true(cc_value_number(&b.graph->value[op->input[1]], i) == want[i]);
    cc_graph_destroy(b.graph);
}

/* A short text could ask for any amount of memory and time: all constants of a graph have one limit. */
static void too_much_is_refused(void **state)
{
    uint32_t x;
    struct cc_build b = open_graph(&x, 1, (const uint32_t[]){2});
    uint32_t c = cc_build_floats(&b, 1, (const uint32_t[]){2}, (const float[]){1, 2});
    bool folded;

    (void)state;
    cc_build_unary(&b, CC_OP_RELU, c);
    assert_int_equal(b.status, 0);
    b.graph->folded_bytes = CC_FOLD_ALL_BYTES_MAX;
    assert_int_equal(cc_eval_fold(b.graph, b.graph->ops - 1, &folded, &failure), -EFBIG);
    assert_non_null(strstr(failure.text, "more than the limit of 1073741824 bytes"));
    b.graph->folded_bytes = 0;
    b.graph->folded_steps = CC_FOLD_TOTAL_MAX;
    assert_int_equal(cc_eval_fold(b.graph, b.graph->ops - 1, &folded, &failure), -EFBIG);
    assert_non_null(strstr(failure.text, "need more than the limit of 4294967296 steps"));
    assert_false(folded);
    b.graph->folded_steps = 0;
    assert_int_equal(cc_eval_fold(b.graph, b.graph->ops - 1, &folded, &failure), 0);
    assert_true(folded);
    cc_graph_destroy(b.graph);
}

/* Only constants are fp32, so a product of constants that is too much to fold has no other place. */
static void large_products_are_refused(void **state)
{
    const uint32_t dim[2] = {1024, 1024};
    uint32_t x, pair[2];
    struct cc_build b = open_graph(&x, 1, (const uint32_t[]){2});
    bool folded;

    (void)state;
    pair[0] = pair[1] = cc_build_const(&b, CC_FP32, 2, dim, base_alloc(4u << 20));
    cc_build_op(&b, CC_OP_MATMUL, 2, pair, NULL);
    assert_int_equal(b.status, 0);
    assert_int_equal(cc_eval_fold(b.graph, b.graph->ops - 1, &folded, &failure), -EFBIG);
    assert_non_null(strstr(failure.text, "1073741824 multiplications, expected at most"));
    assert_false(folded);
    cc_graph_destroy(b.graph);
}

static uint32_t with_number(struct cc_build *b, enum cc_op_kind kind, uint32_t x, float number)
{
    return cc_build_binary(b, kind, x, cc_build_scalar(b, number));
}

/* Each line changes nothing; then one relu is left. */
static void identities(void **state)
{
    static const uint32_t dims[] = {1, 2, 3, 1};
    uint32_t x;
    struct cc_build b = open_graph(&x, 4, dims);
    uint32_t y = cc_build_unary(&b, CC_OP_RELU, x);
    struct cc_attributes window = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};

    (void)state;
    y = with_number(&b, CC_OP_ADD, y, 0);
    y = cc_build_binary(&b, CC_OP_ADD, cc_build_scalar(&b, 0), y);
    y = with_number(&b, CC_OP_SUB, y, 0);
    y = with_number(&b, CC_OP_MUL, y, 1);
    y = with_number(&b, CC_OP_REAL_DIV, y, 1);
    y = with_number(&b, CC_OP_POW, y, 1);
    y = cc_build_op(&b, CC_OP_PAD, 1, &y, NULL);
    y = cc_build_op(&b, CC_OP_TRANSPOSE, 1, &y, &(struct cc_attributes){.perm = {0, 1, 2, 3}});
    y = cc_build_op(&b, CC_OP_SLICE_BY_SIZE, 1, &y, &(struct cc_attributes){.size = {1, 2, 3, 1}});
    y = cc_build_op(&b, CC_OP_TILE, 1, &y, &(struct cc_attributes){.reps = {1, 1, 1, 1}});
    y = cc_build_op(&b, CC_OP_REVERSE, 1, &y, &(struct cc_attributes){.axes = 9});
    y = cc_build_op(&b, CC_OP_CONCAT, 1, &y, &(struct cc_attributes){.axis = 1});
    y = cc_build_op(&b, CC_OP_MAX_POOL, 1, &y, &window);
    y = cc_build_op(&b, CC_OP_CLIP, 1, &y, &(struct cc_attributes){.alpha = -INFINITY, .beta = INFINITY});
    y = cc_build_op(&b, CC_OP_RESIZE, 1, &y, &(struct cc_attributes){.size = {3, 1}});
    y = cc_build_reduce(&b, CC_OP_REDUCE_MEAN, y, 8, true);
    y = cc_build_cast(&b, y, CC_FP16);
    assert_int_equal(fold(&b, y, "y"), 1);
    assert_int_equal(b.graph->ops, 1);
    cc_graph_destroy(b.graph);
}

/* These look alike and do change something. */
static void others(void **state)
{
    uint32_t x;
    struct cc_build b = open_graph(&x, 4, (const uint32_t[]){1, 1, 2, 2});
    struct cc_attributes window = {
        .kernel = {1, 1}, .stride = {1, 2}, .dilation = {1, 2}, .pad = {0, 0, 1, 1}};
    uint32_t y = x;

    (void)state;
    y = cc_build_binary(&b, CC_OP_SUB, cc_build_scalar(&b, 0), y);
    y = cc_build_binary(&b, CC_OP_REAL_DIV, cc_build_scalar(&b, 1), y);
    y = cc_build_binary(&b, CC_OP_POW, cc_build_scalar(&b, 1), y);
    y = cc_build_op(&b, CC_OP_TRANSPOSE, 1, &y, &(struct cc_attributes){.perm = {0, 1, 3, 2}});
    y = cc_build_op(&b, CC_OP_REVERSE, 1, &y, &(struct cc_attributes){.axes = 9});
    y = cc_build_op(&b, CC_OP_AVG_POOL, 1, &y, &window); /* elements -1 and 1 */
    y = cc_build_op(&b, CC_OP_RESIZE, 1, &y, &(struct cc_attributes){.size = {2, 2}, .scale = {1, 1.25f}});
    y = cc_build_binary(&b, CC_OP_ADD, y,
                        cc_build_floats(&b, 4, (const uint32_t[]){2, 1, 1, 1}, (const float[]){0, 0}));
    assert_int_equal(fold(&b, y, "y"), 8);
    cc_graph_destroy(b.graph);
}

/* An output that is an input by another name stays a port of its own. */
static void ports(void **state)
{
    uint32_t x;
    struct cc_build b = open_graph(&x, 1, (const uint32_t[]){4});

    (void)state;
    assert_int_equal(fold(&b, with_number(&b, CC_OP_MUL, x, 1), "y"), 1);
    assert_string_equal(b.graph->value[b.graph->input[0]].name, "x");
    assert_int_equal(b.graph->op[b.graph->ops - 1].kind, CC_OP_CAST);
    cc_graph_destroy(b.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(large_products_are_refused),
        cmocka_unit_test(identities),
        cmocka_unit_test(others),
        cmocka_unit_test(ports),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
