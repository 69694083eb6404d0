/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An order is in exactly one place: queued, sent (it is in the list of that name), or ended. Its caller waits
 * for ENDED. A caller that leaves takes a queued order out; one that was sent becomes ABANDONED and is freed
 * by the reader of the socket. All of it is under the compiler's lock, messages included: those are sent
 * without waiting, and what could not be sent stays queued and is tried again.
 */
#include "broker/order.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/packet.h"
#include "broker/backoff.h"

#define LOOK_MS     100u   /* between looks at the client's socket */
#define NO_START_MS 10000u /* a compile service that does not start is given up */

static const struct {
    size_t in, out;
    unsigned descriptors_in, descriptors_out;
} forms[] = {
#define X(id, number, request, reply, in, out, what) \
    [(number)-PR_COMPILE_COMPILE] = {PR_BROKER_BYTES(request), PR_BROKER_BYTES(reply), in, out},
    PR_COMPILE_MESSAGES(X)
#undef X
};

struct reader {
    struct brk_compiler *compiler;
    int socket;
};

void brk_compiler_init(struct brk_compiler *compiler)
{
    pthread_condattr_t clock;

    *compiler = (struct brk_compiler){.socket = -1};
    pthread_mutex_init(&compiler->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&compiler->changed, &clock);
    pthread_condattr_destroy(&clock);
}

struct brk_order *brk_order_make(uint32_t type, uint32_t qos)
{
    struct brk_order *order = base_alloc(sizeof(*order));

    if (!order)
        return NULL;
    order->type = type;
    order->index = pr_qos_queue_index(qos);
    order->folder = order->file[0] = order->file[1] = -1;
    return order;
}

void brk_order_free(struct brk_order *order)
{
    if (!order)
        return;
    base_packet_close(order->file, 2);
    base_free(order);
}

/* ---- With the lock held ---- */

static void remove_order(struct brk_order **link, const struct brk_order *order)
{
    while (*link != order)
        link = &(*link)->next;
    *link = order->next;
}

static void queue_order(struct brk_compiler *compiler, struct brk_order *order)
{
    struct brk_order **link = &compiler->queued;

    while (*link && (*link)->index <= order->index)
        link = &(*link)->next;
    order->next = *link;
    *link = order;
    order->state = BRK_ORDER_QUEUED;
}

static void end_order(struct brk_compiler *compiler, struct brk_order *order, IOReturn result)
{
    remove_order(&compiler->sent, order);
    compiler->compilations -= order->type == PR_COMPILE_COMPILE;
    /* Here, so that it counts for a caller that has left, too. */
    if (order->backoffs && order->blamed && result == kIOReturnAborted)
        brk_backoff_failed(order->backoffs, &order->who);
    if (order->state == BRK_ORDER_ABANDONED) {
        brk_order_free(order);
        return;
    }
    order->result = result;
    order->state = BRK_ORDER_ENDED;
}

/* 0, or a negative errno: -EAGAIN when the socket has no room. */
static int send_order(struct brk_compiler *compiler, struct brk_order *order)
{
    const size_t bytes = forms[order->type - PR_COMPILE_COMPILE].in;
    const struct pr_service_header header = {.magic = PR_BROKER_MAGIC,
                                             .version = PR_SERVICE_VERSION,
                                             .type = (uint16_t)order->type,
                                             .serial = ++compiler->serial,
                                             .bytes = (uint32_t)bytes};

    order->serial = header.serial;
    return base_packet_send(compiler->socket, &header, sizeof(header), &order->body, bytes, &order->folder,
                            forms[order->type - PR_COMPILE_COMPILE].descriptors_in, 0);
}

/* A worker is free, and the user has not its part of them. */
static bool has_worker(const struct brk_compiler *compiler, const struct brk_order *order)
{
    unsigned of_user = 0;

    for (const struct brk_order *sent = compiler->sent; sent; sent = sent->next)
        of_user += sent->type == PR_COMPILE_COMPILE && sent->body.compile.uid == order->body.compile.uid;
    return compiler->compilations < PR_COMPILE_WORKERS && of_user < PR_COMPILE_WORKERS_USER;
}

