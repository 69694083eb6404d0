/* SPDX-License-Identifier: Apache-2.0 */
/* The list is in order of address, and ranges do not overlap: the holes are what is between two of them. */
#include "accel/space.h"

#include <errno.h>

int acc_space_place(struct acc_space *space, struct acc_range *range)
{
    struct acc_range **best = NULL;
    uint64_t at = ACC_SPACE_FIRST, best_at = 0, best_bytes = UINT64_MAX;

    if (!range->bytes)
        return -ENOSPC;
    for (struct acc_range **link = &space->first;; link = &(*link)->next) {
        uint64_t hole = (*link ? (*link)->iova : ACC_SPACE_END) - at;

        if (hole >= range->bytes && hole < best_bytes) {
            best = link;
            best_at = at;
            best_bytes = hole;
        }
        if (!*link)
            break;
        at = (*link)->iova + (*link)->bytes;
    }
    if (!best)
        return -ENOSPC;
    range->iova = (uint32_t)best_at;
    range->next = *best;
    *best = range;
    return 0;
}

struct acc_range *acc_space_remove(struct acc_space *space, uint32_t iova)
{
    struct acc_range **link = &space->first, *range;

    while (*link && (*link)->iova < iova)
        link = &(*link)->next;
    range = *link;
    if (!range || range->iova != iova)
        return NULL;
    *link = range->next;
    return range;
}

const struct acc_range *acc_space_before(const struct acc_space *space, uint32_t address)
{
    const struct acc_range *before = NULL;

    for (const struct acc_range *range = space->first; range && range->iova <= address; range = range->next)
        before = range;
    return before;
}
