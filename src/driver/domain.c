/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Domains. A domain has a first-level table exactly while it is open; domains 1-7 are open while they are
 * lent, the base domain from boot to the end. domain->client and client->domain always name each other.
 * Callers that wait are in one line; only the first takes a domain, and tries again whenever one may have
 * become free or idle. A client whose handle was given back is never evicted: its own end returns the domain.
 */
#include "driver/domain.h"

#include "driver/client.h"
#include "driver/mapper.h"
#include "driver/process.h"
#include "driver/protection.h"
#include "driver/surface.h"

uint32_t drv_domain_stream(const struct drv_domain *domain)
{
    return (uint32_t)__builtin_ctz(domain->streams);
}

int drv_domain_open(struct drv *d, struct drv_domain *domain)
{
    int status = drv_protection_open(d, domain);

    if (status)
        return status;
    drv_mapper_read_config(d);
    drv_mapper_point_streams(d, domain, true);
    drv_mapper_invalidate(d, domain->streams);
    return 0;
}

void drv_domain_close(struct drv *d, struct drv_domain *domain)
{
    if (!drv_protection_is_open(domain))
        return;
    drv_mapper_invalidate(d, domain->streams);
    drv_mapper_point_streams(d, domain, false);
    drv_protection_close(d, domain);
    drv_space_clear(&domain->space);
    domain->mappings = 0; /* those of parked processes go with the tables */
}

static struct drv_domain *find_free_domain(struct drv *d)
{
    for (unsigned i = 1; i < PR_DART_DOMAINS; i++)
        if (!d->domain[i].client)
            return &d->domain[i];
    return NULL;
}

/* Addresses that selector 5 gave out must stay valid, so such a client keeps its domain. */
static bool may_be_evicted(const struct drv_client *client)
{
    return !client->pinned && !drv_client_is_released(client);
}

/* Between two requests of its turn. A client that sends none has no turn. */
static bool has_turn(const struct drv_domain *domain)
{
    uint64_t requests = domain->client->completed - domain->completed;

    return requests && requests < DRV_TURN_REQUESTS;
}

/* Clients with an instance that is to stay wired are evicted last. */
static bool goes_before(const struct drv_domain *a, const struct drv_domain *b)
{
    bool wired[2] = {drv_process_keeps_wired(a->client), drv_process_keeps_wired(b->client)};

    return wired[0] == wired[1] ? a->lent < b->lent : wired[1];
}

/*
 * The one that has been lent longest, of clients with nothing under way or, with `busy`, of any; and without
 * a turn or, with `turns`, of any.
 */
static struct drv_domain *find_oldest_domain(struct drv *d, bool busy, bool turns)
{
    struct drv_domain *oldest = NULL;

    for (unsigned i = 1; i < PR_DART_DOMAINS; i++) {
        struct drv_domain *domain = &d->domain[i];

        if (!domain->client || !may_be_evicted(domain->client) || (domain->client->busy && !busy) ||
            (!turns && has_turn(domain)))
            continue;
        if (!oldest || goes_before(domain, oldest))
            oldest = domain;
    }
    return oldest;
}

void drv_domain_freed(struct drv *d)
{
    drv_waiter_wake_first(&d->domain_waiters);
}

void drv_domain_idle(struct drv_client *client)
{
    struct drv_waiter *first = client->driver->domain_waiters;

    if (first && (first->impatient || !client->domain || !has_turn(client->domain)))
        first->done = true;
}

/* One at a time: it is enough for the first in the line. */
static void ask_to_yield(struct drv *d, bool turns)
{
    struct drv_domain *oldest;

    for (unsigned i = 1; i < PR_DART_DOMAINS; i++)
        if (d->domain[i].client && d->domain[i].client->yielding)
            return;
    oldest = find_oldest_domain(d, true, turns);
    if (oldest)
        oldest->client->yielding = true;
}

static void stop_yielding(struct drv_client *client)
{
    client->yielding = false;
    drv_waiter_wake_client(&client->driver->domain_waiters, client);
}

void drv_domain_keep(struct drv_client *client)
{
    if (!client->yielding)
        return;
    stop_yielding(client);
    drv_domain_freed(client->driver);
}

void drv_domain_return(struct drv_client *client)
{
    struct drv_domain *domain = client->domain;

    if (!domain)
        return;
    drv_surface_unmap_all(client, false);
    SOC_TRACE(client->driver->platform.trace, DRV_DOMAIN_RETURNED, domain->number, client->number);
    client->domain = NULL;
    domain->client = NULL;
    stop_yielding(client);
    drv_domain_close(client->driver, domain);
    drv_domain_freed(client->driver);
}