/* Sends what may be sent. One that the socket refuses for good is left to the reader, which sees the end. */
static void pump(struct brk_compiler *compiler)
{
    struct brk_order **link = &compiler->queued, *order;

    while (compiler->socket >= 0 && (order = *link)) {
        bool compiles = order->type == PR_COMPILE_COMPILE;

        if (compiles && !has_worker(compiler, order)) {
            link = &order->next;
            continue;
        }
        if (send_order(compiler, order))
            return;
        *link = order->next;
        order->next = compiler->sent;
        compiler->sent = order;
        order->state = BRK_ORDER_SENT;
        compiler->compilations += compiles;
    }
}

/* The service has ended: so has everything it had. */
static void fail_sent(struct brk_compiler *compiler)
{
    /* A service that ended with several orders does not say whose model it was. */
    bool alone = compiler->sent && !compiler->sent->next;

    while (compiler->sent) {
        struct brk_order *order = compiler->sent;

        order->blamed = alone;
        base_fail(&order->error, EIO, "The compile service ended with the model; it is started again.");
        end_order(compiler, order, kIOReturnAborted);
    }
}

/* ---- Replies ---- */

union reply_body {
    struct pr_broker_model model;
    struct pr_broker_purged purged;
    char sentence[PR_SERVICE_SENTENCE];
};
struct reply {
    struct pr_service_header header;
    union reply_body body;
    int file[2];
    unsigned files;
};

/* False: the socket is closed, or what came has not the form of a reply. */
static bool receive_reply(int socket, struct reply *reply)
{
    struct {
        struct pr_service_header header;
        union reply_body body;
    } message;
    long size;

    memset(&message, 0, sizeof(message));
    reply->file[0] = reply->file[1] = -1;
    size = base_packet_receive(socket, &message, sizeof(message), reply->file, 2, &reply->files);
    if (size <= 0)
        return false;
    reply->header = message.header;
    reply->body = message.body;
    if ((size_t)size >= sizeof(reply->header) && reply->header.magic == PR_BROKER_MAGIC &&
        reply->header.version == PR_SERVICE_VERSION &&
        reply->header.bytes == (size_t)size - sizeof(reply->header))
        return true;
    base_packet_close(reply->file, reply->files);
    return false;
}

static bool has_form(const struct reply *reply, const struct brk_order *order)
{
    const unsigned form = order->type - PR_COMPILE_COMPILE;

    if (reply->header.type != order->type)
        return false;
    return reply->header.status ||
           (reply->header.bytes == forms[form].out && reply->files == forms[form].descriptors_out);
}

/* The reply to one of the orders. False: it is not one. */
static bool settle(struct brk_compiler *compiler, struct reply *reply)
{
    struct brk_order *order = compiler->sent;
    IOReturn result = reply->header.status;

    while (order && order->serial != reply->header.serial)
        order = order->next;
    if (!order || !has_form(reply, order))
        return false;
    if (result) {
        reply->body.sentence[sizeof(reply->body.sentence) - 1] = '\0';
        base_fail(&order->error, EIO, "%s", reply->body.sentence);
        order->blamed = true;
    } else {
        memcpy(&order->reply, &reply->body, forms[order->type - PR_COMPILE_COMPILE].out);
        memcpy(order->file, reply->file, sizeof(order->file));
        reply->files = 0;
    }
    end_order(compiler, order, result);
    return true;
}

