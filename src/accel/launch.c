/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order: the program installs its filter and sends the listener; its memory is tried; only then is it
 * executed. So a kernel that refuses any of it is known before the program has done anything. Both sockets
 * close on exec, and each end is in one process alone: the end of a process is the end of its socket.
 */
#include "accel/launch.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accel/keeper.h"
#include "base/alloc.h"
#include "base/file.h"
#include "base/packet.h"

/* What remains where the kernel does not help. */
#define PRELOAD \
    "LD_PRELOAD=$(anemone accel --where) PROGRAM does without it, for programs that are not static"

static int refused(struct base_error *error, int code)
{
    const char *why = strerror(code);

    if (code == ENOSYS)
        why = "this kernel has no seccomp user notification; it needs Linux 5.9 on x86-64 or AArch64";
    else if (code == EINVAL)
        why = "this kernel, or a container's policy, refuses a listener (seccomp: invalid argument)";
    else if (code == EBUSY)
        why = "this process is supervised that way already, by a container or another `anemone accel`";
    else if (code == EPERM || code == EACCES)
        why = "a policy of this host or container forbids seccomp filters";
    return base_fail(error, code, "User notification is refused: %s. " PRELOAD ".", why);
}

static int unreadable(struct base_error *error, int code)
{
    return base_fail(
        error, code,
        "The memory of a child process cannot be read (process_vm_readv: %s), which user notification "
        "needs: see /proc/sys/kernel/yama/ptrace_scope, or a container's policy. " PRELOAD ".",
        strerror(code));
}

static int receive(int socket, struct acc_launch_message *message, int *file)
{
    unsigned count = 0;
    long size = base_packet_receive(socket, message, sizeof(*message), file, 1, &count);

    if (!count)
        *file = -1;
    if (size == sizeof(*message))
        return 0;
    base_packet_close(file, count);
    return size < 0 ? (int)size : -EPIPE;
}

/* Whether the program's memory can be read from here. */
static int prove(const struct acc_launch_message *message, struct base_error *error)
{
    uint64_t word = 0;
    struct iovec here = {&word, sizeof(word)}, there = {(void *)(uintptr_t)message->address, sizeof(word)};

    if (process_vm_readv(message->value, &here, 1, &there, 1, 0) != sizeof(word))
        return unreadable(error, errno ? errno : EIO);
    return word == ACC_LAUNCH_PROOF ? 0 : unreadable(error, EIO);
}

static int take_listener(struct acc_launch *launch, struct base_error *error)
{
    struct acc_launch_message message;
    int status = receive(launch->program_socket, &message, &launch->listener);

    if (status)
        return base_fail(error, -status, "The process for the program ended before it began: %s.",
                         strerror(-status));
    if (message.word == ACC_LAUNCH_REFUSED)
        return refused(error, message.value);
    if (message.word != ACC_LAUNCH_LISTENER || launch->listener < 0)
        return base_fail(error, EMFILE, "The listener did not arrive: no file descriptor is left.");
    return prove(&message, error);
}

static int make_sockets(int keeper[2], int program[2])
{
    if (!base_alloc_allowed() || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, keeper))
        return -EMFILE;
    if (!base_alloc_allowed() || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, program)) {
        base_packet_close(keeper, 2);
        keeper[0] = keeper[1] = -1;
        return -EMFILE;
    }
    return 0;
}

/* Ends here are [0]. A disposition of SIGCHLD that makes the kernel reap would hide how the program ended. */
static int make_keeper(struct acc_launch *launch, char *const argv[], const int keeper[2],
                       const int program[2])
{
    struct acc_keeper theirs = {argv, keeper[1], program[1], launch->mask, {.sa_handler = SIG_DFL}};
    struct sigaction plain = {.sa_handler = SIG_DFL};

    sigaction(SIGCHLD, &plain, &theirs.child_action);
    launch->keeper = base_alloc_allowed() ? fork() : -1;
    if (launch->keeper == 0) {
        base_packet_close((int[]){keeper[0], program[0]}, 2);
        acc_keeper_run(&theirs);
    }
    sigaction(SIGCHLD, &theirs.child_action, NULL);
    return launch->keeper < 0 ? -EAGAIN : 0;
}

int acc_launch_begin(struct acc_launch *launch, char *const argv[], struct base_error *error)
{
    int keeper[2] = {-1, -1}, program[2] = {-1, -1};
    sigset_t set;
    int status;

    *launch = (struct acc_launch){
        .keeper = -1, .keeper_socket = -1, .program_socket = -1, .listener = -1, .signals = -1};
    acc_keeper_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, &launch->mask);
    launch->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    status = launch->signals < 0 ? -EMFILE : make_sockets(keeper, program);
    if (!status) {
        status = make_keeper(launch, argv, keeper, program);
        base_packet_close((int[]){keeper[1], program[1]}, 2);
        launch->keeper_socket = keeper[0];
        launch->program_socket = program[0];
    }
    if (status)
        base_fail(error, -status, "A process for the program cannot be made: %s.", strerror(-status));
    else
        status = take_listener(launch, error);
    if (status)
        acc_launch_end(launch);
    return status;
}

int acc_launch_execute(struct acc_launch *launch, const char *name, struct base_error *error)
{
    struct acc_launch_message message;
    char go = 1;
    int status, file;

    (void)base_packet_send(launch->program_socket, &go, sizeof(go), NULL, 0, NULL, 0, 1);
    status = receive(launch->program_socket, &message, &file);
    base_packet_close(&file, 1);
    close(launch->program_socket);
    launch->program_socket = -1;
    if (status || message.word != ACC_LAUNCH_NOT_EXECUTED)
        return 0;
    return base_fail(error, message.value, "'%s' cannot be executed: %s.", name, strerror(message.value));
}

/* All that have come, to the keeper, which has not been reaped yet: its number is its own. */
static void pass_on(const struct acc_launch *launch)
{
    struct signalfd_siginfo info;

    while (read(launch->signals, &info, sizeof(info)) == sizeof(info))
        if (launch->keeper > 0 && acc_keeper_passes(info.ssi_signo, info.ssi_code))
            kill(launch->keeper, (int)info.ssi_signo);
}

/* The keeper's own status counts when it was killed and could not say how the program ended. */
static int reap_keeper(struct acc_launch *launch)
{
    int status = 0;

    while (waitpid(launch->keeper, &status, 0) < 0 && errno == EINTR)
        ;
    launch->keeper = -1;
    return status;
}

int acc_launch_wait(struct acc_launch *launch)
{
    struct pollfd wait[2] = {{.fd = launch->keeper_socket, .events = POLLIN},
                             {.fd = launch->signals, .events = POLLIN}};
    struct acc_launch_message message;
    bool ended = false;
    int status = 0, keepers, file;

    for (;;) {
        if (poll(wait, 2, -1) < 0)
            continue;
        if (wait[1].revents)
            pass_on(launch);
        if (!wait[0].revents)
            continue;
        if (receive(launch->keeper_socket, &message, &file))
            break;
        base_packet_close(&file, 1);
        ended = true;
        status = message.value;
    }
    pass_on(launch); /* what the program got from the terminal is not for this process either */
    keepers = reap_keeper(launch);
    pthread_sigmask(SIG_SETMASK, &launch->mask, NULL);
    return ended ? status : keepers;
}

void acc_launch_end(struct acc_launch *launch)
{
    base_packet_close(
        (int[]){launch->keeper_socket, launch->program_socket, launch->listener, launch->signals}, 4);
    if (launch->keeper > 0)
        reap_keeper(launch);
    pthread_sigmask(SIG_SETMASK, &launch->mask, NULL);
}
