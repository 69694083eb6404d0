/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged and hostile ONNX files: every one is refused in one sentence, or read into a graph that passes its
 * check, with bounded memory and time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "onnxrig.h"

static CcGraph *begin(struct onnxrig *r, const int64_t *dims)
{
    onnxrig_begin(r, 13);
    onnxrig_input(r, r->model->graph, "x", ONNXRIG_FLOAT, dims);
    onnxrig_output(r, r->model->graph, "y", ONNXRIG_FLOAT);
    return r->model->graph;
}

/* A model with a bit of everything. */
static void make_model(struct onnxrig *r)
{
    CcGraph *g = begin(r, ONNXRIG_DIMS(1, 2, 4, 4)), *branch = onnxrig_graph(r);
    float weights[2 * 2 * 3 * 3] = {1, 2, 3};
    CcNode *node;

    onnxrig_floats(r, "w", ONNXRIG_DIMS(2, 2, 3, 3), weights);
    onnxrig_ints(r, "shape", ONNXRIG_DIMS(2), (const int64_t[]){1, -1});
    node = onnxrig_node(r, g, "Conv", "x w", "c");
    onnxrig_list(r, node, "pads", ONNXRIG_DIMS(1, 1, 1, 1));
    onnxrig_word(r, node, "auto_pad", "NOTSET");
    onnxrig_initializer(r, g, onnxrig_tensor(r, "true", ONNXRIG_BOOL, ONNXRIG_SCALAR, "\1", 1));
    onnxrig_float(r, onnxrig_node(r, branch, "LeakyRelu", "c", "t"), "alpha", 0.1f);
    onnxrig_output(r, branch, "t", ONNXRIG_FLOAT);
    node = onnxrig_node(r, g, "If", "true", "a");
    onnxrig_attribute(r, node, "then_branch", 5)->g = branch;
    onnxrig_attribute(r, node, "else_branch", 5)->g = branch;
    onnxrig_node(r, g, "Reshape", "a shape", "flat");
    onnxrig_node(r, g, "Softmax", "flat", "y");
}

static void read_any(const uint8_t *bytes, size_t size)
{
    struct base_error error = {{0}};
    struct cc_graph *graph = NULL;

    if (cc_onnx_read(bytes, size, NULL, NULL, 0, &graph, &error)) {
        assert_null(graph);
        if (!error.text[0] || strchr(error.text, '\n'))
            fail_msg("refused with \"%s\"", error.text);
        return;
    }
    if (cc_graph_check(graph, &error))
        fail_msg("a graph that was read: %s", error.text);
    cc_graph_destroy(graph);
}

static void test_truncated(void **state)
{
    struct onnxrig r;
    uint8_t *bytes;
    size_t size;

    (void)state;
    make_model(&r);
    bytes = onnxrig_pack(&r, &size);
    for (size_t i = 0; i < size; i++) {
        uint8_t *copy = malloc(i ? i : 1);

        assert_non_null(copy);
        memcpy(copy, bytes, i);
        read_any(copy, i);
        free(copy);
    }
    free(bytes);
    onnxrig_end(&r);
}

static void test_flipped(void **state)
{
    struct test_rng rng;
    struct onnxrig r;
    uint8_t *bytes, *copy;
    size_t size;

    (void)state;
    test_rng_init(&rng, 16);
    make_model(&r);
    bytes = onnxrig_pack(&r, &size);
    copy = malloc(size);
    assert_non_null(copy);
    for (unsigned i = 0; i < 20000; i++) {
        memcpy(copy, bytes, size);
        for (unsigned k = 0; k <= i % 4; k++)
            copy[test_rng_u64(&rng) % size] = (uint8_t)test_rng_u32(&rng);
        read_any(copy, size);
    }
    free(copy);
    free(bytes);
    onnxrig_end(&r);
}