static IOReturn lend_domain(struct drv_client *client, struct drv_domain *domain)
{
    struct drv *d = client->driver;

    if (drv_domain_open(d, domain))
        return drv_refuse(d, kIOReturnNoMemory, "No memory for the page table of domain %u.", domain->number);
    domain->client = client;
    domain->lent = ++d->loans;
    domain->completed = client->completed;
    client->domain = domain;
    drv_waiter_wake_client(&d->domain_waiters, client);
    SOC_TRACE(d->platform.trace, DRV_DOMAIN_LENT, domain->number, client->number, drv_domain_stream(domain));
    return kIOReturnSuccess;
}

/*
 * Its processes are parked and get a new slot with the next domain. The domain changes hands before the first
 * wait.
 */
static IOReturn evict_client(struct drv_client *victim, struct drv_client *client)
{
    struct drv_domain *domain = victim->domain;
    IOReturn result;

    victim->calls++;
    drv_process_park_all(victim);
    drv_domain_return(victim);
    result = lend_domain(client, domain);
    drv_process_terminate_parked(victim);
    drv_client_leave(victim);
    return result;
}

/* What the first in the line can do now. False: nothing yet. */
static bool try_to_lend(struct drv_client *client, struct drv_waiter *waiter, IOReturn *result)
{
    struct drv *d = client->driver;
    struct drv_domain *domain = find_free_domain(d);
    struct drv_client *victim = NULL;

    if (!domain) {
        domain = find_oldest_domain(d, false, waiter->impatient);
        victim = domain ? domain->client : NULL;
    }
    if (!domain) {
        ask_to_yield(d, waiter->impatient);
        return false;
    }
    /* Out of the line first: eviction waits, and the next in the line may find another domain meanwhile. */
    drv_waiter_remove(&d->domain_waiters, waiter);
    *result = victim ? evict_client(victim, client) : lend_domain(client, domain);
    return true;
}

static IOReturn refuse_closed(struct drv_client *client)
{
    return drv_refuse(client->driver, kIOReturnAborted, "Client %u was closed while it waited for a domain.",
                      client->number);
}

static IOReturn refuse_late(struct drv *d)
{
    return drv_refuse(d, kIOReturnTimeout,
                      "All %u domains stayed lent, to clients with work under way or with mapped memory.",
                      PR_DART_DOMAINS - 1);
}

/*
 * Those before it in the line end its wait, and the first of them waits quietly for a bounded time only. So
 * requests of others do not wake a thread each.
 */
static int wait_in_line(struct drv *d, struct drv_waiter *waiter, struct drv_deadline *deadline)
{
    int status;

    deadline->quiet = d->domain_waiters != waiter;
    status = drv_wait(d, &waiter->done, deadline);
    deadline->quiet = false;
    return status;
}

/* The first in the line, once; `steps` counts. */
static void respect_turns(struct drv *d, struct drv_waiter *waiter, unsigned *steps)
{
    struct drv_deadline step = {.quiet = true, .ns = DRV_TURN_STEP_NS};
    uint64_t completed = d->stats.completed;

    if (drv_wait(d, &waiter->done, &step))
        waiter->impatient = ++*steps == DRV_TURN_STEPS || d->stats.completed == completed;
}

IOReturn drv_domain_lend(struct drv_client *client, struct drv_deadline *deadline)
{
    struct drv *d = client->driver;
    struct drv_waiter waiter = {.client = client, .impatient = !d->platform.turns};
    IOReturn result = kIOReturnSuccess;
    unsigned steps = 0;

    if (client->domain)
        return kIOReturnSuccess;
    drv_waiter_append(&d->domain_waiters, &waiter);
    while (!client->domain) {
        if (drv_client_is_closed(client)) {
            result = refuse_closed(client);
            break;
        }
        if (d->domain_waiters == &waiter && try_to_lend(client, &waiter, &result))
            break;
        waiter.done = false;
        if (d->domain_waiters == &waiter && !waiter.impatient) {
            respect_turns(d, &waiter, &steps);
        } else if (wait_in_line(d, &waiter, deadline)) {
            result = client->domain ? kIOReturnSuccess : refuse_late(d);
            break;
        }
    }
    drv_waiter_remove(&d->domain_waiters, &waiter);
    drv_domain_freed(d);
    return result;
}

IOReturn drv_domain_await_turn(struct drv_client *client, struct drv_deadline *deadline)
{
    struct drv *d = client->driver;
    struct drv_waiter waiter = {.client = client, .impatient = !d->platform.turns};
    IOReturn result = kIOReturnSuccess;

    drv_waiter_append(&d->domain_waiters, &waiter);
    while (client->yielding && !result) {
        waiter.done = false;
        if (drv_client_is_closed(client))
            result = refuse_closed(client);
        else if (d->domain_waiters == &waiter)
            stop_yielding(client); /* those who asked have been served or have left */
        else if (wait_in_line(d, &waiter, deadline))
            result = refuse_late(d);
    }
    drv_waiter_remove(&d->domain_waiters, &waiter);
    drv_domain_freed(d);
    return result;
}
