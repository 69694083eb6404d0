/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's children: the broker and two compile services. A child that ends is started again: at once,
 * or after a delay that grows while it ends soon after its start. The broker gets the sockets of clients and
 * of the compile services by notices (protocol/broker.h).
 *
 * The main thread makes all calls but svc_supervisor_connect, svc_supervisor_report and
 * svc_supervisor_figures, which any thread may.
 */
#ifndef SERVICE_SUPERVISOR_H
#define SERVICE_SUPERVISOR_H

#include <poll.h>
#include <stdint.h>
#include <sys/types.h>

#include <anemone/abi.h>

#include "base/error.h"

struct svc_peer;
struct svc_service;
struct svc_supervisor;

/* `executable` NULL: this one. 0, or a negative errno with a sentence. */
int svc_supervisor_make(struct svc_service *service, const char *executable, const char *state,
                        struct svc_supervisor **supervisor, struct base_error *error);
/* Starts what is due; milliseconds until more is, or -1. */
int svc_supervisor_start_due(struct svc_supervisor *supervisor);
/* What to poll for notices of the broker; its descriptor is -1 while there is none. */
struct pollfd svc_supervisor_poll(struct svc_supervisor *supervisor);
void svc_supervisor_receive(struct svc_supervisor *supervisor);
/* After SIGCHLD. */
void svc_supervisor_reap(struct svc_supervisor *supervisor);
/* Ends the children, which have a bounded time for it. */
void svc_supervisor_stop(struct svc_supervisor *supervisor);

/*
 * A connection of a client to the broker: *file is the client's end. kIOReturnNoDevice while the broker does
 * not run; kIOReturnBusy when it does not take notices; kIOReturnNoResources.
 */
IOReturn svc_supervisor_connect(struct svc_supervisor *supervisor, struct svc_peer *peer, int *file,
                                struct base_error *error);

/* The client of that task has sent requests; lost when the broker does not take notices. */
void svc_supervisor_report(struct svc_supervisor *supervisor, uint32_t task);

struct svc_supervisor_figures {
    pid_t broker, compiler; /* the ordinary one; 0: it does not run */
    uint32_t broker_restarts, compiler_restarts;
};
void svc_supervisor_figures(struct svc_supervisor *supervisor, struct svc_supervisor_figures *figures);

#endif
