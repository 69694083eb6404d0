/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reply is checked against the row of its message: type, serial, size and descriptors. One that breaks the
 * format ends the session, so that no later reply is taken for another's.
 */
#include "service/client_session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/file.h"
#include "base/packet.h"
#include "protocol/entitlement.h"

#define ERRNO_MAX 4095

struct message {
    size_t request, reply;
    unsigned files; /* of the reply */
};

static const struct message messages[] = {
#define X(id, number, request, reply, in, out, what) \
    [number] = {PR_SERVICE_BYTES(request), PR_SERVICE_BYTES(reply), out},
    PR_SERVICE_MESSAGES(X)
#undef X
};

struct packet {
    struct pr_service_header head;
    uint8_t body[PR_SERVICE_BODY];
};

void svc_session_end(struct svc_session *session, const char *sentence)
{
    pthread_mutex_lock(&session->end_lock);
    if (!svc_session_has_ended(session)) {
        base_fail(&session->why, ENODEV, "%s", sentence);
        atomic_store(&session->ended, true);
    }
    pthread_mutex_unlock(&session->end_lock);
    shutdown(session->socket, SHUT_RDWR);
    if (session->head) /* the ring comes with the answer to HELLO */
        svc_ring_wake(&session->head->client_asleep);
}

static void end_lost(struct svc_session *session)
{
    struct base_error why;

    base_fail(&why, ENODEV,
              "The service at %s has ended, or has ended this session; start the program again once it runs.",
              session->path);
    svc_session_end(session, why.text);
}

static void end_malformed(struct svc_session *session, const char *what)
{
    struct base_error why;

    base_fail(&why, EPROTO,
              "The service at %s sent a reply that breaks the format of its messages (%s); the session ends.",
              session->path, what);
    svc_session_end(session, why.text);
}

bool svc_session_look(struct svc_session *session)
{
    struct pollfd end = {.fd = session->socket};

    if (poll(&end, 1, 0) > 0 && end.revents & (POLLHUP | POLLERR | POLLNVAL))
        end_lost(session);
    return svc_session_has_ended(session);
}

IOReturn svc_session_refuse(struct svc_session *session, struct base_error *error)
{
    if (error)
        *error = session->why;
    return kIOReturnNoDevice;
}

int svc_session_errno(int status)
{
    static const struct {
        IOReturn code;
        int number;
    } pairs[] = {
        {kIOReturnNoDevice, ENODEV},      {kIOReturnNoMemory, ENOMEM},    {kIOReturnNoResources, ENOSPC},
        {kIOReturnNotPrivileged, EACCES}, {kIOReturnNotPermitted, EPERM}, {kIOReturnBadArgument, EINVAL},
    };

    if (status < 0 && status >= -ERRNO_MAX)
        return status;
    for (size_t i = 0; i < BASE_COUNT_OF(pairs); i++)
        if (pairs[i].code == status)
            return -pairs[i].number;
    return -EIO;
}

/* NULL, or the rule that the reply breaks. */
static const char *check_reply(const struct packet *packet, long size, const struct pr_service_header *asked,
                               unsigned files)
{
    const struct message *row = &messages[asked->type];
    const struct pr_service_header *head = &packet->head;

    if (size < (long)sizeof(*head) || head->bytes != (size_t)size - sizeof(*head))
        return "its size";
    if (head->magic != PR_SERVICE_MAGIC)
        return "its magic";
    if (head->version != PR_SERVICE_VERSION)
        return "its version is another: the library and the service are of different releases";
    if (head->type != asked->type || head->serial != asked->serial)
        return "it answers another message";
    if (head->status ? files != 0 : files != row->files)
        return "its number of descriptors";
    if (head->status ? head->bytes > PR_SERVICE_SENTENCE : head->bytes != row->reply)
        return "its body's size";
    return NULL;
}

static void copy_sentence(const struct packet *packet, struct base_error *error)
{
    base_fail(error, EIO, "%.*s", (int)strnlen((const char *)packet->body, packet->head.bytes),
              (const char *)packet->body);
}

/* With the socket locked. */
static int exchange(struct svc_session *session, enum pr_service_message type, const void *request,
                    struct packet *packet, int *file)
{
    const struct message *row = &messages[type];
    struct pr_service_header head = {.magic = PR_SERVICE_MAGIC,
                                     .version = PR_SERVICE_VERSION,
                                     .type = (uint16_t)type,
                                     .serial = ++session->serial,
                                     .bytes = (uint32_t)row->request};
    int files[PR_SERVICE_FDS];
    const char *broken;
    unsigned count = 0;
    long size;

