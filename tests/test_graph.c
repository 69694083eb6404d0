/* SPDX-License-Identifier: Apache-2.0 */
/* A graph made by hand: what the check accepts, and each thing that it finds. */
#include "support.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/graph/graph.h"

/* y = relu(x + k), x of 1x2x3x4 and k of [4] */
static struct cc_graph *small(void)
{
    static const uint32_t dims[4] = {1, 2, 3, 4}, last[1] = {4};
    struct cc_graph *graph = cc_graph_create();
    struct cc_op *op;

    assert_non_null(graph);
    assert_int_equal(cc_graph_add_value(graph, "x", CC_FP16, 4, dims), 0);
    assert_int_equal(cc_graph_add_input(graph, 0), 0);
    assert_int_equal(cc_graph_add_const(graph, "k", CC_FP16, 1, last, base_alloc(8)), 1);
    assert_int_equal(cc_graph_add_value(graph, "s", CC_FP16, 4, dims), 2);
    assert_int_equal(cc_graph_add_value(graph, "y", CC_FP16, 4, dims), 3);
    assert_int_equal(graph->value[3].bytes, 48);
    op = &graph->op[cc_graph_add_op(graph, CC_OP_ADD, "sum", 7)];
    *op = (struct cc_op){.kind = CC_OP_ADD,
                         .name = op->name,
                         .line = 7,
                         .column = 5,
                         .inputs = 2,
                         .input = {0, 1},
                         .output = 2};
    op = &graph->op[cc_graph_add_op(graph, CC_OP_RELU, "relu", 0)];
    op->inputs = 1;
    op->input[0] = 2;
    op->output = 3;
    assert_int_equal(cc_graph_add_output(graph, 3), 0);
    return graph;
}

static void finds(struct cc_graph *graph, const char *sentence)
{
    struct base_error error = {""};
    int status = cc_graph_check(graph, &error);

    if (status != -EINVAL || !strstr(error.text, sentence))
        fail_msg("%d \"%s\", expected \"%s\"", status, error.text, sentence);
    cc_graph_destroy(graph);
}

static void good(void **state)
{
    struct cc_graph *graph = small();
    struct base_error error;

    (void)state;
    assert_int_equal(cc_graph_check(graph, &error), 0);
    assert_int_equal(graph->ops, 3);
    assert_int_equal(graph->op[0].kind, CC_OP_CONST);
    assert_string_equal(cc_op_name(CC_OP_REDUCE_MEAN), "reduce_mean");
    assert_string_equal(cc_type_name(CC_INT32), "int32");
    assert_int_equal(cc_type_bytes(CC_BOOL), 1);
    cc_graph_destroy(graph);
    cc_graph_destroy(NULL);
}