/* Every allocation fails once. */
static void test_no_memory(void **state)
{
    struct cc_graph *read;
    struct onnxrig r;
    uint8_t *bytes;
    size_t size;
    unsigned long count;

    (void)state;
    make_model(&r);
    bytes = onnxrig_pack(&r, &size);
    count = base_alloc_count();
    assert_int_equal(cc_onnx_read(bytes, size, NULL, NULL, 0, &read, NULL), 0);
    count = base_alloc_count() - count;
    cc_graph_destroy(read);
    for (unsigned long n = 1; n <= count; n++) {
        struct base_error error = {{0}};
        struct cc_graph *graph = NULL;
        int status;

        base_alloc_fail_nth(n);
        status = cc_onnx_read(bytes, size, NULL, NULL, 0, &graph, &error);
        base_alloc_fail_nth(0);
        if (status == 0)
            fail_msg("allocation %lu failed and the model was read", n);
        assert_null(graph);
        assert_true(error.text[0]);
    }
    free(bytes);
    onnxrig_end(&r);
}

static void test_cycles(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, ONNXRIG_DIMS(2));

    (void)state;
    onnxrig_node(&r, g, "Add", "x b", "a");
    onnxrig_node(&r, g, "Relu", "a", "b");
    onnxrig_node(&r, g, "Relu", "b", "y");
    onnxrig_refused(&r, "it needs its own result, by way of other nodes.");
    onnxrig_end(&r);
    g = begin(&r, ONNXRIG_DIMS(2));
    onnxrig_node(&r, g, "Add", "x y", "y");
    onnxrig_refused(&r, "Add `y`: it needs its own result");
    onnxrig_end(&r);
}

static void test_names(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, ONNXRIG_DIMS(2));

    (void)state;
    onnxrig_node(&r, g, "Relu", "x", "a");
    onnxrig_node(&r, g, "Neg", "x", "a");
    onnxrig_node(&r, g, "Relu", "a", "y");
    onnxrig_refused(&r, "its result `a` has the name of another value.");
    onnxrig_end(&r);
    g = begin(&r, ONNXRIG_DIMS(2));
    onnxrig_node(&r, g, "Relu", "nothing", "y");
    onnxrig_refused(&r, "Relu `y`: operand `nothing` is not an input, a tensor or a result of another node.");
    onnxrig_end(&r);
    g = begin(&r, ONNXRIG_DIMS(2));
    onnxrig_refused(&r, "Output `y`: no node computes it.");
    onnxrig_input(&r, g, "x", ONNXRIG_FLOAT, ONNXRIG_DIMS(2));
    onnxrig_refused(&r, "Input `x`: the name is empty, or is that of another input.");
    onnxrig_end(&r);
    g = begin(&r, ONNXRIG_DIMS(2));
    onnxrig_floats(&r, "w", ONNXRIG_DIMS(1), (const float[]){1});
    onnxrig_floats(&r, "w", ONNXRIG_DIMS(1), (const float[]){1});
    onnxrig_node(&r, g, "Add", "x w", "y");
    onnxrig_refused(&r, "Tensor `w` has the name of another value.");
    onnxrig_end(&r);
}

