/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime an application calls: compile a network once, bind buffers to its ports, dispatch many times. Names and argument order are those of the guide's chapter 2.
 *
 * Every call returns a status, 0 = ok; e5rt_get_last_error_message() has one sentence about the last failure of the calling thread. create and alloc return through the
 * first parameter, compile, retain and get through the last. Handles are counted; release takes the address of the handle and clears it. What
 * another handle still needs (a stream its operations, an operation its buffers) stays until that one is released, but a copy of a released handle is refused. A handle may be used
 * by one thread at a time; different handles by different threads.
 */
#ifndef ANEMONE_E5RT_H
#define ANEMONE_E5RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ANE_API
#define ANE_API __attribute__((visibility("default")))
#endif

typedef struct e5rt_e5_compiler *e5rt_e5_compiler_t;
typedef struct e5rt_e5_compiler_config_options *e5rt_e5_compiler_config_options_t;
typedef struct e5rt_e5_compiler_options *e5rt_e5_compiler_options_t;
typedef struct e5rt_program_library *e5rt_program_library_t;
typedef struct e5rt_program_function *e5rt_program_function_t;
typedef struct e5rt_precompiled_compute_op_create_options *e5rt_precompiled_compute_op_create_options_t;
typedef struct e5rt_execution_stream_operation *e5rt_execution_stream_operation_t;
typedef struct e5rt_io_port *e5rt_io_port_t;
typedef struct e5rt_buffer_object *e5rt_buffer_object_t;
typedef struct e5rt_execution_stream *e5rt_execution_stream_t;
typedef struct e5rt_async_event *e5rt_async_event_t;
typedef struct e5rt_tensor_desc *e5rt_tensor_desc_t;

/* Status codes (guide 1.1). */
#define E5RT_OK                0
#define E5RT_INVALID_ARGUMENT  1
#define E5RT_INVALID_OPERATION 2
#define E5RT_NO_MEMORY         3
#define E5RT_OUT_OF_BOUNDS     4
#define E5RT_INVALID_TYPE      5
#define E5RT_INVALID_DATA_TYPE 6

ANE_API const char *e5rt_error_code_get_string(int64_t code);
ANE_API const char *e5rt_get_last_error_message(void);
/*
 * Ours, not in the guide: one sentence about what the calling thread's last e5rt_e5_compiler_compile worked around, or "". The library itself prints nothing. There is one such
 * case: the cache could not be used, so the program was compiled in memory and is not kept.
 */
ANE_API const char *e5rt_get_last_warning_message(void);

/* Compiler. A NULL options or config handle means the defaults. */
ANE_API int64_t e5rt_e5_compiler_config_options_create(e5rt_e5_compiler_config_options_t *config);
ANE_API int64_t e5rt_e5_compiler_config_options_set_cache_bundle_location(
    e5rt_e5_compiler_config_options_t config, const char *path);
ANE_API int64_t e5rt_e5_compiler_config_options_release(e5rt_e5_compiler_config_options_t *config);
ANE_API int64_t e5rt_e5_compiler_create(e5rt_e5_compiler_t *compiler);
ANE_API int64_t e5rt_e5_compiler_create_with_config(e5rt_e5_compiler_t *compiler,
                                                    e5rt_e5_compiler_config_options_t config);
ANE_API int64_t e5rt_e5_compiler_release(e5rt_e5_compiler_t *compiler);
ANE_API int64_t e5rt_e5_compiler_options_create(e5rt_e5_compiler_options_t *options);
ANE_API int64_t e5rt_e5_compiler_options_set_compute_device_types_mask(e5rt_e5_compiler_options_t options,
                                                                       uint64_t mask);
ANE_API int64_t e5rt_e5_compiler_options_set_force_recompilation(e5rt_e5_compiler_options_t options,
                                                                 int force);
ANE_API int64_t e5rt_e5_compiler_options_set_segmenter(e5rt_e5_compiler_options_t options,
                                                       const char *segmenter);
ANE_API int64_t e5rt_e5_compiler_options_release(e5rt_e5_compiler_options_t *options);
ANE_API int64_t e5rt_e5_compiler_compile(e5rt_e5_compiler_t compiler, const char *model_path,
                                         e5rt_e5_compiler_options_t options, e5rt_program_library_t *library);
ANE_API int64_t e5rt_e5_compiler_is_new_compile_required(e5rt_e5_compiler_t compiler, const char *model_path,
                                                         e5rt_e5_compiler_options_t options, int *required);

/* Library and function. */
ANE_API int64_t e5rt_program_library_create(e5rt_program_library_t *library, const char *bundle_path);
ANE_API int64_t e5rt_program_library_get_num_functions(e5rt_program_library_t library, uint64_t *count);
ANE_API int64_t e5rt_program_library_get_function_names(e5rt_program_library_t library, uint64_t count,
                                                        const char **names);
ANE_API int64_t e5rt_program_library_retain_program_function(e5rt_program_library_t library, const char *name,
                                                             e5rt_program_function_t *function);
ANE_API int64_t e5rt_program_library_release(e5rt_program_library_t *library);
ANE_API int64_t e5rt_program_function_get_name(e5rt_program_function_t function, const char **name);
ANE_API int64_t e5rt_program_function_load_for_execution(e5rt_program_function_t function);
ANE_API int64_t e5rt_program_function_release(e5rt_program_function_t *function);

