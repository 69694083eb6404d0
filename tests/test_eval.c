/* SPDX-License-Identifier: Apache-2.0 */
/* What operations mean, and what they fold to, against numbers worked out by hand. */
#include "compiler/eval/eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/graph/build.h"
#include "support.h"

#define MOST 16

struct tensor {
    uint32_t rank, dim[CC_RANK_MAX];
    double x[MOST];
};

static uint32_t add_value(struct cc_graph *graph, enum cc_type type, const struct tensor *t)
{
    int value = cc_graph_add_value(graph, "v", type, t->rank, t->dim);

    assert_true(value >= 0);
    assert_true(cc_value_elements(&graph->value[value]) <= MOST);
    return (uint32_t)value;
}

/* A parameter: int32 for the indices of a gather, fp32 for the rest. */
static void add_parameter(struct cc_graph *graph, enum cc_op_kind kind, const struct tensor *t)
{
    struct cc_value *v = &graph->value[add_value(graph, kind == CC_OP_GATHER ? CC_INT32 : CC_FP32, t)];

    v->data = base_alloc(v->bytes);
    assert_non_null(v->data);
    for (size_t i = 0; i < cc_value_elements(v); i++) {
        if (kind == CC_OP_GATHER)
            ((int32_t *)v->data)[i] = (int32_t)t->x[i];
        else
            ((float *)v->data)[i] = (float)t->x[i];
    }
}

static enum cc_type operand_type(enum cc_op_kind kind, uint32_t i)
{
    bool logic = kind >= CC_OP_LOGICAL_AND && kind <= CC_OP_LOGICAL_NOT;

    return logic || (kind == CC_OP_SELECT && i == 0) ? CC_BOOL : CC_FP16;
}

/*
 * One operation on its operands, and on parameters that follow them; the result has the shape of `want`,
 * which is also what the operation's rule says.
 */
static void check(const struct cc_op *given, const struct tensor *tensors, uint32_t count,
                  const struct tensor *want)
{
    struct cc_graph *graph = cc_graph_create();
    const double *operand[3];
    double result[MOST];
    struct cc_op op = *given;
    struct base_error error;

    assert_non_null(graph);
    for (uint32_t i = 0; i < count; i++) {
        if (i >= op.inputs) {
            add_parameter(graph, op.kind, &tensors[i]);
            continue;
        }
        op.input[i] = add_value(graph, operand_type(op.kind, i), &tensors[i]);
        operand[i] = tensors[i].x;
    }
    op.name = (char[]){"op"};
    op.output = add_value(graph, cc_op_gives_bool(op.kind) ? CC_BOOL : CC_FP16, want);
    if (cc_op_check(graph, &op, &error) || cc_eval_op(graph, &op, operand, result, &error))
        fail_msg("%s", error.text);
    for (size_t i = 0; i < cc_value_elements(&graph->value[op.output]); i++)
        if (!(fabs(result[i] - want->x[i]) < 1e-4))
            fail_msg("%s, element %zu: %.9g, expected %.9g", cc_op_name(op.kind), i, result[i], want->x[i]);
    cc_graph_destroy(graph);
}

static const struct tensor four = {1, {4}, {-2, -0.5, 1, 8}};

