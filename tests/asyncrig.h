/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of submitted streams: operations that add, out = x + in, each in a stream of its own; what their
 * completion functions were told; and a default machine that a test can hold, so that no virtual time passes.
 */
#ifndef TESTS_ASYNCRIG_H
#define TESTS_ASYNCRIG_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "e5rig.h"

#define ASYNCRIG_LONG_NS 60000000000ull /* longer than anything here takes */
#define ASYNCRIG_HALFS   32u            /* elements of a buffer */

/* The adder, from asyncrig_open to asyncrig_close: set-up and end of a group. */
extern struct e5rig_model asyncrig_model;
int asyncrig_open(void **state);
int asyncrig_close(void **state);

/* A buffer full of one value, and the value of its last element. */
e5rt_buffer_object_t asyncrig_buffer(double value);
double asyncrig_value(e5rt_buffer_object_t buffer);
e5rt_execution_stream_operation_t asyncrig_adder(const char *name, e5rt_buffer_object_t x,
                                                 e5rt_buffer_object_t in, e5rt_buffer_object_t out);

/* An event of value 0, and its last signalled value. */
e5rt_async_event_t asyncrig_event(const char *name);
uint64_t asyncrig_last(e5rt_async_event_t event);

/* What completion functions were told. */
struct asyncrig_told {
    sem_t calls;
    atomic_uint count;
    int64_t status;
    char message[512];
    bool elsewhere; /* not on the test's thread */
};
void asyncrig_told_begin(struct asyncrig_told *told);
/* The completion function; context is a struct asyncrig_told. */
void asyncrig_tell(void *context, int64_t status, const char *message);
/*
 * Wait for calls of it, not on the test's thread, the last of them without a failure; or for one call, with a
 * failure that has this word.
 */
void asyncrig_ok(struct asyncrig_told *told, unsigned calls);
void asyncrig_failed(struct asyncrig_told *told, const char *word);

/* One operation in a stream of its own; events may be NULL. */
struct asyncrig_stream {
    e5rt_execution_stream_t stream;
    e5rt_execution_stream_operation_t operation;
    struct asyncrig_told told;
};
void asyncrig_make(struct asyncrig_stream *chain, const char *name, e5rt_buffer_object_t x,
                   e5rt_buffer_object_t in, e5rt_buffer_object_t out, e5rt_async_event_t completion,
                   e5rt_async_event_t dependent);
void asyncrig_submit(struct asyncrig_stream *chain);
void asyncrig_end(struct asyncrig_stream *chain);
/* Until the stream's submission has come to its end. */
void asyncrig_await_idle(e5rt_execution_stream_t stream);

/* No virtual time passes on the default machine in between. */
void asyncrig_hold(void);
void asyncrig_let_go(void);

#endif
