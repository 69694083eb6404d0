/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the soak share: which answers are allowed, the counts, the machine, and the workers. */
#ifndef TESTS_SOAK_H
#define TESTS_SOAK_H

#include "outrig.h"

/* A sanitizer's allocator may be locked in a forked child, and its runtime has mappings of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SOAK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SOAK_SANITIZED 1
#endif
#endif
#ifndef SOAK_SANITIZED
#define SOAK_SANITIZED 0
#endif

/* Operations, as they are counted; the first group answers with an IOReturn and has rules. */
#define SOAK_CALLS(X)         \
    X(OPEN, "open")           \
    X(CREATE, "create")       \
    X(PREPARE, "prepare")     \
    X(REQUEST, "request")     \
    X(UNPREPARE, "unprepare") \
    X(DESTROY, "destroy")     \
    X(MAP, "map")             \
    X(UNMAP, "unmap")         \
    X(CLOSE, "close")         \
    X(SURFACE, "surface")     \
    X(MACHINE, "machine")     \
    X(EXECUTION, "execution") \
    X(EXEC, "fork and exec")  \
    X(CHILD, "fork and machine")

enum soak_call {
#define X(id, name) SOAK_##id,
    SOAK_CALLS(X)
#undef X
        SOAK_CALLS_MAX
};

/* Who else may use a connection meanwhile. */
enum soak_state {
    SOAK_ALONE,  /* nobody: every legal call succeeds */
    SOAK_SHARED, /* threads that close it, or destroy and unprepare its programs */
    SOAK_GONE,   /* its machine has been destroyed */
};

/* Counts the call; fails unless the table allows the answer. Returns it. */
IOReturn soak_answer(enum soak_call call, enum soak_state state, IOReturn status);
void soak_count(enum soak_call call);
const char *soak_call_name(enum soak_call call);

/* Callers with different teams and hashes; 0 is the process. */
#define SOAK_TASKS 3u
struct soak {
    struct ane_machine *machine;
    io_service_t service;
    ane_task_t task[SOAK_TASKS];
    const char *program; /* this program's own file */
};

/* The workers; each takes a struct soak. Threads of each are SOAK_THREADS in all. */
#define SOAK_CREWS(X)   \
    X(soak_alone, 11)   \
    X(soak_shared, 33)  \
    X(soak_surfaces, 8) \
    X(soak_machines, 4) \
    X(soak_streams, 6)  \
    X(soak_forks, 2)
#define SOAK_THREADS 64u

#define X(function, threads) void function(struct crew_worker *worker);
SOAK_CREWS(X)
#undef X

/* The connections that soak_shared and soak_surfaces use together. */
void soak_shared_begin(const struct soak *soak);
void soak_shared_end(void);

#endif
