/* SPDX-License-Identifier: Apache-2.0 */
/* How many pages the driver maps or holds for one client, and the limit. */
#ifndef DRIVER_QUOTA_H
#define DRIVER_QUOTA_H

#include "driver/state.h"

/* Pages of its mappings, of its own buffers and of the programs it has created. */
uint64_t drv_quota_pages(const struct drv_client *client);
/* Programs of one client, at most: DRV_PROGRAMS_LEFT of the firmware's slots are left to others. */
uint32_t drv_quota_programs(const struct drv *driver);
/*
 * Whether the client may have so many bytes more; mappings that no request uses are reclaimed for that.
 * kIOReturnNoResources with a sentence when not.
 */
IOReturn drv_quota_check(struct drv_client *client, uint64_t bytes);

#endif
