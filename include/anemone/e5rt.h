/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The runtime an application calls: compile a network once, bind buffers to its ports, dispatch many times.
 * Names and argument order are those of the real runtime, as the guide has them (docs/provenance.md).
 *
 *     compile or open a library -> retain its function -> make an operation -> bind a buffer to every port
 *     -> encode the operation into a stream -> execute the stream, again and again
 *
 * The following holds for every call below, and is not repeated there.
 *
 * Status. A call returns E5RT_OK (0) or one of the codes below. Each comment lists the codes with their
 * causes. "Arguments" is the cause that all calls share: a handle is NULL, of another kind or released
 * already, or a pointer that is needed is NULL. A failure leaves one sentence in
 * e5rt_get_last_error_message(). A call that fails changes nothing, unless its comment says otherwise; a
 * handle it would have returned is NULL afterwards.
 *
 * Handles. create, alloc, compile and retain return a new handle, which the caller releases with the release
 * call of its kind. create and alloc return it through the first parameter, compile, retain and the
 * allocation from a tensor descriptor through the last. A handle keeps what it needs: a function its library,
 * an operation its program and the buffers bound to it, a port its operation, a stream the operations encoded
 * into it. So handles may be released in any order, and the object behind one ends with its last user.
 *
 * Release. A release call takes the address of the handle and sets the handle to NULL. A NULL address or a
 * NULL handle is allowed and does nothing. A copy of a released handle is refused (arguments), at least until
 * 32 more handles of its kind have been released. Releasing the last user of a program that is loaded waits
 * for the driver to unload it; no other release blocks for longer than it takes to enter the machine.
 *
 * Strings and pointers that are passed in are copied or used during the call only.
 *
 * Threads. A handle may be used by one thread at a time, different handles by different threads at once, also
 * when they have a library, a program or a buffer in common. An operation and its ports count as one handle
 * here; so do a stream and the operations encoded into it. The runtime does not order accesses to the bytes
 * of a buffer: do not read or write them while a stream that uses the buffer executes in another thread.
 *
 * Forks. In a forked child, operations of programs that were loaded before the fork fail with
 * E5RT_INVALID_OPERATION when they are executed, and streams that were submitted before it are idle, without
 * a call of their completion function. The child may make everything anew.
 *
 * Service. Where a service runs (`anemone serve`; docs/service.md) its machine is used, unless
 * ANEMONE_SERVICE is `none`. The broker then compiles, in a cache of its own for each user, and loads;
 * bundles are signed again by it, and images need the policy's permission. Requests go on a connection of
 * the process where the policy allows one, else through the broker. Refusals are E5RT_INVALID_OPERATION,
 * with a sentence that names the line of a policy file, or E5RT_INVALID_ARGUMENT where the compiler refuses
 * a model or a bundle. When the broker ends, programs whose requests go through it fail with
 * E5RT_INVALID_OPERATION; a library that is made and loaded anew has the next broker.
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
typedef struct e5rt_tensor_desc *e5rt_tensor_desc_t;
typedef struct e5rt_execution_stream_config_options *e5rt_execution_stream_config_options_t;
typedef struct e5rt_async_event *e5rt_async_event_t;

/* Status codes. */
#define E5RT_OK                0
#define E5RT_INVALID_ARGUMENT  1 /* arguments; a file or a value is refused, here or by the driver */
#define E5RT_INVALID_OPERATION 2 /* not in this state; or the device, the driver or the file system failed */
#define E5RT_NO_MEMORY         3 /* no memory in the process or in the device */
#define E5RT_OUT_OF_BOUNDS     4 /* more than there is: names of a list, bytes of a buffer */
#define E5RT_INVALID_TYPE      5 /* not a type of buffer */
#define E5RT_INVALID_DATA_TYPE 6 /* a port whose type or shape the runtime cannot describe */

/*
 * Compute devices, as bits of a mask. A mask must have E5RT_DEVICE_ANE. With E5RT_DEVICE_CPU the host
 * computes what the engine cannot; there is no GPU here.
 */
enum e5rt_compute_device {
    E5RT_DEVICE_CPU = 1,
    E5RT_DEVICE_GPU = 2,
    E5RT_DEVICE_ANE = 4,
    E5RT_DEVICE_ALL = 7,
};

