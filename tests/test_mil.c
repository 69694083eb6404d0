/* SPDX-License-Identifier: Apache-2.0 */
/* MIL text that is understood: every operation, its rules, every form of constant and name. */
#include "mil_text.h"

#include <locale.h>

/* The operation that makes y. */
static const struct cc_op *last(const struct cc_graph *graph)
{
    return &graph->op[graph->ops - 1];
}

static void assert_shape(const struct cc_graph *graph, uint32_t value, const char *text)
{
    const struct cc_value *v = &graph->value[value];

    assert_string_equal(cc_shape_text(v->type, v->rank, v->dim).text, text);
}

static void whole_example(void **state)
{
    struct cc_graph *graph = parse(example);
    static const enum cc_op_kind kinds[] = {CC_OP_INPUT, CC_OP_CAST, CC_OP_CONST,
                                            CC_OP_CONV,  CC_OP_RELU, CC_OP_REDUCE_MEAN};
    const struct cc_op *conv;
    const struct cc_value *weight;

    (void)state;
    assert_string_equal(graph->function, "main");
    assert_int_equal(graph->ops, 6);
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(graph->op[i].kind, kinds[i]);
    assert_int_equal(graph->inputs, 1);
    assert_string_equal(graph->value[graph->input[0]].name, "x");
    assert_shape(graph, graph->input[0], "tensor<fp32, [1, 8, 16, 16]>");
    assert_int_equal(graph->outputs, 1);
    assert_string_equal(graph->value[graph->output[0]].name, "y");
    assert_shape(graph, graph->output[0], "tensor<fp16, [1, 8, 1, 1]>");
    assert_int_equal(graph->op[1].a.to, CC_FP16);
    assert_string_equal(graph->op[1].name, "cast_in");

    conv = &graph->op[3];
    assert_string_equal(conv->name, "conv");
    assert_int_equal(conv->line, 12);
    assert_int_equal(conv->column, 42);
    assert_int_equal(conv->inputs, 1);
    assert_int_equal(conv->a.groups, 1);
    assert_int_equal(conv->a.bias, 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(conv->a.pad[i], 1);
    weight = &graph->value[conv->a.weight - 1];
    assert_string_equal(weight->name, "W");
    assert_int_equal(weight->bytes, WEIGHT_BYTES);
    for (unsigned i = 0; i < WEIGHT_BYTES / 2; i++)
        assert_int_equal(((const uint16_t *)weight->data)[i], i);
    assert_int_equal(last(graph)->a.axes, 0xc);
    assert_true(last(graph)->a.keep_dims);
    cc_graph_destroy(graph);
}

static void older_forms(void **state)
{
    struct cc_graph *graph = parse(
        "// by another writer\n"
        "program(1.0)[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{\"a,b]\", \"\"}}), other = int32(1)]\n"
        "[more = tuple<int32, dict<string, tensor<int32, [?]>>>((1, {{\"x\", [1, 2]}}))]\r\n"
        "{ /* one\n function */\tfunc predict(tensor<fp16,[1,2]>x)[Shapes=dict<string,int32>({})]{\n"
        "tensor<string, []> name = const()[val = tensor<string, []>(\"fp32\"), name = tensor<string, []>(\"n\\\"\\\\\")];"
        "tensor<fp32,[1,2]> wide=cast(x=x,dtype=name)[source=tuple<int32,int32>((1,2)),name=string(\"w\")][x=y];"
        "tensor<fp32,[1,2]> s=add(x=wide,y=fp32(-0x1.8p+1));}->(s)}");

    (void)state;
    assert_string_equal(graph->function, "predict");
    assert_int_equal(graph->ops, 4);
    assert_string_equal(graph->op[1].name, "w");
    assert_string_equal(graph->op[3].name, "s");
    assert_int_equal(graph->value[graph->op[3].input[1]].rank, 0);
    assert_string_equal(graph->value[graph->op[3].input[1]].name, "s.y");
    assert_true(*(const float *)graph->value[graph->op[3].input[1]].data == -3.0f);
    cc_graph_destroy(graph);
}

static void binary(void **state)
{
    static const struct {
        const char *name;
        enum cc_op_kind kind;
    } ops[] = {{"add", CC_OP_ADD},
               {"sub", CC_OP_SUB},
               {"mul", CC_OP_MUL},
               {"maximum", CC_OP_MAXIMUM},
               {"minimum", CC_OP_MINIMUM}};
    char body[256];

    (void)state;
    for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        struct cc_graph *graph;

        snprintf(body, sizeof(body),
                 "tensor<fp16, [1, 4, 6, 8]> y = %s(y = a, x = b)[name = string(\"op\")];", ops[i].name);
        graph = parse(around(body));
        assert_int_equal(last(graph)->kind, ops[i].kind);
        assert_int_equal(last(graph)->input[0], graph->input[1]);
        assert_int_equal(last(graph)->input[1], graph->input[0]);
        cc_graph_destroy(graph);
    }
    refused(around("tensor<fp16, [1, 4, 6, 8]> y = add(x = a, y = tensor<fp16, [3]>([1, 2, 3]));"), EINVAL,
            "do not broadcast: lengths 8 and 3, expected equal or 1");
    /* A constant of another float type is rounded; a value that is computed is not. */
    cc_graph_destroy(parse(around("tensor<fp16, [1, 4, 6, 8]> y = add(x = a, y = fp32(1));")));
    refused(around("tensor<fp32, [4, 1, 8]> c = cast(x = b, dtype = string(\"fp32\"));"
                   "tensor<fp16, [1, 4, 6, 8]> y = add(x = a, y = c);"),
            EINVAL, "expected one type");
    refused(around("tensor<fp16, [1, 4, 6, 8]> y = add(x = a, y = int32(1));"), EINVAL,
            "Line 3, column 32: add `y`: `a` is fp16 and `y.y` is int32, expected one type");
    refused(around("tensor<fp16, [1, 4, 6, 8]> y = add(x = a, y = string(\"1\"));"), EINVAL,
            "Line 3, column 47: found string as an operand, expected a tensor of numbers");
    refused(around("tensor<fp16, [1, 4, 6, 8]> y = add(x = a);"), EINVAL,
            "add has no argument `y`, which it needs");
    refused(around("tensor<fp16, [1, 4, 6, 8]> y = add(x = a, z = b);"), EINVAL,
            "add has no argument `z`, expected one of x, y");
    refused(around("tensor<fp16, [1, 4, 6, 8]> y = add(x = a, x = b);"), EINVAL,
            "argument `x` is given twice");
}

