/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callers. Entitlements are read once, when a client is opened: afterwards only the client's own set is
 * looked at. Team and code-directory hash are those of a code signature; a caller without one equals only
 * itself.
 */
#include "driver/identity.h"

#include <string.h>

/* What the levels of the system's band need. */
static const uint32_t level_needs[] = {PR_ENTITLEMENT_BIT(SYSTEM_PRIORITIES), PR_ENTITLEMENT_BIT(REALTIME)};
_Static_assert(sizeof(level_needs) / sizeof(level_needs[0]) == PR_PRIORITY_REALTIME_MAX + 1,
               "every level of the system's band is reserved");

static IOReturn refuse_open(struct drv_client *client)
{
    if (client->type == ANE_CLIENT_DIRECT_PATH)
        return drv_refuse(
            client->driver, kIOReturnUnsupported, "Direct-path client: the caller holds neither %s nor %s.",
            pr_entitlement_key(PR_ENTITLEMENT_DIRECT_CLASS), pr_entitlement_key(PR_ENTITLEMENT_OPEN));
    return drv_refuse(client->driver, kIOReturnUnsupported, "%s client: the caller does not hold %s.",
                      client->type == ANE_CLIENT_HINTS ? "Hints" : "Control",
                      pr_entitlement_key(PR_ENTITLEMENT_OPEN));
}

IOReturn drv_identity_stamp(struct drv_client *client, const struct drv_identity *identity)
{
    uint32_t opening = PR_ENTITLEMENT_BIT(OPEN);

    if (client->type == ANE_CLIENT_DIRECT_PATH)
        opening |= PR_ENTITLEMENT_BIT(DIRECT_CLASS);
    if (!(identity->entitlements & opening))
        return refuse_open(client);
    client->identity = *identity;
    return kIOReturnSuccess;
}

IOReturn drv_identity_require(const struct drv_client *client, uint32_t entitlements, const char *what)
{
    uint32_t missing = entitlements & ~client->identity.entitlements;

    if (!missing)
        return kIOReturnSuccess;
    return drv_refuse(client->driver, kIOReturnNotPrivileged,
                      "%s: client %u does not hold %s; its task must be made with it.", what, client->number,
                      pr_entitlement_key(__builtin_ctz(missing)));
}

IOReturn drv_identity_admit(const struct drv_client *client, uint32_t priority, const char *what)
{
    uint32_t missing =
        priority <= PR_PRIORITY_REALTIME_MAX ? level_needs[priority] & ~client->identity.entitlements : 0;

    if (!missing)
        return kIOReturnSuccess;
    return drv_refuse(client->driver, kIOReturnNotPrivileged,
                      "%s: priority %u is reserved, and client %u does not hold %s; use %u to %u.", what,
                      priority, client->number, pr_entitlement_key(__builtin_ctz(missing)),
                      PR_PRIORITY_REALTIME_MAX + 1, PR_PRIORITIES - 1);
}

static bool same_team(const struct drv_identity *a, const struct drv_identity *b)
{
    return a->has_signature && b->has_signature && !memcmp(a->team, b->team, sizeof(a->team));
}

bool drv_identity_equal(const struct drv_identity *a, const struct drv_identity *b)
{
    return a->task == b->task || (same_team(a, b) && !memcmp(a->cdhash, b->cdhash, sizeof(a->cdhash)));
}

bool drv_identity_coalition(const struct drv_identity *a, const struct drv_identity *b)
{
    return a->task == b->task || (a->team[0] && same_team(a, b));
}
