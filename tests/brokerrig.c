/* SPDX-License-Identifier: Apache-2.0 */
#include "brokerrig.h"

#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/packet.h"
#include "broker/broker.h"
#include "broker/connection.h"
#include "compiler/compile.h"
#include "folder.h"

#define SERVICE_UID 0u
#define ORDERS      1024u
#define KEPT        16u
#define WIDTH       8u

struct order {
    struct pr_service_header header;
    union {
        struct pr_broker_order compile;
        struct pr_broker_order_find find;
        struct pr_broker_order_purge purge;
    } body;
};

/* Models that the compile service has made: its cache. */
struct kept {
    uint32_t uid;
    struct pr_broker_model about;
    struct cc_bundle bundle;
};

static struct {
    pthread_t thread;
    int control;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char name[ORDERS][PR_BROKER_NAME];
    unsigned orders;
    unsigned released; /* held orders that may be answered */
    struct kept kept[KEPT];
    unsigned models;
    int socket[2];
    pthread_t compiler[2];
} rig = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .socket = {-1, -1}};

/* ---- The compile service ---- */

static void answer(int socket, const struct order *order, IOReturn status, const void *body, size_t bytes,
                   const int *files, unsigned count)
{
    struct pr_service_header header = order->header;

    header.status = status;
    header.bytes = (uint32_t)bytes;
    base_packet_send(socket, &header, sizeof(header), body, bytes, files, count, 1);
}

static void refuse(int socket, const struct order *order, IOReturn status, const char *sentence)
{
    answer(socket, order, status, sentence, strlen(sentence) + 1, NULL, 0);
}

static int memory_of(const void *bytes, size_t size, bool sealed)
{
    int file = base_file_growing("brokerrig");

    assert_true(file >= 0);
    assert_int_equal(base_file_put(file, bytes, size), 0);
    if (sealed)
        assert_int_equal(base_file_seal(file, size), 0);
    return file;
}

