/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's messages: between a client and the broker, between the service and the broker, and between the
 * broker and the compile service (chosen; on the device these are cross-process calls). Form, limits and
 * replies are those of protocol/service.h, with another magic. Text fields end with a NUL within the field.
 * A reply to SUBMIT with a status has its body too, before the sentence. A connection that the broker has no
 * room for gets one reply of type 0, and is closed.
 *
 * A method has the key that a caller needs, and the tier that admits it. The argument lists are those of the
 * daemon's create-instance method (facts: guide section 2).
 */
#ifndef PROTOCOL_BROKER_H
#define PROTOCOL_BROKER_H

#include <stddef.h>
#include <stdint.h>

#include "protocol/service.h"

#define PR_BROKER_MAGIC 0x454e4142u /* "BANE" */
#define PR_BROKER_KEY   65u         /* a model's identifier: SHA-256 in hexadecimal, and a NUL */
#define PR_BROKER_NAME  256u
#define PR_BROKER_FILES 64u /* weight files of an adapter: ANE_INSTANCE_WEIGHTS */

/* No body: its size counts as 0. */
struct pr_broker_none {
    char nothing;
};

/* What the broker has room for, and keeps (chosen). */
#define PR_BROKER_CLIENTS      256u           /* connections */
#define PR_BROKER_TASK         8u             /* of one process */
#define PR_BROKER_USER         64u            /* of one user, the service's own user excepted */
#define PR_BROKER_INSTANCES    128u           /* of one connection */
#define PR_BROKER_WAITING      6u             /* requests with wait events that are under way */
#define PR_BROKER_WAITING_USER 4u             /* of these, of one user */
#define PR_BROKER_MODELS       32u            /* compiled models beside those in use */
#define PR_BROKER_MODEL_BYTES  (256ull << 20) /* of these together */
#define PR_BROKER_IMAGE_BYTES  (1ull << 30)   /* of an image, or the weight files of an adapter */
/* Bytes of replies that a client has not read, as its host counts them; its next calls wait then. */
#define PR_BROKER_UNREAD 8192u

/*
 * Queue depth under contention (chosen): when several processes have sent requests within the last
 * PR_BROKER_ACTIVE_MS, each has its part of the depth of one.
 */
#define PR_BROKER_ACTIVE_MS 1000u
#define PR_BROKER_DEPTH     24u /* requests of one client at once: the driver's limit */
static inline uint32_t pr_broker_depth(uint32_t active)
{
    return active < 2 ? PR_BROKER_DEPTH : active > PR_BROKER_DEPTH ? 1 : PR_BROKER_DEPTH / active;
}

/*
 * Tiers. A client is in the first whose condition holds: it holds a key of a restricted method (RESTRICTED);
 * it belongs to another user than the service (PER_USER); any other that is admitted. So a restricted method
 * is served to the restricted tier alone, whoever the user is.
 */
#define PR_BROKER_TIER_LIST(X)                                                                          \
    X(RESTRICTED, "restricted", "holders of adapterWeight, processModelShare or aggressivePowerSaving") \
    X(PER_USER, "per-user", "clients of users other than the service's; served as by their own broker") \
    X(UNRESTRICTED, "unrestricted", "every other client that is admitted")
enum pr_broker_tier {
#define X(id, name, what) PR_BROKER_TIER_##id,
    PR_BROKER_TIER_LIST(X)
#undef X
        PR_BROKER_TIERS
};

/*
 * X(id, number, request body, reply body, descriptors in, out, key, what). The key of a method is needed
 * beside admission, which is ALLOW or ACCESS; `NONE`: admission alone. ACCESS does not admit to COMPILE.
 */
#define PR_BROKER_METHODS(X)                                                                          \
    X(COMPILE, 1, compile, model, 1, 1, ALLOW,                                                        \
      "compiles a model of the folder whose descriptor comes; the reply's descriptor is main.e5")     \
    X(LOAD, 2, load, instance, 0, 0, NONE, "makes a compiled model resident, and an instance of it")  \
    X(LOAD_IMAGE, 3, load, instance, 1, 0, RAW_IMAGES, "the same of an image without signature")      \
    X(CREATE_INSTANCE, 4, load, instance, 0, 0, NONE, "a further instance of a resident model")       \
    X(CREATE_INSTANCE_WITH_WEIGHTS, 5, adapter, instance, 1, 0, ADAPTER_WEIGHT,                       \
      "an instance that holds only its weight files; the descriptor is a memory file with them")      \
    X(RELEASE, 6, handle, none, 0, 0, NONE, "ends an instance")                                       \
    X(SUBMIT, 7, submit, submitted, 0, 0, NONE, "selector 2 through the broker")                      \
    X(PURGE, 8, purge, purged, 0, 0, NONE, "removes compiled models from the user's cache partition") \
    X(PURGE_ALL, 9, purge, purged, 0, 0, PURGE_ALL, "the same in the partitions of all users")        \
    X(INFO, 10, none, info, 0, 0, NONE, "who the caller is for the broker, and what it has")

