/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients that break every rule of the socket, the ring and the broker, without the library. None of them
 * expects an answer; that the others are served, and nothing is left of these, is seen elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <anemone/abi.h>

#include "served_client.h"
#include "served_wire.h"

#define SLOTS       6u
#define CONNECTIONS 400u

struct hostile {
    const char *path;
    uint64_t random;
    double end;
};

static uint32_t below(struct hostile *h, uint32_t limit)
{
    return (uint32_t)(served_random(&h->random) >> 16) % limit;
}

static void noise(struct hostile *h, void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t word = served_random(&h->random);

        memcpy((uint8_t *)bytes + i, &word, size - i < sizeof(word) ? size - i : sizeof(word));
    }
}

static bool more(const struct hostile *h)
{
    return served_client_clock() < h->end;
}

static void wait_for_end(const struct hostile *h)
{
    while (more(h))
        usleep(20000);
}

/* Sends without a wait: a buffer that is full is part of the game. */
static bool push(int socket, const void *bytes, size_t size, const int *fds, unsigned count)
{
    union {
        struct cmsghdr head;
        uint8_t room[CMSG_SPACE(PR_SERVICE_FDS * sizeof(int))];
    } control = {.room = {0}};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (count) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        control.head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), fds, count * sizeof(int));
    }
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno == EAGAIN;
}

static void drain(int socket)
{
    struct served_reply reply;

    while (recv(socket, &reply, sizeof(reply), MSG_DONTWAIT) > 0)
        ;
}

/* A message whose parts are right or wrong by chance. Returns its size. */
static size_t make_message(struct hostile *h, uint8_t *bytes, uint32_t magic, uint32_t types)
{
    static const uint32_t sizes[] = {0, 4, 8, 16, 24, 72, 80, 152, 264, 344, 680, 2392, 4088, 4096};
    struct pr_service_header head = {.magic = magic,
                                     .version = PR_SERVICE_VERSION,
                                     .type = (uint16_t)below(h, types + 2),
                                     .bytes = sizes[below(h, sizeof(sizes) / sizeof(sizes[0]))]};
    size_t size = sizeof(head) + head.bytes;

    noise(h, bytes, size);
    if (below(h, 2))
        memset(bytes + sizeof(head), 0, head.bytes);
    switch (below(h, 12)) {
    case 0: head.magic ^= 1u << below(h, 32); break;
    case 1: head.version++; break;
    case 2: head.bytes += below(h, 64); break;
    case 3: head.reserved = head.status = 1; break;
    case 4: size = below(h, (uint32_t)size + 1); break;
    default: break;
    }
    memcpy(bytes, &head, size < sizeof(head) ? size : sizeof(head));
    return size;
}

static void pelt(struct hostile *h, int socket, uint32_t magic, uint32_t types)
{
    uint8_t bytes[sizeof(struct pr_service_header) + PR_SERVICE_BODY + sizeof(uint64_t)];
    int some = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (unsigned i = 0; i < 40 && more(h); i++) {
        const int fds[PR_SERVICE_FDS] = {some, some, some, some};
        size_t size = make_message(h, bytes, magic, types);

        if (!push(socket, bytes, size, fds, below(h, 4) ? 0 : below(h, PR_SERVICE_FDS + 1)))
            break;
        usleep(below(h, 500));
        drain(socket);
    }
    close(some);
}

/* ---- The kinds ---- */

static void be_silent(struct hostile *h)
{
    int socket = served_wire_connect(h->path);

    wait_for_end(h);
    close(socket);
}

/* A HELLO that ends in its middle: whole as a packet, half as a message. */
static void send_half(struct hostile *h)
{
    uint8_t bytes[sizeof(struct pr_service_header) + sizeof(struct pr_service_hello)] = {0};
    struct pr_service_header head = {.magic = PR_SERVICE_MAGIC,
                                     .version = PR_SERVICE_VERSION,
                                     .type = PR_SERVICE_HELLO,
                                     .bytes = sizeof(struct pr_service_hello)};

    memcpy(bytes, &head, sizeof(head));
    while (more(h)) {
        int socket = served_wire_connect(h->path);

        push(socket, bytes, 1 + below(h, sizeof(bytes) - 1), NULL, 0);
        usleep(below(h, 30000));
        close(socket);
    }
}