static void literals(void **state)
{
    static const struct {
        const char *text;
        uint16_t bits;
    } halfs[] = {
        {"0", 0},
        {"-0.0", 0x8000},
        {"1", 0x3c00},
        {"1.5", 0x3e00},
        {"0x1.8p+1", 0x4200},
        {"0X.8P0", 0x3800},
        {"65504", 0x7bff},
        {"65519.9", 0x7bff},
        {"1e-7", 0x0002},
        {"5.9604644775390625e-8", 1},
        {"2.9e-8", 0},
        {"6.097555e-5", 0x03ff},
        {"0x1f", 0x4fc0},
        {"inf", 0x7c00},
        {"-inf", 0xfc00},
        {"nan", 0x7e00},
        {"2049", 0x6800},
        {"2051", 0x6802},
        {"+.5e1", 0x4500},
        {"1e-99999999999", 0},
        {"fp16(2)", 0x4000},
    };
    char body[256];
    struct cc_graph *graph;

    (void)state;
    for (unsigned i = 0; i < sizeof(halfs) / sizeof(halfs[0]); i++) {
        snprintf(body, sizeof(body),
                 "tensor<fp16, [1, 4, 6, 8]> y = add(x = a, y = tensor<fp16, [1]>([%s]));", halfs[i].text);
        graph = parse(around(body));
        if (*(const uint16_t *)graph->value[last(graph)->input[1]].data != halfs[i].bits)
            fail_msg("%s became 0x%04x", halfs[i].text,
                     *(const uint16_t *)graph->value[last(graph)->input[1]].data);
        cc_graph_destroy(graph);
    }
    for (int nested = 0; nested < 2; nested++) {
        snprintf(body, sizeof(body),
                 "tensor<fp16, [2, 1, 8]> k = const()[val = tensor<fp16, [2, 1, 8]>(%s)];"
                 "tensor<fp16, [1, 4, 6, 8]> y = mul(x = a, y = b);",
                 nested ? "[[[1,2,3,4,5,6,7,8]],[[1,2,3,4,5,6,7,8]]]" : "[1,2,3,4,5,6,7,8,1,2,3,4,5,6,7,8]");
        cc_graph_destroy(parse(around(body)));
    }
    refused(around("fp16 k = const()[val = fp16(65520)];"), ERANGE, "`65520`, which is more than fp16 holds");
    refused(around("fp32 k = const()[val = fp32(1e39)];"), ERANGE, "more than fp32 holds");
    refused(around("fp32 k = const()[val = fp32(1.2.3)];"), EINVAL, "`1.2`, which is not a number");
    refused(around("fp32 k = const()[val = fp32(0x)];"), EINVAL, "which is not a number");
    refused(around("fp32 k = const()[val = fp32(1e)];"), EINVAL, "which is not a number");
    refused(around("fp32 k = const()[val = fp32(\"1\")];"), EINVAL,
            "found string \"1\", expected a number of type fp32");
    refused(around("int32 k = const()[val = int32(2147483648)];"), ERANGE, "expected at most 2147483647");
    refused(around("int32 k = const()[val = int32(-2147483649)];"), ERANGE, "expected at most 2147483648");
    refused(around("int32 k = const()[val = int32(1.5)];"), EINVAL, "expected a whole number");
    refused(around("uint64 k = const()[val = uint64(18446744073709551616)];"), ERANGE,
            "expected at most 18446744073709551615");
    refused(around("uint64 k = const()[val = uint64(-1)];"), EINVAL, "expected a whole number");
    refused(around("bool k = const()[val = bool(1)];"), EINVAL, "expected `true` or `false`");
    refused(around("tensor<int32, [2]> k = const()[val = tensor<int32, [2]>([1])];"), EINVAL,
            "found 1 elements, expected the 2 of");
    refused(around("tensor<int32, [2]> k = const()[val = tensor<int32, [2]>([1, 2, 3])];"), EINVAL,
            "found more elements than the 2");
    refused(around("tensor<int32, [2, 2]> k = const()[val = tensor<int32, [2, 2]>([[1], [2, 3, 4]])];"),
            EINVAL, "found a list of 1, expected 2 on axis 1");
    refused(around("tensor<int32, [2]> k = const()[val = tensor<int32, [2]>([[1, 2]])];"), EINVAL,
            "found `[`");
    refused(around("tensor<fp16, [32768, 32768]> k = const()[val = tensor<fp16, [32768, 32768]>([1])];"),
            EINVAL, "found 1 elements");
    refused(around("tensor<fp16, [65536, 32768]> k = const()[val = tensor<fp16, [65536, 32768]>([1])];"),
            EINVAL, "larger than the limit of 2147483648 bytes");
}