/* Operation. */
ANE_API int64_t e5rt_precompiled_compute_op_create_options_create_with_program_function(
    e5rt_precompiled_compute_op_create_options_t *options, e5rt_program_function_t function);
ANE_API int64_t e5rt_precompiled_compute_op_create_options_set_operation_name(
    e5rt_precompiled_compute_op_create_options_t options, const char *name);
ANE_API int64_t e5rt_precompiled_compute_op_create_options_set_allocate_intermediate_buffers(
    e5rt_precompiled_compute_op_create_options_t options, int allocate);
ANE_API int64_t
e5rt_precompiled_compute_op_create_options_release(e5rt_precompiled_compute_op_create_options_t *options);
ANE_API int64_t e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(
    e5rt_execution_stream_operation_t *operation, e5rt_precompiled_compute_op_create_options_t options);
ANE_API int64_t e5rt_execution_stream_operation_get_num_inputs(e5rt_execution_stream_operation_t operation,
                                                               uint64_t *count);
ANE_API int64_t e5rt_execution_stream_operation_get_num_outputs(e5rt_execution_stream_operation_t operation,
                                                                uint64_t *count);
ANE_API int64_t e5rt_execution_stream_operation_get_input_names(e5rt_execution_stream_operation_t operation,
                                                                uint64_t count, const char **names);
ANE_API int64_t e5rt_execution_stream_operation_get_output_names(e5rt_execution_stream_operation_t operation,
                                                                 uint64_t count, const char **names);
ANE_API int64_t e5rt_execution_stream_operation_retain_input_port(e5rt_execution_stream_operation_t operation,
                                                                  const char *name, e5rt_io_port_t *port);
ANE_API int64_t e5rt_execution_stream_operation_retain_output_port(
    e5rt_execution_stream_operation_t operation, const char *name, e5rt_io_port_t *port);
ANE_API int64_t
e5rt_execution_stream_operation_prepare_op_for_encode(e5rt_execution_stream_operation_t operation);
ANE_API int64_t e5rt_execution_stream_operation_release(e5rt_execution_stream_operation_t *operation);

/* Ports and buffers. A bound buffer holds the port's type, packed row-major, unless it was allocated from the port's tensor descriptor. */
ANE_API int64_t e5rt_io_port_bind_buffer_object(e5rt_io_port_t port, e5rt_buffer_object_t buffer);
ANE_API int64_t e5rt_io_port_retain_tensor_desc(e5rt_io_port_t port, e5rt_tensor_desc_t *desc);
ANE_API int64_t e5rt_io_port_release(e5rt_io_port_t *port);
ANE_API int64_t e5rt_buffer_object_alloc(e5rt_buffer_object_t *buffer, size_t bytes,
                                         uint32_t type); /* rounded up to 64 bytes, zeroed; type 0, 1 or 2 */
ANE_API int64_t e5rt_buffer_object_get_data_ptr(e5rt_buffer_object_t buffer, void **data);
ANE_API int64_t e5rt_buffer_object_get_size(e5rt_buffer_object_t buffer, size_t *bytes);
ANE_API int64_t e5rt_buffer_object_get_type(e5rt_buffer_object_t buffer, uint32_t *type);
ANE_API int64_t e5rt_buffer_object_release(e5rt_buffer_object_t *buffer);
/* For `count` tensors, one after the other, each of get_size bytes rounded up to 64; a port uses the first. It holds the engine's type at the descriptor's strides: the port's, and fp16 for a port of fp32. */
ANE_API int64_t e5rt_tensor_desc_alloc_buffer_object(e5rt_tensor_desc_t desc, uint32_t type, uint64_t count,
                                                     e5rt_buffer_object_t *buffer);
ANE_API int64_t e5rt_tensor_desc_get_rank(e5rt_tensor_desc_t desc, uint64_t *rank);
ANE_API int64_t e5rt_tensor_desc_get_shape(e5rt_tensor_desc_t desc, uint64_t *shape); /* rank entries */
ANE_API int64_t e5rt_tensor_desc_get_strides(e5rt_tensor_desc_t desc,
                                             uint64_t *strides); /* bytes, engine layout */
ANE_API int64_t e5rt_tensor_desc_get_size(e5rt_tensor_desc_t desc, size_t *bytes);
ANE_API int64_t e5rt_tensor_desc_get_dtype(
    e5rt_tensor_desc_t desc, uint32_t *dtype); /* the port's: 1 uint8, 2 int8, 3 fp16, 4 fp32 (guide 3.6) */
ANE_API int64_t e5rt_tensor_desc_release(e5rt_tensor_desc_t *desc);

/*
 * Streams. An operation is in one stream at a time, once, with all its ports bound; its bindings stay as they are until that stream is reset or released. What is encoded may be
 * executed any number of times.
 */
ANE_API int64_t e5rt_execution_stream_create(e5rt_execution_stream_t *stream);
ANE_API int64_t e5rt_execution_stream_encode_operation(e5rt_execution_stream_t stream,
                                                       e5rt_execution_stream_operation_t operation);
ANE_API int64_t e5rt_execution_stream_execute_sync(e5rt_execution_stream_t stream);
ANE_API int64_t e5rt_execution_stream_reset(e5rt_execution_stream_t stream);
ANE_API int64_t e5rt_execution_stream_release(e5rt_execution_stream_t *stream);

#ifdef __cplusplus
}
#endif

#endif
