/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shims. The dispatcher has checked sizes and pointers; a shim copies the struct once and hands the copy to
 * the method.
 */
#include "driver/shim.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "driver/client.h"
#include "driver/domain.h"
#include "driver/premap.h"
#include "driver/process.h"
#include "driver/program.h"
#include "driver/request.h"
#include "driver/session.h"
#include "driver/surface.h"

IOReturn drv_shim_read_wake(const struct drv_client *client, const struct IOExternalMethodArguments *args,
                            struct drv_wake *wake)
{
    uint32_t count = args->asyncReferenceCount;

    if (!args->asyncReference || count == 0 || count > DRV_REFERENCES)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "An asynchronous call brings %u reference words; 1 to %u are possible.",
                          args->asyncReference ? count : 0, DRV_REFERENCES);
    *wake = (struct drv_wake){.port = args->asyncWakePort};
    memcpy(wake->reference, args->asyncReference, count * sizeof(wake->reference[0]));
    return kIOReturnSuccess;
}

/* The struct, which has the size of its record, copied once; its session is checked in the copy. */
static IOReturn copy_struct(const struct drv_client *client, const struct IOExternalMethodArguments *args,
                            void *to, const uint64_t *session)
{
    memcpy(to, args->structureInput, args->structureInputSize);
    return drv_session_check(client, *session);
}

static uint32_t at_most(uint64_t count, uint32_t limit)
{
    return count < limit ? (uint32_t)count : limit;
}

/*
 * A request, copied once, without the elements of its arrays behind those that it counts: they are most of
 * its bytes, and are not used. The client's struct may be at any address.
 */
static void copy_request(const uint8_t *from, struct ane_request *to)
{
    enum {
        SURFACE = offsetof(struct ane_request, surface),
        COUNTS = offsetof(struct ane_request, inputs),
        OFFSET = offsetof(struct ane_request, offset),
        SESSION = offsetof(struct ane_request, session),
        EVENT = offsetof(struct ane_request, event),
        RESERVED = offsetof(struct ane_request, reserved),
    };
    uint32_t surfaces, events;

    memcpy(to, from, SURFACE);
    memcpy(&to->inputs, from + COUNTS, OFFSET - COUNTS);
    memcpy(&to->session, from + SESSION, EVENT - SESSION);
    memcpy(to->reserved, from + RESERVED, sizeof(to->reserved));
    surfaces = at_most((uint64_t)to->inputs + to->outputs + to->intermediates, ANE_REQUEST_SURFACES);
    events = at_most((uint64_t)to->wait_events + to->signal_events, ANE_REQUEST_EVENTS);
    memcpy(to->surface, from + SURFACE, surfaces * sizeof(to->surface[0]));
    memcpy(to->offset, from + OFFSET, surfaces * sizeof(to->offset[0]));
    memcpy(to->event, from + EVENT, events * sizeof(to->event[0]));
}

IOReturn drv_shim_send(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_request_reply reply;
    struct ane_request request;
    struct drv_wake wake;
    IOReturn result = kIOReturnSuccess;

    if (args->asyncWakePort)
        result = drv_shim_read_wake(client, args, &wake);
    if (result)
        return result;
    copy_request(args->structureInput, &request);
    result = drv_session_check(client, request.session);
    if (result)
        return result;
    result =
        drv_request_send(client, args->scalarInput[0], &request, args->asyncWakePort ? &wake : NULL, &reply);
    memcpy(args->structureOutput, &reply, sizeof(reply));
    return result;
}

IOReturn drv_shim_create(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_program_create create;
    IOReturn result = copy_struct(client, args, &create, &create.session);

    return result ? result : drv_program_create(client, &create);
}

IOReturn drv_shim_prepare(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_program_prepare prepare;
    IOReturn result = copy_struct(client, args, &prepare, &prepare.session);

    if (!result)
        result = drv_program_prepare(client, &prepare);
    if (!result)
        memcpy(args->structureOutput, &prepare, sizeof(prepare));
    return result;
}

