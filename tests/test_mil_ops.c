/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of MIL text, family by family: what each becomes, what may be left out, and what is refused. */
#include "mil_text.h"

#include <math.h>

/* The operation that makes y. */
static const struct cc_op *last(const struct cc_graph *graph)
{
    return &graph->op[graph->ops - 1];
}

/* y of this type, by this call, of a [1, 4, 6, 8] and b [4, 1, 8]. */
static const char *call(const char *type, const char *text)
{
    static char body[0x1000];

    snprintf(body, sizeof(body), "%s y = %s;", type, text);
    return around(body);
}

#define A "tensor<fp16, [1, 4, 6, 8]>"
#define B "tensor<fp16, [4, 1, 8]>"

static void unary(void **state)
{
    static const struct {
        const char *text;
        enum cc_op_kind kind;
        double alpha, beta, epsilon;
    } good[] = {
        {"sigmoid(x = a)", CC_OP_SIGMOID, 0, 0, 0},
        {"tanh(x = a)", CC_OP_TANH, 0, 0, 0},
        {"erf(x = a)", CC_OP_ERF, 0, 0, 0},
        {"exp(x = a)", CC_OP_EXP, 0, 0, 0},
        {"exp2(x = a)", CC_OP_EXP2, 0, 0, 0},
        {"sqrt(x = a)", CC_OP_SQRT, 0, 0, 0},
        {"abs(x = a)", CC_OP_ABS, 0, 0, 0},
        {"square(x = a)", CC_OP_SQUARE, 0, 0, 0},
        {"sign(x = a)", CC_OP_SIGN, 0, 0, 0},
        {"ceil(x = a)", CC_OP_CEIL, 0, 0, 0},
        {"floor(x = a)", CC_OP_FLOOR, 0, 0, 0},
        {"round(x = a)", CC_OP_ROUND, 0, 0, 0},
        {"sinh(x = a)", CC_OP_SINH, 0, 0, 0},
        {"cosh(x = a)", CC_OP_COSH, 0, 0, 0},
        {"sin(x = a)", CC_OP_SIN, 0, 0, 0},
        {"cos(x = a)", CC_OP_COS, 0, 0, 0},
        {"tan(x = a)", CC_OP_TAN, 0, 0, 0},
        {"atan(x = a)", CC_OP_ATAN, 0, 0, 0},
        {"l2_norm(x = a)", CC_OP_L2_NORM, 0, 0, (double)1e-6f},
        {"l2_norm(x = a, epsilon = fp16(0.5))", CC_OP_L2_NORM, 0, 0, 0.5},
        {"silu(x = a)", CC_OP_SILU, 0, 0, 0},
        {"relu6(x = a)", CC_OP_RELU6, 0, 0, 0},
        {"softplus(x = a)", CC_OP_SOFTPLUS, 0, 0, 0},
        {"softsign(x = a)", CC_OP_SOFTSIGN, 0, 0, 0},
        {"log(x = a)", CC_OP_LOG, 0, 0, (double)1e-45f},
        {"log(x = a, epsilon = fp16(0.5))", CC_OP_LOG, 0, 0, 0.5},
        {"rsqrt(x = a)", CC_OP_RSQRT, 0, 0, (double)1e-12f},
        {"rsqrt(epsilon = fp32(0.25), x = a)", CC_OP_RSQRT, 0, 0, 0.25},
        {"inverse(x = a)", CC_OP_INVERSE, 0, 0, (double)1e-4f},
        {"inverse(x = a, epsilon = fp16(-0.0))", CC_OP_INVERSE, 0, 0, 0},
        {"leaky_relu(x = a, alpha = fp16(0.125))", CC_OP_LEAKY_RELU, 0.125, 0, 0},
        {"elu(x = a, alpha = fp16(-1))", CC_OP_ELU, -1, 0, 0},
        {"threshold(x = a, alpha = fp16(inf))", CC_OP_THRESHOLD, (double)INFINITY, 0, 0},
        {"thresholded_relu(x = a, alpha = fp32(0x1p-30))", CC_OP_THRESHOLDED_RELU, 0x1p-30, 0, 0},
        {"clip(x = a, alpha = fp16(-inf), beta = fp16(65504))", CC_OP_CLIP, -(double)INFINITY, 65504, 0},
        {"clip(x = a, alpha = fp16(2), beta = fp16(2))", CC_OP_CLIP, 2, 2, 0},
        {"clamped_relu(x = a, alpha = fp16(2), beta = fp16(inf))", CC_OP_CLAMPED_RELU, 2, (double)INFINITY,
         0},
        {"sigmoid_hard(x = a, alpha = fp16(0.5), beta = fp16(3))", CC_OP_SIGMOID_HARD, 0.5, 3, 0},
        {"linear_activation(x = a, alpha = fp16(7), beta = fp16(5.9604645e-8))", CC_OP_LINEAR_ACTIVATION, 7,
         0x1p-24, 0},
        {"scaled_tanh(x = a, alpha = fp16(3), beta = fp16(4))", CC_OP_SCALED_TANH, 3, 4, 0},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct cc_graph *graph = parse(call(A, good[i].text));
        const struct cc_op *op = last(graph);

        assert_int_equal(op->kind, good[i].kind);
        assert_int_equal(op->inputs, 1);
        assert_int_equal(op->input[0], graph->input[0]);
        if ((double)op->a.alpha != good[i].alpha || (double)op->a.beta != good[i].beta ||
            (double)op->a.epsilon != good[i].epsilon)
            fail_msg("%s: %g, %g, %g", good[i].text, (double)op->a.alpha, (double)op->a.beta,
                     (double)op->a.epsilon);
        assert_true(strncmp(good[i].text, cc_op_name(op->kind), strlen(cc_op_name(op->kind))) == 0);
        cc_graph_destroy(graph);
    }
    refused(call(B, "sigmoid(x = a)"), EINVAL,
            "Line 3, column 29: sigmoid `y`: it gives " A ", but " B " is declared.");
    refused(call(A, "sigmoid(x = a, alpha = fp16(1))"), EINVAL,
            "sigmoid has no argument `alpha`, expected one of x");
    refused(call(A, "elu(x = a)"), EINVAL, "elu has no argument `alpha`, which it needs");
    refused(call(A, "clip(x = a, alpha = fp16(1))"), EINVAL, "clip has no argument `beta`, which it needs");
    refused(call(A, "clip(x = a, alpha = fp16(1), beta = fp16(0))"), EINVAL,
            "clip `y`: alpha is 1 and beta is 0, expected alpha <= beta");
    refused(call(A, "clip(x = a, alpha = fp16(nan), beta = fp16(0))"), EINVAL, "alpha is not a number");
    refused(call(A, "clip(x = a, alpha = fp16(0), beta = fp16(nan))"), EINVAL, "beta is not a number");
    refused(call(A, "elu(x = a, alpha = fp16(inf))"), EINVAL, "expected finite numbers");
    refused(call(A, "clamped_relu(x = a, alpha = fp16(inf), beta = fp16(1))"), EINVAL,
            "expected a finite number");
    refused(call(A, "log(x = a, epsilon = fp16(inf))"), EINVAL, "epsilon is inf, expected a finite number");
    refused(call(A, "log(x = a, epsilon = int32(1))"), EINVAL,
            "Line 3, column 53: log `y`: epsilon is int32, expected one constant of fp16 or fp32");
    refused(call(A, "log(x = a, epsilon = tensor<fp16, [1]>([1]))"), EINVAL,
            "epsilon is tensor<fp16, [1]>, expected one constant of fp16 or fp32");
    refused(call(A, "log(x = a, epsilon = a)"), EINVAL, "epsilon is a tensor computed at run time");
    refused(call(A, "log(x = a, epsilon = (a, b))"), EINVAL,
            "epsilon is a list of values, expected a constant");
    refused(call(A, "tanh(x = (a, b))"), EINVAL, "x is a list of values, expected one");
}

