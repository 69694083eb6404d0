/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device addresses: ranges of whole pages handed out from one span, first fit, with an unmapped page after
 * each. The same calls give the same addresses.
 */
#ifndef DRIVER_SPACE_H
#define DRIVER_SPACE_H

#include <stdint.h>

struct drv_range;

struct drv_space {
    uint64_t first, end;
    struct drv_range *ranges; /* by address */
};

/* `bytes` is rounded up to pages. -ENOMEM, or -ENOSPC when no gap is large enough. */
int drv_space_take(struct drv_space *space, uint64_t bytes, uint64_t *iova);
void drv_space_give(struct drv_space *space, uint64_t iova);
/* Forgets all ranges. */
void drv_space_clear(struct drv_space *space);

#endif
