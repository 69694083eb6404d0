/* SPDX-License-Identifier: Apache-2.0 */
#include "service/worker.h"

#include <string.h>
#include <time.h>

#include "protocol/broker.h"
#include "service/log.h"
#include "service/peer.h"
#include "service/supervisor.h"
#include "service/thread.h"

#define PASS_MS     100u
#define IDLE_PASSES 10u /* a program is idle when no request has used it for a second (chosen) */
#define CHECKS      10u /* identities are checked again every so many passes */

static void reclaim(struct svc_worker *worker)
{
    struct ane_machine_residency now = {.size = sizeof(now)};

    if (ane_machine_reclaim(worker->service->machine, worker->memory, IDLE_PASSES, &now))
        return;
    atomic_store(&worker->service->wired, now.wired);
    atomic_store(&worker->service->pageable, now.pageable);
}

/* The client in a row of the table, held; NULL: there is none. */
static struct svc_peer *hold_row(struct svc_service *service, unsigned row)
{
    struct svc_peer *peer;

    pthread_mutex_lock(&service->lock);
    peer = service->session[row];
    if (peer && (!peer->greeted || peer->ending || peer->role != PR_SERVICE_ROLE_CLIENT))
        peer = NULL;
    if (peer)
        peer->holds++;
    pthread_mutex_unlock(&service->lock);
    return peer;
}

static void check_identities(struct svc_service *service)
{
    for (unsigned i = 0; i < SVC_ROWS; i++) {
        struct svc_peer *peer = hold_row(service, i);

        if (!peer)
            continue;
        switch (svc_identity_check(&peer->identity)) {
        case SVC_IDENTITY_SAME: break;
        case SVC_IDENTITY_ENDED:
            svc_peer_expel(peer, "the process has ended, and others hold its socket");
            break;
        case SVC_IDENTITY_REPLACED:
            svc_peer_expel(peer, "it runs another executable than when it connected");
            break;
        }
        svc_peer_release(peer);
    }
}

/* With the service's lock held: whether a client of the broker's has sent requests since the last report. */
static bool is_active(const struct svc_service *service, struct svc_peer *peer)
{
    struct svc_figures now;
    bool active;

    if (!peer || !peer->task || peer->tier == PR_BROKER_TIERS)
        return false;
    now = svc_figures_locked(service, peer->task);
    active = now.in_flight || now.requests != peer->reported;
    peer->reported = now.requests;
    return active;
}

/* The broker sets queue depths by who is active; it does not see requests on a client's own connections. */
static void report_active(struct svc_service *service)
{
    uint32_t task[SVC_ROWS];
    unsigned count = 0;

    pthread_mutex_lock(&service->lock);
    for (unsigned i = 0; i < SVC_ROWS; i++)
        if (is_active(service, service->session[i]))
            task[count++] = service->session[i]->task;
    pthread_mutex_unlock(&service->lock);
    for (unsigned i = 0; i < count; i++)
        svc_supervisor_report(service->supervisor, task[i]);
}

/* False when the worker stops. */
static bool wait_pass(struct svc_worker *worker)
{
    struct timespec until;
    bool stopping;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += PASS_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&worker->lock);
    if (!worker->stopping)
        pthread_cond_timedwait(&worker->changed, &worker->lock, &until);
    stopping = worker->stopping;
    pthread_mutex_unlock(&worker->lock);
    return !stopping;
}

static void *run(void *argument)
{
    struct svc_worker *worker = argument;

    for (unsigned pass = 1; wait_pass(worker); pass++) {
        reclaim(worker);
        svc_figures_update(worker->service);
        if (worker->service->supervisor)
            report_active(worker->service);
        if (pass % CHECKS == 0)
            check_identities(worker->service);
    }
    return NULL;
}

int svc_worker_start(struct svc_worker *worker, struct svc_service *service, uint64_t memory,
                     struct base_error *error)
{
    int status;

    *worker = (struct svc_worker){.service = service, .memory = memory};
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    status = svc_thread_start(&worker->thread, run, worker);
    if (status)
        return base_fail(error, -status, "The service has no thread for its worker: %s.", strerror(-status));
    return 0;
}

void svc_worker_stop(struct svc_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    worker->stopping = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    pthread_mutex_destroy(&worker->lock);
    pthread_cond_destroy(&worker->changed);
}