static void unary(void **state)
{
    static const struct {
        struct cc_op op;
        double want[4];
    } cases[] = {
        {{.kind = CC_OP_SIGMOID}, {0.119203, 0.377541, 0.731059, 0.999665}},
        {{.kind = CC_OP_EXP2}, {0.25, 0.707107, 2, 256}},
        {{.kind = CC_OP_RSQRT, .a.epsilon = 2.5f}, {1.414214, 0.707107, 0.534522, 0.308607}},
        {{.kind = CC_OP_LOG, .a.epsilon = 3}, {0, 0.916291, 1.386294, 2.397895}},
        {{.kind = CC_OP_INVERSE, .a.epsilon = 4}, {0.5, 0.285714, 0.2, 0.083333}},
        {{.kind = CC_OP_SIGN}, {-1, -1, 1, 1}},
        {{.kind = CC_OP_CEIL}, {-2, 0, 1, 8}},
        {{.kind = CC_OP_FLOOR}, {-2, -1, 1, 8}},
        {{.kind = CC_OP_GELU, .a.gelu = CC_GELU_EXACT}, {-0.045500, -0.154269, 0.841345, 8}},
        {{.kind = CC_OP_GELU, .a.gelu = CC_GELU_TANH}, {-0.045402, -0.154286, 0.841192, 8}},
        {{.kind = CC_OP_GELU, .a.gelu = CC_GELU_SIGMOID}, {-0.064341, -0.149610, 0.845796, 7.99999}},
        {{.kind = CC_OP_SILU}, {-0.238406, -0.188770, 0.731059, 7.997317}},
        {{.kind = CC_OP_LEAKY_RELU, .a.alpha = 0.5f}, {-1, -0.25, 1, 8}},
        {{.kind = CC_OP_RELU6}, {0, 0, 1, 6}},
        {{.kind = CC_OP_CLIP, .a.alpha = -1, .a.beta = 2}, {-1, -0.5, 1, 2}},
        {{.kind = CC_OP_ELU, .a.alpha = 2}, {-1.729329, -0.786939, 1, 8}},
        {{.kind = CC_OP_SOFTPLUS}, {0.126928, 0.474077, 1.313262, 8.000335}},
        {{.kind = CC_OP_SOFTSIGN}, {-0.666667, -0.333333, 0.5, 0.888889}},
        {{.kind = CC_OP_SIGMOID_HARD, .a.alpha = 0.25f, .a.beta = 0.5f}, {0, 0.375, 0.75, 1}},
        {{.kind = CC_OP_THRESHOLD, .a.alpha = 3}, {3, 3, 3, 8}},
        {{.kind = CC_OP_THRESHOLDED_RELU, .a.alpha = 1}, {0, 0, 1, 8}},
        {{.kind = CC_OP_CLAMPED_RELU, .a.alpha = 2, .a.beta = 3}, {-4, -1, 1, 3}},
        {{.kind = CC_OP_LINEAR_ACTIVATION, .a.alpha = 3, .a.beta = 1}, {-5, -0.5, 4, 25}},
        {{.kind = CC_OP_SCALED_TANH, .a.alpha = 3, .a.beta = 0.5f},
         {-2.284782, -0.734756, 1.386352, 2.997988}},
        {{.kind = CC_OP_CLAMPED_RELU, .a.alpha = -0.5f, .a.beta = 1}, {1, 0.25, 1, 1}},
        {{.kind = CC_OP_RELU}, {0, 0, 1, 8}},
        {{.kind = CC_OP_TANH}, {-0.964028, -0.462117, 0.761594, 1}},
        {{.kind = CC_OP_ERF}, {-0.995322, -0.520500, 0.842701, 1}},
        {{.kind = CC_OP_EXP}, {0.135335, 0.606531, 2.718282, 2980.957987}},
        {{.kind = CC_OP_ABS}, {2, 0.5, 1, 8}},
        {{.kind = CC_OP_SQUARE}, {4, 0.25, 1, 64}},
        {{.kind = CC_OP_ROUND}, {-2, 0, 1, 8}}, /* -0.5 is halfway, 0 is even */
        {{.kind = CC_OP_SELU, .a.alpha = 2, .a.beta = 3}, {-5.187988, -2.360816, 3, 24}},
        {{.kind = CC_OP_HARD_SWISH, .a.alpha = 0.25f, .a.beta = 0.5f}, {0, -0.1875, 0.75, 8}},
        {{.kind = CC_OP_SIN}, {-0.909297, -0.479426, 0.841471, 0.989358}},
        {{.kind = CC_OP_COS}, {-0.416147, 0.877583, 0.540302, -0.145500}},
        {{.kind = CC_OP_TAN}, {2.185040, -0.546302, 1.557408, -6.799711}},
        {{.kind = CC_OP_ATAN}, {-1.107149, -0.463648, 0.785398, 1.446441}},
        {{.kind = CC_OP_SINH}, {-3.626860, -0.521095, 1.175201, 1490.478826}},
        {{.kind = CC_OP_COSH}, {3.762196, 1.127626, 1.543081, 1490.479161}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cc_op op = cases[i].op;
        struct tensor want = {1, {4}, {0}};

        op.inputs = 1;
        memcpy(want.x, cases[i].want, sizeof(cases[i].want));
        check(&op, &four, 1, &want);
    }
}

static void pairs(void **state)
{
    static const struct {
        enum cc_op_kind kind;
        double want[4];
    } cases[] = {
        {CC_OP_REAL_DIV, {-1, -0.25, 0.5, 4}}, {CC_OP_FLOOR_DIV, {-1, -1, 0, 4}},
        {CC_OP_POW, {4, 0.25, 1, 64}},         {CC_OP_LESS, {1, 1, 1, 0}},
        {CC_OP_GREATER_EQUAL, {0, 0, 0, 1}},   {CC_OP_EQUAL, {0, 0, 0, 0}},
        {CC_OP_NOT_EQUAL, {1, 1, 1, 1}},       {CC_OP_ADD, {0, 1.5, 3, 10}},
        {CC_OP_SUB, {-4, -2.5, -1, 6}},        {CC_OP_MUL, {-4, -1, 2, 16}},
        {CC_OP_MAXIMUM, {2, 2, 2, 8}},         {CC_OP_MINIMUM, {-2, -0.5, 1, 2}},
        {CC_OP_MOD, {0, 1.5, 1, 0}},           {CC_OP_LESS_EQUAL, {1, 1, 1, 0}},
        {CC_OP_GREATER, {0, 0, 0, 1}},
    };
    static const struct {
        enum cc_op_kind kind;
        double want[4];
    } logic[] = {
        {CC_OP_LOGICAL_AND, {0, 0, 0, 1}},
        {CC_OP_LOGICAL_OR, {0, 1, 1, 1}},
        {CC_OP_LOGICAL_XOR, {0, 1, 1, 0}},
    };
    const struct tensor truth[2] = {{1, {4}, {0, 0, 1, 1}}, {1, {4}, {0, 1, 0, 1}}};
    struct tensor two[3] = {four, {0, {0}, {2}}, {1, {2}, {7, 9}}};
    struct tensor matrix = {2, {2, 2}, {7, -0.5, 7, 9}};

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tensor want = {1, {4}, {0}};

        memcpy(want.x, cases[i].want, sizeof(cases[i].want));
        check(&(struct cc_op){.kind = cases[i].kind, .inputs = 2}, two, 2, &want);
    }
    for (unsigned i = 0; i < sizeof(logic) / sizeof(logic[0]); i++) {
        struct tensor want = {1, {4}, {0}};

        memcpy(want.x, logic[i].want, sizeof(logic[i].want));
        check(&(struct cc_op){.kind = logic[i].kind, .inputs = 2}, truth, 2, &want);
    }
    check(&(struct cc_op){.kind = CC_OP_LOGICAL_NOT, .inputs = 1}, truth, 1,
          &(struct tensor){1, {4}, {1, 1, 0, 0}});
    /* the remainder has the sign of the divisor */
    check(&(struct cc_op){.kind = CC_OP_MOD, .inputs = 2},
          (struct tensor[]){{1, {4}, {7, -7, 7, -7}}, {1, {4}, {3, 3, -3, -3}}}, 2,
          &(struct tensor){1, {4}, {1, 2, -2, -1}});
    /* rows and columns: [2, 1] and [1, 3] */
    check(&(struct cc_op){.kind = CC_OP_SUB, .inputs = 2},
          (struct tensor[]){{2, {2, 1}, {10, 20}}, {2, {1, 3}, {1, 2, 3}}}, 2,
          &(struct tensor){2, {2, 3}, {9, 8, 7, 19, 18, 17}});
    /* (-4)^0.5 is indeterminate: 0; (-4)^3, 0^0 */
    check(&(struct cc_op){.kind = CC_OP_POW, .inputs = 2},
          (struct tensor[]){{1, {3}, {-4, -4, 0}}, {1, {3}, {0.5, 3, 0}}}, 2,
          &(struct tensor){1, {3}, {0, -64, 1}});
    /* cond [2, 2], a [2, 1], b [2] */
    check(&(struct cc_op){.kind = CC_OP_SELECT, .inputs = 3},
          (struct tensor[]){{2, {2, 2}, {0, 1, 0, 0}}, {2, {2, 1}, {-0.5, 3}}, {1, {2}, {7, 9}}}, 3, &matrix);
}