/* Types of a buffer object. Here every buffer is a surface that process and engine share. */
enum e5rt_buffer_type {
    E5RT_BUFFER_CPU = 0,       /* memory of the process */
    E5RT_BUFFER_ENGINE = 1,    /* believed to be mapped for the engine */
    E5RT_BUFFER_IOSURFACE = 2, /* backed by a surface */
};

/* Data types of a tensor, as far as a port can have them. */
enum e5rt_dtype {
    E5RT_DTYPE_UINT8 = 1,
    E5RT_DTYPE_INT8 = 2,
    E5RT_DTYPE_FP16 = 3,
    E5RT_DTYPE_FP32 = 4,
    E5RT_DTYPE_INT32 = 5, /* chosen; an output that the host computes */
};

/* ---- Errors ---- */

/*
 * The name of a status code, for messages; "UNKNOWN ERROR CODE" for any other number. The string is constant
 * and lives as long as the library is loaded. Does not block; any thread.
 */
ANE_API const char *e5rt_error_code_get_string(int64_t code);

/*
 * One sentence about the last call of the calling thread that failed: what happened, where, which limit. ""
 * when none has failed yet; calls that succeed do not clear it. Never NULL. The string belongs to the thread
 * and is good until its next call that fails, or its end. Does not block.
 */
ANE_API const char *e5rt_get_last_error_message(void);

/*
 * One sentence about what the calling thread's last e5rt_e5_compiler_compile worked around, or "". There is
 * one such case: the cache could not be used, so the program was compiled in memory and is not kept. Never
 * NULL. The string belongs to the thread and is good until its next e5rt_e5_compiler_compile. Does not block.
 * An addition of Anemone: the library itself prints nothing.
 */
ANE_API const char *e5rt_get_last_warning_message(void);

/* ---- Compiler ---- */

/*
 * A configuration for compilers, with the default cache folder: $XDG_CACHE_HOME/anemone, or else
 * $HOME/.cache/anemone. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_e5_compiler_config_options_create(e5rt_e5_compiler_config_options_t *config);

/*
 * The folder where compilers made with this configuration from now on keep compiled programs. It is created
 * when the first program is kept, not here; a folder that cannot be used is a warning of the compilation, not
 * an error; so is any folder in a process that a service serves. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments, or the path is empty. E5RT_NO_MEMORY; the former path stays.
 */
ANE_API int64_t e5rt_e5_compiler_config_options_set_cache_bundle_location(
    e5rt_e5_compiler_config_options_t config, const char *path);

/*
 * Releases a configuration. Compilers made with it are not affected. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_e5_compiler_config_options_release(e5rt_e5_compiler_config_options_t *config);

/*
 * A compiler with the default configuration. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_e5_compiler_create(e5rt_e5_compiler_t *compiler);

/*
 * A compiler with a configuration; NULL means the default one. The configuration is copied: changes to it
 * afterwards do not reach the compiler. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_e5_compiler_create_with_config(e5rt_e5_compiler_t *compiler,
                                                    e5rt_e5_compiler_config_options_t config);

/*
 * Releases a compiler. Libraries it made are not affected. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_e5_compiler_release(e5rt_e5_compiler_t *compiler);

/*
 * Options of one compilation: the neural engine as the device, no forced recompilation. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_e5_compiler_options_create(e5rt_e5_compiler_options_t *options);

/*
 * Which devices a program may be compiled for, bits of enum e5rt_compute_device. With E5RT_DEVICE_CPU a
 * network that the engine cannot run as a whole is compiled into programs of the engine and host segments
 * between them; without it, the default, such a network is refused. Not in a served process, where all masks
 * have the effect of E5RT_DEVICE_ANE. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments, a bit outside E5RT_DEVICE_ALL, or E5RT_DEVICE_ANE is missing.
 */
ANE_API int64_t e5rt_e5_compiler_options_set_compute_device_types_mask(e5rt_e5_compiler_options_t options,
                                                                       uint64_t mask);

