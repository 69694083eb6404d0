/* SPDX-License-Identifier: Apache-2.0 */
/* Quotas. The pages are counted when they are asked for: nothing on the way of a request keeps a sum. */
#include "driver/quota.h"

#include <inttypes.h>

#include "driver/block.h"
#include "driver/mapping.h"
#include "driver/program.h"

static uint64_t pages_of(uint64_t bytes)
{
    return pr_round_up(bytes, PR_PAGE_BYTES) / PR_PAGE_BYTES;
}

static uint64_t program_pages(const struct drv_program *program)
{
    const struct drv_block *block[DRV_PROGRAM_BLOCKS];
    unsigned count = drv_program_blocks(program, block);
    uint64_t pages = 0;

    for (unsigned i = 0; i < count; i++)
        pages += pages_of(drv_block_own_bytes(block[i]));
    return pages;
}

uint64_t drv_quota_pages(const struct drv_client *client)
{
    uint64_t pages = 0;

    for (unsigned i = 0; i < DRV_BUCKETS; i++)
        for (const struct drv_mapping *mapping = client->bucket[i]; mapping; mapping = mapping->next)
            pages += pages_of(mapping->bytes);
    for (const struct drv_program *program = client->driver->programs; program; program = program->next)
        if (program->owner == client)
            pages += program_pages(program);
    return pages;
}

/* A firmware with few slots leaves half of them. */
uint32_t drv_quota_programs(const struct drv *d)
{
    uint32_t slots = d->limits.programs;

    return slots > 2 * DRV_PROGRAMS_LEFT ? slots - DRV_PROGRAMS_LEFT : (slots + 1) / 2;
}

IOReturn drv_quota_check(struct drv_client *client, uint64_t bytes)
{
    struct drv *d = client->driver;

    while (drv_quota_pages(client) + pages_of(bytes) > d->page_quota)
        if (!client->domain || !drv_mapping_free_up_one(d, client->domain))
            return drv_refuse(d, kIOReturnNoResources,
                              "Client %u has %" PRIu64 " pages mapped or held and wants %" PRIu64
                              " more; the limit is %" PRIu64
                              ". Unmap memory or destroy programs, or use a second client.",
                              client->number, drv_quota_pages(client), pages_of(bytes), d->page_quota);
    return kIOReturnSuccess;
}