static void pelt_stranger(struct hostile *h)
{
    while (more(h)) {
        int socket = served_wire_connect(h->path);

        pelt(h, socket, PR_SERVICE_MAGIC, PR_SERVICE_STATUS);
        close(socket);
    }
}

static void pelt_session(struct hostile *h)
{
    while (more(h)) {
        struct served_wire wire;

        if (!served_wire_begin(&wire, h->path, PR_SERVICE_ROLE_CLIENT, NULL))
            continue;
        pelt(h, wire.socket, PR_SERVICE_MAGIC, PR_SERVICE_STATUS);
        served_wire_end(&wire);
    }
}

static void pelt_broker(struct hostile *h)
{
    while (more(h)) {
        struct served_wire wire;
        int broker;

        if (!served_wire_begin(&wire, h->path, PR_SERVICE_ROLE_CLIENT, NULL))
            continue;
        broker = served_wire_open_broker(&wire);
        if (broker >= 0) {
            pelt(h, broker, PR_BROKER_MAGIC, PR_BROKER_INFO);
            close(broker);
        }
        served_wire_end(&wire);
    }
}

/* Never reads: the service must not wait for it. */
static void flood(struct hostile *h)
{
    struct served_wire wire;
    uint8_t bytes[sizeof(struct pr_service_header) + sizeof(struct pr_service_status)] = {0};
    struct pr_service_header head = {.magic = PR_SERVICE_MAGIC,
                                     .version = PR_SERVICE_VERSION,
                                     .type = PR_SERVICE_STATUS,
                                     .bytes = sizeof(struct pr_service_status)};

    memcpy(bytes, &head, sizeof(head));
    if (!served_wire_begin(&wire, h->path, PR_SERVICE_ROLE_CLIENT, NULL))
        return;
    while (more(h) && push(wire.socket, bytes, sizeof(bytes), NULL, 0))
        usleep(below(h, 100));
    wait_for_end(h);
    served_wire_end(&wire);
}

static io_connect_t open_direct(struct served_wire *wire)
{
    struct pr_service_registry find = {.step = PR_SERVICE_REGISTRY_FIND, .key = "H11ANEIn"};
    struct pr_service_open request = {.type = ANE_CLIENT_DIRECT_PATH};
    struct served_reply reply;

    if (served_wire_call(wire, PR_SERVICE_REGISTRY, &find, sizeof(find), &reply))
        return 0;
    request.entry = reply.registry.entry;
    if (served_wire_call(wire, PR_SERVICE_OPEN, &request, sizeof(request), &reply))
        return 0;
    return reply.connect.connect;
}

/* A slot of a call whose parts are right or wrong by chance. */
static void scribble(struct hostile *h, struct pr_ring_slot *slot, io_connect_t connect)
{
    noise(h, &slot->operation, sizeof(*slot) - offsetof(struct pr_ring_slot, operation));
    if (below(h, 8)) {
        slot->operation = 1 + below(h, PR_RING_EVENT);
        slot->selector = below(h, 20);
        slot->scalars_in = below(h, PR_RING_SCALARS + 2);
        slot->scalars_out = below(h, PR_RING_SCALARS + 2);
        slot->struct_in = below(h, 4) ? 0 : below(h, PR_RING_DATA + 2);
        slot->struct_out = below(h, 4) ? 0 : below(h, PR_RING_DATA + 2);
        slot->references = below(h, PR_RING_REFERENCES + 2);
    }
    if (below(h, 8))
        slot->connect = connect;
}

static void post(struct pr_ring_slot *slot, uint32_t state)
{
    atomic_store((_Atomic uint32_t *)&slot->state, state);
    atomic_store((_Atomic uint32_t *)&slot->service_asleep, 0);
    syscall(SYS_futex, &slot->service_asleep, FUTEX_WAKE, 64, NULL, NULL, 0);
}

