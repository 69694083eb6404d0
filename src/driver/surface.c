/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surfaces and intermediate buffers. A mapping is in a bucket of its client as long as it holds its surface,
 * or its own pages; it is mapped in its domain that long, except for own pages without an address. A stale
 * one is not found for new requests and goes when neither a request nor selector 5 uses it. The client's
 * generation changes whenever a pointer to a mapping that a process remembers may have become invalid.
 */
#include "driver/surface.h"

#include <errno.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "driver/block.h"
#include "driver/mapping.h"
#include "driver/quota.h"
#include "driver/unwire.h"
#include "driver/usage.h"

static struct drv_mapping **bucket_of(struct drv_client *client, uint32_t surface)
{
    return &client->bucket[surface % DRV_BUCKETS];
}

/*
 * An input and an output binding of one surface are two mappings: two device addresses over the same pages
 * (seeds ch. 28).
 */
static struct drv_mapping *find_mapping(struct drv_client *client, uint32_t surface, uint32_t usage,
                                        const struct drv_domain *domain)
{
    uint32_t config = client->driver->dart_config, protection = drv_usage_protection(usage, config);
    struct drv_mapping *mapping = *bucket_of(client, surface);

    for (; mapping; mapping = mapping->next)
        if (mapping->surface == surface && mapping->domain == domain && !mapping->stale &&
            drv_usage_protection(mapping->usage, config) == protection)
            break;
    return mapping;
}

static IOReturn map_refused(struct drv *d, const struct drv_domain *domain, int status, uint64_t bytes)
{
    if (status != -ENOSPC)
        return drv_refuse(d, kIOReturnNoMemory,
                          "%" PRIu64 " bytes could not be mapped: no memory for page tables.", bytes);
    return drv_refuse(d, kIOReturnNoResources,
                      "%" PRIu64 " bytes do not fit: what must be mapped at once takes %" PRIu64
                      " of the %" PRIu64 " bytes of device addresses of domain %u already.",
                      bytes, drv_space_used(&domain->space), domain->space.end - domain->space.first,
                      domain->number);
}

IOReturn drv_surface_place(struct drv_client *client, struct drv_mapping *mapping)
{
    struct drv *d = client->driver;
    int status =
        drv_mapping_place(d, mapping->domain, mapping->usage, &mapping->pages, DRV_SPACE_LOW, &mapping->iova);

    if (!status)
        return kIOReturnSuccess;
    mapping->iova = 0;
    return map_refused(d, mapping->domain, status, mapping->bytes);
}

/* Puts pages into a domain under a new record. */
static IOReturn add_mapping(struct drv_client *client, struct drv_domain *domain,
                            const struct drv_mapping *wanted, struct drv_mapping **mapping)
{
    struct drv *d = client->driver;
    struct drv_mapping *made;
    IOReturn result = drv_quota_check(client, wanted->bytes);

    if (result)
        return result;
    made = base_alloc(sizeof(*made));
    if (!made)
        return drv_refuse(d, kIOReturnNoMemory, "No memory for a mapping.");
    *made = *wanted;
    made->domain = domain;
    made->used = d->serial;
    result = drv_surface_place(client, made);
    if (result) {
        base_free(made);
        return result;
    }
    made->next = *bucket_of(client, made->surface);
    *bucket_of(client, made->surface) = made;
    d->stats.surfaces_mapped += made->surface != 0;
    *mapping = made;
    return kIOReturnSuccess;
}

/* What the platform said of a surface, as a code. */
static IOReturn refuse_access(struct drv *d, int status, const struct base_error *error)
{
    switch (status) {
    case 0: return kIOReturnSuccess;
    case -EINVAL:
    case -ENOENT: return drv_refuse(d, kIOReturnBadArgument, "%s", error->text);
    case -EPERM: return drv_refuse(d, kIOReturnNotPermitted, "%s", error->text);
    case -ENOMEM: return drv_refuse(d, kIOReturnNoMemory, "%s", error->text);
    default: return drv_refuse(d, kIOReturnNoResources, "%s", error->text);
    }
}

IOReturn drv_surface_get(const struct drv_client *client, uint32_t surface, struct drv_pages *pages)
{
    struct drv *d = client->driver;
    struct base_error error = {{0}};
    int status = d->platform.surface_get(d->platform.context, surface, client->identity.task, pages, &error);

    return refuse_access(d, status, &error);
}

IOReturn drv_surface_read(const struct drv_client *client, uint32_t surface, uint64_t offset, void *to,
                          uint64_t bytes)
{
    struct drv *d = client->driver;
    struct base_error error = {{0}};

    return refuse_access(d,
                         d->platform.surface_read(d->platform.context, surface, client->identity.task, offset,
                                                  to, bytes, &error),
                         &error);
}

/* What the platform says about a surface is checked here once; the mapper relies on it. */
static bool has_whole_pages(const struct drv_pages *pages)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < pages->extents; i++) {
        if ((pages->extent[i].physical | pages->extent[i].bytes) % PR_PAGE_BYTES)
            return false;
        bytes += pages->extent[i].bytes;
    }
    return bytes && bytes == pr_round_up(pages->bytes, PR_PAGE_BYTES);
}

IOReturn drv_surface_map(struct drv_client *client, uint32_t surface, uint32_t usage, bool base,
                         struct drv_mapping **mapping)
{
    struct drv *d = client->driver;
    struct drv_domain *domain = base ? &d->domain[0] : client->domain;
    struct drv_mapping wanted = {.surface = surface, .usage = usage};
    IOReturn result;

