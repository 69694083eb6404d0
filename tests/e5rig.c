/* SPDX-License-Identifier: Apache-2.0 */
/* A client that knows e5rt.h alone. */
#include "e5rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "folder.h"
#include "programs.h"
#include "support.h"

void e5rig_ok(int64_t status, const char *call, const char *file, int line)
{
    if (!status)
        return;
    print_error("# %s: %s: %s\n", call, e5rt_error_code_get_string(status), e5rt_get_last_error_message());
    _fail(file, line);
}

void e5rig_fails(int64_t got, int64_t status, const char *word, const char *call, const char *file, int line)
{
    const char *sentence = e5rt_get_last_error_message();

    if (got == status && strstr(sentence, word))
        return;
    print_error("# %s: %s: %s\n", call, e5rt_error_code_get_string(got), sentence);
    _fail(file, line);
}

bool e5rig_served(void)
{
    const char *service = getenv("ANEMONE_SERVICE");

    return service && service[0] && strcmp(service, "none") != 0;
}

void e5rig_needs_own_machine(const char *why)
{
    if (!e5rig_served())
        return;
    print_message("# skipped in a served process: %s\n", why);
    skip();
}

void e5rig_write_adder(const char *name, const struct td_shape *s, unsigned times)
{
    static struct test_program program;
    static uint8_t bytes[1 << 20];
    const struct pr_hwx_port ports[3] = {
        test_program_port("state_out@output", PR_HWX_OUTPUT, 4, PR_HWX_ELEMENT_FLOAT16, s),
        test_program_port("x", PR_HWX_INPUT, 5, PR_HWX_ELEMENT_FLOAT16, s),
        test_program_port("state_in", PR_HWX_INPUT, 6, PR_HWX_ELEMENT_FLOAT16, s)};
    const struct pr_hwx_program rest = {.port_count = 3, .port = ports};

    assert_true(times == 1 || times == 2);
    test_assemble(&program, "chain\n%s%s", test_text_add, times == 2 ? test_text_add : "");
    td_set_shape(program.bytes, s);
    if (times == 2) {
        /* TBE: the next one is in buffer 0. */
        td_set(program.bytes, TD_W8, td_get(program.bytes, TD_W8) | 1u << 23);
        td_set_shape(program.bytes + td_get(program.bytes, TD_NEXT), s);
    }
    assert_int_equal(program.count, times);
    folder_write(name, bytes, test_program_image(&program, &rest, bytes, sizeof(bytes)));
}

e5rt_execution_stream_operation_t e5rig_operation(e5rt_program_function_t function, const char *name)
{
    e5rt_precompiled_compute_op_create_options_t options;
    e5rt_execution_stream_operation_t operation;

    OK(e5rt_precompiled_compute_op_create_options_create_with_program_function(&options, function));
    OK(e5rt_precompiled_compute_op_create_options_set_operation_name(options, name));
    OK(e5rt_precompiled_compute_op_create_options_set_allocate_intermediate_buffers(options, 1));
    OK(e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(&operation,
                                                                                         options));
    OK(e5rt_precompiled_compute_op_create_options_release(&options));
    return operation;
}

void e5rig_model_open(struct e5rig_model *model, const char *path)
{
    e5rt_e5_compiler_config_options_t config;
    e5rt_e5_compiler_options_t options;
    e5rt_e5_compiler_t compiler;

    OK(e5rt_e5_compiler_config_options_create(&config));
    OK(e5rt_e5_compiler_config_options_set_cache_bundle_location(config, folder_path("cache")));
    OK(e5rt_e5_compiler_create_with_config(&compiler, config));
    OK(e5rt_e5_compiler_options_create(&options));
    OK(e5rt_e5_compiler_options_set_compute_device_types_mask(options, E5RT_DEVICE_ANE));
    OK(e5rt_e5_compiler_options_set_segmenter(options, "graph"));
    OK(e5rt_e5_compiler_compile(compiler, path, options, &model->library));
    OK(e5rt_program_library_retain_program_function(model->library, "main", &model->function));
    OK(e5rt_program_function_load_for_execution(model->function));
    model->operation = e5rig_operation(model->function, "op");
    OK(e5rt_e5_compiler_config_options_release(&config));
    OK(e5rt_e5_compiler_options_release(&options));
    OK(e5rt_e5_compiler_release(&compiler));
}

void e5rig_model_close(struct e5rig_model *model)
{
    OK(e5rt_execution_stream_operation_release(&model->operation));
    OK(e5rt_program_function_release(&model->function));
    OK(e5rt_program_library_release(&model->library));
}

