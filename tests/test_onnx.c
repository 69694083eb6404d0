/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ONNX reader does beyond single operators of the backend tests: orders, shapes, bindings, element
 * types, files of data, control flow, functions, quantised models, and operators that those tests lack.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder.h"
#include "base/alloc.h"
#include "onnxrig.h"

#define GIVES(r, allowed, ...)                                                                              \
    onnxrig_gives(r, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double), \
                  allowed)

/* A model with a float input x and an output y. */
static CcGraph *begin(struct onnxrig *r, int64_t opset, const int64_t *dims)
{
    onnxrig_begin(r, opset);
    onnxrig_input(r, r->model->graph, "x", ONNXRIG_FLOAT, dims);
    onnxrig_output(r, r->model->graph, "y", ONNXRIG_FLOAT);
    return r->model->graph;
}

static void test_any_order(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(3));

    (void)state;
    onnxrig_node(&r, g, "Add", "b x", "y");
    onnxrig_node(&r, g, "Mul", "a a", "b");
    onnxrig_node(&r, g, "Neg", "x", "a");
    GIVES(&r, 0, 2, 6, 12);
    onnxrig_end(&r);
}

static void test_names(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(3));
    struct cc_graph *graph;
    struct base_error error;

    (void)state;
    onnxrig_node(&r, g, "Relu", "x", "a")->name = (char *)(uintptr_t) "twice";
    onnxrig_node(&r, g, "Relu", "a", "b")->name = (char *)(uintptr_t) "twice";
    onnxrig_node(&r, g, "Relu", "b", "y");
    assert_int_equal(onnxrig_read(&r, NULL, 0, &graph, &error), 0);
    assert_int_equal(graph->origins, 3);
    assert_string_equal(graph->origin[0].name, "twice");
    assert_string_equal(graph->origin[0].kind, "Relu");
    assert_string_not_equal(graph->origin[1].name, "twice");
    assert_string_equal(graph->origin[2].name, "y");
    assert_string_equal(graph->value[graph->input[0]].name, "x");
    assert_int_equal(graph->value[graph->input[0]].type, CC_FP32);
    assert_string_equal(graph->value[graph->output[0]].name, "y");
    assert_int_equal(graph->value[graph->output[0]].type, CC_FP32);
    cc_graph_destroy(graph);
    onnxrig_end(&r);
}

/* The same value twice, an input and a constant as outputs. */
static void test_outputs(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(2));
    struct cc_graph *graph;
    struct base_error error = {{0}};

    (void)state;
    onnxrig_floats(&r, "c", ONNXRIG_DIMS(2), (const float[]){1, 2});
    onnxrig_node(&r, g, "Relu", "x", "a");
    onnxrig_node(&r, g, "Identity", "a", "y");
    onnxrig_node(&r, g, "Identity", "a", "z");
    onnxrig_output(&r, g, "a", ONNXRIG_FLOAT);
    onnxrig_output(&r, g, "z", ONNXRIG_FLOAT);
    onnxrig_output(&r, g, "c", ONNXRIG_FLOAT);
    onnxrig_output(&r, g, "x", ONNXRIG_FLOAT);
    if (onnxrig_read(&r, NULL, 0, &graph, &error) || cc_graph_check(graph, &error))
        fail_msg("%s", error.text);
    assert_int_equal(graph->outputs, 5);
    assert_string_equal(graph->value[graph->output[1]].name, "a");
    cc_graph_destroy(graph);
    onnxrig_output(&r, g, "z", ONNXRIG_FLOAT);
    onnxrig_refused(&r, "Output `z` is listed twice.");
    onnxrig_end(&r);
}

