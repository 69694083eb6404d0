/* SPDX-License-Identifier: Apache-2.0 */
/* Domains 1-7 and to whom they are lent. */
#ifndef DRIVER_DOMAIN_H
#define DRIVER_DOMAIN_H

#include "driver/state.h"

/*
 * Gives the client a domain if it has none: a free one, or that of a client with nothing under way. Waits until there is one, first come, first served;
 * meanwhile the client that has held its domain longest is asked to yield. The caller holds the client busy, so that it keeps what it got.
 */
IOReturn drv_domain_lend(struct drv_client *client, struct drv_deadline *deadline);
/* Before a new request of a client that was asked to yield: waits behind those who asked. The caller does not hold the client busy. */
IOReturn drv_domain_await_turn(struct drv_client *client, struct drv_deadline *deadline);
/* The client may no longer be evicted: somebody else has to yield. */
void drv_domain_keep(struct drv_client *client);
/* Takes it back with all its mappings. */
void drv_domain_return(struct drv_client *client);
/* A domain may have become free or idle: the first in the line looks. */
void drv_domain_freed(struct drv *driver);

#endif
