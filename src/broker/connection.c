/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call at a time: a message, then its reply. A connection on which something else came, or none, is dead:
 * later calls fail, and the application makes a new one.
 */
#include "broker/connection.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/packet.h"
#include "protocol/broker.h"
#include "service/client.h"

struct ane_broker {
    pthread_mutex_t lock;
    int socket;
    pid_t pid; /* of the process that made it: a forked child has no connection */
    bool dead;
    uint32_t serial;
    struct base_error why; /* it is dead */
    IOReturn status;
};

static const char *const tier_names[PR_BROKER_TIERS] = {
#define X(id, name, what) [PR_BROKER_TIER_##id] = name,
    PR_BROKER_TIER_LIST(X)
#undef X
};

struct base_error *brk_connection_begin(void)
{
    struct base_error *error = base_error_of_thread();

    error->text[0] = '\0';
    return error;
}

IOReturn brk_connection_bad(const char *sentence)
{
    base_fail(base_error_of_thread(), EINVAL, "%s", sentence);
    return kIOReturnBadArgument;
}

/* ---- Calls ---- */

struct reply {
    struct pr_service_header header;
    uint8_t body[PR_SERVICE_BODY];
};

static IOReturn die(struct ane_broker *broker, IOReturn status, const char *sentence)
{
    broker->dead = true;
    broker->status = status;
    base_fail(&broker->why, EIO, "%s", sentence);
    base_fail(base_error_of_thread(), EIO, "%s", sentence);
    return status;
}

static bool is_reply(const struct ane_broker *broker, const struct brk_connection_call *call,
                     const struct reply *reply, long size)
{
    return (size_t)size >= sizeof(reply->header) && reply->header.magic == PR_BROKER_MAGIC &&
           reply->header.bytes == (size_t)size - sizeof(reply->header) &&
           ((reply->header.type == call->method && reply->header.serial == broker->serial) ||
            (reply->header.type == 0 && reply->header.status));
}

/* A refusal: the sentence is behind the body where the method always has one. */
static IOReturn take_refusal(struct ane_broker *broker, const struct brk_connection_call *call,
                             struct reply *reply)
{
    size_t at = call->always && reply->header.type ? call->out_bytes : 0;

    if (at && reply->header.bytes >= at)
        memcpy(call->out, reply->body, at);
    reply->body[reply->header.bytes < sizeof(reply->body) ? reply->header.bytes : sizeof(reply->body) - 1] =
        '\0';
    base_fail(base_error_of_thread(), EIO, "%s", reply->header.bytes > at ? (char *)reply->body + at : "");
    if (reply->header.type == 0)
        die(broker, reply->header.status, (char *)reply->body);
    return reply->header.status;
}

static IOReturn receive(struct ane_broker *broker, const struct brk_connection_call *call)
{
    struct reply reply;
    int descriptor = -1;
    unsigned count;
    long size = base_packet_receive(broker->socket, &reply, sizeof(reply), &descriptor, 1, &count);

    /* The end of a connection with a message that was not read is reported before what came earlier. */
    if (size == -ECONNRESET)
        size = base_packet_receive(broker->socket, &reply, sizeof(reply), &descriptor, 1, &count);
    if (size <= 0)
        return die(broker, kIOReturnNoDevice,
                   "The broker has ended, or has ended this connection; connect again.");
    if (is_reply(broker, call, &reply, size)) {
        if (reply.header.status) {
            base_packet_close(&descriptor, count);
            return take_refusal(broker, call, &reply);
        }
        if (reply.header.bytes == call->out_bytes && count == (call->returned ? 1u : 0u)) {
            if (call->out_bytes)
                memcpy(call->out, reply.body, call->out_bytes);
            if (call->returned)
                *call->returned = descriptor;
            return kIOReturnSuccess;
        }
    }
    base_packet_close(&descriptor, count);
    return die(broker, kIOReturnNoDevice,
               "The broker's answer has not the form of this library's release; use those of one release.");
}

