/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of iokit.h in a process whose kernel is the service: one session for the process, made at
 * first use. The front end in src/machine calls these for numbers that are the service's (svc_client_has_*),
 * and for task 0 of a process that has a service. Codes, sentences and blocking are those of iokit.h.
 *
 * Which kernel a process has is decided once, at the first call that needs to know:
 *   ANEMONE_SERVICE=none    a machine of its own
 *   ANEMONE_SERVICE=PATH    the service whose socket that is; it must be there
 *   unset or empty          the service at $XDG_RUNTIME_DIR/anemone/service or /run/anemone/service if one
 *                           answers there, else a machine of its own
 * A forked child decides anew, and has no session, connection or surface of its parent's.
 */
#ifndef SERVICE_CLIENT_H
#define SERVICE_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <anemone/iokit.h>

#include "base/error.h"
#include "protocol/service.h"

/* This process's kernel is the service: true, after the session was made. False: it has its own machine. */
bool svc_client_used(void);
/*
 * The same as 1 or 0; -1 with a sentence when ANEMONE_SERVICE names a service that does not answer, or
 * refuses. That is an error of the call, never a reason to use another kernel.
 */
int svc_client_decide(struct base_error *error);
/*
 * Objects of that task are the service's: 1; 0 when they are of this process. Task 0 decides; other tasks are
 * the service's in the broker alone. -1 as svc_client_decide.
 */
int svc_client_serves(uint32_t task, struct base_error *error);
/* This process is to have a machine of its own, unless it is decided otherwise: false when it is served. */
bool svc_client_decline(void);
/* The socket's path; NULL when there is no session. */
const char *svc_client_path(void);

/*
 * This process is the service: its surfaces get PR_SERVICE_SURFACE_BIT, and it never is a client. Before any
 * use.
 */
void svc_client_is_service(void);
/* The bit that ids of this process's own surfaces have: PR_SERVICE_SURFACE_BIT in the service, else 0. */
uint32_t svc_client_surface_bit(void);
/* The session is that socket's: for the broker, which inherits it. Before any use. 0 or a negative errno. */
int svc_client_adopt(int socket);

static inline bool svc_client_has_entry(io_service_t entry)
{
    return entry >= PR_SERVICE_ENTRY_BASE && entry < PR_SERVICE_CONNECT_BASE;
}
static inline bool svc_client_has_connect(io_connect_t connect)
{
    return connect >= PR_SERVICE_CONNECT_BASE && connect < PR_SERVICE_SURFACE_BIT;
}
/* A connection of the process that this one was forked from: closed here. */
bool svc_client_is_inherited(io_connect_t connect);

/* Registry. `name` results are constants. */
io_service_t svc_client_find(const char *name, struct base_error *error);
io_service_t svc_client_root(io_service_t entry, struct base_error *error);
io_service_t svc_client_child(io_service_t entry, uint32_t index, struct base_error *error);
const char *svc_client_name(io_service_t entry, struct base_error *error);
IOReturn svc_client_property(io_service_t entry, uint32_t index, const char **key,
                             struct ane_registry_value *value, struct base_error *error);

/* Connections. Task 0 is the process; others are the broker's business. */
IOReturn svc_client_open(io_service_t entry, uint32_t task, uint32_t type, io_connect_t *connect,
                         struct base_error *error);
IOReturn svc_client_close(io_connect_t connect, struct base_error *error);

/* A call through the ring: enum pr_ring_operation, with the arguments of IOConnectCallAsyncMethod. */
struct svc_call {
    uint32_t operation;
    io_connect_t connect;
    uint32_t selector;
    ane_port_t port;
    const uint64_t *reference;
    uint32_t references;
    const uint64_t *scalar_in;
    uint32_t scalars_in;
    const void *struct_in;
    size_t struct_in_bytes;
    uint64_t *scalar_out;
    uint32_t scalars_out;
    void *struct_out;
    size_t struct_out_bytes;
};
IOReturn svc_client_call(const struct svc_call *call, struct base_error *error);

/*
 * A surface of the service: its id, and a descriptor of its memory file, which the caller owns. 0 or a
 * negative errno, as ane_surface_create.
 */
int svc_client_surface_create(uint32_t task, size_t bytes, uint32_t *id, int *file, struct base_error *error);
void svc_client_surface_release(uint32_t id);

/*
 * Called for each asynchronous call that was accepted, once: the front end delivers the message to the port.
 * When the session has ended and all are delivered, once more with port 0 and NULL. Set once, before the
 * first such call.
 */
typedef void (*svc_client_delivery)(ane_port_t port, const struct ane_port_message *message);
void svc_client_set_delivery(svc_client_delivery deliver);

/* A new socket to the broker: a descriptor, or a negative errno with a sentence. */
int svc_client_broker(struct base_error *error);
/* What the service granted; false without a session. */
bool svc_client_welcome(struct pr_service_welcome *welcome);

/* Forks: before, and after in either process. */
void svc_client_fork_begin(void);
void svc_client_fork_end(bool child);

#endif