static void test_shapes(void **state)
{
    struct cc_binding shape = {.name = "x", .rank = 2, .dim = {2, 3}},
                      other = {.name = "z", .rank = 1, .dim = {1}};
    struct base_error error = {{0}};
    struct cc_graph *graph = NULL;
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(-1, 3));

    (void)state;
    onnxrig_node(&r, g, "Relu", "x", "y");
    onnxrig_refused(&r,
                    "Input `x`: axis 0 has no fixed length (`N`); shapes are static on this engine. Give it "
                    "with `--shape x=1,3`.");
    assert_int_equal(onnxrig_read(&r, &shape, 1, &graph, &error), 0);
    assert_int_equal(graph->value[graph->input[0]].dim[0], 2);
    cc_graph_destroy(graph);
    shape.dim[1] = 4;
    assert_true(onnxrig_read(&r, &shape, 1, &graph, &error) < 0);
    assert_string_equal(error.text, "Input `x`: axis 1 was given as 4, and the model says 3.");
    shape.rank = 1;
    assert_true(onnxrig_read(&r, &shape, 1, &graph, &error) < 0);
    assert_string_equal(error.text, "Input `x` was given rank 1, and the model says 2.");
    shape = (struct cc_binding){.name = "x", .rank = 2, .dim = {2, 3}};
    assert_true(onnxrig_read(&r, (const struct cc_binding[]){shape, other}, 2, &graph, &error) < 0);
    assert_string_equal(error.text, "`z` is not an input of the model.");
    onnxrig_end(&r);
}

/* An int64 input is a constant or nothing. */
static void test_bindings(void **state)
{
    const int32_t numbers[] = {3, 2};
    struct cc_binding shape = {.name = "s", .rank = 1, .dim = {2}, .data = numbers, .type = CC_INT32};
    struct base_error error = {{0}};
    struct cc_graph *graph = NULL;
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(2, 3));

    (void)state;
    onnxrig_input(&r, g, "s", ONNXRIG_INT64, ONNXRIG_DIMS(2));
    onnxrig_node(&r, g, "Reshape", "x s", "y");
    onnxrig_refused(
        &r,
        "Input `s` has element type INT64, expected FLOAT, FLOAT16, BFLOAT16 or DOUBLE: the engine computes in fp16, "
        "and other inputs can only be constants. Give it with --bind NAME=FILE.npy.");
    assert_int_equal(onnxrig_read(&r, &shape, 1, &graph, &error), 0);
    assert_int_equal(graph->inputs, 1);
    assert_int_equal(graph->value[graph->output[0]].dim[0], 3);
    cc_graph_destroy(graph);
    shape.type = CC_FP32;
    assert_true(onnxrig_read(&r, &shape, 1, &graph, &error) < 0);
    assert_string_equal(error.text, "Input `s` has element type INT64, and the constant given is fp32.");
    onnxrig_end(&r);
}

/* A list without elements: all axes are reduced. */
static void test_empty_binding(void **state)
{
    struct cc_binding axes = {.name = "axes", .rank = 1, .dim = {0}, .data = "", .type = CC_INT32};
    struct base_error error = {{0}};
    struct cc_graph *graph = NULL;
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(2, 3));

    (void)state;
    onnxrig_input(&r, g, "axes", ONNXRIG_INT64, ONNXRIG_DIMS(0));
    onnxrig_int(&r, onnxrig_node(&r, g, "ReduceSum", "x axes", "y"), "keepdims", 0);
    if (onnxrig_read(&r, &axes, 1, &graph, &error))
        fail_msg("%s", error.text);
    assert_int_equal(graph->value[graph->output[0]].rank, 0);
    cc_graph_destroy(graph);
    onnxrig_end(&r);
}

