/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scattered runs of pages. Each run is chosen among a few candidates that the allocator gives; those not
 * chosen are given back. A run has two neighbours at most, so among three candidates one is not a
 * neighbour of the run before.
 */
#include "soc/scatter.h"

#include <errno.h>

#include "base/alloc.h"

#define CHUNK_PAGES (PR_EXTENT_BYTES_MAX / PR_PAGE_BYTES)
#define NEAREST     3u  /* candidates for chunks: enough to avoid both neighbours */
#define SHUFFLED    16u /* candidates for single pages: a choice for the generator */

struct list {
    struct pr_extent *extent;
    uint32_t count, capacity;
};

static bool list_add(struct list *list, uint64_t physical, uint64_t bytes)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity ? 2 * list->capacity : 4;
        struct pr_extent *more = base_realloc(list->extent, capacity * sizeof(*more));

        if (!more)
            return false;
        list->extent = more;
        list->capacity = capacity;
    }
    list->extent[list->count++] = (struct pr_extent){physical, bytes};
    return true;
}

/* xorshift64: 0 is its only fixed point, and is not a state here. */
static uint64_t draw(struct soc_scatter *scatter)
{
    uint64_t x = scatter->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return scatter->random = x;
}

static bool neighbours(const struct pr_extent *before, uint64_t physical, uint64_t bytes)
{
    return before && (before->physical + before->bytes == physical || physical + bytes == before->physical);
}

/* One run of `pages` pages that does not touch the run before it; false when there is none. */
static bool take_run(struct soc_scatter *scatter, struct soc_buddy *from, uint64_t base,
                     const struct pr_extent *before, uint64_t pages, uint64_t *physical)
{
    uint64_t candidate[SHUFFLED], bytes = pages * PR_PAGE_BYTES;
    unsigned wanted = scatter->random ? SHUFFLED : NEAREST, count = 0, start, chosen = SHUFFLED;

    while (count < wanted && soc_buddy_take(from, pages, &candidate[count]))
        count++;
    start = scatter->random && count ? (unsigned)(draw(scatter) % count) : 0;
    for (unsigned i = 0; i < count && chosen == SHUFFLED; i++)
        if (!neighbours(before, base + candidate[(start + i) % count] * PR_PAGE_BYTES, bytes))
            chosen = (start + i) % count;
    for (unsigned i = count; i-- > 0;)
        if (i != chosen)
            soc_buddy_give(from, candidate[i]);
    if (chosen != SHUFFLED)
        *physical = base + candidate[chosen] * PR_PAGE_BYTES;
    return chosen != SHUFFLED;
}

int soc_scatter_take(struct soc_scatter *scatter, struct soc_buddy *from, uint64_t base, uint64_t pages,
                     struct pr_extent **extent, uint32_t *count)
{
    uint64_t most = scatter->random ? 1 : CHUNK_PAGES, physical;
    struct list list = {0};

    while (pages) {
        const struct pr_extent *before = list.count ? &list.extent[list.count - 1] : NULL;
        uint64_t run = pages < most ? pages : most;

        if (!take_run(scatter, from, base, before, run, &physical)) {
            most = run / 2;
            if (!most)
                goto full;
            continue;
        }
        if (!list_add(&list, physical, run * PR_PAGE_BYTES)) {
            soc_buddy_give(from, (physical - base) / PR_PAGE_BYTES);
            goto full;
        }
        pages -= run;
    }
    *extent = list.extent;
    *count = list.count;
    return 0;
full:
    soc_scatter_give(from, base, list.extent, list.count);
    return -ENOMEM;
}

void soc_scatter_give(struct soc_buddy *to, uint64_t base, struct pr_extent *extent, uint32_t count)
{
    for (uint32_t i = count; i-- > 0;)
        soc_buddy_give(to, (extent[i].physical - base) / PR_PAGE_BYTES);
    base_free(extent);
}
