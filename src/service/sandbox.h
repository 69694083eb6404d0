/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker of the compile service may do, taken away for good from the calling process: it must have one
 * thread, and be a fork of its own. Afterwards it is the client's user where the caller was root; it reads
 * beneath one folder, reads and writes beneath another, and opens nothing else (Landlock); it makes only the
 * system calls of a list (seccomp): no network, program, process or trace; it has bounded memory, processor
 * time, files and file size, no core dump and no new privileges; and it ends when its parent ends.
 *
 * Landlock and seccomp are used where the kernel and the build have them.
 */
#ifndef SERVICE_SANDBOX_H
#define SERVICE_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Sanitizers reserve far more addresses than any limit of ours, and report on standard error: their builds
 * do not bound memory, and workers keep that descriptor.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SVC_SANDBOX_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SVC_SANDBOX_SANITIZED 1
#endif
#endif
#ifndef SVC_SANDBOX_SANITIZED
#define SVC_SANDBOX_SANITIZED 0
#endif

struct svc_sandbox {
    uid_t uid; /* who the process becomes, when it is root; else it stays who it is */
    gid_t gid;
    pid_t parent;     /* whose end is the process's end */
    int read, write;  /* descriptors of folders; -1: none */
    bool any_owner;   /* root keeps the right to change files of other users, beneath `write` */
    uint32_t seconds; /* of processor time; then SIGXCPU */
    uint64_t memory;  /* bytes of address space */
    uint64_t file_bytes;
    uint32_t files;
    int socket; /* the one that may be sent on */
    /* Called in a signal handler with the number of a call that is not allowed; then the process ends. */
    void (*forbidden)(int number);
};

/*
 * 0, or a negative errno with a sentence: a part that the kernel has failed, and the process must end.
 * -EPERM: files would be opened with the rights of another user than the client, and Landlock is missing.
 */
int svc_sandbox_enter(const struct svc_sandbox *sandbox, struct base_error *error);

/* What this kernel or build lacks of it, as whole sentences; "" when it has all. */
void svc_sandbox_missing(char *text, size_t size);
/* The name of a system call, or "" where the build has no names. */
void svc_sandbox_call_name(int number, char *name, size_t size);

#endif
