/* SPDX-License-Identifier: Apache-2.0 */
/* MIL calls that only move elements: how their numbers are resolved, and what is refused. */
#include "mil_text.h"

static const struct cc_op *last(const struct cc_graph *graph)
{
    return &graph->op[graph->ops - 1];
}

/* y of this shape, by this call, of a [1, 4, 6, 8] and b [4, 1, 8]. */
static const char *call(const char *shape, const char *text)
{
    static char body[0x1000];

    snprintf(body, sizeof(body), "tensor<fp16, [%s]> y = %s;", shape, text);
    return around(body);
}

static void assert_numbers(const uint32_t *numbers, const char *text)
{
    char found[64];

    snprintf(found, sizeof(found), "%u %u %u %u", numbers[0], numbers[1], numbers[2], numbers[3]);
    assert_string_equal(found, text);
}

static void transposes(void **state)
{
    struct cc_graph *graph;

    (void)state;
    graph = parse(call("8, 1, 6, 4", "transpose(x = a, perm = tensor<int32, [4]>([3, 0, -2, 1]))"));
    assert_int_equal(last(graph)->kind, CC_OP_TRANSPOSE);
    assert_numbers(last(graph)->a.perm, "3 0 2 1");
    cc_graph_destroy(graph);
    refused(call("8, 1, 4, 6", "transpose(x = a, perm = tensor<int32, [4]>([3, 0, 2, 1]))"), EINVAL,
            "transpose `y`: it gives tensor<fp16, [8, 1, 6, 4]>, but tensor<fp16, [8, 1, 4, 6]> is declared");
    refused(call("1, 4, 6, 8", "transpose(x = a, perm = tensor<int32, [4]>([0, 1, 2, 2]))"), EINVAL,
            "Line 3, column 56: transpose `y`: perm has 2, expected each axis of rank 4 once");
    refused(call("1, 4, 6, 8", "transpose(x = a, perm = tensor<int32, [4]>([0, 1, 2, 4]))"), EINVAL,
            "perm has 4");
    refused(call("1, 4, 6, 8", "transpose(x = a, perm = tensor<int32, [4]>([0, 1, 2, -5]))"), EINVAL,
            "perm has -5");
    refused(call("1, 4, 6, 8", "transpose(x = a, perm = tensor<int32, [3]>([0, 1, 2]))"), EINVAL,
            "perm has 3 numbers, expected one per axis of x: 4");
    refused(call("1, 4, 6, 8", "transpose(x = a)"), EINVAL, "transpose has no argument `perm`");
}

static void reshapes(void **state)
{
    static const struct {
        const char *shape, *list;
    } good[] = {
        {"192", "[1]>([192])"},
        {"192", "[1]>([-1])"},
        {"4, 48", "[2]>([4, -1])"},
        {"6, 4, 8", "[3]>([-1, 4, 8])"},
        {"1, 4, 48, 1", "[4]>([0, 0, -1, 1])"},
        {"2, 2, 6, 8", "[4]>([2, 2, 0, 8])"},
        {"1, 4, 6, 8, 1", "[5]>([1, 4, 6, 8, -1])"},
    };
    struct cc_graph *graph;
    char text[128];

    (void)state;
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        snprintf(text, sizeof(text), "reshape(x = a, shape = tensor<int32, %s)", good[i].list);
        graph = parse(call(good[i].shape, text));
        assert_int_equal(last(graph)->kind, CC_OP_RESHAPE);
        cc_graph_destroy(graph);
    }
    refused(
        call("4, 48", "reshape(x = a, shape = tensor<int32, [2]>([48, 4]))"), EINVAL,
        "Line 3, column 27: reshape `y`: it gives tensor<fp16, [48, 4]>, but tensor<fp16, [4, 48]> is declared.");
    refused(call("4, 48", "reshape(x = a, shape = tensor<int32, [2]>([4, 49]))"), EINVAL,
            "shape does not hold the 192 elements of tensor<fp16, [1, 4, 6, 8]>");
    refused(call("4, 48", "reshape(x = a, shape = tensor<int32, [2]>([5, -1]))"), EINVAL,
            "shape does not hold the 192");
    refused(call("4, 48", "reshape(x = a, shape = tensor<int32, [2]>([2147483647, -1]))"), EINVAL,
            "does not hold");
    refused(call("4, 48",
                 "reshape(x = a, shape = tensor<int32, [5]>([2147483647, 2147483647, 2147483647, 4, -1]))"),
            EINVAL, "does not hold");
    refused(call("4, 48", "reshape(x = a, shape = tensor<int32, [2]>([-1, -1]))"), EINVAL, "at most one -1");
    refused(call("4, 48", "reshape(x = a, shape = tensor<int32, [2]>([4, -2]))"), EINVAL, "shape has -2");
    refused(call("4, 48", "reshape(x = a, shape = tensor<int32, [2]>([0, 48]))"), EINVAL,
            "shape has 0, expected lengths of at least 1");
    refused(call("4, 48", "reshape(x = a, shape = tensor<int32, [6]>([1, 1, 1, 1, 1, 192]))"), EINVAL,
            "shape has 6 numbers, more than rank 5");
    refused(call("4, 48", "reshape(x = a, shape = b)"), EINVAL, "shape is a tensor computed at run time");
}

