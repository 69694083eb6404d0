/* SPDX-License-Identifier: Apache-2.0 */
/* A compute operation: a loaded program with its bindings, and the request that runs it. */
#ifndef RUNTIME_OPERATION_H
#define RUNTIME_OPERATION_H

#include "runtime/buffer.h"
#include "runtime/event.h"
#include "runtime/function.h"

/* What happens to a bound buffer around a request. */
enum e5_passage {
    E5_DIRECT, /* the engine uses it */
    E5_CAST,   /* packed: cast to or from a stage in the engine's form */
    /*
     * In the engine's form, but copied to or from a stage: an output of the same request overwrites it, or
     * the port shares its surface with others.
     */
    E5_COPY,
};

struct e5_binding {
    e5rt_buffer_object_t buffer; /* kept */
    enum e5_passage passage;
    uint32_t stage;   /* a surface of its own in the engine's form, when one was needed */
    void *stage_base; /* where the port is in its stage: `stage`, or the surface that ports share */
};

/* A surface that several ports share. */
struct e5_shared {
    uint32_t surface;
    void *base;
};

struct e5rt_execution_stream_operation {
    struct e5_handle handle;
    e5rt_program_library_t library; /* kept */
    char name[128];
    bool encoded;                            /* in a stream */
    bool arranged;                           /* passages and request agree with the bindings */
    struct e5_binding binding[E5_PORTS_MAX]; /* inputs, then outputs */
    struct e5_shared shared_in, shared_out;  /* made when a port needs it */
    struct ane_request request;
    struct e5_chain *chain;                          /* chain.h; NULL: it has none */
    struct e5_relay *relay;                          /* composite.h; NULL: of one program, or not arranged */
    struct e5_event *completion;                     /* kept; NULL: none */
    struct e5_event *dependent[E5_DEPENDENT_EVENTS]; /* kept */
    size_t dependents;
};

/* Of a library, which it loads; for e5_handle_drop. */
int64_t e5_operation_make(e5rt_program_library_t library, const char *name,
                          e5rt_execution_stream_operation_t *operation);
int64_t e5_operation_bind(e5rt_execution_stream_operation_t operation, uint32_t port,
                          e5rt_buffer_object_t buffer);
/* Everything is bound; stages exist and the request is built. */
int64_t e5_operation_arrange(e5rt_execution_stream_operation_t operation);
/* Inputs in, one request, outputs out. */
int64_t e5_operation_run(e5rt_execution_stream_operation_t operation);
/* The same without the outputs: waits for the request. `end` takes a message of zeros then. */
int64_t e5_operation_send(e5rt_execution_stream_operation_t operation);
/*
 * The same in two parts: `begin` sends the request, which ends with a message at the port that has
 * `reference` in its first word; `end` takes that message. Once the request is sent the operation may be
 * ended by another thread: `begin` does not look at it any more.
 */
int64_t e5_operation_begin(e5rt_execution_stream_operation_t operation, ane_port_t port, uint64_t reference);
int64_t e5_operation_end(e5rt_execution_stream_operation_t operation, const struct ane_port_message *message);

#endif