static void gelu(void **state)
{
    static const char *const modes[] = {"EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION"};
    struct cc_graph *graph;
    char text[128];

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        snprintf(text, sizeof(text), "gelu(x = a, mode = string(\"%s\"))", modes[i]);
        graph = parse(call(A, text));
        assert_int_equal(last(graph)->kind, CC_OP_GELU);
        assert_int_equal(last(graph)->a.gelu, i);
        cc_graph_destroy(graph);
    }
    graph = parse(call(A, "gelu(x = a)"));
    assert_int_equal(last(graph)->a.gelu, CC_GELU_EXACT);
    cc_graph_destroy(graph);
    refused(call(A, "gelu(x = a, mode = string(\"exact\"))"), EINVAL,
            "mode is \"exact\", expected EXACT, TANH_APPROXIMATION or SIGMOID_APPROXIMATION");
}

/* A number that was an operand before is in the graph, and still a number. */
static void number_used_twice(void **state)
{
    struct cc_graph *graph = parse(around("fp16 k = const()[val = fp16(0.75)];" A " s = add(x = a, y = k);" A
                                          " y = elu(x = s, alpha = k);"));

    (void)state;
    assert_int_equal(last(graph)->kind, CC_OP_ELU);
    assert_true((double)last(graph)->a.alpha == 0.75);
    cc_graph_destroy(graph);
}