static void *read_replies(void *argument)
{
    struct reader *reader = argument;
    struct brk_compiler *compiler = reader->compiler;
    struct reply reply;
    bool goes_on = true;

    while (goes_on && receive_reply(reader->socket, &reply)) {
        pthread_mutex_lock(&compiler->lock);
        goes_on = compiler->socket == reader->socket && settle(compiler, &reply);
        base_packet_close(reply.file, reply.files);
        pump(compiler);
        pthread_cond_broadcast(&compiler->changed);
        pthread_mutex_unlock(&compiler->lock);
    }
    pthread_mutex_lock(&compiler->lock);
    if (compiler->socket == reader->socket) {
        compiler->socket = -1;
        fail_sent(compiler);
    }
    close(reader->socket);
    compiler->readers--;
    pthread_cond_broadcast(&compiler->changed);
    pthread_mutex_unlock(&compiler->lock);
    base_free(reader);
    return NULL;
}

/* ---- Start and stop ---- */

int brk_compiler_start(struct brk_compiler *compiler, int socket)
{
    struct reader *reader = base_alloc(sizeof(*reader));
    pthread_t thread;
    int status;

    if (!reader) {
        close(socket);
        return -ENOMEM;
    }
    *reader = (struct reader){compiler, socket};
    pthread_mutex_lock(&compiler->lock);
    status = pthread_create(&thread, NULL, read_replies, reader);
    if (!status) {
        pthread_detach(thread);
        compiler->readers++;
        if (compiler->socket >= 0)
            shutdown(compiler->socket, SHUT_RDWR);
        fail_sent(compiler);
        compiler->socket = socket;
        pump(compiler);
        pthread_cond_broadcast(&compiler->changed);
    }
    pthread_mutex_unlock(&compiler->lock);
    if (status) {
        close(socket);
        base_free(reader);
    }
    return -status;
}

void brk_compiler_stop(struct brk_compiler *compiler)
{
    pthread_mutex_lock(&compiler->lock);
    if (compiler->socket >= 0)
        shutdown(compiler->socket, SHUT_RDWR);
    while (compiler->readers)
        pthread_cond_wait(&compiler->changed, &compiler->lock);
    pthread_mutex_unlock(&compiler->lock);
    pthread_cond_destroy(&compiler->changed);
    pthread_mutex_destroy(&compiler->lock);
}

/* ---- Orders ---- */

static bool has_left(int client)
{
    struct pollfd look = {.fd = client, .events = POLLRDHUP};

    return poll(&look, 1, 0) > 0 && look.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL);
}

static void wait_a_while(struct brk_compiler *compiler)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_MS * 1000000l;
    until.tv_sec += until.tv_nsec / 1000000000l;
    until.tv_nsec %= 1000000000l;
    pthread_cond_timedwait(&compiler->changed, &compiler->lock, &until);
}

/* The caller goes: a queued order ends here, one that was sent with its answer. True: it is freed then. */
static bool abandon(struct brk_compiler *compiler, struct brk_order *order)
{
    if (order->state == BRK_ORDER_QUEUED) {
        remove_order(&compiler->queued, order);
        return false;
    }
    order->state = BRK_ORDER_ABANDONED;
    return true;
}

IOReturn brk_order_run(struct brk_compiler *compiler, struct brk_order **run, int client,
                       struct base_error *error)
{
    struct brk_order *order = *run;
    uint64_t until = brk_now_ns() + NO_START_MS * 1000000ull;
    IOReturn result = kIOReturnSuccess;

    pthread_mutex_lock(&compiler->lock);
    queue_order(compiler, order);
    pump(compiler);
    while (order->state != BRK_ORDER_ENDED && !result) {
        wait_a_while(compiler);
        if (order->state == BRK_ORDER_ENDED)
            break;
        pump(compiler);
        if (compiler->socket >= 0)
            until = brk_now_ns() + NO_START_MS * 1000000ull;
        if (has_left(client))
            result = brk_refuse(error, kIOReturnAborted, "The client has left.");
        else if (brk_now_ns() > until)
            result = brk_refuse(error, kIOReturnNoDevice, "No compile service runs.");
    }
    if (result && abandon(compiler, order))
        *run = NULL;
    pthread_mutex_unlock(&compiler->lock);
    if (result)
        return result;
    *error = order->error;
    return order->result;
}
