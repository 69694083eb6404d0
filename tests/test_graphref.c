/* SPDX-License-Identifier: Apache-2.0 */
/* The meanings that other tests compare with, against numbers worked out by hand. */
#include "graphref.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define MOST 16

struct tensor {
    uint32_t rank, dim[CC_RANK_MAX];
    double x[MOST];
};

/*
 * One operation on up to three tensors, and on constants that follow
 * them; the result has the shape of `want`.
 */
static void check(const struct cc_op *given, const struct tensor *tensors, uint32_t count,
                  const struct tensor *want)
{
    struct cc_graph *graph = cc_graph_create();
    struct gr_array array[6];
    struct cc_op op = *given;

    assert_non_null(graph);
    for (uint32_t i = 0; i <= count; i++) {
        const struct tensor *t = i < count ? &tensors[i] : want;

        assert_int_equal(cc_graph_add_value(graph, "v", CC_FP16, t->rank, t->dim), i);
        array[i] = gr_array_of(&graph->value[i]);
        if (i < count)
            memcpy(array[i].x, t->x, gr_elements(&graph->value[i]) * sizeof(double));
        if (i < op.inputs)
            op.input[i] = i;
    }
    op.output = count;
    gr_compute(graph, &op, array);
    for (size_t i = 0; i < gr_elements(&graph->value[count]); i++)
        if (!(fabs(array[count].x[i] - want->x[i]) < 1e-4))
            fail_msg("%s, element %zu: %.9g, expected %.9g", cc_op_name(op.kind), i, array[count].x[i],
                     want->x[i]);
    for (uint32_t i = 0; i <= count; i++)
        free(array[i].x);
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
        {CC_OP_NOT_EQUAL, {1, 1, 1, 1}},       {CC_OP_LOGICAL_AND, {1, 1, 1, 1}},
        {CC_OP_LOGICAL_XOR, {0, 0, 0, 0}},
    };
    struct tensor two[3] = {four, {0, {0}, {2}}, {1, {2}, {7, 9}}};
    struct tensor matrix = {2, {2, 2}, {7, -0.5, 7, 9}};

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tensor want = {1, {4}, {0}};

        memcpy(want.x, cases[i].want, sizeof(cases[i].want));
        check(&(struct cc_op){.kind = cases[i].kind, .inputs = 2}, two, 2, &want);
    }
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
    };
    struct tensor params[3] = {rows, {1, {3}, {2, 1, 1}}, {1, {3}, {0, 0, 10}}};

    (void)state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tensor want = {1, {2}, {cases[i].want[0], cases[i].want[1]}};

        check(&(struct cc_op){.kind = cases[i].kind, .inputs = 1, .a.axes = 2}, &rows, 1, &want);
    }
    check(&(struct cc_op){.kind = CC_OP_SOFTMAX, .inputs = 1, .a.axis = 0}, &rows, 1,
          &(struct tensor){2, {2, 3}, {0.880797, 0.880797, 0.880797, 0.119203, 0.119203, 0.119203}});
    /* means 3 and 1; both rows have the variance 14 / 3 */
    check(&(struct cc_op){.kind = CC_OP_LAYER_NORM,
                          .inputs = 1,
                          .a = {.axes = 2, .weight = 2, .bias = 3, .epsilon = 13.0f / 3}},
          params, 3, &(struct tensor){2, {2, 3}, {-4. / 3, -1. / 3, 11, -4. / 3, -1. / 3, 11}});
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary),   cmocka_unit_test(pairs), cmocka_unit_test(whole_axes),
        cmocka_unit_test(windows), cmocka_unit_test(moves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
