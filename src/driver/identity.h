/* SPDX-License-Identifier: Apache-2.0 */
/* Callers: what they hold, and which of them are the same. A client is stamped when it is opened. */
#ifndef DRIVER_IDENTITY_H
#define DRIVER_IDENTITY_H

#include "driver/state.h"

/*
 * ANEClientInfo::create, for a client whose type is set. kIOReturnUnsupported without the entitlement to open
 * the device; a direct-path client is opened by the sandbox exception, too.
 */
IOReturn drv_identity_stamp(struct drv_client *client, const struct drv_identity *identity);

/* The client holds all of a set of enum pr_entitlement. */
static inline bool drv_identity_has(const struct drv_client *client, uint32_t entitlements)
{
    return !(entitlements & ~client->identity.entitlements);
}
/* kIOReturnNotPrivileged unless it does. */
IOReturn drv_identity_require(const struct drv_client *client, uint32_t entitlements, const char *what);
/* The same for a level of priority: 0 and 1 are reserved. */
IOReturn drv_identity_admit(const struct drv_client *client, uint32_t priority, const char *what);

/* Programs may be shared: the same task, or the same team and code-directory hash. */
bool drv_identity_equal(const struct drv_identity *a, const struct drv_identity *b);
/* Hints may be shared: the same task, or the same team. */
bool drv_identity_coalition(const struct drv_identity *a, const struct drv_identity *b);

#endif
