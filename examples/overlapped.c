/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that is submitted and not waited for: while the engine runs one step, the next input is written and
 * its step submitted. Two streams take turns; each begins when the event of the other has risen, so that the
 * state they share is added to in order.
 *
 *     cc overlapped.c $(pkg-config --cflags --libs anemone) -o overlapped
 *     ./overlapped accumulator.mil
 *
 * prints 10, which is 1 + 2 + 3 + 4.
 */
#include <anemone/e5rt.h>

#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 4 * 40, STEPS = 4, STREAMS = 2 };

struct turn {
    e5rt_execution_stream_operation_t op;
    e5rt_execution_stream_t stream;
    e5rt_async_event_t done;
    e5rt_buffer_object_t x_buf;
    float *x;
};

static void check(int64_t status)
{
    if (status == E5RT_OK)
        return;
    fprintf(stderr, "overlapped: %s: %s\n", e5rt_error_code_get_string(status),
            e5rt_get_last_error_message());
    exit(1);
}

static e5rt_program_function_t load(const char *model_path)
{
    e5rt_e5_compiler_t compiler;
    e5rt_program_library_t library;
    e5rt_program_function_t function;

    check(e5rt_e5_compiler_create(&compiler));
    check(e5rt_e5_compiler_compile(compiler, model_path, NULL, &library));
    check(e5rt_program_library_retain_program_function(library, "main", &function));
    check(e5rt_program_library_release(&library));
    check(e5rt_e5_compiler_release(&compiler));
    return function;
}

static void bind(e5rt_execution_stream_operation_t op, const char *name, int is_output,
                 e5rt_buffer_object_t buffer)
{
    e5rt_io_port_t port;

    check(is_output ? e5rt_execution_stream_operation_retain_output_port(op, name, &port)
                    : e5rt_execution_stream_operation_retain_input_port(op, name, &port));
    check(e5rt_io_port_bind_buffer_object(port, buffer));
    check(e5rt_io_port_release(&port));
}

static void make(struct turn *turn, e5rt_program_function_t function, e5rt_buffer_object_t state_buf)
{
    e5rt_precompiled_compute_op_create_options_t op_opts;
    void *x;

    check(e5rt_precompiled_compute_op_create_options_create_with_program_function(&op_opts, function));
    check(e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(&turn->op,
                                                                                            op_opts));
    check(e5rt_precompiled_compute_op_create_options_release(&op_opts));
    check(e5rt_buffer_object_alloc(&turn->x_buf, ELEMENTS * sizeof(float), E5RT_BUFFER_CPU));
    check(e5rt_buffer_object_get_data_ptr(turn->x_buf, &x));
    turn->x = x;
    bind(turn->op, "x", 0, turn->x_buf);
    bind(turn->op, "state_in", 0, state_buf);
    bind(turn->op, "state_out", 1, state_buf);
    check(e5rt_async_event_create(&turn->done, "done", 0));
    check(e5rt_execution_stream_create(&turn->stream));
}

/* Called by the runtime's own thread, once for each step. */
static void completed(void *context, int64_t status, const char *message)
{
    (void)context;
    if (status == E5RT_OK)
        return;
    fprintf(stderr, "overlapped: %s: %s\n", e5rt_error_code_get_string(status), message);
    _Exit(1);
}

int main(int argc, char **argv)
{
    e5rt_program_function_t function = load(argc > 1 ? argv[1] : "accumulator.mil");
    e5rt_buffer_object_t state_buf;
    struct turn turn[STREAMS];
    void *state;

    check(e5rt_buffer_object_alloc(&state_buf, ELEMENTS * sizeof(float), E5RT_BUFFER_CPU));
    check(e5rt_buffer_object_get_data_ptr(state_buf, &state));
    for (int i = 0; i < STREAMS; i++)
        make(&turn[i], function, state_buf);
    for (int i = 0; i < STREAMS; i++) {
        check(e5rt_execution_stream_operation_bind_completion_event(turn[i].op, turn[i].done));
        check(e5rt_execution_stream_operation_bind_dependent_events(turn[i].op, &turn[1 - i].done, 1));
        check(e5rt_execution_stream_encode_operation(turn[i].stream, turn[i].op));
    }
    for (int step = 0; step < STEPS; step++) {
        struct turn *mine = &turn[step % STREAMS];

        /* Its last step is over when its event says so; then its input may be written. */
        check(e5rt_async_event_sync_wait(mine->done, step / STREAMS, UINT64_MAX));
        for (int i = 0; i < ELEMENTS; i++)
            mine->x[i] = (float)(step + 1);
        check(e5rt_execution_stream_submit_async(mine->stream, completed, NULL));
    }
    for (int i = 0; i < STREAMS; i++)
        check(e5rt_async_event_sync_wait(turn[i].done, STEPS / STREAMS, UINT64_MAX));
    printf("%g\n", (double)((float *)state)[ELEMENTS - 1]);

    for (int i = 0; i < STREAMS; i++) {
        check(e5rt_execution_stream_release(&turn[i].stream));
        check(e5rt_execution_stream_operation_release(&turn[i].op));
        check(e5rt_async_event_release(&turn[i].done));
        check(e5rt_buffer_object_release(&turn[i].x_buf));
    }
    check(e5rt_buffer_object_release(&state_buf));
    check(e5rt_program_function_release(&function));
    return 0;
}