    *mapping = find_mapping(client, surface, usage, domain);
    if (*mapping)
        return kIOReturnSuccess;
    result = drv_surface_get(client, surface, &wanted.pages);
    if (result)
        return result;
    wanted.bytes = wanted.pages.bytes;
    if (!has_whole_pages(&wanted.pages))
        result =
            drv_refuse(d, kIOReturnBadArgument, "Surface %u is empty or does not have whole pages.", surface);
    else
        result = add_mapping(client, domain, &wanted, mapping);
    if (result)
        d->platform.surface_put(d->platform.context, surface);
    return result;
}

IOReturn drv_surface_make(struct drv_client *client, uint32_t usage, uint64_t bytes,
                          struct drv_mapping **mapping)
{
    struct drv *d = client->driver;
    struct drv_mapping wanted = {.bytes = bytes, .usage = usage};
    IOReturn result;

    if (drv_pages_take(d, bytes, false, &wanted.pages))
        return drv_refuse(d, kIOReturnNoMemory, "No memory for a buffer of %" PRIu64 " bytes.", bytes);
    result = add_mapping(client, client->domain, &wanted, mapping);
    if (result)
        drv_pages_give(d, &wanted.pages);
    return result;
}

struct drv_mapping *drv_surface_at(struct drv_client *client, uint32_t surface, uint64_t address)
{
    struct drv_mapping *mapping = *bucket_of(client, surface);

    for (; mapping; mapping = mapping->next)
        if (mapping->surface == surface && mapping->pins && address >= mapping->iova &&
            address - mapping->iova < mapping->bytes)
            break;
    return mapping;
}

uint64_t drv_surface_pages(const struct drv_client *client)
{
    uint64_t pages = 0;

    for (unsigned i = 0; i < DRV_BUCKETS; i++)
        for (const struct drv_mapping *mapping = client->bucket[i]; mapping; mapping = mapping->next)
            pages += pr_round_up(mapping->bytes, PR_PAGE_BYTES) / PR_PAGE_BYTES;
    return pages;
}

void drv_surface_unuse(struct drv_client *client, struct drv_mapping *mapping)
{
    if (--mapping->uses)
        return;
    drv_unwire_idle(client->driver, mapping);
    if (client->driver->address_waiters)
        drv_waiter_wake_client(&client->driver->address_waiters, client);
}

void drv_surface_unmap(struct drv_client *client, struct drv_mapping *mapping)
{
    struct drv *d = client->driver;
    struct drv_mapping **link = bucket_of(client, mapping->surface);

    while (*link != mapping)
        link = &(*link)->next;
    *link = mapping->next;
    client->generation++;
    if (mapping->iova)
        drv_mapping_displace(d, mapping->domain, mapping->iova, mapping->bytes);
    if (mapping->surface) {
        d->platform.surface_put(d->platform.context, mapping->surface);
        d->stats.surfaces_mapped--;
    } else {
        drv_pages_give(d, &mapping->pages);
    }
    base_free(mapping);
}

void drv_surface_evict(struct drv_client *client, struct drv_mapping *mapping)
{
    if (mapping->surface) {
        drv_surface_unmap(client, mapping);
        return;
    }
    drv_mapping_displace(client->driver, mapping->domain, mapping->iova, mapping->bytes);
    mapping->iova = 0;
    client->generation++;
}

void drv_surface_unmap_all(struct drv_client *client, bool base)
{
    for (unsigned i = 0; i < DRV_BUCKETS; i++)
        for (struct drv_mapping *mapping = client->bucket[i], *next; mapping; mapping = next) {
            next = mapping->next;
            if (base || mapping->domain->number)
                drv_surface_unmap(client, mapping);
        }
    for (struct drv_process *process = client->processes; process; process = process->next_of_client)
        for (unsigned band = 0; band < DRV_BANDS; band++)
            process->intermediate[band] = process->scratch[band] = NULL;
}

static bool is_used(const struct drv_mapping *mapping)
{
    return mapping->uses || mapping->pins;
}

bool drv_surface_in_use(struct drv_client *client, uint32_t surface)
{
    for (const struct drv_mapping *mapping = *bucket_of(client, surface); mapping; mapping = mapping->next)
        if (mapping->surface == surface && is_used(mapping))
            return true;
    return false;
}

uint32_t drv_surface_flush(struct drv_client *client, uint32_t surface)
{
    uint32_t count = 0;

    for (unsigned i = 0; i < DRV_BUCKETS; i++)
        for (struct drv_mapping *mapping = client->bucket[i], *next; mapping; mapping = next) {
            next = mapping->next;
            if (!mapping->surface || (surface && mapping->surface != surface) || is_used(mapping))
                continue;
            drv_surface_unmap(client, mapping);
            count++;
        }
    return count;
}

/* Not found any more; goes now, or with its last use. */
static void retire_mappings(struct drv_client *client, uint32_t surface)
{
    for (struct drv_mapping *mapping = *bucket_of(client, surface), *next; mapping; mapping = next) {
        next = mapping->next;
        if (mapping->surface != surface)
            continue;
        mapping->stale = true;
        client->generation++;
        if (!mapping->uses && !mapping->pins)
            drv_surface_unmap(client, mapping);
    }
}

void drv_surface_released(struct drv *d, uint32_t surface)
{
    for (struct drv_client *client = d->clients; client; client = client->next)
        retire_mappings(client, surface);
}

void drv_surface_unshared(struct drv *d, uint32_t surface, uint32_t task)
{
    for (struct drv_client *client = d->clients; client; client = client->next)
        if (client->identity.task == task)
            retire_mappings(client, surface);
}
