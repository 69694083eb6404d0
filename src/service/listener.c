/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock is taken first, and whoever has it owns the socket's file. A lock file that was removed between
 * opening and locking it is not the one that others see: then it is opened again. A socket file that is left
 * from a service that died is removed only if nothing answers there.
 */
#include "service/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "service/log.h"

#define FIRST_INHERITED 3 /* by the convention of socket activation */
#define BACKLOG         64

static int open_socket(void)
{
    int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    return file < 0 ? -errno : file;
}

static struct sockaddr_un address_of(const struct svc_listener *listener)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    memcpy(address.sun_path, listener->path, sizeof(listener->path));
    return address;
}

/* ---- Where ---- */

static int set_path(struct svc_listener *listener, const char *path, struct base_error *error)
{
    const char *folder = getenv("XDG_RUNTIME_DIR");
    int length;

    if (path)
        length = snprintf(listener->path, sizeof(listener->path), "%s", path);
    else if (geteuid() == 0 && !(folder && folder[0]))
        length = snprintf(listener->path, sizeof(listener->path), "/run/anemone/service");
    else if (folder && folder[0])
        length = snprintf(listener->path, sizeof(listener->path), "%s/anemone/service", folder);
    else
        return base_fail(error, EINVAL,
                         "XDG_RUNTIME_DIR is not set; name the socket with --socket PATH, and set "
                         "ANEMONE_SERVICE to that path for its clients.");
    if (length < 1 || (size_t)length >= sizeof(listener->path))
        return base_fail(error, ENAMETOOLONG, "The socket's path has %d characters; 1 to %zu are possible.",
                         length, sizeof(listener->path) - 1);
    return 0;
}

/* The folder above the socket, if there is none: the user's own; for root's service, open to every user. */
static int make_folder(const struct svc_listener *listener, struct base_error *error)
{
    mode_t mode = strncmp(listener->path, "/run/anemone/", 13) ? 0700 : 0755;
    char folder[SVC_LISTENER_PATH];
    char *slash;

    memcpy(folder, listener->path, sizeof(folder));
    slash = strrchr(folder, '/');
    if (!slash || slash == folder)
        return 0;
    *slash = '\0';
    if (!mkdir(folder, mode))
        return chmod(folder, mode) ? base_fail(error, errno, "%s: %s.", folder, strerror(errno)) : 0;
    if (errno == EEXIST)
        return 0;
    return base_fail(error, errno,
                     "The folder %s, for the socket, could not be made: %s. Name another place with --socket "
                     "PATH.",
                     folder, strerror(errno));
}

/* ---- The lock ---- */

static int refuse_second(const struct svc_listener *listener, int lock, struct base_error *error)
{
    char text[16] = "";
    ssize_t size = pread(lock, text, sizeof(text) - 1, 0);

    text[size > 0 ? strcspn(text, "\n") : 0] = '\0';
    return base_fail(error, EBUSY, "A service runs already at %s: process %s. Stop it, or use --socket.",
                     listener->path, text[0] ? text : "unknown");
}

