/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's socket: messages between a process and `anemone serve`, which plays the kernel for it.
 * Chosen: on the device this is the kernel's own call gate and mach messages.
 *
 * The socket is SOCK_SEQPACKET, so a message is whole or absent. A message is struct pr_service_header, then
 * exactly the body of its row; descriptors come with it as SCM_RIGHTS. Every message of a client is answered
 * by one reply with the same type and serial, in order. A reply with status 0 has the body of its row; any
 * other has a sentence, at most PR_SERVICE_SENTENCE bytes with its NUL. Numbers are in host byte order: both
 * ends are on one host.
 *
 * A message that breaks this format ends the session, after a reply that says which rule it broke.
 */
#ifndef PROTOCOL_SERVICE_H
#define PROTOCOL_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#define PR_SERVICE_MAGIC    0x454e4153u /* "SANE" */
#define PR_SERVICE_VERSION  1u
#define PR_SERVICE_BODY     4096u /* bytes of a body at most */
#define PR_SERVICE_SENTENCE 512u
#define PR_SERVICE_FDS      4u /* descriptors with one message, at most */

struct pr_service_header {
    uint32_t magic;
    uint16_t version; /* both ends must have the same */
    uint16_t type;    /* enum pr_service_message */
    uint32_t serial;  /* of the sender's choice; the reply has it */
    int32_t status;   /* of a reply: an IOReturn, or a negative errno where the call has one; else 0 */
    uint32_t bytes;   /* of the body */
    uint32_t reserved;
};

/*
 * Numbers of the kernel objects that a client of the service names: those that the service's process uses
 * itself, with a bit that none of a process's own have. So a process may have a machine of its own beside.
 */
#define PR_SERVICE_ENTRY_BASE   0x40000000u /* registry entries, the device among them */
#define PR_SERVICE_CONNECT_BASE 0x50000000u /* connections */
#define PR_SERVICE_SURFACE_BIT  0x80000000u /* surfaces: all that are made in the service's process have it */

/* What a session may have (chosen). */
#define PR_SERVICE_SESSIONS     128u
#define PR_SERVICE_USER         48u /* sessions of one user, the service's own user excepted */
#define PR_SERVICE_CONNECTS     64u
#define PR_SERVICE_CONNECTS_ALL 512u /* the broker's session, which has those of all its clients */
#define PR_SERVICE_SURFACES     512u
#define PR_SERVICE_BYTES_MAX    (8ull << 30) /* of the surfaces of one session, together */
#define PR_SERVICE_BROKERS      16u          /* connections to the broker */
#define PR_SERVICE_SLOTS_FREE   4u           /* slots of a session that no limit of a user counts */
/* Beside the sessions of clients. */
#define PR_SERVICE_OBSERVERS      16u
#define PR_SERVICE_OBSERVERS_USER 4u  /* of one user, the service's own user excepted */
#define PR_SERVICE_GUESTS         32u /* connections that have not said HELLO yet */
#define PR_SERVICE_HELLO_S        5u  /* seconds that one of these has for it */

/*
 * What the sessions of one user may have together, the service's own user excepted, and those of all users
 * (chosen). What the broker has for a client counts as the client's. X(id, of a user, of all, what).
 */
#define PR_SERVICE_SHARES(X)                   \
    X(SLOTS, 512u, 2048u, "served ring slots") \
    X(CONNECTS, 256u, 1024u, "connections")    \
    X(SURFACES, 1024u, 4095u, "surfaces")      \
    X(BYTES, 4u * PR_SERVICE_BYTES_MAX, PR_SERVICE_SESSIONS * PR_SERVICE_BYTES_MAX, "bytes of surfaces")
enum pr_service_share {
#define X(id, user, all, what) PR_SERVICE_SHARE_##id,
    PR_SERVICE_SHARES(X)
#undef X
        PR_SERVICE_SHARE_COUNT
};

/* A session belongs to one of these; enum pr_service_role. */
#define PR_SERVICE_ROLES(X)                                         \
    X(CLIENT, "any process: what its policy grants")                \
    X(BROKER, "the broker: opens connections for tasks of clients") \
    X(OBSERVER, "reads the status alone; has no task")
enum pr_service_role {
#define X(id, what) PR_SERVICE_ROLE_##id,
    PR_SERVICE_ROLES(X)
#undef X
        PR_SERVICE_ROLE_COUNT
};

/*
 * X(id, number, request body, reply body, descriptors in the request, in the reply, what). A body is a struct
 * below, or `none`.
 */
