/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pid may name another process after its own has ended. So whatever is read through /proc counts only if
 * the process was alive afterwards: first the reading, then the test of life. A pidfd makes that test exact;
 * without one the time at which the process began has to be the same.
 */
#include "service/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/signing.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5; this C library's headers are older */
#endif

#define NAME_BYTES    64u
#define STAT_BYTES    1024u
#define STARTED_FIELD 22  /* proc(5) */
#define DIGESTS       64u /* remembered (chosen) */

/*
 * Digests of executables by the file they are of. Only files that no client can write are here: a shared
 * mapping changes a file on some file systems without changing its times.
 */
static struct {
    struct stat file;
    uint8_t digest[BASE_HASH_BYTES];
} digests[DIGESTS];
static unsigned next_digest;
static pthread_mutex_t digests_lock = PTHREAD_MUTEX_INITIALIZER;

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           same_time(&a->st_mtim, &b->st_mtim) && same_time(&a->st_ctim, &b->st_ctim);
}

static bool only_ours(const struct stat *file)
{
    return (!file->st_uid || file->st_uid == geteuid()) && !(file->st_mode & (S_IWGRP | S_IWOTH));
}

static bool recall_digest(const struct stat *file, uint8_t digest[BASE_HASH_BYTES])
{
    bool found = false;

    pthread_mutex_lock(&digests_lock);
    for (unsigned i = 0; i < DIGESTS && !found; i++)
        if (digests[i].file.st_ino && same_file(&digests[i].file, file)) {
            memcpy(digest, digests[i].digest, BASE_HASH_BYTES);
            found = true;
        }
    pthread_mutex_unlock(&digests_lock);
    return found;
}

static void remember_digest(const struct stat *file, const uint8_t digest[BASE_HASH_BYTES])
{
    pthread_mutex_lock(&digests_lock);
    digests[next_digest].file = *file;
    memcpy(digests[next_digest].digest, digest, BASE_HASH_BYTES);
    next_digest = (next_digest + 1) % DIGESTS;
    pthread_mutex_unlock(&digests_lock);
}

/* The file must be as it was after it was read, or what was hashed may be a mixture. */
static bool find_digest(int file, struct stat *info, uint8_t digest[BASE_HASH_BYTES])
{
    struct stat after;

    if (fstat(file, info) || !S_ISREG(info->st_mode) || info->st_size > (off_t)SVC_EXECUTABLE_BYTES)
        return false;
    if (only_ours(info) && recall_digest(info, digest))
        return true;
    if (base_signing_hash_file(file, SVC_EXECUTABLE_BYTES, digest) || fstat(file, &after) ||
        !same_file(info, &after))
        return false;
    if (only_ours(info))
        remember_digest(info, digest);
    return true;
}

static void write_name(pid_t pid, const char *what, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "/proc/%ld/%s", (long)pid, what);
}

