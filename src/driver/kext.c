/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/kext.h"

#include <errno.h>
#include <string.h>

static const struct pr_kext own_kexts[PR_KEXT_COUNT] = {
#define X(id, role, bundle, class, name, provider, match) \
    [PR_KEXT_##id] = {bundle, class, name, provider, PR_KEXT_BUILD},
    PR_KEXTS(X)
#undef X
};

const struct pr_kext *drv_kext_loaded(const struct drv_platform *platform)
{
    return platform->kexts ? platform->kexts : own_kexts;
}

int drv_kext_check(const struct drv_platform *platform, struct base_error *error)
{
    const struct pr_kext *kext = drv_kext_loaded(platform), *first = &kext[PR_KEXT_INTERFACE];

    for (unsigned i = 0; i < PR_KEXT_COUNT; i++)
        if (strcmp(kext[i].version, first->version) != 0)
            return base_fail(error, EPROTO,
                             "%s is version %s and %s is version %s; the driver starts only with three "
                             "extensions of one version.",
                             kext[i].bundle, kext[i].version, first->bundle, first->version);
    return 0;
}