static void added_and_removed_axes(void **state)
{
    struct cc_graph *graph;

    (void)state;
    graph = parse(call("1, 4, 1, 8, 1", "expand_dims(x = b, axes = tensor<int32, [2]>([-1, 0]))"));
    assert_int_equal(last(graph)->kind, CC_OP_EXPAND_DIMS);
    assert_int_equal(last(graph)->a.axes, 0x11);
    cc_graph_destroy(graph);
    refused(call("4, 1, 8, 1", "expand_dims(x = b, axes = int32(4))"), ERANGE,
            "axes has 4, expected -4 to 3");
    refused(call("4, 1, 8, 1", "expand_dims(x = a, axes = tensor<int32, [2]>([0, 1]))"), EINVAL,
            "axes adds 2 to rank 4, more than 5");
    refused(call("4, 1, 8, 1", "expand_dims(x = b)"), EINVAL, "expand_dims has no argument `axes`");

    graph = parse(call("4, 8", "squeeze(x = b)"));
    assert_int_equal(last(graph)->kind, CC_OP_SQUEEZE);
    assert_int_equal(last(graph)->a.axes, 2);
    cc_graph_destroy(graph);
    graph = parse(call("4, 6, 8", "squeeze(x = a, axes = int32(-4))"));
    assert_int_equal(last(graph)->a.axes, 1);
    cc_graph_destroy(graph);
    refused(call("4, 8", "squeeze(x = b, axes = tensor<int32, [2]>([0, 1]))"), EINVAL,
            "axis 0 has length 4, and only an axis of length 1 can be left out");
}

static void slices(void **state)
{
    static const struct {
        const char *shape, *rest, *begin, *size;
        uint32_t axes;
    } good[] = {
        {"1, 2, 6, 3", "[0, 1, 0, -4]), end = tensor<int32, [4]>([1, 3, 6, -1])", "0 1 0 4", "1 2 6 3", 0},
        {"1, 4, 1, 8", "[0, 0, 5, 0]), end = tensor<int32, [4]>([2147483647, 9, 99, 8])", "0 0 5 0",
         "1 4 1 8", 0},
        {"1, 3, 6, 4",
         "[9, 1, -9, 0]), end = tensor<int32, [4]>([-9, 0, 0, 4]), begin_mask = tensor<bool, [4]>([true, false, true, "
         "false]), end_mask = tensor<bool, [4]>([true, true, true, false]), stride = tensor<int32, [4]>([1, 1, 1, 1])",
         "0 1 0 0", "1 3 6 4", 0},
        {"4, 8",
         "[0, 0, -1, 0]), end = tensor<int32, [4]>([0, 4, 0, 8]), squeeze_mask = tensor<bool, [4]>([true, false, true, "
         "false])",
         "0 0 5 0", "1 4 1 8", 5},
    };
    struct cc_graph *graph;
    char text[512];

    (void)state;
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        snprintf(text, sizeof(text), "slice_by_index(x = a, begin = tensor<int32, [4]>(%s)", good[i].rest);
        graph = parse(call(good[i].shape, text));
        assert_int_equal(last(graph)->kind, CC_OP_SLICE_BY_INDEX);
        assert_numbers(last(graph)->a.begin, good[i].begin);
        assert_numbers(last(graph)->a.size, good[i].size);
        assert_int_equal(last(graph)->a.axes, good[i].axes);
        cc_graph_destroy(graph);
    }
