/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call at a time: a message, then its reply. A connection on which something else came, or none, is dead:
 * later calls fail, and the application makes a new one.
 */
#include "broker/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/packet.h"
#include "protocol/bits.h"
#include "protocol/broker.h"
#include "service/client.h"

#define FILE_ALIGN 64u /* of weight files in the memory file */

struct ane_broker {
    pthread_mutex_t lock;
    int socket;
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

/* Clears the thread's sentence: one that is there afterwards is of this call. */
static struct base_error *begin(void)
{
    struct base_error *error = base_error_of_thread();

    error->text[0] = '\0';
    return error;
}

static IOReturn bad_argument(const char *sentence)
{
    base_fail(base_error_of_thread(), EINVAL, "%s", sentence);
    return kIOReturnBadArgument;
}

/* ---- Calls ---- */

struct call {
    uint32_t method;
    const void *in;
    size_t in_bytes;
    int sent; /* descriptor of the request; -1: none */
    void *out;
    size_t out_bytes;
    int *returned; /* descriptor of the reply; NULL: none */
    bool always;   /* the body comes with a failure too */
};

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

static bool is_reply(const struct ane_broker *broker, const struct call *call, const struct reply *reply,
                     long size)
{
    return (size_t)size >= sizeof(reply->header) && reply->header.magic == PR_BROKER_MAGIC &&
           reply->header.bytes == (size_t)size - sizeof(reply->header) &&
           ((reply->header.type == call->method && reply->header.serial == broker->serial) ||
            (reply->header.type == 0 && reply->header.status));
}

/* A refusal: the sentence is behind the body where the method always has one. */
static IOReturn take_refusal(struct ane_broker *broker, const struct call *call, struct reply *reply)
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

static IOReturn receive(struct ane_broker *broker, const struct call *call)
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

static IOReturn exchange(struct ane_broker *broker, const struct call *call)
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

static IOReturn run(struct ane_broker *broker, const struct call *call)
{
    IOReturn result;

    begin();
    if (!broker)
        return bad_argument("There is no connection to the broker: it is NULL.");
    pthread_mutex_lock(&broker->lock);
    result = exchange(broker, call);
    pthread_mutex_unlock(&broker->lock);
    return result;
}

/* ---- Connections ---- */

static IOReturn ask_info(struct ane_broker *broker, struct pr_broker_info *info)
{
    const struct call call = {.method = PR_BROKER_INFO, .sent = -1, .out = info, .out_bytes = sizeof(*info)};

    return run(broker, &call);
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
    struct base_error *error = begin();
    int socket;

    if (!broker)
        return bad_argument("Broker connect: no place for the connection was given.");
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
    struct pr_broker_info about;
    IOReturn result;

    begin();
    if (!info || info->size != sizeof(*info))
        return bad_argument("Broker info: the struct is NULL, or its size is another.");
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

/* ---- Models ---- */

/* The folder of a path, opened, and the name in it. -1: the sentence says why. */
static int open_folder(const char *path, char *name, size_t size)
{
    char folder[4096];
    size_t length = strlen(path);
    const char *last;
    int descriptor;

    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length >= sizeof(folder)) {
        base_fail(base_error_of_thread(), EINVAL, "A path has %zu characters; the limit is %zu.", length,
                  sizeof(folder) - 1);
        return -1;
    }
    memcpy(folder, path, length);
    folder[length] = '\0';
    last = strrchr(folder, '/');
    if ((size_t)snprintf(name, size, "%s", last ? last + 1 : folder) >= size || !name[0]) {
        base_fail(base_error_of_thread(), EINVAL, "A model's file has a name of 1 to %zu characters.",
                  size - 1);
        return -1;
    }
    if (!last)
        strcpy(folder, ".");
    else
        folder[last == folder ? 1 : last - folder] = '\0';
    descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        base_fail(base_error_of_thread(), errno, "The folder %s cannot be opened: %s.", folder,
                  strerror(errno));
    return descriptor;
}

static void copy_model(const struct pr_broker_model *from, int file, struct ane_broker_model *to)
{
    *to = (struct ane_broker_model){.size = sizeof(*to),
                                    .hit = from->hit,
                                    .compile_ns = from->compile_ns,
                                    .operations = from->operations,
                                    .descriptors = from->descriptors,
                                    .main_bytes = from->main_bytes,
                                    .weights_bytes = from->weights_bytes,
                                    .intermediate_bytes = from->intermediate_bytes,
                                    .main = file};
    snprintf(to->model, sizeof(to->model), "%.*s", (int)sizeof(from->model) - 1, from->model);
    snprintf(to->trouble, sizeof(to->trouble), "%.*s", (int)sizeof(from->trouble) - 1, from->trouble);
}
_Static_assert(ANE_BROKER_MODEL == PR_BROKER_KEY, "one size");

IOReturn ane_broker_compile(struct ane_broker *broker, const struct ane_broker_compile *compile,
                            struct ane_broker_model *model)
{
    struct pr_broker_compile arguments = {0};
    struct pr_broker_model about;
    int file = -1;
    struct call call = {.method = PR_BROKER_COMPILE,
                        .in = &arguments,
                        .in_bytes = sizeof(arguments),
                        .out = &about,
                        .out_bytes = sizeof(about),
                        .returned = &file};
    IOReturn result;

