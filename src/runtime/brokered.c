/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection to the broker for the programs of the process, made for the first and ended with the last;
 * programs keep the connection on which they were loaded, because their instances are known there alone. A
 * connection whose broker has ended is not used for new programs: the next load connects to the new broker.
 */
#include "runtime/brokered.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "service/client.h"

#define MAIN_LIMIT (1ull << 31)

struct e5_link {
    struct ane_broker *broker;
    unsigned users; /* programs, and loads that are under way */
    unsigned forks; /* of the process that made it */
};

/* Protects what follows, and the counts of users. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct e5_link *current; /* for new programs; NULL: none yet */
static unsigned forks;          /* between the first process and this one */
static pthread_once_t fork_watch = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    current = NULL;
    forks++;
    pthread_mutex_unlock(&lock);
}

/* Later than the handlers of the library's lower layers, so that this lock is taken before theirs. */
static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

int64_t e5_brokered_decide(bool *served)
{
    struct base_error error = {{0}};
    int decided = svc_client_decide(&error);

    *served = decided > 0;
    return decided < 0 ? e5_fail(E5RT_INVALID_OPERATION, "%s", error.text) : E5RT_OK;
}

/* Connections. */

static IOReturn connect_now(struct e5_link **made)
{
    struct e5_link *link = base_alloc(sizeof(*link));
    IOReturn result = link ? ane_broker_connect(&link->broker) : kIOReturnNoMemory;

    if (result) {
        base_free(link);
        return result;
    }
    link->forks = forks;
    *made = link;
    return kIOReturnSuccess;
}

/* Another user of the connection; *fresh: it was made now, so the broker was there. */
static IOReturn take(struct e5_link **link, bool *fresh)
{
    IOReturn result = kIOReturnSuccess;

    pthread_once(&fork_watch, watch_forks);
    pthread_mutex_lock(&lock);
    *fresh = !current;
    if (!current)
        result = connect_now(&current);
    *link = current;
    if (!result)
        current->users++;
    pthread_mutex_unlock(&lock);
    return result;
}

static void give(struct e5_link *link)
{
    bool last;

    pthread_mutex_lock(&lock);
    last = --link->users == 0;
    if (last && link == current)
        current = NULL;
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    ane_broker_disconnect(link->broker);
    base_free(link);
}

/* Its broker has ended: new programs get another connection. */
static void abandon(const struct e5_link *link)
{
    pthread_mutex_lock(&lock);
    if (link == current)
        current = NULL;
    pthread_mutex_unlock(&lock);
}

static bool is_parents(const struct e5_link *link)
{
    return link->forks != forks;
}

/* Compiling. */

/* The descriptor may be shared with the broker, so nothing depends on where it stands. */
static int64_t read_main(int file, const char *path, struct cc_bundle *bundle)
{
    struct stat about;
    size_t got = 0;

    if (fstat(file, &about) || about.st_size < 0 || (uint64_t)about.st_size > MAIN_LIMIT)
        return e5_fail(E5RT_INVALID_OPERATION, "The broker's main.e5 of %s cannot be read.", path);
    bundle->main_bytes = (size_t)about.st_size;
    bundle->main = base_alloc(bundle->main_bytes + 1);
    if (!bundle->main)
        return e5_fail_memory("main.e5");
    while (got < bundle->main_bytes) {
        ssize_t more = pread(file, bundle->main + got, bundle->main_bytes - got, (off_t)got);

        if (more < 0 && errno == EINTR)
            continue;
        if (more <= 0)
            return e5_fail(E5RT_INVALID_OPERATION, "The broker's main.e5 of %s ends after %zu of %zu bytes.",
                           path, got, bundle->main_bytes);
        got += (size_t)more;
    }
    return E5RT_OK;
}

/* The sentence is the compiler's where it refused the model. */
static int64_t fail_compile(IOReturn result, const char *path)
{
    char what[160];

    if (result == kIOReturnBadArgument)
        return e5_fail(E5RT_INVALID_ARGUMENT, "%s", ane_machine_error());
    snprintf(what, sizeof(what), "%.120s could not be compiled", path);
    return e5_fail_broker(result, what);
}

