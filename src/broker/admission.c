/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission. What a client holds was read by the service when its session began, and does not change: a
 * check is a test of bits. A restricted method has a key that puts its holders into the restricted tier, so
 * the key and the tier are one check.
 */
#include "broker/admission.h"

#include <string.h>

#include "base/array.h"

#define KEY_NONE           0u
#define KEY_ALLOW          PR_ENTITLEMENT_BIT(ALLOW)
#define KEY_RAW_IMAGES     PR_ENTITLEMENT_BIT(RAW_IMAGES)
#define KEY_ADAPTER_WEIGHT PR_ENTITLEMENT_BIT(ADAPTER_WEIGHT)
#define KEY_PURGE_ALL      PR_ENTITLEMENT_BIT(PURGE_ALL)
static const struct brk_method methods[] = {
#define X(id, number, request, reply, in, out, key, what) \
    {number, #id, PR_BROKER_BYTES(request), PR_BROKER_BYTES(reply), in, out, KEY_##key},
    PR_BROKER_METHODS(X)
#undef X
};

#define ADMISSION (PR_ENTITLEMENT_BIT(ALLOW) | PR_ENTITLEMENT_BIT(ACCESS))
#define RESTRICTED                                                          \
    (PR_ENTITLEMENT_BIT(ADAPTER_WEIGHT) | PR_ENTITLEMENT_BIT(MODEL_SHARE) | \
     PR_ENTITLEMENT_BIT(AGGRESSIVE_POWER_SAVING))

const struct brk_method *brk_admission_method(uint32_t number)
{
    for (size_t i = 0; i < BASE_COUNT_OF(methods); i++)
        if (methods[i].number == number)
            return &methods[i];
    return NULL;
}

enum pr_broker_tier brk_admission_tier(const struct pr_broker_client *who)
{
    if (who->entitlements & RESTRICTED)
        return PR_BROKER_TIER_RESTRICTED;
    return who->own_user ? PR_BROKER_TIER_UNRESTRICTED : PR_BROKER_TIER_PER_USER;
}

/* A path that was cut to its field names another file, and one with a blank is not a word of a policy. */
static bool is_whole_path(const struct pr_broker_client *who)
{
    size_t length = strnlen(who->executable, sizeof(who->executable));

    return who->executable[0] == '/' && length + 1 < sizeof(who->executable) &&
           !strpbrk(who->executable, " \t\"#");
}

static IOReturn refuse_without(const struct pr_broker_client *who, unsigned key, const char *what,
                               struct base_error *error)
{
    if (is_whole_path(who))
        return brk_refuse(
            error, kIOReturnNotPrivileged,
            "%s: process %u of user %u does not hold %s. These lines of a policy file grant it: "
            "\"match uid %u path %s\", \"allow %s\".",
            what, who->pid, who->uid, pr_entitlement_key(key), who->uid, who->executable,
            pr_entitlement_key(key));
    return brk_refuse(error, kIOReturnNotPrivileged,
                      "%s: process %u of user %u does not hold %s. These lines of a policy file grant it: "
                      "\"match uid %u\", \"allow %s\".",
                      what, who->pid, who->uid, pr_entitlement_key(key), who->uid, pr_entitlement_key(key));
}

IOReturn brk_admission_connect(const struct pr_broker_client *who, struct base_error *error)
{
    if (who->entitlements & ADMISSION)
        return kIOReturnSuccess;
    return refuse_without(who, PR_ENTITLEMENT_ALLOW, "Connection to the broker", error);
}

IOReturn brk_admission_require(const struct pr_broker_client *who, uint32_t needed, const char *what,
                               struct base_error *error)
{
    uint32_t missing = needed & ~who->entitlements;

    return missing ? refuse_without(who, (unsigned)__builtin_ctz(missing), what, error) : kIOReturnSuccess;
}