/*
 * force != 0: compile even when the cache has the program, and replace it there. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_e5_compiler_options_set_force_recompilation(e5rt_e5_compiler_options_t options,
                                                                 int force);

/*
 * How a network is divided among devices. The only segmenter is "graph", which is also the default. Does not
 * block.
 * E5RT_INVALID_ARGUMENT: arguments, or any other name.
 */
ANE_API int64_t e5rt_e5_compiler_options_set_segmenter(e5rt_e5_compiler_options_t options,
                                                       const char *segmenter);

/*
 * Releases options. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_e5_compiler_options_release(e5rt_e5_compiler_options_t *options);

/*
 * Compiles a network, or takes its program from the cache. model_path is a .mil file, a folder that is a
 * bundle, or a program image (.hwx or .anec, recognised by name or by content); the last two are read and not
 * compiled. options may be NULL: the defaults. Blocks until the program is there: it reads and writes files
 * and may compute for seconds. It does not touch the device. A cache that cannot be used is not a failure:
 * see e5rt_get_last_warning_message.
 * E5RT_INVALID_ARGUMENT: arguments; the path is NULL, empty, does not exist or cannot be read; the text of
 * the model is wrong, or something in it is not supported; an image is malformed or larger than 2 GiB.
 * E5RT_INVALID_OPERATION: a bundle is damaged, a file or a path is longer than its limit, or reading failed.
 * E5RT_INVALID_DATA_TYPE: a port of the program cannot be described. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_e5_compiler_compile(e5rt_e5_compiler_t compiler, const char *model_path,
                                         e5rt_e5_compiler_options_t options, e5rt_program_library_t *library);

/*
 * Sets *required to 1 when e5rt_e5_compiler_compile with the same arguments would compile, to 0 when it would
 * find the program in the cache, or the path is a bundle or an image. With forced recompilation it is always
 * 1. Blocks while it reads the model. Another process may change the cache before the answer is used.
 * E5RT_INVALID_ARGUMENT, E5RT_INVALID_OPERATION, E5RT_NO_MEMORY: as for e5rt_e5_compiler_compile, as far as
 * the model has to be read; *required is as it was.
 */
ANE_API int64_t e5rt_e5_compiler_is_new_compile_required(e5rt_e5_compiler_t compiler, const char *model_path,
                                                         e5rt_e5_compiler_options_t options, int *required);

/* ---- Library and function ---- */

/*
 * Opens a compiled program: a folder that is a bundle, or a program image (.hwx or .anec). Every byte is read
 * and checked here; the files are not needed afterwards. Blocks while it reads. It does not touch the device.
 * E5RT_INVALID_ARGUMENT: arguments; the path is NULL, empty, does not exist or cannot be read; an image is
 * malformed or larger than 2 GiB. E5RT_INVALID_OPERATION: a bundle is damaged, or reading failed.
 * E5RT_INVALID_DATA_TYPE: a port of the program cannot be described. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_program_library_create(e5rt_program_library_t *library, const char *bundle_path);

/*
 * How many functions the library has: 1. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_program_library_get_num_functions(e5rt_program_library_t library, uint64_t *count);

/*
 * The names of the first `count` functions. names[i] points into the library and is good until the library,
 * and every function, operation, port and tensor descriptor made from it, is released. names may be NULL when
 * count is 0. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_OUT_OF_BOUNDS: count is larger than the number of functions.
 */
ANE_API int64_t e5rt_program_library_get_function_names(e5rt_program_library_t library, uint64_t count,
                                                        const char **names);

/*
 * A handle to the function of that name ("main" in an image). Each call returns a new handle. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments, or the library has no such function. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_program_library_retain_program_function(e5rt_program_library_t library, const char *name,
                                                             e5rt_program_function_t *function);

/*
 * Releases a library. When it is loaded and this was its last user, the program is unloaded: waits for the
 * driver.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_program_library_release(e5rt_program_library_t *library);

/*
 * The function's name. *name points into the library and is good as long as names of
 * e5rt_program_library_get_function_names. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_program_function_get_name(e5rt_program_function_t function, const char **name);

/*
 * Loads the program of the function's library into the device; nothing when it is loaded. All functions of a
 * library share what is loaded, until the library ends. The first call of the process opens the device, which
 * makes and boots the default machine (ane_machine_default in iokit.h). Blocks until the driver has the
 * program ready. Making an operation does the same; calling it before only chooses the time.
 * E5RT_INVALID_ARGUMENT: arguments, or the driver refused the program. E5RT_INVALID_OPERATION: the device
 * could not be opened, or the driver failed or timed out. E5RT_NO_MEMORY: in the process or in the device.
 * After a failure nothing is loaded, and the call may be repeated.
 */
