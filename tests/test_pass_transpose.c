/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposes cancel each other: networks whose channels are last, as TensorFlow's exports are, and every
 * operation that a transpose moves through. The number that is left is counted, and the result is compared on
 * the machine with the graph's definition.
 */
#include <string.h>

#include "compiler/graph/build.h"
#include "lower_machine.h"

struct trial {
    struct gr g;
    struct base_error error;
    struct cc_build b;
    uint32_t x;
};

static const uint32_t to_first[4] = {0, 3, 1, 2}, to_last[4] = {0, 2, 3, 1};

static void begin(struct trial *t, uint64_t stream, struct gr_shape shape)
{
    gr_open(&t->g, stream, GR_WHOLE);
    t->g.most = 2;
    t->b = (struct cc_build){.graph = t->g.graph, .name = "y", .error = &t->error};
    t->x = gr_input(&t->g, "x", CC_FP16, shape);
}

/* Transposes that are left; then the machine's result is compared. */
static unsigned end(struct trial *t, uint32_t y)
{
    struct cc_graph *copy;
    unsigned count = 0;

    if (t->b.status)
        fail_msg("%s", t->error.text);
    gr_output(&t->g, y);
    assert_int_equal(cc_graph_copy(t->g.graph, &copy), 0);
    if (cc_pass_transpose(&copy, &t->error))
        fail_msg("%s", t->error.text);
    for (uint32_t i = 0; i < copy->ops; i++)
        count += copy->op[i].kind == CC_OP_TRANSPOSE && !copy->value[copy->op[i].input[0]].data;
    cc_graph_destroy(copy);
    gr_check(&t->g, &client);
    gr_close(&t->g);
    return count;
}

static uint32_t first(struct trial *t, uint32_t x)
{
    return cc_build_transpose(&t->b, x, to_first);
}

static uint32_t last(struct trial *t, uint32_t x)
{
    return cc_build_transpose(&t->b, x, to_last);
}

/* A convolution of a tensor whose channels are last. */
static uint32_t conv(struct trial *t, uint32_t x, uint32_t in, uint32_t out)
{
    struct cc_attributes a = {.stride = {1, 1}, .dilation = {1, 1}, .groups = 1};

    a.weight = gr_const(&t->g, GR(out, in, 1, 1)) + 1;
    x = first(t, x);
    return last(t, cc_build_op(&t->b, CC_OP_CONV, 1, &x, &a));
}

/*
 * Two blocks with a bias, a ReLU and a residual: of six transposes, that of x and that of the result stay.
 */
static void channels_last(void **state)
{
    struct trial t;
    uint32_t a, b;

    (void)state;
    begin(&t, 1, GR(1, 4, 5, 3));
    a = conv(&t, t.x, 3, 6);
    a = cc_build_binary(&t.b, CC_OP_ADD, a, gr_const(&t.g, GR(6)));
    a = cc_build_unary(&t.b, CC_OP_RELU, a);
    b = conv(&t, a, 6, 6);
    b = cc_build_binary(&t.b, CC_OP_ADD, b, gr_const(&t.g, GR(1, 1, 1, 6)));
    b = cc_build_binary(&t.b, CC_OP_ADD, a, b);
    b = cc_build_unary(&t.b, CC_OP_RELU, b);
    assert_int_equal(end(&t, conv(&t, b, 6, 2)), 2);
}

/* The mean over H and W of channels that are last: no transpose is left behind the first. */
static void means(void **state)
{
    struct trial t;
    uint32_t y;

    (void)state;
    begin(&t, 2, GR(1, 4, 4, 3));
    y = conv(&t, t.x, 3, 6);
    assert_int_equal(end(&t, cc_build_reduce(&t.b, CC_OP_REDUCE_MAX, y, 6, false)), 1);
    begin(&t, 3, GR(2, 3, 4, 5));
    y = last(&t, t.x);
    y = cc_build_reduce(&t.b, CC_OP_REDUCE_SUM, y, 1u << 1, true);
    assert_int_equal(end(&t, first(&t, y)), 0);
}

static void lists_and_ranges(void **state)
{
    struct cc_attributes pad = {.begin = {0, 1, 0, 2}, .end = {0, 0, 1, 1}, .alpha = 3};
    const uint32_t begin_at[5] = {0, 1, 0, 1}, size[5] = {1, 2, 4, 2}, step[5] = {1, 1, 1, 2};
    struct trial t;
    uint32_t y, z;

    (void)state;
    begin(&t, 4, GR(1, 5, 3, 4));
    z = gr_input(&t.g, "z", CC_FP16, GR(1, 6, 3, 4));
    y = cc_build_concat(&t.b, 3, (uint32_t[]){last(&t, t.x), gr_const(&t.g, GR(1, 3, 4, 2)), last(&t, z)}, 3);
    assert_int_equal(end(&t, first(&t, y)), 0);
    begin(&t, 5, GR(1, 5, 3, 4));
    y = cc_build_slice(&t.b, last(&t, t.x), begin_at, size, step);
    y = cc_build_op(&t.b, CC_OP_PAD, 1, &y, &pad);
    assert_int_equal(end(&t, first(&t, y)), 0);
}

static void selections(void **state)
{
    struct trial t;
    uint32_t y, z;

    (void)state;
    begin(&t, 6, GR(1, 5, 3, 4));
    z = gr_input(&t.g, "z", CC_FP16, GR(1, 5, 1, 4));
    y = cc_build_binary(&t.b, CC_OP_GREATER, last(&t, t.x), last(&t, z));
    y = cc_build_op(&t.b, CC_OP_SELECT, 3, (uint32_t[]){y, gr_const(&t.g, GR(4, 5)), gr_scalar(&t.g, 2)},
                    NULL);
    assert_int_equal(end(&t, first(&t, y)), 0);
}

/* One operand that is not transposed: the transpose stays where it is. */
static void never_more(void **state)
{
    struct trial t;
    uint32_t y, z;

    (void)state;
    begin(&t, 7, GR(1, 5, 3, 4));
    z = gr_input(&t.g, "z", CC_FP16, GR(1, 3, 4, 5));
    y = cc_build_binary(&t.b, CC_OP_ADD, last(&t, t.x), z);
    assert_int_equal(end(&t, cc_build_unary(&t.b, CC_OP_RELU, y)), 1);
    /* two that are different */
    begin(&t, 8, GR(1, 4, 4, 4));
    y = cc_build_binary(&t.b, CC_OP_SUB, last(&t, t.x), first(&t, t.x));
    assert_int_equal(end(&t, y), 2);
    /* axes of length 1 do not need one */
    begin(&t, 9, GR(1, 4, 1, 6));
    assert_int_equal(end(&t, cc_build_transpose(&t.b, t.x, (uint32_t[]){2, 1, 0, 3})), 0);
}

/* fp32 is for ports: a transpose stays before the cast. */
static void casts(void **state)
{
    struct trial t;

    (void)state;
    begin(&t, 10, GR(1, 5, 3, 4));
    assert_int_equal(end(&t, cc_build_cast(&t.b, last(&t, t.x), CC_FP32)), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_last), cmocka_unit_test(means),      cmocka_unit_test(lists_and_ranges),
        cmocka_unit_test(selections),    cmocka_unit_test(never_more), cmocka_unit_test(casts),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
