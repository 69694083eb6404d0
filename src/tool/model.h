/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model ready to run through the runtime: .mil, .onnx, bundle or program image, with a packed buffer at
 * every port.
 */
#ifndef TOOL_MODEL_H
#define TOOL_MODEL_H

#include <anemone/e5rt.h>

#include "program/e5.h"
#include "tool/npy.h"

#define TOOL_MODEL_PORTS_MAX PR_E5_PORTS_MAX

struct tool_port {
    const char *name; /* the operation's */
    bool output;
    enum tool_type type;
    struct tool_shape shape;
    uint64_t elements;
    void *data; /* packed row-major, of that type */
    e5rt_buffer_object_t buffer;
};

struct tool_model {
    e5rt_program_library_t library;
    e5rt_program_function_t function;
    e5rt_execution_stream_operation_t operation;
    e5rt_execution_stream_t stream;
    uint64_t compile_ns, load_ns; /* wall time of the two; of a compiled program the first reads it */
    unsigned ports;
    struct tool_port port[TOOL_MODEL_PORTS_MAX]; /* inputs, then outputs */
};

/* False after saying why; close it in any case. `fallback`: what the engine cannot run, the host does. */
bool tool_model_open(const char *path, bool fallback, struct tool_model *model);
/* The two steps of it. */
bool tool_model_compile(const char *path, bool fallback, struct tool_model *model);
bool tool_model_load(const char *path, struct tool_model *model);
/* One dispatch; false after saying why. The context is the model. */
bool tool_model_run(void *model);
void tool_model_close(struct tool_model *model);

/* By the port's name, or by its symbol in a program image; NULL when there is none. */
struct tool_port *tool_model_port(struct tool_model *model, bool output, const char *name, size_t length);

/* Says what the runtime said; false unless the status is 0. */
bool tool_e5rt_said(int64_t status, const char *what);

#endif