    begin();
    if (!compile || compile->size != sizeof(*compile) || !model || model->size != sizeof(*model) ||
        !compile->path || compile->force > 1 || compile->longer > 1 || compile->look > 1)
        return bad_argument("Broker compile: a struct or the path is NULL, a size is another, or force, "
                            "longer or look is neither 0 nor 1.");
    arguments.qos = compile->qos;
    arguments.flags = (compile->force ? PR_BROKER_COMPILE_FORCE : 0u) |
                      (compile->longer ? PR_BROKER_COMPILE_LONG : 0u) |
                      (compile->look ? PR_BROKER_COMPILE_LOOK : 0u);
    call.sent = open_folder(compile->path, arguments.name, sizeof(arguments.name));
    if (call.sent < 0)
        return kIOReturnBadArgument;
    result = run(broker, &call);
    close(call.sent);
    if (!result)
        copy_model(&about, file, model);
    return result;
}

IOReturn ane_broker_purge(struct ane_broker *broker, const char *model, int all_partitions, uint32_t *models,
                          uint64_t *bytes)
{
    struct pr_broker_purge arguments = {0};
    struct pr_broker_purged purged;
    const struct call call = {.method = all_partitions ? PR_BROKER_PURGE_ALL : PR_BROKER_PURGE,
                              .in = &arguments,
                              .in_bytes = sizeof(arguments),
                              .sent = -1,
                              .out = &purged,
                              .out_bytes = sizeof(purged)};
    IOReturn result;

    begin();
    if (model && (!model[0] || strlen(model) >= sizeof(arguments.model)))
        return bad_argument("Broker purge: a model is named by its identifier, all of them by NULL.");
    if (model)
        memcpy(arguments.model, model, strlen(model) + 1);
    result = run(broker, &call);
    if (!result && models)
        *models = purged.models;
    if (!result && bytes)
        *bytes = purged.bytes;
    return result;
}

/* ---- Instances ---- */

static bool put_text(char *to, size_t size, const char *from)
{
    return !from || (size_t)snprintf(to, size, "%s", from) < size;
}

static IOReturn pack(const struct ane_broker_arguments *a, struct pr_broker_load *load)
{
    const uint32_t flag[] = {a ? a->power_saving : 0, a ? a->aggressive : 0, a ? a->skip_prepare : 0,
                             a ? a->late_latch : 0,   a ? a->keep_wired : 0, a ? a->share : 0};
    const uint32_t bit[] = {PR_BROKER_POWER_SAVING, PR_BROKER_AGGRESSIVE_POWER_SAVING,
                            PR_BROKER_SKIP_PREPARE, PR_BROKER_LATE_LATCH,
                            PR_BROKER_KEEP_WIRED,   PR_BROKER_SHARE};

    memset(load, 0, sizeof(*load));
    if (!a || a->size != sizeof(*a))
        return bad_argument("Broker: the arguments are NULL, or their size is another.");
    for (unsigned i = 0; i < sizeof(flag) / sizeof(flag[0]); i++) {
        if (flag[i] > 1)
            return bad_argument("Broker: a switch of the arguments is neither 0 nor 1.");
        load->flags |= flag[i] ? bit[i] : 0;
    }
    load->token = a->token;
    load->qos = a->qos;
    load->stats_mask = a->stats_mask;
    load->memory_pool = a->memory_pool;
    load->owner = a->owner;
    load->queue_depth = a->queue_depth;
    if (!put_text(load->model, sizeof(load->model), a->model) ||
        !put_text(load->identity, sizeof(load->identity), a->identity) ||
        !put_text(load->cache_id[0], sizeof(load->cache_id[0]), a->cache_id[0]) ||
        !put_text(load->cache_id[1], sizeof(load->cache_id[1]), a->cache_id[1]) ||
        !put_text(load->name, sizeof(load->name), a->name))
        return bad_argument("Broker: a text of the arguments is too long for its field.");
    return kIOReturnSuccess;
}

static void copy_instance(const struct pr_broker_instance *from, struct ane_broker_instance *to)
{
    *to = (struct ane_broker_instance){.size = sizeof(*to),
                                       .instance = from->instance,
                                       .program = from->program,
                                       .intermediate = from->intermediate,
                                       .token = from->token,
                                       .inputs = from->inputs,
                                       .outputs = from->outputs,
                                       .intermediates = from->intermediates,
                                       .procedures = from->procedures,
                                       .intermediate_bytes = from->intermediate_bytes,
                                       .qos = from->qos,
                                       .priority = from->priority,
                                       .queue_index = from->queue_index,
                                       .queue_depth = from->queue_depth,
                                       .shared = from->shared};
}

/* A call that makes an instance. */
static IOReturn make(struct ane_broker *broker, uint32_t method, const void *in, size_t bytes, int sent,
                     struct ane_broker_instance *instance)
{
    struct pr_broker_instance about;
    const struct call call = {.method = method,
                              .in = in,
                              .in_bytes = bytes,
                              .sent = sent,
                              .out = &about,
                              .out_bytes = sizeof(about)};
    IOReturn result;

