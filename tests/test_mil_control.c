/* SPDX-License-Identifier: Apache-2.0 */
/* cond and while_loop of MIL text: the branch of a constant, loops of constant rounds, and what is refused. */
#include "mil_text.h"

#define A "tensor<fp16, [1, 4, 6, 8]>"

/* Operations of this kind. */
static unsigned count(const struct cc_graph *graph, enum cc_op_kind kind)
{
    unsigned found = 0;

    for (uint32_t i = 0; i < graph->ops; i++)
        found += graph->op[i].kind == kind;
    return found;
}

static void check(const char *body, enum cc_op_kind kind, unsigned times)
{
    struct cc_graph *graph = parse(around(body));

    if (count(graph, kind) != times)
        fail_msg("%s: %u of kind %s, expected %u", body, count(graph, kind), cc_op_name(kind), times);
    assert_string_equal(graph->value[graph->output[0]].name, "y");
    cc_graph_destroy(graph);
}

static void branch_of_a_constant(void **state)
{
    static const char *const forms[] = {
        A " y = cond(pred = p)[name = string(\"c\")] { " A " t = relu(x = a); } -> (t) { " A
          " t = tanh(x = a); } -> (t);",
        A " y = cond(pred = p) yes() { " A " t = relu(x = a); } -> (t), no() { " A
          " f = tanh(x = a); } -> (f)[name = string(\"c\")];",
    };
    char body[0x1000];

    (void)state;
    for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        for (unsigned truth = 0; truth < 2; truth++) {
            snprintf(body, sizeof(body), "bool p = const()[val = bool(%s)];%s", truth ? "true" : "false",
                     forms[i]);
            check(body, CC_OP_RELU, truth);
            check(body, CC_OP_TANH, !truth);
        }
    }
    /* the branch that is not taken may have operations that are not known; blocks see names around them */
    check("bool p = const()[val = bool(true)]; " A " z = abs(x = a); " A " y = cond(pred = p) { " A
          " t = relu(x = z); } -> (t) { " A " t = no_such_operation(x = z); } -> (t);",
          CC_OP_RELU, 1);
    /* the predicate is computed from a shape */
    check(
        "tensor<int32, [4]> s = shape(x = a);"
        "tensor<int32, [1]> c = slice_by_size(x = s, begin = tensor<int32, [1]>([1]), size = tensor<int32, [1]>([1]));"
        "tensor<bool, [1]> p = equal(x = c, y = tensor<int32, [1]>([4])); " A " y = cond(pred = p) { " A
        " t = relu(x = a); } -> (t) { } -> (a);",
        CC_OP_RELU, 1);
    /* several results; an input is one of them */
    check("bool p = const()[val = bool(true)]; " A " u, " A " v = cond(pred = p) { " A
          " t = relu(x = a); } -> (t, a) { } -> (a, a); " A " y = add(x = u, y = v);",
          CC_OP_ADD, 1);
    /* a branch in a branch */
    check("bool p = const()[val = bool(true)]; " A
          " y = cond(pred = p) { bool q = const()[val = bool(false)]; " A
          " r = cond(pred = q) { } -> (a) { " A " t = relu(x = a); } -> (t); } -> (r) { } -> (a);",
          CC_OP_RELU, 1);
}

static void rounds_are_unrolled(void **state)
{
    static const char loop[] =
        "int32 zero = const()[val = int32(0)]; int32 one = const()[val = int32(1)];"
        "int32 k, " A " y = while_loop(loop_vars = (zero, a))[name = string(\"rounds\")]"
        " cond_block(int32 i, " A " v) { bool more = less(x = i, y = int32(%u)); } -> (more)"
        " body_block(j, w) { int32 next = add(x = j, y = one); " A " t = relu(x = w); } -> (next, t);";
    struct cc_graph *graph;
    char body[0x1000];

    (void)state;
    for (unsigned rounds = 0; rounds < 6; rounds += 1 + rounds) {
        snprintf(body, sizeof(body), loop, rounds);
        if (!rounds) /* no round: the variable is the input, and the output is a copy of it */
            check(body, CC_OP_RELU, 0);
        else
            check(body, CC_OP_RELU, rounds);
    }
    /* the nodes have the name of the loop and the number of the round */
    snprintf(body, sizeof(body), loop, 2u);
    graph = parse(around(body));
    for (uint32_t i = graph->ops; i-- > 0;) {
        if (graph->op[i].kind == CC_OP_RELU) {
            assert_string_equal(graph->op[i].name, "rounds[1]/t");
            break;
        }
    }
    cc_graph_destroy(graph);
    /* the count is what the loop leaves behind */
    snprintf(body, sizeof(body), loop, 3u);
    strstr(body, " y = while_loop")[1] = 'r';
    strcat(body, "fp16 f = cast(x = k, dtype = string(\"fp16\")); " A " y = mul(x = r, y = f);");
    graph = parse(around(body));
    assert_int_equal(graph->op[graph->ops - 1].kind, CC_OP_MUL);
    assert_true(cc_value_number(&graph->value[graph->op[graph->ops - 1].input[1]], 0) == 3);
    cc_graph_destroy(graph);
}