static void truths(void **state)
{
    static const char *const compares[] = {"equal",         "not_equal", "greater",
                                           "greater_equal", "less",      "less_equal"};
    static const char *const logicals[] = {"logical_and", "logical_or", "logical_xor"};
    struct cc_graph *graph;
    char text[512];

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        snprintf(text, sizeof(text),
                 "tensor<bool, [1, 4, 6, 8]> c = %s(x = a, y = b); " A
                 " y = cast(x = c, dtype = string(\"fp16\"));",
                 compares[i]);
        graph = parse(around(text));
        assert_int_equal(last(graph)->kind, CC_OP_CAST);
        assert_int_equal(graph->op[2].kind, CC_OP_EQUAL + i);
        assert_int_equal(graph->value[graph->op[2].output].type, CC_BOOL);
        assert_int_equal(graph->value[graph->op[2].output].bytes, 4 * 6 * 8);
        cc_graph_destroy(graph);
    }
    for (unsigned i = 0; i < 3; i++) {
        snprintf(
            text, sizeof(text),
            "tensor<bool, [1, 4, 6, 8]> p = less(x = a, y = fp16(0)); tensor<bool, [4, 1, 8]> q = less(x = b, y = "
            "fp16(0)); tensor<bool, [1, 4, 6, 8]> r = %s(x = q, y = p); tensor<bool, [1, 4, 6, 8]> n = "
            "logical_not(x = r); " A " y = select(cond = n, a = fp16(1), b = b);",
            logicals[i]);
        graph = parse(around(text));
        assert_int_equal(last(graph)->kind, CC_OP_SELECT);
        assert_int_equal(last(graph)->inputs, 3);
        assert_int_equal(last(graph)->input[2], graph->input[1]);
        assert_int_equal(graph->value[last(graph)->output].type, CC_FP16);
        cc_graph_destroy(graph);
    }
#define LESS "tensor<bool, [1, 4, 6, 8]> c = less(x = a, y = b);"
    refused(around("tensor<bool, [1, 4, 6, 8]> y = less(x = a, y = b);"), EINVAL,
            "Line 4, column 7: output `y` is bool, expected fp16 or fp32: a cast converts it to 0 and 1.");
    refused(around(A " y = less(x = a, y = b);"), EINVAL,
            "less `y`: it gives tensor<bool, [1, 4, 6, 8]>, but " A " is declared");
    refused(around("tensor<int32, [1, 4, 6, 8]> y = less(x = a, y = b);"), EINVAL,
            "less is declared to give tensor<int32, [1, 4, 6, 8]>, expected bool");
    refused(around(LESS A " y = add(x = a, y = c);"), EINVAL,
            "operand `c` is tensor<bool, [1, 4, 6, 8]>, expected fp16 or fp32");
    refused(around(LESS A " y = relu(x = c);"), EINVAL, "operand `c` is tensor<bool");
    refused(
        around(LESS
               "tensor<bool, [1, 4, 6, 8]> y = transpose(x = c, perm = tensor<int32, [4]>([0, 1, 2, 3]));"),
        EINVAL, "output `y` is bool, expected fp16 or fp32");
    cc_graph_destroy(parse(around(
        LESS "tensor<bool, [1, 4, 8, 6]> d = transpose(x = c, perm = tensor<int32, [4]>([0, 1, 3, 2]));"
             "tensor<fp16, [1, 4, 8, 6]> y = cast(x = d, dtype = string(\"fp16\"));")));
    refused(around("tensor<bool, [1, 4, 6, 8]> y = relu(x = a);"), EINVAL,
            "relu `y`: it gives tensor<fp16, [1, 4, 6, 8]>, but tensor<bool, [1, 4, 6, 8]> is declared");
    refused(around(LESS A " y = cast(x = c, dtype = string(\"int32\"));"), EINVAL,
            "it gives tensor<int32, [1, 4, 6, 8]>, but tensor<fp16");
    refused(around(LESS A " y = cast(x = c, dtype = string(\"fp64\"));"), EINVAL, "dtype is \"fp64\"");
    refused(around("tensor<bool, [1, 4, 6, 8]> c = logical_not(x = a);"), EINVAL,
            "operand `a` is " A ", expected bool");
    refused(around(LESS "tensor<bool, [1, 4, 6, 8]> d = logical_and(x = c, y = a);"), EINVAL,
            "expected bool");
    cc_graph_destroy(parse(around(LESS "tensor<bool, [1, 4, 6, 8]> d = logical_and(x = c, y = bool(true));" A
                                       " y = select(cond = d, a = a, b = b);")));
    refused(around(A " y = select(cond = a, a = a, b = b);"), EINVAL,
            "select `y`: operand `a` is " A ", expected bool");
    cc_graph_destroy(parse(around(LESS A " y = select(cond = c, a = a, b = fp32(1));")));
    refused(around(LESS B " y = select(cond = c, a = fp16(1), b = b);"), EINVAL, "it gives " A);
    refused(around(LESS A " y = select(cond = c, a = a);"), EINVAL,
            "select has no argument `b`, which it needs");
}