static void bad(void **state)
{
    struct cc_graph *graph;

    (void)state;
    graph = small();
    graph->op[1].input[0] = 3;
    finds(graph, "Line 7, column 5: add `sum`: operand 0 is used before it is computed");
    graph = small();
    graph->op[1].inputs = 1;
    finds(graph, "1 operands, expected 2");
    graph = small();
    graph->op[1].input[1] = 99;
    finds(graph, "used before it is computed");
    graph = small();
    graph->op[1].output = 99;
    finds(graph, "beyond the 4 values");
    graph = small();
    graph->op[2].output = 2;
    finds(graph, "relu `relu`: its value `s` is computed twice");
    graph = small();
    graph->op[2].kind = CC_OP_INPUT;
    graph->op[2].inputs = 0;
    finds(graph, "its value is not declared as input");
    graph = small();
    graph->op[2].kind = CC_OP_COUNT;
    finds(graph, "Operation 2 has no kind");
    graph = small();
    graph->op[2].kind = CC_OP_LINEAR;
    finds(graph, "there is no weight");
    graph = small();
    graph->op[2].kind = CC_OP_LINEAR;
    graph->op[2].a.weight = 1;
    finds(graph, "weight `x` is not a constant");
    graph = small();
    graph->op[2].kind = CC_OP_CAST;
    graph->op[2].a.to = CC_BOOL;
    finds(graph, "dtype is bool");
    graph = small();
    graph->op[2].kind = CC_OP_REDUCE_MEAN;
    finds(graph, "no axes");
    graph = small();
    graph->op[2].kind = CC_OP_REDUCE_MEAN;
    graph->op[2].a.axes = 0x10;
    finds(graph, "beyond rank 4");
    graph = small();
    graph->value[3].type = CC_FP32;
    finds(graph, "states 48 bytes");
    graph = small();
    graph->value[3].rank = 6;
    finds(graph, "rank 6 is more than 5");
    graph = small();
    graph->value[3].dim[0] = 0;
    finds(graph, "axis 0 has length 0");
    graph = small();
    graph->value[3].type = (enum cc_type)9;
    finds(graph, "type 9 does not exist");
    graph = small();
    graph->input[0] = 1;
    finds(graph, "is an input and a constant");
    graph = small();
    graph->input[0] = 4;
    finds(graph, "Input 0 is not a value");
    graph = small();
    graph->output[0] = 4;
    finds(graph, "Output 0 is a value that no operation computes");
    graph = small();
    graph->outputs = 0;
    finds(graph, "no output");
}

/* y of `small` by another operation of one operand. */
static struct cc_graph *by(enum cc_op_kind kind, struct cc_attributes a)
{
    struct cc_graph *graph = small();

    graph->op[2].kind = kind;
    graph->op[2].a = a;
    return graph;
}

static void bad_attributes(void **state)
{
    static const struct {
        enum cc_op_kind kind;
        struct cc_attributes a;
        const char *sentence;
    } cases[] = {
        {CC_OP_CLIP, {.alpha = 1}, "clip `relu`: alpha is 1 and beta is 0"},
        {CC_OP_GELU, {.gelu = (enum cc_gelu)3}, "mode 3 does not exist"},
        {CC_OP_SOFTMAX, {.axis = 4}, "axis 4 reaches beyond rank 4"},
        {CC_OP_LAYER_NORM, {.axes = 0}, "no axes"},
        {CC_OP_LAYER_NORM, {.axes = 0x10}, "beyond rank 4"},
        {CC_OP_LAYER_NORM, {.axes = 8, .weight = 3}, "gamma `s` is not a constant"},
        {CC_OP_LAYER_NORM,
         {.axes = 4, .weight = 2},
         "gamma is tensor<fp16, [4]>, expected tensor<fp16, [3]>"},
        {CC_OP_LAYER_NORM, {.axes = 8, .bias = 99}, "beyond the 4 values"},
        {CC_OP_BATCH_NORM, {.mean = 99}, "beyond the 4 values"},
        {CC_OP_BATCH_NORM, {.variance = 99}, "beyond the 4 values"},
        {CC_OP_BATCH_NORM, {.variance = 2}, "there is no mean"},
        {CC_OP_BATCH_NORM, {.mean = 2}, "there is no variance"},
        {CC_OP_BATCH_NORM,
         {.mean = 2, .variance = 2},
         "mean is tensor<fp16, [4]>, expected one axis of length 2"},
        {CC_OP_MAX_POOL, {.stride = {1, 1}, .dilation = {1, 1}}, "kernel size 0"},
        {CC_OP_MAX_POOL, {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 0}}, "dilation 0 of axis 3"},
        {CC_OP_AVG_POOL, {.kernel = {1, 1}, .dilation = {1, 1}}, "stride 0"},
        {CC_OP_AVG_POOL,
         {.kernel = {4, 1}, .stride = {1, 1}, .dilation = {1, 1}},
         "the kernel spans 4 and axis 2"},
        {CC_OP_AVG_POOL,
         {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}, .pad = {1}},
         "padding 1 and 0"},
        {CC_OP_TRANSPOSE, {.perm = {0, 1, 2, 4}}, "perm has 4 at place 3"},
        {CC_OP_TRANSPOSE, {.perm = {0, 1, 1, 3}}, "perm has 1 at place 2"},
        {CC_OP_TRANSPOSE, {.perm = {1, 0, 2, 3}}, "it gives tensor<fp16, [2, 1, 3, 4]>"},
        {CC_OP_EXPAND_DIMS, {.axes = 3}, "the result has rank 6"},
        {CC_OP_EXPAND_DIMS, {.axes = 0x20}, "reach beyond the result's rank 5"},
        {CC_OP_SQUEEZE, {.axes = 0x10}, "reach beyond rank 4"},
        {CC_OP_SQUEEZE, {.axes = 2}, "axis 1 has length 2"},
        {CC_OP_SLICE_BY_SIZE, {.size = {1, 2, 3, 0}}, "0 elements from 0 on axis 3"},
        {CC_OP_SLICE_BY_SIZE, {.begin = {0, 1}, .size = {1, 2, 3, 4}}, "2 elements from 1 on axis 1"},
        {CC_OP_SLICE_BY_INDEX, {.begin = {0, UINT32_MAX}, .size = {1, 2, 3, 4}}, "from 4294967295 on axis 1"},
        {CC_OP_SLICE_BY_INDEX, {.size = {1, 2, 3, 4}, .axes = 4}, "axis 2 has length 3"},
        {CC_OP_TILE, {.reps = {1, 1, 1}}, "axis 3 of length 4 0 times"},
        {CC_OP_TILE, {.reps = {1, 1, 1, UINT32_MAX}}, "axis 3 of length 4 4294967295 times"},
        {CC_OP_CONCAT, {.axis = 4}, "axis 4 reaches beyond rank 4"},
        {CC_OP_STACK, {.axis = 5}, "axis 5 reaches beyond the result's rank 5"},
        {CC_OP_LOGICAL_NOT, {.axis = 0}, "operand `s` is tensor<fp16, [1, 2, 3, 4]>, expected bool"},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        finds(by(cases[i].kind, cases[i].a), cases[i].sentence);
}