/* Loops in each other: three rounds of two, and a branch in each that depends on the round. */
static void loops_in_loops(void **state)
{
    static const char body[] =
        "int32 zero = const()[val = int32(0)]; int32 one = const()[val = int32(1)];"
        "int32 k, " A " y = while_loop(loop_vars = (zero, a))"
        " c(int32 i, " A " v) { bool m = less(x = i, y = int32(3)); } -> (m)"
        " b(int32 j, " A " w) { int32 n = add(x = j, y = one);"
        "   int32 kk, " A " in = while_loop(loop_vars = (zero, w))"
        "     c(int32 ii, " A " vv) { bool mm = less(x = ii, y = int32(2)); } -> (mm)"
        "     b(int32 jj, " A " ww) { int32 nn = add(x = jj, y = one); bool p = equal(x = jj, y = one);"
        "       " A " s = cond(pred = p) { " A " t = relu(x = ww); } -> (t) { " A
        " t = tanh(x = ww); } -> (t);"
        "     } -> (nn, s);"
        " } -> (n, in);";

    (void)state;
    check(body, CC_OP_RELU, 3);
    check(body, CC_OP_TANH, 3);
}

static void data_is_refused(void **state)
{
    (void)state;
    refused(
        around("tensor<fp16, [1, 1, 1, 1]> m = reduce_max(x = a, keep_dims = bool(true));"
               "tensor<bool, [1, 1, 1, 1]> p = greater(x = m, y = m); " A
               " y = cond(pred = p)[name = string(\"pick\")] { } -> (a) { } -> (a);"),
        EOPNOTSUPP,
        "cond `pick`: its condition depends on data at run time: the engine has no branches (data-dependent "
        "control flow).");
    refused(
        around(A
               " y = while_loop(loop_vars = (a)) c(" A
               " v) { tensor<fp16, [1, 1, 1, 1]> m = reduce_max(x = v, "
               "keep_dims = bool(true)); tensor<bool, [1, 1, 1, 1]> p = greater(x = m, y = m); } -> (p) b(" A
               " w) { } -> (w);"),
        EOPNOTSUPP,
        "while_loop `y`: its condition depends on data at run time: the engine has no branches (data-dependent "
        "control flow).");
}

static void limits(void **state)
{
    char text[0x2000] = "bool p = const()[val = bool(true)]; ";

    (void)state;
    /* a loop without an end */
    refused(
        around(
            A
            " y = while_loop(loop_vars = (a)) c(v) { bool p = const()[val = bool(true)]; } -> (p) b(w) { } -> "
            "(w);"),
        EFBIG, "while_loop `y`: it becomes more than 4096 nodes: a loop is unrolled, and that is the limit.");
    /* blocks in each other */
    for (unsigned i = 0; i < 18; i++)
        sprintf(text + strlen(text), A " y%u = cond(pred = p) { ", i);
    for (unsigned i = 18; i-- > 0;)
        sprintf(text + strlen(text), "} -> (%s%.0u) { } -> (a); ", i == 17 ? "a" : "y", i == 17 ? 0 : i + 1);
    strcat(text, A " y = relu(x = y0);");
    refused(around(text), EFBIG, "blocks are more than 16 deep in each other.");
}

