/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph as bytes: what is read back is the same graph, and no change of the bytes does more harm than a
 * refusal. Given a folder, the program writes the seeds of the fuzz target there instead.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "compiler/graph/file.h"
#include "graphgen.h"

enum { GRAPHS = 20 };

static uint8_t *write_graph(const struct cc_graph *graph, size_t *size)
{
    struct base_error error;
    uint8_t *bytes = NULL;

    if (cc_graph_file_write(graph, &bytes, size, &error))
        fail_msg("%s", error.text);
    return bytes;
}

/* Every graph, written, read and written again: the same bytes. Each constant and name is in them. */
static void round_trip(void **state)
{
    (void)state;
    for (unsigned i = 0; i < GRAPHS; i++) {
        struct base_error error;
        struct cc_graph *copy;
        struct gg g;
        size_t size, again;
        uint8_t *bytes, *second;

        gg_open(&g, 500 + i, 20);
        assert_true(cc_graph_add_origin(g.graph, "node", "Conv", 3, 4) >= 0);
        g.graph->op[g.graph->ops - 1].origin = 1;
        bytes = write_graph(g.graph, &size);
        if (cc_graph_file_read(bytes, size, &copy, &error))
            fail_msg("%s", error.text);
        assert_int_equal(copy->values, g.graph->values);
        assert_int_equal(copy->ops, g.graph->ops);
        assert_string_equal(copy->origin[0].kind, "Conv");
        for (uint32_t k = 0; k < copy->ops; k++) {
            assert_string_equal(copy->op[k].name, g.graph->op[k].name);
            assert_memory_equal(&copy->op[k].a, &g.graph->op[k].a, sizeof(copy->op[k].a));
        }
        for (uint32_t k = 0; k < copy->values; k++)
            if (copy->value[k].data)
                assert_memory_equal(copy->value[k].data, g.graph->value[k].data, copy->value[k].bytes);
        second = write_graph(copy, &again);
        assert_int_equal(again, size);
        assert_memory_equal(second, bytes, size);
        base_free(bytes);
        base_free(second);
        cc_graph_destroy(copy);
        gg_close(&g);
    }
}

static void refuse(const uint8_t *bytes, size_t size)
{
    struct base_error error = {""};
    struct cc_graph *graph = NULL;

    if (cc_graph_file_read(bytes, size, &graph, &error) == 0)
        cc_graph_destroy(graph);
    else
        assert_true(graph == NULL && error.text[0]);
}

/* Every length shorter than the whole is refused; bytes that differ are refused or another graph. */
static void damaged(void **state)
{
    struct base_error error;
    struct cc_graph *graph;
    struct test_rng rng;
    struct gg g;
    size_t size;
    uint8_t *bytes, *exact;

    (void)state;
    test_rng_init(&rng, 77);
    gg_open(&g, 501, 6);
    bytes = write_graph(g.graph, &size);
    for (size_t i = 0; i < size; i += i < 400 ? 1 : 37) {
        exact = malloc(i ? i : 1); /* so that a sanitizer sees a byte too far */
        assert_non_null(exact);
        memcpy(exact, bytes, i);
        assert_true(cc_graph_file_read(exact, i, &graph, &error) < 0);
        free(exact);
    }
    for (unsigned i = 0; i < 3000; i++) {
        size_t at = (size_t)test_rng_range(&rng, 0, (int64_t)size - 1);
        uint8_t kept = bytes[at];

        bytes[at] = (uint8_t)test_rng_u32(&rng);
        refuse(bytes, size);
        bytes[at] = kept;
    }
    bytes[8] = 2; /* the version */
    assert_int_equal(cc_graph_file_read(bytes, size, &graph, &error), -EBADMSG);
    assert_non_null(strstr(error.text, "version 1"));
    base_free(bytes);
    gg_close(&g);
}

/* The nth allocation fails: -ENOMEM, until all succeed. */
static void without_memory(void **state)
{
    struct base_error error;
    struct cc_graph *graph = NULL;
    struct gg g;
    size_t size;
    uint8_t *bytes;
    int status = -ENOMEM;

    (void)state;
    gg_open(&g, 502, 4);
    bytes = write_graph(g.graph, &size);
    for (unsigned long n = 1; status; n++) {
        base_alloc_fail_nth(n);
        status = cc_graph_file_read(bytes, size, &graph, &error);
        base_alloc_fail_nth(0);
        if (status)
            assert_int_equal(status, -ENOMEM);
    }
    cc_graph_destroy(graph);
    base_free(bytes);
    gg_close(&g);
}

static int write_seeds(const char *folder)
{
    for (unsigned i = 0; i < 6; i++) {
        char path[512];
        struct gg g;
        size_t size;
        uint8_t *bytes;
        FILE *file;

        gg_open(&g, 600 + i, 1 + i);
        bytes = write_graph(g.graph, &size);
        snprintf(path, sizeof(path), "%s/graph%u", folder, i);
        file = fopen(path, "wb");
        if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
            return 1;
        base_free(bytes);
        gg_close(&g);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(damaged),
        cmocka_unit_test(without_memory),
    };

    if (argc > 1)
        return write_seeds(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
