/* SPDX-License-Identifier: Apache-2.0 */
#include "service/registry.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct ane_registry_value) <= sizeof(((struct pr_service_registry_value *)0)->value),
               "a property fits");

static uint32_t number_of(io_service_t entry)
{
    return entry ? entry | PR_SERVICE_ENTRY_BASE : 0;
}

/* The first entry of that name at or below another. */
static io_service_t find_below(io_service_t entry, const char *name)
{
    const char *own = ane_registry_name(entry);
    io_service_t child, found = 0;

    if (own && !strcmp(own, name))
        return entry;
    for (uint32_t i = 0; !found && (child = ane_registry_child(entry, i)); i++)
        found = find_below(child, name);
    return found;
}

/* Names that match a service are those of IOServiceMatching. */
static io_service_t find(const struct svc_service *service, const char *name)
{
    return IOServiceMatching(name) ? find_below(ane_registry_root(service->device), name) : 0;
}

static IOReturn take_property(io_service_t entry, uint32_t index, struct pr_service_registry_value *value,
                              struct base_error *error)
{
    struct ane_registry_value property;
    const char *key;
    IOReturn status = ane_registry_property_at(entry, index, &key, &property);

    if (status) {
        base_fail(error, ENOENT, "%s", ane_machine_error());
        return status;
    }
    snprintf(value->key, sizeof(value->key), "%s", key);
    memcpy(value->value, &property, sizeof(property));
    return kIOReturnSuccess;
}

static IOReturn take_name(io_service_t entry, struct pr_service_registry_value *value,
                          struct base_error *error)
{
    const char *name = ane_registry_name(entry);

    if (!name) {
        base_fail(error, ENOENT, "%s", ane_machine_error());
        return kIOReturnNoDevice;
    }
    snprintf(value->key, sizeof(value->key), "%s", name);
    return kIOReturnSuccess;
}

IOReturn svc_registry_step(const struct svc_service *service, const struct pr_service_registry *step,
                           struct pr_service_registry_value *value, struct base_error *error)
{
    io_service_t entry = step->entry & ~PR_SERVICE_ENTRY_BASE;
    char key[sizeof(step->key) + 1] = {0};

    memcpy(key, step->key, sizeof(step->key));
    switch (step->step) {
    case PR_SERVICE_REGISTRY_FIND: value->entry = number_of(find(service, key)); return kIOReturnSuccess;
    case PR_SERVICE_REGISTRY_ROOT:
        value->entry = number_of(ane_registry_root(entry));
        return kIOReturnSuccess;
    case PR_SERVICE_REGISTRY_CHILD:
        value->entry = number_of(ane_registry_child(entry, step->index));
        return kIOReturnSuccess;
    case PR_SERVICE_REGISTRY_NAME: return take_name(entry, value, error);
    case PR_SERVICE_REGISTRY_PROPERTY: return take_property(entry, step->index, value, error);
    }
    base_fail(error, EINVAL, "There is no step %u of the registry.", step->step);
    return kIOReturnBadArgument;
}
