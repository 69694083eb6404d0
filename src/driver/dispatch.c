/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch. The dispatcher reads one record of the client's array: it has the method and its four exact
 * sizes, and no record has a wildcard. The shim behind it looks at what a record does not have: pointers,
 * whether the session is open, and the entitlements that a method needs.
 */
#include "driver/dispatch.h"

#include "driver/chaining.h"
#include "driver/debug_work.h"
#include "driver/hint.h"
#include "driver/identity.h"
#include "driver/instance.h"
#include "driver/session.h"
#include "driver/shim.h"

/*
 * One line for each method: the function, the group of its record, the entitlements it needs whatever its
 * arguments are, and from when on it may be called.
 */
#define DO_DeviceOpen                        drv_session_open, PLAIN, 0, ANY_TIME
#define DO_DeviceClose                       drv_session_close, PLAIN, 0, WHEN_OPEN
#define DO_ProgramSendRequest                drv_shim_send, PLAIN, 0, WHEN_OPEN
#define DO_ProgramCreate                     drv_shim_create, PLAIN, 0, WHEN_OPEN
#define DO_ProgramPrepare                    drv_shim_prepare, PLAIN, 0, WHEN_OPEN
#define DO_ProgramUnprepare                  drv_shim_unprepare, PLAIN, 0, WHEN_OPEN
#define DO_ProgramDestroy                    drv_shim_destroy, PLAIN, 0, WHEN_OPEN
#define DO_GetStatus                         drv_session_status, PLAIN, 0, WHEN_OPEN
#define DO_ProgramCreateInstance             drv_instance_create, PLAIN, 0, WHEN_OPEN
#define DO_ProgramChainingPrepare            drv_chaining_prepare, PLAIN, CHAINING, WHEN_OPEN
#define DO_GetVersion                        drv_session_version, PLAIN, 0, WHEN_OPEN
#define DO_RegisterDebugWorkProcessor        drv_debug_work_register, DEBUG_WORK, 0, WHEN_OPEN
#define DO_UnregisterDebugWorkProcessor      drv_debug_work_unregister, DEBUG_WORK, 0, WHEN_OPEN
#define DO_GetDebugWorkProcessorItem         drv_debug_work_get, DEBUG_WORK, 0, WHEN_OPEN
#define DO_CompleteDebugWorkProcessorItem    drv_debug_work_complete, DEBUG_WORK, 0, WHEN_OPEN
#define DO_ReleaseDebugWorkProcessorBuffers  drv_debug_work_release, DEBUG_WORK, 0, WHEN_OPEN
#define DO_LoadFirmware                      drv_session_load_firmware, PLAIN, 0, ANY_TIME
#define DO_ProgramOutputSetEnqueue           drv_chaining_enqueue, PLAIN, CHAINING | DATA, WHEN_OPEN
#define DO_ProgramInputsReady                drv_chaining_ready, PLAIN, CHAINING | DATA, WHEN_OPEN
#define DO_MemoryMapRequest                  drv_shim_map, PLAIN, MEMORY, WHEN_OPEN
#define DO_MemoryUnMapRequest                drv_shim_unmap, PLAIN, 0, WHEN_OPEN
#define DO_SessionHintRequest                drv_hint_session, PLAIN, 0, WHEN_OPEN
#define DO_ProgramChainingSetActiveProcedure drv_chaining_activate, PLAIN, CHAINING, WHEN_OPEN
#define DO_setClientHint                     drv_hint_clients, PLAIN, SET_HINTS, ANY_TIME

enum { ANY_TIME, WHEN_OPEN };
enum {
    CHAINING = PR_ENTITLEMENT_BIT(DATA_CHAINING),
    DATA = PR_ENTITLEMENT_BIT(DATA),
    MEMORY = PR_ENTITLEMENT_BIT(MEMORY),
    SET_HINTS = PR_ENTITLEMENT_BIT(SET_HINTS),
};

