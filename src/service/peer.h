/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer is the process at the other end of one socket, in its session: its task, its ring and what it has
 * opened. Its thread receives messages (protocol/service.h) and answers each; when the socket ends, or a
 * message breaks the format, the same thread takes everything back: connections, which aborts calls under
 * way; the threads of the ring; surfaces; the task.
 */
#ifndef SERVICE_PEER_H
#define SERVICE_PEER_H

#include "base/error.h"
#include "service/completion.h"
#include "service/figures.h"
#include "service/identity.h"
#include "service/kernel.h"
#include "service/ring.h"
#include "service/service.h"

struct svc_peer {
    struct svc_service *service;
    int socket;
    uid_t uid; /* of the socket's other end, before the identity is taken */
    enum pr_service_role role;
    bool greeted; /* HELLO was answered */
    bool blessed; /* it has a place of kind SLOT */
    bool refused; /* the process is not the one that connected: the session ends */
    struct svc_identity identity;
    struct svc_grant grant;
    struct svc_kernel kernel;
    struct svc_ring ring;
    struct svc_completions completions;

    /* Under the service's lock. */
    ane_task_t task;     /* 0: none */
    ane_task_t delegate; /* the identity in which the broker acts for it; 0 until it does */
    uint32_t tier;       /* enum pr_broker_tier; PR_BROKER_TIERS: no connection to the broker */
    bool ending;
    unsigned holds;                 /* threads of other sessions that use it */
    int broker[PR_SERVICE_BROKERS]; /* copies of the broker's ends of its connections there; -1: none */
    struct svc_figures figures;
    uint64_t reported; /* requests, when the broker last heard of them; under the service's lock */
};

/*
 * Makes a session of a socket, which becomes the session's, and its thread. The broker's is made with its
 * role; every other begins with HELLO. 0, or a negative errno with a sentence, and the socket is still the
 * caller's.
 */
int svc_peer_start(struct svc_service *service, int socket, enum pr_service_role role,
                   struct base_error *error);

/*
 * Without a thread, for tests: a session that svc_peer_message can be called on; svc_peer_end takes it
 * back.
 */
int svc_peer_make(struct svc_service *service, int socket, enum pr_service_role role,
                  struct svc_peer **session, struct base_error *error);
void svc_peer_end(struct svc_peer *session);

/*
 * One message: answers it on the socket. False when it breaks the format: the session ends. The descriptors
 * that came with it are closed here.
 */
bool svc_peer_message(struct svc_peer *session, const void *bytes, size_t size, const int *fds,
                      unsigned count);

/* Ends its connections to the broker. With the service's lock held. */
void svc_peer_cut_broker_locked(struct svc_peer *session);

/* See svc_service_hold_task. */
void svc_peer_release(struct svc_peer *session);

/* Ends it from another thread: its socket is shut down, with a line in the log that says why. */
void svc_peer_expel(struct svc_peer *session, const char *why);

#endif
