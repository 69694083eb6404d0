/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device addresses: ranges of whole pages handed out from one span, with an unmapped page after each. The
 * same calls give the same addresses. Buffers that come and go are taken from the low end, those that stay
 * from the high end, so that they do not break up what is between.
 */
#ifndef DRIVER_SPACE_H
#define DRIVER_SPACE_H

#include <stdbool.h>
#include <stdint.h>

struct drv_range;

struct drv_space {
    uint64_t first, end;
    struct drv_range *ranges; /* by address */
};

enum drv_space_end { DRV_SPACE_LOW, DRV_SPACE_HIGH };

/* The first gap from one end. `bytes` is rounded up to pages. -ENOMEM; -ENOSPC when no gap is that large. */
int drv_space_take(struct drv_space *space, uint64_t bytes, enum drv_space_end end, uint64_t *iova);
/* Whether there is such a gap. */
bool drv_space_fits(const struct drv_space *space, uint64_t bytes);
/* Bytes of addresses in taken ranges, guard pages included. */
uint64_t drv_space_used(const struct drv_space *space);
void drv_space_give(struct drv_space *space, uint64_t iova);
/* Forgets all ranges. */
void drv_space_clear(struct drv_space *space);

#endif
