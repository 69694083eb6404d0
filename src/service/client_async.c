/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous calls: each accepted one has one message, whatever happens to the service. A call is a row
 * from before it is posted; the row's tag goes to the service in place of the caller's reference words, which
 * stay here. A record finds its row by the tag, once. When the session ends, the rows that are left get their
 * message here.
 *
 * A record may come before its call has returned: then the request was accepted, whatever the call says.
 */
#include "service/client_session.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"

#define TURNS 0x1000000u

_Static_assert(sizeof(((struct pr_ring_completion *)0)->reply) == sizeof(struct ane_request_reply), "reply");
_Static_assert(sizeof(((struct ane_port_message *)0)->reference) == PR_RING_REFERENCES * sizeof(uint64_t),
               "reference words");

static _Atomic(svc_client_delivery) delivery;

void svc_client_set_delivery(svc_client_delivery deliver)
{
    atomic_store(&delivery, deliver);
}

static void hand_over(ane_port_t port, const struct ane_port_message *message)
{
    svc_client_delivery deliver = atomic_load(&delivery);

    deliver(port, message);
}

static struct ane_port_message lost_message(const struct svc_pending *row)
{
    struct ane_port_message message = {.result = kIOReturnNoDevice,
                                       .reply = {.status = (uint32_t)kIOReturnNoDevice}};

    memcpy(message.reference, row->reference, sizeof(message.reference));
    return message;
}

/* The row of a record; false when it has none. */
static bool settle(struct svc_session *session, const struct pr_ring_completion *record, ane_port_t *port,
                   struct ane_port_message *message)
{
    uint64_t tag = record->reference[0];
    struct svc_pending *row = &session->pending[tag % SVC_PENDING];
    bool found;

    pthread_mutex_lock(&session->pending_lock);
    found = row->turn == tag / SVC_PENDING &&
            (row->state == SVC_PENDING_POSTED || row->state == SVC_PENDING_ACCEPTED);
    if (found) {
        *port = row->port;
        memcpy(message->reference, row->reference, sizeof(message->reference));
        row->state = row->state == SVC_PENDING_POSTED ? SVC_PENDING_DELIVERED : SVC_PENDING_FREE;
    }
    pthread_mutex_unlock(&session->pending_lock);
    return found;
}

static void take_records(struct svc_session *session)
{
    uint32_t consumed = session->head->consumed;

    while (__atomic_load_n(&session->head->produced, __ATOMIC_ACQUIRE) != consumed) {
        const struct pr_ring_completion record = session->record[consumed % PR_RING_COMPLETIONS];
        struct ane_port_message message = {.result = record.result};
        ane_port_t port;

        memcpy(&message.reply, record.reply, sizeof(message.reply));
        __atomic_store_n(&session->head->consumed, ++consumed, __ATOMIC_RELEASE);
        if (settle(session, &record, &port, &message))
            hand_over(port, &message);
    }
}

/* The next row that was accepted, once no record can come any more. */
static bool sweep_one(struct svc_session *session, ane_port_t *port, struct ane_port_message *message)
{
    bool found = false;

    pthread_mutex_lock(&session->pending_lock);
    session->swept = true;
    for (unsigned i = 0; i < SVC_PENDING && !found; i++) {
        struct svc_pending *row = &session->pending[i];

        if (row->state != SVC_PENDING_ACCEPTED)
            continue;
        found = true;
        *port = row->port;
        *message = lost_message(row);
        row->state = SVC_PENDING_FREE;
    }
    pthread_mutex_unlock(&session->pending_lock);
    return found;
}

static void *read_records(void *context)
{
    struct svc_session *session = context;
    uint64_t spin_ns = session->spin_ns; /* a thread that slept in vain sleeps again */
    struct ane_port_message message;
    ane_port_t port;

    while (!svc_session_has_ended(session)) {
        uint32_t seen;

        take_records(session);
        seen = session->head->consumed;
        svc_ring_wait(&session->head->produced, seen, &session->head->client_asleep, spin_ns);
        spin_ns = __atomic_load_n(&session->head->produced, __ATOMIC_ACQUIRE) == seen ? 0 : session->spin_ns;
        if (!spin_ns)
            svc_session_look(session);
    }
    take_records(session);
    while (sweep_one(session, &port, &message))
        hand_over(port, &message);
    hand_over(0, NULL);
    return NULL;
}

/* With the table locked. Signals are for the threads of the process's own. */
static bool start_thread(struct svc_session *session)
{
    sigset_t all, before;
    pthread_t thread;

    if (session->has_thread)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    session->has_thread = base_alloc_allowed() && !pthread_create(&thread, NULL, read_records, session) &&
                          !pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return session->has_thread;
}

struct svc_pending *svc_pending_begin(struct svc_session *session, const struct svc_call *call, uint64_t *tag,
                                      IOReturn *status, struct base_error *error)
{
    struct svc_pending *row = NULL;
    uint32_t words = call->references < PR_RING_REFERENCES ? call->references : PR_RING_REFERENCES;

    *status = kIOReturnNoResources;
    pthread_mutex_lock(&session->pending_lock);
    if (!start_thread(session)) {
        base_fail(error, EAGAIN, "An asynchronous call needs a thread, and none could be made.");
    } else {
        for (unsigned i = 0; i < SVC_PENDING && !row; i++)
            if (session->pending[i].state == SVC_PENDING_FREE)
                row = &session->pending[i];
        if (!row)
            base_fail(error, ENOSPC, "%u asynchronous calls of this process are under way; the limit is %u.",
                      (unsigned)SVC_PENDING, (unsigned)SVC_PENDING);
    }
    if (row) {
        *row = (struct svc_pending){
            .state = SVC_PENDING_POSTED, .turn = (row->turn + 1) % TURNS, .port = call->port};
        if (call->reference)
            memcpy(row->reference, call->reference, words * sizeof(uint64_t));
        *tag = (uint64_t)row->turn * SVC_PENDING + (uint64_t)(row - session->pending);
    }
    pthread_mutex_unlock(&session->pending_lock);
    return row;
}

IOReturn svc_pending_end(struct svc_session *session, struct svc_pending *row, IOReturn status)
{
    struct ane_port_message message;
    ane_port_t port = row->port;
    bool lost = false;

    pthread_mutex_lock(&session->pending_lock);
    if (row->state == SVC_PENDING_DELIVERED)
        status = kIOReturnSuccess;
    else
        lost = !status && session->swept;
    message = lost_message(row);
    row->state =
        !status && row->state == SVC_PENDING_POSTED && !lost ? SVC_PENDING_ACCEPTED : SVC_PENDING_FREE;
    pthread_mutex_unlock(&session->pending_lock);
    if (lost)
        hand_over(port, &message);
    return status;
}