#define RECORD(with, selector, name, ...) RECORD_FROM(selector, DO_##name, __VA_ARGS__)
#define RECORD_FROM(...)                  RECORD_OF(__VA_ARGS__)
#define RECORD_OF(selector, method, group, needs, when, scalar_in, struct_in, scalar_out, struct_out) \
    [selector] = {method, scalar_in, struct_in, scalar_out, struct_out, {DRV_METHOD_##group}},
static const struct IOExternalMethodDispatch2022 control_array[] = {ANE_CONTROL_METHODS(RECORD, )};
static const struct IOExternalMethodDispatch2022 direct_array[] = {ANE_DIRECT_METHODS(RECORD, )};
static const struct IOExternalMethodDispatch2022 hints_array[] = {ANE_HINTS_METHODS(RECORD, )};

/* What the shim of a method knows of it. */
struct shim {
    const char *name;
    uint32_t needs; /* a set of enum pr_entitlement */
    int when;
};
#define SHIM(prefix, selector, name, ...)                   SHIM_FROM(selector, prefix #name, DO_##name)
#define SHIM_FROM(...)                                      SHIM_OF(__VA_ARGS__)
#define SHIM_OF(selector, name, method, group, needs, when) [selector] = {name, needs, when},
static const struct shim control_shims[] = {ANE_CONTROL_METHODS(SHIM, "ANE_")};
static const struct shim direct_shims[] = {ANE_DIRECT_METHODS(SHIM, "ANE_")};
static const struct shim hints_shims[] = {ANE_HINTS_METHODS(SHIM, "")};

#define COUNT(table) ((uint32_t)(sizeof(table) / sizeof((table)[0])))
static const struct class
{
    const struct IOExternalMethodDispatch2022 *array;
    const struct shim *shims;
    uint32_t count;
} classes[] = {
    [ANE_CLIENT_CONTROL] = {control_array, control_shims, COUNT(control_array)},
    [ANE_CLIENT_DIRECT_PATH] = {direct_array, direct_shims, COUNT(direct_array)},
    [ANE_CLIENT_HINTS] = {hints_array, hints_shims, COUNT(hints_array)},
};
_Static_assert(COUNT(control_array) == 17 && COUNT(direct_array) == 9, "Tables 27.2 and 27.4");

const struct IOExternalMethodDispatch2022 *drv_dispatch_array(uint32_t type, uint32_t *count)
{
    *count = type < COUNT(classes) ? classes[type].count : 0;
    return *count ? classes[type].array : NULL;
}

static bool sizes_match(const struct IOExternalMethodDispatch2022 *record,
                        const struct IOExternalMethodArguments *args)
{
    return args->scalarInputCount == record->checkScalarInputCount &&
           args->structureInputSize == record->checkStructureInputSize &&
           args->scalarOutputCount == record->checkScalarOutputCount &&
           args->structureOutputSize == record->checkStructureOutputSize;
}

/* A pointer wherever a size is not 0. */
static bool pointers_match(const struct IOExternalMethodArguments *args)
{
    return (!args->scalarInputCount || args->scalarInput) &&
           (!args->structureInputSize || args->structureInput) &&
           (!args->scalarOutputCount || args->scalarOutput) &&
           (!args->structureOutputSize || args->structureOutput);
}

static IOReturn refuse_sizes(struct drv *d, const char *name,
                             const struct IOExternalMethodDispatch2022 *record,
                             const struct IOExternalMethodArguments *args)
{
    return drv_refuse(d, kIOReturnBadArgument, "%s: sizes (%u, %u, %u, %u) are not (%u, %u, %u, %u).", name,
                      args->scalarInputCount, args->structureInputSize, args->scalarOutputCount,
                      args->structureOutputSize, record->checkScalarInputCount,
                      record->checkStructureInputSize, record->checkScalarOutputCount,
                      record->checkStructureOutputSize);
}

/*
 * "Internal build No" closes the debug work processor (Table 27.9): without the second access property it is
 * not there.
 */
static bool is_closed_debug(const struct drv_client *client,
                            const struct IOExternalMethodDispatch2022 *record)
{
    return record->reserved[0] && !client->driver->platform.internal_build &&
           !drv_identity_has(client, PR_ENTITLEMENT_BIT(RAW_ACCESS));
}

/* A number at or past the end is a bad argument, as in IOKit's dispatcher. */
IOReturn drv_dispatch(struct drv_client *client, uint32_t selector, struct IOExternalMethodArguments *args)
{
    const struct class *class = &classes[client->type];
    const struct IOExternalMethodDispatch2022 *record = &class->array[selector];
    const struct shim *shim = &class->shims[selector];

    if (selector >= class->count)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "Selector %u does not exist on a client of type %u; it has %u.", selector,
                          client->type, class->count);
    if (!sizes_match(record, args))
        return refuse_sizes(client->driver, shim->name, record, args);
    if (!pointers_match(args))
        return drv_refuse(client->driver, kIOReturnBadArgument, "%s: an argument is NULL.", shim->name);
    if (args->asyncWakePort && record->function != drv_shim_send && record->function != drv_chaining_ready)
        return drv_refuse(
            client->driver, kIOReturnBadArgument,
            "%s cannot complete at a wake port: only selector 2 and direct-path 4 are asynchronous.",
            shim->name);
    if (shim->when == WHEN_OPEN && client->state == DRV_CLIENT_NEW)
        return drv_refuse(client->driver, kIOReturnNotReady, "%s before ANE_DeviceOpen.", shim->name);
    if (shim->needs & ~client->identity.entitlements)
        return drv_identity_require(client, shim->needs, shim->name);
    if (is_closed_debug(client, record))
        return drv_refuse(client->driver, kIOReturnNotPrivileged,
                          "%s needs an internal build or the second access property.", shim->name);
    return record->function(client, args);
}
