/* SPDX-License-Identifier: Apache-2.0 */
/* DRAM of the driver's own: counted pages, and blocks, which are pages mapped in the base domain. */
#ifndef DRIVER_BLOCK_H
#define DRIVER_BLOCK_H

#include "driver/state.h"

/* DRAM pages, counted in the statistics. `bytes` is rounded up to pages. */
int drv_pages_take(struct drv *driver, uint64_t bytes, uint64_t *physical, void **host);
void drv_pages_give(struct drv *driver, uint64_t physical, uint64_t bytes);

/* Pages mapped in the base domain at an address of `space`. On failure `block` is unchanged. */
int drv_block_make(struct drv *driver, struct drv_space *space, uint32_t usage, uint64_t bytes,
                   struct drv_block *block);
/* Does nothing to an empty block. */
void drv_block_drop(struct drv *driver, struct drv_block *block);
/*
 * The bytes behind a device address that the controller named; NULL unless they all are in one block it may
 * see.
 */
void *drv_block_find(struct drv *driver, uint64_t iova, uint64_t bytes);

#endif