#define PR_SERVICE_MESSAGES(X)                                                                              \
    X(HELLO, 1, hello, welcome, 0, 1, "begins the session; first and once; the descriptor is the ring")     \
    X(OPEN, 2, open, connect, 0, 0, "IOServiceOpen")                                                        \
    X(CLOSE, 3, connect, none, 0, 0, "IOServiceClose")                                                      \
    X(SLOT, 4, slot, none, 0, 0, "the service serves this slot of the ring from now on")                    \
    X(SURFACE, 5, surface_create, surface, 0, 1, "a new surface; the descriptor is its sealed memory file") \
    X(SURFACE_RELEASE, 6, surface, none, 0, 0, "ane_surface_release")                                       \
    X(REGISTRY, 7, registry, registry_value, 0, 0, "a step of the registry")                                \
    X(BROKER, 8, none, none, 0, 1, "the descriptor is a connection to the broker (protocol/broker.h)")      \
    X(STATUS, 9, status, status_page, 0, 0, "the service and some of its clients, for `anemone top`")

enum pr_service_message {
#define X(id, number, request, reply, in, out, what) PR_SERVICE_##id = (number),
    PR_SERVICE_MESSAGES(X)
#undef X
};

struct pr_service_none {
    char nothing; /* no body: its size counts as 0 */
};

struct pr_service_hello {
    uint32_t role; /* enum pr_service_role: CLIENT or OBSERVER; the broker's socket is the service's own */
    uint32_t reserved;
};
struct pr_service_welcome {
    uint32_t task;         /* the session's task, as other messages and the broker name it */
    uint32_t entitlements; /* what the policy grants: a set of enum pr_entitlement */
    uint32_t ring_bytes;
    uint32_t slots;    /* of the ring */
    uint32_t uid, pid; /* as the service sees the caller */
    char team[32];
    uint8_t cdhash[20];
    uint32_t has_signature;
};

struct pr_service_open {
    uint32_t entry; /* a registry entry; only the device has clients */
    uint32_t type;  /* enum ane_client_type */
    uint32_t task;  /* 0: the session's own. Any other: of a client, and the session is the broker's */
    uint32_t reserved;
};
struct pr_service_connect {
    uint32_t connect;
    uint32_t reserved;
};
struct pr_service_slot {
    uint32_t slot; /* index in the ring */
    uint32_t reserved;
};
struct pr_service_surface_create {
    uint64_t bytes;
    uint32_t task; /* as in OPEN */
    uint32_t reserved;
};
struct pr_service_surface {
    uint32_t surface;
    uint32_t reserved;
};

enum pr_service_registry_step {
    PR_SERVICE_REGISTRY_FIND,  /* `key` names a service: its entry */
    PR_SERVICE_REGISTRY_ROOT,  /* of `entry` */
    PR_SERVICE_REGISTRY_CHILD, /* number `index` of `entry` */
    PR_SERVICE_REGISTRY_NAME,
    PR_SERVICE_REGISTRY_PROPERTY, /* number `index` of `entry` */
};
struct pr_service_registry {
    uint32_t entry;
    uint32_t step;
    uint32_t index;
    uint32_t reserved;
    char key[64];
};
struct pr_service_registry_value {
    uint32_t entry; /* FIND, ROOT, CHILD; 0: there is none */
    uint32_t reserved;
    char key[64];      /* NAME, PROPERTY */
    uint8_t value[80]; /* PROPERTY: struct ane_registry_value */
};

struct pr_service_status {
    uint32_t first; /* row wanted */
    uint32_t reserved;
};
/* One client: a session with what it holds in the kernel. Counters only rise; a reader subtracts. */
struct pr_service_client {
    uint32_t pid, uid, task;
    uint32_t tier; /* enum pr_broker_tier; PR_BROKER_TIERS when it has no connection to the broker */
    char executable[64];
    uint32_t connects, programs, queue_depth, in_flight;
    uint64_t requests;  /* completed */
    uint64_t engine_ns; /* virtual time of the engine */
    uint64_t bytes;     /* surfaces, programs and mappings */
    uint32_t direct;    /* it has a direct-path connection */
    uint32_t surfaces;
};
#define PR_SERVICE_STATUS_ROWS 20u
/* A caller who is neither root nor the service's user gets the counts, and rows of its own user alone. */
struct pr_service_status_page {
    uint64_t uptime_ns, now_ns; /* wall; virtual */
    uint64_t requests, engine_ns;
    uint64_t wired, pageable; /* bytes of programs in DRAM, and unwired */
    uint32_t pid, uid;        /* of the service */
    uint32_t sessions;        /* in all; of these `rows` follow */
    uint32_t broker_pid, compiler_pid;
    uint32_t broker_restarts, compiler_restarts;
    uint32_t rows;
    struct pr_service_client row[PR_SERVICE_STATUS_ROWS];
};

_Static_assert(sizeof(struct pr_service_header) == 24, "header");
_Static_assert(sizeof(struct pr_service_status_page) <= PR_SERVICE_BODY, "a body");
_Static_assert(sizeof(struct pr_service_welcome) <= PR_SERVICE_BODY, "a body");

/* Bytes of a body by its name in the table. */
#define PR_SERVICE_BYTES(body)                                              \
    (sizeof(struct pr_service_##body) == sizeof(struct pr_service_none) ? 0 \
                                                                        : sizeof(struct pr_service_##body))

#endif
