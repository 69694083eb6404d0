/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where mappings are in a domain's device addresses, and which of them are reclaimed when addresses or
 * page tables are short (seeds ch. 28: least recently used first, by getDartBufferFreeUpScore and the
 * FreeUpDart family). A mapping that was reclaimed is made again at its next use.
 */
#ifndef DRIVER_MAPPING_H
#define DRIVER_MAPPING_H

#include "driver/state.h"

/*
 * How good it is to reclaim a mapping: the largest goes first. 0: it stays, because a request binds it,
 * selector 5 pins it, or it has no address now. Mappings of clients with the hint `resident` come last;
 * then counts how long ago a request used it, then its size.
 */
uint64_t drv_mapping_free_up_score(const struct drv_client *client, const struct drv_mapping *mapping);
/* Reclaims the mapping of a domain with the largest score. False when there is none. */
bool drv_mapping_free_up_one(struct drv *driver, struct drv_domain *domain);
/* Reclaims until `bytes` fit in one piece. False when they do not fit without what stays. */
bool drv_mapping_free_up_bytes(struct drv *driver, struct drv_domain *domain, uint64_t bytes);
/* Reclaims all that may go. */
void drv_mapping_free_up_all(struct drv *driver, struct drv_domain *domain);

/*
 * Takes an address of the domain and maps the pages there, reclaiming others if it must. -ENOSPC when what
 * stays leaves no room, -ENOMEM, or as drv_mapper_map.
 */
int drv_mapping_place(struct drv *driver, struct drv_domain *domain, uint32_t usage,
                      const struct drv_pages *pages, enum drv_space_end end, uint64_t *iova);
/* Unmaps what drv_mapping_place has mapped. */
void drv_mapping_displace(struct drv *driver, struct drv_domain *domain, uint64_t iova, uint64_t bytes);

#endif
