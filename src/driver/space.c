/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device addresses. The list is sorted by address and its ranges do not overlap; each includes its guard
 * page. It depends only on the sequence of calls, so the same calls give the same addresses.
 */
#include "driver/space.h"

#include <errno.h>
#include <stddef.h>

#include "base/alloc.h"
#include "protocol/board.h"

struct drv_range {
    struct drv_range *next;
    uint64_t iova, bytes; /* the guard page included */
};

/* A gap for `need` bytes: the range it comes after (NULL: it comes first), and the address. */
struct gap {
    struct drv_range *after;
    uint64_t iova;
};

static bool find_gap(const struct drv_space *space, uint64_t bytes, enum drv_space_end end, struct gap *gap)
{
    uint64_t need = pr_round_up(bytes, PR_PAGE_BYTES) + PR_PAGE_BYTES, at = space->first;
    struct drv_range *after = NULL, *next = space->ranges;
    bool found = false;

    if (bytes == 0 || bytes > space->end - space->first)
        return false;
    for (;; after = next, at = after->iova + after->bytes, next = next->next) {
        uint64_t limit = next ? next->iova : space->end;

        if (limit - at >= need) {
            *gap = (struct gap){after, end == DRV_SPACE_LOW ? at : limit - need};
            found = true;
        }
        if (!next || (found && end == DRV_SPACE_LOW))
            return found;
    }
}

int drv_space_take(struct drv_space *space, uint64_t bytes, enum drv_space_end end, uint64_t *iova)
{
    struct drv_range **link, *range;
    struct gap gap = {0};

    if (!find_gap(space, bytes, end, &gap))
        return -ENOSPC;
    range = base_alloc(sizeof(*range));
    if (!range)
        return -ENOMEM;
    link = gap.after ? &gap.after->next : &space->ranges;
    *range = (struct drv_range){
        .next = *link, .iova = gap.iova, .bytes = pr_round_up(bytes, PR_PAGE_BYTES) + PR_PAGE_BYTES};
    *link = range;
    *iova = range->iova;
    return 0;
}

bool drv_space_fits(const struct drv_space *space, uint64_t bytes)
{
    struct gap gap = {0};

    return find_gap(space, bytes, DRV_SPACE_LOW, &gap);
}

uint64_t drv_space_used(const struct drv_space *space)
{
    uint64_t bytes = 0;

    for (const struct drv_range *range = space->ranges; range; range = range->next)
        bytes += range->bytes;
    return bytes;
}

void drv_space_give(struct drv_space *space, uint64_t iova)
{
    for (struct drv_range **link = &space->ranges; *link; link = &(*link)->next)
        if ((*link)->iova == iova) {
            struct drv_range *range = *link;

            *link = range->next;
            base_free(range);
            return;
        }
}

void drv_space_clear(struct drv_space *space)
{
    while (space->ranges)
        drv_space_give(space, space->ranges->iova);
}
