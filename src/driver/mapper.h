/* SPDX-License-Identifier: Apache-2.0 */
/* The mapper: second-level page tables in DRAM, and the registers of the three DARTs. */
#ifndef DRIVER_MAPPER_H
#define DRIVER_MAPPER_H

#include "driver/state.h"

/* Numbers, streams and address spans of the eight domains. */
void drv_mapper_init(struct drv *driver);

/*
 * Maps pages in their order at an address that the caller took from a space. -ENOMEM; -EPERM for pages of the
 * firmware class outside the base domain. Nothing is mapped then.
 */
int drv_mapper_map(struct drv *driver, struct drv_domain *domain, uint32_t usage, uint64_t iova,
                   const struct drv_pages *pages);
/* Clears the entries and invalidates; the pages may be freed afterwards. */
void drv_mapper_unmap(struct drv *driver, struct drv_domain *domain, uint64_t iova, uint64_t bytes);

/* For domain.c: the streams of a domain translate through its table, or not at all. */
void drv_mapper_point_streams(struct drv *driver, const struct drv_domain *domain, bool on);
/* Returns when no DART uses an older entry of these streams. */
void drv_mapper_invalidate(struct drv *driver, uint32_t streams);
/* Reads the DART's configuration word, which decides about read-only pages. */
void drv_mapper_read_config(struct drv *driver);

#endif
