/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's one connection to the driver. Once open it stays open, so requests need no lock. Whether a
 * served process may have one is decided once: an open that the policy refuses is not tried again.
 */
#include "runtime/device.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "protocol/bits.h"
#include "protocol/timing.h"
#include "runtime/brokered.h"

/* Protects the connection, which is 0 while there is none, its session, and its users. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static io_connect_t connection;
static struct ane_machine *machine; /* the default one, which lives as long as the process */
static uint64_t session;
static unsigned users;
static bool refused; /* the service does not let this process have a connection of its own */
static pthread_once_t fork_watch = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    pthread_mutex_lock(&open_lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&open_lock);
}

static void in_child(void)
{
    connection = 0;
    users = 0;
    refused = false;
    pthread_mutex_unlock(&open_lock);
}

/* Later than the machine's own handlers, so that this lock is taken before theirs, as in open_now. */
static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

/* Device open is selector 0 of both types. */
static int64_t open_now(uint32_t type)
{
    struct ane_device_info info = {
        .token = ANE_USAGE_STANDARD, .callback = ANE_DEVICE_INFO_BOARD, .timeout = ANE_TIMEOUT_MS};
    size_t size = sizeof(info);
    io_service_t service = IOServiceGetMatchingService(0, IOServiceMatching("H11ANEIn"));
    io_connect_t connect;
    IOReturn result;

    if (!service)
        return e5_fail_driver(kIOReturnNoDevice, "The neural engine is not there");
    result = IOServiceOpen(service, 0, type, &connect);
    refused = type == ANE_CLIENT_DIRECT_PATH && result == kIOReturnUnsupported;
    if (refused)
        return E5RT_OK;
    if (result)
        return e5_fail_driver(result, "The neural engine could not be opened");
    result = IOConnectCallMethod(connect, ANE_CONTROL_DeviceOpen, NULL, 0, &info, sizeof(info), NULL, NULL,
                                 &info, &size);
    if (result) {
        int64_t status = e5_fail_driver(result, "The neural engine could not be opened");

        IOServiceClose(connect);
        return status;
    }
    if (type == ANE_CLIENT_CONTROL)
        ane_machine_default(NULL, &machine);
    connection = connect;
    session = info.token;
    return E5RT_OK;
}

/*
 * Another user of the connection, which is opened for the first: a program without a token yet. In a served
 * process that is refused one the program has connection 0.
 */
static int64_t take_connection(struct e5_loaded *opened, bool served)
{
    int64_t status = E5RT_OK;

    pthread_once(&fork_watch, watch_forks);
    pthread_mutex_lock(&open_lock);
    if (!connection && !refused)
        status = open_now(served ? ANE_CLIENT_DIRECT_PATH : ANE_CLIENT_CONTROL);
    *opened = (struct e5_loaded){.connection = connection,
                                 .machine = machine,
                                 .session = session,
                                 .qos = ANE_REQUEST_QOS,
                                 .priority = ANE_REQUEST_PRIORITY};
    users += !status && connection;
    pthread_mutex_unlock(&open_lock);
    return status;
}

/* The last user closes it. In a forked child the connection of the parent is another one. */
static void give_connection(io_connect_t connect)
{
    if (!connect)
        return;
    pthread_mutex_lock(&open_lock);
    if (connect == connection && --users == 0) {
        IOServiceClose(connection);
        connection = 0;
    }
    pthread_mutex_unlock(&open_lock);
}

static IOReturn call(io_connect_t connect, uint32_t selector, const void *in, size_t size)
{
    return IOConnectCallMethod(connect, selector, NULL, 0, in, size, NULL, NULL, NULL, NULL);
}

/* Weights that are in a file are read from there by the driver; the surface has all the rest. */
static bool has_weights_apart(const struct e5_image *image)
{
    return image->representation == ANE_PROGRAM_RT && image->bundle->weights_file &&
           !image->bundle->weights && image->bundle->weights_bytes;
}

/* Offset of a bundle's constants behind ANE_PROGRAM_IMAGE. */
static size_t weights_at(const struct e5_image *image)
{
    return (size_t)pr_round_up(sizeof(struct ane_program_bundle) + image->size, ANE_PROGRAM_BUNDLE_ALIGN);
}

static size_t image_bytes(const struct e5_image *image)
{
    if (image->representation != ANE_PROGRAM_RT)
        return image->size;
    return has_weights_apart(image) ? sizeof(struct ane_program_bundle) + image->size
                                    : weights_at(image) + image->bundle->weights_bytes;
}

static size_t signature_at(const struct e5_image *image)
{
    return (image_bytes(image) + 7) / 8 * 8;
}

static size_t payload_bytes(const struct e5_image *image)
{
    return image->bundle->is_signed ? signature_at(image) + sizeof(struct ane_program_signature)
                                    : image_bytes(image);
}

/*
 * The weights go into the surface's file: pages that this process does not map need not be cleared, and are
 * not counted twice.
 */