ANE_API int64_t e5rt_program_function_load_for_execution(e5rt_program_function_t function);

/*
 * Releases a function. The program stays loaded while its library or an operation has it; with the last user
 * of all it is unloaded: waits for the driver.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_program_function_release(e5rt_program_function_t *function);

/* ---- Operation ---- */

/*
 * Options to make operations of that function from. The operation's name is the function's. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_precompiled_compute_op_create_options_create_with_program_function(
    e5rt_precompiled_compute_op_create_options_t *options, e5rt_program_function_t function);

/*
 * Another name for operations made from now on. It is used in messages alone, and cut to 127 bytes. Does not
 * block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_precompiled_compute_op_create_options_set_operation_name(
    e5rt_precompiled_compute_op_create_options_t options, const char *name);

/*
 * Accepted without effect: the driver always allocates the intermediate buffers of a program. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_precompiled_compute_op_create_options_set_allocate_intermediate_buffers(
    e5rt_precompiled_compute_op_create_options_t options, int allocate);

/*
 * Releases options. Operations made from them are not affected. Waits for the driver when this was the last
 * user of a loaded program.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t
e5rt_precompiled_compute_op_create_options_release(e5rt_precompiled_compute_op_create_options_t *options);

/*
 * An operation: one use of the program, with bindings of its own. Loads the program when it is not loaded
 * yet; then it blocks as e5rt_program_function_load_for_execution does. The options may be used for more
 * operations.
 * E5RT_INVALID_ARGUMENT: arguments, or the driver refused the program. E5RT_INVALID_OPERATION: the device
 * could not be opened, or the driver failed or timed out. E5RT_NO_MEMORY: in the process or in the device.
 */
ANE_API int64_t e5rt_execution_stream_operation_create_precompiled_compute_operation_with_options(
    e5rt_execution_stream_operation_t *operation, e5rt_precompiled_compute_op_create_options_t options);

/*
 * How many input ports the operation has. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_execution_stream_operation_get_num_inputs(e5rt_execution_stream_operation_t operation,
                                                               uint64_t *count);

/*
 * How many output ports the operation has. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_execution_stream_operation_get_num_outputs(e5rt_execution_stream_operation_t operation,
                                                                uint64_t *count);

/*
 * The names of the first `count` input ports, in the program's order. names[i] points into the library and is
 * good until the operation, and everything else that keeps its library, is released. names may be NULL when
 * count is 0. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_OUT_OF_BOUNDS: count is larger than the number of input ports.
 */
ANE_API int64_t e5rt_execution_stream_operation_get_input_names(e5rt_execution_stream_operation_t operation,
                                                                uint64_t count, const char **names);

/*
 * The names of the first `count` output ports; otherwise as e5rt_execution_stream_operation_get_input_names.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_OUT_OF_BOUNDS: count is larger than the number of output ports.
 */
ANE_API int64_t e5rt_execution_stream_operation_get_output_names(e5rt_execution_stream_operation_t operation,
                                                                 uint64_t count, const char **names);

/*
 * A handle to the input port of that name: a name of get_input_names, or the port's symbol in the program.
 * Each call returns a new handle to the same port. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments, or there is no such input port. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_execution_stream_operation_retain_input_port(e5rt_execution_stream_operation_t operation,
                                                                  const char *name, e5rt_io_port_t *port);

/*
 * The same for an output port.
 * E5RT_INVALID_ARGUMENT: arguments, or there is no such output port. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_execution_stream_operation_retain_output_port(
    e5rt_execution_stream_operation_t operation, const char *name, e5rt_io_port_t *port);

/*
 * Checks that the operation may be encoded again; it changes nothing. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_INVALID_OPERATION: the operation is in a stream that was not reset.
 * (The real runtime also refuses an operation that was never encoded.)
 */