static void divisions(void **state)
{
    struct cc_graph *graph;

    (void)state;
    graph = parse(call(A, "real_div(x = b, y = a)"));
    assert_int_equal(last(graph)->kind, CC_OP_REAL_DIV);
    assert_int_equal(last(graph)->input[0], graph->input[1]);
    cc_graph_destroy(graph);
    graph = parse(call(A, "pow(x = a, y = fp16(2))"));
    assert_int_equal(last(graph)->kind, CC_OP_POW);
    cc_graph_destroy(graph);
    graph = parse(call(A, "floor_div(x = a, y = b)"));
    assert_int_equal(last(graph)->kind, CC_OP_FLOOR_DIV);
    cc_graph_destroy(graph);
    refused(call(A, "pow(x = a, y = tensor<fp16, [3]>([1, 2, 3]))"), EINVAL, "pow `y`: ");
}

static void reductions(void **state)
{
    static const char *const names[] = {"reduce_mean", "reduce_sum",     "reduce_max",
                                        "reduce_min",  "reduce_l2_norm", "reduce_sum_square"};
    struct cc_graph *graph;
    char text[256];

    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        snprintf(text, sizeof(text), "%s(x = a, axes = tensor<int32, [2]>([-1, 1]), keep_dims = bool(true))",
                 names[i]);
        graph = parse(call("tensor<fp16, [1, 1, 6, 1]>", text));
        assert_int_equal(last(graph)->kind, CC_OP_REDUCE_MEAN + i);
        assert_string_equal(cc_op_name(last(graph)->kind), names[i]);
        assert_int_equal(last(graph)->a.axes, 0xa);
        assert_true(last(graph)->a.keep_dims);
        cc_graph_destroy(graph);
    }
    refused(call("fp16", "reduce_max(x = a, axes = int32(4))"), ERANGE, "axes has 4, expected -4 to 3");
    refused(call(A, "reduce_sum(x = a)"), EINVAL, "reduce_sum `y`: it gives fp16, but");

    graph = parse(call(A, "softmax(x = a)"));
    assert_int_equal(last(graph)->a.axis, 3);
    cc_graph_destroy(graph);
    graph = parse(call(A, "softmax(x = a, axis = int32(-3))"));
    assert_int_equal(last(graph)->kind, CC_OP_SOFTMAX);
    assert_int_equal(last(graph)->a.axis, 1);
    cc_graph_destroy(graph);
    refused(call(A, "softmax(x = a, axis = int32(4))"), ERANGE, "axis has 4, expected -4 to 3");
    refused(call(A, "softmax(x = a, axis = tensor<int32, [1]>([1]))"), EINVAL, "expected one int32");
    refused(call("fp16", "softmax(x = fp16(1))"), EINVAL, "axis 0 reaches beyond rank 0");
}

