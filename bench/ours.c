/* SPDX-License-Identifier: Apache-2.0 */
#include "ours.h"

#include <stdio.h>
#include <string.h>

#include "engine/half.h"

#define RANK_MAX 5u

static bool said(int64_t status)
{
    if (status)
        fprintf(stderr, "bench: %s\n", e5rt_get_last_error_message());
    return !status;
}

static bool compile(struct bench_ours *ours, const char *folder, const char *path)
{
    e5rt_e5_compiler_config_options_t config = NULL;
    e5rt_e5_compiler_t compiler = NULL;
    bool good = said(e5rt_e5_compiler_config_options_create(&config)) &&
                said(e5rt_e5_compiler_config_options_set_cache_bundle_location(config, folder)) &&
                said(e5rt_e5_compiler_create_with_config(&compiler, config)) &&
                said(e5rt_e5_compiler_compile(compiler, path, NULL, &ours->library));

    if (compiler)
        e5rt_e5_compiler_release(&compiler);
    if (config)
        e5rt_e5_compiler_config_options_release(&config);
    return good;
}

static bool make_operation(struct bench_ours *ours, enum bench_layout layout)
{
    e5rt_precompiled_compute_op_create_options_t options = NULL;
    bool good = said(e5rt_precompiled_compute_op_create_options_create_with_program_function(
                    &options, ours->function)) &&
                said(e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(
                    &ours->operation[layout], options));

    if (options)
        e5rt_precompiled_compute_op_create_options_release(&options);
    return good;
}

/* `dim` is counted through in row-major order; `stride` says where each element is. */
static void fill(uint8_t *data, uint64_t rank, const uint64_t *dim, const uint64_t *stride, unsigned which)
{
    uint64_t index[RANK_MAX] = {0}, elements = 1;

    for (unsigned i = 0; i < rank; i++)
        elements *= dim[i];
    for (uint64_t e = 0; e < elements; e++) {
        uint64_t place = 0;
        uint16_t half = eng_float_to_half(bench_value(e, which));

        for (unsigned i = 0; i < rank; i++)
            place += index[i] * stride[i];
        memcpy(data + place, &half, sizeof(half));
        for (uint64_t i = rank; i-- > 0 && ++index[i] == dim[i];)
            index[i] = 0;
    }
}

static bool make_buffer(struct bench_ours *ours, enum bench_layout layout, unsigned which,
                        e5rt_tensor_desc_t desc)
{
    e5rt_buffer_object_t *buffer = &ours->buffer[layout][which];
    uint64_t rank = 0, dim[RANK_MAX], stride[RANK_MAX], bytes = 2;
    void *data;

    if (!said(e5rt_tensor_desc_get_rank(desc, &rank)) || !said(e5rt_tensor_desc_get_shape(desc, dim)))
        return false;
    for (uint64_t i = rank; i-- > 0; bytes *= dim[i])
        stride[i] = bytes;
    if (layout == BENCH_ENGINE && e5rt_tensor_desc_get_strides(desc, stride)) {
        ours->engine = false;
        return true;
    }
    if (!said(layout == BENCH_ENGINE ? e5rt_tensor_desc_alloc_buffer_object(desc, E5RT_BUFFER_CPU, 1, buffer)
                                     : e5rt_buffer_object_alloc(buffer, bytes, E5RT_BUFFER_CPU)) ||
        !said(e5rt_buffer_object_get_data_ptr(*buffer, &data)))
        return false;
    if (which < 2)
        fill(data, rank, dim, stride, which);
    return true;
}

static bool bind(struct bench_ours *ours, enum bench_layout layout, unsigned which, const char *name)
{
    e5rt_execution_stream_operation_t operation = ours->operation[layout];
    e5rt_io_port_t port = NULL;
    e5rt_tensor_desc_t desc = NULL;
    bool good =
        said(which == 2 ? e5rt_execution_stream_operation_retain_output_port(operation, name, &port)
                        : e5rt_execution_stream_operation_retain_input_port(operation, name, &port)) &&
        said(e5rt_io_port_retain_tensor_desc(port, &desc)) && make_buffer(ours, layout, which, desc) &&
        (!ours->buffer[layout][which] ||
         said(e5rt_io_port_bind_buffer_object(port, ours->buffer[layout][which])));

    if (desc)
        e5rt_tensor_desc_release(&desc);
    if (port)
        e5rt_io_port_release(&port);
    return good;
}

static bool prepare(struct bench_ours *ours, const struct bench_operation *o, enum bench_layout layout)
{
    if (!make_operation(ours, layout) || !bind(ours, layout, 0, "x") ||
        (bench_operation_inputs(o) == 2 && !bind(ours, layout, 1, "z")) || !bind(ours, layout, 2, "y"))
        return false;
    if (layout == BENCH_ENGINE && !ours->engine)
        return true;
    return said(e5rt_execution_stream_create(&ours->stream[layout])) &&
           said(e5rt_execution_stream_encode_operation(ours->stream[layout], ours->operation[layout]));
}

bool bench_ours_open(struct bench_ours *ours, const struct bench_operation *o, const char *folder)
{
    const char *name = NULL;
    char path[256];

    *ours = (struct bench_ours){.engine = true};
    snprintf(path, sizeof(path), "%s/model.mil", folder);
    if (!bench_operation_write(o, folder, path)) {
        fprintf(stderr, "bench: %s cannot be written\n", path);
        return false;
    }
    return compile(ours, folder, path) &&
           said(e5rt_program_library_get_function_names(ours->library, 1, &name)) &&
           said(e5rt_program_library_retain_program_function(ours->library, name, &ours->function)) &&
           prepare(ours, o, BENCH_PACKED) && prepare(ours, o, BENCH_ENGINE);
}

bool bench_ours_run(struct bench_ours *ours, enum bench_layout layout)
{
    return said(e5rt_execution_stream_execute_sync(ours->stream[layout]));
}

const uint16_t *bench_ours_result(const struct bench_ours *ours)
{
    void *data = NULL;

    return e5rt_buffer_object_get_data_ptr(ours->buffer[BENCH_PACKED][2], &data) ? NULL : data;
}

void bench_ours_close(struct bench_ours *ours)
{
    for (unsigned layout = 0; layout < BENCH_LAYOUTS; layout++) {
        if (ours->stream[layout])
            e5rt_execution_stream_release(&ours->stream[layout]);
        if (ours->operation[layout])
            e5rt_execution_stream_operation_release(&ours->operation[layout]);
        for (unsigned i = 0; i < 3; i++)
            if (ours->buffer[layout][i])
                e5rt_buffer_object_release(&ours->buffer[layout][i]);
    }
    if (ours->function)
        e5rt_program_function_release(&ours->function);
    if (ours->library)
        e5rt_program_library_release(&ours->library);
}
