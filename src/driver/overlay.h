/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block over another one: pages that are to be changed are its own copies, the others are the pages of the
 * block below, mapped once more. The block below stays as long as the overlay is wired.
 */
#ifndef DRIVER_OVERLAY_H
#define DRIVER_OVERLAY_H

#include "driver/state.h"

/* Which pages of a block are to be its own. */
struct drv_overlay_plan {
    uint32_t pages; /* of the block */
    uint32_t own;   /* of those, marked */
    bool *mark;     /* by page; NULL: no memory */
};
/* Ended with drv_overlay_plan_free, also when there was no memory. */
struct drv_overlay_plan drv_overlay_plan_make(const struct drv_block *below);
void drv_overlay_plan_free(struct drv_overlay_plan *plan);
/* The range, which is inside the block, is going to be written. */
void drv_overlay_plan_mark(struct drv_overlay_plan *plan, uint64_t offset, uint64_t bytes);

/*
 * Makes a block with the bytes of the one below, mapped in the base domain; ended with drv_block_drop. A
 * negative errno leaves `block` as it was.
 */
int drv_overlay_make(struct drv *driver, const struct drv_block *below, const struct drv_overlay_plan *plan,
                     struct drv_block *block);
/* The same with the pages of an unwired overlay; what is in them is the caller's to write. */
int drv_overlay_remake(struct drv *driver, const struct drv_block *below, const struct drv_block *unwired,
                       struct drv_block *block);
/* Writes a range that was marked. */
void drv_overlay_write(const struct drv_block *block, uint64_t offset, const void *bytes, uint64_t size);

#endif
