/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room for a record: records that the client has not consumed and calls under way are together fewer than the
 * ring has places. `consumed` is the client's word: one that is ahead of what was produced, or too far behind
 * it, counts as a full ring, so a wrong one costs its own writer and no other.
 */
#include "service/completion.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "service/futex.h"
#include "service/peer.h"
#include "service/thread.h"

#define LAST_RECORDS_MS 100u

_Static_assert(sizeof(((struct pr_ring_completion *)0)->reply) == sizeof(struct ane_request_reply), "reply");

void svc_completions_init(struct svc_completions *completions)
{
    pthread_mutex_init(&completions->lock, NULL);
}

static void write_record(struct svc_peer *session, const struct ane_port_message *message)
{
    struct svc_completions *c = &session->completions;
    struct pr_ring_completion record = {.result = message->result};
    uint64_t index = message->reference[0];

    pthread_mutex_lock(&c->lock);
    record.port = c->call[index].port;
    memcpy(record.reference, c->call[index].reference, sizeof(record.reference));
    memcpy(record.reply, &message->reply, sizeof(record.reply));
    c->call[index].used = false;
    c->under_way--;
    session->ring.completion[c->produced % PR_RING_COMPLETIONS] = record;
    c->produced++;
    __atomic_store_n(&session->ring.head->produced, c->produced, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&c->lock);
    svc_futex_wake_sleeper(&session->ring.head->client_asleep);
}

/* The port is released at the session's end, which ends the wait. */
static void *deliver(void *argument)
{
    struct svc_peer *session = argument;
    struct ane_port_message message;

    while (!ane_port_receive(session->completions.port, &message, UINT64_MAX))
        write_record(session, &message);
    return NULL;
}

/* With the lock held. */
static IOReturn start(struct svc_peer *session, struct base_error *error)
{
    struct svc_completions *c = &session->completions;
    int status;

    if (c->port)
        return kIOReturnSuccess;
    status = ane_port_create(&c->port);
    if (!status)
        status = svc_thread_start(&c->thread, deliver, session);
    if (!status)
        return kIOReturnSuccess;
    if (c->port)
        ane_port_release(c->port);
    c->port = 0;
    base_fail(error, -status, "The service has no port for asynchronous calls: %s.", strerror(-status));
    return kIOReturnNoResources;
}

/* With the lock held. */
static bool has_room(struct svc_peer *session)
{
    struct svc_completions *c = &session->completions;
    uint32_t waiting = c->produced - __atomic_load_n(&session->ring.head->consumed, __ATOMIC_SEQ_CST);

    return waiting < PR_RING_COMPLETIONS && waiting + c->under_way < PR_RING_COMPLETIONS;
}

IOReturn svc_completions_begin(struct svc_peer *session, const struct pr_ring_slot *call, uint64_t *index,
                               ane_port_t *port, struct base_error *error)
{
    struct svc_completions *c = &session->completions;
    IOReturn status;

    pthread_mutex_lock(&c->lock);
    status = start(session, error);
    if (!status && !has_room(session)) {
        base_fail(error, ENOSPC,
                  "%u asynchronous requests of this process are under way or not received; the limit is %u.",
                  c->under_way, PR_RING_COMPLETIONS);
        status = kIOReturnNoResources;
    }
    for (*index = 0; !status && c->call[*index].used;)
        ++*index;
    if (!status) {
        c->call[*index].used = true;
        c->call[*index].port = call->port;
        memset(c->call[*index].reference, 0, sizeof(c->call[*index].reference));
        memcpy(c->call[*index].reference, call->reference, call->references * sizeof(call->reference[0]));
        c->under_way++;
        *port = c->port;
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

void svc_completions_cancel(struct svc_peer *session, uint64_t index)
{
    struct svc_completions *c = &session->completions;

    pthread_mutex_lock(&c->lock);
    c->call[index].used = false;
    c->under_way--;
    pthread_mutex_unlock(&c->lock);
}

void svc_completions_end(struct svc_completions *c)
{
    if (c->port) {
        /* The messages of calls that the end of their connections has aborted are in the port already. */
        for (unsigned ms = 0; ms < LAST_RECORDS_MS && svc_completions_under_way(c); ms++)
            usleep(1000);
        ane_port_release(c->port);
        pthread_join(c->thread, NULL);
    }
    pthread_mutex_destroy(&c->lock);
}

unsigned svc_completions_under_way(struct svc_completions *c)
{
    unsigned count;

    pthread_mutex_lock(&c->lock);
    count = c->under_way;
    pthread_mutex_unlock(&c->lock);
    return count;
}