static void norms(void **state)
{
    struct cc_graph *graph;

    (void)state;
    graph = parse(call(
        A,
        "layer_norm(x = a, axes = tensor<int32, [2]>([-3, 3]), gamma = tensor<fp16, [4, 8]>([1,1,1,1,1,1,1,1,"
        "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]), epsilon = fp16(0.5))"));
    assert_int_equal(last(graph)->kind, CC_OP_LAYER_NORM);
    assert_int_equal(last(graph)->a.axes, 0xa);
    assert_int_not_equal(last(graph)->a.weight, 0);
    assert_int_equal(last(graph)->a.bias, 0);
    assert_true((double)last(graph)->a.epsilon == 0.5);
    cc_graph_destroy(graph);
    graph = parse(call(A, "layer_norm(x = a)"));
    assert_int_equal(last(graph)->a.axes, 0xf);
    assert_true(last(graph)->a.epsilon == 1e-5f);
    cc_graph_destroy(graph);
    refused(call(A, "layer_norm(x = a, axes = int32(1), beta = tensor<fp16, [3]>([1, 2, 3]))"), EINVAL,
            "beta is tensor<fp16, [3]>, expected tensor<fp16, [4]>: the axes that are normalised");
    refused(call(A, "layer_norm(x = a, axes = int32(1), gamma = b)"), EINVAL, "gamma `b` is not a constant");
    refused(call(A, "layer_norm(x = a, axes = int32(1), epsilon = fp16(-1))"), EINVAL,
            "epsilon is -1, expected a finite number of at least 0");
    refused(call(A, "layer_norm(x = a, axes = int32(1), keep_dims = bool(true))"), EINVAL,
            "layer_norm has no argument `keep_dims`");

#define FOUR "tensor<fp16, [4]>([1, 2, 3, 4])"
    graph = parse(call(A, "instance_norm(x = a, gamma = " FOUR ", beta = " FOUR ")"));
    assert_int_equal(last(graph)->kind, CC_OP_INSTANCE_NORM);
    assert_int_not_equal(last(graph)->a.bias, 0);
    cc_graph_destroy(graph);
    graph = parse(call(B, "instance_norm(x = b)"));
    cc_graph_destroy(graph);
    refused(call(A, "instance_norm(x = a, gamma = tensor<fp16, [1]>([1]))"), EINVAL,
            "gamma is tensor<fp16, [1]>, expected one axis of length 4");
    graph = parse(call(A, "batch_norm(x = a, mean = " FOUR ", variance = " FOUR ", gamma = " FOUR
                          ", beta = " FOUR ", epsilon = fp32(0))"));
    assert_int_equal(last(graph)->kind, CC_OP_BATCH_NORM);
    assert_int_not_equal(last(graph)->a.mean, 0);
    assert_int_not_equal(last(graph)->a.variance, last(graph)->a.mean);
    assert_true((double)last(graph)->a.epsilon == 0);
    cc_graph_destroy(graph);
    refused(call(A, "batch_norm(x = a, mean = " FOUR ")"), EINVAL, "batch_norm has no argument `variance`");
    refused(call(A, "batch_norm(x = a, mean = " FOUR ", variance = tensor<fp16, [2]>([1, 2]))"), EINVAL,
            "variance is tensor<fp16, [2]>, expected one axis of length 4");
    refused(call(A, "batch_norm(x = a, mean = b, variance = b)"), EINVAL, "mean `b` is not a constant");
    refused(
        "program(1.3){func f(tensor<fp16, [2, 4]> a){tensor<fp16, [2, 4]> y = instance_norm(x = a);}->(y);}",
        EINVAL, "expected rank 3 or 4");
}

/* A window more where it begins inside x or the padding before it. */
static void pools_that_round_up(void **state)
{
    static const struct {
        const char *shape, *rest;
        uint32_t pad[4];
    } good[] = {
        {"1, 4, 6, 8", "same\")", {0, 1, 1, 1}},
        {"1, 4, 3, 4", "valid\"), strides = tensor<int32, [2]>([2, 2])", {0}},
        {"1, 4, 2, 3", "valid\"), strides = tensor<int32, [2]>([3, 3])", {0}},
        {"1, 4, 3, 3",
         "custom\"), pad = tensor<int32, [4]>([1, 1, 1, 1]), strides = tensor<int32, [2]>([3, 3])",
         {1, 1, 1, 1}},
    };

    (void)state;
    for (unsigned i = 0; i < 3 * sizeof(good) / sizeof(good[0]); i++) {
        static const char *const kind[] = {"max", "avg", "l2"};
        struct cc_graph *graph;
        char text[512];

        snprintf(
            text, sizeof(text),
            "tensor<fp16, [%s]> y = %s_pool(x = a, kernel_sizes = tensor<int32, [2]>([2, 3]), ceil_mode = "
            "bool(true), pad_type = string(\"%s);",
            good[i / 3].shape, kind[i % 3], good[i / 3].rest);
        graph = parse(around(text));
        assert_true(last(graph)->a.ceil);
        assert_memory_equal(last(graph)->a.pad, good[i / 3].pad, sizeof(good[i / 3].pad));
        cc_graph_destroy(graph);
    }
}

