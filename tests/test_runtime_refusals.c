/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime refuses, and in which words: sizes, names, paths, options, handles. */
#include "support.h"

#include <string.h>

#include "e5rig.h"

static void buffers_and_their_limits(void **state)
{
    const struct td_shape s = {1, 3, 1, 33}, t = {1, 3, 2, 33};
    e5rt_buffer_object_t buffer, foreign;
    struct e5rig_model model, tall;
    e5rt_io_port_t port;
    uint32_t type;
    size_t bytes;

    (void)state;
    FAILS(e5rt_buffer_object_alloc(&buffer, 64, 3), E5RT_INVALID_TYPE, "Invalid BufferType @ AllocMemory");
    assert_null(buffer);
    FAILS(e5rt_buffer_object_alloc(&buffer, 0, E5RT_BUFFER_CPU), E5RT_INVALID_ARGUMENT, "0 bytes");
    FAILS(e5rt_buffer_object_alloc(&buffer, SIZE_MAX, E5RT_BUFFER_CPU), E5RT_INVALID_ARGUMENT, "4 GiB");
    OK(e5rt_buffer_object_alloc(&buffer, 130, E5RT_BUFFER_IOSURFACE));
    OK(e5rt_buffer_object_get_size(buffer, &bytes));
    OK(e5rt_buffer_object_get_type(buffer, &type));
    assert_int_equal(bytes, 192);
    assert_int_equal(type, 2);
    for (unsigned i = 0; i < 192; i++)
        assert_int_equal(((uint8_t *)e5rig_data(buffer))[i], 0);

    e5rig_write_adder("add.hwx", &s, 1);
    e5rig_model_open(&model, folder_path("add.hwx"));
    OK(e5rt_execution_stream_operation_retain_input_port(model.operation, "x", &port));
    FAILS(e5rt_io_port_bind_buffer_object(port, buffer), E5RT_OUT_OF_BOUNDS,
          "Port x needs 198 bytes; the buffer has 192.");
    e5rig_write_adder("tall.hwx", &t, 1);
    e5rig_model_open(&tall, folder_path("tall.hwx"));
    foreign = e5rig_engine_buffer(tall.operation, "x");
    FAILS(e5rt_io_port_bind_buffer_object(port, foreign), E5RT_INVALID_ARGUMENT, "1x3x1x33");
    e5rig_model_close(&tall);
    e5rig_model_close(&model);
    OK(e5rt_io_port_release(&port));
    OK(e5rt_buffer_object_release(&buffer));
    OK(e5rt_buffer_object_release(&foreign));
}

static void names_and_counts(void **state)
{
    const struct td_shape s = {1, 1, 1, 8};
    const char *names[3] = {0}, *name;
    struct e5rig_model model;
    e5rt_io_port_t port;
    uint64_t count;

    (void)state;
    e5rig_write_adder("add.hwx", &s, 1);
    e5rig_model_open(&model, folder_path("add.hwx"));
    OK(e5rt_program_library_get_num_functions(model.library, &count));
    assert_int_equal(count, 1);
    OK(e5rt_program_library_get_function_names(model.library, count, names));
    assert_string_equal(names[0], "main");
    OK(e5rt_program_function_get_name(model.function, &name));
    assert_string_equal(name, "main");
    OK(e5rt_execution_stream_operation_get_num_inputs(model.operation, &count));
    assert_int_equal(count, 2);
    OK(e5rt_execution_stream_operation_get_input_names(model.operation, count, names));
    assert_string_equal(names[0], "x");
    assert_string_equal(names[1], "state_in");
    OK(e5rt_execution_stream_operation_get_num_outputs(model.operation, &count));
    assert_int_equal(count, 1);
    OK(e5rt_execution_stream_operation_get_output_names(model.operation, count, names));
    assert_string_equal(names[0], "state_out");
    FAILS(e5rt_execution_stream_operation_get_output_names(model.operation, 2, names), E5RT_OUT_OF_BOUNDS,
          "there are 1 ports");
    FAILS(e5rt_program_library_get_function_names(model.library, 2, names), E5RT_OUT_OF_BOUNDS, "1 function");
    FAILS(e5rt_execution_stream_operation_retain_input_port(model.operation, "state_out", &port),
          E5RT_INVALID_ARGUMENT, "no input port state_out");
    FAILS(e5rt_execution_stream_operation_retain_output_port(model.operation, "x", &port),
          E5RT_INVALID_ARGUMENT, "no output port x");
    OK(e5rt_execution_stream_operation_retain_output_port(model.operation, "state_out@output", &port));
    OK(e5rt_io_port_release(&port));
    e5rig_model_close(&model);
}

