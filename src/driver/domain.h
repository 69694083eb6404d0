/* SPDX-License-Identifier: Apache-2.0 */
/* Domains: their streams and first-level tables, and to which clients domains 1-7 are lent. */
#ifndef DRIVER_DOMAIN_H
#define DRIVER_DOMAIN_H

#include "driver/state.h"

/* The stream a domain's processes use. */
uint32_t drv_domain_stream(const struct drv_domain *domain);
/*
 * Makes the domain's first-level table and points its streams to it. After a power cycle the table exists
 * already; only the registers are written then.
 */
int drv_domain_open(struct drv *driver, struct drv_domain *domain);
/* Stops the streams and frees all tables and addresses. */
void drv_domain_close(struct drv *driver, struct drv_domain *domain);

/*
 * Gives the client a domain if it has none: a free one, or that of a client with nothing under way and
 * without a turn (DRV_TURN_REQUESTS). Waits until there is one, first come, first served; meanwhile the
 * client that has held its domain longest is asked to yield. The caller holds the client busy, so that it
 * keeps what it got.
 */
IOReturn drv_domain_lend(struct drv_client *client, struct drv_deadline *deadline);
/*
 * Before a new request of a client that was asked to yield: waits behind those who asked. The caller does not
 * hold the client busy.
 */
IOReturn drv_domain_await_turn(struct drv_client *client, struct drv_deadline *deadline);
/* The client may no longer be evicted: another one has to yield. */
void drv_domain_keep(struct drv_client *client);
/* Takes it back with all its mappings. */
void drv_domain_return(struct drv_client *client);
/* The client has nothing under way: unless it has its turn, the first in the line tries again. */
void drv_domain_idle(struct drv_client *client);
/* A domain may have become free: the first in the line tries again. */
void drv_domain_freed(struct drv *driver);

#endif