static int write_weights(const struct e5_image *image, uint32_t surface)
{
    const int file = ane_surface_descriptor(surface);

    if (image->representation != ANE_PROGRAM_RT || has_weights_apart(image))
        return 0;
    return file < 0 ? file
                    : cc_bundle_put_weights(image->bundle, file, ANE_PROGRAM_IMAGE + weights_at(image));
}

static void release_weights(const struct e5_image *image)
{
    base_free(image->bundle->weights);
    image->bundle->weights = NULL;
}

/* Without memory for them the next load says so. */
static void restore_weights(const struct e5_image *image, const uint8_t *surface)
{
    struct cc_bundle *b = image->bundle;

    if (image->representation != ANE_PROGRAM_RT || b->weights || b->weights_file)
        return;
    b->weights = base_alloc(b->weights_bytes);
    if (b->weights)
        memcpy(b->weights, surface + ANE_PROGRAM_IMAGE + weights_at(image), b->weights_bytes);
}

/* All but the weights of a bundle. The surface is zeroed. */
static void write_program(const struct e5_image *image, const char *name, uint32_t weights, uint8_t *to)
{
    const struct ane_program_bundle bundle = {.main_bytes = image->size,
                                              .weights_bytes = image->bundle->weights_bytes};
    struct ane_program_args args = {.representation = image->representation,
                                    .version = ANE_PROGRAM_ARGS_VERSION,
                                    .image_size = image_bytes(image),
                                    .procedures = 1,
                                    .weights = weights,
                                    .qos = ANE_REQUEST_QOS,
                                    .flags = ANE_PROGRAM_ARGS_FLAGS};

    snprintf(args.name, sizeof(args.name), "%s", name);
    if (image->bundle->is_signed) {
        memcpy(args.hash, &image->bundle->hashes, sizeof(args.hash));
        memcpy(to + ANE_PROGRAM_IMAGE + signature_at(image), &image->bundle->signature,
               sizeof(image->bundle->signature));
    }
    memcpy(to, &args, sizeof(args));
    to += ANE_PROGRAM_IMAGE;
    if (image->representation == ANE_PROGRAM_RT) {
        memcpy(to, &bundle, sizeof(bundle));
        memcpy(to + sizeof(bundle), image->bytes, image->size);
    } else {
        memcpy(to, image->bytes, image->size);
    }
}

int64_t e5_device_surface(uint64_t bytes, const char *what, uint32_t *surface, void **base)
{
    *base = NULL;
    if (ane_surface_create(0, bytes, surface)) {
        *surface = 0;
        return e5_fail(E5RT_NO_MEMORY, "%s: %s", what, ane_machine_error());
    }
    *base = ane_surface_base(*surface);
    if (*base)
        return E5RT_OK;
    ane_surface_release(*surface);
    *surface = 0;
    return e5_fail(E5RT_NO_MEMORY, "%s: its surface of %llu bytes has no memory in this process.", what,
                   (unsigned long long)bytes);
}

/* The surface of weights that are in a file; 0 where they are not. A disk is waited for here, not inside. */
static int64_t open_weights(const struct e5_image *image, const char *what, uint32_t *weights)
{
    const struct cc_bundle *b = image->bundle;

    *weights = 0;
    if (!has_weights_apart(image))
        return E5RT_OK;
    base_file_fetch(b->weights_file, b->weights_bytes);
    if (!ane_surface_of_file(0, b->weights_file, b->weights_bytes, weights))
        return E5RT_OK;
    return e5_fail(E5RT_NO_MEMORY, "%s: %s", what, ane_machine_error());
}

/* `surface` gets the program; the caller releases it. */
static int64_t create(struct e5_loaded *loaded, const struct e5_image *image, const char *name,
                      uint32_t weights, uint32_t *surface, void **bytes)
{
    struct ane_program_create arguments = {.size = ANE_PROGRAM_IMAGE + payload_bytes(image),
                                           .session = loaded->session};
    char what[160];
    int64_t status;
    IOReturn result;

    snprintf(what, sizeof(what), "Program %s", name);
    status = e5_device_surface(arguments.size, what, surface, bytes);
    if (!*bytes)
        return status;
    write_program(image, name, weights, *bytes);
    status = write_weights(image, *surface);
    if (status == -ENOMEM || status == -ENOSPC)
        return e5_fail_memory("the surface of the program");
    if (status)
        return e5_fail(E5RT_INVALID_ARGUMENT, "%s: its weights cannot be read: %s.", what,
                       strerror((int)-status));
    release_weights(image);
    arguments.surface = *surface;
    result = call(loaded->connection, ANE_CONTROL_ProgramCreate, &arguments, sizeof(arguments));
    memcpy(&loaded->token, (uint8_t *)*bytes + offsetof(struct ane_program_args, token),
           sizeof(loaded->token));
    return result ? e5_fail_driver(result, "The program could not be created") : E5RT_OK;
}

static void destroy(const struct e5_loaded *loaded)
{
    const struct ane_program_destroy arguments = {.token = loaded->token, .session = loaded->session};

    call(loaded->connection, ANE_CONTROL_ProgramDestroy, &arguments, sizeof(arguments));
}

