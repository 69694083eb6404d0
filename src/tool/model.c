/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/model.h"

#include <inttypes.h>
#include <string.h>

#include "tool/latency.h"
#include "tool/progress.h"
#include "tool/tool.h"

bool tool_e5rt_said(int64_t status, const char *what)
{
    const char *sentence = e5rt_get_last_error_message();

    if (!status)
        return true;
    if (!sentence[0])
        sentence = e5rt_error_code_get_string(status);
    if (!strncmp(sentence, what, strlen(what)))
        tool_say("%s", sentence);
    else
        tool_say("%s: %s", what, sentence);
    return false;
}

static bool find_type(uint32_t dtype, enum tool_type *type)
{
    switch (dtype) {
    case E5RT_DTYPE_UINT8: *type = TOOL_UINT8; return true;
    case E5RT_DTYPE_INT8: *type = TOOL_INT8; return true;
    case E5RT_DTYPE_FP16: *type = TOOL_FP16; return true;
    case E5RT_DTYPE_FP32: *type = TOOL_FP32; return true;
    case E5RT_DTYPE_INT32: *type = TOOL_INT32; return true;
    default: return false;
    }
}

static bool describe(struct tool_port *port, e5rt_tensor_desc_t desc, const char *path)
{
    uint64_t rank = 0, shape[TOOL_NPY_RANK_MAX];
    uint32_t dtype = 0;

    if (!tool_e5rt_said(e5rt_tensor_desc_get_rank(desc, &rank), path) ||
        !tool_e5rt_said(e5rt_tensor_desc_get_dtype(desc, &dtype), path))
        return false;
    if (rank > TOOL_NPY_RANK_MAX || !find_type(dtype, &port->type)) {
        tool_say(
            "%s: port %s has %" PRIu64
            " dimensions of type %u; at most %u of uint8, int8, fp16, fp32 or int32 (1 to 5) are read and written.",
            path, port->name, rank, dtype, TOOL_NPY_RANK_MAX);
        return false;
    }
    if (!tool_e5rt_said(e5rt_tensor_desc_get_shape(desc, shape), path))
        return false;
    port->shape.rank = (unsigned)rank;
    port->elements = 1;
    for (unsigned i = 0; i < rank; i++) {
        port->shape.dim[i] = shape[i];
        port->elements *= shape[i];
    }
    return true;
}

static bool bind(struct tool_port *port, e5rt_io_port_t handle, const char *path)
{
    e5rt_tensor_desc_t desc = NULL;
    bool good =
        tool_e5rt_said(e5rt_io_port_retain_tensor_desc(handle, &desc), path) && describe(port, desc, path);

    if (desc)
        e5rt_tensor_desc_release(&desc);
    return good &&
           tool_e5rt_said(e5rt_buffer_object_alloc(
                              &port->buffer, port->elements * tool_type_bytes(port->type), E5RT_BUFFER_CPU),
                          path) &&
           tool_e5rt_said(e5rt_buffer_object_get_data_ptr(port->buffer, &port->data), path) &&
           tool_e5rt_said(e5rt_io_port_bind_buffer_object(handle, port->buffer), path);
}

static bool bind_named(struct tool_model *model, bool output, const char *name, const char *path)
{
    struct tool_port *port = &model->port[model->ports];
    e5rt_io_port_t handle = NULL;
    bool good;

    model->ports++;
    port->name = name;
    port->output = output;
    good = tool_e5rt_said(
               output ? e5rt_execution_stream_operation_retain_output_port(model->operation, name, &handle)
                      : e5rt_execution_stream_operation_retain_input_port(model->operation, name, &handle),
               path) &&
           bind(port, handle, path);
    if (handle)
        e5rt_io_port_release(&handle);
    return good;
}

static bool bind_all(struct tool_model *model, const char *path)
{
    const char *name[TOOL_MODEL_PORTS_MAX];
    uint64_t inputs = 0, outputs = 0;

    if (!tool_e5rt_said(e5rt_execution_stream_operation_get_num_inputs(model->operation, &inputs), path) ||
        !tool_e5rt_said(e5rt_execution_stream_operation_get_num_outputs(model->operation, &outputs), path))
        return false;
    if (inputs > TOOL_MODEL_PORTS_MAX || outputs > TOOL_MODEL_PORTS_MAX - inputs) {
        tool_say("%s: %" PRIu64 " ports; the limit is %u.", path, inputs + outputs, TOOL_MODEL_PORTS_MAX);
        return false;
    }
    if (!tool_e5rt_said(e5rt_execution_stream_operation_get_input_names(model->operation, inputs, name),
                        path) ||
        !tool_e5rt_said(
            e5rt_execution_stream_operation_get_output_names(model->operation, outputs, name + inputs), path))
        return false;
    for (uint64_t i = 0; i < inputs + outputs; i++)
        if (!bind_named(model, i >= inputs, name[i], path))
            return false;
    return true;
}

