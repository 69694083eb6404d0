/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surfaces and intermediate buffers. A mapping is in a bucket of its client exactly while it is mapped in its
 * domain, and holds its surface, or its own pages, that long. A stale one is not found for new requests and
 * goes when neither a request nor selector 5 uses it. The client's generation changes whenever a pointer to a
 * mapping that a process remembers may have become invalid.
 */
#include "driver/surface.h"

#include <errno.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "driver/block.h"
#include "driver/mapper.h"
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
    struct drv_mapping *mapping = *bucket_of(client, surface);

    for (; mapping; mapping = mapping->next)
        if (mapping->surface == surface && mapping->domain == domain && !mapping->stale &&
            drv_usage_class(mapping->usage) == drv_usage_class(usage))
            break;
    return mapping;
}

static IOReturn map_refused(struct drv *d, int status, uint64_t bytes)
{
    return drv_refuse(d, status == -ENOSPC ? kIOReturnNoResources : kIOReturnNoMemory,
                      "%" PRIu64 " bytes could not be mapped: %s.", bytes,
                      status == -ENOSPC ? "the client's device addresses are used up"
                                        : "no memory for page tables");
}

/* Puts pages into a domain under a new record. */
static IOReturn add_mapping(struct drv_client *client, struct drv_domain *domain,
                            const struct drv_mapping *wanted, struct drv_mapping **mapping)
{
    struct drv *d = client->driver;
    struct drv_mapping *made = base_alloc(sizeof(*made));
    int status;

    if (!made)
        return drv_refuse(d, kIOReturnNoMemory, "No memory for a mapping.");
    *made = *wanted;
    made->domain = domain;
    status = drv_space_take(&domain->space, made->bytes, &made->iova);
    if (status)
        goto no_address;
    status = drv_mapper_map(d, domain, made->usage, made->iova, made->physical, made->bytes);
    if (status)
        goto not_mapped;
    made->next = *bucket_of(client, made->surface);
    *bucket_of(client, made->surface) = made;
    d->stats.surfaces_mapped += made->surface != 0;
    *mapping = made;
    return kIOReturnSuccess;

not_mapped:
    drv_space_give(&domain->space, made->iova);
no_address:
    base_free(made);
    return map_refused(d, status, wanted->bytes);
}

IOReturn drv_surface_get(const struct drv_client *client, uint32_t surface, uint64_t *physical,
                         uint64_t *bytes)
{
    struct drv *d = client->driver;
    struct base_error error = {{0}};
    int status =
        d->platform.surface_get(d->platform.context, surface, client->identity.task, physical, bytes, &error);

    switch (status) {
    case 0: return kIOReturnSuccess;
    case -ENOENT: return drv_refuse(d, kIOReturnBadArgument, "%s", error.text);
    case -EPERM: return drv_refuse(d, kIOReturnNotPermitted, "%s", error.text);
    case -ENOMEM: return drv_refuse(d, kIOReturnNoMemory, "%s", error.text);
    default: return drv_refuse(d, kIOReturnNoResources, "%s", error.text);
    }
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
    result = drv_surface_get(client, surface, &wanted.physical, &wanted.bytes);
    if (result)
        return result;
    if (wanted.bytes == 0 || wanted.physical % PR_PAGE_BYTES)
        result =
            drv_refuse(d, kIOReturnBadArgument, "Surface %u is empty or does not begin on a page.", surface);
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
    void *host;

    if (drv_pages_take(d, bytes, &wanted.physical, &host))
        return drv_refuse(d, kIOReturnNoMemory, "No memory for a buffer of %" PRIu64 " bytes.", bytes);
    result = add_mapping(client, client->domain, &wanted, mapping);
    if (result)
        drv_pages_give(d, wanted.physical, bytes);
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

void drv_surface_unuse(struct drv_client *client, struct drv_mapping *mapping)
{
    if (--mapping->uses == 0 && mapping->stale && !mapping->pins)
        drv_surface_unmap(client, mapping);
}

void drv_surface_unmap(struct drv_client *client, struct drv_mapping *mapping)
{
    struct drv *d = client->driver;
    struct drv_mapping **link = bucket_of(client, mapping->surface);

    while (*link != mapping)
        link = &(*link)->next;
    *link = mapping->next;
    client->generation++;
    drv_mapper_unmap(d, mapping->domain, mapping->iova, mapping->bytes);
    drv_space_give(&mapping->domain->space, mapping->iova);
    if (mapping->surface) {
        d->platform.surface_put(d->platform.context, mapping->surface);
        d->stats.surfaces_mapped--;
    } else {
        drv_pages_give(d, mapping->physical, mapping->bytes);
    }
    base_free(mapping);
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

void drv_surface_released(struct drv *d, uint32_t surface)
{
    for (struct drv_client *client = d->clients; client; client = client->next)
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