static void test_operators(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, ONNXRIG_DIMS(2));
    CcNode *node = onnxrig_node(&r, g, "Unique", "x", "y");

    (void)state;
    onnxrig_refused(
        &r, "Unique `y`: operator Unique of domain \"\" (operator set 13) is not known; `anemone compile "
            "--list` has those that are.");
    node->domain = (char *)(uintptr_t) "com.example";
    onnxrig_refused(&r, "of domain \"com.example\"");
    onnxrig_end(&r);
    g = begin(&r, ONNXRIG_DIMS(2));
    node = onnxrig_node(&r, g, "Relu", "x", "y");
    onnxrig_int(&r, node, "leak", 1);
    onnxrig_refused(&r, "Relu `y`: its attribute leak is not known.");
    onnxrig_end(&r);
    g = begin(&r, ONNXRIG_DIMS(2));
    node = onnxrig_node(&r, g, "LeakyRelu", "x", "y");
    onnxrig_int(&r, node, "alpha", 1);
    onnxrig_refused(&r, "LeakyRelu `y`: attribute alpha has type 2, expected 1 (one float).");
    onnxrig_end(&r);
    g = begin(&r, ONNXRIG_DIMS(2));
    onnxrig_node(&r, g, "Add", "x", "y");
    onnxrig_refused(&r, "Add `y`: operand 1 is missing.");
    onnxrig_end(&r);
    g = begin(&r, ONNXRIG_DIMS(2));
    onnxrig_int(&r, onnxrig_node(&r, g, "Cast", "x", "i"), "to", ONNXRIG_INT64);
    onnxrig_node(&r, g, "Relu", "i", "y");
    onnxrig_refused(&r, "relu `y`: operand `i` is tensor<int32, [2]>, expected fp16 or fp32.");
    onnxrig_end(&r);
    g = begin(&r, ONNXRIG_DIMS(1, 1, 2, 2, 2));
    onnxrig_floats(&r, "w", ONNXRIG_DIMS(1, 1, 1, 1, 1), (const float[]){1});
    onnxrig_node(&r, g, "Conv", "x w", "y");
    onnxrig_refused(&r, "windows over three axes do not exist on this engine");
    onnxrig_end(&r);
}

static void test_versions(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, ONNXRIG_DIMS(2));

    (void)state;
    onnxrig_node(&r, g, "Relu", "x", "y");
    r.model->opset_import[0]->version = 99;
    onnxrig_refused(&r, "The model uses operator set 99, expected 1 to 24.");
    r.model->opset_import[0]->version = 13;
    r.model->ir_version = 2;
    onnxrig_refused(&r, "The model has IR version 2, expected at least 3.");
    r.model->ir_version = 8;
    r.model->n_opset_import = 0;
    onnxrig_refused(&r, "The model names no operator set of ONNX.");
    r.model->graph = NULL;
    onnxrig_refused(&r, "The file has no graph");
    onnxrig_end(&r);
}