static void paths_and_options_that_are_refused(void **state)
{
    static const uint8_t rubbish[64] = {0xce, 0xfa, 0xef, 0xbe, 1, 2, 3};
    const struct td_shape s = {1, 1, 1, 8};
    e5rt_e5_compiler_options_t options;
    e5rt_program_function_t function;
    e5rt_program_library_t library;
    e5rt_e5_compiler_t compiler;
    int required;

    (void)state;
    OK(e5rt_e5_compiler_create(&compiler));
    OK(e5rt_e5_compiler_options_create(&options));
    FAILS(e5rt_e5_compiler_options_set_compute_device_types_mask(options, E5RT_DEVICE_CPU | E5RT_DEVICE_GPU),
          E5RT_INVALID_ARGUMENT, "leaves out the neural engine (4)");
    FAILS(e5rt_e5_compiler_options_set_compute_device_types_mask(options, 12), E5RT_INVALID_ARGUMENT, "0xc");
    OK(e5rt_e5_compiler_options_set_compute_device_types_mask(options, E5RT_DEVICE_ALL));
    OK(e5rt_e5_compiler_options_set_force_recompilation(options, 1));
    FAILS(e5rt_e5_compiler_options_set_segmenter(options, "other"), E5RT_INVALID_ARGUMENT,
          "Segmenter other is unknown");
    FAILS(e5rt_e5_compiler_compile(compiler, NULL, options, &library), E5RT_INVALID_ARGUMENT,
          "Invalid E5 path specified.");
    FAILS(e5rt_e5_compiler_compile(compiler, folder_path("missing.hwx"), NULL, &library),
          E5RT_INVALID_ARGUMENT, "missing.hwx: cannot be opened: No such file");
    assert_null(library);
    folder_write("rubbish.bin", rubbish, sizeof(rubbish));
    FAILS(e5rt_e5_compiler_compile(compiler, folder_path("rubbish.bin"), options, &library),
          E5RT_INVALID_ARGUMENT, "rubbish.bin: ");
    folder_write("empty.hwx", rubbish, 0);
    FAILS(e5rt_program_library_create(&library, folder_path("empty.hwx")), E5RT_INVALID_ARGUMENT,
          "empty.hwx: ");
    FAILS(e5rt_program_library_create(&library, NULL), E5RT_INVALID_ARGUMENT, "Invalid E5 path specified.");
    e5rig_write_adder("add.hwx", &s, 1);
    OK(e5rt_e5_compiler_is_new_compile_required(compiler, folder_path("add.hwx"), NULL, &required));
    assert_int_equal(required, 0);
    OK(e5rt_program_library_create(&library, folder_path("add.hwx")));
    FAILS(e5rt_program_library_retain_program_function(library, "side", &function), E5RT_INVALID_ARGUMENT,
          "no function side in add.hwx");
    OK(e5rt_program_library_release(&library));
    OK(e5rt_e5_compiler_options_release(&options));
    OK(e5rt_e5_compiler_release(&compiler));
}

static void handles_that_are_wrong(void **state)
{
    e5rt_buffer_object_t buffer = e5rig_buffer(64), stale = buffer;
    e5rt_execution_stream_t stream, none = NULL;
    e5rt_precompiled_compute_op_create_options_t options;
    uint64_t words[64] = {0};
    void *data;

    (void)state;
    OK(e5rt_execution_stream_create(&stream));
    FAILS(e5rt_execution_stream_execute_sync(NULL), E5RT_INVALID_ARGUMENT, "e5rt_execution_stream_t is NULL");
    FAILS(e5rt_execution_stream_execute_sync((void *)buffer), E5RT_INVALID_ARGUMENT,
          "e5rt_buffer_object_t was given where");
    FAILS(e5rt_execution_stream_execute_sync((void *)words), E5RT_INVALID_ARGUMENT,
          "not an e5rt_execution_stream_t");
    FAILS(e5rt_execution_stream_execute_sync((void *)((char *)words + 1)), E5RT_INVALID_ARGUMENT,
          "not an e5rt_execution_stream_t");
    FAILS(e5rt_buffer_object_get_data_ptr(buffer, NULL), E5RT_INVALID_ARGUMENT, "is NULL");
    FAILS(e5rt_buffer_object_alloc(NULL, 64, 0), E5RT_INVALID_ARGUMENT, "is NULL");
    FAILS(e5rt_precompiled_compute_op_create_options_create_with_program_function(&options, NULL),
          E5RT_INVALID_ARGUMENT, "Cannot provide program function as nullptr. @ Create");
    FAILS(e5rt_io_port_bind_buffer_object(NULL, buffer), E5RT_INVALID_ARGUMENT, "e5rt_io_port_t is NULL");
    OK(e5rt_buffer_object_release(&buffer));
    assert_null(buffer);
    FAILS(e5rt_buffer_object_get_data_ptr(stale, &data), E5RT_INVALID_ARGUMENT, "has been released");
    FAILS(e5rt_buffer_object_release(&stale), E5RT_INVALID_ARGUMENT, "has been released");
    assert_non_null(stale);
    OK(e5rt_buffer_object_release(&buffer)); /* cleared */
    OK(e5rt_buffer_object_release(NULL));
    OK(e5rt_execution_stream_release(&none));
    OK(e5rt_execution_stream_release(&stream));
    assert_string_equal(e5rt_error_code_get_string(0), "OK");
    assert_string_equal(e5rt_error_code_get_string(E5RT_INVALID_DATA_TYPE), "INVALID DATA TYPE");
    assert_string_equal(e5rt_error_code_get_string(7), "UNKNOWN ERROR CODE");
    assert_string_equal(e5rt_error_code_get_string(-1), "UNKNOWN ERROR CODE");
}