/* Every way to write 1, -2 and 3: raw bytes and typed fields. */
static void test_element_types(void **state)
{
    static const struct {
        int32_t type;
        const char *raw;
        size_t bytes;
    } rows[] = {
        {1, "\0\0\x80\x3f\0\0\0\xc0\0\0\x40\x40", 12},
        {3, "\x01\xfe\x03", 3},
        {5, "\1\0\xfe\xff\3\0", 6},
        {6, "\1\0\0\0\xfe\xff\xff\xff\3\0\0\0", 12},
        {7, "\1\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff\3\0\0\0\0\0\0\0", 24},
        {10, "\x00\x3c\x00\xc0\x00\x42", 6},
        {11, "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\x08\x40", 24},
        {16, "\x80\x3f\x00\xc0\x40\x40", 6},
        {22, "\xe1\x03", 2},
    };

    (void)state;
    for (unsigned form = 0; form < 2; form++)
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
            struct onnxrig r;
            CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(3));
            CcTensor *t = onnxrig_tensor(&r, "c", rows[i].type, ONNXRIG_DIMS(3), rows[i].raw, rows[i].bytes);

            if (form && rows[i].type != 22) {
                float floats[] = {1, -2, 3};
                double doubles[] = {1, -2, 3};
                int64_t longs[] = {1, -2, 3};
                int32_t words[] = {1, -2, 3};

                if (rows[i].type == 10)
                    memcpy(words, (const int32_t[]){0x3c00, 0xc000, 0x4200}, sizeof(words));
                if (rows[i].type == 16)
                    memcpy(words, (const int32_t[]){0x3f80, 0xc000, 0x4040}, sizeof(words));
                t->raw_data.len = 0;
                t->float_data = onnxrig_take(&r, sizeof(floats));
                t->double_data = onnxrig_take(&r, sizeof(doubles));
                t->int64_data = onnxrig_take(&r, sizeof(longs));
                t->int32_data = onnxrig_take(&r, sizeof(words));
                memcpy(t->float_data, floats, sizeof(floats));
                memcpy(t->double_data, doubles, sizeof(doubles));
                memcpy(t->int64_data, longs, sizeof(longs));
                memcpy(t->int32_data, words, sizeof(words));
                t->n_float_data = rows[i].type == 1 ? 3 : 0;
                t->n_double_data = rows[i].type == 11 ? 3 : 0;
                t->n_int64_data = rows[i].type == 7 ? 3 : 0;
                t->n_int32_data = t->n_float_data + t->n_double_data + t->n_int64_data ? 0 : 3;
            }
            onnxrig_initializer(&r, g, t);
            onnxrig_int(&r, onnxrig_node(&r, g, "Cast", "c", "f"), "to", 1);
            onnxrig_node(&r, g, "Add", "x f", "y");
            GIVES(&r, 0, 2, 0, 6);
            onnxrig_end(&r);
        }
}

/* INT64_MAX is the end of an axis, and shapes are computed. */
static void test_shape_arithmetic(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(2, 3, 2));

    (void)state;
    onnxrig_ints(&r, "one", ONNXRIG_DIMS(1), (const int64_t[]){1});
    onnxrig_ints(&r, "end", ONNXRIG_DIMS(1), (const int64_t[]){INT64_MAX});
    onnxrig_ints(&r, "none", ONNXRIG_DIMS(0), NULL);
    onnxrig_ints(&r, "rest", ONNXRIG_DIMS(1), (const int64_t[]){-1});
    onnxrig_node(&r, g, "Shape", "x", "s");
    onnxrig_node(&r, g, "Slice", "s one end", "tail");                                    /* [3, 2] */
    onnxrig_int(&r, onnxrig_node(&r, g, "ReduceProd", "tail", "product"), "keepdims", 1); /* [6] */
    onnxrig_node(&r, g, "Div", "product one", "six");
    onnxrig_int(&r, onnxrig_node(&r, g, "Concat", "rest none six", "shape"), "axis", 0);
    onnxrig_node(&r, g, "Reshape", "x shape", "flat");
    onnxrig_node(&r, g, "ReduceSum", "flat one", "y");
    GIVES(&r, 0, 21, 57);
    onnxrig_end(&r);
}

