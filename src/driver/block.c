/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages and blocks. A block is either empty (bytes 0) or complete: pages, a device address and a mapping in
 * the base domain. Every page taken here is counted until it is given back, so the count of an idle driver
 * shows a leak.
 */
#include "driver/block.h"

#include <string.h>

#include "base/alloc.h"
#include "driver/mapping.h"
#include "driver/overlay.h"

int drv_pages_take(struct drv *d, uint64_t bytes, bool view, struct drv_pages *pages)
{
    int status = d->platform.alloc(d->platform.context, pr_round_up(bytes, PR_PAGE_BYTES), view, pages);

    if (!status)
        d->stats.pages += pages->bytes / PR_PAGE_BYTES;
    return status;
}

void drv_pages_give(struct drv *d, struct drv_pages *pages)
{
    d->stats.pages -= pages->bytes / PR_PAGE_BYTES;
    d->platform.free(d->platform.context, pages);
    memset(pages, 0, sizeof(*pages));
}

int drv_block_make(struct drv *d, uint32_t usage, uint64_t bytes, struct drv_block *block)
{
    struct drv_block made = {.bytes = bytes, .usage = usage};
    int status = drv_pages_take(d, bytes, true, &made.pages);

    if (status)
        return status;
    status = drv_mapping_place(d, &d->domain[0], usage, &made.pages, DRV_SPACE_LOW, &made.iova);
    if (status) {
        drv_pages_give(d, &made.pages);
        return status;
    }
    made.host = made.pages.host;
    *block = made;
    return 0;
}

void drv_block_fill(struct drv *d, const struct drv_block *block, uint64_t offset, const void *from,
                    uint64_t bytes)
{
    if (!d->platform.fill || !d->platform.fill(d->platform.context, &block->pages, offset, from, bytes))
        memcpy((uint8_t *)block->host + offset, from, bytes);
}

uint64_t drv_block_own_bytes(const struct drv_block *block)
{
    return block->own_page ? (uint64_t)block->own_pages * PR_PAGE_BYTES : block->bytes;
}

/* Pages and address of a wired block. */
static void give_back(struct drv *d, struct drv_block *block)
{
    drv_mapping_displace(d, &d->domain[0], block->iova, block->bytes);
    block->iova = 0;
    block->host = NULL;
    if (!block->own_page) {
        drv_pages_give(d, &block->pages);
        return;
    }
    base_free(block->pages.extent);
    memset(&block->pages, 0, sizeof(block->pages));
    drv_pages_give(d, &block->own);
}

void *drv_block_copy(const struct drv_block *block)
{
    const uint64_t bytes = drv_block_own_bytes(block);
    void *copy = base_alloc(bytes);

    if (copy)
        memcpy(copy, block->own_page ? block->own.host : block->host, bytes);
    return copy;
}

void drv_block_unwire(struct drv *d, struct drv_block *block, void *saved)
{
    give_back(d, block);
    block->saved = saved;
}

int drv_block_wire(struct drv *d, const struct drv_block *unwired, const struct drv_block *below,
                   struct drv_block *made)
{
    int status = unwired->own_page ? drv_overlay_remake(d, below, unwired, made)
                                   : drv_block_make(d, unwired->usage, unwired->bytes, made);

    if (!status)
        memcpy(made->own_page ? made->own.host : made->host, unwired->saved, drv_block_own_bytes(made));
    return status;
}

void drv_block_drop(struct drv *d, struct drv_block *block)
{
    if (!block->bytes)
        return;
    if (!block->saved)
        give_back(d, block);
    base_free(block->saved);
    base_free(block->own_page);
    memset(block, 0, sizeof(*block));
}

static void *inside_block(const struct drv_block *block, uint64_t iova, uint64_t bytes)
{
    uint64_t offset = iova - block->iova;

    if (iova < block->iova || offset > block->bytes || bytes > block->bytes - offset)
        return NULL;
    return (uint8_t *)block->host + offset;
}

void *drv_block_find(struct drv *d, uint64_t iova, uint64_t bytes)
{
    void *found = inside_block(&d->ipc, iova, bytes);

    if (!found)
        found = inside_block(&d->heap, iova, bytes);
    for (unsigned i = 0; i < DRV_SHARED_BLOCKS && !found; i++)
        found = inside_block(&d->shared_block[i], iova, bytes);
    return found;
}
