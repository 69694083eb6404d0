/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order at the end of a session matters. First it is marked as ending, so that the broker's session makes
 * nothing more for its task, and those that hold it are waited for. Then connections are closed, which ends
 * the calls that threads of the ring are in; then the threads; then what they used.
 */
#include "service/peer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/packet.h"
#include "protocol/broker.h"
#include "service/log.h"
#include "service/message.h"
#include "service/thread.h"

struct packet {
    struct pr_service_header header;
    union svc_body body;
};
_Static_assert(sizeof(union svc_body) <= PR_SERVICE_BODY, "bodies are within the limit");

/* ---- Replies ---- */

/* False when the other end is closed. */
static bool send_reply(struct svc_peer *session, const struct pr_service_header *request,
                       const struct svc_message *message, const struct svc_reply *reply)
{
    struct pr_service_header header = {.magic = PR_SERVICE_MAGIC,
                                       .version = PR_SERVICE_VERSION,
                                       .type = request->type,
                                       .serial = request->serial,
                                       .status = reply->status};
    const void *body = &reply->body;
    unsigned fds = 0;

    if (reply->status) {
        body = reply->error.text;
        header.bytes = (uint32_t)strlen(reply->error.text) + 1;
    } else if (message) {
        header.bytes = message->reply;
        fds = message->fds_out;
    }
    return !base_packet_send(session->socket, &header, sizeof(header), body, header.bytes, &reply->file, fds,
                             1);
}

/* Which rule of the format a message breaks; NULL: none. */
static const struct svc_message *check_format(const struct svc_peer *session, const struct packet *packet,
                                              size_t size, unsigned fds, struct base_error *error)
{
    const struct pr_service_header *header = &packet->header;
    const struct svc_message *message = svc_message_find(header->type);

    if (header->magic != PR_SERVICE_MAGIC)
        base_fail(error, EPROTO, "The message does not begin with %08x.", PR_SERVICE_MAGIC);
    else if (header->version != PR_SERVICE_VERSION)
        base_fail(error, EPROTO,
                  "The message has version %u of the format, the service has %u; both must be of one build.",
                  header->version, PR_SERVICE_VERSION);
    else if (header->status || header->reserved)
        base_fail(error, EPROTO, "The message's status and reserved word are not 0.");
    else if (!message)
        base_fail(error, EPROTO, "There is no message %u.", header->type);
    else if (header->bytes != size - sizeof(*header) || header->bytes != message->request)
        base_fail(error, EPROTO, "The body of %s has %u bytes and the message %zu; %u are right.",
                  message->name, header->bytes, size - sizeof(*header), message->request);
    else if (fds != message->fds_in)
        base_fail(error, EPROTO, "%s came with %u descriptors; %u are right.", message->name, fds,
                  message->fds_in);
    else if (!session->greeted && header->type != PR_SERVICE_HELLO)
        base_fail(error, EPROTO, "%s came before HELLO.", message->name);
    else if (session->greeted && header->type == PR_SERVICE_HELLO)
        base_fail(error, EPROTO, "HELLO comes once in a session.");
    else
        return message;
    return NULL;
}

/* Whether the process may have what the message grants: it must be the one that said HELLO. */
static bool may_ask(struct svc_peer *session, const struct svc_message *message, struct svc_reply *reply)
{
    if (session->role == PR_SERVICE_ROLE_OBSERVER && !message->observer) {
        reply->status = kIOReturnNotPermitted;
        base_fail(&reply->error, EPERM, "An observer reads the status alone; %s is for clients.",
                  message->name);
        return false;
    }
    if (!message->grants || session->role != PR_SERVICE_ROLE_CLIENT ||
        svc_identity_check(&session->identity) == SVC_IDENTITY_SAME)
        return true;
    svc_log_client("client %u: process %d is refused: it is not the one that connected", session->task,
                   (int)session->identity.pid);
    session->refused = true;
    reply->status = kIOReturnNotPermitted;
    base_fail(&reply->error, EPERM, "The process is not the one that connected.");
    return false;
}

