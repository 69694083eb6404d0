/* SPDX-License-Identifier: Apache-2.0 */
#include "service/advice.h"

#include <stdio.h>
#include <string.h>

#include "protocol/entitlement.h"
#include "service/peer.h"

void svc_advice_add(struct svc_peer *session, uint32_t entitlements, struct base_error *error)
{
    uint32_t missing = entitlements & ~session->grant.entitlements;
    size_t used = strlen(error->text);
    char advice[sizeof(error->text)];

    if (!missing || session->role != PR_SERVICE_ROLE_CLIENT)
        return;
    svc_policy_advice(session->service->policy, &session->identity, (unsigned)__builtin_ctz(missing), advice,
                      sizeof(advice));
    snprintf(error->text + used, sizeof(error->text) - used, "%s%s", used ? " " : "", advice);
}

void svc_advice_add_named(struct svc_peer *session, struct base_error *error)
{
    uint32_t named = 0;

#define X(id, key, capability, holders, kind) \
    if (strstr(error->text, key))             \
        named |= PR_ENTITLEMENT_BIT(id);
    PR_ENTITLEMENTS(X)
#undef X
    svc_advice_add(session, named, error);
}