IOReturn drv_shim_unprepare(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_program_prepare prepare;
    IOReturn result = copy_struct(client, args, &prepare, &prepare.session);

    return result ? result : drv_program_unprepare(client, &prepare);
}

IOReturn drv_shim_destroy(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct ane_program_destroy destroy;
    IOReturn result = copy_struct(client, args, &destroy, &destroy.session);

    return result ? result : drv_program_destroy(client, &destroy);
}

static IOReturn check_map(struct drv_client *client, const struct ane_memory_map *map)
{
    if (!base_is_zero(map->reserved, sizeof(map->reserved)) || map->token != client->token)
        return drv_refuse(client->driver, kIOReturnBadArgument,
                          "Memory map: the token must be the session's, reserved bytes 0.");
    return kIOReturnSuccess;
}

/* The mapping stays while the firmware is asked; a surface released meanwhile goes with that use. */
static IOReturn premap_mapping(struct drv_process *process, const struct ane_memory_map *map,
                               struct drv_mapping *mapping)
{
    IOReturn result;

    mapping->uses++;
    result = drv_premap_send(process, map, mapping);
    if (result)
        drv_surface_unuse(process->client, mapping);
    else
        mapping->uses--; /* the caller pins it */
    return result;
}

/* The scalar is a word of flags whose meaning is unknown: only 0 is accepted. */
IOReturn drv_shim_map(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    struct drv_deadline deadline = {.ns = client->timeout_ns};
    struct drv_mapping *mapping = NULL;
    struct drv_process *process = NULL;
    struct ane_memory_map map;
    IOReturn result;

    memcpy(&map, args->structureInput, sizeof(map));
    result = check_map(client, &map);
    if (result)
        return result;
    if (args->scalarInput[0] ||
        (map.usage != PR_USAGE_INPUT && map.usage != PR_USAGE_OUTPUT && map.usage != PR_USAGE_INTERMEDIATE))
        return drv_refuse(d, kIOReturnBadArgument,
                          "Memory map: usage %u is not a client's (1, 2 or 7), or the scalar is not 0.",
                          map.usage);
    if (map.program)
        result = drv_process_get(client, map.program, &deadline, &process);
    if (result)
        return result;
    drv_client_busy(client);
    result = drv_domain_lend(client, &deadline);
    if (!result)
        result = drv_surface_map(client, map.surface, map.usage, false, &mapping);
    if (!result && (map.size == 0 || map.offset > mapping->bytes || map.size > mapping->bytes - map.offset))
        result =
            drv_refuse(d, kIOReturnBadArgument,
                       "Memory map: %" PRIu64 " bytes at %" PRIu64 " of surface %u, which has %" PRIu64 ".",
                       map.size, map.offset, map.surface, mapping->bytes);
    if (!result && process)
        result = premap_mapping(process, &map, mapping);
    if (!result) {
        mapping->pins++;
        client->pinned++;
        drv_domain_keep(client);
        args->scalarOutput[0] = mapping->iova + map.offset;
    }
    drv_client_idle(client);
    if (process)
        drv_process_unpin(process);
    return result;
}

IOReturn drv_shim_unmap(struct drv_client *client, struct IOExternalMethodArguments *args)
{
    struct drv *d = client->driver;
    struct drv_mapping *mapping;
    struct ane_memory_map map;
    IOReturn result;

    memcpy(&map, args->structureInput, sizeof(map));
    result = check_map(client, &map);
    if (result)
        return result;
    mapping = drv_surface_at(client, map.surface, map.address);
    if (!mapping)
        return drv_refuse(d, kIOReturnBadArgument, "Memory unmap: surface %u is not mapped at 0x%" PRIx64 ".",
                          map.surface, map.address);
    if (mapping->uses && mapping->pins == 1)
        return drv_refuse(d, kIOReturnBusy, "Memory unmap: requests still use surface %u.", map.surface);
    client->pinned--;
    if (--mapping->pins == 0)
        drv_surface_unmap(client, mapping);
    drv_domain_freed(d);
    return kIOReturnSuccess;
}