static void truth_values(void **state)
{
    struct cc_graph *graph = small();
    struct base_error error;

    (void)state;
    graph->op[1].kind = CC_OP_LESS;
    graph->value[2].type = CC_BOOL;
    graph->value[2].bytes = 24;
    graph->op[2].kind = CC_OP_CAST;
    assert_int_equal(cc_graph_check(graph, &error), 0);
    graph->output[0] = 2;
    finds(graph, "Output `s` is tensor<bool, [1, 2, 3, 4]>, expected fp16 or fp32");
    assert_true(cc_op_gives_bool(CC_OP_LESS_EQUAL) && cc_op_gives_bool(CC_OP_LOGICAL_NOT));
    assert_false(cc_op_gives_bool(CC_OP_SELECT) || cc_op_gives_bool(CC_OP_COUNT));
}

static void lists(void **state)
{
    struct cc_graph *graph;
    struct base_error error;

    (void)state;
    graph = by(CC_OP_CONCAT, (struct cc_attributes){.axis = 1});
    graph->op[2].inputs = 2;
    graph->op[2].input[1] = 0;
    graph->value[3].dim[1] = 4;
    graph->value[3].bytes *= 2;
    assert_int_equal(cc_graph_check(graph, &error), 0);
    graph->op[2].inputs = 0;
    finds(graph, "0 operands, expected 1 to 64");
    graph = by(CC_OP_CONCAT, (struct cc_attributes){.axis = 1});
    graph->op[2].inputs = CC_INPUTS_MAX + 1;
    finds(graph, "a value index reaches beyond");
    graph = by(CC_OP_CONCAT, (struct cc_attributes){.axis = 1});
    graph->op[2].inputs = 2;
    graph->op[2].input[1] = 1;
    finds(graph,
          "`s` is tensor<fp16, [1, 2, 3, 4]> and `k` is tensor<fp16, [4]>, expected equal lengths but on "
          "axis 1");
    graph = by(CC_OP_STACK, (struct cc_attributes){.axis = 0});
    graph->op[2].inputs = 2;
    graph->op[2].input[1] = 1;
    finds(graph, "expected one shape");
    graph = by(CC_OP_RESHAPE, (struct cc_attributes){.axis = 0});
    graph->value[3].dim[3] = 5;
    graph->value[3].bytes = 60;
    finds(graph, "do not hold the same number of elements");
}

