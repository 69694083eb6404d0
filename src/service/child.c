/* SPDX-License-Identifier: Apache-2.0 */
#include "service/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define ABOVE_ALL 64 /* above every number that a child's descriptors get */
#define VARIABLES 8u
#define VARIABLE  4200u

/* What of the service's environment a child has: where it may write, and the key. */
static const char *const kept[] = {"HOME",        "PATH",          "TMPDIR",
                                   "ANEMONE_KEY", "ANEMONE_DUMPS", "JOURNAL_STREAM"};

struct environment {
    char text[VARIABLES][VARIABLE];
    char *list[VARIABLES + 1];
};

static void fill(struct environment *environment)
{
    unsigned count = 0;

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        const char *value = getenv(kept[i]);

        if (value && snprintf(environment->text[count], VARIABLE, "%s=%s", kept[i], value) < (int)VARIABLE)
            count++;
    }
    snprintf(environment->text[count++], VARIABLE, "ANEMONE_SERVICE=none");
    for (unsigned i = 0; i < count; i++)
        environment->list[i] = environment->text[i];
    environment->list[count] = NULL;
}

/* Copies with high numbers, so that giving one its place does not take the place of another. */
static int raise_sockets(const int *sockets, int *raised)
{
    for (unsigned i = 0; i < SVC_CHILD_SOCKETS; i++) {
        raised[i] = sockets[i] < 0 ? -1 : fcntl(sockets[i], F_DUPFD_CLOEXEC, ABOVE_ALL);
        if (sockets[i] >= 0 && raised[i] < 0)
            return -errno;
    }
    return 0;
}

static int spawn(const char *executable, const char *const *words, const int *raised, pid_t *pid)
{
    struct environment environment;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    int status, next = SVC_CHILD_FIRST;

    fill(&environment);
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    for (unsigned i = 0; i < SVC_CHILD_SOCKETS && raised[i] >= 0; i++)
        posix_spawn_file_actions_adddup2(&files, raised[i], next++);
    posix_spawn_file_actions_addclosefrom_np(&files, next);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    status = posix_spawn(pid, executable ? executable : "/proc/self/exe", &files, &attributes,
                         (char *const *)words, environment.list);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return -status;
}

int svc_child_start(const char *executable, const char *const *words, const int sockets[SVC_CHILD_SOCKETS],
                    pid_t *pid)
{
    int raised[SVC_CHILD_SOCKETS] = {-1, -1};
    int status = raise_sockets(sockets, raised);

    if (!status)
        status = spawn(executable, words, raised, pid);
    for (unsigned i = 0; i < SVC_CHILD_SOCKETS; i++)
        if (raised[i] >= 0)
            close(raised[i]);
    return status;
}

int svc_child_begin(void)
{
    int type;
    socklen_t size = sizeof(type);

    if (getsockopt(SVC_CHILD_FIRST, SOL_SOCKET, SO_TYPE, &type, &size) || type != SOCK_SEQPACKET)
        return -ENOTSOCK;
    for (int i = 0; i < (int)SVC_CHILD_SOCKETS; i++)
        fcntl(SVC_CHILD_FIRST + i, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return 0;
}