/* What a host program set for its own numbers changes nothing. */
static void other_locale(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "C"};
    struct cc_graph *graph;
    unsigned i = 0;

    (void)state;
    while (!setlocale(LC_NUMERIC, names[i]))
        i++;
    graph = parse(around("tensor<fp16, [1, 4, 6, 8]> y = add(x = a, y = fp16(1.5));"));
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(*(const uint16_t *)graph->value[last(graph)->input[1]].data, 0x3e00);
    cc_graph_destroy(graph);
}

/* conv of a 1x4x6x8 input; `kernel` is "out, in, h, w" */
static const char *conv(const char *shape, const char *kernel, const char *rest)
{
    static char body[0x1000];
    char zeros[0x800] = "0";
    unsigned long count = 1;
    const char *at = kernel;

    for (unsigned i = 0; i < 4; i++) {
        char *end;

        count *= strtoul(at, &end, 10);
        at = end + 1;
    }
    assert_true(2 * count < sizeof(zeros));
    while (--count)
        strcat(zeros, ",0");
    snprintf(body, sizeof(body),
             "tensor<fp16, [%s]> w = const()[val = tensor<fp16, [%s]>([%s])];\n"
             "tensor<fp16, [%s]> y = conv(x = a, weight = w%s)[name = string(\"c\")];",
             kernel, kernel, zeros, shape, rest);
    return around(body);
}