#define INDEX "slice_by_index(x = a, begin = tensor<int32, [4]>([0, 1, 0, 0]), end = tensor<int32, [4]>"
    refused(call("1, 3, 6, 8", INDEX "([1, 1, 6, 8]))"), EINVAL,
            "end has 1 for an axis of length 4 that begins at 1: empty tensors do not exist");
    refused(call("1, 3, 6, 8", INDEX "([1, -9, 6, 8]))"), EINVAL, "end has -9");
    refused(call("1, 3, 6, 8", INDEX "([1, 4, 6]))"), EINVAL, "found 3 elements");
    refused(call("1, 3, 6, 8", INDEX "([1, 4, 6, 8]), stride = tensor<int32, [4]>([1, 1, 2, 1]))"), EINVAL,
            "it gives tensor<fp16, [1, 3, 3, 8]>, but tensor<fp16, [1, 3, 6, 8]> is declared");
    refused(call("1, 3, 6, 8", INDEX "([1, 4, 6, 8]), stride = tensor<int32, [4]>([1, 1, 0, 1]))"), EINVAL,
            "stride has 0 on axis 2");
    refused(call("1, 3, 6, 8", INDEX "([1, 4, 6, 8]), begin_mask = tensor<bool, [2]>([true, true]))"), EINVAL,
            "begin_mask is tensor<bool, [2]>, expected 4 of bool");
    refused(call("1, 3, 6, 8", INDEX "([1, 4, 6, 8]), update = a)"), EINVAL,
            "slice_by_index has no argument `update`");
    refused(
        call(
            "1, 3, 6, 8",
            "slice_by_index(x = a, begin = tensor<int32, [4]>([0, 4, 0, 0]), end = tensor<int32, [4]>([1, 4, 6, 8]))"),
        ERANGE, "begin has 4 for an axis of length 4");
    refused(
        call(
            "1, 3, 6, 8",
            "slice_by_index(x = a, begin = tensor<int32, [3]>([0, 4, 0]), end = tensor<int32, [4]>([1, 4, 6, 8]))"),
        EINVAL, "begin has 3 numbers, expected one per axis of x: 4");

#define SIZE "slice_by_size(x = a, begin = tensor<int32, [4]>([0, -2, 1, 0]), size = tensor<int32, [4]>"
    graph = parse(call("1, 2, 5, 3", SIZE "([1, 2, -1, 3]))"));
    assert_int_equal(last(graph)->kind, CC_OP_SLICE_BY_SIZE);
    assert_numbers(last(graph)->a.begin, "0 2 1 0");
    assert_numbers(last(graph)->a.size, "1 2 5 3");
    cc_graph_destroy(graph);
    refused(call("1, 2, 5, 3", SIZE "([1, 3, -1, 3]))"), ERANGE,
            "size has 3 for an axis of length 4 that begins at 2");
    refused(call("1, 2, 5, 3", SIZE "([1, 0, -1, 3]))"), ERANGE, "size has 0");
    refused(call("1, 2, 5, 3", SIZE "([1, -2, -1, 3]))"), ERANGE, "size has -2");
}

/* 32 values */
#define MANY "a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,"

