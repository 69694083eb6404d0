/* SPDX-License-Identifier: Apache-2.0 */
/* Domains and to whom they are lent. */
#include "driver/domain.h"

#include "driver/client.h"
#include "driver/mapper.h"
#include "driver/process.h"
#include "driver/surface.h"

static struct drv_domain *find_free(struct drv *d)
{
    for (unsigned i = 1; i < PR_DART_DOMAINS; i++)
        if (!d->domain[i].client)
            return &d->domain[i];
    return NULL;
}

/* Addresses that selector 5 gave out must stay good, so such a client keeps its domain. */
static struct drv_domain *find_idle(struct drv *d)
{
    for (unsigned i = 1; i < PR_DART_DOMAINS; i++) {
        const struct drv_client *client = d->domain[i].client;

        if (!client->busy && !client->pinned)
            return &d->domain[i];
    }
    return NULL;
}

void drv_domain_freed(struct drv *d)
{
    if (d->domain_waiters)
        drv_waiter_wake(&d->domain_waiters);
}

void drv_domain_return(struct drv_client *client)
{
    struct drv_domain *domain = client->domain;

    if (!domain)
        return;
    drv_surface_unmap_all(client, false);
    drv_trace(client->driver, "domain %u taken back from client %u", domain->number, client->number);
    client->domain = NULL;
    domain->client = NULL;
    drv_domain_close(client->driver, domain);
    drv_domain_freed(client->driver);
}

static IOReturn take(struct drv_client *client, struct drv_domain *domain)
{
    struct drv *d = client->driver;

    if (drv_domain_open(d, domain))
        return drv_refuse(d, kIOReturnNoMemory, "No memory for the page table of domain %u.", domain->number);
    domain->client = client;
    client->domain = domain;
    drv_trace(d, "domain %u lent to client %u, stream %u", domain->number, client->number,
              drv_domain_stream(domain));
    return kIOReturnSuccess;
}

/* Its processes are parked and get a new slot with the next domain. The domain changes hands before anybody waits. */
static IOReturn evict(struct drv_client *victim, struct drv_client *client)
{
    struct drv_domain *domain = victim->domain;
    IOReturn result;

    victim->calls++;
    drv_process_park_all(victim);
    drv_domain_return(victim);
    result = take(client, domain);
    drv_process_terminate_parked(victim);
    drv_client_leave(victim);
    return result;
}

IOReturn drv_domain_lend(struct drv_client *client)
{
    struct drv *d = client->driver;
    uint64_t deadline = d->platform.now(d->platform.context) + client->timeout_ns;

    while (!client->domain) {
        struct drv_domain *domain = find_free(d);
        uint64_t now = d->platform.now(d->platform.context);
        struct drv_waiter waiter;

        if (domain)
            return take(client, domain);
        if (now >= deadline)
            return drv_refuse(d, kIOReturnNoResources,
                              "All %u domains are lent to clients with work under way.", PR_DART_DOMAINS - 1);
        domain = find_idle(d);
        if (domain)
            return evict(domain->client, client);
        drv_waiter_append(&d->domain_waiters, &waiter);
        drv_wait(d, &waiter.done, deadline - now);
        drv_waiter_remove(&d->domain_waiters, &waiter);
    }
    return kIOReturnSuccess;
}