static void convolution(void **state)
{
    static const struct {
        const char *shape, *kernel, *rest;
        uint32_t pad[4];
    } good[] = {
        {"1, 2, 4, 6", "2, 4, 3, 3", "", {0, 0, 0, 0}},
        {"1, 2, 4, 6",
         "2, 4, 3, 3",
         ", pad_type = string(\"valid\"), pad = tensor<int32, [2]>([7, 7])",
         {0, 0, 0, 0}},
        {"1, 2, 6, 8", "2, 4, 3, 3", ", pad_type = string(\"same\")", {1, 1, 1, 1}},
        {"1, 2, 3, 4",
         "2, 4, 3, 3",
         ", pad_type = string(\"same\"), strides = tensor<int32, [2]>([2, 2])",
         {0, 1, 0, 1}},
        {"1, 2, 3, 4",
         "2, 4, 3, 3",
         ", pad_type = string(\"same_lower\"), strides = tensor<int32, [2]>([2, 2])",
         {1, 0, 1, 0}},
        {"1, 2, 6, 8", "2, 4, 2, 4", ", pad_type = string(\"same\")", {0, 1, 1, 2}},
        {"1, 2, 2, 3",
         "2, 4, 1, 1",
         ", pad_type = string(\"same\"), strides = tensor<int32, [2]>([3, 3])",
         {0, 0, 0, 0}},
        {"1, 2, 9, 5",
         "2, 4, 2, 4",
         ", pad_type = string(\"custom\"), pad = tensor<int32, [4]>([1, 3, 0, 3]), dilations = tensor<int32, [2]>([1, 2])",
         {1, 3, 0, 3}},
        {"1, 6, 6, 8",
         "6, 2, 1, 1",
         ", groups = int32(2), bias = tensor<fp16, [6]>([1, 2, 3, 4, 5, 6])",
         {0, 0, 0, 0}},
    };
    struct cc_graph *computed;

    (void)state;
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct cc_graph *graph = parse(conv(good[i].shape, good[i].kernel, good[i].rest));

        assert_int_equal(last(graph)->kind, CC_OP_CONV);
        assert_memory_equal(last(graph)->a.pad, good[i].pad, sizeof(good[i].pad));
        assert_int_equal(last(graph)->a.bias != 0, i == 8);
        cc_graph_destroy(graph);
    }
    refused(
        conv("1, 2, 6, 8", "2, 4, 3, 3", ""), EINVAL,
        "Line 4, column 32: conv `c`: it gives tensor<fp16, [1, 2, 4, 6]>, but tensor<fp16, [1, 2, 6, 8]> is declared");
    refused(conv("1, 2, 4, 6", "2, 3, 3, 3", ""), EINVAL, "expected 4 channels on axis 1");
    refused(conv("1, 3, 6, 8", "3, 2, 1, 1", ", groups = int32(2)"), EINVAL,
            "groups = 2 does not divide 4 input and 3 output channels");
    refused(conv("1, 2, 1, 1", "2, 4, 7, 1", ""), EINVAL,
            "the kernel spans 7 and axis 2 has 6 with its padding");
    refused(conv("1, 2, 4, 6", "2, 4, 3, 3", ", pad_type = string(\"full\")"), EINVAL,
            "pad_type is \"full\", expected valid, same");
    refused(conv("1, 2, 4, 6", "2, 4, 3, 3", ", pad_type = string(\"custom\")"), EINVAL,
            "no argument `pad`, which it needs");
    refused(conv("1, 2, 4, 6", "2, 4, 3, 3", ", strides = tensor<int32, [2]>([0, 1])"), ERANGE,
            "strides has 0, expected 1 to 16384");
    refused(conv("1, 2, 4, 6", "2, 4, 3, 3", ", strides = tensor<int32, [3]>([1, 1, 1])"), EINVAL,
            "expected 2 numbers of int32");
    refused(conv("1, 2, 4, 6", "2, 4, 3, 3", ", strides = fp16(1)"), EINVAL,
            "strides is fp16, expected a constant of int32");
    refused(conv("1, 2, 4, 6", "2, 4, 3, 3", ", groups = a"), EINVAL,
            "groups is a tensor computed at run time, expected a constant");
    refused(conv("1, 2, 4, 6", "2, 4, 3, 3", ", bias = tensor<fp16, [1]>([1])"), EINVAL,
            "bias is tensor<fp16, [1]>, expected one axis of length 2");
    computed = parse(around("tensor<fp16, [1, 1, 1, 1]> y = conv(x = a, weight = a);"));
    assert_int_equal(computed->op[computed->ops - 1].inputs, 2);
    cc_graph_destroy(computed);
    refused(around("tensor<fp16, [1, 4, 6, 8]> y = conv(x = a);"), EINVAL, "conv has no argument `weight`");
    refused(around("tensor<fp16, [4, 1, 8]> y = conv(x = b, weight = tensor<fp16, [1, 1, 1, 1]>([1]));"),
            EINVAL, "expected rank 4");
}