static int take_lock(struct svc_listener *listener, struct base_error *error)
{
    snprintf(listener->lock_path, sizeof(listener->lock_path), "%s.lock", listener->path);
    for (;;) {
        int lock = open(listener->lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        struct stat own, seen;
        int status = 0;

        if (lock < 0)
            return base_fail(
                error, errno,
                "The lock file %s could not be opened: %s. Name another place with --socket PATH.",
                listener->lock_path, strerror(errno));
        if (flock(lock, LOCK_EX | LOCK_NB))
            status = refuse_second(listener, lock, error);
        else if (!fstat(lock, &own) && !stat(listener->lock_path, &seen) && own.st_ino == seen.st_ino &&
                 own.st_dev == seen.st_dev)
            listener->lock = lock;
        if (listener->lock >= 0) {
            if (ftruncate(lock, 0) || dprintf(lock, "%d\n", (int)getpid()) < 0)
                svc_log("%s could not be written: %s", listener->lock_path, strerror(errno));
            return 0;
        }
        close(lock);
        if (status)
            return status;
    }
}

/* ---- The socket ---- */

static int remove_stale(const struct svc_listener *listener, struct base_error *error)
{
    struct sockaddr_un address = address_of(listener);
    struct stat file;
    int socket, status;

    if (lstat(listener->path, &file))
        return 0;
    if (!S_ISSOCK(file.st_mode))
        return base_fail(error, EEXIST, "%s exists and is not a socket; name another with --socket.",
                         listener->path);
    socket = open_socket();
    if (socket < 0)
        return base_fail(error, -socket, "No socket could be made: %s.", strerror(-socket));
    status = connect(socket, (const struct sockaddr *)&address, sizeof(address)) ? errno : 0;
    close(socket);
    if (status != ECONNREFUSED)
        return base_fail(error, EBUSY,
                         "%s is answered by another program, or kept by a service manager; use --socket.",
                         listener->path);
    svc_log("removing %s, which a service left behind", listener->path);
    return unlink(listener->path) ? base_fail(error, errno, "%s: %s.", listener->path, strerror(errno)) : 0;
}

/* Every user may connect; what each may do is the policy's decision. */
static int bind_socket(struct svc_listener *listener, struct base_error *error)
{
    struct sockaddr_un address = address_of(listener);
    int file = open_socket();

    if (file < 0)
        return base_fail(error, -file, "No socket could be made: %s.", strerror(-file));
    if (bind(file, (const struct sockaddr *)&address, sizeof(address)) || chmod(listener->path, 0666) ||
        listen(file, BACKLOG)) {
        int code = errno;

        close(file);
        return base_fail(error, code, "The socket %s could not be made: %s.", listener->path, strerror(code));
    }
    listener->socket = file;
    return 0;
}

/* 1: a socket was inherited, whose file stays; 0: none. A socket without a file needs no lock. */
static int inherit(struct svc_listener *listener, struct base_error *error)
{
    const char *process = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    struct sockaddr_un address = {0};
    socklen_t size = sizeof(address) - 1, length = sizeof(int);
    int type = 0, listens = 0;

    if (!process || !count || strtol(process, NULL, 10) != getpid() || strtol(count, NULL, 10) < 1)
        return 0;
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
    if (getsockopt(FIRST_INHERITED, SOL_SOCKET, SO_TYPE, &type, &length) || type != SOCK_SEQPACKET ||
        getsockopt(FIRST_INHERITED, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) || !listens ||
        getsockname(FIRST_INHERITED, (struct sockaddr *)&address, &size) || address.sun_family != AF_UNIX)
        return base_fail(error, EINVAL,
                         "The inherited socket is not a Unix socket that listens for sequential packets "
                         "(ListenSequentialPacket= in the socket unit).");
    listener->socket = FIRST_INHERITED;
    listener->inherited = true;
    memcpy(listener->path, address.sun_path, sizeof(listener->path));
    fcntl(FIRST_INHERITED, F_SETFD, FD_CLOEXEC);
    if (listener->path[0] && take_lock(listener, error))
        return -EBUSY;
    return 1;
}

int svc_listener_open(struct svc_listener *listener, const char *path, struct base_error *error)
{
    int status;

    *listener = (struct svc_listener){.socket = -1, .lock = -1};
    status = inherit(listener, error);
    if (status)
        return status < 0 ? status : 0;
    status = set_path(listener, path, error);
    if (!status)
        status = make_folder(listener, error);
    if (!status)
        status = take_lock(listener, error);
    if (!status)
        status = remove_stale(listener, error);
    if (!status)
        status = bind_socket(listener, error);
    if (status && listener->lock >= 0) {
        unlink(listener->lock_path);
        close(listener->lock);
        listener->lock = -1;
    }
    return status;
}

void svc_listener_close(struct svc_listener *listener)
{
    if (listener->socket >= 0)
        close(listener->socket);
    if (listener->lock >= 0) {
        if (!listener->inherited)
            unlink(listener->path);
        unlink(listener->lock_path);
        close(listener->lock);
    }
    listener->socket = listener->lock = -1;
}

void svc_listener_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = path ? strlen(path) : 0;
    int file;

    if (length < 2 || length >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* an abstract name */
    file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (file < 0)
        return;
    sendto(file, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(file);
}
