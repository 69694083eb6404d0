/* SPDX-License-Identifier: Apache-2.0 */
/* A client that knows e5rt.h alone, and the files it opens, in the folder of folder.h. */
#ifndef TESTS_E5RIG_H
#define TESTS_E5RIG_H

#include <stdbool.h>
#include <stddef.h>

#include <anemone/e5rt.h>

#include "folder.h"
#include "tdpatch.h"

/* Asserts that a call worked; shows its sentence when it did not. */
#define OK(call) e5rig_ok((call), #call, __FILE__, __LINE__)
void e5rig_ok(int64_t status, const char *call, const char *file, int line);
/* Asserts that a call failed with that status and a sentence that has this word. */
#define FAILS(call, status, word) e5rig_fails((call), (status), (word), #call, __FILE__, __LINE__)
void e5rig_fails(int64_t got, int64_t status, const char *word, const char *call, const char *file, int line);

/*
 * Ends a test that needs a machine of the process's own, with a word why, where a service serves the process
 * (ANEMONE_SERVICE; tests/test_served.sh).
 */
void e5rig_needs_own_machine(const char *why);
/* A service serves the process. */
bool e5rig_served(void);

/*
 * Writes NAME: the image of state_out = x + state_in, done `times` times over (each of them from the inputs).
 */
void e5rig_write_adder(const char *name, const struct td_shape *shape, unsigned times);

/* A model from compile to operation, by way of a cache in the folder. */
struct e5rig_model {
    e5rt_program_library_t library;
    e5rt_program_function_t function;
    e5rt_execution_stream_operation_t operation;
};
void e5rig_model_open(struct e5rig_model *model, const char *path);
void e5rig_model_close(struct e5rig_model *model);
/* Another operation of the function. */
e5rt_execution_stream_operation_t e5rig_operation(e5rt_program_function_t function, const char *name);

/* Binds a buffer to a port by name; input ports are tried first. */
void e5rig_bind(e5rt_execution_stream_operation_t operation, const char *port, e5rt_buffer_object_t buffer);
/* A packed buffer, or one in the engine's layout of a port. */
e5rt_buffer_object_t e5rig_buffer(size_t bytes);
e5rt_buffer_object_t e5rig_engine_buffer(e5rt_execution_stream_operation_t operation, const char *port);
void *e5rig_data(e5rt_buffer_object_t buffer);

/*
 * One accumulator step from the model's file to the result, with the folder as cache: the first failure ends
 * it, and everything is given back either way.
 */
int64_t e5rig_once(const char *path, int force);

#endif
