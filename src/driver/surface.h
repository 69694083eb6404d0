/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Surfaces and intermediate buffers as a client's domain sees them: kept mapped until the client closes, the
 * surface is released, or their addresses are needed (mapping.h).
 */
#ifndef DRIVER_SURFACE_H
#define DRIVER_SURFACE_H

#include "driver/state.h"

/*
 * A surface's pages, for the client's task; put back with the platform's surface_put. kIOReturnNotPermitted
 * when it is another task's.
 */
IOReturn drv_surface_get(const struct drv_client *client, uint32_t surface, struct drv_pages *pages);
/* Copies from one, which may be of a file. The platform can do that. */
IOReturn drv_surface_read(const struct drv_client *client, uint32_t surface, uint64_t offset, void *to,
                          uint64_t bytes);
/*
 * The mapping of a surface under a usage code in the client's domain, or in the base domain for what the
 * firmware itself writes. The client has a domain already. kIOReturnBadArgument when there is no such
 * surface.
 */
IOReturn drv_surface_map(struct drv_client *client, uint32_t surface, uint32_t usage, bool base,
                         struct drv_mapping **mapping);
/* Pages of the driver's own in the client's domain. */
IOReturn drv_surface_make(struct drv_client *client, uint32_t usage, uint64_t bytes,
                          struct drv_mapping **mapping);
/* The mapping that selector 5 made at this address, or NULL. */
struct drv_mapping *drv_surface_at(struct drv_client *client, uint32_t surface, uint64_t address);

/* Pages that are mapped for the client: surfaces and buffers of the driver's own. */
uint64_t drv_surface_pages(const struct drv_client *client);

/* One use less; the unwire worker takes a stale mapping back after its last. */
void drv_surface_unuse(struct drv_client *client, struct drv_mapping *mapping);
void drv_surface_unmap(struct drv_client *client, struct drv_mapping *mapping);
/* A request or selector 5 uses a mapping of that surface. */
bool drv_surface_in_use(struct drv_client *client, uint32_t surface);
/*
 * Unmaps what is not in use, of one surface or, for 0, of all; returns how many. Buffers of the driver's own
 * stay.
 */
uint32_t drv_surface_flush(struct drv_client *client, uint32_t surface);
/*
 * For mapping.c: takes the device address away. A surface's mapping ends and is made again at its next use;
 * the driver's own pages stay, and drv_surface_place gives them an address again.
 */
void drv_surface_evict(struct drv_client *client, struct drv_mapping *mapping);
IOReturn drv_surface_place(struct drv_client *client, struct drv_mapping *mapping);
/* All of the client's. `base` too: those in the base domain. */
void drv_surface_unmap_all(struct drv_client *client, bool base);

#endif