    if (!instance || instance->size != sizeof(*instance))
        return bad_argument("Broker: the instance is NULL, or its size is another.");
    result = run(broker, &call);
    if (!result)
        copy_instance(&about, instance);
    return result;
}

/* A memory file of `bytes`, mapped; -1 with a sentence. */
static int memory_file(uint64_t bytes, uint8_t **to)
{
    int file = base_file_memory("anemone-broker", bytes);
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (mapped != MAP_FAILED) {
        *to = mapped;
        return file;
    }
    if (file >= 0)
        close(file);
    base_fail(base_error_of_thread(), ENOMEM, "No memory for %llu bytes that go to the broker.",
              (unsigned long long)bytes);
    return -1;
}

/* The image in a memory file: the broker reads no other. */
static int image_file(const char *path)
{
    uint8_t *bytes, *to;
    size_t size;
    int file;

    if (base_file_read(path, PR_BROKER_IMAGE_BYTES, &bytes, &size, base_error_of_thread()))
        return -1;
    file = memory_file(size, &to);
    if (file >= 0) {
        memcpy(to, bytes, size);
        munmap(to, size);
    }
    base_free(bytes);
    return file;
}

static IOReturn load_image(struct ane_broker *broker, const char *path, struct pr_broker_load *load,
                           struct ane_broker_instance *instance)
{
    int file = image_file(path);
    IOReturn result;

    if (file < 0)
        return kIOReturnBadArgument;
    load->flags |= PR_BROKER_PRECOMPILED;
    result = make(broker, PR_BROKER_LOAD_IMAGE, load, sizeof(*load), file, instance);
    close(file);
    return result;
}

IOReturn ane_broker_load(struct ane_broker *broker, const struct ane_broker_arguments *arguments,
                         struct ane_broker_instance *instance)
{
    struct pr_broker_load load;
    IOReturn result;

