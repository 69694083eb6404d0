/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random graphs from the passes to the bundle's bytes: with every allocation failing once, which ends in a
 * sentence and without a leak, and twice, which gives the same bytes and does not change the graph's key.
 */
#include <string.h>

#include "base/alloc.h"
#include "compiler/graph/rewrite.h"
#include "compiler/lower/lower.h"
#include "compiler/pass/passes.h"
#include "compiler/store/bundle.h"
#include "compiler/store/cache.h"
#include "graphgen.h"

enum { GRAPHS = 60, OPS = 8, POINTS = 150, TWICE = 60 };

/* The bytes of main.e5, for base_free, and the program with its constants. */
struct result {
    uint8_t *main;
    size_t size;
    struct cc_program *program;
};

static int compile(const struct cc_graph *graph, struct result *result, struct base_error *error)
{
    struct cc_graph *copy = NULL;
    int status;

    *result = (struct result){0};
    status = cc_graph_copy(graph, &copy);
    if (status) {
        base_fail(error, -status, "There is no memory for a copy.");
        return status;
    }
    status = cc_passes(&copy, error);
    if (!status)
        status = cc_lower(copy, 0, &result->program, error);
    if (!status)
        status = cc_bundle_main(result->program, &result->main, &result->size, error);
    cc_graph_destroy(copy);
    return status;
}

static void release(struct result *result)
{
    cc_program_destroy(result->program);
    base_free(result->main);
}

static void fail_at(const struct gg *g, uint64_t number, unsigned long nth)
{
    struct base_error error = {{0}};
    struct result result;
    int status;

    base_alloc_fail_nth(nth);
    status = compile(g->graph, &result, &error);
    base_alloc_fail_nth(0);
    release(&result);
    if (status == 0)
        fail_msg("graph %llu: allocation %lu failed, and it was compiled", (unsigned long long)number, nth);
    if (!error.text[0])
        fail_msg("graph %llu: allocation %lu failed without a sentence", (unsigned long long)number, nth);
}

/* All of the first allocations, and some of the others when there are many. */
static void no_memory(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < GRAPHS; number++) {
        struct base_error error = {{0}};
        struct result result;
        unsigned long count;
        struct gg g;

        gg_open(&g, number, OPS);
        count = base_alloc_count();
        if (compile(g.graph, &result, &error))
            fail_msg("graph %llu: %s", (unsigned long long)number, error.text);
        count = base_alloc_count() - count;
        release(&result);
        for (unsigned long nth = 1; nth <= count; nth += 1 + count / POINTS)
            fail_at(&g, number, nth);
        gg_close(&g);
    }
}

static void twice_the_same(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < TWICE; number++) {
        char before[CC_KEY_BYTES], after[CC_KEY_BYTES];
        struct base_error error = {{0}};
        struct result one, two;
        struct gg g;

        gg_open(&g, number, GG_OPS_MAX);
        cc_cache_key(g.graph, before);
        if (compile(g.graph, &one, &error) || compile(g.graph, &two, &error))
            fail_msg("graph %llu: %s", (unsigned long long)number, error.text);
        cc_cache_key(g.graph, after);
        assert_string_equal(before, after);
        assert_int_equal(one.size, two.size);
        assert_memory_equal(one.main, two.main, one.size);
        assert_int_equal(one.program->constant_bytes, two.program->constant_bytes);
        if (one.program->constant_bytes)
            assert_memory_equal(one.program->constant, two.program->constant, one.program->constant_bytes);
        release(&one);
        release(&two);
        gg_close(&g);
    }
}

/* Each operation becomes a constant of 16 MiB. */
static void enlarge(struct cc_rewrite *r, const struct cc_op *op, bool *done)
{
    if (op->kind != CC_OP_RELU)
        return;
    cc_build_const(&r->to, CC_FP32, 1, (const uint32_t[]){4u << 20}, base_alloc(16u << 20));
    cc_rewrite_put(r, op->output, cc_rewrite_value(r, op->input[0]));
    *done = true;
}

static void a_rewrite_is_bounded(void **state)
{
    struct base_error error = {{0}};
    struct cc_build b = {.graph = cc_graph_create(), .name = "y", .error = &error};
    const uint32_t dim[1] = {2};
    uint32_t x = (uint32_t)cc_graph_add_value(b.graph, "x", CC_FP16, 1, dim);

    (void)state;
    assert_int_equal(cc_graph_add_input(b.graph, x), 0);
    for (unsigned i = 0; i < 65; i++)
        x = cc_build_unary(&b, CC_OP_RELU, x);
    assert_int_equal(cc_graph_add_output(b.graph, x), 0);
    assert_int_equal(b.status, 0);
    assert_true(cc_rewrite(&b.graph, enlarge, NULL, NULL, &error) < 0);
    assert_non_null(strstr(error.text, "would have more than 1073741824 bytes"));
    cc_graph_destroy(b.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_memory),
        cmocka_unit_test(twice_the_same),
        cmocka_unit_test(a_rewrite_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
