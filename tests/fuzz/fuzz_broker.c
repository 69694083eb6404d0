/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any messages to the broker: each is answered by one reply of the right form or ends the connection; the
 * next client is served, and no descriptor and no thread is left. The kernel is this process's own machine,
 * the compile service a thread that has one model.
 *
 * Input: a byte of what the client holds, then messages, each of a byte of flags, a byte of the method, two
 * bytes of the body's size, and the body. What earlier replies have returned may be put into a body.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "base/packet.h"
#include "broker/broker.h"
#include "protocol/broker.h"
#include "protocol/entitlement.h"
#include "require.h"

#include "../partyrig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MODEL        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define WAIT_MS      20000
#define MESSAGES_MAX 12u

/* Flags of a message; the low bits are how many descriptors come with it. */
enum {
    DESCRIPTORS = 3,
    WRONG_MAGIC = 1 << 2,
    WRONG_SIZE = 1 << 3,
    EXACT_SIZE = 1 << 4, /* the body has the method's */
    NAMED_MODEL = 1 << 5,
    INSTANCE = 1 << 6, /* of the latest reply that had one */
};

static const size_t body_bytes[] = {
#define X(id, number, request, reply, in, out, key, what) [number] = PR_BROKER_BYTES(request),
    PR_BROKER_METHODS(X)
#undef X
};

static int control, orders;
static ane_task_t task;
static int weights[2]; /* main.e5 and weights.bin of the model */

/* ---- What surrounds the broker ---- */

static void *run_broker(void *descriptor)
{
    brk_broker_run(*(int *)descriptor, -1);
    return NULL;
}

/* The model's key is in the same place of each order that names one; every order gets the one model. */
static void *run_compiler(void *unused)
{
    union {
        struct pr_service_header header;
        uint8_t bytes[sizeof(struct pr_service_header) + PR_SERVICE_BODY];
    } order;
    int fds[BASE_PACKET_FDS];
    unsigned count;

    (void)unused;
    while (base_packet_receive(orders, &order, sizeof(order), fds, BASE_PACKET_FDS, &count) > 0) {
        struct pr_broker_model model = {.model = MODEL, .operations = 1};
        struct pr_service_header reply = order.header;

        base_packet_close(fds, count);
        reply.status = 0;
        reply.bytes = sizeof(model);
        if (order.header.type == PR_COMPILE_PURGE) {
            reply.status = kIOReturnNotFound;
            reply.bytes = 2;
            memcpy(&model, "-", 2);
        }
        if (base_packet_send(orders, &reply, sizeof(reply), &model, reply.bytes, weights,
                             reply.status ? 0 : 2, 1))
            break;
    }
    return NULL;
}

static void notice(uint16_t type, const void *body, size_t bytes, int descriptor)
{
    const struct pr_service_header header = {
        .magic = PR_BROKER_MAGIC, .version = PR_SERVICE_VERSION, .type = type, .bytes = (uint32_t)bytes};

    require(base_packet_send(control, &header, sizeof(header), body, bytes, &descriptor, 1, 1) == 0);
    close(descriptor);
}

static int sealed(const void *bytes, size_t size)
{
    int file = base_file_growing("fuzz");

    require(file >= 0 && base_file_put(file, bytes, size) == 0 && base_file_seal(file, size) == 0);
    return file;
}

static void make_model(void)
{
    struct ane_program_bundle head;
    size_t at;

    partyrig_compile(NULL);
    memcpy(&head, partyrig_bundle.bytes, sizeof(head));
    at = (sizeof(head) + head.main_bytes + ANE_PROGRAM_BUNDLE_ALIGN - 1) / ANE_PROGRAM_BUNDLE_ALIGN *
         ANE_PROGRAM_BUNDLE_ALIGN;
    weights[0] = sealed(partyrig_bundle.bytes + sizeof(head), head.main_bytes);
    weights[1] = sealed(partyrig_bundle.bytes + at, head.weights_bytes);
}

static void make(void)
{
    static int far[2];
    struct pr_broker_compiler compiler = {.pid = 1};
    pthread_t thread;
    int pair[2];

    setenv("ANEMONE_SERVICE", "none", 1);
    make_model();
    task = partyrig_task("FUZZ", 1);
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, far) == 0);
    control = far[0];
    require(pthread_create(&thread, NULL, run_broker, &far[1]) == 0);
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    orders = pair[0];
    require(pthread_create(&thread, NULL, run_compiler, NULL) == 0);
    notice(PR_BROKER_NOTICE_COMPILER, &compiler, sizeof(compiler), pair[1]);
    /* The longer-duration one has ended. */
    compiler.number = 1;
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    notice(PR_BROKER_NOTICE_COMPILER, &compiler, sizeof(compiler), pair[1]);
    close(pair[0]);
}

/* ---- A client ---- */

static int begin(uint32_t entitlements)
{
    struct pr_broker_client who = {
        .task = task, .pid = 1, .uid = 1, .gid = 1, .entitlements = entitlements, .own_user = 1};
    struct pr_service_header tier[2];
    int pair[2];

    memset(who.cdhash, 1, sizeof(who.cdhash));
    who.has_signature = 1;
    strcpy(who.team, "FUZZ");
    require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
    notice(PR_BROKER_NOTICE_CLIENT, &who, sizeof(who), pair[1]);
    while (recv(control, tier, sizeof(tier), MSG_DONTWAIT) > 0)
        ;
    return pair[0];
}

