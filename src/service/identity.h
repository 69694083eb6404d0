/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is at the other end of a socket. Process, user and group are the kernel's word (SO_PEERCRED; a pidfd
 * where the kernel has SO_PEERPIDFD). The code-directory hash is a digest of the executable as the service
 * opens it through /proc, never of a file that the client names: a file that was replaced since the process
 * began is not what runs. Where it cannot be opened the caller has no signature; nor has a process that its
 * own user cannot look into: a set-user-ID program, or one that closed itself (PR_SET_DUMPABLE).
 *
 * What this cannot see: a user may load code of its own into any program that it starts (LD_PRELOAD, a
 * debugger). So the hash says which program a user runs; it does not protect the program from that user. And
 * the same program of two users has two code-directory hashes (chosen), or one of them could attach to
 * models of the other.
 */
#ifndef SERVICE_IDENTITY_H
#define SERVICE_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/error.h"

#define SVC_PATH 1024u
/* An executable above this has no signature (chosen): a sparse file could keep the service reading. */
#define SVC_EXECUTABLE_BYTES (512ull << 20)

struct svc_identity {
    pid_t pid;
    uid_t uid;
    gid_t gid;
    int pidfd; /* -1: this kernel has none */
    bool has_signature;
    uint8_t digest[32];        /* SHA-256 of the executable */
    uint8_t cdhash[20];        /* of digest and uid */
    char executable[SVC_PATH]; /* its path now; "" when it has none (deleted) or cannot be read */
    dev_t device;              /* of the executable: what an exec changes */
    ino_t inode;
    struct timespec modified; /* and its size: what a rewrite in place changes */
    off_t size;
    uint64_t started; /* of the process, in clock ticks since boot: what a reused pid changes */
};

/*
 * 0, or a negative errno with a sentence: -ESRCH when the process has ended already or begins another
 * executable meanwhile. Reads the executable, unless its digest is known: not for the thread that accepts.
 */
int svc_identity_take(int socket, struct svc_identity *identity, struct base_error *error);
void svc_identity_end(struct svc_identity *identity);

enum svc_identity_state {
    SVC_IDENTITY_SAME,
    SVC_IDENTITY_ENDED,    /* the process has ended; others may hold its socket */
    SVC_IDENTITY_REPLACED, /* it runs another executable (exec), or one that cannot be read any more */
};
/*
 * Whether the process is still the one that was seen. Two system calls; the executable is not read again. A
 * caller without signature may exec: it has what its user has.
 */
enum svc_identity_state svc_identity_check(const struct svc_identity *identity);

#endif