static void test_external(void **state)
{
    const float numbers[] = {5, 6, 7, 8};
    struct base_error error = {{0}};
    struct cc_graph *graph = NULL;
    Cc__OnnxEntry entry[3], *entries[3] = {&entry[0], &entry[1], &entry[2]};
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(2));
    CcTensor *t = onnxrig_tensor(&r, "c", ONNXRIG_FLOAT, ONNXRIG_DIMS(2), NULL, 0);
    static const struct {
        const char *location, *offset, *length, *words;
    } refused[] = {
        {"../data", "0", "8", "expected a path below the model's folder"},
        {"/etc/passwd", "0", "8", "expected a path below the model's folder"},
        {"sub/../../data", "0", "8", "expected a path below the model's folder"},
        {"", "0", "8", "names no file"},
        {"gone", "0", "8", "cannot be opened"},
        {"link", "0", "8", "links are not followed"},
        {"out/data", "0", "8", "links are not followed"},
        {"sub", "0", "8", "is not a regular file"},
        {"pipe", "0", "8", "is not a regular file"},
        {"sub/data", "12", "8", "which ends at 16"},
        {"sub/data", "18446744073709551615", "8", "which ends at 16"},
        {"sub/data", "-4", "8", "expected a whole number"},
        {"sub/data", "8", "12", "has 12 bytes, expected 8"},
    };

    (void)state;
    mkdir(folder_path("sub"), 0777);
    folder_write("sub/data", numbers, sizeof(numbers));
    assert_int_equal(symlink("sub/data", folder_path("link")), 0);
    assert_int_equal(symlink(folder_path("sub"), folder_path("out")), 0);
    assert_int_equal(mkfifo(folder_path("pipe"), 0600), 0);
    for (unsigned i = 0; i < 3; i++)
        cc__onnx_entry__init(&entry[i]);
    entry[0].key = (char *)(uintptr_t) "location";
    entry[1].key = (char *)(uintptr_t) "offset";
    entry[2].key = (char *)(uintptr_t) "length";
    t->data_location = 1;
    t->n_external_data = 3;
    t->external_data = entries;
    onnxrig_initializer(&r, g, t);
    onnxrig_node(&r, g, "Add", "x c", "y");
    for (size_t i = 0; i <= sizeof(refused) / sizeof(refused[0]); i++) {
        bool good = i == sizeof(refused) / sizeof(refused[0]);
        size_t size;
        uint8_t *bytes;

        entry[0].value = (char *)(uintptr_t)(good ? "sub/data" : refused[i].location);
        entry[1].value = (char *)(uintptr_t)(good ? "8" : refused[i].offset);
        entry[2].value = (char *)(uintptr_t)(good ? "8" : refused[i].length);
        bytes = onnxrig_pack(&r, &size);
        if (good) {
            assert_int_equal(cc_onnx_read(bytes, size, folder_name(), NULL, 0, &graph, &error), 0);
            cc_graph_destroy(graph);
        } else if (!cc_onnx_read(bytes, size, folder_name(), NULL, 0, &graph, &error) ||
                   !strstr(error.text, refused[i].words)) {
            fail_msg("%s at %s: \"%s\" does not have \"%s\"", refused[i].location, refused[i].offset,
                     error.text, refused[i].words);
        }
        free(bytes);
    }
    onnxrig_refused(&r, "the model was given without a folder");
    onnxrig_end(&r);
}

static void add_truth(struct onnxrig *r, const char *name, uint8_t value)
{
    onnxrig_initializer(r, r->model->graph, onnxrig_tensor(r, name, ONNXRIG_BOOL, ONNXRIG_SCALAR, &value, 1));
}

static void test_if(void **state)
{
    for (unsigned truth = 0; truth < 2; truth++) {
        struct onnxrig r;
        CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(2)), *then_graph = onnxrig_graph(&r),
                *else_graph = onnxrig_graph(&r);
        CcNode *node = onnxrig_node(&r, g, "If", "c", "y");

        add_truth(&r, "c", (uint8_t)truth);
        onnxrig_floats(&r, "outer", ONNXRIG_DIMS(1), (const float[]){10});
        onnxrig_node(&r, then_graph, "Add", "x outer", "t");
        onnxrig_output(&r, then_graph, "t", ONNXRIG_FLOAT);
        onnxrig_node(&r, else_graph, "Sub", "x outer", "e");
        onnxrig_output(&r, else_graph, "e", ONNXRIG_FLOAT);
        onnxrig_attribute(&r, node, "then_branch", 5)->g = then_graph;
        onnxrig_attribute(&r, node, "else_branch", 5)->g = else_graph;
        if (truth)
            GIVES(&r, 0, 11, 12);
        else
            GIVES(&r, 0, -9, -8);
        onnxrig_end(&r);
    }
    (void)state;
}