static void copies(void **state)
{
    struct cc_graph *graph;

    (void)state;
    graph = parse(call("2, 4, 18, 8", "tile(x = a, reps = tensor<int32, [4]>([2, 1, 3, 1]))"));
    assert_int_equal(last(graph)->kind, CC_OP_TILE);
    assert_numbers(last(graph)->a.reps, "2 1 3 1");
    cc_graph_destroy(graph);
    refused(call("2, 4, 18, 8", "tile(x = a, reps = tensor<int32, [4]>([2, 1, 0, 1]))"), ERANGE,
            "reps has 0, expected 1 to 1048576");
    refused(call("2, 4, 18, 8", "tile(x = a, reps = tensor<int32, [4]>([1, 1048576, 1, 1]))"), EINVAL,
            "axis 1 of length 4 1048576 times, expected 1 to 1048576 elements");
    refused(call("2, 4, 18, 8", "tile(x = a, reps = tensor<int32, [3]>([2, 1, 3]))"), EINVAL,
            "expected 4 numbers");

#define K \
    "tensor<fp16, [1, 4, 2, 8]> k = slice_by_size(x = a, begin = tensor<int32, [4]>([0, 0, 4, 0]), size = tensor<int32, [4]>([1, 4, 2, 8]));"
    graph = parse(around(K "tensor<fp16, [1, 4, 16, 8]> y = concat(values = (a, k, a, k), axis = int32(-2), "
                           "interleave = bool(false));"));
    assert_int_equal(last(graph)->kind, CC_OP_CONCAT);
    assert_int_equal(last(graph)->inputs, 4);
    assert_int_equal(last(graph)->input[0], graph->input[0]);
    assert_int_equal(last(graph)->input[2], graph->input[0]);
    assert_int_equal(last(graph)->input[1], last(graph)->input[3]);
    assert_int_equal(last(graph)->a.axis, 2);
    cc_graph_destroy(graph);
    graph = parse(call("1, 4, 6, 8", "concat(values = (a), axis = int32(0))"));
    assert_int_equal(last(graph)->inputs, 1);
    cc_graph_destroy(graph);
    graph = parse(around("tensor<fp16, [1]> k = const()[val = tensor<fp16, [1]>([1])]; tensor<fp16, [2]> y = "
                         "concat(values = (k, k), axis = int32(0));"));
    cc_graph_destroy(graph);
    refused(
        around(K "tensor<fp16, [1, 4, 8, 8]> y = concat(values = (a, k), axis = int32(1));"), EINVAL,
        "`a` is tensor<fp16, [1, 4, 6, 8]> and `k` is tensor<fp16, [1, 4, 2, 8]>, expected equal lengths but on axis 1");
    refused(call("1, 4, 12, 8", "concat(values = (a, b), axis = int32(2))"), EINVAL,
            "expected equal lengths");
    refused(call("1, 4, 11, 8", "concat(values = (a, a), axis = int32(2), interleave = bool(true))"), EINVAL,
            "it gives tensor<fp16, [1, 4, 12, 8]>, but tensor<fp16, [1, 4, 11, 8]> is declared");
    refused(call("1, 4, 12, 8", "concat(values = (a, a))"), EINVAL, "concat has no argument `axis`");
    refused(call("1, 4, 12, 8", "concat(values = (a, a), axis = int32(4))"), ERANGE, "axis has 4");
    refused(call("1, 4, 12, 8", "concat(values = a, axis = int32(2))"), EINVAL,
            "values is one value, expected a list: (a, b)");
    refused(call("1, 4, 12, 8", "concat(axis = int32(2))"), EINVAL, "concat has no argument `values`");
    refused(call("1, 4, 12, 8", "concat(values = (a, z), axis = int32(2))"), EINVAL,
            "nothing before this line is called `z`");
    refused(call("1, 4, 12, 8", "concat(values = (), axis = int32(2))"), EINVAL,
            "found `)`, expected the name of a value");
    refused(call("1, 4, 12, 8", "concat(values = (a a), axis = int32(2))"), EINVAL,
            "found `a`, expected `)`");
    refused(call("1, 4, 12, 8", "concat(values = (" MANY MANY "a), axis = int32(2))"), EINVAL,
            "a list has more than 64 values");

    graph = parse(call("4, 2, 1, 8", "stack(values = (b, b), axis = int32(-3))"));
    assert_int_equal(last(graph)->kind, CC_OP_STACK);
    assert_int_equal(last(graph)->a.axis, 1);
    cc_graph_destroy(graph);
    graph = parse(call("4, 1, 8, 2", "stack(values = (b, b), axis = int32(3))"));
    assert_int_equal(last(graph)->a.axis, 3);
    cc_graph_destroy(graph);
    refused(call("2, 1, 4, 6, 8", "stack(values = (a, b), axis = int32(0))"), EINVAL, "expected one shape");
    refused(call("4, 1, 8, 2", "stack(values = (b, b), axis = int32(4))"), ERANGE,
            "axis has 4, expected -4 to 3");
    refused(
        "program(1.3){func f(tensor<fp16, [1, 1, 1, 1, 2]> a){tensor<fp16, [2]> y = stack(values = (a, a), axis = "
        "int32(0));}->(y);}",
        EINVAL, "the result has rank 6, more than 5");
}

