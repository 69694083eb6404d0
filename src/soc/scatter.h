/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scattered runs of pages: the physical memory of one buffer. Seeds ch. 28: the physical pages of a buffer
 * are scattered, and the page table makes them contiguous for the engine. So two runs that follow each other
 * in a buffer are never neighbours in physical memory, in either order; code that relies on contiguous
 * memory fails at the first boundary.
 */
#ifndef SOC_SCATTER_H
#define SOC_SCATTER_H

#include <stdint.h>

#include "protocol/board.h"
#include "soc/buddy.h"

/* How runs are chosen. All zero: runs of PR_EXTENT_BYTES_MAX, the first that are free. */
struct soc_scatter {
    uint64_t random; /* not 0: single pages, in an order from this seed; the state of the generator */
};

/*
 * Runs of `pages` pages in all, at addresses from `base`. The list is freed by soc_scatter_give. Shorter
 * runs are taken where no long one is free. -ENOMEM when the pages are used up.
 */
int soc_scatter_take(struct soc_scatter *scatter, struct soc_buddy *from, uint64_t base, uint64_t pages,
                     struct pr_extent **extent, uint32_t *count);
void soc_scatter_give(struct soc_buddy *to, uint64_t base, struct pr_extent *extent, uint32_t count);

#endif