static void limits(void **state)
{
    static const uint32_t wide[4] = {1, 1, 1, 16384}, wider[4] = {1, 1, 1, 16385}, deep[4] = {1, 65536, 1, 1},
                          deeper[4] = {1, 65537, 1, 1}, flat[2] = {1, 65536}, flatter[2] = {1, 65537},
                          five[5] = {1, 16385, 1, 1, 1}, batch[4] = {65536, 1, 1, 1},
                          huge[4] = {65536, 65536, 16384, 16384};
    struct base_error error;

    (void)state;
    assert_int_equal(cc_shape_check(CC_FP16, 4, wide, false, &error), 0);
    assert_int_equal(cc_shape_check(CC_FP16, 4, wider, false, &error), -EINVAL);
    assert_int_equal(cc_shape_check(CC_FP16, 4, wider, true, &error), 0);
    assert_int_equal(cc_shape_check(CC_FP16, 4, deep, false, &error), 0);
    assert_int_equal(cc_shape_check(CC_FP16, 4, deeper, false, &error), -EINVAL);
    assert_int_equal(cc_shape_check(CC_FP16, 2, flat, false, &error), 0);
    assert_int_equal(cc_shape_check(CC_FP16, 2, flatter, false, &error), -EINVAL);
    assert_int_equal(cc_shape_check(CC_FP16, 5, five, false, &error), -EINVAL);
    assert_non_null(strstr(error.text, "axis 1 (D)"));
    assert_int_equal(cc_shape_check(CC_FP16, 4, batch, false, &error), 0);
    assert_int_equal(cc_shape_check(CC_FP16, 4, huge, false, &error), -EINVAL);
    assert_non_null(strstr(error.text, "2147483648 bytes"));
    assert_int_equal(cc_shape_bytes(CC_FP32, 4, wide), 65536);
    assert_int_equal(cc_shape_bytes(CC_FP32, 4, huge), 0);
}

static void no_memory(void **state)
{
    static const uint32_t one[1] = {1};
    struct cc_graph *graph = cc_graph_create();
    void *data = base_alloc(2);
    unsigned long n = 0;
    int status;

    (void)state;
    assert_int_equal(cc_graph_add_value(graph, "x", CC_FP16, 6, one), -EINVAL);
    assert_int_equal(cc_graph_add_op(graph, CC_OP_COUNT, "x", 0), -EINVAL);
    assert_int_equal(cc_graph_add_input(graph, 0), -EINVAL);
    do {
        assert_int_equal(graph->values, 0);
        assert_int_equal(graph->ops, 0);
        base_alloc_fail_nth(++n);
        status = cc_graph_add_const(graph, "x", CC_FP16, 1, one, data);
        base_alloc_fail_nth(0);
        assert_true(status == 0 || status == -ENOMEM);
    } while (status && n < 10);
    assert_int_equal(status, 0);
    assert_true(n > 2);
    assert_ptr_equal(graph->value[0].data, data);
    base_alloc_fail_nth(1);
    assert_int_equal(cc_graph_add_output(graph, 0), -ENOMEM);
    base_alloc_fail_nth(0);
    cc_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good),         cmocka_unit_test(bad),   cmocka_unit_test(bad_attributes),
        cmocka_unit_test(truth_values), cmocka_unit_test(lists), cmocka_unit_test(limits),
        cmocka_unit_test(no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
