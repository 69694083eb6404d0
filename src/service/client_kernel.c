/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of the service's kernel: registry entries, connections, surfaces. Each call is one message. A
 * number that the service gives must lie in its range, since the front end distinguishes by that.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "service/client_session.h"

#define NAMES_MAX 512u

_Static_assert(sizeof(((struct pr_service_registry_value *)0)->value) == sizeof(struct ane_registry_value),
               "a value of the registry");

static IOReturn no_entry(struct base_error *error)
{
    base_fail(error, EIO, "There is no such registry entry; its machine may have been destroyed.");
    return kIOReturnNoDevice;
}

static void end_for_number(struct svc_session *session, const char *what, uint32_t number)
{
    struct base_error why;

    base_fail(&why, EPROTO, "The service at %s gave %s 0x%x, which is outside its range; the session ends.",
              session->path, what, number);
    svc_session_end(session, why.text);
}

static int ask(io_service_t entry, enum pr_service_registry_step step, uint32_t index, const char *key,
               struct pr_service_registry_value *value, struct base_error *error)
{
    struct pr_service_registry request = {.entry = entry, .step = step, .index = index};
    struct svc_session *session = svc_session_current();

    if (!session)
        return no_entry(error);
    if (key)
        snprintf(request.key, sizeof(request.key), "%s", key);
    return svc_session_talk(session, PR_SERVICE_REGISTRY, &request, value, NULL, error);
}

static io_service_t ask_entry(io_service_t entry, enum pr_service_registry_step step, uint32_t index,
                              const char *key, struct base_error *error)
{
    struct pr_service_registry_value value;

    if (ask(entry, step, index, key, &value, error) || !value.entry)
        return 0;
    if (svc_client_has_entry(value.entry))
        return value.entry;
    end_for_number(svc_session_current(), "a registry entry", value.entry);
    svc_session_refuse(svc_session_current(), error);
    return 0;
}

io_service_t svc_client_find(const char *name, struct base_error *error)
{
    return ask_entry(0, PR_SERVICE_REGISTRY_FIND, 0, name, error);
}

io_service_t svc_client_root(io_service_t entry, struct base_error *error)
{
    return ask_entry(entry, PR_SERVICE_REGISTRY_ROOT, 0, NULL, error);
}

io_service_t svc_client_child(io_service_t entry, uint32_t index, struct base_error *error)
{
    return ask_entry(entry, PR_SERVICE_REGISTRY_CHILD, index, NULL, error);
}

/*
 * A text of the service as a constant of this process. The lock is the session's: a process has one at a
 * time, and a forked child must not find it locked.
 */
static const char *keep_name(char *text, size_t room, struct base_error *error)
{
    struct svc_session *session = svc_session_current();
    static const char *names[NAMES_MAX];
    static unsigned count;
    const char *kept = NULL;

    text[room - 1] = '\0';
    pthread_mutex_lock(&session->names_lock);
    for (unsigned i = 0; i < count && !kept; i++)
        if (!strcmp(names[i], text))
            kept = names[i];
    if (!kept && count < NAMES_MAX) {
        kept = base_strdup(text);
        if (kept)
            names[count++] = kept;
    }
    pthread_mutex_unlock(&session->names_lock);
    if (!kept)
        base_fail(error, ENOMEM, "No memory for a name of the registry.");
    return kept;
}

const char *svc_client_name(io_service_t entry, struct base_error *error)
{
    struct pr_service_registry_value value;

    if (ask(entry, PR_SERVICE_REGISTRY_NAME, 0, NULL, &value, error))
        return NULL;
    return keep_name(value.key, sizeof(value.key), error);
}

IOReturn svc_client_property(io_service_t entry, uint32_t index, const char **key,
                             struct ane_registry_value *value, struct base_error *error)
{
    struct pr_service_registry_value reply;
    const char *name;
    int status = ask(entry, PR_SERVICE_REGISTRY_PROPERTY, index, NULL, &reply, error);

    if (status)
        return status;
    name = keep_name(reply.key, sizeof(reply.key), error);
    if (!name)
        return kIOReturnNoMemory;
    *key = name;
    memcpy(value, reply.value, sizeof(*value));
    return kIOReturnSuccess;
}