static int64_t prepare(struct e5_loaded *loaded)
{
    struct ane_program_prepare prepare = {
        .qos = loaded->qos, .priority = loaded->priority, .token = loaded->token, .session = loaded->session};
    size_t size = sizeof(prepare);
    IOReturn result = IOConnectCallMethod(loaded->connection, ANE_CONTROL_ProgramPrepare, NULL, 0, &prepare,
                                          sizeof(prepare), NULL, NULL, &prepare, &size);

    if (result)
        return e5_fail_driver(result, "The program could not be prepared");
    loaded->inputs = prepare.inputs;
    loaded->outputs = prepare.outputs;
    return E5RT_OK;
}

static int64_t load_here(const struct e5_image *image, const char *name, struct e5_loaded *loaded)
{
    uint32_t surface = 0, weights;
    void *bytes = NULL;
    char what[160];
    int64_t status;

    snprintf(what, sizeof(what), "Program %s", name);
    status = open_weights(image, what, &weights);
    if (!status)
        status = create(loaded, image, name, weights, &surface, &bytes);
    if (weights)
        ane_surface_release(weights);
    if (!status) {
        status = prepare(loaded);
        if (status)
            destroy(loaded);
    }
    if (status && bytes)
        restore_weights(image, bytes);
    if (surface)
        ane_surface_release(surface);
    return status;
}

int64_t e5_device_load(const struct e5_image *image, const char *name, struct e5_loaded *loaded)
{
    struct e5_loaded made;
    bool served;
    int64_t status = e5_brokered_decide(&served);

    if (!status)
        status = take_connection(&made, served);
    if (status)
        return status;
    status = served ? e5_brokered_load(image, name, &made) : load_here(image, name, &made);
    if (status) {
        give_connection(made.connection);
        return status;
    }
    *loaded = made;
    return E5RT_OK;
}

void e5_device_unload(const struct e5_loaded *loaded)
{
    const struct ane_program_prepare unprepare = {.token = loaded->token, .session = loaded->session};

    if (loaded->link) {
        e5_brokered_unload(loaded);
    } else {
        call(loaded->connection, ANE_CONTROL_ProgramUnprepare, &unprepare, sizeof(unprepare));
        destroy(loaded);
    }
    give_connection(loaded->connection);
}

void e5_device_request_init(struct ane_request *request, const struct e5_loaded *loaded)
{
    *request = (struct ane_request){.token = loaded->token,
                                    .sequence = request->sequence,
                                    .priority = loaded->priority,
                                    .qos = loaded->qos,
                                    .category = ANE_REQUEST_CATEGORY,
                                    .session = loaded->session};
}

void e5_device_bind_stage(const struct e5_loaded *loaded)
{
    if (loaded->machine)
        ane_machine_spend(loaded->machine, PR_TIMING_USER_NS);
}

static int64_t result_of(IOReturn result, const struct ane_request_reply *reply, bool brokered,
                         const char *name)
{
    char what[160];

    if (result) {
        snprintf(what, sizeof(what), "Operation %s failed", name);
        return brokered ? e5_fail_broker(result, what) : e5_fail_driver(result, what);
    }
    if (reply->status)
        return e5_fail(E5RT_INVALID_OPERATION, "Operation %s failed with status %llu, detail 0x%llx.", name,
                       (unsigned long long)reply->status, (unsigned long long)reply->detail);
    return E5RT_OK;
}

int64_t e5_device_request_send(struct ane_request *request, const struct e5_loaded *loaded, const char *name)
{
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    size_t size = sizeof(reply);
    IOReturn result;

    if (e5_device_is_brokered(loaded))
        result = e5_brokered_submit(loaded, request, &reply);
    else
        result = IOConnectCallMethod(loaded->connection, ANE_CONTROL_ProgramSendRequest, &doorbell, 1,
                                     request, sizeof(*request), NULL, NULL, &reply, &size);
    request->sequence++;
    return result_of(result, &reply, e5_device_is_brokered(loaded), name);
}

int64_t e5_device_request_post(struct ane_request *request, const struct e5_loaded *loaded, const char *name,
                               ane_port_t port, uint64_t reference)
{
    const struct ane_request sent = *request;
    const uint64_t doorbell = ANE_REQUEST_DOORBELL;
    struct ane_request_reply reply;
    size_t size = sizeof(reply);
    char what[160];
    IOReturn result;

    /* Before the call, because afterwards it may have ended and been sent again. */
    request->sequence++;
    snprintf(what, sizeof(what), "Operation %s could not be sent", name);
    result = IOConnectCallAsyncMethod(loaded->connection, ANE_CONTROL_ProgramSendRequest, port, &reference, 1,
                                      &doorbell, 1, &sent, sizeof(sent), NULL, NULL, &reply, &size);
    return result ? e5_fail_driver(result, what) : E5RT_OK;
}

int64_t e5_device_request_result(const struct ane_port_message *message, const char *name)
{
    return result_of(message->result, &message->reply, false, name);
}
