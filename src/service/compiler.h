/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compile service: `anemone compiler`, a child process of `anemone serve`. It takes the broker's orders
 * (protocol/broker.h, PR_COMPILE_MESSAGES) and never reads a model itself: each order is carried out by a
 * process of its own (compile_worker.h), several at once, and replies come in the order of their ends. So a
 * model on which the compiler ends, or for which it needs too much memory or time, is an error of one order:
 *
 *   kIOReturnBadArgument   the compiler refused the model; the sentence is the compiler's
 *   kIOReturnAborted       the worker ended by a signal, by a limit or by a forbidden system call; which one
 *   kIOReturnNotPermitted  the folder is not the client's, and the service cannot become the client's user
 *   kIOReturnNotFound      FIND, PURGE: the partition has no such model
 *   kIOReturnNoResources   PR_COMPILE_ORDERS orders are under way, or no process can be made
 *
 * The process must have one thread. It logs on standard error.
 */
#ifndef SERVICE_COMPILER_H
#define SERVICE_COMPILER_H

#include "service/compile_worker.h"

/*
 * Serves the socket until its other end is closed: 0. `number` is a row of PR_COMPILE_LIMITS, `state` the
 * state folder of the service (partition.h). A negative errno, after a line on standard error: -EINVAL for an
 * unknown number, -EPROTO for a message that is none, or that of the socket. Workers have ended when it
 * returns; the socket stays the caller's.
 */
int svc_compiler_run(int socket, unsigned number, const char *state);

/* The same with limits and a body of the workers that a test may choose. */
struct svc_compiler_options {
    int socket;
    const char *state;
    struct svc_work_limits limits;
    svc_work_body body; /* NULL: svc_work_do */
};
int svc_compiler_serve(const struct svc_compiler_options *options);

#endif