static void test_if_at_run_time(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(1)), *branch = onnxrig_graph(&r);
    CcNode *node;

    (void)state;
    onnxrig_floats(&r, "zero", ONNXRIG_DIMS(1), (const float[]){0});
    onnxrig_node(&r, g, "Greater", "x zero", "c");
    node = onnxrig_node(&r, g, "If", "c", "y");
    onnxrig_node(&r, branch, "Relu", "x", "t");
    onnxrig_output(&r, branch, "t", ONNXRIG_FLOAT);
    onnxrig_attribute(&r, node, "then_branch", 5)->g = branch;
    onnxrig_attribute(&r, node, "else_branch", 5)->g = branch;
    onnxrig_refused(&r, "If `y`: its condition depends on data at run time: the engine has no branches.");
    onnxrig_end(&r);
}

/* sum = sum * w + x, w a tensor of the body; what each round has is collected. */
static CcNode *loop_model(struct onnxrig *r, int64_t rounds, bool collected)
{
    CcGraph *g = begin(r, 13, ONNXRIG_DIMS(2)), *body = onnxrig_graph(r);
    CcNode *node = onnxrig_node(r, g, "Loop", "n c x", collected ? "last y" : "y");

    onnxrig_ints(r, "n", ONNXRIG_SCALAR, &rounds);
    add_truth(r, "c", 1);
    onnxrig_input(r, body, "i", ONNXRIG_INT64, ONNXRIG_SCALAR);
    onnxrig_input(r, body, "go", ONNXRIG_BOOL, ONNXRIG_SCALAR);
    onnxrig_input(r, body, "sum", ONNXRIG_FLOAT, ONNXRIG_DIMS(2));
    onnxrig_initializer(
        r, body, onnxrig_tensor(r, "w", ONNXRIG_FLOAT, ONNXRIG_DIMS(1), (const float[]){2}, sizeof(float)));
    onnxrig_node(r, body, "Mul", "sum w", "double");
    onnxrig_node(r, body, "Add", "double x", "next");
    onnxrig_int(r, onnxrig_node(r, body, "Cast", "i", "round"), "to", 1);
    onnxrig_node(r, body, "Add", "next round", "seen");
    onnxrig_node(r, body, "Identity", "go", "more");
    onnxrig_output(r, body, "more", ONNXRIG_BOOL);
    onnxrig_output(r, body, "next", ONNXRIG_FLOAT);
    onnxrig_output(r, body, "seen", ONNXRIG_FLOAT);
    onnxrig_attribute(r, node, "body", 5)->g = body;
    return node;
}

static void test_loop(void **state)
{
    struct onnxrig r;

    (void)state;
    loop_model(&r, 3, true);
    GIVES(&r, 0, 3, 6, 8, 15, 17, 32);
    onnxrig_end(&r);
    loop_model(&r, 2, false);
    GIVES(&r, 0, 7, 14);
    onnxrig_end(&r);
    loop_model(&r, 0, false);
    GIVES(&r, 0, 1, 2);
    onnxrig_end(&r);
    loop_model(&r, 5000, false);
    onnxrig_refused(&r,
                    "Loop `y`: it becomes more than 4096 nodes: a loop is unrolled, and that is the limit.");
    onnxrig_end(&r);
}

/* A function with an attribute of its caller. */
static void test_function(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, 15, ONNXRIG_DIMS(2));
    CcFunction f, *functions[] = {&f};
    CcNode *call = onnxrig_node(&r, g, "Twice", "x", "y"), *inner;
    char *in[] = {(char *)(uintptr_t) "a"}, *out[] = {(char *)(uintptr_t) "b"};
    CcGraph *nodes = onnxrig_graph(&r);

    (void)state;
    call->domain = (char *)(uintptr_t) "own";
    onnxrig_float(&r, call, "slope", 0.5f);
    cc__onnx_function__init(&f);
    f.name = (char *)(uintptr_t) "Twice";
    f.domain = (char *)(uintptr_t) "own";
    f.n_input = f.n_output = 1;
    f.input = in;
    f.output = out;
    onnxrig_node(&r, nodes, "Neg", "a", "n");
    inner = onnxrig_node(&r, nodes, "LeakyRelu", "n", "b");
    onnxrig_attribute(&r, inner, "alpha", 1)->ref_attr_name = (char *)(uintptr_t) "slope";
    f.n_node = nodes->n_node;
    f.node = nodes->node;
    r.model->n_functions = 1;
    r.model->functions = functions;
    GIVES(&r, 1e-7, -0.5, -1);
    /* a function that calls itself */
    inner->op_type = (char *)(uintptr_t) "Twice";
    inner->domain = (char *)(uintptr_t) "own";
    onnxrig_refused(&r, "deep in each other");
    onnxrig_end(&r);
}

