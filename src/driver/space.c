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

int drv_space_take(struct drv_space *space, uint64_t bytes, uint64_t *iova)
{
    struct drv_range **link = &space->ranges, *range;
    uint64_t at = space->first, need;

    if (bytes == 0 || bytes > space->end - space->first)
        return -ENOSPC;
    need = pr_round_up(bytes, PR_PAGE_BYTES) + PR_PAGE_BYTES;
    for (; *link && (*link)->iova - at < need; link = &(*link)->next)
        at = (*link)->iova + (*link)->bytes;
    if (at > space->end || space->end - at < need)
        return -ENOSPC;
    range = base_alloc(sizeof(*range));
    if (!range)
        return -ENOMEM;
    *range = (struct drv_range){.next = *link, .iova = at, .bytes = need};
    *link = range;
    *iova = at;
    return 0;
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
