/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session has in the kernel: connections and surfaces, each made for a task. That is the session's
 * own, or, in the broker's session, a client's. Only the session that opened a connection may name it: to any
 * other its number never existed.
 *
 * The session's thread opens and closes; threads of the ring enter a connection for a call and leave it
 * afterwards; the thread of a client that ends takes back what the broker has for its task.
 */
#ifndef SERVICE_KERNEL_H
#define SERVICE_KERNEL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <anemone/iokit.h>

#include "base/error.h"
#include "protocol/service.h"

struct svc_peer;

/* Numbers of closed connections that are remembered, so that calls on them answer "closed". */
#define SVC_CLOSED 256u

struct svc_connect {
    _Atomic io_connect_t number; /* 0: none is open; without PR_SERVICE_CONNECT_BASE */
    atomic_uint calls;           /* threads that have entered and not left */
    bool taken;                  /* from before the open until after the close */
    ane_task_t task;
    uid_t uid; /* of the task's process */
    uint32_t type;
};
struct svc_surface {
    bool taken;
    uint32_t id; /* 0 while it is being made */
    ane_task_t task;
    uid_t uid;
    uint64_t bytes;
};

struct svc_kernel {
    pthread_mutex_t lock;
    struct svc_connect *connect;
    unsigned connects; /* rows */
    struct svc_surface *surface;
    io_connect_t closed[SVC_CLOSED];
    unsigned closed_next;
};

/* 0 or -ENOMEM. */
int svc_kernel_init(struct svc_kernel *kernel, unsigned connects);
/* Closes and releases everything; calls under way on the connections are aborted. */
void svc_kernel_close_all(struct svc_peer *session);
void svc_kernel_end(struct svc_kernel *kernel);
/* The same as close_all for what a session has for one task. */
void svc_kernel_close_task(struct svc_peer *session, ane_task_t task);

/* IOServiceOpen; the number has PR_SERVICE_CONNECT_BASE. */
IOReturn svc_kernel_open(struct svc_peer *session, const struct pr_service_open *open, uint32_t *connect,
                         struct base_error *error);
IOReturn svc_kernel_close(struct svc_peer *session, uint32_t connect, struct base_error *error);

/*
 * Begins a call on a connection of the session, which names it with PR_SERVICE_CONNECT_BASE; *number is the
 * one without, and names no other connection before svc_kernel_leave. ANE_RETURN_CLOSED, or
 * kIOReturnBadArgument, when the session has no such connection: then there is nothing to leave. *hint, of
 * the caller, is the row; it makes the next answer faster.
 */
IOReturn svc_kernel_enter(struct svc_peer *session, uint32_t connect, io_connect_t *number, unsigned *hint,
                          struct base_error *error);
/* The call has returned. A close waits for this, so the caller waits for nothing else in between. */
void svc_kernel_leave(struct svc_peer *session, unsigned hint);

/* ane_surface_create; *file is a descriptor of its memory file, which the caller closes. */
int svc_kernel_surface(struct svc_peer *session, const struct pr_service_surface_create *create, uint32_t *id,
                       int *file, struct base_error *error);
/* A surface that is not the session's is ignored, as one that never was. */
void svc_kernel_surface_release(struct svc_peer *session, uint32_t id);

struct svc_kernel_sums {
    uint32_t connects, surfaces, direct;
    uint64_t bytes; /* of surfaces */
};
/* Of one task, or with 0 of all. */
void svc_kernel_sum(struct svc_kernel *kernel, ane_task_t task, struct svc_kernel_sums *sums);

#endif