/* Quantised and dequantised: a clip to the range of the type. */
static void test_quantised(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(1, 4));

    (void)state;
    onnxrig_floats(&r, "s", ONNXRIG_SCALAR, (const float[]){0.5f});
    onnxrig_initializer(&r, g, onnxrig_tensor(&r, "z", ONNXRIG_INT8, ONNXRIG_SCALAR, "\x7a", 1)); /* 122 */
    onnxrig_node(&r, g, "QuantizeLinear", "x s z", "q");
    onnxrig_node(&r, g, "DequantizeLinear", "q s z", "a");
    onnxrig_initializer(&r, g,
                        onnxrig_tensor(&r, "w8", ONNXRIG_INT8, ONNXRIG_DIMS(4, 2), "\1\2\1\2\1\2\1\2", 8));
    onnxrig_floats(&r, "ws", ONNXRIG_DIMS(2), (const float[]){1, 0.25f});
    onnxrig_initializer(&r, g, onnxrig_tensor(&r, "wz", ONNXRIG_INT8, ONNXRIG_DIMS(2), "\0\1", 2));
    onnxrig_int(&r, onnxrig_node(&r, g, "DequantizeLinear", "w8 ws wz", "w"), "axis", 1);
    onnxrig_node(&r, g, "MatMul", "a w", "y");
    /* x is 1, 2, 3, 4 and the largest value is (127 - 122) / 2 */
    GIVES(&r, 1e-6, 1 + 2 + 2.5 + 2.5, 0.25 * (1 + 2 + 2.5 + 2.5));
    onnxrig_node(&r, g, "Relu", "q", "other");
    onnxrig_refused(
        &r, "Relu `other`: operand `q` is a result of QuantizeLinear; integers at run time are taken only "
            "by DequantizeLinear, QLinearConv and QLinearMatMul.");
    onnxrig_end(&r);
}

static void test_qlinear_conv(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(1, 1, 2, 2));

    (void)state;
    onnxrig_floats(&r, "s", ONNXRIG_SCALAR, (const float[]){0.5f});
    onnxrig_initializer(&r, g, onnxrig_tensor(&r, "z", ONNXRIG_UINT8, ONNXRIG_SCALAR, "\0", 1));
    onnxrig_initializer(&r, g, onnxrig_tensor(&r, "w", ONNXRIG_INT8, ONNXRIG_DIMS(1, 1, 1, 1), "\3", 1));
    onnxrig_floats(&r, "ws", ONNXRIG_SCALAR, (const float[]){2});
    onnxrig_initializer(&r, g, onnxrig_tensor(&r, "wz", ONNXRIG_INT8, ONNXRIG_SCALAR, "\1", 1));
    onnxrig_initializer(&r, g, onnxrig_tensor(&r, "b", ONNXRIG_INT32, ONNXRIG_DIMS(1), "\5\0\0\0", 4));
    onnxrig_node(&r, g, "QuantizeLinear", "x s z", "q");
    onnxrig_node(&r, g, "QLinearConv", "q s z w ws wz s z b", "c");
    onnxrig_node(&r, g, "DequantizeLinear", "c s z", "y");
    /* (3 - 1) * 2 x + 5 * 0.5 * 2 */
    GIVES(&r, 1e-6, 9, 13, 17, 21);
    onnxrig_end(&r);
}