bool svc_peer_message(struct svc_peer *session, const void *bytes, size_t size, const int *fds,
                      unsigned count)
{
    const struct svc_message *message = NULL;
    struct svc_reply reply;
    struct packet packet;
    bool sent;

    memset(&packet, 0, sizeof(packet));
    memset(&reply, 0, sizeof(reply)); /* every byte of a body that is sent: = {0} may leave some of a union */
    reply.file = -1;
    base_packet_close(fds, count); /* no message brings any yet */
    if (size < sizeof(packet.header) || size > sizeof(packet)) {
        base_fail(&reply.error, EPROTO, "The message has %zu bytes; %zu to %zu are right.", size,
                  sizeof(packet.header), sizeof(packet));
    } else {
        memcpy(&packet, bytes, size);
        message = check_format(session, &packet, size, count, &reply.error);
    }
    if (!message) {
        reply.status = kIOReturnBadArgument;
        svc_log_client("process %d of user %u broke the format: %s", (int)session->identity.pid,
                       (unsigned)session->uid, reply.error.text);
        send_reply(session, &packet.header, NULL, &reply);
        return false;
    }
    if (may_ask(session, message, &reply))
        message->answer(session, &packet.body, &reply);
    sent = send_reply(session, &packet.header, message, &reply);
    if (reply.file >= 0)
        close(reply.file);
    return sent && session->greeted && !session->refused;
}

/* ---- Life ---- */