    if (svc_session_has_ended(session))
        return -ENODEV;
    size = base_packet_send(session->socket, &head, sizeof(head), request, row->request, NULL, 0, 1);
    if (!size)
        size = base_packet_receive(session->socket, packet, sizeof(*packet), files, PR_SERVICE_FDS, &count);
    if (size <= 0 && size != -EMSGSIZE) {
        end_lost(session);
        return -ENODEV;
    }
    broken = check_reply(packet, size, &head, count);
    if (broken) {
        base_packet_close(files, count);
        end_malformed(session, broken);
        return -ENODEV;
    }
    if (count)
        *file = files[0];
    return 0;
}

int svc_session_talk(struct svc_session *session, enum pr_service_message type, const void *request,
                     void *reply, int *file, struct base_error *error)
{
    struct packet packet;
    int status;

    packet.head = (struct pr_service_header){0};
    pthread_mutex_lock(&session->talk);
    status = exchange(session, type, request, &packet, file);
    pthread_mutex_unlock(&session->talk);
    if (status)
        return svc_session_refuse(session, error);
    if (packet.head.status)
        copy_sentence(&packet, error);
    else if (reply)
        memcpy(reply, packet.body, packet.head.bytes);
    return packet.head.status;
}

static int refuse_ring(struct svc_session *session, struct base_error *error)
{
    return base_fail(error, EPROTO,
                     "The service at %s gave a ring that is not this library's: it is of another release.",
                     session->path);
}

/* A file that its maker could cut off would end this process with a signal. */
static int map_ring(struct svc_session *session, int file, struct base_error *error)
{
    const struct pr_service_welcome *welcome = &session->welcome;
    struct stat stat;
    uint8_t *ring;

    if (welcome->ring_bytes != PR_RING_BYTES || welcome->slots != PR_RING_SLOTS || fstat(file, &stat) ||
        stat.st_size < (off_t)PR_RING_BYTES || !(fcntl(file, F_GET_SEALS) & F_SEAL_SHRINK))
        return refuse_ring(session, error);
    ring = base_alloc_allowed() ? mmap(NULL, PR_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                                : MAP_FAILED;
    if (ring == MAP_FAILED)
        return base_fail(error, ENOMEM, "The ring of the service at %s could not be mapped.", session->path);
    madvise(ring, PR_RING_BYTES, MADV_DONTFORK);
    session->head = (void *)ring;
    session->record = (const void *)(ring + PR_RING_COMPLETIONS_AT);
    session->slot = (void *)(ring + PR_RING_SLOTS_AT);
    return session->head->magic == PR_RING_MAGIC ? 0 : refuse_ring(session, error);
}

/* One processor: whoever spins keeps the other side from running. */
static uint64_t spin_time(const struct svc_session *session)
{
    cpu_set_t set;

    if (!sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) < 2)
        return 0;
    return session->welcome.entitlements & PR_ENTITLEMENT_BIT(BLESSED) ? PR_RING_SPIN_BLESSED_NS
                                                                       : PR_RING_SPIN_NS;
}

static int greet(struct svc_session *session, enum pr_service_role role, struct base_error *error)
{
    const struct pr_service_hello hello = {.role = role};
    int file = -1, status;

    status = svc_session_talk(session, PR_SERVICE_HELLO, &hello, &session->welcome, &file, error);
    if (!status) {
        session->welcome.team[sizeof(session->welcome.team) - 1] = '\0';
        status = map_ring(session, file, error);
        close(file);
        return status;
    }
    return status == kIOReturnNoDevice && svc_session_has_ended(session) ? -ECONNRESET
                                                                         : svc_session_errno(status);
}

int svc_session_make(int socket, const char *path, enum pr_service_role role, struct svc_session **session,
                     struct base_error *error)
{
    struct svc_session *made = base_alloc(sizeof(*made));
    int status;

    if (!made) {
        close(socket);
        return base_fail(error, ENOMEM, "No memory for a session with the service at %s.", path);
    }
    made->socket = socket;
    made->broker = role == PR_SERVICE_ROLE_BROKER;
    snprintf(made->path, sizeof(made->path), "%s", path);
    made->talk = made->end_lock = made->slot_lock = made->names_lock = made->connect_lock =
        made->pending_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    made->slot_freed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    atomic_store(&made->free_slots, UINT64_MAX);
    status = greet(made, role, error);
    if (status) {
        svc_session_forget(made);
        return status;
    }
    made->spin_ns = spin_time(made);
    *session = made;
    return 0;
}

void svc_session_forget(struct svc_session *session)
{
    if (session->head)
        munmap(session->head, PR_RING_BYTES);
    close(session->socket);
    base_free(session);
}

int svc_client_broker(struct base_error *error)
{
    int file = -1, status = svc_client_decide(error);

    if (status < 0)
        return -ENODEV;
    if (!status)
        return base_fail(error, ENODEV,
                         "This process has a machine of its own and no service, so there is no broker.");
    status = svc_session_talk(svc_session_current(), PR_SERVICE_BROKER, NULL, NULL, &file, error);
    return status ? svc_session_errno(status) : base_file_above_standard(file);
}