static bool starts_with(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static void send_model(int socket, const struct order *order, const struct kept *kept, bool hit)
{
    const bool sealed =
        order->header.type != PR_COMPILE_COMPILE || !starts_with(order->body.compile.name, "open");
    const int file[2] = {memory_of(kept->bundle.main, kept->bundle.main_bytes, true),
                         memory_of(kept->bundle.weights, kept->bundle.weights_bytes, sealed)};
    struct pr_broker_model about = kept->about;

    about.hit = hit;
    answer(socket, order, 0, &about, sizeof(about), file, 2);
    base_packet_close(file, 2);
}

static struct kept *find_kept(uint32_t uid, const char *model)
{
    for (unsigned i = 0; i < rig.models; i++)
        if (rig.kept[i].uid == uid && !strcmp(rig.kept[i].about.model, model))
            return &rig.kept[i];
    return NULL;
}

static void compile(int socket, const struct order *order, int folder)
{
    struct cc_options options = {.cache = folder_path("cache")};
    struct cc_report report;
    struct cc_bundle bundle;
    struct base_error error;
    struct kept *kept;
    char path[512];

    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", folder, order->body.compile.name);
    if (cc_compile(path, &options, &bundle, &report, &error)) {
        refuse(socket, order, kIOReturnBadArgument, error.text);
        return;
    }
    pthread_mutex_lock(&rig.lock);
    kept = find_kept(order->body.compile.uid, report.key);
    if (kept) {
        cc_bundle_release(&bundle);
    } else if (rig.models < KEPT) {
        kept = &rig.kept[rig.models++];
        *kept = (struct kept){.uid = order->body.compile.uid, .bundle = bundle};
        memcpy(kept->about.model, report.key, sizeof(kept->about.model));
        kept->about.operations = report.operations;
        kept->about.descriptors = report.descriptors;
        kept->about.intermediate_bytes = report.intermediate_bytes;
    }
    send_model(socket, order, kept, report.hit);
    pthread_mutex_unlock(&rig.lock);
}

static void find(int socket, const struct order *order)
{
    const struct kept *kept;

    pthread_mutex_lock(&rig.lock);
    kept = find_kept(order->body.find.uid, order->body.find.model);
    if (order->body.find.uid == BROKERRIG_LIED_TO && rig.models)
        kept = &rig.kept[0];
    if (kept)
        send_model(socket, order, kept, true);
    else
        refuse(socket, order, kIOReturnNotFound, "The partition has no such model.");
    pthread_mutex_unlock(&rig.lock);
}

static void purge(int socket, const struct order *order)
{
    const struct pr_broker_order_purge *wish = &order->body.purge;
    struct pr_broker_purged purged = {0};

    pthread_mutex_lock(&rig.lock);
    for (unsigned i = 0; i < rig.models;) {
        struct kept *kept = &rig.kept[i];

        if ((wish->all || kept->uid == wish->uid) &&
            (!wish->model[0] || !strcmp(wish->model, kept->about.model))) {
            purged.models++;
            purged.bytes += kept->bundle.main_bytes;
            cc_bundle_release(&kept->bundle);
            *kept = rig.kept[--rig.models];
        } else {
            i++;
        }
    }
    pthread_mutex_unlock(&rig.lock);
    if (wish->model[0] && !purged.models)
        refuse(socket, order, kIOReturnNotFound, "The partition has no such model.");
    else
        answer(socket, order, 0, &purged, sizeof(purged), NULL, 0);
}

static void note_order(const char *name)
{
    pthread_mutex_lock(&rig.lock);
    assert_true(rig.orders < ORDERS);
    strcpy(rig.name[rig.orders++], name);
    pthread_cond_broadcast(&rig.changed);
    pthread_mutex_unlock(&rig.lock);
}

struct held {
    int socket, folder;
    struct order order;
};

static void *answer_held(void *argument)
{
    struct held *held = argument;

    pthread_mutex_lock(&rig.lock);
    while (!rig.released)
        pthread_cond_wait(&rig.changed, &rig.lock);
    rig.released--;
    pthread_cond_broadcast(&rig.changed);
    pthread_mutex_unlock(&rig.lock);
    if (starts_with(held->order.body.compile.name, "hold_abort"))
        refuse(held->socket, &held->order, kIOReturnAborted, "The compiler ended by signal 11.");
    else
        compile(held->socket, &held->order, held->folder);
    close(held->folder);
    close(held->socket);
    free(held);
    return NULL;
}

static void hold(int socket, const struct order *order, int folder)
{
    struct held *held = malloc(sizeof(*held));
    pthread_t thread;

    *held = (struct held){dup(socket), folder, *order};
    pthread_create(&thread, NULL, answer_held, held);
    pthread_detach(thread);
}

static void *serve(void *argument)
{
    int socket = rig.socket[(size_t)argument], folder;
    struct order order;
    unsigned count;

    while (base_packet_receive(socket, &order, sizeof(order), &folder, 1, &count) > 0) {
        if (order.header.type == PR_COMPILE_FIND) {
            find(socket, &order);
        } else if (order.header.type == PR_COMPILE_PURGE) {
            purge(socket, &order);
        } else {
            const char *name = order.body.compile.name;

            note_order(name);
            if (starts_with(name, "hold")) {
                hold(socket, &order, folder);
                continue;
            }
            if (starts_with(name, "crash"))
                shutdown(socket, SHUT_RDWR);
            else if (starts_with(name, "abort"))
                refuse(socket, &order, kIOReturnAborted, "The compiler ended by signal 11.");
            else
                compile(socket, &order, folder);
            close(folder);
        }
    }
    return NULL;
}

static void notify(uint32_t type, const void *body, size_t bytes, int descriptor)
{
    const struct pr_service_header header = {.magic = PR_BROKER_MAGIC,
                                             .version = PR_SERVICE_VERSION,
                                             .type = (uint16_t)type,
                                             .bytes = (uint32_t)bytes};

    assert_int_equal(
        base_packet_send(rig.control, &header, sizeof(header), body, bytes, &descriptor, descriptor >= 0, 1),
        0);
    base_packet_close(&descriptor, 1);
}

void brokerrig_compiler(unsigned number)
{
    const struct pr_broker_compiler about = {.number = number, .pid = 1};
    int pair[2];

    brokerrig_compiler_end(number);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    rig.socket[number] = pair[0];
    assert_int_equal(pthread_create(&rig.compiler[number], NULL, serve, (void *)(size_t)number), 0);
    notify(PR_BROKER_NOTICE_COMPILER, &about, sizeof(about), pair[1]);
}

void brokerrig_compiler_end(unsigned number)
{
    if (rig.socket[number] < 0)
        return;
    shutdown(rig.socket[number], SHUT_RDWR);
    pthread_join(rig.compiler[number], NULL);
    close(rig.socket[number]);
    rig.socket[number] = -1;
}

void brokerrig_release(void)
{
    pthread_mutex_lock(&rig.lock);
    rig.released++;
    pthread_cond_broadcast(&rig.changed);
    while (rig.released)
        pthread_cond_wait(&rig.changed, &rig.lock);
    pthread_mutex_unlock(&rig.lock);
}

const char *brokerrig_order(unsigned number)
{
    pthread_mutex_lock(&rig.lock);
    while (rig.orders <= number)
        pthread_cond_wait(&rig.changed, &rig.lock);
    pthread_mutex_unlock(&rig.lock);
    return rig.name[number];
}

unsigned brokerrig_orders(void)
{
    unsigned orders;

    pthread_mutex_lock(&rig.lock);
    orders = rig.orders;
    pthread_mutex_unlock(&rig.lock);
    return orders;
}

/* ---- The broker ---- */

static void *run_broker(void *argument)
{
    brk_broker_run((int)(size_t)argument, -1);
    return NULL;
}

void brokerrig_start(void)
{
    int pair[2];

    folder_name(); /* before there are threads */
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    rig.control = pair[0];
    assert_int_equal(pthread_create(&rig.thread, NULL, run_broker, (void *)(size_t)pair[1]), 0);
    brokerrig_compiler(0);
    brokerrig_compiler(1);
}

void brokerrig_stop(void)
{
    struct ane_machine *machine;

    close(rig.control);
    pthread_join(rig.thread, NULL);
    brokerrig_compiler_end(0);
    brokerrig_compiler_end(1);
    while (rig.models)
        cc_bundle_release(&rig.kept[--rig.models].bundle);
    assert_int_equal(ane_machine_default(NULL, &machine), 0);
    assert_int_equal(ane_machine_clients(machine, NULL, 0), 0);
}

static const char *const keys[PR_ENTITLEMENT_COUNT] = {
#define X(id, key, capability, holders, kind) [PR_ENTITLEMENT_##id] = key,
    PR_ENTITLEMENTS(X)
#undef X
};

/* As the service makes one for the broker: opens, sets hints, and loads raw images if the client may. */
static ane_task_t make_task(const struct brokerrig_who *who)
{
    const char *const held[3] = {keys[PR_ENTITLEMENT_OPEN], keys[PR_ENTITLEMENT_SET_HINTS],
                                 keys[PR_ENTITLEMENT_RAW_IMAGES]};
    uint8_t hash[20];

    memset(hash, who->hash, sizeof(hash));
    return ane_task_create(held, who->keys & PR_ENTITLEMENT_BIT(RAW_IMAGES) ? 3 : 2, who->team,
                           who->hash ? hash : NULL);
}

int brokerrig_socket(struct brokerrig_who *who)
{
    struct pr_broker_client client = {.pid = who->pid ? who->pid : 100,
                                      .uid = who->uid,
                                      .entitlements = who->keys,
                                      .own_user = who->uid == SERVICE_UID,
                                      .has_signature = who->hash != 0,
                                      .executable = "/usr/bin/camera"};
    int pair[2];

    if (!who->task)
        who->task = make_task(who);
    assert_int_not_equal(who->task, 0);
    client.task = who->task;
    memset(client.cdhash, who->hash, sizeof(client.cdhash));
    snprintf(client.team, sizeof(client.team), "%s", who->team ? who->team : "");
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    notify(PR_BROKER_NOTICE_CLIENT, &client, sizeof(client), pair[1]);
    return pair[0];
}

struct ane_broker *brokerrig_connect(struct brokerrig_who *who)
{
    struct ane_broker *broker = NULL;
    IOReturn status = brk_connection_adopt(brokerrig_socket(who), &broker);

    if (status)
        fail_msg("0x%x: %s", (unsigned)status, ane_machine_error());
    return broker;
}

struct ane_broker *brokerrig_connect_with(uint32_t held)
{
    struct brokerrig_who who = {.keys = held};

    return brokerrig_connect(&who);
}

void brokerrig_active(ane_task_t task)
{
    const struct pr_broker_active_notice notice = {.task = task};

    notify(PR_BROKER_NOTICE_ACTIVE, &notice, sizeof(notice), -1);
}

struct pr_broker_tier_notice brokerrig_tier(void)
{
    struct {
        struct pr_service_header header;
        struct pr_broker_tier_notice notice;
    } message;
    unsigned count;

    assert_int_equal(base_packet_receive(rig.control, &message, sizeof(message), NULL, 0, &count),
                     sizeof(message));
    assert_int_equal(message.header.type, PR_BROKER_NOTICE_TIER);
    return message.notice;
}

/* ---- Models ---- */

static void write_weights(const char *name, double w)
{
    uint8_t file[128 + 2] = {1, 0, 0, 0, 2};
    const uint32_t magic = 0xdeadbeef, type = 1;
    const uint64_t bytes = 2, offset = 128;
    const uint16_t half = test_half_from_double(w);

    memcpy(file + 64, &magic, 4);
    memcpy(file + 68, &type, 4);
    memcpy(file + 72, &bytes, 8);
    memcpy(file + 80, &offset, 8);
    memcpy(file + 128, &half, 2);
    folder_write(name, file, sizeof(file));
}

const char *brokerrig_model(const char *name, double w)
{
    char text[2048], file[64], weights[64];
    int length;

    snprintf(file, sizeof(file), "%s.mil", name);
    snprintf(weights, sizeof(weights), "%s.bin", name);
    write_weights(weights, w);
    length = snprintf(
        text, sizeof(text),
        "program(1.3)\n{\n    func main<ios18>(tensor<fp16, [1, 1, 1, %u]> x) {\n"
        "tensor<fp16, [1, 1, 1, 1]> W = const()[name = string(\"W\"), val = tensor<fp16, [1, 1, 1, 1]>("
        "BLOBFILE(path = string(\"@model_path/%s\"), offset = uint64(64)))];\n"
        "string pt = const()[name = string(\"pt\"), val = string(\"valid\")];\n"
        "tensor<int32, [4]> pad = const()[name = string(\"pad\"), val = tensor<int32, [4]>([0, 0, 0, 0])];\n"
        "tensor<int32, [2]> st = const()[name = string(\"st\"), val = tensor<int32, [2]>([1, 1])];\n"
        "int32 gr = const()[name = string(\"gr\"), val = int32(1)];\n"
        "tensor<fp16, [1, 1, 1, %u]> y = conv(dilations = st, groups = gr, pad = pad, pad_type = pt, "
        "strides = st, weight = W, x = x)[name = string(\"conv\")];\n    } -> (y);\n}\n",
        WIDTH, weights, WIDTH);
    folder_write(file, text, (size_t)length);
    return folder_path(file);
}

uint8_t *brokerrig_weights(double w, size_t *size)
{
    struct cc_options options = {.cache = folder_path("cache")};
    struct cc_report report;
    struct cc_bundle bundle;
    struct base_error error;
    uint8_t *bytes;

    if (cc_compile(brokerrig_model("adapter", w), &options, &bundle, &report, &error))
        fail_msg("%s", error.text);
    *size = bundle.weights_bytes;
    bytes = malloc(*size);
    memcpy(bytes, bundle.weights, *size);
    cc_bundle_release(&bundle);
    return bytes;
}

const char *brokerrig_compile(struct ane_broker *broker, const char *path)
{
    static char key[ANE_BROKER_MODEL];
    const struct ane_broker_compile compile = {.size = sizeof(compile), .path = path};
    struct ane_broker_model model = {.size = sizeof(model)};
    IOReturn status = ane_broker_compile(broker, &compile, &model);

    if (status)
        fail_msg("0x%x: %s", (unsigned)status, ane_machine_error());
    close(model.main);
    memcpy(key, model.model, sizeof(key));
    return key;
}

IOReturn brokerrig_run(struct ane_broker *broker, ane_task_t task, uint64_t instance, double *value)
{
    struct ane_request request = {.priority = ANE_REQUEST_PRIORITY, .inputs = 1, .outputs = 1};
    struct ane_request_reply reply;
    uint16_t *half;
    IOReturn status;

    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(ane_surface_create(task, 0x4000, &request.surface[i]), 0);
    half = ane_surface_base(request.surface[0]);
    for (unsigned i = 0; i < WIDTH; i++)
        half[i] = test_half_from_double(3);
    status = ane_broker_submit(broker, instance, &request, &reply);
    half = ane_surface_base(request.surface[1]);
    *value = test_half_to_double(half[0]);
    for (unsigned i = 1; i < WIDTH && !status; i++)
        assert_int_equal(half[i], half[0]);
    for (unsigned i = 0; i < 2; i++)
        ane_surface_release(request.surface[i]);
    return status;
}