ANE_API int64_t
e5rt_execution_stream_operation_prepare_op_for_encode(e5rt_execution_stream_operation_t operation);

/*
 * Releases an operation. A stream it is encoded into, and its ports, keep it. With the last user its buffers
 * are unbound, and the program is unloaded when nothing else uses it: waits for the driver.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_execution_stream_operation_release(e5rt_execution_stream_operation_t *operation);

/* ---- Ports, buffers and tensor descriptors ---- */

/*
 * Binds a buffer to a port in place of the one that was bound, if any. The operation keeps the buffer until
 * another is bound or the operation ends.
 *
 * A buffer of e5rt_buffer_object_alloc holds the tensor in the port's own type, packed and row-major; it is
 * converted to and from the engine's form around each request where the two differ (fp32 becomes fp16). A
 * buffer of e5rt_tensor_desc_alloc_buffer_object has the engine's form and is used in place. Of an operation
 * with more than 28 ports, some share a surface of the runtime's: buffers of the first 13 inputs and outputs,
 * at least, are used as above, and those of the others are copied in both cases. One buffer may be bound to
 * several ports, also to an input and an output of one operation: inputs are read as if before outputs are
 * written. With ANEMONE_CHAINING=1 in the environment such an operation runs by triggers of a data chain
 * (docs/abi.md) instead of requests; its outputs stay mapped until the program is unloaded, and results are
 * the same. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments, or the buffer was allocated for another form. E5RT_OUT_OF_BOUNDS: the
 * buffer is smaller than the tensor. E5RT_INVALID_OPERATION: the operation is encoded; its bindings change
 * again after the stream is reset. The former binding stays.
 */
ANE_API int64_t e5rt_io_port_bind_buffer_object(e5rt_io_port_t port, e5rt_buffer_object_t buffer);

/*
 * A descriptor of the port's tensor. It keeps the library, not the port. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_io_port_retain_tensor_desc(e5rt_io_port_t port, e5rt_tensor_desc_t *desc);

/*
 * Releases a port. What is bound to it stays bound. Waits for the driver when this was the last user of the
 * operation and its program.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_io_port_release(e5rt_io_port_t *port);

/*
 * A buffer of `bytes` bytes, 1 to 4 GiB, rounded up to a multiple of 64 and zeroed. type is one of enum
 * e5rt_buffer_type. Does not touch the device.
 * E5RT_INVALID_ARGUMENT: arguments, 0 bytes or more than 4 GiB. E5RT_INVALID_TYPE: not a type.
 * E5RT_NO_MEMORY: no memory, no file descriptor (a buffer takes one), or the process has 4,095 surfaces.
 */
ANE_API int64_t e5rt_buffer_object_alloc(e5rt_buffer_object_t *buffer, size_t bytes, uint32_t type);

/*
 * The address of the buffer's bytes, page-aligned. It stays the same, and is good until the buffer and every
 * operation it is bound to are released. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_buffer_object_get_data_ptr(e5rt_buffer_object_t buffer, void **data);

/*
 * The buffer's size in bytes, as rounded up. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_buffer_object_get_size(e5rt_buffer_object_t buffer, size_t *bytes);

/*
 * The type the buffer was allocated with. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_buffer_object_get_type(e5rt_buffer_object_t buffer, uint32_t *type);

/*
 * Releases a buffer. An operation it is bound to keeps it, and its bytes. Enters the machines that have it
 * mapped.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_buffer_object_release(e5rt_buffer_object_t *buffer);

/*
 * A buffer in the engine's form for `count` tensors, one after the other, each of e5rt_tensor_desc_get_size
 * bytes rounded up to a multiple of 64; a port uses the first. Elements have the port's type, except that
 * fp32 ports use fp16; strides are those of e5rt_tensor_desc_get_strides. Zeroed. type is one of enum
 * e5rt_buffer_type. Does not touch the device.
 * E5RT_INVALID_ARGUMENT: arguments, count is 0, or more than 4 GiB. E5RT_INVALID_TYPE: not a type.
 * E5RT_NO_MEMORY: as for e5rt_buffer_object_alloc. A desc that is refused leaves *buffer as it was.
 */
