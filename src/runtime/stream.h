/* SPDX-License-Identifier: Apache-2.0 */
/* A stream: encoded operations, and what becomes of them when it is submitted. */
#ifndef RUNTIME_STREAM_H
#define RUNTIME_STREAM_H

#include "runtime/operation.h"

struct e5_slot {
    e5rt_execution_stream_operation_t operation; /* kept */
    /* Of a submission: what the completion event signals, and what each dependent event must have. */
    uint64_t signals;
    uint64_t needs[E5_DEPENDENT_EVENTS];
};

/* The states of a submitted stream; async.c changes them. */
enum e5_submission_state {
    E5_IDLE,    /* it is not submitted */
    E5_PENDING, /* its next operation has not begun */
    E5_QUEUED,  /* its operation goes through the broker, and waits for the thread that sends there */
    E5_SENDING, /* a thread sends its operation */
    E5_RUNNING, /* its operation is with the driver */
    E5_ARRIVED, /* its operation has come back from the broker */
    E5_ENDING,  /* the service thread ends its operation */
    E5_FAILED,  /* an operation failed or could not be sent: status and message say why */
};

/* Under the lock of async.h. */
struct e5_submission {
    enum e5_submission_state state;
    e5rt_execution_stream_t next; /* submitted later */
    uint64_t id;                  /* of the messages of its requests */
    size_t at;                    /* the operation */
    uint64_t deadline;            /* wall time; UINT64_MAX: none */
    bool reported;                /* its time has passed, and the completion function was called */
    e5rt_async_completion_t completion;
    void *context;
    int64_t status;
    char message[768];
};

struct e5rt_execution_stream {
    struct e5_handle handle;
    struct e5_slot *slot;
    size_t count, capacity;
    bool low_latency; /* the thread that submits sends the first operation */
    atomic_bool busy; /* the submission is not idle; changed with the lock, read without */
    struct e5_submission submission;
};

#endif
