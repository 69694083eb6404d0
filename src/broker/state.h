/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's structs. Each has a lock of its own, or belongs to one thread. No call that may wait is made
 * with a lock held, but for those of hints clients, which have one for that; a message to a compile service
 * is not sent when it would wait.
 *
 * Threads: that of brk_broker_run reads notices; one for each client serves its methods; one for each socket
 * of a compile service reads replies; the monitor sees clients leave and sets queue depths.
 */
#ifndef BROKER_STATE_H
#define BROKER_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <anemone/iokit.h>

#include "base/error.h"
#include "protocol/broker.h"
#include "protocol/entitlement.h"
#include "protocol/qos.h"

/* A connection to the kernel for a client's task. The monitor may close it under its owner: see device.h. */
struct brk_device {
    pthread_mutex_t lock;
    atomic_uint connect; /* 0: none */
    bool ended;          /* the client has left: it is not opened again */
    uint64_t session;
};

/* A compiled model in memory files; model.h. */
struct brk_model {
    struct brk_model *next;
    uint32_t uid; /* whose partition */
    struct pr_broker_model about;
    int file[2]; /* main.e5, weights.bin */
    unsigned users;
    bool purged; /* found no more; ends with its last user */
};
struct brk_models {
    pthread_mutex_t lock;
    struct brk_model *first; /* the latest use first */
};

struct brk_backoffs;

/* An order to a compile service; order.h. */
struct brk_order {
    struct brk_order *next;
    uint32_t type;  /* enum pr_compile_message */
    uint32_t index; /* of its quality of service: the least first, then arrival */
    uint32_t serial;
    union {
        struct pr_broker_order compile;
        struct pr_broker_order_find find;
        struct pr_broker_order_purge purge;
    } body;
    int folder; /* -1: none */
    enum { BRK_ORDER_QUEUED, BRK_ORDER_SENT, BRK_ORDER_ENDED, BRK_ORDER_ABANDONED } state;
    IOReturn result;
    bool blamed;                   /* after kIOReturnAborted: this order is why */
    struct brk_backoffs *backoffs; /* of a compilation: where that counts, for `who`; NULL: nowhere */
    struct pr_broker_client who;
    struct base_error error;
    union {
        struct pr_broker_model model;
        struct pr_broker_purged purged;
    } reply;
    int file[2]; /* of the reply; -1: none */
};
/* One of the compile services. */
struct brk_compiler {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int socket; /* -1: none runs */
    uint32_t serial;
    unsigned compilations; /* sent */
    unsigned readers;      /* threads */
    struct brk_order *queued, *sent;
};
#define BRK_COMPILERS 2u

/* A process with clients, for the rule of queue depths; contention.h. */
struct brk_party {
    struct brk_party *next;
    uint32_t task;
    unsigned users;
    uint64_t sent_ns;   /* its latest request; 0: none */
    uint32_t depth;     /* in force */
    io_connect_t hints; /* 0: none */
    unsigned residents; /* clients with instances */
};
struct brk_contention {
    pthread_mutex_t hints, lock; /* contention.c says which is for what */
    struct brk_party *first;
};

/* A process whose models made the compiler end; backoff.h. */
#define BRK_BACKOFFS 64u
struct brk_backoff {
    uint32_t uid, pid;
    unsigned failures;
    uint64_t until_ns;
};
struct brk_backoffs {
    pthread_mutex_t lock;
    struct brk_backoff row[BRK_BACKOFFS];
};

/* A program that processes of one identity use together; share.h. */
struct brk_share {
    struct brk_share *next;
    char model[PR_BROKER_KEY];
    char team[32];
    uint8_t cdhash[20];
    uint32_t task; /* that loaded it */
    struct brk_device device;
    uint64_t token;
    unsigned users;
    bool lost; /* the kernel has it no longer: not found */
};
struct brk_shares {
    pthread_mutex_t lock;
    struct brk_share *first;
};

struct brk_client;
struct brk_broker {
    int control;
    int wake; /* an event descriptor: the monitor looks again */
    pthread_mutex_t lock;
    pthread_cond_t left; /* a client has ended */
    pthread_cond_t turn; /* such a request has ended, or a client has left; turn.h */
    unsigned turn_waiters;
    struct brk_client *clients;
    unsigned count;
    uint64_t serial; /* of the latest client */
    bool ending;
    struct brk_models models;
    struct brk_compiler compiler[BRK_COMPILERS];
    struct brk_contention contention;
    struct brk_backoffs backoffs;
    struct brk_shares shares;
};

/* A model that is resident for a client, and what it has of it; both belong to the client's thread. */
struct brk_resident {
    struct brk_resident *next;
    char model[PR_BROKER_KEY]; /* "": an image */
    uint64_t base;             /* token of the program */
    uint64_t intermediate_bytes;
    struct brk_share *share; /* NULL: the program is the client's own */
    unsigned instances, adapters;
};
struct brk_instance {
    struct brk_instance *next;
    struct brk_resident *resident;
    bool adapter;
    bool own; /* it has a token of its own, not the base's */
    bool prepared;
    uint32_t depth; /* of its own; 0: none */
    struct pr_broker_instance about;
};

/* A connection of a client, served by a thread of its own. */
struct brk_client {
    struct brk_client *next; /* under the broker's lock, with socket, gone and waiting */
    struct brk_broker *broker;
    uint64_t serial;
    int socket;
    bool gone;    /* the monitor has seen it leave */
    bool waiting; /* it has a request with wait events under way */
    struct pr_broker_client who;
    enum pr_broker_tier tier;
    struct brk_party *party;
    struct brk_device device;
    struct brk_resident *residents;
    struct brk_instance *instances;
    unsigned count; /* of instances */
    uint64_t last;  /* the latest instance's number */
};

/* One call of a method. */
struct brk_call {
    struct brk_client *client;
    uint32_t method; /* enum pr_broker_method */
    const void *in;  /* the body, a copy */
    int descriptor;  /* of the request; -1: none. The caller of the method closes it */
    void *out;       /* the reply's body, zeroed */
    int returned;    /* the reply's descriptor, which is closed after it was sent; -1: none */
    struct base_error *error;
};

/* Writes the sentence and returns the code. */
IOReturn brk_refuse(struct base_error *error, IOReturn code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Monotonic wall time. */
uint64_t brk_now_ns(void);

#endif