ANE_API int64_t e5rt_tensor_desc_alloc_buffer_object(e5rt_tensor_desc_t desc, uint32_t type, uint64_t count,
                                                     e5rt_buffer_object_t *buffer);

/*
 * The number of dimensions, 5 at most. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_tensor_desc_get_rank(e5rt_tensor_desc_t desc, uint64_t *rank);

/*
 * The dimensions, outermost first; shape has as many entries as the rank. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_tensor_desc_get_shape(e5rt_tensor_desc_t desc, uint64_t *shape);

/*
 * The distance in bytes between neighbours of each dimension in the engine's form; strides has as many
 * entries as the rank. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_INVALID_OPERATION: a dimension has no single stride in the engine's
 * form.
 */
ANE_API int64_t e5rt_tensor_desc_get_strides(e5rt_tensor_desc_t desc, uint64_t *strides);

/*
 * The size of one tensor in the engine's form, in bytes, with the padding of its rows. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_tensor_desc_get_size(e5rt_tensor_desc_t desc, size_t *bytes);

/*
 * The port's type, one of enum e5rt_dtype. A port of E5RT_DTYPE_FP32 has fp16 elements in the engine's form.
 * Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_tensor_desc_get_dtype(e5rt_tensor_desc_t desc, uint32_t *dtype);

/*
 * Releases a descriptor. Buffers allocated from it are not affected. Waits for the driver when this was the
 * last user of a loaded program.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_tensor_desc_release(e5rt_tensor_desc_t *desc);

/* ---- Streams ---- */

/*
 * An empty stream. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_execution_stream_create(e5rt_execution_stream_t *stream);

/*
 * Appends an operation to a stream. An operation is in one stream at a time, once, and all its ports are
 * bound; its bindings stay as they are until that stream is reset or ends. Buffers for conversions are
 * allocated here. Does not touch the device.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_INVALID_OPERATION: the operation is in a stream already, or a port
 * has no buffer; or the stream is submitted. E5RT_NO_MEMORY: no memory, file descriptor or surface for a
 * conversion.
 */
ANE_API int64_t e5rt_execution_stream_encode_operation(e5rt_execution_stream_t stream,
                                                       e5rt_execution_stream_operation_t operation);

/*
 * Runs the operations of the stream in the order they were encoded, each to its end before the next begins,
 * and returns when the last has ended. What is encoded may be executed any number of times. Blocks: each
 * operation waits for the engine, ANE_TIMEOUT_MS (abi.h) at most: wall time, or virtual time when the default
 * machine has a closed clock.
 *
 * The first operation that fails ends the call. The operations before it are complete and their outputs are
 * written. Those after it were not started. Of the one that failed, outputs that need a conversion are as
 * they were; outputs that the engine writes in place may hold parts of a result. After a timeout the engine
 * may still write them later. The stream stays encoded and may be executed again.
 *
 * Events are ignored: dependent events are not waited for, and completion events are not signalled.
 * E5RT_INVALID_ARGUMENT: arguments, or the driver refused the request. E5RT_INVALID_OPERATION: the stream is
 * empty or submitted; or the engine reported a fault, the request timed out, or the driver failed it in
 * another way. E5RT_NO_MEMORY: the driver has no memory to map the buffers.
 */
ANE_API int64_t e5rt_execution_stream_execute_sync(e5rt_execution_stream_t stream);

/*
 * Removes all operations; the stream is empty, and each operation may be bound and encoded again. Waits for
 * the driver when the stream was the last user of an operation and its program.
 * E5RT_INVALID_ARGUMENT: arguments. (The real runtime also refuses a stream that was never encoded into.)
 * E5RT_INVALID_OPERATION: the stream is submitted.
 */
ANE_API int64_t e5rt_execution_stream_reset(e5rt_execution_stream_t stream);

/*
 * Resets a stream and releases it. Waits for the driver as e5rt_execution_stream_reset does. A stream that is
 * submitted goes on to its end, with the call of its completion function, and is reset then.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_execution_stream_release(e5rt_execution_stream_t *stream);

/* ---- Submission ---- */