/* Operators that the backend tests of the installed release lack. */
static void test_other_operators(void **state)
{
    static const struct {
        const char *kind;
        int64_t opset;
        double wanted[4]; /* of 1, 2, 3, 4 as [1, 2, 2] */
    } rows[] = {
        {"Mish", 18, {0.865098388, 1.943958960, 2.986535, 3.997412825}},
        {"Swish", 24, {0.731058579, 1.761594156, 2.857722380, 3.928055160}},
        {"Gelu", 20, {0.841344746, 1.954499736, 2.995950306, 3.999873315}},
        {"LpNormalization", 13, {0.447213595, 0.894427191, 0.6, 0.8}},
        {"GlobalLpPool", 13, {2.236067977, 5, 0, 0}},
        {"Trilu", 14, {1, 2, 0, 4}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct onnxrig r;
        CcGraph *g = begin(&r, rows[i].opset, ONNXRIG_DIMS(1, 2, 2));

        onnxrig_node(&r, g, rows[i].kind, "x", "y");
        onnxrig_gives(&r, rows[i].wanted, strcmp(rows[i].kind, "GlobalLpPool") ? 4 : 2, 1e-6);
        onnxrig_end(&r);
    }
}

/* Groups of two channels; from version 21 on scale and bias are per channel, before per group. */
static void test_group_norm(void **state)
{
    for (unsigned newer = 0; newer < 2; newer++) {
        struct onnxrig r;
        CcGraph *g = begin(&r, newer ? 21 : 18, ONNXRIG_DIMS(1, 4, 1));
        CcNode *node;

        onnxrig_floats(&r, "s", newer ? ONNXRIG_DIMS(4) : ONNXRIG_DIMS(2),
                       newer ? (const float[]){1, 1, 2, 3} : (const float[]){1, 2});
        onnxrig_floats(&r, "b", newer ? ONNXRIG_DIMS(4) : ONNXRIG_DIMS(2), (const float[]){0, 0, 0, 0});
        node = onnxrig_node(&r, g, "GroupNormalization", "x s b", "y");
        onnxrig_int(&r, node, "num_groups", 2);
        onnxrig_float(&r, node, "epsilon", 0);
        GIVES(&r, 1e-6, -1, 1, -2, newer ? 3 : 2);
        onnxrig_end(&r);
    }
    (void)state;
}

/* Pixel shuffle as rank 6: only the graph's own ranks are limited. */
static void test_wide(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(1, 4, 1, 2));

    (void)state;
    onnxrig_ints(&r, "six", ONNXRIG_DIMS(6), (const int64_t[]){1, 1, 2, 2, 1, 2});
    onnxrig_ints(&r, "four", ONNXRIG_DIMS(4), (const int64_t[]){1, 1, 2, 4});
    onnxrig_node(&r, g, "Reshape", "x six", "a");
    onnxrig_list(&r, onnxrig_node(&r, g, "Transpose", "a", "b"), "perm", ONNXRIG_DIMS(0, 1, 4, 2, 5, 3));
    onnxrig_node(&r, g, "Reshape", "b four", "y");
    GIVES(&r, 0, 1, 3, 2, 4, 5, 7, 6, 8);
    onnxrig_node(&r, g, "Relu", "a", "other");
    onnxrig_refused(&r,
                    "Relu `other`: operand `a` has rank 6, more than 5; only Reshape, Squeeze, Unsqueeze and "
                    "Transpose take it.");
    onnxrig_end(&r);
}

static void test_rms_norm(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, 23, ONNXRIG_DIMS(1, 2));

    (void)state;
    onnxrig_floats(&r, "s", ONNXRIG_DIMS(2), (const float[]){1, 2});
    onnxrig_float(&r, onnxrig_node(&r, g, "RMSNormalization", "x s", "y"), "epsilon", 0);
    GIVES(&r, 1e-6, 1 / sqrt(2.5), 4 / sqrt(2.5));
    onnxrig_end(&r);
}

static void test_lp_pool(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, 13, ONNXRIG_DIMS(1, 1, 4));

    (void)state;
    onnxrig_list(&r, onnxrig_node(&r, g, "LpPool", "x", "y"), "kernel_shape", ONNXRIG_DIMS(2));
    GIVES(&r, 1e-6, sqrt(5), sqrt(13), 5);
    onnxrig_end(&r);
}

