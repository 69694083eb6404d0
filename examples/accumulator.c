/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State that stays on the engine: one buffer is bound to the output that writes it and to the input that
 * reads it, so that each dispatch adds x to what the last one left.
 *
 *     cc accumulator.c $(pkg-config --cflags --libs anemone) -o accumulator
 *     ./accumulator accumulator.mil
 *
 * prints 1 2 3 4. With ANEMONE_CHAINING=1 in the environment each step is a trigger of a data chain instead
 * of a request. keyvalue.c makes such a chain itself.
 */
#include <anemone/e5rt.h>

#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 4 * 40, STEPS = 4 };

static void check(int64_t status)
{
    if (status == E5RT_OK)
        return;
    fprintf(stderr, "accumulator: %s: %s\n", e5rt_error_code_get_string(status),
            e5rt_get_last_error_message());
    exit(1);
}

static e5rt_execution_stream_operation_t load(const char *model_path)
{
    e5rt_e5_compiler_t compiler;
    e5rt_program_library_t library;
    e5rt_program_function_t function;
    e5rt_precompiled_compute_op_create_options_t op_opts;
    e5rt_execution_stream_operation_t op;

    /* Once, out of the hot loop: compile and load. A cache hit skips the lowering. */
    check(e5rt_e5_compiler_create(&compiler));
    check(e5rt_e5_compiler_compile(compiler, model_path, NULL, &library));
    check(e5rt_program_library_retain_program_function(library, "main", &function));
    check(e5rt_program_function_load_for_execution(function));
    check(e5rt_precompiled_compute_op_create_options_create_with_program_function(&op_opts, function));
    check(e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(&op, op_opts));
    /* The operation keeps what it needs of these. */
    check(e5rt_precompiled_compute_op_create_options_release(&op_opts));
    check(e5rt_program_function_release(&function));
    check(e5rt_program_library_release(&library));
    check(e5rt_e5_compiler_release(&compiler));
    return op;
}

int main(int argc, char **argv)
{
    e5rt_execution_stream_operation_t op = load(argc > 1 ? argv[1] : "accumulator.mil");
    e5rt_io_port_t x_port, in_port, out_port;
    e5rt_buffer_object_t x_buf, state_buf;
    e5rt_execution_stream_t stream;
    void *x, *state;

    check(e5rt_buffer_object_alloc(&x_buf, ELEMENTS * sizeof(float), E5RT_BUFFER_CPU));
    check(e5rt_execution_stream_operation_retain_input_port(op, "x", &x_port));
    check(e5rt_io_port_bind_buffer_object(x_port, x_buf));
    check(e5rt_buffer_object_get_data_ptr(x_buf, &x));

    /* One buffer for the state, zero at first, bound to both ports. */
    check(e5rt_buffer_object_alloc(&state_buf, ELEMENTS * sizeof(float), E5RT_BUFFER_CPU));
    check(e5rt_execution_stream_operation_retain_output_port(op, "state_out", &out_port));
    check(e5rt_io_port_bind_buffer_object(out_port, state_buf));
    check(e5rt_execution_stream_operation_retain_input_port(op, "state_in", &in_port));
    check(e5rt_io_port_bind_buffer_object(in_port, state_buf));
    check(e5rt_buffer_object_get_data_ptr(state_buf, &state));

    check(e5rt_execution_stream_create(&stream));
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < ELEMENTS; i++)
            ((float *)x)[i] = 1;
        check(e5rt_execution_stream_operation_prepare_op_for_encode(op));
        check(e5rt_execution_stream_encode_operation(stream, op));
        check(e5rt_execution_stream_execute_sync(stream));
        check(e5rt_execution_stream_reset(stream));
        printf("%g%c", (double)((float *)state)[ELEMENTS - 1], step + 1 < STEPS ? ' ' : '\n');
    }

    check(e5rt_execution_stream_release(&stream));
    check(e5rt_io_port_release(&x_port));
    check(e5rt_io_port_release(&in_port));
    check(e5rt_io_port_release(&out_port));
    check(e5rt_execution_stream_operation_release(&op));
    check(e5rt_buffer_object_release(&x_buf));
    check(e5rt_buffer_object_release(&state_buf));
    return 0;
}