/* 2 x 3: rows 1 2 6 and -1 0 4 */
static const struct tensor rows = {2, {2, 3}, {1, 2, 6, -1, 0, 4}};

static void whole_axes(void **state)
{
    static const struct {
        enum cc_op_kind kind;
        double want[2];
    } cases[] = {
        {CC_OP_REDUCE_MEAN, {3, 1}},         {CC_OP_REDUCE_SUM, {9, 3}},
        {CC_OP_REDUCE_MAX, {6, 4}},          {CC_OP_REDUCE_MIN, {1, -1}},
        {CC_OP_REDUCE_SUM_SQUARE, {41, 17}}, {CC_OP_REDUCE_L2_NORM, {6.403124, 4.123106}},
        {CC_OP_REDUCE_L1_NORM, {9, 5}},      {CC_OP_REDUCE_LOG_SUM, {2.197225, 1.098612}},
        {CC_OP_REDUCE_PROD, {12, 0}},        {CC_OP_REDUCE_LOG_SUM_EXP, {6.024745, 4.024745}},
    };
    struct tensor params[3] = {rows, {1, {3}, {2, 1, 1}}, {1, {3}, {0, 0, 10}}};

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tensor want = {1, {2}, {cases[i].want[0], cases[i].want[1]}};

        check(&(struct cc_op){.kind = cases[i].kind, .inputs = 1, .a.axes = 2}, &rows, 1, &want);
    }
    check(&(struct cc_op){.kind = CC_OP_SOFTMAX, .inputs = 1, .a.axis = 0}, &rows, 1,
          &(struct tensor){2, {2, 3}, {0.880797, 0.880797, 0.880797, 0.119203, 0.119203, 0.119203}});
    check(&(struct cc_op){.kind = CC_OP_LOG_SOFTMAX, .inputs = 1, .a.axis = 1}, &rows, 1,
          &(struct tensor){2, {2, 3}, {-5.024745, -4.024745, -0.024745, -5.024745, -4.024745, -0.024745}});
    check(&(struct cc_op){.kind = CC_OP_REDUCE_SUM, .inputs = 1, .a.axes = 1}, &rows, 1,
          &(struct tensor){1, {3}, {0, 2, 10}});
    check(&(struct cc_op){.kind = CC_OP_REDUCE_SUM, .inputs = 1, .a.axes = 3}, &rows, 1,
          &(struct tensor){0, {0}, {12}});
    check(&(struct cc_op){.kind = CC_OP_REDUCE_SUM, .inputs = 1, .a = {.axes = 2, .keep_dims = true}},
          &(struct tensor){3, {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}, 1,
          &(struct tensor){3, {2, 1, 2}, {4, 6, 12, 14}});
    /* 41 + 8 and 17 + 8 are squares */
    check(&(struct cc_op){.kind = CC_OP_L2_NORM, .inputs = 1, .a.epsilon = 8}, &rows, 1,
          &(struct tensor){2, {2, 3}, {1. / 7, 2. / 7, 6. / 7, -0.2, 0, 0.8}});
    /* means 3 and 1; both rows have the variance 14 / 3 */
    check(&(struct cc_op){.kind = CC_OP_LAYER_NORM,
                          .inputs = 1,
                          .a = {.axes = 2, .weight = 2, .bias = 3, .epsilon = 13.0f / 3}},
          params, 3, &(struct tensor){2, {2, 3}, {-4. / 3, -1. / 3, 11, -4. / 3, -1. / 3, 11}});
    /* over axis 0: columns 1 -1, 2 0, 6 4 all differ by 1 from their mean */
    check(&(struct cc_op){.kind = CC_OP_LAYER_NORM, .inputs = 1, .a = {.axes = 1, .weight = 2, .epsilon = 3}},
          (struct tensor[]){rows, {1, {2}, {2, 4}}}, 2, &(struct tensor){2, {2, 3}, {1, 1, 1, -2, -2, -2}});
    /* per channel (axis 1): 0 and 2 differ by 1 from their mean; 5 and 5 by nothing */
    check(&(struct cc_op){.kind = CC_OP_INSTANCE_NORM, .inputs = 1, .a = {.weight = 2, .epsilon = 3}},
          (struct tensor[]){{3, {1, 2, 2}, {0, 2, 5, 5}}, {1, {2}, {4, 1}}}, 2,
          &(struct tensor){3, {1, 2, 2}, {-2, 2, 0, 0}});
    check(
        &(struct cc_op){.kind = CC_OP_BATCH_NORM, .inputs = 1, .a = {.mean = 2, .variance = 3, .epsilon = 1}},
        (struct tensor[]){{3, {1, 2, 2}, {0, 2, 5, 5}}, {1, {2}, {1, 2}}, {1, {2}, {3, 8}}}, 3,
        &(struct tensor){3, {1, 2, 2}, {-0.5, 0.5, 1, 1}});
}