static void products(void **state)
{
    struct cc_graph *graph;

    (void)state;
    graph = parse(around(
        "tensor<fp16, [4, 1, 2]> y = linear(x = b, weight = tensor<fp16, [2, 8]>([1,1,1,1,1,1,1,1,2,2,2,2,2,2,2,2]), "
        "bias = tensor<fp16, [2]>([1, 2]));"));
    assert_int_equal(last(graph)->kind, CC_OP_LINEAR);
    assert_string_equal(graph->value[last(graph)->a.weight - 1].name, "y.weight");
    assert_string_equal(graph->value[last(graph)->a.bias - 1].name, "y.bias");
    cc_graph_destroy(graph);
    refused(
        around("tensor<fp16, [4, 1, 2]> y = linear(x = b, weight = tensor<fp16, [8]>([1,1,1,1,1,1,1,1]));"),
        EINVAL, "expected [out, 8]");

    graph = parse(around("tensor<fp16, [1, 4, 6, 1]> y = matmul(x = a, y = b, transpose_y = bool(true));"));
    assert_int_equal(last(graph)->kind, CC_OP_MATMUL);
    assert_true(last(graph)->a.transpose_y && !last(graph)->a.transpose_x);
    cc_graph_destroy(graph);
    graph = parse(
        around("bool t = const()[val = bool(true)]; bool f = const()[val = bool(false)];"
               "tensor<fp16, [1, 4, 8, 8]> y = matmul(x = a, y = a, transpose_x = t, transpose_y = f);"));
    assert_true(last(graph)->a.transpose_x && !last(graph)->a.transpose_y);
    cc_graph_destroy(graph);
    refused(around("tensor<fp16, [1, 4, 6, 8]> y = matmul(x = a, y = b);"), EINVAL,
            "inner lengths 8 and 1, expected equal");
    refused(around("tensor<fp16, [1, 4, 6, 8]> y = matmul(x = a, y = fp16(1));"), EINVAL,
            "expected operands of at least rank 2");
    refused(around("tensor<fp16, [1, 4, 6, 8]> y = matmul(x = a, y = a, transpose_y = int32(1));"), EINVAL,
            "transpose_y is int32, expected a constant of bool");
}

static void means(void **state)
{
    static const struct {
        const char *type, *rest;
        uint32_t axes;
        bool keep;
    } good[] = {
        {"tensor<fp16, [1, 4, 1, 8]>", ", axes = tensor<int32, [1]>([-2]), keep_dims = bool(true)", 4, true},
        {"tensor<fp16, [1, 4]>", ", axes = tensor<int32, [2]>([3, -2])", 0xc, false},
        {"tensor<fp16, [1, 4, 6]>", ", axes = int32(-1), keep_dims = bool(false)", 8, false},
        {"fp16", "", 0xf, false},
        {"tensor<fp16, [1, 1, 1, 1]>", ", keep_dims = bool(true)", 0xf, true},
    };
    char body[256];

    (void)state;
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct cc_graph *graph;

        snprintf(body, sizeof(body), "%s y = reduce_mean(x = a%s);", good[i].type, good[i].rest);
        graph = parse(around(body));
        assert_int_equal(last(graph)->a.axes, good[i].axes);
        assert_int_equal(last(graph)->a.keep_dims, good[i].keep);
        cc_graph_destroy(graph);
    }
    refused(around("fp16 y = reduce_mean(x = a, axes = int32(4));"), ERANGE, "axes has 4, expected -4 to 3");
    refused(around("fp16 y = reduce_mean(x = a, axes = int32(-5));"), ERANGE, "axes has -5");
    refused(around("fp16 y = reduce_mean(x = a, axes = tensor<int32, [2]>([1, -3]));"), EINVAL,
            "axes has axis 1 twice");
    refused(around("fp16 y = reduce_mean(x = a, axes = tensor<int32, [1, 1]>([1]));"), EINVAL,
            "expected one list of int32");
}

