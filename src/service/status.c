/* SPDX-License-Identifier: Apache-2.0 */
#include "service/status.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "service/peer.h"
#include "service/supervisor.h"

/* A user sees processes of its own; root and the service's user see all. */
static bool may_see(const struct svc_peer *caller, const struct svc_peer *client)
{
    return !caller->uid || caller->uid == caller->service->uid || caller->uid == client->uid;
}

static bool is_client(const struct svc_peer *peer)
{
    return peer && peer->greeted && !peer->ending && peer->role == PR_SERVICE_ROLE_CLIENT;
}

/* With the service's lock held. What the broker has for the client counts as the client's. */
static void fill_row(struct svc_peer *client, struct pr_service_client *row)
{
    struct svc_figures figures = svc_figures_locked(client->service, client->task);
    struct svc_peer *broker = client->service->broker;
    struct svc_kernel_sums own, brokered = {0};
    const char *path = client->identity.executable;
    size_t length = strlen(path), room = sizeof(row->executable) - 1;

    svc_kernel_sum(&client->kernel, 0, &own);
    if (broker)
        svc_kernel_sum(&broker->kernel, client->task, &brokered);
    *row = (struct pr_service_client){.pid = (uint32_t)client->identity.pid,
                                      .uid = client->uid,
                                      .task = client->task,
                                      .tier = client->tier,
                                      .connects = own.connects + brokered.connects,
                                      .programs = figures.programs,
                                      .queue_depth = figures.queue_depth,
                                      .in_flight = figures.in_flight,
                                      .requests = figures.requests,
                                      .engine_ns = figures.engine_ns,
                                      .bytes = figures.bytes + own.bytes + brokered.bytes,
                                      .direct = own.direct != 0,
                                      .surfaces = own.surfaces + brokered.surfaces};
    snprintf(row->executable, sizeof(row->executable), "%s", path + (length > room ? length - room : 0));
}

static void fill_service(struct svc_service *service, struct pr_service_status_page *page)
{
    struct svc_figures all = svc_figures_locked(service, 0);

    page->uptime_ns = svc_service_now() - service->started_ns;
    page->requests = all.requests;
    page->engine_ns = all.engine_ns;
    page->wired = atomic_load(&service->wired);
    page->pageable = atomic_load(&service->pageable);
    page->pid = (uint32_t)getpid();
    page->uid = service->uid;
    page->sessions = svc_service_count_locked(service, PR_SERVICE_ROLE_CLIENT, (uid_t)-1);
}

static void fill_children(struct svc_supervisor *supervisor, struct pr_service_status_page *page)
{
    struct svc_supervisor_figures figures;

    svc_supervisor_figures(supervisor, &figures);
    page->broker_pid = (uint32_t)figures.broker;
    page->compiler_pid = (uint32_t)figures.compiler;
    page->broker_restarts = figures.broker_restarts;
    page->compiler_restarts = figures.compiler_restarts;
}

void svc_status_fill(const struct svc_peer *caller, uint32_t first, struct pr_service_status_page *page)
{
    struct svc_service *service = caller->service;
    uint32_t seen = 0;

    if (service->supervisor)
        fill_children(service->supervisor, page);
    page->now_ns = ane_machine_now(service->machine);
    svc_figures_update(service);
    pthread_mutex_lock(&service->lock);
    fill_service(service, page);
    for (unsigned i = 0; i < SVC_ROWS && page->rows < PR_SERVICE_STATUS_ROWS; i++)
        if (is_client(service->session[i]) && may_see(caller, service->session[i]) && seen++ >= first)
            fill_row(service->session[i], &page->row[page->rows++]);
    pthread_mutex_unlock(&service->lock);
}