/* Everything that another handle keeps, released once more through a copy: the other handle goes on. */
static void handles_that_are_released_twice(void **state)
{
    const struct td_shape s = {1, 1, 1, 32};
    e5rt_execution_stream_operation_t operation;
    e5rt_program_function_t function;
    e5rt_program_library_t library;
    e5rt_buffer_object_t x = e5rig_buffer(64), copy;
    e5rt_execution_stream_t stream;
    struct e5rig_model model;
    uint64_t count;
    void *data;

    (void)state;
    e5rig_write_adder("add.hwx", &s, 1);
    e5rig_model_open(&model, folder_path("add.hwx"));
    operation = model.operation, function = model.function, library = model.library, copy = x;
    e5rig_bind(operation, "x", x), e5rig_bind(operation, "state_in", x),
        e5rig_bind(operation, "state_out", x);
    OK(e5rt_execution_stream_create(&stream));
    OK(e5rt_execution_stream_encode_operation(stream, operation));
    e5rig_model_close(&model);
    OK(e5rt_buffer_object_release(&x));
    for (unsigned i = 0; i < 3; i++) {
        FAILS(e5rt_execution_stream_operation_release(&operation), E5RT_INVALID_ARGUMENT,
              "e5rt_execution_stream_operation_t has been released");
        FAILS(e5rt_program_function_release(&function), E5RT_INVALID_ARGUMENT, "has been released");
        FAILS(e5rt_program_library_release(&library), E5RT_INVALID_ARGUMENT, "has been released");
        FAILS(e5rt_buffer_object_release(&copy), E5RT_INVALID_ARGUMENT, "has been released");
        assert_non_null(operation);
        /* A stale handle is refused everywhere, also while another handle keeps what it named. */
        FAILS(e5rt_execution_stream_operation_get_num_inputs(operation, &count), E5RT_INVALID_ARGUMENT,
              "has been released");
        FAILS(e5rt_buffer_object_get_data_ptr(copy, &data), E5RT_INVALID_ARGUMENT, "has been released");
        OK(e5rt_execution_stream_execute_sync(stream));
    }
    OK(e5rt_execution_stream_reset(stream));
    OK(e5rt_execution_stream_release(&stream));
}

/* A function keeps its library, which is read and not loaded yet. */
static void a_library_that_is_released_twice(void **state)
{
    const struct td_shape s = {1, 1, 1, 32};
    e5rt_program_function_t function;
    e5rt_program_library_t library, copy;

    (void)state;
    e5rig_write_adder("add.hwx", &s, 1);
    OK(e5rt_program_library_create(&library, folder_path("add.hwx")));
    copy = library;
    OK(e5rt_program_library_retain_program_function(library, "main", &function));
    OK(e5rt_program_library_release(&library));
    FAILS(e5rt_program_library_release(&copy), E5RT_INVALID_ARGUMENT, "has been released");
    OK(e5rt_program_function_load_for_execution(function));
    OK(e5rt_program_function_release(&function));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_and_their_limits),
        cmocka_unit_test(names_and_counts),
        cmocka_unit_test(paths_and_options_that_are_refused),
        cmocka_unit_test(handles_that_are_wrong),
        cmocka_unit_test(handles_that_are_released_twice),
        cmocka_unit_test(a_library_that_is_released_twice),
    };

    return cmocka_run_group_tests_name("runtime_refusals", tests, NULL, NULL);
}