int64_t e5_brokered_compile(const char *path, bool force, struct cc_bundle *bundle,
                            char model[ANE_BROKER_MODEL])
{
    const struct ane_broker_compile wanted = {.size = sizeof(wanted), .path = path, .force = force};
    struct ane_broker_model made = {.size = sizeof(made), .main = -1};
    struct ane_broker *broker;
    IOReturn result = ane_broker_connect(&broker);
    int64_t status;

    if (result)
        return fail_compile(result, path);
    result = ane_broker_compile(broker, &wanted, &made);
    status = result ? fail_compile(result, path) : read_main(made.main, path, bundle);
    ane_broker_disconnect(broker);
    if (!result)
        close(made.main);
    if (status) {
        cc_bundle_release(bundle);
        return status;
    }
    memcpy(model, made.model, ANE_BROKER_MODEL);
    e5_warn(made.trouble);
    return E5RT_OK;
}

int64_t e5_brokered_find(const char *path, int *found)
{
    const struct ane_broker_compile wanted = {.size = sizeof(wanted), .path = path, .look = 1};
    struct ane_broker_model model = {.size = sizeof(model), .main = -1};
    struct ane_broker *broker;
    IOReturn result = ane_broker_connect(&broker);

    if (!result)
        result = ane_broker_compile(broker, &wanted, &model);
    ane_broker_disconnect(broker);
    *found = !result;
    if (!result)
        close(model.main);
    return result && result != kIOReturnNotFound ? fail_compile(result, path) : E5RT_OK;
}

/* Loading. */

/* A memory file of the image as it was read: the file on disk may be another by now. */
static int write_image(const struct e5_image *image)
{
    int file = base_file_memory("anemone-image", image->size);

    if (file < 0 || !base_file_put_at(file, image->bytes, image->size, 0))
        return file;
    close(file);
    return -1;
}

static IOReturn load_on(struct e5_link *link, const struct ane_broker_arguments *arguments,
                        struct e5_loaded *loaded)
{
    struct ane_broker_instance instance = {.size = sizeof(instance)};
    IOReturn result = ane_broker_load(link->broker, arguments, &instance);

    if (result)
        return result;
    loaded->link = link;
    loaded->instance = instance.instance;
    loaded->token = instance.program;
    loaded->inputs = instance.inputs;
    loaded->outputs = instance.outputs;
    loaded->qos = instance.qos;
    loaded->priority = instance.priority;
    return kIOReturnSuccess;
}

/* A second connection is tried when the first was made for an earlier program and its broker has ended. */
static IOReturn load(const struct ane_broker_arguments *arguments, struct e5_loaded *loaded)
{
    struct e5_link *link;
    bool fresh;

    for (;;) {
        IOReturn result = take(&link, &fresh);

        if (result)
            return result;
        result = load_on(link, arguments, loaded);
        if (!result)
            return kIOReturnSuccess;
        if (result == kIOReturnNoDevice)
            abandon(link);
        give(link);
        if (result != kIOReturnNoDevice || fresh)
            return result;
    }
}

int64_t e5_brokered_load(const struct e5_image *image, const char *name, struct e5_loaded *loaded)
{
    struct ane_broker_arguments arguments = {
        .size = sizeof(arguments), .model = image->model, .name = name, .qos = ANE_REQUEST_QOS};
    char path[32];
    int file = -1;
    IOReturn result;

    if (!image->model) {
        file = write_image(image);
        if (file < 0)
            return e5_fail_memory("the program image");
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
        arguments.image = path;
    }
    result = load(&arguments, loaded);
    if (file >= 0)
        close(file);
    return result ? e5_fail_broker(result, "The program could not be loaded") : E5RT_OK;
}

void e5_brokered_unload(const struct e5_loaded *loaded)
{
    if (is_parents(loaded->link))
        return;
    ane_broker_release(loaded->link->broker, loaded->instance);
    give(loaded->link);
}

IOReturn e5_brokered_submit(const struct e5_loaded *loaded, const struct ane_request *request,
                            struct ane_request_reply *reply)
{
    if (is_parents(loaded->link)) {
        base_fail(base_error_of_thread(), ENODEV,
                  "The connection to the broker is closed: the program was loaded before this process was "
                  "forked. Load it again.");
        return kIOReturnNoDevice;
    }
    return ane_broker_submit(loaded->link->broker, loaded->instance, request, reply);
}
