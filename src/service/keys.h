/* SPDX-License-Identifier: Apache-2.0 */
/* A set of enum pr_entitlement as the list of keys that the kernel's calls take. */
#ifndef SERVICE_KEYS_H
#define SERVICE_KEYS_H

#include <stdint.h>

#include "protocol/entitlement.h"

/* How many there are. */
static inline unsigned svc_keys_list(uint32_t set, const char *list[PR_ENTITLEMENT_COUNT])
{
    unsigned count = 0;

#define X(id, key, capability, holders, kind) \
    if (set & PR_ENTITLEMENT_BIT(id))         \
        list[count++] = key;
    PR_ENTITLEMENTS(X)
#undef X
    return count;
}

#endif
