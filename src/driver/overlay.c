/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overlays. `pages` of the block is a list of extents made here, in the order of the bytes, of both owners;
 * `own` are the pages that are the block's alone, in the same order, and `own_page` says which those are.
 */
#include "driver/overlay.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "driver/block.h"
#include "driver/mapping.h"

struct drv_overlay_plan drv_overlay_plan_make(const struct drv_block *below)
{
    const uint32_t pages = (uint32_t)(pr_round_up(below->bytes, PR_PAGE_BYTES) / PR_PAGE_BYTES);

    return (struct drv_overlay_plan){.pages = pages, .mark = base_alloc_array(pages, sizeof(bool))};
}

void drv_overlay_plan_free(struct drv_overlay_plan *plan)
{
    base_free(plan->mark);
    plan->mark = NULL;
}

void drv_overlay_plan_mark(struct drv_overlay_plan *plan, uint64_t offset, uint64_t bytes)
{
    for (uint64_t page = offset / PR_PAGE_BYTES; page <= (offset + bytes - 1) / PR_PAGE_BYTES; page++) {
        plan->own += !plan->mark[page];
        plan->mark[page] = true;
    }
}

/* Pages of a list, one after the other. */
struct cursor {
    const struct drv_pages *pages;
    uint32_t extent;
    uint64_t offset; /* in it */
};

static uint64_t next_physical(struct cursor *cursor)
{
    const struct pr_extent *extent = &cursor->pages->extent[cursor->extent];
    const uint64_t physical = extent->physical + cursor->offset;

    cursor->offset += PR_PAGE_BYTES;
    if (cursor->offset == extent->bytes) {
        cursor->extent++;
        cursor->offset = 0;
    }
    return physical;
}

static void add_page(struct drv_pages *list, uint64_t physical)
{
    struct pr_extent *last = list->extents ? &list->extent[list->extents - 1] : NULL;

    if (last && last->physical + last->bytes == physical)
        last->bytes += PR_PAGE_BYTES;
    else
        list->extent[list->extents++] = (struct pr_extent){physical, PR_PAGE_BYTES};
    list->bytes += PR_PAGE_BYTES;
}

/* The list of both owners' pages; with `own_page` as the plan has it. */
static int list_pages(const struct drv_block *below, const struct drv_overlay_plan *plan,
                      struct drv_block *block)
{
    struct cursor from_below = {.pages = &below->pages}, from_own = {.pages = &block->own};
    uint32_t own = 0;

    block->pages.extent = base_alloc_array(plan->pages, sizeof(block->pages.extent[0]));
    block->own_page = base_alloc_array(plan->own, sizeof(block->own_page[0]));
    if (!block->pages.extent || !block->own_page)
        return -ENOMEM;
    for (uint32_t page = 0; page < plan->pages; page++) {
        const uint64_t shared = next_physical(&from_below);

        if (plan->mark[page])
            block->own_page[own++] = page;
        add_page(&block->pages, plan->mark[page] ? next_physical(&from_own) : shared);
    }
    return 0;
}

static void copy_below(const struct drv_block *below, const struct drv_block *block, uint32_t own)
{
    for (uint32_t i = 0; i < own; i++) {
        const uint64_t offset = (uint64_t)block->own_page[i] * PR_PAGE_BYTES, left = below->bytes - offset;

        memcpy((uint8_t *)block->own.host + (uint64_t)i * PR_PAGE_BYTES,
               (const uint8_t *)below->host + offset, left < PR_PAGE_BYTES ? left : PR_PAGE_BYTES);
    }
}

int drv_overlay_make(struct drv *d, const struct drv_block *below, const struct drv_overlay_plan *plan,
                     struct drv_block *block)
{
    struct drv_block made = {.bytes = below->bytes, .usage = below->usage, .own_pages = plan->own};
    int status = drv_pages_take(d, (uint64_t)plan->own * PR_PAGE_BYTES, true, &made.own);

    if (status)
        return status;
    status = list_pages(below, plan, &made);
    if (!status)
        status = drv_mapping_place(d, &d->domain[0], made.usage, &made.pages, DRV_SPACE_LOW, &made.iova);
    if (status) {
        base_free(made.pages.extent);
        base_free(made.own_page);
        drv_pages_give(d, &made.own);
        return status;
    }
    copy_below(below, &made, plan->own);
    *block = made;
    return 0;
}

int drv_overlay_remake(struct drv *d, const struct drv_block *below, const struct drv_block *unwired,
                       struct drv_block *block)
{
    struct drv_overlay_plan plan = drv_overlay_plan_make(below);
    int status = plan.mark ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < unwired->own_pages && !status; i++)
        drv_overlay_plan_mark(&plan, (uint64_t)unwired->own_page[i] * PR_PAGE_BYTES, PR_PAGE_BYTES);
    if (!status)
        status = drv_overlay_make(d, below, &plan, block);
    drv_overlay_plan_free(&plan);
    return status;
}

/* Where a page of the block is among its own. */
static uint32_t find_own(const struct drv_block *block, uint64_t page)
{
    uint32_t low = 0, high = block->own_pages;

    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;

        if (block->own_page[middle] <= page)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void drv_overlay_write(const struct drv_block *block, uint64_t offset, const void *bytes, uint64_t size)
{
    const uint8_t *from = bytes;

    while (size) {
        const uint64_t inside = offset % PR_PAGE_BYTES, room = PR_PAGE_BYTES - inside;
        const uint64_t part = size < room ? size : room;
        const uint64_t at = (uint64_t)find_own(block, offset / PR_PAGE_BYTES) * PR_PAGE_BYTES + inside;

        memcpy((uint8_t *)block->own.host + at, from, part);
        from += part;
        offset += part;
        size -= part;
    }
}
