/* SPDX-License-Identifier: Apache-2.0 */
#include "fakerig.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <anemone/iokit.h>

#include "base/file.h"
#include "base/packet.h"
#include "protocol/entitlement.h"

struct packet {
    struct pr_service_header head;
    uint8_t body[PR_SERVICE_BODY + 64];
};

struct slot_thread {
    struct fakerig *fake;
    struct pr_ring_slot *slot;
};

static void require(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    _exit(3);
}

static void start_thread(void *(*run)(void *), void *context)
{
    pthread_t thread;

    require(!pthread_create(&thread, NULL, run, context), "pthread_create");
    pthread_detach(thread);
}

static void nap(void)
{
    const struct timespec time = {0, 1000000};

    nanosleep(&time, NULL);
}

static void wake(uint32_t *asleep)
{
    if (__atomic_exchange_n(asleep, 0, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void fakerig_complete(struct fakerig *fake, const uint64_t *reference, uint32_t port, int32_t result)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct pr_ring_head *head = (void *)fake->ring;
    struct pr_ring_completion *records = (void *)(fake->ring + PR_RING_COMPLETIONS_AT);
    struct pr_ring_completion *record;
    struct ane_request_reply reply = {.status = (uint32_t)result, .detail = 77};

    pthread_mutex_lock(&lock);
    record = &records[head->produced % PR_RING_COMPLETIONS];
    memcpy(record->reference, reference, sizeof(record->reference));
    record->port = port;
    record->result = result;
    memcpy(record->reply, &reply, sizeof(reply));
    __atomic_fetch_add(&head->produced, 1, __ATOMIC_SEQ_CST);
    wake(&head->client_asleep);
    pthread_mutex_unlock(&lock);
}

static void add(struct pr_ring_slot *slot)
{
    for (unsigned i = 0; i < PR_RING_SCALARS; i++)
        slot->scalar_out[i] = slot->scalar_in[i] + 1;
    for (unsigned i = 0; i < PR_RING_DATA; i++)
        slot->out[i] = (uint8_t)~slot->in[i];
    slot->result = kIOReturnSuccess;
}

/* False: no answer. */
static int answer_method(struct fakerig *fake, struct pr_ring_slot *slot)
{
    switch (slot->selector) {
    case FAKERIG_REFUSE:
        slot->result = kIOReturnNotFound;
        snprintf(slot->sentence, sizeof(slot->sentence), "The fake has nothing of that name.");
        return 1;
    case FAKERIG_NEVER: atomic_fetch_add(&fake->held, 1); return 0;
    case FAKERIG_HOLD:
        atomic_fetch_add(&fake->held, 1);
        while (!atomic_load(&fake->released))
            nap();
        add(slot);
        return 1;
    case FAKERIG_ABSENT:
        slot->scalar_out[0] = slot->absent;
        slot->scalar_out[1] = slot->struct_in;
        slot->scalar_out[2] = slot->struct_out;
        slot->result = kIOReturnSuccess;
        return 1;
    case FAKERIG_LONG_WORDS:
        memset(slot->sentence, 'w', sizeof(slot->sentence));
        slot->result = kIOReturnError;
        return 1;
    default: add(slot); return 1;
    }
}

static int answer_call(struct fakerig *fake, struct pr_ring_slot *slot, int early)
{
    uint64_t reference[PR_RING_REFERENCES];
    uint32_t port = slot->port;

    if (slot->operation != PR_RING_ASYNC)
        return answer_method(fake, slot);
    memcpy(reference, slot->reference, sizeof(reference));
    if (slot->selector == FAKERIG_REFUSE)
        return answer_method(fake, slot);
    slot->result = kIOReturnSuccess;
    if (early) {
        fakerig_complete(fake, reference, port, kIOReturnAborted);
        nap();
    }
    if (slot->selector == FAKERIG_NEVER)
        return answer_method(fake, slot);
    return 1;
}

static void *serve_slot(void *context)
{
    struct slot_thread *mine = context;
    struct pr_ring_slot *slot = mine->slot;

    for (;;) {
        uint64_t reference[PR_RING_REFERENCES];
        uint32_t port;
        int early, late;

        while (__atomic_load_n(&slot->state, __ATOMIC_SEQ_CST) != PR_RING_POSTED)
            nap();
        __atomic_store_n(&slot->state, PR_RING_TAKEN, __ATOMIC_SEQ_CST);
        early = !mine->fake->quiet && mine->fake->early;
        late = !mine->fake->quiet && !early && slot->operation == PR_RING_ASYNC &&
               slot->selector != FAKERIG_REFUSE;
        port = slot->port;
        memcpy(reference, slot->reference, sizeof(reference));
        if (!answer_call(mine->fake, slot, early))
            continue;
        __atomic_store_n(&slot->state, PR_RING_DONE, __ATOMIC_SEQ_CST);
        wake(&slot->client_asleep);
        if (late)
            fakerig_complete(mine->fake, reference, port, kIOReturnAborted);
    }
    return NULL;
}

/* ---- The socket ---- */

static int send_reply(struct fakerig *fake, struct packet *packet, uint32_t bytes, const int *file)
{
    const enum fakerig_spoil spoil = fake->spoil;
    unsigned files = file != NULL;
    int two[2] = {file ? *file : -1, file ? *file : -1};

    packet->head.bytes = bytes;
    packet->head.reserved = 0;
    if (fake->spoiled == packet->head.type)
        switch (spoil) {
        case FAKERIG_SPOIL_SHORT: bytes = 0, packet->head.bytes = 8; break;
        case FAKERIG_SPOIL_MAGIC: packet->head.magic++; break;
        case FAKERIG_SPOIL_VERSION: packet->head.version++; break;
        case FAKERIG_SPOIL_SERIAL: packet->head.serial++; break;
        case FAKERIG_SPOIL_TYPE: packet->head.type++; break;
        case FAKERIG_SPOIL_FILES:
            two[0] = two[1] = files ? two[0] : fake->session;
            files = files ? 2 : 1;
            break;
        case FAKERIG_SPOIL_BODY: packet->head.bytes = bytes += 8; break;
        case FAKERIG_SPOIL_LONG_SENTENCE:
            packet->head.status = kIOReturnError;
            packet->head.bytes = bytes = PR_SERVICE_SENTENCE + 1;
            files = 0;
            break;
        case FAKERIG_SPOIL_HANG_UP: return 0;
        default: break;
        }
    return !base_packet_send(fake->session, &packet->head, sizeof(packet->head), packet->body, bytes, two,
                             files, 1);
}

static int refuse(struct fakerig *fake, struct packet *packet, int status, const char *sentence)
{
    packet->head.status = status;
    memcpy(packet->body, sentence, strlen(sentence) + 1);
    return send_reply(fake, packet, (uint32_t)strlen(sentence) + 1, NULL);
}

static int welcome(struct fakerig *fake, struct packet *packet)
{
    struct pr_service_welcome reply = {.task = 7,
                                       .entitlements = PR_ENTITLEMENT_BIT(OPEN),
                                       .ring_bytes = (uint32_t)PR_RING_BYTES - fake->ring_less,
                                       .slots = PR_RING_SLOTS,
                                       .pid = (uint32_t)getpid()};
    struct pr_ring_head *head;
    int file = base_file_memory("fake-ring", PR_RING_BYTES), good;

    require(file >= 0, "ring");
    fake->ring = mmap(NULL, PR_RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    require(fake->ring != MAP_FAILED, "ring");
    head = (void *)fake->ring;
    head->magic = PR_RING_MAGIC;
    memcpy(packet->body, &reply, sizeof(reply));
    good = send_reply(fake, packet, sizeof(reply), &file);
    close(file);
    return good;
}

static int announce(struct fakerig *fake, struct packet *packet)
{
    struct pr_service_slot request;
    struct slot_thread *mine = calloc(1, sizeof(*mine));

    memcpy(&request, packet->body, sizeof(request));
    if (fake->refuse_slots >= 0 && request.slot >= (uint32_t)fake->refuse_slots) {
        free(mine);
        return refuse(fake, packet, kIOReturnNoResources, "The fake has no thread for that slot.");
    }
    require(mine != NULL, "slot");
    mine->fake = fake;
    mine->slot = (void *)(fake->ring + PR_RING_SLOTS_AT + request.slot * sizeof(*mine->slot));
    atomic_fetch_or(&fake->slots, 1ull << request.slot);
    start_thread(serve_slot, mine);
    return send_reply(fake, packet, 0, NULL);
}

static int make_surface(struct fakerig *fake, struct packet *packet)
{
    struct pr_service_surface_create request;
    struct pr_service_surface reply = {.surface = fake->surface};
    int file, good;

    memcpy(&request, packet->body, sizeof(request));
    file = base_file_memory("fake-surface", ((request.bytes + 0x3fff) & ~0x3fffull) - fake->surface_less);
    require(file >= 0, "surface");
    memcpy(packet->body, &reply, sizeof(reply));
    atomic_fetch_add(&fake->surfaces, 1);
    good = send_reply(fake, packet, sizeof(reply), &file);
    close(file);
    return good;
}

static int step_registry(struct fakerig *fake, struct packet *packet)
{
    struct pr_service_registry request;
    struct pr_service_registry_value reply = {0};

    memcpy(&request, packet->body, sizeof(request));
    switch (request.step) {
    case PR_SERVICE_REGISTRY_FIND:
    case PR_SERVICE_REGISTRY_ROOT: reply.entry = PR_SERVICE_ENTRY_BASE + 5; break;
    case PR_SERVICE_REGISTRY_CHILD: reply.entry = request.index ? 0 : PR_SERVICE_ENTRY_BASE + 6; break;
    case PR_SERVICE_REGISTRY_NAME: memset(reply.key, 'n', sizeof(reply.key)); break; /* no NUL */
    default:
        if (request.index)
            return refuse(fake, packet, kIOReturnNotFound, "The fake's entry has one property.");
        strcpy(reply.key, "the key");
        memset(reply.value, 0x5a, sizeof(reply.value));
    }
    memcpy(packet->body, &reply, sizeof(reply));
    return send_reply(fake, packet, sizeof(reply), NULL);
}

static int give_broker(struct fakerig *fake, struct packet *packet)
{
    int pair[2], good;

    require(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), "socketpair");
    good = send_reply(fake, packet, 0, &pair[0]);
    require(write(pair[1], "broker", 6) == 6, "broker");
    close(pair[0]);
    close(pair[1]);
    return good;
}

static int answer(struct fakerig *fake, struct packet *packet)
{
    const struct pr_service_connect connect = {.connect = fake->connect};

    switch (packet->head.type) {
    case PR_SERVICE_HELLO: return welcome(fake, packet);
    case PR_SERVICE_OPEN:
        memcpy(packet->body, &connect, sizeof(connect));
        return send_reply(fake, packet, sizeof(connect), NULL);
    case PR_SERVICE_SLOT: return announce(fake, packet);
    case PR_SERVICE_SURFACE: return make_surface(fake, packet);
    case PR_SERVICE_SURFACE_RELEASE:
        atomic_fetch_sub(&fake->surfaces, 1);
        return send_reply(fake, packet, 0, NULL);
    case PR_SERVICE_REGISTRY: return step_registry(fake, packet);
    case PR_SERVICE_BROKER: return give_broker(fake, packet);
    default: return send_reply(fake, packet, 0, NULL);
    }
}

static void *serve(void *context)
{
    struct fakerig *fake = context;
    struct packet packet;
    int files[PR_SERVICE_FDS];
    unsigned count;
    int session = accept4(fake->listener, NULL, NULL, SOCK_CLOEXEC);

    require(session >= 0, "accept");
    close(fake->listener);
    fake->session = session;
    while (base_packet_receive(session, &packet, sizeof(packet), files, PR_SERVICE_FDS, &count) > 0) {
        atomic_fetch_add(&fake->messages, 1);
        if (!answer(fake, &packet))
            break;
    }
    shutdown(session, SHUT_RDWR);
    return NULL;
}

void fakerig_start(struct fakerig *fake, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(fake->path, sizeof(fake->path), "%s", path);
    memcpy(address.sun_path, fake->path, sizeof(address.sun_path));
    unlink(path);
    fake->session = -1;
    fake->refuse_slots = -1;
    fake->connect = PR_SERVICE_CONNECT_BASE + 3;
    fake->surface = PR_SERVICE_SURFACE_BIT + 4097;
    fake->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    require(fake->listener >= 0 && !bind(fake->listener, (struct sockaddr *)&address, sizeof(address)) &&
                !listen(fake->listener, 4),
            path);
    start_thread(serve, fake);
}

void fakerig_die(struct fakerig *fake)
{
    shutdown(fake->session, SHUT_RDWR);
}