/* Changes a call also while the service has it, and states at any time. */
static void spoil_ring(struct hostile *h)
{
    while (more(h)) {
        struct served_wire wire;
        io_connect_t connect;

        if (!served_wire_begin(&wire, h->path, PR_SERVICE_ROLE_CLIENT, NULL))
            continue;
        connect = open_direct(&wire);
        for (unsigned i = 0; i < SLOTS; i++)
            served_wire_slot(&wire, i);
        for (unsigned k = 0; k < 300 && more(h); k++) {
            struct pr_ring_slot *slot = served_wire_at(&wire, below(h, SLOTS));

            if (below(h, 20) == 0)
                noise(h, wire.ring, PR_RING_SLOTS_AT);
            scribble(h, slot, connect);
            post(slot, below(h, 8) ? PR_RING_POSTED : below(h, 6));
            usleep(below(h, 1000));
        }
        served_wire_end(&wire);
    }
}

static void fill_ring(struct hostile *h)
{
    struct served_wire wire;

    if (!served_wire_begin(&wire, h->path, PR_SERVICE_ROLE_CLIENT, NULL))
        return;
    for (unsigned i = 0; i < PR_RING_SLOTS; i++)
        served_wire_slot(&wire, i);
    while (more(h)) {
        noise(h, wire.ring, PR_RING_BYTES);
        for (unsigned i = 0; i < PR_RING_SLOTS; i++)
            post(served_wire_at(&wire, i), below(h, 4));
        usleep(below(h, 20000));
    }
    served_wire_end(&wire);
}

/* Takes all that a session may have, and more; then waits to be ended. */
static void hoard(struct hostile *h)
{
    struct pr_service_surface_create create = {.bytes = 1u << 16};
    struct served_reply reply;
    struct served_wire wire;

    if (!served_wire_begin(&wire, h->path, PR_SERVICE_ROLE_CLIENT, NULL))
        return;
    for (unsigned i = 0; i < PR_SERVICE_SURFACES + 8 && more(h); i++) {
        served_wire_call(&wire, PR_SERVICE_SURFACE, &create, sizeof(create), &reply);
        served_reply_close(&reply);
        if (i < PR_SERVICE_CONNECTS + 8)
            open_direct(&wire);
        if (i < PR_RING_SLOTS + 2)
            served_wire_slot(&wire, i);
        if (i < 24)
            served_wire_open_broker(&wire);
    }
    wait_for_end(h);
    served_wire_end(&wire);
}

/* As many connections as it gets, of which none says who it is. */
static void crowd(struct hostile *h)
{
    int socket[CONNECTIONS];

    while (more(h)) {
        unsigned count = 0;

        while (count < CONNECTIONS && (socket[count] = served_wire_connect(h->path)) >= 0)
            count++;
        usleep(below(h, 300000));
        while (count)
            close(socket[--count]);
    }
}

static const struct {
    const char *name;
    void (*attack)(struct hostile *h);
} kinds[] = {
    {"crowd", crowd},          {"silent", be_silent},   {"half", send_half}, {"stranger", pelt_stranger},
    {"session", pelt_session}, {"broker", pelt_broker}, {"flood", flood},    {"spoiled-ring", spoil_ring},
    {"noisy-ring", fill_ring}, {"hoard", hoard},
};

int served_client_hostile(int argc, char **argv)
{
    struct hostile h = {.path = getenv("ANEMONE_SERVICE")};

    if (argc != 3 || !h.path)
        served_client_fail("hostile KIND SECONDS SEED, with ANEMONE_SERVICE set");
    h.end = served_client_clock() + strtod(argv[1], NULL);
    h.random = strtoull(argv[2], NULL, 0);
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, argv[0]) == 0) {
            served_client_say("running");
            kinds[i].attack(&h);
            return 0;
        }
    served_client_fail("There is no attack %s.", argv[0]);
}
