/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The RTBuddy client. `endpoint` is the name of the service whose endpoint is enabled, or NULL; a handler is
 * registered exactly while it is not NULL.
 */
#include "driver/rtbuddy.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "protocol/kext.h"

/* The entry below the root that registers under a name. */
static uint32_t find_provider(const struct drv *d, const char *name)
{
    uint32_t entry;

    for (uint32_t i = 0; (entry = drv_registry_child(d, DRV_REGISTRY_ROOT, i)) != DRV_REGISTRY_NONE; i++)
        if (!strcmp(drv_registry_name(d, entry), name))
            return entry;
    return DRV_REGISTRY_NONE;
}

static bool read_property(const struct drv *d, uint32_t entry, const char *wanted,
                          struct ane_registry_value *value)
{
    const char *key;

    for (uint32_t i = 0; drv_registry_property(d, entry, i, &key, value); i++)
        if (!strcmp(key, wanted))
            return true;
    return false;
}

int drv_rtbuddy_attach(struct drv *d, struct base_error *error)
{
    struct ane_registry_value role;

    if (!read_property(d, find_provider(d, PR_RTBUDDY_SERVICE), PR_RTBUDDY_PROPERTY, &role) ||
        strcmp(role.text, PR_RTBUDDY_ROLE) != 0)
        return base_fail(error, ENOENT, "%s has no property %s with the value %s.", PR_RTBUDDY_SERVICE,
                         PR_RTBUDDY_PROPERTY, PR_RTBUDDY_ROLE);
    d->rtbuddy =
        (struct drv_rtbuddy){.name = PR_RTBUDDY_ROLE,
                             .mailbox = d->aperture[PR_APERTURE_ANE].base + (uint64_t)PR_CTRL_WINDOW_MAILBOX};
    return 0;
}

/* The service of that name, as the platform has registered it; NULL when it has not. */
static const char *find_service(const struct drv *d, const char *name)
{
    static const char *const registered[] = {PR_RTBUDDY_REGISTERED, NULL};
    const char *const *service = d->platform.endpoints ? d->platform.endpoints : registered;

    while (*service && strcmp(*service, name) != 0)
        service++;
    return *service;
}

static bool try_endpoint(struct drv *d, const char *name, void (*inbound)(struct drv *d, uint32_t rang))
{
    const char *service = find_service(d, name);

    SOC_TRACE(d->platform.trace, DRV_ENDPOINT, PR_RTBUDDY_ENDPOINT, name, service ? "enabled" : "not there");
    if (!service)
        return false;
    d->rtbuddy.endpoint = service;
    d->rtbuddy.inbound = inbound;
    return true;
}

int drv_rtbuddy_enable(struct drv *d, void (*inbound)(struct drv *d, uint32_t rang), struct base_error *error)
{
#define X(name) name,
    static const char *const names[] = {PR_RTBUDDY_ENDPOINTS(X)};
#undef X

    for (unsigned i = 0; i < BASE_COUNT_OF(names); i++) {
        if (try_endpoint(d, names[i], inbound))
            return 0;
        drv_rtbuddy_disable(d);
    }
    return base_fail(error, ENOENT, "No RTBuddy endpoint 0x%x: neither %s nor %s is registered.",
                     PR_RTBUDDY_ENDPOINT, names[0], names[1]);
}

void drv_rtbuddy_disable(struct drv *d)
{
    d->rtbuddy.endpoint = NULL;
    d->rtbuddy.inbound = NULL;
}

void drv_rtbuddy_inbound(struct drv *d, uint32_t rang)
{
    if (d->rtbuddy.inbound)
        d->rtbuddy.inbound(d, rang);
}