    begin();
    result = pack(arguments, &load);
    if (result)
        return result;
    if (!arguments->model == !arguments->image)
        return bad_argument("Broker load: name a model or an image, and not both.");
    return arguments->image ? load_image(broker, arguments->image, &load, instance)
                            : make(broker, PR_BROKER_LOAD, &load, sizeof(load), -1, instance);
}

IOReturn ane_broker_create_instance(struct ane_broker *broker, const struct ane_broker_arguments *arguments,
                                    struct ane_broker_instance *instance)
{
    struct pr_broker_load load;
    IOReturn result;

    begin();
    result = pack(arguments, &load);
    return result ? result : make(broker, PR_BROKER_CREATE_INSTANCE, &load, sizeof(load), -1, instance);
}

/* The records of the files, and how many bytes they have in the memory file. */
static IOReturn place_files(const struct ane_broker_weights *files, uint32_t count,
                            struct pr_broker_adapter *adapter, uint64_t *bytes)
{
    *bytes = 0;
    if (!files || !count || count > PR_BROKER_FILES)
        return bad_argument("Broker: an adapter has 1 to 64 weight files.");
    adapter->files = count;
    for (uint32_t i = 0; i < count; i++) {
        if (!files[i].bytes || !files[i].size || files[i].size > PR_BROKER_IMAGE_BYTES - *bytes)
            return bad_argument("Broker: a weight file is NULL or empty, or they are too long together.");
        adapter->file[i] = (struct pr_broker_file){files[i].target, *bytes, files[i].size};
        *bytes += pr_round_up(files[i].size, FILE_ALIGN);
        if (*bytes > PR_BROKER_IMAGE_BYTES)
            return bad_argument("Broker: the weight files are too long together.");
    }
    return kIOReturnSuccess;
}

IOReturn ane_broker_create_instance_with_weights(struct ane_broker *broker,
                                                 const struct ane_broker_arguments *arguments,
                                                 const struct ane_broker_weights *files, uint32_t count,
                                                 struct ane_broker_instance *instance)
{
    struct pr_broker_adapter adapter = {0};
    uint64_t bytes = 0;
    uint8_t *to;
    IOReturn result;
    int file;

    begin();
    result = pack(arguments, &adapter.load);
    if (!result)
        result = place_files(files, count, &adapter, &bytes);
    if (result)
        return result;
    file = memory_file(bytes, &to);
    if (file < 0)
        return kIOReturnNoMemory;
    for (uint32_t i = 0; i < count; i++)
        memcpy(to + adapter.file[i].offset, files[i].bytes, files[i].size);
    munmap(to, bytes);
    result = make(broker, PR_BROKER_CREATE_INSTANCE_WITH_WEIGHTS, &adapter, sizeof(adapter), file, instance);
    close(file);
    return result;
}

IOReturn ane_broker_release(struct ane_broker *broker, uint64_t instance)
{
    const struct pr_broker_handle handle = {instance};
    const struct call call = {
        .method = PR_BROKER_RELEASE, .in = &handle, .in_bytes = sizeof(handle), .sent = -1};

    return run(broker, &call);
}

IOReturn ane_broker_submit(struct ane_broker *broker, uint64_t instance, const struct ane_request *request,
                           struct ane_request_reply *reply)
{
    struct pr_broker_submit submit = {.instance = instance, .doorbell = ANE_REQUEST_DOORBELL};
    const struct call call = {.method = PR_BROKER_SUBMIT,
                              .in = &submit,
                              .in_bytes = sizeof(submit),
                              .sent = -1,
                              .out = reply,
                              .out_bytes = sizeof(*reply),
                              .always = true};

    begin();
    if (!request || !reply)
        return bad_argument("Broker submit: the request or the place of its reply is NULL.");
    memcpy(submit.request, request, sizeof(*request));
    return run(broker, &call);
}