enum pr_broker_method {
#define X(id, number, request, reply, in, out, key, what) PR_BROKER_##id = (number),
    PR_BROKER_METHODS(X)
#undef X
};

enum pr_broker_compile_flags {
    PR_BROKER_COMPILE_FORCE = 1u << 0, /* also when the cache has it */
    PR_BROKER_COMPILE_LONG = 1u << 1,  /* the longer-duration service; needs SECONDARY_COMPILER */
    PR_BROKER_COMPILE_LOOK = 1u << 2,  /* only if the cache has it; else kIOReturnNotFound */
    PR_BROKER_COMPILE_FLAGS = (1u << 3) - 1,
};
struct pr_broker_compile {
    uint32_t qos;
    uint32_t flags;            /* enum pr_broker_compile_flags */
    char name[PR_BROKER_NAME]; /* of the model in the folder: a file or a bundle's folder; no '/' */
};
struct pr_broker_model {
    char model[PR_BROKER_KEY];
    uint8_t hit; /* the cache had it */
    uint8_t reserved[6];
    uint64_t compile_ns;
    uint32_t operations, descriptors;
    uint64_t main_bytes, weights_bytes, intermediate_bytes;
    char trouble[256]; /* why the cache was not used; "" when it was */
};

enum pr_broker_load_flags {
    PR_BROKER_PRECOMPILED = 1u << 0,             /* isPreCompiled: LOAD_IMAGE sets it */
    PR_BROKER_POWER_SAVING = 1u << 1,            /* enablePowerSaving */
    PR_BROKER_AGGRESSIVE_POWER_SAVING = 1u << 2, /* needs AGGRESSIVE_POWER_SAVING and the restricted tier */
    PR_BROKER_SKIP_PREPARE = 1u << 3,            /* skipPreparePhase: the first request prepares */
    PR_BROKER_LATE_LATCH = 1u << 4,              /* enableLateLatch: refused, no source says what it does */
    PR_BROKER_KEEP_WIRED = 1u << 5,              /* opt-out of unwiring */
    PR_BROKER_SHARE = 1u << 6, /* attach to the resident model of a process with the same team and hash, or
                                  let such processes attach; needs MODEL_SHARE */
    PR_BROKER_LOAD_FLAGS = (1u << 7) - 1,
};
struct pr_broker_load {
    char model[PR_BROKER_KEY]; /* of COMPILE; LOAD_IMAGE: "" */
    uint8_t pad[7];
    uint64_t token; /* the caller's own word, returned with the instance */
    uint32_t qos;
    uint32_t flags;       /* enum pr_broker_load_flags */
    uint32_t stats_mask;  /* set to 0 for every client, as the daemon does */
    uint32_t memory_pool; /* 0; others are refused */
    uint32_t owner;       /* pid; 0 or the caller's own */
    uint32_t queue_depth; /* 0: as many as a client may have */
    char identity[32];    /* a team; "" or the caller's own */
    char cache_id[2][72]; /* cache identifiers: "" or the model's key, and "" or the caller's partition */
    char name[PR_BROKER_NAME]; /* of the instance, for messages; "" takes the model's */
};
/* One weight file: where its bytes go in the base model's weights, and where they are in the memory file. */
#define PR_BROKER_FILE_ALIGN 64u /* of both; that of struct ane_instance_weights */
struct pr_broker_file {
    uint64_t target, offset, size;
};
struct pr_broker_adapter {
    struct pr_broker_load load; /* `model` is the base-model identifier, of a resident model */
    uint32_t files;             /* 1 to PR_BROKER_FILES */
    uint32_t reserved;
    struct pr_broker_file file[PR_BROKER_FILES];
};
/* The record that the daemon returns: handles, names, port counts, a procedure, counters. */
struct pr_broker_instance {
    uint64_t instance;     /* names it to the broker */
    uint64_t program;      /* program handle: the token of requests, on a direct-path connection too */
    uint64_t intermediate; /* intermediate-buffer handle; equal for instances that share one */
    uint64_t token;        /* the caller's */
    char model[PR_BROKER_KEY];
    uint8_t tier;   /* enum pr_broker_tier */
    uint8_t shared; /* the model was resident already, for another process */
    uint8_t pad[5];
    uint32_t inputs, outputs, intermediates, procedures;
    uint64_t intermediate_bytes;
    uint32_t qos;
    uint32_t priority, queue_index; /* of the quality of service (protocol/qos.h) */
    uint32_t queue_depth;           /* granted now */
    char name[PR_BROKER_NAME];
};
struct pr_broker_handle {
    uint64_t instance;
};
struct pr_broker_submit {
    uint64_t instance;
    uint64_t doorbell;
    uint8_t request[2376]; /* struct ane_request; its token and session are the broker's to fill in */
};
struct pr_broker_submitted {
    uint8_t reply[40]; /* struct ane_request_reply; also with a status */
};
struct pr_broker_purge {
    char model[PR_BROKER_KEY]; /* "": all; what is resident stays so */
    uint8_t pad[7];
};
struct pr_broker_purged {
    uint32_t models, partitions;
    uint64_t bytes;
};
struct pr_broker_info {
    uint32_t task, uid, pid, tier;
    uint32_t entitlements, instances, queue_depth, active_clients;
    char partition[64]; /* the name of the caller's cache partition */
};

