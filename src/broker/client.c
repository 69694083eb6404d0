/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of clients is under the broker's lock; the rest of a client belongs to its thread. A client leaves
 * the list before its socket is closed, so that the monitor never looks at a number that is used again.
 */
#include "broker/client.h"

#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/packet.h"
#include "broker/admission.h"
#include "broker/contention.h"
#include "broker/device.h"
#include "broker/instance.h"
#include "broker/method.h"
#include "broker/resident.h"

/* A message of a client, as it came. */
struct message {
    struct pr_service_header header;
    union {
        uint8_t bytes[PR_SERVICE_BODY];
        uint64_t align;
    } body;
};

/* ---- Replies ---- */

struct reply {
    struct pr_service_header header;
    union {
        uint8_t bytes[PR_SERVICE_BODY];
        uint64_t align;
    } body;
    int descriptor; /* -1: none */
};

static bool send_reply(int socket, const struct reply *reply)
{
    return !base_packet_send(socket, &reply->header, sizeof(reply->header), &reply->body, reply->header.bytes,
                             &reply->descriptor, reply->descriptor >= 0, 1);
}

static void begin_reply(struct reply *reply, const struct pr_service_header *request)
{
    memset(reply, 0, sizeof(*reply));
    reply->header = (struct pr_service_header){.magic = PR_BROKER_MAGIC,
                                               .version = PR_SERVICE_VERSION,
                                               .type = request->type,
                                               .serial = request->serial};
    reply->descriptor = -1;
}

/* The sentence, behind `at` bytes of the body. */
static void end_refusal(struct reply *reply, IOReturn status, size_t at, const struct base_error *error)
{
    size_t length = strnlen(error->text, PR_SERVICE_SENTENCE - 1);

    memcpy(reply->body.bytes + at, error->text, length);
    reply->body.bytes[at + length] = '\0';
    reply->header.status = status;
    reply->header.bytes = (uint32_t)(at + length + 1);
}

static void refuse(int socket, const struct pr_service_header *request, IOReturn status,
                   const struct base_error *error)
{
    struct reply reply;

    begin_reply(&reply, request);
    end_refusal(&reply, status, 0, error);
    send_reply(socket, &reply);
}

/* ---- Messages ---- */

/* NULL with a sentence: the message breaks the format. */
static const struct brk_method *check_form(const struct pr_service_header *header, long size,
                                           unsigned descriptors, struct base_error *error)
{
    const struct brk_method *method;

    if ((size_t)size < sizeof(*header) || header->magic != PR_BROKER_MAGIC) {
        brk_refuse(error, kIOReturnBadArgument, "A message of %ld bytes has no header of the broker's.",
                   size);
        return NULL;
    }
    if (header->version != PR_SERVICE_VERSION) {
        brk_refuse(error, kIOReturnBadArgument,
                   "The message has version %u, the broker %u; library and service must be of one release.",
                   header->version, PR_SERVICE_VERSION);
        return NULL;
    }
    method = brk_admission_method(header->type);
    if (!method)
        brk_refuse(error, kIOReturnBadArgument, "The broker has no method %u.", header->type);
    else if (header->status || header->reserved || header->bytes != (size_t)size - sizeof(*header) ||
             header->bytes != method->in || descriptors != method->descriptors_in)
        brk_refuse(error, kIOReturnBadArgument,
                   "%s: a body of %ld bytes (%u announced) and %u descriptors; it has %zu and %u.",
                   method->name, size - (long)sizeof(*header), header->bytes, descriptors, method->in,
                   method->descriptors_in);
    else
        return method;
    return NULL;
}

static bool answer(struct brk_client *client, const struct brk_method *method, const struct message *message,
                   int descriptor)
{
    struct base_error error = {""};
    struct reply reply;
    struct brk_call call = {.client = client,
                            .method = method->number,
                            .in = &message->body,
                            .descriptor = descriptor,
                            .out = &reply.body,
                            .returned = -1,
                            .error = &error};
    IOReturn status;
    bool sent;

    begin_reply(&reply, &message->header);
    status = brk_admission_require(&client->who, method->keys, method->name, &error);
    if (!status)
        status = brk_method_call(&call);
    if (status) {
        end_refusal(&reply, status, method->number == PR_BROKER_SUBMIT ? method->out : 0, &error);
    } else {
        reply.header.bytes = (uint32_t)method->out;
        reply.descriptor = call.returned;
    }
    sent = send_reply(client->socket, &reply);
    base_packet_close(&call.returned, 1);
    return sent;
}

/* One message. False: the connection ends. */
static bool serve(struct brk_client *client)
{
    const struct brk_method *method;
    struct message message;
    struct base_error error = {""};
    int descriptor[BASE_PACKET_FDS] = {-1};
    unsigned count;
    bool goes_on = false;
    IOReturn status;
    long size;

    memset(&message.header, 0, sizeof(message.header));
    size =
        base_packet_receive(client->socket, &message, sizeof(message), descriptor, BASE_PACKET_FDS, &count);
    if (size == 0)
        return false;
    if (size < 0) {
        brk_refuse(&error, kIOReturnBadArgument,
                   "A message is longer than %zu bytes, or has more than %u "
                   "descriptors.",
                   sizeof(message), BASE_PACKET_FDS);
        refuse(client->socket, &message.header, kIOReturnBadArgument, &error);
        return false;
    }
    status = brk_admission_connect(&client->who, &error);
    if (status) {
        refuse(client->socket, &message.header, status, &error);
    } else {
        method = check_form(&message.header, size, count, &error);
        if (method)
            goes_on = answer(client, method, &message, descriptor[0]);
        else
            refuse(client->socket, &message.header, kIOReturnBadArgument, &error);
    }
    base_packet_close(descriptor, count);
    return goes_on;
}