static bool note_connect(struct svc_session *session, io_connect_t connect)
{
    bool noted;

    pthread_mutex_lock(&session->connect_lock);
    noted = session->connects < PR_SERVICE_CONNECTS_ALL;
    if (noted)
        session->connect[session->connects++] = connect;
    pthread_mutex_unlock(&session->connect_lock);
    return noted;
}

static void forget_connect(struct svc_session *session, io_connect_t connect)
{
    pthread_mutex_lock(&session->connect_lock);
    for (unsigned i = 0; i < session->connects; i++)
        if (session->connect[i] == connect) {
            session->connect[i] = session->connect[--session->connects];
            break;
        }
    pthread_mutex_unlock(&session->connect_lock);
}

IOReturn svc_client_open(io_service_t entry, uint32_t task, uint32_t type, io_connect_t *connect,
                         struct base_error *error)
{
    const struct pr_service_open request = {.entry = entry, .type = type, .task = task};
    struct svc_session *session = svc_session_current();
    struct pr_service_connect reply;
    int status;

    if (!session) {
        base_fail(error, EIO, "There is no such service; its machine may have been destroyed.");
        return kIOReturnNoDevice;
    }
    if (task && !session->broker) {
        base_fail(error, EPERM,
                  "Task %u cannot open the device of the service at %s: its policy decides what this process "
                  "may do, as task 0.",
                  task, session->path);
        return kIOReturnNotPermitted;
    }
    status = svc_session_talk(session, PR_SERVICE_OPEN, &request, &reply, NULL, error);
    if (status)
        return status;
    if (!svc_client_has_connect(reply.connect) || !note_connect(session, reply.connect)) {
        end_for_number(session, "a connection", reply.connect);
        return svc_session_refuse(session, error);
    }
    *connect = reply.connect;
    return kIOReturnSuccess;
}

IOReturn svc_client_close(io_connect_t connect, struct base_error *error)
{
    const struct pr_service_connect request = {.connect = connect};
    struct svc_session *session = svc_session_current();
    int status;

    if (session) {
        status = svc_session_talk(session, PR_SERVICE_CLOSE, &request, NULL, NULL, error);
        if (!status)
            forget_connect(session, connect);
    } else {
        base_fail(error, EIO, "There is no such connection.");
        status = kIOReturnBadArgument;
    }
    if (status == kIOReturnBadArgument && svc_client_is_inherited(connect)) {
        base_fail(error, EIO, "The connection is closed.");
        return ANE_RETURN_CLOSED;
    }
    return status;
}

/* Its size must be there, and stay: else an access would end this process with a signal. */
static bool is_surface(const struct pr_service_surface *reply, int file, size_t bytes)
{
    struct stat stat;

    return reply->surface & PR_SERVICE_SURFACE_BIT && !fstat(file, &stat) && stat.st_size >= (off_t)bytes &&
           fcntl(file, F_GET_SEALS) & F_SEAL_SHRINK;
}

int svc_client_surface_create(uint32_t task, size_t bytes, uint32_t *id, int *file, struct base_error *error)
{
    const struct pr_service_surface_create request = {.bytes = bytes, .task = task};
    struct svc_session *session = svc_session_current();
    struct pr_service_surface reply;
    int status, given = -1;

    if (!session)
        return base_fail(error, ENODEV, "This process has no service that makes surfaces.");
    status = svc_session_talk(session, PR_SERVICE_SURFACE, &request, &reply, &given, error);
    if (status)
        return svc_session_errno(status);
    if (!is_surface(&reply, given, bytes)) {
        close(given);
        end_for_number(session, "a surface", reply.surface);
        svc_session_refuse(session, error);
        return -ENODEV;
    }
    given = base_file_above_standard(given);
    if (given < 0) {
        svc_client_surface_release(reply.surface);
        return base_fail(error, EMFILE, "Surface create: this process has no file descriptor left.");
    }
    *id = reply.surface;
    *file = given;
    return 0;
}

void svc_client_surface_release(uint32_t id)
{
    const struct pr_service_surface request = {.surface = id};
    struct svc_session *session = svc_session_current();

    if (session)
        svc_session_talk(session, PR_SERVICE_SURFACE_RELEASE, &request, NULL, NULL, NULL);
}