static void splits(void **state)
{
    static const char two[] = "tensor<fp16, [1, 4, 3, 8]> p, tensor<fp16, [1, 4, 3, 8]> q = split(x = a, %s);"
                              "tensor<fp16, [1, 4, 3, 8]> y = add(x = p, y = q);";
    struct cc_graph *graph;
    char text[512];

    (void)state;
    snprintf(text, sizeof(text), two, "num_splits = int32(2), axis = int32(-2)");
    graph = parse(around(text));
    assert_int_equal(graph->ops, 5);
    for (unsigned i = 0; i < 2; i++) {
        const struct cc_op *op = &graph->op[2 + i];

        assert_int_equal(op->kind, CC_OP_SLICE_BY_SIZE);
        assert_string_equal(op->name, i ? "q" : "p");
        assert_numbers(op->a.begin, i ? "0 0 3 0" : "0 0 0 0");
        assert_numbers(op->a.size, "1 4 3 8");
        assert_int_equal(op->a.axes, 0);
        assert_int_equal(op->input[0], graph->input[0]);
        assert_int_equal(last(graph)->input[i], op->output);
    }
    cc_graph_destroy(graph);
    graph = parse(
        around("tensor<fp16, [1, 1, 6, 8]> p, tensor<fp16, [1, 3, 6, 8]> y = split(x = a, axis = int32(1), "
               "split_sizes = tensor<int32, [2]>([1, 3]), num_splits = int32(2))[name = string(\"both\")];"));
    assert_numbers(last(graph)->a.begin, "0 1 0 0");
    assert_numbers(last(graph)->a.size, "1 3 6 8");
    cc_graph_destroy(graph);
    graph = parse(call("1, 4, 6, 8", "split(x = a, num_splits = int32(1), axis = int32(1))"));
    cc_graph_destroy(graph);

    snprintf(text, sizeof(text), two, "num_splits = int32(3), axis = int32(2)");
    refused(around(text), EINVAL, "split gives 3 results, but 2 names are before `=`");
    snprintf(text, sizeof(text), two, "num_splits = int32(4), axis = int32(2)");
    refused(around(text), EINVAL, "num_splits is 4, which does not divide the 6 of axis 2");
    snprintf(text, sizeof(text), two, "num_splits = int32(2), axis = int32(3)");
    refused(around(text), EINVAL,
            "split `p`: it gives tensor<fp16, [1, 4, 6, 4]>, but tensor<fp16, [1, 4, 3, 8]> is declared");
    snprintf(text, sizeof(text), two, "split_sizes = tensor<int32, [2]>([3, 4]), axis = int32(2)");
    refused(around(text), EINVAL, "split_sizes adds up to 7, expected the 6 of axis 2");
    snprintf(text, sizeof(text), two, "split_sizes = tensor<int32, [2]>([6, 0]), axis = int32(2)");
    refused(around(text), EINVAL, "split_sizes has 0, expected at least 1");
    snprintf(text, sizeof(text), two,
             "split_sizes = tensor<int32, [2]>([3, 3]), num_splits = int32(3), axis = int32(2)");
    refused(around(text), EINVAL, "split_sizes has 2 numbers, expected num_splits = 3");
    snprintf(text, sizeof(text), two, "axis = int32(2)");
    refused(around(text), EINVAL, "split has no argument `num_splits`");
    snprintf(text, sizeof(text), two, "num_splits = int32(33), axis = int32(2)");
    refused(around(text), ERANGE, "num_splits has 33, expected 1 to 32");
    refused(
        around(
            "tensor<fp16, [1, 4, 3, 8]> p, bool y = split(x = a, num_splits = int32(2), axis = int32(2));"),
        EINVAL, "but bool is declared");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transposes), cmocka_unit_test(reshapes), cmocka_unit_test(added_and_removed_axes),
        cmocka_unit_test(slices),     cmocka_unit_test(copies),   cmocka_unit_test(splits),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