/* False when the other end is closed; a reply that does not come is a finding. */
static bool receive(int socket, struct pr_service_header *head, uint8_t *body)
{
    uint8_t bytes[sizeof(*head) + PR_SERVICE_BODY];
    struct pollfd wait = {.fd = socket, .events = POLLIN};
    int fds[BASE_PACKET_FDS];
    unsigned count;
    long size;

    require(poll(&wait, 1, WAIT_MS) == 1);
    size = base_packet_receive(socket, bytes, sizeof(bytes), fds, BASE_PACKET_FDS, &count);
    if (size <= 0)
        return false;
    base_packet_close(fds, count);
    require((size_t)size >= sizeof(*head));
    memcpy(head, bytes, sizeof(*head));
    require(head->magic == PR_BROKER_MAGIC && head->bytes == (size_t)size - sizeof(*head));
    memcpy(body, bytes + sizeof(*head), head->bytes);
    if (head->status)
        require(head->bytes > 1 && body[head->bytes - 1] == '\0');
    return true;
}

static bool exchange(int socket, const uint8_t *data, size_t size, uint64_t *instance)
{
    uint8_t bytes[sizeof(struct pr_service_header) + PR_SERVICE_BODY] = {0}, body[PR_SERVICE_BODY];
    const uint8_t flags = data[0], method = data[1];
    const bool known = method < sizeof(body_bytes) / sizeof(body_bytes[0]);
    size_t length = flags & EXACT_SIZE && known ? body_bytes[method] : size;
    struct pr_service_header head = {.magic = PR_BROKER_MAGIC ^ (flags & WRONG_MAGIC),
                                     .version = PR_SERVICE_VERSION,
                                     .type = method,
                                     .serial = data[2],
                                     .bytes = (uint32_t)length + !!(flags & WRONG_SIZE)};
    int fds[DESCRIPTORS];
    unsigned count = flags & DESCRIPTORS;

    memcpy(bytes, &head, sizeof(head));
    memcpy(bytes + sizeof(head), data + 4, size < length ? size : length);
    if (flags & NAMED_MODEL)
        memcpy(bytes + sizeof(head), MODEL, sizeof(MODEL));
    if (flags & INSTANCE)
        memcpy(bytes + sizeof(head), instance, sizeof(*instance));
    for (unsigned i = 0; i < count; i++)
        fds[i] = i ? dup(weights[1]) : open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    require(base_packet_send(socket, bytes, sizeof(head) + length, NULL, 0, fds, count, 1) == 0 || true);
    base_packet_close(fds, count);
    if (!receive(socket, &head, body))
        return false;
    require(head.type == method || head.status);
    if (!head.status && (method == PR_BROKER_LOAD || method == PR_BROKER_CREATE_INSTANCE))
        memcpy(instance, body, sizeof(*instance));
    return true;
}

static void serve_another(void)
{
    const uint8_t info[4] = {EXACT_SIZE, PR_BROKER_INFO, 1, 0};
    int socket = begin(PR_ENTITLEMENT_BIT(ALLOW));
    uint64_t none = 0;

    require(exchange(socket, info, 0, &none));
    close(socket);
}

/*
 * Pipes are not counted: the broker has none, and a sanitizer's symbolizer gets some when it is first used.
 */
static unsigned count_in(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    unsigned count = 0;
    char link[8];

    require(folder);
    while ((entry = readdir(folder)))
        count +=
            readlinkat(dirfd(folder), entry->d_name, link, sizeof(link)) < 5 || memcmp(link, "pipe:", 5) != 0;
    closedir(folder);
    return count;
}

/* Clients end by themselves, each in its thread. A purge takes away what the broker has kept of a model. */
static void settle(unsigned descriptors, unsigned threads)
{
    for (unsigned i = 0; i < WAIT_MS; i++) {
        if (count_in("/proc/self/fd") <= descriptors && count_in("/proc/self/task") <= threads)
            return;
        usleep(1000);
    }
    require(false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned descriptors, threads;
    uint64_t instance = 0;
    int socket;

    if (!task) {
        const uint8_t load[4] = {EXACT_SIZE | NAMED_MODEL, PR_BROKER_LOAD, 1, 0};

        make();
        socket = begin(PR_ENTITLEMENTS_ALL);
        require(exchange(socket, load, 0, &instance) && instance);
        close(socket);
        usleep(300000);
        descriptors = count_in("/proc/self/fd");
        threads = count_in("/proc/self/task");
    }
    if (size < 1)
        return 0;
    socket = begin(data[0] & 1 ? PR_ENTITLEMENTS_ALL : data[0]);
    data++, size--;
    for (unsigned i = 0; i < MESSAGES_MAX && size >= 4; i++) {
        size_t body = (data[2] | (size_t)data[3] << 8) % (PR_SERVICE_BODY + 1);

        if (body > size - 4)
            body = size - 4;
        if (!exchange(socket, data, body, &instance))
            break;
        data += 4 + body;
        size -= 4 + body;
    }
    close(socket);
    serve_another();
    settle(descriptors, threads);
    return 0;
}
