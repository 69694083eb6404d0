/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that a program under `anemone accel` does not make by itself: those that name a path, and
 * ioctls of DRM's type. The filter is a program for the kernel, in which every other call passes; calls of
 * another instruction set (32-bit programs) pass too, so such programs are not served.
 */
#ifndef ACCEL_FILTER_H
#define ACCEL_FILTER_H

#include <fcntl.h>
#include <linux/filter.h>
#include <stdint.h>
#include <sys/syscall.h>

enum acc_call_kind {
    ACC_CALL_OPEN,  /* `more` is flags of open */
    ACC_CALL_OPEN2, /* `more` points to a struct open_how */
    ACC_CALL_STAT,  /* `more` points to a struct stat */
    ACC_CALL_STATX, /* `more` points to a struct statx */
    ACC_CALL_ACCESS,
    ACC_CALL_READLINK,
    ACC_CALL_IOCTL,
};

/*
 * X(system call, kind, folder, path, more, at): which argument is which; -1: there is none. `at` has AT_
 * flags: with AT_EMPTY_PATH the call is about a descriptor, and passes.
 */
#define ACC_CALLS_EVERYWHERE(X)           \
    X(openat, OPEN, 0, 1, 2, -1)          \
    X(openat2, OPEN2, 0, 1, 2, -1)        \
    X(newfstatat, STAT, 0, 1, 2, 3)       \
    X(statx, STATX, 0, 1, 4, 2)           \
    X(faccessat, ACCESS, 0, 1, 2, -1)     \
    X(faccessat2, ACCESS, 0, 1, 2, 3)     \
    X(readlinkat, READLINK, 0, 1, -1, -1) \
    X(ioctl, IOCTL, -1, -1, -1, -1)
#if defined(__x86_64__)
#define ACC_CALLS(X)                \
    ACC_CALLS_EVERYWHERE(X)         \
    X(open, OPEN, -1, 0, 1, -1)     \
    X(stat, STAT, -1, 0, 1, -1)     \
    X(lstat, STAT, -1, 0, 1, -1)    \
    X(access, ACCESS, -1, 0, 1, -1) \
    X(readlink, READLINK, -1, 0, -1, -1)
#else
#define ACC_CALLS(X) ACC_CALLS_EVERYWHERE(X)
#endif

struct acc_call {
    uint32_t number; /* of the system call */
    enum acc_call_kind kind;
    int folder, path, more, at; /* arguments; -1: none */
};

/* The row of a system call; NULL for one that the filter lets pass. */
const struct acc_call *acc_filter_call(uint32_t number);

/* Instructions of the filter, at most. */
#define ACC_FILTER_MAX 96u
/* Writes the filter; how many instructions it has, 0 on an instruction set that it is not written for. */
unsigned acc_filter_write(struct sock_filter code[ACC_FILTER_MAX]);

/*
 * Puts the calling thread, and what it becomes and forks, under the filter. It cannot be undone, and takes
 * from the process the right to gain privileges by exec. Makes system calls only, so a forked child of a
 * process with threads may call it. A listener, close on exec, or a negative errno.
 */
int acc_filter_install(void);

#endif
