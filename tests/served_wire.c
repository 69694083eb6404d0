/* SPDX-License-Identifier: Apache-2.0 */
#include "served_wire.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/packet.h"

int served_wire_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
        close(fd);
        return -1;
    }
    return fd;
}

bool served_wire_send(int socket, const void *bytes, size_t size, const int *fds, unsigned count)
{
    return base_packet_send(socket, bytes, size, NULL, 0, fds, count, 1) == 0;
}

bool served_wire_receive(int socket, struct served_reply *reply)
{
    uint8_t bytes[sizeof(struct pr_service_header) + PR_SERVICE_BODY];
    struct pollfd wait = {.fd = socket, .events = POLLIN};
    unsigned count = 0;
    long size;

    memset(reply, 0, sizeof(*reply));
    if (poll(&wait, 1, SERVED_WIRE_SECONDS * 1000) != 1)
        return false;
    size = base_packet_receive(socket, bytes, sizeof(bytes), reply->fd, PR_SERVICE_FDS, &count);
    reply->fds = count;
    if (size < (long)sizeof(reply->head))
        return false;
    memcpy(&reply->head, bytes, sizeof(reply->head));
    memcpy(reply->body, bytes + sizeof(reply->head), (size_t)size - sizeof(reply->head));
    return reply->head.bytes == (size_t)size - sizeof(reply->head);
}

void served_reply_close(struct served_reply *reply)
{
    base_packet_close(reply->fd, reply->fds);
    reply->fds = 0;
}

static int32_t call(int socket, uint32_t magic, uint32_t serial, uint16_t type, const void *body, size_t size,
                    const int *fds, unsigned count, struct served_reply *reply)
{
    const struct pr_service_header head = {.magic = magic,
                                           .version = PR_SERVICE_VERSION,
                                           .type = type,
                                           .serial = serial,
                                           .bytes = (uint32_t)size};

    memset(reply, 0, sizeof(*reply));
    if (base_packet_send(socket, &head, sizeof(head), body, size, fds, count, 1) ||
        !served_wire_receive(socket, reply) || reply->head.type != type || reply->head.serial != serial)
        return SERVED_WIRE_CLOSED;
    return reply->head.status;
}

int32_t served_wire_call(struct served_wire *wire, uint16_t type, const void *body, size_t size,
                         struct served_reply *reply)
{
    return call(wire->socket, PR_SERVICE_MAGIC, ++wire->serial, type, body, size, NULL, 0, reply);
}

int32_t served_wire_broker(int broker, uint16_t type, const void *body, size_t size, const int *fds,
                           unsigned count, struct served_reply *reply)
{
    static uint32_t serial;

    return call(broker, PR_BROKER_MAGIC, ++serial, type, body, size, fds, count, reply);
}

int served_wire_open_broker(struct served_wire *wire)
{
    struct served_reply reply;

    if (served_wire_call(wire, PR_SERVICE_BROKER, NULL, 0, &reply) || reply.fds != 1) {
        served_reply_close(&reply);
        return -1;
    }
    return reply.fd[0];
}

static bool map_ring(struct served_wire *wire, struct served_reply *reply)
{
    void *ring = MAP_FAILED;

    if (reply->fds == 1)
        ring = mmap(NULL, PR_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, reply->fd[0], 0);
    served_reply_close(reply);
    wire->ring = ring == MAP_FAILED ? NULL : ring;
    return wire->ring != NULL;
}

bool served_wire_begin(struct served_wire *wire, const char *path, uint32_t role, struct served_reply *reply)
{
    const struct pr_service_hello hello = {.role = role};
    struct served_reply own;

    reply = reply ? reply : &own;
    *wire = (struct served_wire){.socket = served_wire_connect(path)};
    if (wire->socket < 0)
        return false;
    if (served_wire_call(wire, PR_SERVICE_HELLO, &hello, sizeof(hello), reply)) {
        served_wire_end(wire);
        return false;
    }
    memcpy(&wire->welcome, reply->body, sizeof(wire->welcome));
    if (role == PR_SERVICE_ROLE_CLIENT && !map_ring(wire, reply)) {
        served_wire_end(wire);
        return false;
    }
    served_reply_close(reply);
    return true;
}

void served_wire_end(struct served_wire *wire)
{
    if (wire->socket >= 0)
        close(wire->socket);
    if (wire->ring)
        munmap(wire->ring, PR_RING_BYTES);
    *wire = (struct served_wire){.socket = -1};
}

struct pr_ring_slot *served_wire_at(const struct served_wire *wire, uint32_t slot)
{
    return (struct pr_ring_slot *)(void *)(wire->ring + PR_RING_SLOTS_AT) + slot;
}

bool served_wire_slot(struct served_wire *wire, uint32_t slot)
{
    const struct pr_service_slot body = {.slot = slot};
    struct served_reply reply;

    return served_wire_call(wire, PR_SERVICE_SLOT, &body, sizeof(body), &reply) == 0;
}

static void wake(uint32_t *word)
{
    if (atomic_exchange((_Atomic uint32_t *)word, 0))
        syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool served_wire_post(const struct served_wire *wire, uint32_t slot, struct pr_ring_slot *call_slot)
{
    struct pr_ring_slot *shared = served_wire_at(wire, slot);
    const struct timespec moment = {.tv_nsec = 100000};
    time_t limit = time(NULL) + SERVED_WIRE_SECONDS;

    memcpy(&shared->operation, &call_slot->operation,
           sizeof(*shared) - offsetof(struct pr_ring_slot, operation));
    atomic_store((_Atomic uint32_t *)&shared->state, PR_RING_POSTED);
    wake(&shared->service_asleep);
    while (atomic_load((_Atomic uint32_t *)&shared->state) != PR_RING_DONE) {
        if (time(NULL) > limit)
            return false;
        nanosleep(&moment, NULL);
    }
    memcpy(call_slot, shared, sizeof(*call_slot));
    atomic_store((_Atomic uint32_t *)&shared->state, PR_RING_FREE);
    return true;
}

long served_wire_status(const char *path, struct pr_service_status_page *page, struct pr_service_client *rows,
                        unsigned room)
{
    struct served_wire wire;
    struct served_reply reply;
    long count = 0;

    if (!served_wire_begin(&wire, path, PR_SERVICE_ROLE_OBSERVER, NULL))
        return -ECONNREFUSED;
    do {
        const struct pr_service_status body = {.first = (uint32_t)count};

        if (served_wire_call(&wire, PR_SERVICE_STATUS, &body, sizeof(body), &reply)) {
            count = -EPROTO;
            break;
        }
        *page = reply.page;
        for (unsigned i = 0; i < page->rows && i < PR_SERVICE_STATUS_ROWS; i++, count++)
            if (count < room)
                rows[count] = page->row[i];
    } while (page->rows == PR_SERVICE_STATUS_ROWS);
    served_wire_end(&wire);
    return count;
}