/* A weight that two nodes name stays for the second; one that is named once goes with its node. */
static void test_weights_named_twice(void **state)
{
    struct onnxrig r;
    CcGraph *g;

    (void)state;
    onnxrig_begin(&r, 13);
    g = r.model->graph;
    onnxrig_input(&r, g, "x", ONNXRIG_FLOAT, ONNXRIG_DIMS(1, 2));
    onnxrig_floats(&r, "twice", ONNXRIG_DIMS(2, 2), (const float[]){1, 2, 3, 4});
    onnxrig_floats(&r, "once", ONNXRIG_DIMS(2, 2), (const float[]){1, 0, 0, 2});
    onnxrig_node(&r, g, "Gemm", "x twice", "a");
    onnxrig_node(&r, g, "Gemm", "a twice", "b");
    onnxrig_node(&r, g, "Gemm", "b once", "y");
    onnxrig_output(&r, g, "y", ONNXRIG_FLOAT);
    onnxrig_gives(&r, (const double[]){37, 108}, 2, 0);
    onnxrig_end(&r);
}

/* The bytes of the file belong to the model: whole pages of a tensor go when the graph has it. */
static void test_bytes_given(void **state)
{
    enum { ROWS = 2, COLUMNS = 8192, BYTES = ROWS * COLUMNS * sizeof(float) };
    struct base_error error = {{0}};
    struct cc_onnx_model *model;
    struct cc_graph *graph;
    struct onnxrig r;
    float *weights;
    uint8_t *packed, *bytes, *found;
    size_t size, kept = 0;
    uint32_t constants = 0;

    (void)state;
    onnxrig_begin(&r, 13);
    weights = onnxrig_take(&r, BYTES);
    for (unsigned i = 0; i < ROWS * COLUMNS; i++)
        weights[i] = (float)(1 + i % 1000);
    onnxrig_input(&r, r.model->graph, "x", ONNXRIG_FLOAT, ONNXRIG_DIMS(1, ROWS));
    onnxrig_floats(&r, "w", ONNXRIG_DIMS(ROWS, COLUMNS), weights);
    onnxrig_node(&r, r.model->graph, "Gemm", "x w", "y");
    onnxrig_output(&r, r.model->graph, "y", ONNXRIG_FLOAT);
    packed = onnxrig_pack(&r, &size);
    bytes = base_alloc(size);
    memcpy(bytes, packed, size);
    assert_int_equal(cc_onnx_open(bytes, size, &model, &error), 0);
    cc_onnx_give(model, bytes);
    found = model->file->graph->initializer[0]->raw_data.data;
    assert_true(found > bytes && found + BYTES <= bytes + size); /* not a copy */
    assert_int_equal(cc_onnx_import(model, NULL, NULL, 0, &graph, &error), 0);
    for (size_t i = 0; i < BYTES; i += sizeof(float))
        kept += memcmp(found + i, "\0\0\0", sizeof(float)) != 0;
    assert_true(kept * sizeof(float) < BYTES / 4); /* of the pages at both ends */
    cc_onnx_close(model);
    for (uint32_t v = 0; v < graph->values; v++) {
        const struct cc_value *value = &graph->value[v];

        if (!value->data || cc_value_elements(value) != (uint64_t)ROWS * COLUMNS)
            continue;
        constants++;
        for (unsigned i = 0; i < ROWS * COLUMNS; i++) /* its axes are exchanged */
            assert_true(cc_value_number(value, i) == (double)weights[i % ROWS * COLUMNS + i / ROWS]);
    }
    assert_int_equal(constants, 1);
    cc_graph_destroy(graph);
    free(packed);
    onnxrig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order),      cmocka_unit_test(test_names),
        cmocka_unit_test(test_outputs),        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_bindings),       cmocka_unit_test(test_empty_binding),
        cmocka_unit_test(test_element_types),  cmocka_unit_test(test_shape_arithmetic),
        cmocka_unit_test(test_external),       cmocka_unit_test(test_if),
        cmocka_unit_test(test_if_at_run_time), cmocka_unit_test(test_loop),
        cmocka_unit_test(test_function),       cmocka_unit_test(test_quantised),
        cmocka_unit_test(test_qlinear_conv),   cmocka_unit_test(test_other_operators),
        cmocka_unit_test(test_group_norm),     cmocka_unit_test(test_wide),
        cmocka_unit_test(test_rms_norm),       cmocka_unit_test(test_weights_named_twice),
        cmocka_unit_test(test_bytes_given),    cmocka_unit_test(test_lp_pool),
    };

    return cmocka_run_group_tests_name("onnx", tests, NULL, NULL);
}