/*
 * What is called when a submitted stream has come to its end: `status` is what
 * e5rt_execution_stream_execute_sync would have returned, and `message` the sentence of a failure, "" without
 * one, good during the call. Called exactly once for each submission that was accepted, by the runtime's one
 * service thread, which holds no lock meanwhile; so the completions of all streams come one after the other.
 * The stream is idle then: the function may submit, reset, execute or release it, and call everything else of
 * this header except e5rt_async_event_sync_wait, which refuses. Other streams' completions wait until it
 * returns. It must not end its thread.
 */
typedef void (*e5rt_async_completion_t)(void *context, int64_t status, const char *message);

/*
 * Submits a stream: its operations run in the order they were encoded, each after the one before it, and
 * after its dependent events; the call returns at once. Any number of streams may be submitted; all of them
 * complete. (On an M1 the second of two overlapped streams never does.) Until its completion function is
 * called the stream is busy, and must be left alone with its operations and buffers; calls that would change
 * or run it fail. It is also idle when the completion event of its last operation has risen, a moment before.
 * context is the completion function's. An operation that fails ends the submission as it ends
 * e5rt_execution_stream_execute_sync; what it, and the operations after it, were to signal is lost. Does not
 * block; with low-latency events it sends the first operation itself, and may wait for a free request.
 * E5RT_INVALID_ARGUMENT: arguments; completion is NULL. E5RT_INVALID_OPERATION: the stream is empty, or
 * submitted already. E5RT_NO_MEMORY: no thread or port for the first submission of the process.
 */
ANE_API int64_t e5rt_execution_stream_submit_async(e5rt_execution_stream_t stream,
                                                   e5rt_async_completion_t completion, void *context);

/*
 * The same with a limit in milliseconds of wall time. When it passes first, the completion function is called
 * with E5RT_INVALID_OPERATION, and no operation begins any more. An operation that is with the driver then
 * ends there: until it has, the stream stays busy, the engine may write outputs that it writes in place, and
 * nothing else reports its end. 0 is over at once.
 * E5RT_INVALID_ARGUMENT, E5RT_INVALID_OPERATION, E5RT_NO_MEMORY: as for e5rt_execution_stream_submit_async.
 */
ANE_API int64_t e5rt_execution_stream_submit_async_with_timeout(e5rt_execution_stream_t stream,
                                                                e5rt_async_completion_t completion,
                                                                void *context, uint64_t timeout_ms);

/*
 * An obsolete form, which the real runtime refuses too: it does nothing.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_INVALID_OPERATION: always; the sentence names
 * e5rt_execution_stream_submit_async.
 */
ANE_API int64_t e5rt_execution_stream_async_submit(e5rt_execution_stream_t stream);

/*
 * Options of a stream: low-latency events are off. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_execution_stream_config_options_create(e5rt_execution_stream_config_options_t *options);

/*
 * enable != 0: the thread that submits a stream sends its first operation, instead of handing it to the
 * service thread first. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_execution_stream_config_options_set_enable_low_latency_async_events(
    e5rt_execution_stream_config_options_t options, int enable);

/*
 * Sets *enabled to 1 or 0. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_execution_stream_config_options_get_enable_low_latency_async_events(
    e5rt_execution_stream_config_options_t options, int *enabled);

/*
 * Releases options. Streams they were set for are not affected. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_execution_stream_config_options_release(e5rt_execution_stream_config_options_t *options);

/*
 * Sets the options of a stream, which are copied; NULL: the defaults. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_INVALID_OPERATION: the stream is submitted.
 */
ANE_API int64_t e5rt_execution_stream_set_config_options(e5rt_execution_stream_t stream,
                                                         e5rt_execution_stream_config_options_t options);

/* ---- Async events ---- */

/*
 * An event is a value of 64 bits that only rises: a timeline. Submitted operations signal it when they are
 * done (completion event) and begin when it has risen (dependent events), and so do the calls below, which
 * any number of threads may make at once, also with the same handle.
 *
 * The active future value is what the work submitted last will signal. A submission raises it by one for each
 * operation that has the event as its completion event, and the operation signals that value at its end. An
 * operation that depends on the event begins when the last signalled value is at least the active future
 * value of the moment of its submission: so it waits for what was submitted before it, in its own stream or
 * in others. A value that was to come from work which failed, or whose time passed, is lost: what depends on
 * it fails, and waits for it end.
 */