/* ---- Life ---- */

/* The service has a copy of the socket, and the monitor may poll it: the other end sees the shutdown. */
static void end_socket(int socket)
{
    shutdown(socket, SHUT_RDWR);
    close(socket);
}

static void free_client(struct brk_client *client)
{
    if (client->party)
        brk_contention_leave(&client->broker->contention, client->party);
    brk_device_destroy(&client->device);
    end_socket(client->socket);
    base_free(client);
}

/* With the kernel's connection everything on it goes; the records follow. */
static void leave(struct brk_client *client)
{
    struct brk_broker *broker = client->broker;
    struct brk_client **link = &broker->clients;

    brk_device_close(&client->device);
    brk_instance_forget_all(client);
    brk_resident_forget_all(client);
    pthread_mutex_lock(&broker->lock);
    while (*link != client)
        link = &(*link)->next;
    *link = client->next;
    pthread_mutex_unlock(&broker->lock);
    free_client(client);
    pthread_mutex_lock(&broker->lock);
    broker->count--;
    pthread_cond_broadcast(&broker->left);
    pthread_mutex_unlock(&broker->lock);
}

static void *run(void *argument)
{
    struct brk_client *client = argument;

    while (serve(client))
        ;
    leave(client);
    return NULL;
}

/* The limits, with the lock held. */
static IOReturn check_room(const struct brk_broker *broker, const struct pr_broker_client *who,
                           struct base_error *error)
{
    unsigned of_task = 0, of_user = 0;

    for (const struct brk_client *client = broker->clients; client; client = client->next) {
        of_task += client->who.task == who->task;
        of_user += client->who.uid == who->uid;
    }
    if (broker->ending || broker->count >= PR_BROKER_CLIENTS)
        return brk_refuse(error, kIOReturnNoResources,
                          "The broker has %u connections, which is the limit, or is ending.", broker->count);
    if (of_task >= PR_BROKER_TASK)
        return brk_refuse(error, kIOReturnNoResources,
                          "Process %u has %u connections to the broker, which is the limit.", who->pid,
                          of_task);
    if (!who->own_user && of_user >= PR_BROKER_USER)
        return brk_refuse(error, kIOReturnNoResources,
                          "User %u has %u connections to the broker, which is the limit.", who->uid, of_user);
    return kIOReturnSuccess;
}

static struct brk_client *make_client(struct brk_broker *broker, const struct pr_broker_client *who,
                                      int socket)
{
    struct brk_client *client = base_alloc(sizeof(*client));
    const int unread = PR_BROKER_UNREAD / 2; /* the kernel doubles it */

    if (!client)
        return NULL;
    client->broker = broker;
    client->socket = socket;
    setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &unread, sizeof(unread));
    client->who = *who;
    client->who.team[sizeof(who->team) - 1] = client->who.executable[sizeof(who->executable) - 1] = '\0';
    client->tier = brk_admission_tier(who);
    brk_device_init(&client->device);
    client->party = brk_contention_join(&broker->contention, who->task);
    return client;
}

/* Into the list, with its thread. */
static IOReturn enter(struct brk_client *client, struct base_error *error)
{
    struct brk_broker *broker = client->broker;
    pthread_t thread;
    IOReturn status;

    pthread_mutex_lock(&broker->lock);
    status = check_room(broker, &client->who, error);
    if (!status && !client->party)
        status = brk_refuse(error, kIOReturnNoMemory, "The broker has no memory for a connection.");
    client->serial = ++broker->serial;
    if (!status && pthread_create(&thread, NULL, run, client))
        status = brk_refuse(error, kIOReturnNoResources, "The broker has no thread for a connection.");
    if (!status) {
        pthread_detach(thread);
        client->next = broker->clients;
        broker->clients = client;
        broker->count++;
    }
    pthread_mutex_unlock(&broker->lock);
    return status;
}

static void report_tier(struct brk_broker *broker, const struct pr_broker_client *who)
{
    struct base_error error;
    const struct pr_broker_tier_notice notice = {.task = who->task, .tier = brk_admission_tier(who)};
    const struct pr_service_header header = {.magic = PR_BROKER_MAGIC,
                                             .version = PR_SERVICE_VERSION,
                                             .type = PR_BROKER_NOTICE_TIER,
                                             .bytes = sizeof(notice)};

    if (!brk_admission_connect(who, &error))
        base_packet_send(broker->control, &header, sizeof(header), &notice, sizeof(notice), NULL, 0, 0);
}

void brk_client_start(struct brk_broker *broker, const struct pr_broker_client *who, int socket)
{
    const struct pr_service_header none = {0};
    struct brk_client *client = make_client(broker, who, socket);
    struct base_error error = {"The broker has no memory for a connection."};
    IOReturn status = client ? enter(client, &error) : kIOReturnNoMemory;

    if (!status) {
        report_tier(broker, who);
        eventfd_write(broker->wake, 1);
        return;
    }
    refuse(socket, &none, status, &error);
    if (client)
        free_client(client);
    else
        end_socket(socket);
}

void brk_client_stop_all(struct brk_broker *broker)
{
    pthread_mutex_lock(&broker->lock);
    broker->ending = true;
    for (struct brk_client *client = broker->clients; client; client = client->next)
        shutdown(client->socket, SHUT_RDWR);
    while (broker->count)
        pthread_cond_wait(&broker->left, &broker->lock);
    pthread_mutex_unlock(&broker->lock);
}