/* Lengths of the result: of the windows, without padding, given, and stride times the length of x. */
static void transposed_convolutions(void **state)
{
    static const struct {
        const char *shape, *rest;
        uint32_t pad[2]; /* top, left */
    } good[] = {
        {"1, 6, 8, 10", "", {0, 0}},
        {"1, 6, 13, 17", ", strides = tensor<int32, [2]>([2, 2])", {0, 0}},
        {"1, 6, 11, 15",
         ", strides = tensor<int32, [2]>([2, 2]), pad_type = string(\"custom\"), pad = tensor<int32, [4]>([1, 1, 0, 2])",
         {1, 0}},
        {"1, 6, 12, 16",
         ", strides = tensor<int32, [2]>([2, 2]), pad_type = string(\"custom\"), pad = tensor<int32, [4]>([1, 1, 1, 1]), "
         "output_shape = tensor<int32, [4]>([1, 6, 12, 16])",
         {1, 1}},
        {"1, 6, 12, 16", ", strides = tensor<int32, [2]>([2, 2]), pad_type = string(\"same\")", {0, 0}},
        {"1, 6, 6, 8", ", pad_type = string(\"same\")", {1, 1}},
        {"1, 6, 10, 12", ", dilations = tensor<int32, [2]>([2, 2])", {0, 0}},
    };
    char text[1024], zeros[3 * 108 + 1] = "0";

    (void)state;
    for (unsigned i = 1; i < 108; i++)
        snprintf(zeros + 3 * i - 2, 4, ", 0");
    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct cc_graph *graph;

        snprintf(
            text, sizeof(text),
            "tensor<fp16, [4, 3, 3, 3]> w = const()[name = string(\"w\"), val = tensor<fp16, [4, 3, 3, 3]>([%s])];"
            "tensor<fp16, [%s]> y = conv_transpose(x = a, weight = w, groups = int32(2)%s);",
            zeros, good[i].shape, good[i].rest);
        graph = parse(around(text));
        assert_int_equal(last(graph)->kind, CC_OP_CONV_TRANSPOSE);
        assert_int_equal(last(graph)->a.pad[0], good[i].pad[0]);
        assert_int_equal(last(graph)->a.pad[2], good[i].pad[1]);
        cc_graph_destroy(graph);
    }
}

static void response_norms_and_prelus(void **state)
{
    struct cc_graph *graph = parse(call(A, "local_response_norm(x = a, size = int32(5))"));

    (void)state;
    assert_int_equal(last(graph)->a.kernel[0], 5);
    assert_true(last(graph)->a.alpha == 1e-4f && last(graph)->a.beta == 1 && last(graph)->a.gamma == 0.75f);
    cc_graph_destroy(graph);
    graph = parse(call(
        A, "local_response_norm(x = a, size = int32(3), alpha = fp16(0.5), beta = fp16(2), k = fp16(4))"));
    assert_true(last(graph)->a.alpha == 0.5f && last(graph)->a.beta == 4 && last(graph)->a.gamma == 2);
    cc_graph_destroy(graph);
    graph = parse(call(A, "prelu(x = a, alpha = tensor<fp16, [4]>([1, 2, 3, 4]))"));
    assert_int_equal(graph->value[last(graph)->a.weight - 1].dim[0], 4);
    cc_graph_destroy(graph);
    refused(call(A, "prelu(x = a, alpha = tensor<fp16, [3]>([1, 2, 3]))"), EINVAL,
            "expected one axis of length 4");
    refused(call(A, "local_response_norm(x = a)"), EINVAL, "has no argument `size`");
}

