/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of anemone/broker.h that have arguments of their own: models, instances and requests. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "broker/connection.h"
#include "protocol/bits.h"
#include "protocol/broker.h"

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
    struct pr_broker_model about = {0};
    int file = -1;
    struct brk_connection_call call = {.method = PR_BROKER_COMPILE,
                                       .in = &arguments,
                                       .in_bytes = sizeof(arguments),
                                       .out = &about,
                                       .out_bytes = sizeof(about),
                                       .returned = &file};
    IOReturn result;

    brk_connection_begin();
    if (!compile || compile->size != sizeof(*compile) || !model || model->size != sizeof(*model) ||
        !compile->path || compile->force > 1 || compile->longer > 1 || compile->look > 1)
        return brk_connection_bad(
            "Broker compile: a struct or the path is NULL, a size is another, or force, "
            "longer or look is neither 0 nor 1.");
    arguments.qos = compile->qos;
    arguments.flags = (compile->force ? PR_BROKER_COMPILE_FORCE : 0u) |
                      (compile->longer ? PR_BROKER_COMPILE_LONG : 0u) |
                      (compile->look ? PR_BROKER_COMPILE_LOOK : 0u);
    call.sent = open_folder(compile->path, arguments.name, sizeof(arguments.name));
    if (call.sent < 0)
        return kIOReturnBadArgument;
    result = brk_connection_run(broker, &call);
    close(call.sent);
    if (!result)
        copy_model(&about, file, model);
    return result;
}

IOReturn ane_broker_purge(struct ane_broker *broker, const char *model, int all_partitions, uint32_t *models,
                          uint64_t *bytes)
{
    struct pr_broker_purge arguments = {0};
    struct pr_broker_purged purged = {0};
    const struct brk_connection_call call = {.method = all_partitions ? PR_BROKER_PURGE_ALL : PR_BROKER_PURGE,
                                             .in = &arguments,
                                             .in_bytes = sizeof(arguments),
                                             .sent = -1,
                                             .out = &purged,
                                             .out_bytes = sizeof(purged)};
    IOReturn result;

    brk_connection_begin();
    if (model && (!model[0] || strlen(model) >= sizeof(arguments.model)))
        return brk_connection_bad("Broker purge: a model is named by its identifier, all of them by NULL.");
    if (model)
        memcpy(arguments.model, model, strlen(model) + 1);
    result = brk_connection_run(broker, &call);
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
        return brk_connection_bad("Broker: the arguments are NULL, or their size is another.");
    for (unsigned i = 0; i < sizeof(flag) / sizeof(flag[0]); i++) {
        if (flag[i] > 1)
            return brk_connection_bad("Broker: a switch of the arguments is neither 0 nor 1.");
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
        return brk_connection_bad("Broker: a text of the arguments is too long for its field.");
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
    struct pr_broker_instance about = {0};
    const struct brk_connection_call call = {.method = method,
                                             .in = in,
                                             .in_bytes = bytes,
                                             .sent = sent,
                                             .out = &about,
                                             .out_bytes = sizeof(about)};
    IOReturn result;

    if (!instance || instance->size != sizeof(*instance))
        return brk_connection_bad("Broker: the instance is NULL, or its size is another.");
    result = brk_connection_run(broker, &call);
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

    brk_connection_begin();
    result = pack(arguments, &load);
    if (result)
        return result;
    if (!arguments->model == !arguments->image)
        return brk_connection_bad("Broker load: name a model or an image, and not both.");
    return arguments->image ? load_image(broker, arguments->image, &load, instance)
                            : make(broker, PR_BROKER_LOAD, &load, sizeof(load), -1, instance);
}

IOReturn ane_broker_create_instance(struct ane_broker *broker, const struct ane_broker_arguments *arguments,
                                    struct ane_broker_instance *instance)
{
    struct pr_broker_load load;
    IOReturn result;

    brk_connection_begin();
    result = pack(arguments, &load);
    return result ? result : make(broker, PR_BROKER_CREATE_INSTANCE, &load, sizeof(load), -1, instance);
}

/* The records of the files, and how many bytes they have in the memory file. */
static IOReturn place_files(const struct ane_broker_weights *files, uint32_t count,
                            struct pr_broker_adapter *adapter, uint64_t *bytes)
{
    *bytes = 0;
    if (!files || !count || count > PR_BROKER_FILES)
        return brk_connection_bad("Broker: an adapter has 1 to 64 weight files.");
    adapter->files = count;
    for (uint32_t i = 0; i < count; i++) {
        if (!files[i].bytes || !files[i].size || files[i].size > PR_BROKER_IMAGE_BYTES - *bytes)
            return brk_connection_bad(
                "Broker: a weight file is NULL or empty, or they are too long together.");
        adapter->file[i] = (struct pr_broker_file){files[i].target, *bytes, files[i].size};
        *bytes += pr_round_up(files[i].size, PR_BROKER_FILE_ALIGN);
        if (*bytes > PR_BROKER_IMAGE_BYTES)
            return brk_connection_bad("Broker: the weight files are too long together.");
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

    brk_connection_begin();
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
    const struct brk_connection_call call = {
        .method = PR_BROKER_RELEASE, .in = &handle, .in_bytes = sizeof(handle), .sent = -1};

    return brk_connection_run(broker, &call);
}

IOReturn ane_broker_submit(struct ane_broker *broker, uint64_t instance, const struct ane_request *request,
                           struct ane_request_reply *reply)
{
    struct pr_broker_submit submit = {.instance = instance, .doorbell = ANE_REQUEST_DOORBELL};
    const struct brk_connection_call call = {.method = PR_BROKER_SUBMIT,
                                             .in = &submit,
                                             .in_bytes = sizeof(submit),
                                             .sent = -1,
                                             .out = reply,
                                             .out_bytes = sizeof(*reply),
                                             .always = true};

    brk_connection_begin();
    if (!request || !reply)
        return brk_connection_bad("Broker submit: the request or the place of its reply is NULL.");
    memcpy(submit.request, request, sizeof(*request));
    return brk_connection_run(broker, &call);
}
