/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library of several segments (compiler/store/composite.h), each a program of the engine or a graph that the
 * host computes. Its ports are those of the model, packed. An operation of it has a buffer for every wire and
 * an operation for every program, and runs the segments one after the other.
 */
#ifndef RUNTIME_COMPOSITE_H
#define RUNTIME_COMPOSITE_H

#include "runtime/operation.h"

/* Takes the bundle over, also when it fails. */
int64_t e5_composite_make(const char *path, struct cc_bundle *bundle, e5rt_program_library_t *library);
void e5_composite_end(struct e5_composite *composite);
/* Loads every program. */
int64_t e5_composite_load(struct e5_composite *composite);

/* Buffers and operations, once; all ports of the operation are bound. */
int64_t e5_relay_arrange(e5rt_execution_stream_operation_t operation);
/* Copies the inputs and runs all segments; the outputs are taken afterwards. */
int64_t e5_relay_run(e5rt_execution_stream_operation_t operation);
void e5_relay_take(e5rt_execution_stream_operation_t operation);
void e5_relay_end(struct e5_relay *relay);

#endif
