/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session with the service, as its client has it: the socket, the ring, and what is under way on both. It
 * lives until the process ends or forks; once it has ended, every call on it answers kIOReturnNoDevice.
 *
 * The socket carries one message at a time (`talk`). The ring's slots are taken and given back without a lock
 * (client_ring.c). Completions are read by one thread, made with the first asynchronous call
 * (client_async.c). No lock here is held while a function of another room is called.
 */
#ifndef SERVICE_CLIENT_SESSION_H
#define SERVICE_CLIENT_SESSION_H

#include <pthread.h>
#include <stdatomic.h>

#include "protocol/service_ring.h"
#include "service/client.h"

/* Asynchronous calls that are being made, one in each slot, and those that were accepted. */
#define SVC_PENDING (PR_RING_SLOTS + PR_RING_COMPLETIONS)

enum svc_pending_state {
    SVC_PENDING_FREE,
    SVC_PENDING_POSTED,    /* its call has not returned */
    SVC_PENDING_ACCEPTED,  /* its record has not come */
    SVC_PENDING_DELIVERED, /* its record came before its call returned */
};

struct svc_pending {
    enum svc_pending_state state;
    uint32_t turn; /* how often the row was used: a record with another is dropped */
    ane_port_t port;
    uint64_t reference[PR_RING_REFERENCES];
    struct ane_request_reply reply; /* of the call that was accepted: sequence and token */
};

struct svc_session {
    int socket;
    bool broker; /* it may name the tasks of all clients */
    char path[128];
    struct pr_service_welcome welcome;

    pthread_mutex_t talk;
    uint32_t serial;

    atomic_bool ended;
    pthread_mutex_t end_lock;
    struct base_error why; /* it ended; written once, before `ended` */

    struct pr_ring_head *head;
    const struct pr_ring_completion *record;
    struct pr_ring_slot *slot;
    uint64_t spin_ns;
    _Atomic uint64_t free_slots;
    _Atomic uint64_t announced;
    atomic_uint slot_waiters;
    pthread_mutex_t slot_lock;
    pthread_cond_t slot_freed;

    pthread_mutex_t names_lock; /* of the registry's names, which outlive the session */

    pthread_mutex_t connect_lock;
    unsigned connects;
    io_connect_t connect[PR_SERVICE_CONNECTS_ALL];

    pthread_mutex_t pending_lock;
    bool has_thread;
    bool swept; /* the last records are out: who is accepted later delivers by itself */
    struct svc_pending pending[SVC_PENDING];
};

/* The session of this process, or NULL. */
struct svc_session *svc_session_current(void);

/*
 * Says HELLO on a connected socket, which becomes the session's, and maps the ring. 0, or a negative errno
 * with a sentence and the socket is closed: -ECONNRESET when there was no answer.
 */
int svc_session_make(int socket, const char *path, enum pr_service_role role, struct svc_session **session,
                     struct base_error *error);
/* In a forked child: gives back what the parent's session has here. */
void svc_session_forget(struct svc_session *session);

/*
 * One message and its reply, as the table of protocol/service.h has them; `reply` and `file` may be NULL
 * where the row has none. The reply's status with its sentence; or kIOReturnNoDevice, when the session has
 * ended.
 */
int svc_session_talk(struct svc_session *session, enum pr_service_message type, const void *request,
                     void *reply, int *file, struct base_error *error);

/* Ends the session, for this reason unless it has one already. */
void svc_session_end(struct svc_session *session, const char *sentence);
/* The service has closed its end: the session ends. */
bool svc_session_look(struct svc_session *session);
static inline bool svc_session_has_ended(const struct svc_session *session)
{
    return atomic_load_explicit(&session->ended, memory_order_acquire);
}
/* kIOReturnNoDevice, with the reason. */
IOReturn svc_session_refuse(struct svc_session *session, struct base_error *error);
/* A status of a reply as a negative errno. */
int svc_session_errno(int status);

/*
 * client_async.c. Before the call: a row for it, whose tag goes with it as its first reference word; NULL
 * with a code and a sentence. After it: what the caller is to be answered.
 */
struct svc_pending *svc_pending_begin(struct svc_session *session, const struct svc_call *call, uint64_t *tag,
                                      IOReturn *status, struct base_error *error);
IOReturn svc_pending_end(struct svc_session *session, struct svc_pending *row, const struct svc_call *call,
                         IOReturn status);

/* client_ring.c: spins, then sleeps on `asleep` until *word is not `value`, for a while at most. */
void svc_ring_wait(const uint32_t *word, uint32_t value, uint32_t *asleep, uint64_t spin_ns);
void svc_ring_wake(uint32_t *asleep);

#endif