static void set_patience(int socket, time_t seconds)
{
    struct timeval limit = {.tv_sec = seconds};

    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

static void *run(void *argument)
{
    struct svc_peer *session = argument;
    struct packet packet;
    unsigned count;
    int fds[PR_SERVICE_FDS];
    bool waited = false;
    long size;

    set_patience(session->socket, PR_SERVICE_HELLO_S);
    for (;;) {
        size = base_packet_receive(session->socket, &packet, sizeof(packet), fds, PR_SERVICE_FDS, &count);
        if (size <= 0 && size != -EMSGSIZE)
            break;
        if (!svc_peer_message(session, &packet, size > 0 ? (size_t)size : 0, fds, count))
            break;
        if (!waited)
            set_patience(session->socket, 0);
        waited = true;
    }
    svc_peer_end(session);
    return NULL;
}

/* Into the table, if there is a row. */
static int enter_table(struct svc_peer *session, struct base_error *error)
{
    struct svc_service *service = session->service;
    const bool broker = session->role == PR_SERVICE_ROLE_BROKER;
    unsigned row = broker ? SVC_PROCESSES : 0, end = broker ? SVC_ROWS : SVC_PROCESSES, own = 0, all;

    pthread_mutex_lock(&service->lock);
    for (unsigned i = 0; i < SVC_ROWS; i++)
        own += service->session[i] && service->session[i]->uid == session->uid;
    while (row < end && service->session[row])
        row++;
    if (row == end || (!broker && session->uid != service->uid && own >= PR_SERVICE_USER))
        row = SVC_ROWS;
    if (row < SVC_ROWS) {
        service->session[row] = session;
        service->sessions++;
        if (broker)
            service->broker = session;
    }
    all = service->sessions;
    pthread_mutex_unlock(&service->lock);
    if (row < SVC_ROWS)
        return 0;
    return base_fail(error, ENOSPC,
                     "The service has %u connections, of which user %u has %u; the limits are %u and %u.",
                     all, (unsigned)session->uid, own, SVC_PROCESSES, PR_SERVICE_USER);
}

static void leave_table(struct svc_peer *session)
{
    struct svc_service *service = session->service;

    pthread_mutex_lock(&service->lock);
    for (unsigned i = 0; i < SVC_ROWS; i++)
        if (service->session[i] == session)
            service->session[i] = NULL;
    service->retired.requests += session->figures.requests;
    service->retired.engine_ns += session->figures.engine_ns;
    service->sessions--;
    pthread_cond_broadcast(&service->changed);
    pthread_mutex_unlock(&service->lock);
}

int svc_peer_make(struct svc_service *service, int socket, enum pr_service_role role, struct svc_peer **made,
                  struct base_error *error)
{
    unsigned connects = role == PR_SERVICE_ROLE_BROKER ? PR_SERVICE_CONNECTS_ALL : PR_SERVICE_CONNECTS;
    struct svc_peer *session = base_alloc(sizeof(*session));
    struct ucred peer = {.uid = service->uid};
    socklen_t size = sizeof(peer);
    int status;

    if (!session || svc_kernel_init(&session->kernel, connects)) {
        base_free(session);
        return base_fail(error, ENOMEM, "No memory for a session.");
    }
    if (role != PR_SERVICE_ROLE_BROKER)
        getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    session->service = service;
    session->socket = socket;
    session->uid = peer.uid;
    session->role = role;
    session->tier = PR_BROKER_TIERS;
    session->ring.file = -1;
    session->identity.pidfd = -1;
    for (unsigned i = 0; i < PR_SERVICE_BROKERS; i++)
        session->broker[i] = -1;
    svc_completions_init(&session->completions);
    status = enter_table(session, error);
    if (status) {
        svc_completions_end(&session->completions);
        svc_kernel_end(&session->kernel);
        base_free(session);
        return status;
    }
    *made = session;
    return 0;
}

int svc_peer_start(struct svc_service *service, int socket, enum pr_service_role role,
                   struct base_error *error)
{
    struct svc_peer *session = NULL;
    pthread_t thread;
    int status = svc_peer_make(service, socket, role, &session, error);

    if (!session)
        return status;
    status = svc_thread_start(&thread, run, session);
    if (status) {
        session->socket = -1; /* the caller's */
        svc_peer_end(session);
        return base_fail(error, -status, "The service has no thread for a session: %s.", strerror(-status));
    }
    pthread_detach(thread);
    return 0;
}

void svc_peer_cut_broker_locked(struct svc_peer *session)
{
    for (unsigned i = 0; i < PR_SERVICE_BROKERS; i++)
        if (session->broker[i] >= 0) {
            shutdown(session->broker[i], SHUT_RDWR);
            close(session->broker[i]);
            session->broker[i] = -1;
        }
    session->tier = PR_BROKER_TIERS;
}

/* From here on no other session makes anything for its task, or uses it. */
static void begin_end(struct svc_peer *session)
{
    struct svc_service *service = session->service;

    pthread_mutex_lock(&service->lock);
    session->ending = true;
    if (service->broker == session)
        service->broker = NULL;
    svc_peer_cut_broker_locked(session);
    while (session->holds)
        pthread_cond_wait(&service->changed, &service->lock);
    pthread_mutex_unlock(&service->lock);
}

static void close_for_task(struct svc_peer *session)
{
    struct svc_peer *broker = session->task ? svc_service_hold_broker(session->service) : NULL;

    if (!broker)
        return;
    svc_kernel_close_task(broker, session->task);
    svc_peer_release(broker);
}

void svc_peer_end(struct svc_peer *session)
{
    begin_end(session);
    svc_figures_update(session->service);
    svc_kernel_close_all(session);
    close_for_task(session);
    svc_ring_stop(session);
    svc_completions_end(&session->completions);
    if (session->delegate)
        ane_task_release(session->delegate);
    if (session->task)
        ane_task_release(session->task);
    if (session->blessed)
        atomic_fetch_sub(&session->service->blessed, 1);
    if (session->greeted && session->role == PR_SERVICE_ROLE_CLIENT)
        svc_log_client("client %u: process %d has gone", session->task, (int)session->identity.pid);
    leave_table(session); /* from here on no other thread finds its socket */
    if (session->socket >= 0)
        close(session->socket);
    if (session->role != PR_SERVICE_ROLE_BROKER)
        svc_identity_end(&session->identity);
    svc_ring_unmap(&session->ring);
    svc_kernel_end(&session->kernel);
    base_free(session);
}

void svc_peer_release(struct svc_peer *session)
{
    struct svc_service *service = session->service;

    pthread_mutex_lock(&service->lock);
    session->holds--;
    pthread_cond_broadcast(&service->changed);
    pthread_mutex_unlock(&service->lock);
}

void svc_peer_expel(struct svc_peer *session, const char *why)
{
    svc_log_client("client %u: process %d is refused: %s", session->task, (int)session->identity.pid, why);
    shutdown(session->socket, SHUT_RDWR);
}
