/* SPDX-License-Identifier: Apache-2.0 */
/* DRAM of the driver's own: counted pages, and blocks, which are pages mapped in the base domain. */
#ifndef DRIVER_BLOCK_H
#define DRIVER_BLOCK_H

#include "driver/state.h"

/*
 * DRAM pages, counted in the statistics. `bytes` is rounded up to pages. Without `view` the driver cannot
 * read or write them.
 */
int drv_pages_take(struct drv *driver, uint64_t bytes, bool view, struct drv_pages *pages);
/* Nothing is left in `pages`. */
void drv_pages_give(struct drv *driver, struct drv_pages *pages);

/* Pages mapped in the base domain. On failure `block` is unchanged. */
int drv_block_make(struct drv *driver, uint32_t usage, uint64_t bytes, struct drv_block *block);
/* Writes bytes of a block, all of whose pages are its own. */
void drv_block_fill(struct drv *driver, const struct drv_block *block, uint64_t offset, const void *from,
                    uint64_t bytes);
/* Bytes of a block in pages that are its own. */
uint64_t drv_block_own_bytes(const struct drv_block *block);
/*
 * Unwires a block: its own bytes are in `saved`, a copy of drv_block_copy (NULL without memory), from now on
 * and its pages and its address are given back.
 */
void *drv_block_copy(const struct drv_block *block);
void drv_block_unwire(struct drv *driver, struct drv_block *block, void *saved);
/*
 * Makes the block that an unwired one was, at an address of its own; `below` is that of an overlay. The
 * unwired one stays as it is, and is dropped by the caller. A negative errno leaves `made` as it was.
 */
int drv_block_wire(struct drv *driver, const struct drv_block *unwired, const struct drv_block *below,
                   struct drv_block *made);
/* Does nothing to an empty block. */
void drv_block_drop(struct drv *driver, struct drv_block *block);
/*
 * The bytes behind a device address that the controller named; NULL unless they all are in one block it may
 * see.
 */
void *drv_block_find(struct drv *driver, uint64_t iova, uint64_t bytes);

#endif
