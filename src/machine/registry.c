/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry's public calls: each finds the machine by the entry's number and asks its driver, inside; an
 * entry of the service is a message to it.
 */
#include <anemone/iokit.h>

#include <errno.h>
#include <string.h>

#include "machine/internal.h"
#include "service/client.h"

static IOReturn refuse(IOReturn status, const char *sentence)
{
    base_fail(mach_error(), EIO, "%s", sentence);
    return status;
}

/* Enters the machine of an entry that exists. NULL, with a sentence and a status, when there is none. */
static struct ane_machine *enter(io_service_t entry, IOReturn *status)
{
    struct ane_machine *m;
    bool device;

    mach_error_begin();
    *status = kIOReturnNoDevice;
    m = mach_service_hold(entry, &device);
    if (m && !drv_registry_name(m->driver, mach_service_entry(entry))) {
        mach_release(m);
        m = NULL;
    }
    if (!m) {
        refuse(*status, "There is no such registry entry; its machine may have been destroyed.");
        return NULL;
    }
    if (mach_enter(m))
        return m;
    mach_release(m);
    *status = kIOReturnNotPermitted;
    return NULL;
}

static void leave(struct ane_machine *m)
{
    mach_leave(m);
    mach_release(m);
}

io_service_t ane_registry_root(io_service_t entry)
{
    io_service_t root = 0;
    struct ane_machine *m;
    IOReturn status;

    if (svc_client_has_entry(entry))
        return svc_client_root(entry, mach_error_begin());
    m = enter(entry, &status);
    if (m) {
        root = mach_service_number(m, DRV_REGISTRY_ROOT);
        leave(m);
    }
    return root;
}

io_service_t ane_registry_child(io_service_t entry, uint32_t index)
{
    uint32_t child = DRV_REGISTRY_NONE;
    io_service_t number = 0;
    struct ane_machine *m;
    IOReturn status;

    if (svc_client_has_entry(entry))
        return svc_client_child(entry, index, mach_error_begin());
    m = enter(entry, &status);
    if (!m)
        return 0;
    child = drv_registry_child(m->driver, mach_service_entry(entry), index);
    if (child != DRV_REGISTRY_NONE)
        number = mach_service_number(m, child);
    leave(m);
    return number;
}

const char *ane_registry_name(io_service_t entry)
{
    const char *name = NULL;
    struct ane_machine *m;
    IOReturn status;

    if (svc_client_has_entry(entry))
        return svc_client_name(entry, mach_error_begin());
    m = enter(entry, &status);
    if (m) {
        name = drv_registry_name(m->driver, mach_service_entry(entry));
        leave(m);
    }
    return name;
}

IOReturn ane_registry_property_at(io_service_t entry, uint32_t index, const char **key,
                                  struct ane_registry_value *value)
{
    IOReturn status;
    struct ane_machine *m;
    bool found;

    mach_error_begin();
    if (!key || !value)
        return refuse(kIOReturnBadArgument, "A registry property needs places for its key and its value.");
    if (svc_client_has_entry(entry))
        return svc_client_property(entry, index, key, value, mach_error());
    m = enter(entry, &status);
    if (!m)
        return status;
    found = drv_registry_property(m->driver, mach_service_entry(entry), index, key, value);
    leave(m);
    return found ? kIOReturnSuccess : refuse(kIOReturnNotFound, "The registry entry has fewer properties.");
}

IOReturn ane_registry_property(io_service_t entry, const char *key, struct ane_registry_value *value)
{
    struct ane_registry_value at;
    const char *name;
    IOReturn status = kIOReturnSuccess;

    mach_error_begin();
    if (!key || !value)
        return refuse(kIOReturnBadArgument, "A registry property needs a key and a place for its value.");
    for (uint32_t i = 0; !status; i++) {
        status = ane_registry_property_at(entry, i, &name, &at);
        if (!status && !strcmp(name, key)) {
            *value = at;
            return kIOReturnSuccess;
        }
    }
    if (status == kIOReturnNotFound)
        base_fail(mach_error(), ENOENT, "The registry entry has no property \"%.80s\".", key);
    return status;
}