static void pools(void **state)
{
    static const struct {
        const char *shape, *rest;
        uint32_t stride[2], pad[4];
    } good[] = {
        {"1, 4, 5, 6", ", pad_type = string(\"valid\")", {1, 1}, {0}},
        {"1, 4, 3, 2",
         ", strides = tensor<int32, [2]>([2, 3]), pad_type = string(\"valid\"), pad = tensor<int32, [4]>([9, 9, 9, 9])",
         {2, 3},
         {0}},
        {"1, 4, 6, 8", ", pad_type = string(\"same\")", {1, 1}, {0, 1, 1, 1}},
        {"1, 4, 6, 8", ", pad_type = string(\"same_lower\"), ceil_mode = bool(false)", {1, 1}, {1, 0, 1, 1}},
        {"1, 4, 7, 9",
         ", pad_type = string(\"custom\"), pad = tensor<int32, [4]>([1, 1, 1, 2])",
         {1, 1},
         {1, 1, 1, 2}},
    };
    struct cc_graph *graph;
    char text[512];

    (void)state;
    for (unsigned i = 0; i < 2 * sizeof(good) / sizeof(good[0]); i++) {
        unsigned n = i / 2;

        snprintf(text, sizeof(text),
                 "tensor<fp16, [%s]> y = %s_pool(x = a, kernel_sizes = tensor<int32, [2]>([2, 3])%s);",
                 good[n].shape, i % 2 ? "max" : "avg", good[n].rest);
        graph = parse(around(text));
        assert_int_equal(last(graph)->kind, i % 2 ? CC_OP_MAX_POOL : CC_OP_AVG_POOL);
        assert_int_equal(last(graph)->a.kernel[0], 2);
        assert_int_equal(last(graph)->a.kernel[1], 3);
        assert_memory_equal(last(graph)->a.stride, good[n].stride, sizeof(good[n].stride));
        assert_memory_equal(last(graph)->a.pad, good[n].pad, sizeof(good[n].pad));
        cc_graph_destroy(graph);
    }
#define POOL "_pool(x = a, kernel_sizes = tensor<int32, [2]>([2, 3]), pad_type = "
    /* no window of stride 4 reaches the padding behind 6 rows and 8 columns */
    graph = parse(call("tensor<fp16, [1, 4, 2, 2]>",
                       "avg" POOL "string(\"custom\"), pad = tensor<int32, [4]>([0, 1, 0, 1]), strides = "
                       "tensor<int32, [2]>([4, 4]), exclude_padding_from_average = bool(true))"));
    cc_graph_destroy(graph);
    graph = parse(call(A, "avg" POOL "string(\"same\"), exclude_padding_from_average = bool(true))"));
    assert_true(last(graph)->a.exclude_padding);
    cc_graph_destroy(graph);
    refused(call(A, "max" POOL "string(\"same\"), exclude_padding_from_average = bool(false))"), EINVAL,
            "max_pool has no argument `exclude_padding_from_average`");
    refused(call(A, "max" POOL "string(\"full\"))"), EINVAL, "pad_type is \"full\"");
    refused(call(A, "max_pool(x = a, kernel_sizes = tensor<int32, [2]>([2, 3]))"), EINVAL,
            "max_pool has no argument `pad_type`, which it needs");
    refused(call(A, "max_pool(x = a, pad_type = string(\"valid\"))"), EINVAL,
            "max_pool has no argument `kernel_sizes`");
    refused(call(A, "max" POOL "string(\"custom\"), pad = tensor<int32, [4]>([2, 0, 0, 0]))"), EINVAL,
            "padding 2 and 0 of axis 2, expected less than the kernel's 2");
    refused(
        call(A, "max_pool(x = a, kernel_sizes = tensor<int32, [2]>([7, 1]), pad_type = string(\"valid\"))"),
        EINVAL, "the kernel spans 7 and axis 2 has 6 with its padding");
    refused(
        call(B, "max_pool(x = b, kernel_sizes = tensor<int32, [2]>([1, 1]), pad_type = string(\"same\"))"),
        EINVAL, "max_pool `y`: kernel_sizes is tensor<int32, [2]>, expected 1 number of int32");
    refused(call(A, "max_pool(x = a, kernel_sizes = tensor<int32, [1]>([1]), pad_type = string(\"valid\"))"),
            EINVAL, "expected 2 numbers of int32");
    cc_graph_destroy(parse(
        call(B, "max_pool(x = b, kernel_sizes = tensor<int32, [1]>([1]), pad_type = string(\"valid\"))")));
}

static const struct cc_value *result(const struct cc_graph *graph)
{
    return &graph->value[graph->output[0]];
}

