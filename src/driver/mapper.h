/* SPDX-License-Identifier: Apache-2.0 */
/* The mapper: page tables in DRAM, the domains and their streams on the three DARTs, and DRAM of the driver's own. */
#ifndef DRIVER_MAPPER_H
#define DRIVER_MAPPER_H

#include "driver/state.h"

void drv_mapper_init(struct drv *driver);
/* Makes the domain's first-level table (again after a power cycle: then it only writes the registers) and points its streams to it. */
int drv_domain_open(struct drv *driver, struct drv_domain *domain);
/* The streams stop, all tables and addresses go. */
void drv_domain_close(struct drv *driver, struct drv_domain *domain);
/* The stream a domain's processes use. */
uint32_t drv_domain_stream(const struct drv_domain *domain);

/* Maps whole pages at an address that the caller took from a space. -ENOMEM; nothing is mapped then. */
int drv_mapper_map(struct drv *driver, struct drv_domain *domain, uint32_t usage, uint64_t iova,
                   uint64_t physical, uint64_t bytes);
/* Clears the entries and invalidates; the pages may be given back afterwards. */
void drv_mapper_unmap(struct drv *driver, struct drv_domain *domain, uint64_t iova, uint64_t bytes);

/* The protection class of a usage code; 0 when there is no such code. */
uint32_t drv_usage_class(uint32_t usage);

/* DRAM pages, counted. */
int drv_pages_take(struct drv *driver, uint64_t bytes, uint64_t *physical, void **host);
void drv_pages_give(struct drv *driver, uint64_t physical, uint64_t bytes);

/* A block: pages mapped in the base domain at an address of `space`. */
int drv_block_make(struct drv *driver, struct drv_space *space, uint32_t usage, uint64_t bytes,
                   struct drv_block *block);
void drv_block_drop(struct drv *driver, struct drv_block *block);
/* The bytes behind a device address that the controller named; NULL unless they all lie in one block it may see. */
void *drv_block_find(struct drv *driver, uint64_t iova, uint64_t bytes);

/* Reads and clears the three DARTs' error registers; appends a phrase per fault to `text`. */
void drv_mapper_take_faults(struct drv *driver, char *text, size_t size);

#endif
