/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One service: its machine, its policy and the sessions of its clients. `lock` guards the table of sessions,
 * the tasks in it and who acts for whom; it is never held around a call of the machine or of a socket.
 */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <anemone/iokit.h>

#include "protocol/service.h"
#include "service/figures.h"
#include "service/policy.h"
#include "service/share.h"

struct svc_peer;
struct svc_supervisor;

/* Sessions of processes; and the broker's, of which an earlier one may be ending. */
#define SVC_PROCESSES (PR_SERVICE_SESSIONS + PR_SERVICE_OBSERVERS + PR_SERVICE_GUESTS)
#define SVC_ROWS      (SVC_PROCESSES + 2u)

struct svc_service {
    struct ane_machine *machine;
    io_service_t device;
    struct svc_policy *policy;
    struct svc_supervisor *supervisor; /* NULL: without broker and compile services */
    uid_t uid;
    uint64_t started_ns;
    atomic_bool draining;             /* the service stops: new calls are refused */
    atomic_uint spinners;             /* threads of rings that spin now */
    unsigned spinners_most;           /* half of the host's processors */
    atomic_uint blessed;              /* sessions that have a place of kind SLOT */
    _Atomic uint64_t wired, pageable; /* bytes of programs, as the worker saw them last */
    struct svc_shares shares;
    pthread_mutex_t open_lock; /* around IOServiceOpen, and around a close with calls inside */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a session has ended, or is no longer held */
    struct svc_peer *session[SVC_ROWS];
    unsigned sessions;
    struct svc_peer *broker;      /* its session; NULL: it does not run */
    pthread_mutex_t figures_lock; /* taken before `lock` */
    struct svc_figures_table figures;
    struct svc_figures retired; /* of clients whose sessions have ended */
};

/* 0, or a negative errno with a sentence. `machine` and `policy` stay the caller's. */
int svc_service_init(struct svc_service *service, struct ane_machine *machine, struct svc_policy *policy,
                     struct base_error *error);
/* After the last session has ended. */
void svc_service_end(struct svc_service *service);

/* Nanoseconds of the host's monotonic clock. */
uint64_t svc_service_now(void);

/* The session whose task that is, held until svc_peer_release; NULL: there is none, or it is ending. */
struct svc_peer *svc_service_hold_task(struct svc_service *service, ane_task_t task);
/* The broker's session, held in the same way. */
struct svc_peer *svc_service_hold_broker(struct svc_service *service);
/* How many sessions of a role there are, of one user or of all (uid -1). With `lock` held. */
unsigned svc_service_count_locked(const struct svc_service *service, enum pr_service_role role, uid_t uid);

/* The broker has ended: so do the connections of all clients to it. */
void svc_service_cut_brokers(struct svc_service *service);

/* Ends every session: closes their sockets, which their threads notice. */
void svc_service_end_sessions(struct svc_service *service);
/* Waits until no session is left, or that many milliseconds; how many are left. */
unsigned svc_service_wait_sessions(struct svc_service *service, unsigned ms);
/* Calls and asynchronous requests of clients that are under way. */
unsigned svc_service_in_flight(struct svc_service *service);

#endif
