/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table is replaced whole, under the service's lock; the machine is asked outside of it, by one thread at
 * a time, so that an older answer never replaces a newer one.
 */
#include "service/figures.h"

#include "base/alloc.h"
#include "service/peer.h"

#define CLIENTS_MAX 1024u /* as many connections as a process may have */

static const struct ane_machine_client *find(const struct ane_machine_client *clients, unsigned count,
                                             uint32_t number)
{
    for (unsigned i = 0; i < count; i++)
        if (clients[i].number == number)
            return &clients[i];
    return NULL;
}

/* Where the figures of a task's closed connections are. */
static struct svc_figures *retired_of(struct svc_service *service, uint32_t task)
{
    for (unsigned i = 0; i < SVC_ROWS; i++)
        if (service->session[i] && service->session[i]->task == task)
            return &service->session[i]->figures;
    return &service->retired;
}

/* `now` becomes the table's. */
static void replace(struct svc_service *service, struct ane_machine_client *now, unsigned count)
{
    struct svc_figures_table *table = &service->figures;

    for (unsigned i = 0; i < table->count; i++) {
        const struct ane_machine_client *old = &table->seen[i];

        if (!find(now, count, old->number)) {
            struct svc_figures *retired = retired_of(service, old->task);

            retired->requests += old->completed;
            retired->engine_ns += old->engine_ns;
        }
    }
    base_free(table->seen);
    table->seen = now;
    table->count = count;
}

void svc_figures_update(struct svc_service *service)
{
    struct ane_machine_client *now = base_alloc_array(CLIENTS_MAX, sizeof(*now));
    long count;

    if (!now)
        return;
    pthread_mutex_lock(&service->figures_lock);
    count = ane_machine_clients(service->machine, now, CLIENTS_MAX);
    pthread_mutex_lock(&service->lock);
    if (count >= 0)
        replace(service, now, count < (long)CLIENTS_MAX ? (unsigned)count : CLIENTS_MAX);
    else
        base_free(now);
    pthread_mutex_unlock(&service->lock);
    pthread_mutex_unlock(&service->figures_lock);
}

static void add_open(struct svc_figures *sum, const struct ane_machine_client *client)
{
    sum->requests += client->completed;
    sum->engine_ns += client->engine_ns;
    sum->bytes += client->bytes;
    sum->programs += client->programs;
    sum->in_flight += client->in_flight;
    if (client->queue_depth > sum->queue_depth)
        sum->queue_depth = client->queue_depth;
}

static void add_retired(struct svc_figures *sum, const struct svc_figures *retired)
{
    sum->requests += retired->requests;
    sum->engine_ns += retired->engine_ns;
}

struct svc_figures svc_figures_locked(const struct svc_service *service, uint32_t task)
{
    struct svc_figures sum = {0};

    for (unsigned i = 0; i < service->figures.count; i++)
        if (!task || service->figures.seen[i].task == task)
            add_open(&sum, &service->figures.seen[i]);
    for (unsigned i = 0; i < SVC_ROWS; i++) {
        const struct svc_peer *peer = service->session[i];

        if (peer && peer->task && (!task || peer->task == task))
            add_retired(&sum, &peer->figures);
    }
    if (!task)
        add_retired(&sum, &service->retired);
    return sum;
}

void svc_figures_end(struct svc_figures_table *table)
{
    base_free(table->seen);
    table->seen = NULL;
    table->count = 0;
}