static IOReturn exchange(struct ane_broker *broker, const struct brk_connection_call *call)
{
    const struct pr_service_header header = {.magic = PR_BROKER_MAGIC,
                                             .version = PR_SERVICE_VERSION,
                                             .type = (uint16_t)call->method,
                                             .serial = ++broker->serial,
                                             .bytes = (uint32_t)call->in_bytes};

    if (broker->dead) {
        base_fail(base_error_of_thread(), EIO, "%s", broker->why.text);
        return broker->status;
    }
    /* A broker without room has sent its refusal and closed: the message fails, the refusal is there. */
    base_packet_send(broker->socket, &header, sizeof(header), call->in, call->in_bytes, &call->sent,
                     call->sent >= 0, 1);
    return receive(broker, call);
}

IOReturn brk_connection_run(struct ane_broker *broker, const struct brk_connection_call *call)
{
    IOReturn result;

    brk_connection_begin();
    if (!broker)
        return brk_connection_bad("There is no connection to the broker: it is NULL.");
    if (broker->pid != getpid()) {
        base_fail(base_error_of_thread(), ENODEV, "The connection is that of the process which has forked.");
        return kIOReturnNoDevice;
    }
    pthread_mutex_lock(&broker->lock);
    result = exchange(broker, call);
    pthread_mutex_unlock(&broker->lock);
    return result;
}

/* ---- Connections ---- */

static IOReturn ask_info(struct ane_broker *broker, struct pr_broker_info *info)
{
    const struct brk_connection_call call = {
        .method = PR_BROKER_INFO, .sent = -1, .out = info, .out_bytes = sizeof(*info)};

    return brk_connection_run(broker, &call);
}

IOReturn brk_connection_adopt(int socket, struct ane_broker **made)
{
    struct ane_broker *broker = base_alloc(sizeof(*broker));
    struct pr_broker_info info;
    IOReturn result;

    *made = NULL;
    if (!broker) {
        close(socket);
        base_fail(base_error_of_thread(), ENOMEM, "No memory for a connection to the broker.");
        return kIOReturnNoMemory;
    }
    broker->socket = socket;
    broker->pid = getpid();
    pthread_mutex_init(&broker->lock, NULL);
    /* Admission is decided at the first message. */
    result = ask_info(broker, &info);
    if (result) {
        ane_broker_disconnect(broker);
        return result;
    }
    *made = broker;
    return kIOReturnSuccess;
}

/* What the service's refusal of a connection is. */
static IOReturn code_of(int status)
{
    switch (-status) {
    case EACCES: return kIOReturnNotPrivileged;
    case ENOSPC:
    case EMFILE: return kIOReturnNoResources;
    case ENOMEM: return kIOReturnNoMemory;
    default: return kIOReturnNoDevice;
    }
}

IOReturn ane_broker_connect(struct ane_broker **broker)
{
    struct base_error *error = brk_connection_begin();
    int socket;

    if (!broker)
        return brk_connection_bad("Broker connect: no place for the connection was given.");
    *broker = NULL;
    socket = svc_client_broker(error);
    return socket < 0 ? code_of(socket) : brk_connection_adopt(socket, broker);
}

void ane_broker_disconnect(struct ane_broker *broker)
{
    if (!broker)
        return;
    close(broker->socket);
    pthread_mutex_destroy(&broker->lock);
    base_free(broker);
}

IOReturn ane_broker_info(struct ane_broker *broker, struct ane_broker_info *info)
{
    struct pr_broker_info about = {0};
    IOReturn result;

    brk_connection_begin();
    if (!info || info->size != sizeof(*info))
        return brk_connection_bad("Broker info: the struct is NULL, or its size is another.");
    result = ask_info(broker, &about);
    if (result)
        return result;
    about.partition[sizeof(about.partition) - 1] = '\0';
    *info = (struct ane_broker_info){.size = sizeof(*info),
                                     .pid = about.pid,
                                     .uid = about.uid,
                                     .tier = about.tier < PR_BROKER_TIERS ? tier_names[about.tier] : "",
                                     .instances = about.instances,
                                     .queue_depth = about.queue_depth,
                                     .clients = about.active_clients,
                                     .entitlements = (uint32_t)__builtin_popcount(about.entitlements)};
    memcpy(info->partition, about.partition, sizeof(info->partition));
    return kIOReturnSuccess;
}