static bool compile(struct tool_model *model, const char *path, bool fallback)
{
    e5rt_e5_compiler_t compiler = NULL;
    e5rt_e5_compiler_options_t options = NULL;
    bool good = tool_e5rt_said(e5rt_e5_compiler_create(&compiler), path) &&
                tool_e5rt_said(e5rt_e5_compiler_options_create(&options), path) &&
                tool_e5rt_said(e5rt_e5_compiler_options_set_compute_device_types_mask(
                                   options, fallback ? E5RT_DEVICE_ANE | E5RT_DEVICE_CPU : E5RT_DEVICE_ANE),
                               path);

    if (good) {
        int64_t status;

        tool_progress_begin();
        status = e5rt_e5_compiler_compile(compiler, path, options, &model->library);
        tool_progress_end();
        good = tool_e5rt_said(status, path);
    }
    if (good && e5rt_get_last_warning_message()[0])
        tool_say("%s", e5rt_get_last_warning_message());
    if (options)
        e5rt_e5_compiler_options_release(&options);
    if (compiler)
        e5rt_e5_compiler_release(&compiler);
    return good;
}

static bool make_operation(struct tool_model *model, const char *path)
{
    e5rt_precompiled_compute_op_create_options_t options = NULL;
    const char *function = NULL;
    bool good =
        tool_e5rt_said(e5rt_program_library_get_function_names(model->library, 1, &function), path) &&
        tool_e5rt_said(
            e5rt_program_library_retain_program_function(model->library, function, &model->function), path) &&
        tool_e5rt_said(e5rt_program_function_load_for_execution(model->function), path) &&
        tool_e5rt_said(e5rt_precompiled_compute_op_create_options_create_with_program_function(
                           &options, model->function),
                       path) &&
        tool_e5rt_said(e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(
                           &model->operation, options),
                       path);

    if (options)
        e5rt_precompiled_compute_op_create_options_release(&options);
    return good;
}

bool tool_model_compile(const char *path, bool fallback, struct tool_model *model)
{
    const uint64_t begin = tool_latency_now_ns();

    *model = (struct tool_model){0};
    if (!compile(model, path, fallback))
        return false;
    model->compile_ns = tool_latency_now_ns() - begin;
    return true;
}

bool tool_model_load(const char *path, struct tool_model *model)
{
    const uint64_t begin = tool_latency_now_ns();

    if (!make_operation(model, path))
        return false;
    model->load_ns = tool_latency_now_ns() - begin;
    return bind_all(model, path) && tool_e5rt_said(e5rt_execution_stream_create(&model->stream), path) &&
           tool_e5rt_said(e5rt_execution_stream_encode_operation(model->stream, model->operation), path);
}

bool tool_model_open(const char *path, bool fallback, struct tool_model *model)
{
    return tool_model_compile(path, fallback, model) && tool_model_load(path, model);
}

bool tool_model_run(void *model)
{
    return tool_e5rt_said(e5rt_execution_stream_execute_sync(((struct tool_model *)model)->stream),
                          "dispatch");
}

void tool_model_close(struct tool_model *model)
{
    if (model->stream)
        e5rt_execution_stream_release(&model->stream);
    if (model->operation)
        e5rt_execution_stream_operation_release(&model->operation);
    if (model->function)
        e5rt_program_function_release(&model->function);
    if (model->library)
        e5rt_program_library_release(&model->library);
    for (unsigned i = 0; i < model->ports; i++)
        if (model->port[i].buffer)
            e5rt_buffer_object_release(&model->port[i].buffer);
}

static struct tool_port *find_named(struct tool_model *model, bool output, const char *name, size_t length)
{
    for (unsigned i = 0; i < model->ports; i++) {
        struct tool_port *port = &model->port[i];

        if (port->output == output && !strncmp(port->name, name, length) && !port->name[length])
            return port;
    }
    return NULL;
}

/* Program images have a symbol for each port, NAME or NAME@output: the runtime knows both, and lists one. */
struct tool_port *tool_model_port(struct tool_model *model, bool output, const char *name, size_t length)
{
    struct tool_port *port = find_named(model, output, name, length);
    const char *at = memchr(name, '@', length);
    e5rt_io_port_t handle = NULL;
    char whole[256];

    if (port || !at || length >= sizeof(whole))
        return port;
    memcpy(whole, name, length);
    whole[length] = '\0';
    if (output ? e5rt_execution_stream_operation_retain_output_port(model->operation, whole, &handle)
               : e5rt_execution_stream_operation_retain_input_port(model->operation, whole, &handle))
        return NULL;
    e5rt_io_port_release(&handle);
    return find_named(model, output, name, (size_t)(at - name));
}
