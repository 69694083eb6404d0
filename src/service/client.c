/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernel this process has. Undecided, it becomes one of the others, once; a fork makes the child
 * undecided again, unless its parent is the service. The word and the session change under the lock; the
 * session is there before the word says so, and is never freed while threads may use it.
 */
#include "service/client_session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <anemone/broker.h>

#include "base/file.h"

#define ANSWER_S 10 /* for the answer to HELLO; later replies may take as long as their calls do */

enum kernel { KERNEL_UNDECIDED, KERNEL_OWN, KERNEL_SERVED, KERNEL_SERVICE };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int kernel;
static _Atomic(struct svc_session *) current;

/* Connections of the process that this one was forked from. */
static unsigned inherited_count;
static io_connect_t inherited[PR_SERVICE_CONNECTS_ALL];

struct svc_session *svc_session_current(void)
{
    return atomic_load_explicit(&current, memory_order_acquire);
}

static void limit_wait(int file, time_t seconds)
{
    const struct timeval most = {.tv_sec = seconds};

    setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
}

/* A socket that is connected to a path; or a negative errno. */
static int connect_path(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int file, status;

    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path) + 1);
    file = base_file_above_standard(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (file < 0)
        return -errno;
    limit_wait(file, ANSWER_S);
    do
        status = connect(file, (const struct sockaddr *)&address, sizeof(address));
    while (status && errno == EINTR);
    if (status) {
        status = -errno;
        close(file);
        return status;
    }
    return file;
}

/* A service that was not named must be root's or this user's: anyone may put a socket into an open folder. */
static bool is_trusted(int file)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return !getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) && (!peer.uid || peer.uid == geteuid());
}

/* With the lock. */
static int begin_session(int file, const char *path, enum pr_service_role role, struct base_error *error)
{
    struct svc_session *session;
    int status = svc_session_make(file, path, role, &session, error);

    if (status)
        return status;
    limit_wait(session->socket, 0);
    atomic_store(&current, session);
    atomic_store(&kernel, KERNEL_SERVED);
    return 0;
}

static int use_named(const char *path, struct base_error *error)
{
    struct base_error reason;
    int file = connect_path(path), status;

    if (file < 0)
        return base_fail(error, -file,
                         "ANEMONE_SERVICE is %s, and no service answers there: %s. Start one with `anemone "
                         "serve --socket`, or set ANEMONE_SERVICE=none for a machine of this process's own.",
                         path, strerror(-file));
    status = begin_session(file, path, PR_SERVICE_ROLE_CLIENT, &reason);
    return status
               ? base_fail(error, -status, "ANEMONE_SERVICE is %.100s, and no session could be made: %.300s",
                           path, reason.text)
               : 0;
}

/* 1: a service is there and is used now. 0: none is there. */
static int use_default(const char *path, struct base_error *error)
{
    int file = connect_path(path), status;

    if (file < 0)
        return 0;
    if (!is_trusted(file)) {
        close(file);
        return 0;
    }
    status = begin_session(file, path, PR_SERVICE_ROLE_CLIENT, error);
    return status ? (status == -ECONNRESET ? 0 : status) : 1;
}

/* With the lock: 0, or a negative errno. */
static int decide(struct base_error *error)
{
    const char *named = getenv("ANEMONE_SERVICE"), *folder = getenv("XDG_RUNTIME_DIR");
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
    int used = 0;

    if (named && named[0] && strcmp(named, "none") != 0)
        return use_named(named, error);
    if (!named || !named[0]) {
        if (folder && folder[0] == '/' &&
            snprintf(path, sizeof(path), "%s/anemone/service", folder) < (int)sizeof(path))
            used = use_default(path, error);
        if (!used)
            used = use_default("/run/anemone/service", error);
    }
    if (!used)
        atomic_store(&kernel, KERNEL_OWN);
    return used < 0 ? used : 0;
}

int svc_client_decide(struct base_error *error)
{
    int now = atomic_load_explicit(&kernel, memory_order_acquire), status = 0;

    if (now == KERNEL_UNDECIDED) {
        pthread_mutex_lock(&lock);
        if (atomic_load(&kernel) == KERNEL_UNDECIDED)
            status = decide(error);
        now = atomic_load(&kernel);
        pthread_mutex_unlock(&lock);
    }
    return status ? -1 : now == KERNEL_SERVED;
}

bool svc_client_used(void)
{
    return svc_client_decide(NULL) == 1;
}

int svc_client_serves(uint32_t task, struct base_error *error)
{
    const struct svc_session *session = svc_session_current();

    if (task && !(session && session->broker))
        return 0;
    return svc_client_decide(error);
}

bool svc_client_decline(void)
{
    bool own;

    pthread_mutex_lock(&lock);
    if (atomic_load(&kernel) == KERNEL_UNDECIDED)
        atomic_store(&kernel, KERNEL_OWN);
    own = atomic_load(&kernel) != KERNEL_SERVED;
    pthread_mutex_unlock(&lock);
    return own;
}

const char *svc_client_path(void)
{
    const struct svc_session *session = svc_session_current();

    return session ? session->path : NULL;
}

const char *ane_service_name(void)
{
    struct base_error *error = base_error_of_thread();

    error->text[0] = '\0';
    return svc_client_decide(error) == 1 ? svc_client_path() : NULL;
}

bool svc_client_welcome(struct pr_service_welcome *welcome)
{
    const struct svc_session *session = svc_session_current();

    if (session)
        *welcome = session->welcome;
    return session;
}

void svc_client_is_service(void)
{
    atomic_store(&kernel, KERNEL_SERVICE);
}

uint32_t svc_client_surface_bit(void)
{
    return atomic_load_explicit(&kernel, memory_order_relaxed) == KERNEL_SERVICE ? PR_SERVICE_SURFACE_BIT : 0;
}

int svc_client_adopt(int socket)
{
    struct base_error error;
    int status = -EBUSY;

    pthread_mutex_lock(&lock);
    if (atomic_load(&kernel) == KERNEL_UNDECIDED)
        status = begin_session(socket, "(inherited)", PR_SERVICE_ROLE_BROKER, &error);
    pthread_mutex_unlock(&lock);
    return status;
}

bool svc_client_is_inherited(io_connect_t connect)
{
    for (unsigned i = 0; i < inherited_count; i++)
        if (inherited[i] == connect)
            return true;
    return false;
}

void svc_client_fork_begin(void)
{
    pthread_mutex_lock(&lock);
}

void svc_client_fork_end(bool child)
{
    struct svc_session *session = atomic_load(&current);

    if (child && session) {
        inherited_count = session->connects;
        memcpy(inherited, session->connect, sizeof(inherited));
        svc_session_forget(session);
        atomic_store(&current, NULL);
    }
    if (child && atomic_load(&kernel) != KERNEL_SERVICE)
        atomic_store(&kernel, KERNEL_UNDECIDED);
    pthread_mutex_unlock(&lock);
}