static e5rt_io_port_t find(e5rt_execution_stream_operation_t operation, const char *name)
{
    e5rt_io_port_t found;

    if (e5rt_execution_stream_operation_retain_input_port(operation, name, &found))
        OK(e5rt_execution_stream_operation_retain_output_port(operation, name, &found));
    return found;
}

void e5rig_bind(e5rt_execution_stream_operation_t operation, const char *name, e5rt_buffer_object_t buffer)
{
    e5rt_io_port_t found = find(operation, name);

    OK(e5rt_io_port_bind_buffer_object(found, buffer));
    OK(e5rt_io_port_release(&found));
}

e5rt_buffer_object_t e5rig_buffer(size_t bytes)
{
    e5rt_buffer_object_t buffer;

    OK(e5rt_buffer_object_alloc(&buffer, bytes, E5RT_BUFFER_CPU));
    return buffer;
}

e5rt_buffer_object_t e5rig_engine_buffer(e5rt_execution_stream_operation_t operation, const char *name)
{
    e5rt_io_port_t found = find(operation, name);
    e5rt_buffer_object_t buffer;
    e5rt_tensor_desc_t desc;

    OK(e5rt_io_port_retain_tensor_desc(found, &desc));
    OK(e5rt_tensor_desc_alloc_buffer_object(desc, E5RT_BUFFER_IOSURFACE, 1, &buffer));
    OK(e5rt_tensor_desc_release(&desc));
    OK(e5rt_io_port_release(&found));
    return buffer;
}

void *e5rig_data(e5rt_buffer_object_t buffer)
{
    void *data;

    OK(e5rt_buffer_object_get_data_ptr(buffer, &data));
    return data;
}

int64_t e5rig_once(const char *path, int force)
{
    e5rt_e5_compiler_config_options_t config = NULL;
    e5rt_e5_compiler_options_t options = NULL;
    e5rt_e5_compiler_t compiler = NULL;
    e5rt_program_library_t library = NULL;
    e5rt_program_function_t function = NULL;
    e5rt_precompiled_compute_op_create_options_t op_options = NULL;
    e5rt_execution_stream_operation_t op = NULL;
    e5rt_buffer_object_t x = NULL, s = NULL;
    e5rt_io_port_t port[3] = {NULL};
    e5rt_execution_stream_t stream = NULL;
    int64_t status = e5rt_e5_compiler_config_options_create(&config);

#define THEN(call) status = status ? status : (call)
    THEN(e5rt_e5_compiler_config_options_set_cache_bundle_location(config, folder_name()));
    THEN(e5rt_e5_compiler_create_with_config(&compiler, config));
    THEN(e5rt_e5_compiler_options_create(&options));
    THEN(e5rt_e5_compiler_options_set_force_recompilation(options, force));
    THEN(e5rt_e5_compiler_compile(compiler, path, options, &library));
    THEN(e5rt_program_library_retain_program_function(library, "main", &function));
    THEN(e5rt_precompiled_compute_op_create_options_create_with_program_function(&op_options, function));
    THEN(e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(&op, op_options));
    THEN(e5rt_buffer_object_alloc(&x, 1024, E5RT_BUFFER_CPU));
    THEN(e5rt_buffer_object_alloc(&s, 1024, E5RT_BUFFER_CPU));
    THEN(e5rt_execution_stream_operation_retain_input_port(op, "x", &port[0]));
    THEN(e5rt_io_port_bind_buffer_object(port[0], x));
    THEN(e5rt_execution_stream_operation_retain_input_port(op, "state_in", &port[1]));
    THEN(e5rt_io_port_bind_buffer_object(port[1], s));
    THEN(e5rt_execution_stream_operation_retain_output_port(op, "state_out", &port[2]));
    THEN(e5rt_io_port_bind_buffer_object(port[2], s));
    THEN(e5rt_execution_stream_create(&stream));
    THEN(e5rt_execution_stream_encode_operation(stream, op));
    THEN(e5rt_execution_stream_execute_sync(stream));
#undef THEN
    e5rt_execution_stream_release(&stream);
    e5rt_execution_stream_operation_release(&op);
    e5rt_precompiled_compute_op_create_options_release(&op_options);
    e5rt_program_function_release(&function);
    e5rt_program_library_release(&library);
    e5rt_buffer_object_release(&x), e5rt_buffer_object_release(&s);
    for (unsigned i = 0; i < 3; i++)
        e5rt_io_port_release(&port[i]);
    e5rt_e5_compiler_options_release(&options);
    e5rt_e5_compiler_release(&compiler);
    e5rt_e5_compiler_config_options_release(&config);
    return status;
}
