/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One order of the compile service, carried out in a process of its own: the one process that reads what a
 * client has made. What it sends back is as little to be trusted as a client: svc_work_check decides.
 */
#ifndef SERVICE_COMPILE_WORKER_H
#define SERVICE_COMPILE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "protocol/broker.h"

enum svc_work_kind {
    SVC_WORK_COMPILE,
    SVC_WORK_FIND,
    SVC_WORK_PURGE,     /* one partition */
    SVC_WORK_PURGE_ALL, /* `partition` is the folder of all */
    SVC_WORK_TIDY,      /* removes what a worker that was ended has left */
};

#define SVC_WORK_FILES 2u
struct svc_work {
    enum svc_work_kind kind;
    uint32_t uid, gid; /* of the client; the partition's */
    uint32_t qos;
    bool force;
    bool look;                 /* COMPILE: only if the cache has it */
    char name[PR_BROKER_NAME]; /* of the model in `folder` */
    char model[PR_BROKER_KEY]; /* FIND, PURGE; "": all */
    int folder, partition;     /* descriptors; -1: none */
    /* COMPILE, FIND: memory files for main.e5 and weights.bin, which the service makes and seals; else -1 */
    int files[SVC_WORK_FILES];
};

/* What it may use: a row of PR_COMPILE_LIMITS. */
struct svc_work_limits {
    uint32_t processor_s, wall_s;
    uint64_t memory;
};

struct svc_work_result {
    int32_t status;    /* an IOReturn; with 0 COMPILE and FIND have written both files */
    int32_t forbidden; /* the number of a system call that is not allowed, where that ended it; else -1 */
    char sentence[PR_SERVICE_SENTENCE];
    struct pr_broker_model model;
    struct pr_broker_purged purged;
};

/*
 * What a worker does, once it is confined; the descriptors of `work` are those of the worker. A test puts
 * others in its place.
 */
typedef void (*svc_work_body)(const struct svc_work *work, struct svc_work_result *result);
void svc_work_do(const struct svc_work *work, struct svc_work_result *result);

/*
 * In a forked process with one thread, whose parent is `parent`: closes every other descriptor, enters the
 * sandbox, carries out the work and sends the result on the socket. Ends the process.
 */
_Noreturn void svc_work_run(const struct svc_work *work, const struct svc_work_limits *limits,
                            svc_work_body body, int socket, int parent);

/*
 * Whether a result that came from a worker, which has ended, may be passed on: texts end, the key is one, and
 * that of FIND, the files have the sizes that are stated. They are sealed here, and control characters of
 * texts are replaced.
 */
bool svc_work_check(const struct svc_work *work, struct svc_work_result *result);

#endif