static void casts_and_names(void **state)
{
    struct cc_graph *graph;

    (void)state;
    graph = parse(around("tensor<fp32, [1, 4, 6, 8]> y = cast(x = a, dtype = string(\"fp32\"));"));
    assert_int_equal(last(graph)->kind, CC_OP_CAST);
    assert_int_equal(last(graph)->a.to, CC_FP32);
    cc_graph_destroy(graph);
    refused(around("tensor<fp16, [1, 4, 6, 8]> y = cast(x = a, dtype = string(\"int32\"));"), EINVAL,
            "it gives tensor<int32, [1, 4, 6, 8]>, but tensor<fp16, [1, 4, 6, 8]> is declared");
    refused(around("tensor<fp32, [1, 4, 6, 8]> y = cast(x = a, dtype = string(\"fp16\"));"), EINVAL,
            "but tensor<fp32, [1, 4, 6, 8]> is declared");
    refused(around("tensor<fp16, [1, 4, 6, 8]> y = cast(x = a);"), EINVAL, "cast has no argument `dtype`");

    /* an identity, and a cast to the same type, only rename */
    graph = parse(
        around("tensor<fp16, [1, 4, 6, 8]> r = relu(x = a); tensor<fp16, [1, 4, 6, 8]> i = identity(x = r);"
               "tensor<fp16, [1, 4, 6, 8]> y = cast(x = i, dtype = string(\"fp16\"));"));
    assert_int_equal(graph->ops, 3);
    assert_int_equal(last(graph)->kind, CC_OP_RELU);
    assert_string_equal(graph->value[graph->output[0]].name, "y");
    cc_graph_destroy(graph);

    /* but an input keeps its name, and so does an output */
    graph = parse(around("tensor<fp16, [1, 4, 6, 8]> y = identity(x = a);"));
    assert_int_equal(last(graph)->kind, CC_OP_CAST);
    assert_int_equal(last(graph)->a.to, CC_FP16);
    assert_int_equal(last(graph)->input[0], graph->input[0]);
    assert_string_equal(graph->value[graph->input[0]].name, "a");
    assert_string_equal(graph->value[graph->output[0]].name, "y");
    cc_graph_destroy(graph);
    graph = parse("program(1.2){func f(tensor<fp16, [2]> a){tensor<fp16, [2]> r = relu(x = a);"
                  "tensor<fp16, [2]> y = identity(x = r);}->(y, r);}");
    assert_int_equal(graph->outputs, 2);
    assert_string_equal(graph->value[graph->output[0]].name, "y");
    assert_string_equal(graph->value[graph->output[1]].name, "r");
    assert_int_equal(last(graph)->input[0], graph->output[0]);
    cc_graph_destroy(graph);
}

static void many_names(void **state)
{
    const unsigned count = 5000;
    char *text = malloc(count * 64 + 256);
    struct cc_graph *graph;
    size_t at;

    (void)state;
    assert_non_null(text);
    at = (size_t)sprintf(text, "program(1.3){func main<ios18>(tensor<fp16, [2]> v0){");
    for (unsigned i = 0; i < count; i++)
        at += (size_t)sprintf(text + at, "tensor<fp16, [2]> v%u = relu(x = v%u);", i + 1, i);
    sprintf(text + at, "}->(v%u);}", count);
    graph = parse(text);
    assert_int_equal(graph->ops, count + 1);
    cc_graph_destroy(graph);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_example), cmocka_unit_test(older_forms),  cmocka_unit_test(binary),
        cmocka_unit_test(literals),      cmocka_unit_test(other_locale), cmocka_unit_test(convolution),
        cmocka_unit_test(products),      cmocka_unit_test(means),        cmocka_unit_test(casts_and_names),
        cmocka_unit_test(many_names),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