/* Sizes that no memory holds are refused before memory is taken. */
static void test_sizes(void **state)
{
    static const struct {
        int64_t dims[5];
        const char *words;
    } rows[] = {
        {{INT64_MAX, 2, ONNXRIG_STOP}, "axis 0 has length 9223372036854775807"},
        {{-5, ONNXRIG_STOP}, "axis 0 has length -5"},
        {{1ll << 31, ONNXRIG_STOP}, "expected 2147483648"},
        {{1ll << 31, 1ll << 31, 1ll << 31, ONNXRIG_STOP}, "larger than the limit of 2147483648 bytes"},
        {{65536, 65536, 65536, 65536, ONNXRIG_STOP}, "larger than the limit of 2147483648 bytes"},
        {{3, ONNXRIG_STOP}, "it has 8 bytes of data, expected 12 for its shape"},
        {{1, 1, 1, 1, 1}, "axes"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int64_t many[] = {1, 1, 1, 1, 1, 2, ONNXRIG_STOP};
        struct onnxrig r;
        CcGraph *g = begin(&r, ONNXRIG_DIMS(2));

        onnxrig_initializer(&r, g,
                            onnxrig_tensor(&r, "w", ONNXRIG_FLOAT, rows[i].dims[4] == 1 ? many : rows[i].dims,
                                           "\0\0\0\0\0\0\0\0", 8));
        onnxrig_node(&r, g, "Add", "x w", "y");
        if (i == 2)
            onnxrig_refused(&r, "it has 8 bytes of data");
        else
            onnxrig_refused(&r, rows[i].words);
        onnxrig_end(&r);
    }
}

static void test_large_results(void **state)
{
    struct onnxrig r;
    CcGraph *g = begin(&r, ONNXRIG_DIMS(2));

    (void)state;
    onnxrig_ints(&r, "shape", ONNXRIG_DIMS(2), (const int64_t[]){1 << 20, 1 << 20});
    onnxrig_node(&r, g, "ConstantOfShape", "shape", "c");
    onnxrig_node(&r, g, "Add", "x c", "y");
    onnxrig_refused(&r, "ConstantOfShape `c`: a constant of");
    onnxrig_end(&r);
    g = begin(&r, ONNXRIG_DIMS(2));
    onnxrig_ints(&r, "shape", ONNXRIG_DIMS(2), (const int64_t[]){(1 << 20) + 1, 2});
    onnxrig_node(&r, g, "Expand", "x shape", "y");
    onnxrig_refused(&r, "expected 1 to 1048576 elements");
    onnxrig_end(&r);
    g = begin(&r, ONNXRIG_DIMS(2));
    onnxrig_floats(&r, "a", ONNXRIG_SCALAR, (const float[]){0});
    onnxrig_floats(&r, "b", ONNXRIG_SCALAR, (const float[]){1e30f});
    onnxrig_floats(&r, "d", ONNXRIG_SCALAR, (const float[]){1e-30f});
    onnxrig_node(&r, g, "Range", "a b d", "c");
    onnxrig_node(&r, g, "Add", "x c", "y");
    onnxrig_refused(&r, "Range `c`: from 0 to 1e+30 by 1e-30 is not a range");
    onnxrig_end(&r);
}

/* Constants that a few bytes ask for, each small enough: 17 of 64 MiB are more than all may have. */
static void test_many_results(void **state)
{
    enum { NODES = 17 };
    struct onnxrig r;
    CcGraph *g = begin(&r, ONNXRIG_DIMS(2));

    (void)state;
    onnxrig_ints(&r, "shape", ONNXRIG_DIMS(2), (const int64_t[]){1 << 23, 2});
    for (unsigned i = 0; i < NODES; i++) {
        char made[16];

        snprintf(made, sizeof(made), "c%u", i);
        onnxrig_node(&r, g, "ConstantOfShape", "shape", made);
    }
    onnxrig_node(&r, g, "Relu", "x", "y");
    onnxrig_refused(&r,
                    "ConstantOfShape `c16`: the constants that nodes make, or that are read more than once, "
                    "are more than the limit of 1073741824 bytes");
    onnxrig_end(&r);
}

/* A loop reads the constant of its body in each round: 1025 times a MiB. */
static void test_loop_constants(void **state)
{
    enum { BYTES = 1 << 20 };
    struct onnxrig r;
    CcGraph *g = begin(&r, ONNXRIG_DIMS(4, 65536)), *body = onnxrig_graph(&r);
    CcNode *node;
    void *data = calloc(1, BYTES);

    (void)state;
    assert_non_null(data);
    onnxrig_input(&r, body, "i", ONNXRIG_INT64, ONNXRIG_SCALAR);
    onnxrig_input(&r, body, "c", ONNXRIG_BOOL, ONNXRIG_SCALAR);
    onnxrig_input(&r, body, "v", ONNXRIG_FLOAT, ONNXRIG_DIMS(4, 65536));
    onnxrig_initializer(&r, body,
                        onnxrig_tensor(&r, "k", ONNXRIG_FLOAT, ONNXRIG_DIMS(4, 65536), data, BYTES));
    onnxrig_node(&r, body, "Identity", "c", "more");
    onnxrig_node(&r, body, "Add", "v k", "sum");
    onnxrig_output(&r, body, "more", ONNXRIG_BOOL);
    onnxrig_output(&r, body, "sum", ONNXRIG_FLOAT);
    onnxrig_initializer(&r, g, onnxrig_tensor(&r, "true", ONNXRIG_BOOL, ONNXRIG_SCALAR, "\1", 1));
    onnxrig_ints(&r, "rounds", ONNXRIG_SCALAR, (const int64_t[]){1100});
    node = onnxrig_node(&r, g, "Loop", "rounds true x", "y");
    onnxrig_attribute(&r, node, "body", 5)->g = body;
    onnxrig_refused(&r, "the constants that nodes make, or that are read more than once");
    onnxrig_end(&r);
    free(data);
}

/* Graphs in attributes of nodes in graphs. */
static void test_depth(void **state)
{
    for (unsigned depth = 20; depth <= 4000; depth *= 200) {
        struct onnxrig r;
        CcGraph *g = begin(&r, ONNXRIG_DIMS(2));

        onnxrig_initializer(&r, g, onnxrig_tensor(&r, "true", ONNXRIG_BOOL, ONNXRIG_SCALAR, "\1", 1));
        for (unsigned i = 0; i < depth; i++) {
            CcGraph *inner = onnxrig_graph(&r);
            CcNode *node;
            char name[16];

            snprintf(name, sizeof(name), i ? "t%u" : "y", i);
            node = onnxrig_node(&r, g, "If", "true", name);

            onnxrig_attribute(&r, node, "then_branch", 5)->g = inner;
            if (i)
                onnxrig_output(&r, g, name, ONNXRIG_FLOAT);
            g = inner;
        }
        onnxrig_refused(&r, depth == 20 ? "more than 16 deep in each other" : "more than 64 deep");
        onnxrig_end(&r);
    }
    (void)state;
}

/* 2^20 nodes of a few bytes each: refused by count or by memory, before anything is built. */
static void test_many_nodes(void **state)
{
    enum { NODES = 1 << 20 };
    static const char node[] = "\x0a\x08\x0a\x01x\x12\x01z\x22\x00"; /* graph.node: input x, output z */
    struct base_error error = {{0}};
    struct cc_graph *graph = NULL;
    size_t inner = sizeof(node) - 1, size = NODES * inner + 16, at = 0;
    uint8_t *bytes = calloc(1, size);

    (void)state;
    assert_non_null(bytes);
    bytes[at++] = 7 << 3 | 2;
    for (uint64_t length = NODES * inner; length; length >>= 7)
        bytes[at++] = (uint8_t)((length & 0x7f) | (length >> 7 ? 0x80 : 0));
    for (unsigned i = 0; i < NODES; i++, at += inner)
        memcpy(bytes + at, node, inner);
    memcpy(bytes + at, "\x08\x08\x42\x02\x10\x0d", 6);
    assert_true(cc_onnx_read(bytes, at + 6, NULL, NULL, 0, &graph, &error) < 0);
    assert_true(strstr(error.text, "more than 100000") || strstr(error.text, "needs more memory"));
    free(bytes);
}

/* A chain as long as the limit allows is sorted without recursion, whatever its order. */
static void test_long_chain(void **state)
{
    enum { NODES = 20000 };
    struct onnxrig r;
    CcGraph *g = begin(&r, ONNXRIG_DIMS(2));
    struct base_error error = {{0}};
    struct cc_graph *graph = NULL;
    char in[16], out[16];

    (void)state;
    g->node = onnxrig_take(&r, NODES * sizeof(*g->node));
    for (unsigned i = NODES; i-- > 0;) {
        CcGraph one = {0};

        snprintf(in, sizeof(in), i ? "v%u" : "x", i);
        snprintf(out, sizeof(out), i + 1 < NODES ? "v%u" : "y", i + 1);
        g->node[g->n_node++] = onnxrig_node(&r, &one, "Relu", in, out);
    }
    if (onnxrig_read(&r, NULL, 0, &graph, &error))
        fail_msg("%s", error.text);
    assert_int_equal(graph->origins, NODES);
    cc_graph_destroy(graph);
    onnxrig_end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_truncated),     cmocka_unit_test(test_flipped),
        cmocka_unit_test(test_no_memory),     cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_operators),
        cmocka_unit_test(test_versions),      cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_large_results), cmocka_unit_test(test_depth),
        cmocka_unit_test(test_many_results),  cmocka_unit_test(test_loop_constants),
        cmocka_unit_test(test_many_nodes),    cmocka_unit_test(test_long_chain),
    };

    return cmocka_run_group_tests_name("onnx_hostile", tests, NULL, NULL);
}
