/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placing and reclaiming. Only the owner's bookkeeping decides what may go: a mapping without uses and pins
 * is bound by no request, so no access through it is under way.
 */
#include "driver/mapping.h"

#include <errno.h>
#include <inttypes.h>

#include "driver/mapper.h"
#include "driver/surface.h"

/* The score, from its most significant part down. */
#define SCORE_NOT_RESIDENT (1ull << 63)
#define SCORE_AGE_LO       20
#define SCORE_AGE_MAX      ((1ull << 42) - 1)
_Static_assert(PR_DART_PAGES < 1ull << SCORE_AGE_LO, "the pages of a mapping fit below its age");

uint64_t drv_mapping_free_up_score(const struct drv_client *client, const struct drv_mapping *mapping)
{
    uint64_t age = client->driver->serial - mapping->used + 1;

    if (mapping->uses || mapping->pins || !mapping->iova)
        return 0;
    if (age > SCORE_AGE_MAX)
        age = SCORE_AGE_MAX;
    return (client->resident ? 0 : SCORE_NOT_RESIDENT) | age << SCORE_AGE_LO |
           pr_round_up(mapping->bytes, PR_PAGE_BYTES) / PR_PAGE_BYTES;
}

/* The best of a client's mappings in a domain, if it is better than `score`. */
static bool find_best(struct drv_client *client, const struct drv_domain *domain, uint64_t *score,
                      struct drv_mapping **best)
{
    bool found = false;

    for (unsigned i = 0; i < DRV_BUCKETS; i++)
        for (struct drv_mapping *mapping = client->bucket[i]; mapping; mapping = mapping->next) {
            uint64_t of = mapping->domain == domain ? drv_mapping_free_up_score(client, mapping) : 0;

            if (of <= *score)
                continue;
            *score = of;
            *best = mapping;
            found = true;
        }
    return found;
}

bool drv_mapping_free_up_one(struct drv *d, struct drv_domain *domain)
{
    struct drv_client *owner = NULL;
    struct drv_mapping *best = NULL;
    uint64_t score = 0;

    /* Only the base domain has mappings of several clients. */
    for (struct drv_client *client = d->clients; client; client = client->next)
        if ((!domain->number || domain->client == client) && find_best(client, domain, &score, &best))
            owner = client;
    if (!owner)
        return false;
    SOC_TRACE(d->platform.trace, DRV_RECLAIM, domain->number, best->surface, best->iova, best->bytes);
    d->stats.evictions++;
    drv_surface_evict(owner, best);
    return true;
}

bool drv_mapping_free_up_bytes(struct drv *d, struct drv_domain *domain, uint64_t bytes)
{
    while (!drv_space_fits(&domain->space, bytes))
        if (!drv_mapping_free_up_one(d, domain))
            return false;
    return true;
}

void drv_mapping_free_up_all(struct drv *d, struct drv_domain *domain)
{
    while (drv_mapping_free_up_one(d, domain))
        ;
}

int drv_mapping_place(struct drv *d, struct drv_domain *domain, uint32_t usage, const struct drv_pages *pages,
                      enum drv_space_end end, uint64_t *iova)
{
    int status;

    if (!drv_mapping_free_up_bytes(d, domain, pages->bytes))
        return -ENOSPC;
    status = drv_space_take(&domain->space, pages->bytes, end, iova);
    if (status)
        return status;
    do
        status = drv_mapper_map(d, domain, usage, *iova, pages);
    while (status == -ENOMEM && drv_mapping_free_up_one(d, domain));
    if (status)
        drv_space_give(&domain->space, *iova);
    return status;
}

void drv_mapping_displace(struct drv *d, struct drv_domain *domain, uint64_t iova, uint64_t bytes)
{
    drv_mapper_unmap(d, domain, iova, bytes);
    drv_space_give(&domain->space, iova);
}
