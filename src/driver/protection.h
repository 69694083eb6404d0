/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page-protection layer: the owner of the memory of page tables. The mapper hands it segments; no other
 * code reads or stores a table word.
 */
#ifndef DRIVER_PROTECTION_H
#define DRIVER_PROTECTION_H

#include "driver/state.h"
#include "protocol/segment.h"

enum drv_protection_write { DRV_PROTECTION_MAP, DRV_PROTECTION_UNMAP };

/* The domain's first-level table; there is one already after a power cycle. -ENOMEM. */
int drv_protection_open(struct drv *driver, struct drv_domain *domain);
/* Frees all tables of a domain whose streams are off. */
void drv_protection_close(struct drv *driver, struct drv_domain *domain);
bool drv_protection_is_open(const struct drv_domain *domain);
/* Physical address of the first-level table of an open domain. */
uint64_t drv_protection_table(const struct drv_domain *domain);

/* Second-level tables for a range. -ENOMEM; the tables are as before then. */
int drv_protection_reserve(struct drv *driver, struct drv_domain *domain, uint64_t iova, uint64_t bytes);
/*
 * One leaf word for each segment, in reserved ranges: phys | template to map, 0 to unmap. A segment that is
 * not one page, or whose protection is not of the table, is a failed assertion.
 */
void drv_protection_write(struct drv *driver, struct drv_domain *domain, enum drv_protection_write what,
                          const struct pr_segment *segment, uint32_t count);
/*
 * Takes the second-level tables of a range that have become empty out of the first level. After the DARTs
 * were invalidated, drv_protection_free frees them.
 */
void drv_protection_detach(struct drv_domain *domain, uint64_t iova, uint64_t bytes);
void drv_protection_free(struct drv *driver, struct drv_domain *domain, uint64_t iova, uint64_t bytes);

#endif
