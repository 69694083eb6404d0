/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two forked processes that share the code of their parent and none of its threads: no function here takes a
 * lock or memory. The keeper blocks every signal and reads those that matter from a descriptor, so only
 * SIGKILL ends it before its processes; the program then dies with it.
 */
#include "accel/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accel/filter.h"
#include "base/packet.h"

#define FIRST_OTHER  3u /* descriptor after the standard ones */
#define STAT_ROOM    512u
#define FOLDER_ROOM  4096u
#define EXIT_KEPT    0
#define EXIT_NOT_RUN 127

void acc_keeper_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGQUIT);
}

/* The kernel sends those of a terminal to the whole foreground group. */
int acc_keeper_passes(uint32_t signal, int32_t code)
{
    return signal == SIGTERM || signal == SIGHUP || code != SI_KERNEL;
}

static void say(int socket, enum acc_launch_word word, int value, const void *address, int file)
{
    struct acc_launch_message message = {word, value, (uintptr_t)address};

    (void)base_packet_send(socket, &message, sizeof(message), NULL, 0, &file, file >= 0, 1);
}

/* The listener goes to the parent; no copy of it stays here, so that the parent's end is the end of it. */
static bool go_under_filter(int socket)
{
    static const uint64_t proof = ACC_LAUNCH_PROOF;
    int listener = acc_filter_install();
    char go;

    if (listener < 0) {
        say(socket, ACC_LAUNCH_REFUSED, -listener, NULL, -1);
        return false;
    }
    say(socket, ACC_LAUNCH_LISTENER, getpid(), &proof, listener);
    close(listener);
    return recv(socket, &go, sizeof(go), 0) == sizeof(go);
}

static _Noreturn void be_program(const struct acc_keeper *keeper, pid_t parent)
{
    int socket = keeper->program_socket;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
        _exit(EXIT_NOT_RUN);
    close(keeper->keeper_socket);
    if (!go_under_filter(socket))
        _exit(EXIT_NOT_RUN);
    if (!keeper->argv)
        _exit(EXIT_KEPT);
    sigaction(SIGCHLD, &keeper->child_action, NULL);
    sigprocmask(SIG_SETMASK, &keeper->mask, NULL);
    execvp(keeper->argv[0], keeper->argv);
    say(socket, ACC_LAUNCH_NOT_EXECUTED, errno, NULL, -1);
    _exit(EXIT_NOT_RUN);
}

/* The parent of a process: the second word after the name, which is in parentheses and may have any bytes. */
static pid_t parent_of(int proc, const char *process)
{
    int folder = openat(proc, process, O_PATH | O_CLOEXEC), file;
    char text[STAT_ROOM];
    const char *end;
    ssize_t size;

    if (folder < 0)
        return 0;
    file = openat(folder, "stat", O_RDONLY | O_CLOEXEC);
    close(folder);
    if (file < 0)
        return 0;
    size = read(file, text, sizeof(text) - 1);
    close(file);
    text[size > 0 ? size : 0] = 0;
    end = strrchr(text, ')');
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

/* An entry of a folder as the kernel gives it; its name follows. */
struct entry {
    uint64_t inode;
    int64_t next;
    uint16_t size; /* to the entry after it */
    uint8_t type;
};
#define ENTRY_NAME (offsetof(struct entry, type) + 1)

static void kill_children(void)
{
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t self = getpid();
    char room[FOLDER_ROOM];
    struct entry entry;
    long size;

    if (proc < 0)
        return;
    while ((size = syscall(SYS_getdents64, proc, room, sizeof(room))) > 0)
        for (long at = 0; at < size; at += entry.size) {
            const char *name = room + at + ENTRY_NAME;

            memcpy(&entry, room + at, sizeof(entry));
            if (name[0] >= '1' && name[0] <= '9' && parent_of(proc, name) == self)
                kill((pid_t)strtol(name, NULL, 10), SIGKILL);
        }
    close(proc);
}

/* Orphans of those that are killed become children, so there may be more of them each time. */
static _Noreturn void end_all(pid_t program)
{
    if (program > 0) /* 0 would be the whole process group */
        kill(program, SIGKILL);
    do
        kill_children();
    while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
    _exit(EXIT_KEPT);
}

/* False when there are no children any more. */
static bool reap(const struct acc_keeper *keeper, pid_t *program)
{
    int status;
    pid_t ended;

    while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
        if (ended == *program) {
            say(keeper->keeper_socket, ACC_LAUNCH_ENDED, status, NULL, -1);
            *program = 0;
        }
    return ended == 0;
}

/* When the program has ended and others of its processes have not, a signal is for those, which it ends. */
static bool take_signal(const struct acc_keeper *keeper, int signals, pid_t *program)
{
    struct signalfd_siginfo info;

    if (read(signals, &info, sizeof(info)) != sizeof(info))
        return true;
    if (info.ssi_signo == SIGCHLD)
        return reap(keeper, program);
    if (!*program)
        end_all(0);
    if (acc_keeper_passes(info.ssi_signo, info.ssi_code))
        kill(*program, (int)info.ssi_signo);
    return true;
}

static _Noreturn void keep(const struct acc_keeper *keeper, pid_t program)
{
    struct pollfd wait[2] = {{.fd = keeper->keeper_socket, .events = POLLIN}, {.events = POLLIN}};
    sigset_t set;

    acc_keeper_signals(&set);
    sigaddset(&set, SIGCHLD);
    wait[1].fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (wait[1].fd < 0)
        end_all(program);
    for (;;) {
        if (poll(wait, 2, -1) < 0)
            continue;
        if (wait[0].revents)
            end_all(program);
        if (wait[1].revents && !take_signal(keeper, wait[1].fd, &program))
            _exit(EXIT_KEPT);
    }
}

/* All but the standard streams and one more. */
static void close_others(int kept)
{
    if ((unsigned)kept > FIRST_OTHER)
        syscall(SYS_close_range, FIRST_OTHER, kept - 1, 0);
    syscall(SYS_close_range, kept + 1, ~0u, 0);
}

void acc_keeper_run(const struct acc_keeper *keeper)
{
    pid_t self = getpid(), program;
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_NAME, "anemone-keeper");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    program = fork();
    if (program == 0)
        be_program(keeper, self);
    close_others(keeper->keeper_socket);
    if (program < 0)
        _exit(EXIT_NOT_RUN);
    keep(keeper, program);
}
