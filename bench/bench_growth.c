/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the cost of a warm dispatch grows with the program: chains of small additions, from one to a thousand
 * descriptors, through the runtime. A line has the descriptors, the shortest call, and what one descriptor
 * adds to it between this line and the one before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <anemone/e5rt.h>

#include "base/array.h"
#include "process.h"

#define CALLS    2000u
#define SECONDS  0.5
#define ELEMENTS (8u * 32)

struct chain {
    e5rt_e5_compiler_t compiler;
    e5rt_program_library_t library;
    e5rt_program_function_t function;
    e5rt_precompiled_compute_op_create_options_t options;
    e5rt_execution_stream_operation_t operation;
    e5rt_execution_stream_t stream;
    e5rt_buffer_object_t buffer[3];
};

static bool said(int64_t status)
{
    if (status)
        fprintf(stderr, "bench_growth: %s\n", e5rt_get_last_error_message());
    return !status;
}

static bool write_chain(const char *path, unsigned length)
{
    FILE *file = fopen(path, "w");

    if (!file)
        return false;
    fprintf(file, "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 8, 1, 32]> v0, "
                  "tensor<fp16, [1, 8, 1, 32]> x) {\n");
    for (unsigned i = 1; i <= length; i++)
        fprintf(file, "        tensor<fp16, [1, 8, 1, 32]> v%u = add(x = v%u, y = x);\n", i, i - 1);
    fprintf(file, "    } -> (v%u);\n}\n", length);
    return !fclose(file);
}

static bool bind(struct chain *c, unsigned which, const char *name)
{
    e5rt_io_port_t port = NULL;
    bool good =
        said(which == 2 ? e5rt_execution_stream_operation_retain_output_port(c->operation, name, &port)
                        : e5rt_execution_stream_operation_retain_input_port(c->operation, name, &port)) &&
        said(e5rt_buffer_object_alloc(&c->buffer[which], 2 * ELEMENTS, E5RT_BUFFER_CPU)) &&
        said(e5rt_io_port_bind_buffer_object(port, c->buffer[which]));

    if (port)
        e5rt_io_port_release(&port);
    return good;
}

static bool open_chain(struct chain *c, const char *path, unsigned length)
{
    const char *name = NULL, *output = NULL;

    return write_chain(path, length) && said(e5rt_e5_compiler_create(&c->compiler)) &&
           said(e5rt_e5_compiler_compile(c->compiler, path, NULL, &c->library)) &&
           said(e5rt_program_library_get_function_names(c->library, 1, &name)) &&
           said(e5rt_program_library_retain_program_function(c->library, name, &c->function)) &&
           said(e5rt_precompiled_compute_op_create_options_create_with_program_function(&c->options,
                                                                                        c->function)) &&
           said(e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(
               &c->operation, c->options)) &&
           said(e5rt_execution_stream_operation_get_output_names(c->operation, 1, &output)) &&
           bind(c, 0, "v0") && bind(c, 1, "x") && bind(c, 2, output) &&
           said(e5rt_execution_stream_create(&c->stream)) &&
           said(e5rt_execution_stream_encode_operation(c->stream, c->operation));
}

static void close_chain(struct chain *c)
{
    if (c->stream)
        e5rt_execution_stream_release(&c->stream);
    if (c->operation)
        e5rt_execution_stream_operation_release(&c->operation);
    if (c->options)
        e5rt_precompiled_compute_op_create_options_release(&c->options);
    if (c->function)
        e5rt_program_function_release(&c->function);
    if (c->library)
        e5rt_program_library_release(&c->library);
    if (c->compiler)
        e5rt_e5_compiler_release(&c->compiler);
    for (unsigned i = 0; i < 3; i++)
        if (c->buffer[i])
            e5rt_buffer_object_release(&c->buffer[i]);
}

/* The shortest call in seconds; negative when it failed. */
static double measure(const char *path, unsigned length)
{
    struct chain c = {0};
    double least = 1e9, begin;
    bool good = open_chain(&c, path, length);

    begin = bench_now();
    for (unsigned i = 0; good && i < CALLS && bench_now() - begin < SECONDS; i++) {
        double before = bench_now(), took;

        good = said(e5rt_execution_stream_execute_sync(c.stream));
        took = bench_now() - before;
        least = took < least ? took : least;
    }
    close_chain(&c);
    return good ? least : -1;
}

int main(void)
{
    static const unsigned length[] = {1, 4, 16, 64, 256, 1024};
    char folder[] = "/tmp/anemone-growth-XXXXXX", path[64];
    double before = 0;
    bool good = mkdtemp(folder) != NULL;

    setenv("ANEMONE_THREADS", "1", 1);
    setenv("ANEMONE_SERVICE", "none", 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    snprintf(path, sizeof(path), "%s/chain.mil", folder);
    for (unsigned i = 0; good && i < BASE_COUNT_OF(length); i++) {
        double took = measure(path, length[i]);

        good = took > 0;
        printf("%4u descriptors %12.3f us", length[i], 1e6 * took);
        if (i)
            printf("  %8.3f us each more", 1e6 * (took - before) / (length[i] - length[i - 1]));
        printf("\n");
        before = took;
    }
    snprintf(path, sizeof(path), "rm -rf '%s'", folder);
    return system(path) || !good;
}