static void windows(void **state)
{
    /* two channels of 1 x 4 */
    static const struct tensor x = {4, {1, 2, 1, 4}, {1, 2, 3, 4, -1, 5, 0, 2}};
    struct cc_attributes a = {.kernel = {1, 3}, .stride = {1, 2}, .dilation = {1, 1}, .pad = {0, 0, 1, 0}};
    struct cc_op op = {.kind = CC_OP_MAX_POOL, .inputs = 1, .a = a};

    (void)state;
    check(&op, &x, 1, &(struct tensor){4, {1, 2, 1, 2}, {2, 4, 5, 5}});
    op.kind = CC_OP_AVG_POOL;
    check(&op, &x, 1, &(struct tensor){4, {1, 2, 1, 2}, {1, 3, 4. / 3, 7. / 3}});
    /* each channel by itself, with 1 0 -1 and 0 2 1, and 10 on the second */
    op.kind = CC_OP_CONV;
    op.a.groups = 2;
    op.a.weight = 2;
    op.a.bias = 3;
    check(&op, (struct tensor[]){x, {4, {2, 1, 1, 3}, {1, 0, -1, 0, 2, 1}}, {1, {2}, {0, 10}}}, 3,
          &(struct tensor){4, {1, 2, 1, 2}, {-2, -2, 13, 12}});
}

static void moves(void **state)
{
    (void)state;
    check(&(struct cc_op){.kind = CC_OP_TRANSPOSE, .inputs = 1, .a.perm = {1, 0}}, &rows, 1,
          &(struct tensor){2, {3, 2}, {1, -1, 2, 0, 6, 4}});
    check(&(struct cc_op){.kind = CC_OP_TRANSPOSE, .inputs = 1, .a.perm = {2, 0, 1}},
          &(struct tensor){3, {1, 2, 3}, {1, 2, 3, 4, 5, 6}}, 1,
          &(struct tensor){3, {3, 1, 2}, {1, 4, 2, 5, 3, 6}});
    check(&(struct cc_op){.kind = CC_OP_RESHAPE, .inputs = 1}, &rows, 1,
          &(struct tensor){2, {3, 2}, {1, 2, 6, -1, 0, 4}});
    check(&(struct cc_op){.kind = CC_OP_SLICE_BY_INDEX,
                          .inputs = 1,
                          .a = {.begin = {1, 1}, .size = {1, 2}, .axes = 1}},
          &rows, 1, &(struct tensor){1, {2}, {0, 4}});
    check(&(struct cc_op){.kind = CC_OP_TILE, .inputs = 1, .a.reps = {1, 2}}, &rows, 1,
          &(struct tensor){2, {2, 6}, {1, 2, 6, 1, 2, 6, -1, 0, 4, -1, 0, 4}});
    check(&(struct cc_op){.kind = CC_OP_CONCAT, .inputs = 2, .a.axis = 1},
          (struct tensor[]){rows, {2, {2, 1}, {8, 9}}}, 2,
          &(struct tensor){2, {2, 4}, {1, 2, 6, 8, -1, 0, 4, 9}});
    check(&(struct cc_op){.kind = CC_OP_STACK, .inputs = 2, .a.axis = 1},
          (struct tensor[]){{1, {2}, {1, 2}}, {1, {2}, {8, 9}}}, 2,
          &(struct tensor){2, {2, 2}, {1, 8, 2, 9}});
}

/* A row of five elements, and a window of 1 by `kernel` over it. */
static const struct tensor line = {4, {1, 1, 1, 5}, {1, 2, 3, 4, 5}};

static struct cc_op over_line(enum cc_op_kind kind, uint32_t kernel, uint32_t stride, uint32_t dilation,
                              uint32_t left, uint32_t right)
{
    return (struct cc_op){.kind = kind,
                          .inputs = 1,
                          .a = {.kernel = {1, kernel},
                                .stride = {1, stride},
                                .dilation = {1, dilation},
                                .pad = {0, 0, left, right},
                                .groups = 1}};
}