/* Operations on constants are computed while the text is read, so that the results can be parameters. */
static void constants_are_folded(void **state)
{
    struct cc_graph *graph;

    (void)state;
    graph = parse(around("tensor<int32, [2]> p = const()[val = tensor<int32, [2]>([1, 2])];"
                         "tensor<int32, [2]> q = add(x = p, y = int32(1));" /* 2, 3 */
                         "tensor<fp16, [1, 4]> y = reduce_sum(x = a, axes = q, keep_dims = bool(false));"));
    assert_int_equal(last(graph)->a.axes, 0xc);
    cc_graph_destroy(graph);
    graph = parse(around("tensor<fp32, [2, 8]> w = const()[val = tensor<fp32, [2, 8]>"
                         "([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])];"
                         "tensor<fp32, [8, 2]> t = transpose(x = w, perm = tensor<int32, [2]>([1, 0]));"
                         "tensor<fp32, [2, 8]> u = transpose(x = t, perm = tensor<int32, [2]>([1, 0]));"
                         "tensor<fp16, [2, 8]> v = cast(x = u, dtype = string(\"fp16\"));"
                         "tensor<fp16, [1, 4, 6, 2]> y = linear(x = a, weight = v);"));
    assert_int_equal(last(graph)->kind, CC_OP_LINEAR);
    assert_int_equal(((const uint16_t *)graph->value[last(graph)->a.weight - 1].data)[9], 0x4880); /* 9 */
    cc_graph_destroy(graph);
    graph = parse(around("fp16 s = cast(x = int32(3), dtype = string(\"fp16\"));"
                         "fp16 r = mul(x = s, y = fp16(0.5));" A " y = leaky_relu(x = a, alpha = r);"));
    assert_true((double)last(graph)->a.alpha == 1.5);
    cc_graph_destroy(graph);
    graph = parse(around("tensor<int32, [2]> i = cast(x = tensor<fp32, [2]>([2.75, -1.5]), dtype = "
                         "string(\"int32\"));tensor<fp16, [2]> y = cast(x = i, dtype = string(\"fp16\"));"));
    assert_int_equal(((const uint16_t *)result(graph)->data)[0], 0x4000); /* 2 */
    assert_int_equal(((const uint16_t *)result(graph)->data)[1], 0xbc00); /* -1 */
    cc_graph_destroy(graph);
    graph = parse(around("tensor<bool, [8]> m = const()[val = tensor<bool, [8]>"
                         "([true, false, true, false, true, false, true, false])];"
                         "tensor<bool, [8]> n = logical_not(x = m);" A
                         " y = select(cond = n, a = a, b = fp16(0));"));
    assert_int_equal(((const uint8_t *)graph->value[last(graph)->input[0]].data)[1], 1);
    cc_graph_destroy(graph);
    refused(around("tensor<int32, [1]> y = cast(x = fp16(1), dtype = string(\"int32\"));"), EINVAL,
            "is declared");
    refused(around("int32 y = cast(x = fp16(1), dtype = string(\"int32\"));"), EINVAL,
            "output `y` is int32, expected fp16 or fp32");
    refused(around("tensor<int32, [1, 4, 6, 8]> y = relu(x = a);"), EINVAL,
            "relu is declared to give tensor<int32, [1, 4, 6, 8]>, expected fp16 or fp32");
}

static void small_operators(void **state)
{
    struct cc_graph *graph;

    (void)state;
    graph = parse(around(A " y = mod(x = a, y = b);"));
    assert_int_equal(last(graph)->kind, CC_OP_MOD);
    cc_graph_destroy(graph);
    graph = parse(around(A " y = softplus_parametric(x = a, alpha = tensor<fp16, [4]>([1, 2, 3, 4]), beta = "
                           "tensor<fp32, [4]>([5, 6, 7, 8]));"));
    assert_int_equal(last(graph)->kind, CC_OP_SOFTPLUS_PARAMETRIC);
    assert_int_equal(graph->value[last(graph)->a.weight - 1].type, CC_FP16);
    assert_int_equal(graph->value[last(graph)->a.bias - 1].type, CC_FP32);
    cc_graph_destroy(graph);
    refused(around(A " y = softplus_parametric(x = a, alpha = tensor<fp16, [4]>([1, 2, 3, 4]));"), EINVAL,
            "softplus_parametric has no argument `beta`, which it needs");
    refused(around(A " y = softplus_parametric(x = a, alpha = fp16(1), beta = fp16(1));"), EINVAL,
            "alpha is fp16, expected one axis of length 4");
    refused(around(B " y = l2_norm(x = b);"), EINVAL, "x has rank 3, expected 4: [N, C, H, W]");
    static const struct {
        const char *name;
        enum cc_op_kind kind;
    } reductions[] = {{"reduce_prod", CC_OP_REDUCE_PROD},
                      {"reduce_l1_norm", CC_OP_REDUCE_L1_NORM},
                      {"reduce_log_sum", CC_OP_REDUCE_LOG_SUM},
                      {"reduce_log_sum_exp", CC_OP_REDUCE_LOG_SUM_EXP}};

    for (unsigned i = 0; i < 4; i++) {
        char text[160];

        snprintf(text, sizeof(text),
                 "tensor<fp16, [1, 4, 1, 8]> y = %s(x = a, axes = tensor<int32, [1]>([-2]), keep_dims = "
                 "bool(true));",
                 reductions[i].name);
        graph = parse(around(text));
        assert_int_equal(last(graph)->kind, reductions[i].kind);
        assert_int_equal(last(graph)->a.axes, 4);
        cc_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary),
        cmocka_unit_test(gelu),
        cmocka_unit_test(number_used_twice),
        cmocka_unit_test(truths),
        cmocka_unit_test(divisions),
        cmocka_unit_test(constants_are_folded),
        cmocka_unit_test(small_operators),
        cmocka_unit_test(reductions),
        cmocka_unit_test(norms),
        cmocka_unit_test(pools),
        cmocka_unit_test(pools_that_round_up),
        cmocka_unit_test(transposed_convolutions),
        cmocka_unit_test(response_norms_and_prelus),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