static void wrong_texts(void **state)
{
#define P "bool p = const()[val = bool(true)]; "
    static const struct {
        const char *body, *sentence;
    } bad[] = {
        {A " y = cond() { } -> (a) { } -> (a);", "cond has no argument `pred`, which it needs."},
        {P A " y = cond(pred = p, x = a) { } -> (a) { } -> (a);", "cond has no argument `x`"},
        {P A " y = cond(pred = p) { } -> (a);", "found `;`, expected `{`."},
        {P A " y = cond(pred = p);", "found `;`, expected `{`."},
        {P A " y = cond(pred = p) { } { } -> (a);", "expected `-> (results)` of the block."},
        {P A " y = cond(pred = p) { } -> (a, a) { } -> (a);",
         "cond `y`: it gives 2 results, but 1 names are before `=`."},
        {P A " y = cond(pred = p) { } -> (b) { } -> (a);",
         "it gives tensor<fp16, [4, 1, 8]>, but tensor<fp16, [1, 4, 6, 8]> is declared."},
        {P A " y = cond(pred = p) { " A " t = relu(x = a); } -> (t) { } -> (a); " A " z = relu(x = t);",
         "nothing before this line is called `t`."},
        {P A " y = cond(pred = p) { } -> (t) { } -> (a);", "nothing before this line is called `t`."},
        {P A " y = cond(pred = p) { " A " a = relu(x = a); } -> (a) { } -> (a);",
         "the name `a` is defined twice."},
        {A " y = while_loop(loop_vars = (a)) c() { } -> (a) b(w) { } -> (w);",
         "while_loop `y`: its block does not have 1 inputs"},
        {A " y = while_loop(loop_vars = (a)) c(v, w) { } -> (v) b(w) { } -> (w);",
         "while_loop `y`: its block does not have 1 inputs"},
        {A " y = while_loop(loop_vars = (a)) c(tensor<fp16, [4]> v) { } -> (v) b(w) { } -> (w);",
         "input `v` of the block is tensor<fp16, [1, 4, 6, 8]>, but tensor<fp16, [4]> is declared."},
        {A " y = while_loop(loop_vars = (a)) c(v) { " P "} -> (p) b(w) { } -> (w, w);",
         "while_loop `y`: its body does not have a result for each variable of the loop."},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refused(around(bad[i].body), EINVAL, bad[i].sentence);
}

/* A text that ends anywhere, or has a byte too much, is refused or read, and nothing is lost. */
static void torn_texts(void **state)
{
    static const char body[] = "int32 zero = const()[val = int32(0)]; bool p = const()[val = bool(true)];"
                               "int32 k, " A " y = while_loop(loop_vars = (zero, a))"
                               " c(int32 i, " A " v) { bool m = less(x = i, y = int32(2)); } -> (m)"
                               " b(j, w) { int32 n = add(x = j, y = int32(1)); " A " t = cond(pred = p) { " A
                               " r = relu(x = w); } -> (r) { } -> (w); } -> (n, t);";
    static const char marks[] = "{}()<>,;=-x0";
    char text[0x1000];
    size_t length;

    (void)state;
    length =
        (size_t)snprintf(text, sizeof(text), "program(1.3)\n{func main<ios18>(" A " a) {%s} -> (y);}", body);
    for (size_t cut = 0; cut < length; cut++) {
        struct base_error error = {""};
        struct cc_graph *graph = NULL;

        assert_int_not_equal(cc_mil_read(text, cut, NULL, &graph, &error), 0);
        assert_null(graph);
        for (unsigned m = 0; m < sizeof(marks) - 1; m++) {
            char kept = text[cut];

            text[cut] = marks[m];
            cc_mil_read(text, length, NULL, &graph, &error);
            cc_graph_destroy(graph);
            text[cut] = kept;
        }
    }
}

/* Every allocation fails once. */
static void no_memory(void **state)
{
    static const char body[] =
        "int32 zero = const()[val = int32(0)];"
        "int32 k, " A " y = while_loop(loop_vars = (zero, a))"
        " c(i, v) { bool m = less(x = i, y = int32(2)); } -> (m)"
        " b(j, w) { int32 n = add(x = j, y = int32(1)); " A " t = relu(x = w); } -> (n, t);";
    const char *text = around(body);
    struct base_error error;
    int status = -ENOMEM;

    (void)state;
    for (unsigned long n = 1; status; n++) {
        struct cc_graph *graph = NULL;

        base_alloc_fail_nth(n);
        status = cc_mil_read(text, strlen(text), NULL, &graph, &error);
        base_alloc_fail_nth(0);
        assert_true(status == 0 || status == -ENOMEM);
        cc_graph_destroy(graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(branch_of_a_constant),
        cmocka_unit_test(rounds_are_unrolled),
        cmocka_unit_test(loops_in_loops),
        cmocka_unit_test(data_is_refused),
        cmocka_unit_test(limits),
        cmocka_unit_test(wrong_texts),
        cmocka_unit_test(no_memory),
        cmocka_unit_test(torn_texts),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
