/* SPDX-License-Identifier: Apache-2.0 */
/* Domains 1-7 and to whom they are lent. */
#ifndef DRIVER_DOMAIN_H
#define DRIVER_DOMAIN_H

#include "driver/state.h"

/*
 * Gives the client a domain if it has none: a free one, or that of a client with nothing under way. May wait until there is one. The caller holds the client
 * busy, so that it keeps what it got.
 */
IOReturn drv_domain_lend(struct drv_client *client);
/* Takes it back with all its mappings. */
void drv_domain_return(struct drv_client *client);
/* Something may have become free. */
void drv_domain_freed(struct drv *driver);

#endif