/* ---- Between the service and the broker, on the broker's first socket ---- */

/*
 * X(id, number, body, descriptors, direction, what); no replies. The service keeps a copy of the socket of
 * CLIENT, to end it with the client's session; so the broker shuts it down before it closes its own.
 */
#define PR_BROKER_NOTICES(X)                                                                               \
    X(CLIENT, 64, client, 1, TO_BROKER, "a client; the descriptor is its socket")                          \
    X(COMPILER, 65, compiler, 1, TO_BROKER, "a compile service has started; the descriptor is its socket") \
    X(TIER, 66, tier_notice, 0, TO_SERVICE, "the tier that a client was admitted to, for the status")      \
    X(ACTIVE, 67, active_notice, 0, TO_BROKER, "a client has sent requests since the service last looked")
enum pr_broker_notice {
#define X(id, number, body, descriptors, direction, what) PR_BROKER_NOTICE_##id = (number),
    PR_BROKER_NOTICES(X)
#undef X
};
struct pr_broker_client {
    uint32_t task, pid, uid, gid;
    uint32_t entitlements; /* a set of enum pr_entitlement */
    uint32_t own_user;     /* 1: the user of the service */
    uint32_t has_signature;
    uint8_t cdhash[20];
    char team[32];
    char executable[64];
};
struct pr_broker_compiler {
    uint32_t number; /* 0: the ordinary one; 1: the longer-duration one */
    uint32_t pid;
};
struct pr_broker_tier_notice {
    uint32_t task, tier;
};
struct pr_broker_active_notice {
    uint32_t task, reserved;
};

/* ---- Between the broker and a compile service ---- */

/*
 * X(id, number, request body, reply body, descriptors in, out, what). The broker has at most
 * PR_COMPILE_WORKERS compilations with a compile service, and keeps the others: a service that ends loses no
 * more. Replies come as they end, with the order's serial.
 * A model that the compiler refuses is kIOReturnBadArgument; one on which its worker ended, or used up a
 * limit, kIOReturnAborted; one that a partition does not have, kIOReturnNotFound.
 */
#define PR_COMPILE_MESSAGES(X)                                                                        \
    X(COMPILE, 128, order, model, 1, 2,                                                               \
      "the descriptor is the model's folder; the reply's are memory files: main.e5 and weights.bin")  \
    X(FIND, 129, order_find, model, 0, 2, "a model of a partition by its key, without a compilation") \
    X(PURGE, 130, order_purge, purged, 0, 0, "removes models of a partition, or of all")
enum pr_compile_message {
#define X(id, number, request, reply, in, out, what) PR_COMPILE_##id = (number),
    PR_COMPILE_MESSAGES(X)
#undef X
};
struct pr_broker_order {
    uint32_t uid, gid; /* of the client: its partition, and who the worker becomes where that is possible */
    uint32_t qos;
    uint32_t flags; /* enum pr_broker_compile_flags */
    char name[PR_BROKER_NAME];
};
struct pr_broker_order_find {
    uint32_t uid, gid;
    char model[PR_BROKER_KEY];
    uint8_t pad[7];
};
struct pr_broker_order_purge {
    uint32_t uid, gid;
    uint32_t all; /* 1: the partitions of all users */
    uint32_t reserved;
    char model[PR_BROKER_KEY];
    uint8_t pad[7];
};

/* Limits of one compilation (chosen): seconds of processor and wall time, and address space. */
#define PR_COMPILE_LIMITS(X)              \
    X(ORDINARY, 0, 60u, 120u, 8ull << 30) \
    X(LONGER_DURATION, 1, 900u, 1800u, 32ull << 30)
/*
 * Of each compile service (chosen): orders under way at once; of these, orders of one user; orders that wait
 * or are under way; bytes of a file that a worker writes; open files of a worker. Orders that wait are taken
 * by quality of service, then by arrival.
 */
#define PR_COMPILE_WORKERS      4u
#define PR_COMPILE_WORKERS_USER 3u
#define PR_COMPILE_ORDERS       128u
#define PR_COMPILE_FILE_BYTES   (4ull << 30)
#define PR_COMPILE_FILES        64u
/*
 * The wait of a client after its nth failure in a row: doubled from the first, up to the last; milliseconds.
 */
#define PR_COMPILE_BACKOFF_MS     250u
#define PR_COMPILE_BACKOFF_MAX_MS 15000u

#define PR_BROKER_BYTES(body) \
    (sizeof(struct pr_broker_##body) == sizeof(struct pr_broker_none) ? 0 : sizeof(struct pr_broker_##body))

_Static_assert(sizeof(struct pr_broker_submit) <= PR_SERVICE_BODY, "a body");
_Static_assert(sizeof(struct pr_broker_adapter) <= PR_SERVICE_BODY, "a body");
_Static_assert(sizeof(struct pr_broker_instance) <= PR_SERVICE_BODY, "a body");

#endif