static void convolutions(void **state)
{
    struct cc_op op = over_line(CC_OP_CONV, 0, 2, 2, 1, 0);

    (void)state;
    op.a.weight = 2;
    /* 0 1 2 3 4 5, every second one, two apart: 0 + 20, 2 + 40 */
    check(&op, (struct tensor[]){line, {4, {1, 1, 1, 2}, {1, 10}}}, 2,
          &(struct tensor){4, {1, 1, 1, 2}, {20, 42}});
    op.a.stride[1] = op.a.dilation[1] = 1;
    op.a.pad[2] = 0;
    check(&op,
          (struct tensor[]){{4, {1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, {4, {1, 1, 2, 2}, {1, 2, 3, 4}}},
          2, &(struct tensor){4, {1, 1, 2, 2}, {37, 47, 67, 77}});
    /* padding on all sides: the corners see 1, 2, 3 and 4 of the kernel */
    op.a.pad[0] = op.a.pad[1] = op.a.pad[2] = op.a.pad[3] = 1;
    check(&op, (struct tensor[]){{4, {1, 1, 1, 1}, {10}}, {4, {1, 1, 2, 2}, {1, 2, 3, 4}}}, 2,
          &(struct tensor){4, {1, 1, 2, 2}, {40, 30, 20, 10}});
    /* two batches, two channels into one */
    op.a.pad[0] = op.a.pad[1] = op.a.pad[2] = op.a.pad[3] = 0;
    check(&op, (struct tensor[]){{4, {2, 2, 1, 1}, {1, 2, 3, 4}}, {4, {1, 2, 1, 1}, {10, 1}}}, 2,
          &(struct tensor){4, {2, 1, 1, 1}, {12, 34}});
}

static void transposed_convolutions(void **state)
{
    static const struct tensor two = {4, {1, 1, 1, 2}, {1, 2}}, weight = {4, {1, 1, 1, 3}, {1, 10, 100}};
    struct cc_op op = over_line(CC_OP_CONV_TRANSPOSE, 0, 2, 1, 0, 0);

    (void)state;
    op.a.weight = 2;
    op.a.size[0] = 1;
    op.a.size[1] = 5;
    /* 1 10 100 and, two places on, 2 20 200 */
    check(&op, (struct tensor[]){two, weight}, 2, &(struct tensor){4, {1, 1, 1, 5}, {1, 10, 102, 20, 200}});
    op.a.pad[2] = 1;
    check(&op, (struct tensor[]){two, weight}, 2, &(struct tensor){4, {1, 1, 1, 5}, {10, 102, 20, 200, 0}});
    op.a.size[1] = 3;
    op.a.bias = 3;
    check(&op, (struct tensor[]){two, weight, {1, {1}, {1000}}}, 3,
          &(struct tensor){4, {1, 1, 1, 3}, {1010, 1102, 1020}});
    op = over_line(CC_OP_CONV_TRANSPOSE, 0, 1, 2, 0, 0);
    op.a.weight = 2;
    op.a.size[0] = 1;
    op.a.size[1] = 4;
    check(&op, (struct tensor[]){two, {4, {1, 1, 1, 2}, {1, 10}}}, 2,
          &(struct tensor){4, {1, 1, 1, 4}, {1, 2, 10, 20}});
    /* channels by themselves; and all into all: 1 + 30, 2 + 40 */
    op.a.size[1] = 2;
    op.a.groups = 2;
    check(&op, (struct tensor[]){{4, {1, 2, 1, 2}, {1, 2, 3, 4}}, {4, {2, 1, 1, 1}, {3, 5}}}, 2,
          &(struct tensor){4, {1, 2, 1, 2}, {3, 6, 15, 20}});
    op.a.groups = op.a.size[1] = 1;
    check(&op, (struct tensor[]){{4, {1, 2, 1, 1}, {1, 10}}, {4, {2, 2, 1, 1}, {1, 2, 3, 4}}}, 2,
          &(struct tensor){4, {1, 2, 1, 1}, {31, 42}});
}

static void pools(void **state)
{
    struct cc_op op = over_line(CC_OP_MAX_POOL, 2, 2, 1, 0, 0);

    (void)state;
    op.a.ceil = true;
    check(&op, &line, 1, &(struct tensor){4, {1, 1, 1, 3}, {2, 4, 5}});
    op.kind = CC_OP_AVG_POOL;
    check(&op, &line, 1, &(struct tensor){4, {1, 1, 1, 3}, {1.5, 3.5, 5}});
    op = over_line(CC_OP_AVG_POOL, 3, 2, 1, 1, 1);
    check(&op, &line, 1, &(struct tensor){4, {1, 1, 1, 3}, {1, 3, 3}});
    op.a.exclude_padding = true;
    check(&op, &line, 1, &(struct tensor){4, {1, 1, 1, 3}, {1.5, 3, 4.5}});
    op.kind = CC_OP_L2_POOL;
    check(&op, &line, 1, &(struct tensor){4, {1, 1, 1, 3}, {sqrt(5), sqrt(29), sqrt(41)}});
    op = over_line(CC_OP_MAX_POOL, 2, 1, 3, 0, 0);
    check(&op, &line, 1, &(struct tensor){4, {1, 1, 1, 2}, {4, 5}});
    op = (struct cc_op){
        .kind = CC_OP_AVG_POOL, .inputs = 1, .a = {.kernel = {2, 2}, .stride = {2, 1}, .dilation = {1, 1}}};
    check(&op, &(struct tensor){4, {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}}, 1,
          &(struct tensor){4, {1, 1, 1, 2}, {3, 4}});
}

/* Matrices larger than the tiles that they are computed in. Element c, w of x is c + 1000 w. */
static void large_product(void **state)
{
    enum { IN = 300, OUT = 5, WIDTH = 19 };
    struct cc_graph *graph = cc_graph_create();
    struct base_error error;
    struct cc_build b = {.graph = graph, .name = "large", .error = &error};
    double *x = calloc(IN * WIDTH, sizeof(*x)), *y = calloc(OUT * WIDTH, sizeof(*y));
    float *weight = calloc(OUT * IN, sizeof(*weight));
    uint32_t in;
    const double *operand[1];

    (void)state;
    assert_non_null(x);
    assert_non_null(y);
    assert_non_null(weight);
    operand[0] = x;
    for (uint32_t c = 0; c < IN; c++)
        for (uint32_t w = 0; w < WIDTH; w++)
            x[c * WIDTH + w] = c + 1000. * w;
    for (uint32_t i = 0; i < OUT * IN; i++)
        weight[i] = (float)(i / IN + 1);
    in = (uint32_t)cc_graph_add_value(graph, "x", CC_FP16, 4, (const uint32_t[]){1, IN, 1, WIDTH});
    cc_build_op(&b, CC_OP_CONV, 1, &in,
                &(struct cc_attributes){
                    .weight = cc_build_floats(&b, 4, (const uint32_t[]){OUT, IN, 1, 1}, weight) + 1,
                    .stride = {1, 1},
                    .dilation = {1, 1},
                    .groups = 1});
    assert_int_equal(b.status, 0);
    assert_int_equal(cc_eval_op(graph, &graph->op[graph->ops - 1], operand, y, &error), 0);
    for (uint32_t o = 0; o < OUT; o++)
        for (uint32_t w = 0; w < WIDTH; w++) /* the sum of 0 to 299 is 44850 */
            if (y[o * WIDTH + w] != (o + 1) * (44850 + 300000. * w))
                fail_msg("%u, %u: %.17g", o, w, y[o * WIDTH + w]);
    cc_graph_destroy(graph);
    free(weight);
    free(x);
    free(y);
}

static void products(void **state)
{
    static const struct tensor a = {2, {2, 3}, {1, 2, 3, 4, 5, 6}}, b = {2, {3, 2}, {1, 0, 0, 1, 2, 2}};
    static const struct tensor c = {2, {2, 2}, {7, 8, 16, 17}};

    (void)state;
    check(&(struct cc_op){.kind = CC_OP_MATMUL, .inputs = 2}, (struct tensor[]){a, b}, 2, &c);
    check(&(struct cc_op){.kind = CC_OP_MATMUL, .inputs = 2, .a.transpose_x = true},
          (struct tensor[]){{2, {3, 2}, {1, 4, 2, 5, 3, 6}}, b}, 2, &c);
    check(&(struct cc_op){.kind = CC_OP_MATMUL, .inputs = 2, .a.transpose_y = true},
          (struct tensor[]){a, {2, {2, 3}, {1, 0, 2, 0, 1, 2}}}, 2, &c);
    /* batches of 2 by 1, and 1 by 2: four products of numbers */
    check(&(struct cc_op){.kind = CC_OP_MATMUL, .inputs = 2},
          (struct tensor[]){{4, {2, 1, 1, 1}, {2, 3}}, {4, {1, 2, 1, 1}, {10, 100}}}, 2,
          &(struct tensor){4, {2, 2, 1, 1}, {20, 200, 30, 300}});
    check(&(struct cc_op){.kind = CC_OP_LINEAR, .inputs = 1, .a = {.weight = 2, .bias = 3}},
          (struct tensor[]){a, {2, {2, 3}, {1, 0, 2, 0, 1, 2}}, {1, {2}, {100, 200}}}, 3,
          &(struct tensor){2, {2, 2}, {107, 208, 116, 217}});
}

static void channels(void **state)
{
    struct cc_op op = {.kind = CC_OP_PRELU, .inputs = 1, .a.weight = 2};

    (void)state;
    check(&op, (struct tensor[]){{3, {1, 2, 2}, {-1, 2, -3, 4}}, {1, {2}, {0.5, 2}}}, 2,
          &(struct tensor){3, {1, 2, 2}, {-0.5, 2, -6, 4}});
    op.kind = CC_OP_SOFTPLUS_PARAMETRIC;
    op.a.bias = 3;
    check(&op, (struct tensor[]){{3, {1, 2, 2}, {5, 6, 0, 1}}, {1, {2}, {1, 2}}, {1, {2}, {0, 1}}}, 3,
          &(struct tensor){3, {1, 2, 2}, {0.693147, 0.693147, 1.386294, 2.626523}});
    op = (struct cc_op){.kind = CC_OP_LOCAL_RESPONSE_NORM,
                        .inputs = 1,
                        .a = {.kernel = {3}, .alpha = 3, .beta = 1, .gamma = 1}};
    /* sums of squares 5, 14, 29, 25 */
    check(&op, &(struct tensor){3, {1, 4, 1}, {1, 2, 3, 4}}, 1,
          &(struct tensor){3, {1, 4, 1}, {1. / 6, 2. / 15, 0.1, 4. / 26}});
    op.a.kernel[0] = 2; /* this channel and the next one: 5, 13, 25, 16 */
    op.a.alpha = 2;
    check(&op, &(struct tensor){3, {1, 4, 1}, {1, 2, 3, 4}}, 1,
          &(struct tensor){3, {1, 4, 1}, {1. / 6, 1. / 7, 3. / 26, 4. / 17}});
}

static void picks(void **state)
{
    struct cc_op op = {.kind = CC_OP_CUMSUM, .inputs = 1, .a.axis = 1};

    (void)state;
    check(&op, &rows, 1, &(struct tensor){2, {2, 3}, {1, 3, 9, -1, -1, 3}});
    op.a.exclusive = true;
    check(&op, &rows, 1, &(struct tensor){2, {2, 3}, {0, 1, 3, 0, -1, -1}});
    op.a.reverse = true;
    check(&op, &rows, 1, &(struct tensor){2, {2, 3}, {8, 6, 0, 4, 4, 0}});
    op.a.exclusive = false;
    check(&op, &rows, 1, &(struct tensor){2, {2, 3}, {9, 8, 6, 3, 4, 4}});
    op.a = (struct cc_attributes){.axis = 0};
    check(&op, &rows, 1, &(struct tensor){2, {2, 3}, {1, 2, 6, 0, 2, 10}});
    op = (struct cc_op){.kind = CC_OP_GATHER, .inputs = 1, .a = {.axis = 1, .indices = 2}};
    check(&op, (struct tensor[]){rows, {2, {2, 2}, {2, 0, 1, 1}}}, 2,
          &(struct tensor){3, {2, 2, 2}, {6, 1, 2, 2, 4, -1, 0, 0}});
    op.a.axis = 0;
    check(&op, (struct tensor[]){rows, {0, {0}, {1}}}, 2, &(struct tensor){1, {3}, {-1, 0, 4}});
    check(&(struct cc_op){.kind = CC_OP_REVERSE, .inputs = 1, .a.axes = 2}, &rows, 1,
          &(struct tensor){2, {2, 3}, {6, 2, 1, 4, 0, -1}});
    check(&(struct cc_op){.kind = CC_OP_REVERSE, .inputs = 1, .a.axes = 3}, &rows, 1,
          &(struct tensor){2, {2, 3}, {4, 0, -1, 6, 2, 1}});
    check(&(struct cc_op){.kind = CC_OP_SLICE_BY_SIZE,
                          .inputs = 1,
                          .a = {.begin = {0, 0}, .size = {2, 2}, .step = {0, 2}}},
          &rows, 1, &(struct tensor){2, {2, 2}, {1, 6, -1, 4}});
}

static void pads(void **state)
{
    static const struct tensor x = {1, {3}, {1, 2, 3}};
    struct cc_op op = {.kind = CC_OP_PAD, .inputs = 1, .a = {.begin = {2}, .end = {1}, .alpha = 9}};

    (void)state;
    check(&op, &x, 1, &(struct tensor){1, {6}, {9, 9, 1, 2, 3, 9}});
    op.a.pad_mode = CC_PAD_REFLECT;
    check(&op, &x, 1, &(struct tensor){1, {6}, {3, 2, 1, 2, 3, 2}});
    op.a.pad_mode = CC_PAD_REPLICATE;
    check(&op, &x, 1, &(struct tensor){1, {6}, {1, 1, 1, 2, 3, 3}});
    op.a = (struct cc_attributes){.begin = {1, 0}, .end = {0, 1}};
    check(&op, &rows, 1, &(struct tensor){2, {3, 4}, {0, 0, 0, 0, 1, 2, 6, 0, -1, 0, 4, 0}});
}

static void blocks(void **state)
{
    static const struct tensor eight = {4, {1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7}};
    static const struct tensor block_first = {4, {1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7}};
    static const struct tensor channel_first = {4, {1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}};
    static const struct tensor wide = {4, {1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};
    static const struct tensor square = {4, {1, 1, 2, 4}, {1, 3, 2, 4, 5, 7, 6, 8}};
    struct cc_op op = {.kind = CC_OP_DEPTH_TO_SPACE, .inputs = 1, .a.block = {2, 2}};

    (void)state;
    check(&op, &wide, 1, &square);
    check(&op, &eight, 1, &block_first);
    op.a.order = CC_DEPTH_CHANNEL_FIRST;
    check(&op, &eight, 1, &channel_first);
    op.kind = CC_OP_SPACE_TO_DEPTH;
    check(&op, &channel_first, 1, &eight);
    op.a.order = CC_DEPTH_BLOCK_FIRST;
    check(&op, &block_first, 1, &eight);
    check(&op, &square, 1, &wide);
    /* x with its padding is 0 1 2 0 and 0 3 4 0 */
    op = (struct cc_op){
        .kind = CC_OP_SPACE_TO_BATCH, .inputs = 1, .a = {.block = {2, 2}, .pad = {0, 0, 1, 1}}};
    check(&op, &(struct tensor){4, {1, 1, 2, 2}, {1, 2, 3, 4}}, 1,
          &(struct tensor){4, {4, 1, 1, 2}, {0, 2, 1, 0, 0, 4, 3, 0}});
    op.kind = CC_OP_BATCH_TO_SPACE;
    check(&op, &(struct tensor){4, {4, 1, 1, 2}, {9, 2, 1, 9, 9, 4, 3, 9}}, 1,
          &(struct tensor){4, {1, 1, 2, 2}, {1, 2, 3, 4}});
    /* two batches become one; the block has one row of two */
    op.a = (struct cc_attributes){.block = {1, 2}};
    check(&op, &(struct tensor){4, {2, 1, 1, 2}, {1, 2, 3, 4}}, 1,
          &(struct tensor){4, {1, 1, 1, 4}, {1, 3, 2, 4}});
}

static struct cc_op resize_to(uint32_t height, uint32_t width, enum cc_resize resize,
                              enum cc_coordinate coordinate)
{
    return (struct cc_op){
        .kind = CC_OP_RESIZE,
        .inputs = 1,
        .a = {.size = {height, width}, .resize = resize, .coordinate = coordinate, .cubic = -0.75f}};
}

/* The figures of the linear and cubic cases are those of the examples in the description of ONNX's Resize. */
static void resizes(void **state)
{
    static const struct tensor x = {4, {1, 1, 2, 2}, {1, 2, 3, 4}};
    struct cc_op op = resize_to(4, 4, CC_RESIZE_LINEAR, CC_HALF_PIXEL);

    (void)state;
    check(&op, &x, 1,
          &(struct tensor){4,
                           {1, 1, 4, 4},
                           {1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4}});
    op.a.coordinate = CC_ALIGN_CORNERS;
    check(&op, &x, 1,
          &(struct tensor){4,
                           {1, 1, 4, 4},
                           {1, 4. / 3, 5. / 3, 2, 5. / 3, 2, 7. / 3, 8. / 3, 7. / 3, 8. / 3, 3, 10. / 3, 3,
                            10. / 3, 11. / 3, 4}});
    op = resize_to(1, 4, CC_RESIZE_LINEAR, CC_ASYMMETRIC);
    check(&op, &(struct tensor){2, {1, 2}, {1, 2}}, 1, &(struct tensor){2, {1, 4}, {1, 1.5, 2, 2}});
    op = resize_to(1, 8, CC_RESIZE_CUBIC, CC_HALF_PIXEL);
    check(&op, &(struct tensor){2, {1, 4}, {0, 1, 2, 3}}, 1,
          &(struct tensor){
              2,
              {1, 8},
              {-0.10546875, 0.19140625, 0.66796875, 1.296875, 1.703125, 2.33203125, 2.80859375, 3.10546875}});
    /* one element of three: the middle, or the first one */
    op = resize_to(1, 1, CC_RESIZE_LINEAR, CC_HALF_PIXEL);
    check(&op, &(struct tensor){2, {1, 3}, {5, 6, 9}}, 1, &(struct tensor){2, {1, 1}, {6}});
    op.a.coordinate = CC_PYTORCH_HALF_PIXEL;
    check(&op, &(struct tensor){2, {1, 3}, {5, 6, 9}}, 1, &(struct tensor){2, {1, 1}, {5}});
}

static void nearest(void **state)
{
    /* five of two: places 0, 0.4, 0.8, 1.2, 1.6; with half pixels -0.3, 0.1, 0.5, 0.9, 1.3 */
    static const struct {
        enum cc_coordinate coordinate;
        enum cc_nearest mode;
        double want[5];
    } cases[] = {
        {CC_ASYMMETRIC, CC_ROUND_FLOOR, {7, 7, 7, 8, 8}},
        {CC_ASYMMETRIC, CC_ROUND_CEIL, {7, 8, 8, 8, 8}},
        {CC_ASYMMETRIC, CC_ROUND_PREFER_FLOOR, {7, 7, 8, 8, 8}},
        {CC_HALF_PIXEL, CC_ROUND_PREFER_FLOOR, {7, 7, 7, 8, 8}},
        {CC_HALF_PIXEL, CC_ROUND_PREFER_CEIL, {7, 7, 8, 8, 8}},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cc_op op = resize_to(1, 5, CC_RESIZE_NEAREST, cases[i].coordinate);
        struct tensor want = {2, {1, 5}, {0}};

        op.a.nearest = cases[i].mode;
        memcpy(want.x, cases[i].want, sizeof(cases[i].want));
        check(&op, &(struct tensor){2, {1, 2}, {7, 8}}, 1, &want);
    }
}

/* Folding. */

static double folded(enum cc_op_kind kind, enum cc_type type, const struct tensor *t, uint32_t inputs,
                     const struct cc_attributes *a, enum cc_type want)
{
    struct cc_graph *graph = cc_graph_create();
    struct base_error error;
    struct cc_build b = {.graph = graph, .name = "f", .error = &error};
    uint32_t input[3], y;
    bool done = false;
    double first;

    for (uint32_t i = 0; i < inputs; i++) {
        void *data = base_alloc(MOST * 4);

        assert_non_null(data);
        for (unsigned k = 0; k < MOST; k++) {
            switch (type) {
            case CC_FP16: ((uint16_t *)data)[k] = test_half_from_double(t[i].x[k]); break;
            case CC_FP32: ((float *)data)[k] = (float)t[i].x[k]; break;
            case CC_INT32: ((int32_t *)data)[k] = (int32_t)t[i].x[k]; break;
            case CC_BOOL: ((uint8_t *)data)[k] = (uint8_t)t[i].x[k]; break;
            }
        }
        input[i] = cc_build_const(&b, type, t[i].rank, t[i].dim, data);
    }
    y = cc_build_op(&b, kind, inputs, input, a);
    if (b.status || cc_eval_fold(graph, graph->ops - 1, &done, &error))
        fail_msg("%s", error.text);
    assert_true(done);
    assert_int_equal(graph->op[graph->ops - 1].kind, CC_OP_CONST);
    assert_int_equal(graph->value[y].type, want);
    first = cc_value_number(&graph->value[y], 0);
    cc_graph_destroy(graph);
    return first;
}

static double fold_ints(enum cc_op_kind kind, double x, double y)
{
    return folded(kind, CC_INT32, (struct tensor[]){{1, {1}, {x}}, {1, {1}, {y}}}, 2, NULL, CC_INT32);
}

static double fold_cast(enum cc_type from, double x, enum cc_type to)
{
    return folded(CC_OP_CAST, from, &(struct tensor){1, {1}, {x}}, 1, &(struct cc_attributes){.to = to}, to);
}

static void folds(void **state)
{
    (void)state;
    assert_true(fold_ints(CC_OP_REAL_DIV, -7, 2) == -3);
    assert_true(fold_ints(CC_OP_FLOOR_DIV, -7, 2) == -4);
    assert_true(fold_ints(CC_OP_MOD, -7, 2) == 1);
    assert_true(fold_ints(CC_OP_MUL, 65536, 65536) == INT32_MAX);
    assert_true(fold_ints(CC_OP_SUB, INT32_MIN, 1) == INT32_MIN);
    assert_true(fold_ints(CC_OP_REAL_DIV, 0, 0) == 0);
    assert_true(fold_cast(CC_FP32, -2.75, CC_INT32) == -2);
    assert_true(fold_cast(CC_FP32, 1e20, CC_INT32) == INT32_MAX);
    assert_true(fold_cast(CC_FP32, (double)0.1f, CC_FP16) == 0x1.998p-4);
    assert_true(fold_cast(CC_INT32, -3, CC_BOOL) == 1);
    assert_true(fold_cast(CC_BOOL, 1, CC_FP32) == 1);
    assert_true(
        folded(CC_OP_LESS, CC_INT32, (struct tensor[]){{1, {1}, {1}}, {1, {1}, {2}}}, 2, NULL, CC_BOOL) == 1);
    /* 1 + 2^-11 + 2^-24 is above the middle of two fp16 numbers, but its nearest fp32 is that middle */
    assert_true(folded(CC_OP_REDUCE_SUM, CC_FP16, &(struct tensor){1, {3}, {1, 0x1p-11, 0x1p-24}}, 1,
                       &(struct cc_attributes){.axes = 1}, CC_FP16) == 1 + 0x1p-10);
}

/* x + 1 = y, 2 y = z, and an operation that no output needs. */
static void whole_graph(void **state)
{
    struct cc_graph *graph = cc_graph_create();
    struct base_error error;
    struct cc_build b = {.graph = graph, .name = "g", .error = &error};
    uint32_t x, y, z, unused;
    struct cc_eval eval;

    (void)state;
    x = (uint32_t)cc_graph_add_value(graph, "x", CC_FP16, 0, NULL);
    assert_int_equal(cc_graph_add_input(graph, x), 0);
    y = cc_build_binary(&b, CC_OP_ADD, x, cc_build_scalar(&b, 1));
    unused = cc_build_unary(&b, CC_OP_EXP, y);
    z = cc_build_binary(&b, CC_OP_MUL, y, cc_build_scalar(&b, 2));
    assert_int_equal(b.status, 0);
    assert_int_equal(cc_graph_add_output(graph, z), 0);
    assert_int_equal(cc_eval_open(&eval, graph, &error), 0);
    assert_true(cc_eval_run(&eval, 0, &error) < 0);
    assert_non_null(strstr(error.text, "`x`"));
    assert_int_equal(cc_eval_set(&eval, x, &(double){3}, &error), 0);
    assert_int_equal(cc_eval_run(&eval, 0, &error), 0);
    assert_true(eval.value[z][0] == 8);
    assert_null(eval.value[unused]);
    assert_int_equal(cc_eval_set(&eval, y, &(double){10}, &error), 0);
    assert_int_equal(cc_eval_run(&eval, 0, &error), 0);
    assert_true(eval.value[z][0] == 20);
    assert_true(eval.value[y][0] == 10);
    cc_eval_close(&eval);
    cc_graph_destroy(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary),         cmocka_unit_test(pairs),
        cmocka_unit_test(whole_axes),    cmocka_unit_test(windows),
        cmocka_unit_test(moves),         cmocka_unit_test(convolutions),
        cmocka_unit_test(pools),         cmocka_unit_test(transposed_convolutions),
        cmocka_unit_test(large_product), cmocka_unit_test(products),
        cmocka_unit_test(channels),      cmocka_unit_test(picks),
        cmocka_unit_test(pads),          cmocka_unit_test(blocks),
        cmocka_unit_test(resizes),       cmocka_unit_test(nearest),
        cmocka_unit_test(folds),         cmocka_unit_test(whole_graph),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