/* When the process began; 0 when it has ended. Its name may have any characters, a parenthesis too. */
static uint64_t read_started(pid_t pid)
{
    char name[NAME_BYTES], text[STAT_BYTES];
    const char *at;
    ssize_t size;
    int file;

    write_name(pid, "stat", name);
    file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    size = read(file, text, sizeof(text) - 1);
    close(file);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    at = strrchr(text, ')'); /* the end of field 2; field 3 is the state */
    if (!at || !strncmp(at, ") Z", 3) || !strncmp(at, ") X", 3))
        return 0;
    for (int field = 2; at && field < STARTED_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

static bool is_alive(const struct svc_identity *identity)
{
    struct pollfd watched = {.fd = identity->pidfd, .events = POLLIN};

    if (identity->pidfd < 0)
        return read_started(identity->pid) == identity->started;
    return poll(&watched, 1, 0) == 0;
}

/* A descriptor, -1 where the kernel has none, or another negative errno. */
static int peer_pidfd(int socket)
{
    socklen_t size = sizeof(int);
    int pidfd;

    if (!getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size))
        return pidfd;
    return errno == ENOPROTOOPT || errno == EOPNOTSUPP || errno == ENOSYS ? -1 : -ESRCH;
}

/* The path, if the file that it names is the one that runs. */
static void find_path(struct svc_identity *identity)
{
    char name[NAME_BYTES];
    struct stat file;
    ssize_t size;

    write_name(identity->pid, "exe", name);
    size = readlink(name, identity->executable, sizeof(identity->executable));
    if (size < 0 || (size_t)size == sizeof(identity->executable))
        size = 0;
    identity->executable[size] = '\0';
    if (identity->executable[0] != '/' || stat(identity->executable, &file) ||
        file.st_dev != identity->device || file.st_ino != identity->inode)
        identity->executable[0] = '\0';
}

static void make_cdhash(struct svc_identity *identity)
{
    struct {
        uint8_t digest[BASE_HASH_BYTES];
        uint32_t uid;
    } source = {.uid = identity->uid};
    uint8_t hash[BASE_HASH_BYTES];

    memcpy(source.digest, identity->digest, sizeof(source.digest));
    base_signing_hash(&source, sizeof(source), hash);
    memcpy(identity->cdhash, hash, sizeof(identity->cdhash));
}

/*
 * The process is its user's own: neither begun by a set-user-ID program nor closed to that user otherwise.
 * One that is not may have connected as another program, whose child still holds the socket, and that
 * child must not have what this program has.
 */
static bool is_own(const struct svc_identity *identity)
{
    char name[NAME_BYTES];
    struct stat link;

    write_name(identity->pid, "exe", name);
    return !lstat(name, &link) && link.st_uid == identity->uid; /* else it is root's */
}

static void find_signature(struct svc_identity *identity)
{
    char name[NAME_BYTES];
    struct stat info;
    int file;

    if (!is_own(identity))
        return;
    write_name(identity->pid, "exe", name);
    file = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return;
    if (find_digest(file, &info, identity->digest)) {
        identity->has_signature = true;
        make_cdhash(identity);
        identity->device = info.st_dev;
        identity->inode = info.st_ino;
        identity->modified = info.st_mtim;
        identity->size = info.st_size;
        find_path(identity);
    }
    close(file);
}

int svc_identity_take(int socket, struct svc_identity *identity, struct base_error *error)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    int pidfd;

    memset(identity, 0, sizeof(*identity));
    identity->pidfd = -1;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size))
        return base_fail(error, errno, "The caller of a session cannot be found out: %s.", strerror(errno));
    if (peer.pid <= 0)
        return base_fail(error, EPERM,
                         "The caller of a session is in another PID namespace, so it has no process here; "
                         "start it in the namespace of the service.");
    pidfd = peer_pidfd(socket);
    identity->pid = peer.pid;
    identity->uid = peer.uid;
    identity->gid = peer.gid;
    identity->pidfd = pidfd < 0 ? -1 : pidfd;
    identity->started = read_started(peer.pid);
    if (pidfd < -1 || !identity->started || !is_alive(identity))
        goto ended;
    find_signature(identity);
    if (svc_identity_check(identity) == SVC_IDENTITY_SAME)
        return 0;
ended:
    svc_identity_end(identity);
    return base_fail(error, ESRCH,
                     "Process %ld has ended, or began another executable, before its session did.",
                     (long)peer.pid);
}

void svc_identity_end(struct svc_identity *identity)
{
    if (identity->pidfd >= 0)
        close(identity->pidfd);
    identity->pidfd = -1;
}

/*
 * A file that runs cannot be written, so one that was exec'ed again may have other bytes in the same inode.
 * Its time of change is not looked at: a new name, or none, is not another program.
 */
static bool same_executable(const struct svc_identity *identity)
{
    char name[NAME_BYTES];
    struct stat info;

    if (!identity->has_signature)
        return true;
    write_name(identity->pid, "exe", name);
    return !stat(name, &info) && info.st_dev == identity->device && info.st_ino == identity->inode &&
           info.st_size == identity->size && same_time(&info.st_mtim, &identity->modified);
}

enum svc_identity_state svc_identity_check(const struct svc_identity *identity)
{
    bool same = same_executable(identity);

    if (!is_alive(identity))
        return SVC_IDENTITY_ENDED;
    return same ? SVC_IDENTITY_SAME : SVC_IDENTITY_REPLACED;
}
