/* SPDX-License-Identifier: Apache-2.0 */
/* An operation as a user of the runtime has it: a model compiled in the process, executed by e5rt calls. */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include <anemone/e5rt.h>

#include "operation.h"

/* Buffers are packed, and copied around a request; or in the engine's form, and used in place. */
enum bench_layout { BENCH_PACKED, BENCH_ENGINE, BENCH_LAYOUTS };

struct bench_ours {
    e5rt_program_library_t library;
    e5rt_program_function_t function;
    e5rt_execution_stream_operation_t operation[BENCH_LAYOUTS];
    e5rt_execution_stream_t stream[BENCH_LAYOUTS];
    e5rt_buffer_object_t buffer[BENCH_LAYOUTS][3]; /* two inputs and the output */
    bool engine;                                   /* ports have strides in the engine's form */
};

/* False after a message; close it in any case. `folder` is for the model and its compiled form. */
bool bench_ours_open(struct bench_ours *ours, const struct bench_operation *o, const char *folder);
bool bench_ours_run(struct bench_ours *ours, enum bench_layout layout);
/* The output of the packed form. */
const uint16_t *bench_ours_result(const struct bench_ours *ours);
void bench_ours_close(struct bench_ours *ours);

#endif