/*
 * An event with a name, of 127 characters at most, and a first value, which is the last signalled and the
 * active future value. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments; the name is NULL or too long. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_async_event_create(e5rt_async_event_t *event, const char *name, uint32_t value);

/*
 * Signals a value; what waits for it goes on. The active future value rises with it. The last signalled value
 * once more changes nothing. Does not block, except to enter the machine.
 * E5RT_INVALID_ARGUMENT: arguments, or the value is below the last signalled one.
 */
ANE_API int64_t e5rt_async_event_signal(e5rt_async_event_t event, uint64_t value);

/*
 * Waits until the last signalled value is at least `value`, for timeout_ns of wall time at most; 0 does not
 * wait, UINT64_MAX waits without end.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_INVALID_OPERATION: it was not in time; it is lost; or the caller is
 * a completion function.
 */
ANE_API int64_t e5rt_async_event_sync_wait(e5rt_async_event_t event, uint64_t value, uint64_t timeout_ns);

/*
 * The last signalled value. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_async_event_get_last_signaled_value(e5rt_async_event_t event, uint64_t *value);

/*
 * The active future value. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_async_event_get_active_future_value(e5rt_async_event_t event, uint64_t *value);

/*
 * Sets the active future value, for operations submitted from now on: what depends on the event waits for it,
 * for instance for a value that the application is to signal. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments, or the value is below the last signalled one.
 */
ANE_API int64_t e5rt_async_event_set_active_future_value(e5rt_async_event_t event, uint64_t value);

/*
 * The event's name. *name is good until the event's last handle is released and no operation has it any more.
 * Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_async_event_get_name(e5rt_async_event_t event, const char **name);

/*
 * Releases an event. Operations it is bound to keep it. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_async_event_release(e5rt_async_event_t *event);

/*
 * Binds the event that the operation signals when it is done under e5rt_execution_stream_submit_async, in
 * place of the one that was bound; NULL: none. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_INVALID_OPERATION: the operation is encoded.
 */
ANE_API int64_t e5rt_execution_stream_operation_bind_completion_event(
    e5rt_execution_stream_operation_t operation, e5rt_async_event_t event);

/* Events that an operation may depend on (chosen). */
#define E5RT_DEPENDENT_EVENTS_MAX 16u

/*
 * Binds the events that the operation waits for under e5rt_execution_stream_submit_async, in place of those
 * that were bound. events may be NULL when count is 0. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_OUT_OF_BOUNDS: more than E5RT_DEPENDENT_EVENTS_MAX.
 * E5RT_INVALID_OPERATION: the operation is encoded.
 */
ANE_API int64_t e5rt_execution_stream_operation_bind_dependent_events(
    e5rt_execution_stream_operation_t operation, const e5rt_async_event_t *events, uint64_t count);

/*
 * How many events the operation depends on. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments.
 */
ANE_API int64_t e5rt_execution_stream_operation_get_dependent_event_count(
    e5rt_execution_stream_operation_t operation, uint64_t *count);

/*
 * A handle to the completion event. Each call returns a new handle to the same event. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_INVALID_OPERATION: there is none. E5RT_NO_MEMORY.
 */
ANE_API int64_t e5rt_execution_stream_operation_retain_completion_event(
    e5rt_execution_stream_operation_t operation, e5rt_async_event_t *event);

/*
 * Handles to the first `count` events that the operation depends on, in the order of their binding. events
 * may be NULL when count is 0. Does not block.
 * E5RT_INVALID_ARGUMENT: arguments. E5RT_OUT_OF_BOUNDS: count is larger than the number of events.
 * E5RT_NO_MEMORY: all of events are NULL.
 */
ANE_API int64_t e5rt_execution_stream_operation_retain_dependent_events(
    e5rt_execution_stream_operation_t operation, uint64_t count, e5rt_async_event_t *events);

#ifdef __cplusplus
}
#endif

#endif
